"""What has happened to a lock since: asking the indexes, the age of its facts, and the output."""

from __future__ import annotations

import datetime as dt
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from resolver.audit.compare import DAYS, as_locked, compare, is_grave, older
from resolver.cli.catalogs import Catalogs
from resolver.cli.options import language_of
from resolver.cli.progress import Progress
from resolver.errors import ChangedUpstream, IndexFailure
from resolver.model.lock import Lock
from resolver.model.problem import Problem
from resolver.report import words
from resolver.report.upstream import changes
from resolver.report.upstream.changes import old_facts


class Seen(msgspec.Struct, frozen=True):
    """The output about one lock, and its exit status."""

    lines: list[str]
    json: dict[str, Any]
    status: int


class Since:
    """Findings about locks beyond their inputs: the age of their facts and, with `ask`, the indexes."""

    def __init__(
        self,
        matrices: Path,
        facts_days: int | None,
        language: str | None,
        *,
        ask: bool,
        quiet: bool,
    ) -> None:
        self._days = DAYS if facts_days is None else facts_days
        self._language = language_of(language)
        self._today = dt.datetime.now(tz=dt.timezone.utc).date()
        self._progress = Progress(self._language, enabled=False if quiet else None)
        self._catalogs = Catalogs(matrices, self._progress) if ask else None  # in which each page is requested once

    def seen(self, problem: Problem, lock: Lock) -> Seen:
        """The findings about a lock."""
        old = older(((fact.id, _day(fact.checked)) for fact in lock.fact), self._today, self._days)
        told: dict[str, Any] = {"old_facts": [{"id": one.id, "checked": one.checked.isoformat()} for one in old]}
        if self._catalogs is None:
            lines = [old_facts(old, self._days, self._language)] if old else []
            return Seen([f"  {line}" for line in lines], told, 0)
        self._progress.label(words.ASKING_INDEXES(self._language, stack=lock.stack, target=lock.target.name))
        with closing(self._catalogs.live(replace(problem, indexes=as_locked(lock, problem.indexes)))) as catalog:
            compared = compare(lock, catalog)
        self._progress.clear()
        status = IndexFailure.exit_status if compared.out_of_reach else 0
        if any(map(is_grave, compared.changes)):
            status = ChangedUpstream.exit_status
        lines = list(changes.lines(compared, old, self._days, self._language))
        return Seen([f"  {line}" for line in lines], {**told, "upstream": changes.compared_json(compared)}, status)

    def close(self) -> None:
        """Let go of connections and threads."""
        if self._catalogs is not None:
            self._catalogs.close()


def _day(text: str) -> dt.date:
    """The day of a fact in a lock; an invalid one, in an edited lock, counts as long ago."""
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        return dt.date.min
