"""What a run comes to for each target: the outcome, how people are told of it, and how `--json` tells it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from resolver.cli.console import columns, for_stream, has_color, print_error, print_json
from resolver.config.load import Inputs
from resolver.errors import ResolverError, StaleLock
from resolver.i18n import translate
from resolver.lock.previous import difference, new_warnings
from resolver.lock.warnings import is_grave
from resolver.model.lock import Lock
from resolver.model.message import Message, joined, message
from resolver.model.problem import Problem
from resolver.model.text import Language
from resolver.report.difference import difference_blocks
from resolver.report.document import Block, Paragraph, line
from resolver.report.sanitize import COLUMNS
from resolver.report.summary import SummaryRow, closing_line, lock_json, summary, table

if TYPE_CHECKING:  # a remembered lock needs no explaining
    from resolver.model.explanation import Explanation

CONFLICT = 1
UNDECIDED = 3  # as for a failure of an index, since it depends on one
_TABLE = 1000  # columns of the table, where no terminal has fewer: a row is a line
# In --json, by exit status.
STATUS_BY_EXIT = {0: "locked", CONFLICT: "conflict", UNDECIDED: "undecided", StaleLock.exit_status: "stale"}


class Job(msgspec.Struct, frozen=True):
    """One target to be locked. `has_report`: of a conflict, instead of a lock."""

    inputs: Inputs
    problem: Problem
    folder: Path
    previous: Lock | None
    has_report: bool


class TargetResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result for a target, its `job`; or for a whole stack, if its files could not be read.

    `pins_changed` tells whether any decision did, `written` the files of the lock's folder that did; of a `dry` run,
    that would.
    """

    stack: str
    job: Job | None = None
    found: Lock | Explanation | ResolverError
    dry: bool = False
    seconds: float = 0.0
    pins_changed: bool = False
    written: tuple[str, ...] = ()

    @property
    def target(self) -> str:
        """The name of the target; empty for a whole stack."""
        return self.job.problem.target.name if self.job is not None else ""

    @property
    def folder(self) -> Path:
        """Where the lock and the report of the target are."""
        return self.job.folder if self.job is not None else Path()

    @property
    def exit_status(self) -> int:
        """That of a run that comes to this alone."""
        match self.found:
            case Lock():
                return 0
            case ResolverError() as error:
                return error.exit_status
            case explanation:
                return UNDECIDED if explanation.awaited else CONFLICT

    @property
    def is_known(self) -> bool:
        """Whether there is no solution, and the target's conflict report said so before."""
        return not isinstance(self.found, (Lock, ResolverError)) and self.job is not None and self.job.has_report


def print_targets(status: str, targets: Sequence[dict[str, Any]]) -> None:
    """Print one shape, described in docs/lock.md; the keys of an only target are also at the top."""
    only = targets[0] if len(targets) == 1 else {}
    print_json({**only, "status": status, "targets": targets})


def outcome_json(outcome: TargetResult, language: Language) -> dict[str, Any]:
    """The object of a target in `print_targets`."""
    match outcome.found:
        case Lock() as lock:
            return lock_json(lock, outcome.folder, moved=outcome.pins_changed, written=outcome.written)
        case ResolverError() as error:
            return {"status": "error", "stack": outcome.stack, "target": outcome.target, **error.parts()}
        case explanation:
            from resolver.report.explanation.json import explanation_json  # loaded where there is a conflict

            return explanation_json(explanation, language)


def print_results(outcomes: Sequence[TargetResult], language: Language, *, together: bool) -> None:
    """Print all about the locks of one stack, or of several `together` the table and what a dry run would change."""
    told: set[Message] = set()
    blocks: list[Block] = []
    for outcome in outcomes:
        if isinstance(outcome.found, Lock) and outcome.job is not None:
            if outcome.dry and (outcome.written or not together):
                blocks += _difference(outcome.found, outcome.job, outcome.written)
            elif not together:
                shown = [one for one in _worth_showing(outcome.found, outcome.job, outcome.written) if one not in told]
                told.update(shown)
                sys.stdout.write(
                    summary(
                        outcome.found,
                        outcome.job.problem,
                        outcome.folder,
                        language,
                        written=bool(outcome.written),
                        moved=outcome.pins_changed,
                        shown=shown,
                        columns=columns(sys.stdout, COLUMNS),
                        color=has_color(sys.stdout),
                    )
                )
    if blocks:
        sys.stdout.write(for_stream(blocks, language, sys.stdout) + "\n" * together)
    print_failures(outcomes, language)
    rows = [_row(outcome, language) for outcome in outcomes]
    lines = table(rows, language, columns(sys.stdout, _TABLE), color=has_color(sys.stdout))
    if together:
        sys.stdout.write(lines + closing_line(rows, language))
    elif len(rows) > 1:
        sys.stdout.write("\n" + lines)


def _worth_showing(lock: Lock, job: Job, written: Sequence[str]) -> list[Message]:
    """The warnings of a lock to show: if it was written, the grave ones and those that the lock before did not have."""
    if not written:
        return []
    new = new_warnings(job.previous, lock)
    return [one for one in lock.all_warnings if one in new or is_grave(one, job.problem)]


def _difference(lock: Lock, job: Job, written: Sequence[str]) -> Iterator[Block]:
    code = "cli.would-change" if written else "cli.would-not-change"
    code = "cli.would-write" if job.previous is None else code
    yield Paragraph((line(message(code, folder=job.folder, names=tuple(written))),))
    if job.previous is not None and written:
        yield from difference_blocks(difference(job.previous, lock))


def print_failures(outcomes: Sequence[TargetResult], language: Language) -> None:
    """Print what failed, and where the reports of conflicts are."""
    for outcome in outcomes:
        match outcome.found:
            case ResolverError() as error:
                who = outcome.stack
                if outcome.target:
                    who = translate("cli.for", language, stack=outcome.stack, target=outcome.target)
                print_error(f"{who}: error: {error}" if len(outcomes) > 1 else f"error: {error}")
            case Lock():
                pass
            case _:
                if outcome.written:
                    print_error(translate("conflict.report-in", language, folder=outcome.folder))


def _row(outcome: TargetResult, language: Language) -> SummaryRow:
    changes = ""
    match outcome.found:
        case Lock() as lock:
            pins, warnings = (
                message("cli.pins", count=len(lock.pin)),
                message("cli.warnings", count=len(lock.all_warnings)),
            )
            told = message("cli.row-warned" if lock.all_warnings else "cli.row-locked", pins=pins, warnings=warnings)
            kind = "locked"
            if outcome.dry:
                told = message("cli.row-stale" if outcome.written else "state.current")
                kind = "stale" if outcome.written else "current"
            if outcome.pins_changed and lock.first:
                changes = translate("cli.first-lock", language)
            elif outcome.pins_changed and lock.change:
                changes = translate("cli.pins", language, len(lock.change))
            else:
                changes = translate("cli.no-change", language)
        case ResolverError() as error:
            told, kind = message("cli.row-failed", message=error.message), "failed"
        case explanation if explanation.awaited:
            indexes = dict.fromkeys(name for one in explanation.awaited for name in one.indexes)
            told, kind = message("cli.row-undecided", names=joined("comma", indexes)), "undecided"
        case _:
            told = message("cli.row-conflict-before" if outcome.is_known else "cli.row-conflict")
            kind = "without-a-solution"
    return SummaryRow(outcome.stack, outcome.target, outcome.seconds, changes or "-", translate(told, language), kind)
