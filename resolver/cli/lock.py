"""`ascend-lock lock STACK…`."""

from __future__ import annotations

import datetime as dt
import gc
import sys
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import click
from packaging.utils import canonicalize_name

from resolver.cli import options
from resolver.cli.called import as_called
from resolver.cli.catalogs import Catalogs
from resolver.cli.locking import Failure, Job, Order, Outcome, attempt, jobs_of, lock_stack
from resolver.cli.named import ALL, named
from resolver.cli.options import language_of
from resolver.cli.page import Page
from resolver.cli.progress import Progress, columns
from resolver.cli.upgrade_policy import UpgradePolicy
from resolver.i18n import translate
from resolver.json_text import json_text
from resolver.lock import diff
from resolver.model.lock import Lock
from resolver.model.message import Message
from resolver.model.text import Language
from resolver.report import words
from resolver.report.summary import Row, closing_line, lock_json, summary, table
from resolver.report.text import COLUMNS

_CONFLICT = 1
_UNDECIDED = 3  # as for a failure of an index, since it depends on one
_STATUSES = {0: "locked", _CONFLICT: "conflict", _UNDECIDED: "undecided"}


@click.command("lock")
@click.argument("stacks", metavar="STACK...", nargs=-1, required=True, shell_complete=options.completed)
@options.offline
@click.option("--upgrade", is_flag=True, help="Ignore the pins of the existing lock.")
@click.option(
    "--upgrade-package",
    "upgrade_packages",
    multiple=True,
    metavar="NAME",
    help="Ignore this one pin; may be repeated.",
)
@options.exclude_newer
@click.option("--target", "targets", multiple=True, metavar="NAME", help="Only this target; may be repeated.")
@click.option("--anew", is_flag=True, help="Solve even if the result for the same inputs and pages is remembered.")
@options.explain_seconds
@options.language
@options.matrices
@options.locks
@options.as_json
def command(
    stacks: tuple[str, ...],
    offline: bool,
    upgrade: bool,
    upgrade_packages: tuple[str, ...],
    exclude_newer: dt.datetime | None,
    targets: tuple[str, ...],
    anew: bool,
    explain_seconds: float,
    language: str | None,
    matrices: Path | None,
    locks: Path,
    as_json: bool,
) -> int:
    """Lock each STACK for all of its targets.

    STACK is a name in matrices/stacks, the path of a .toml file, or `all`. A stack or target that fails does not keep
    the others from being locked. The exit status is the highest of them; with `all`, a target that so far has a
    conflict report instead of a lock, and still has no solution, counts as done.
    """
    given = options.again(matrices, locks, offline=offline)
    matrices = matrices or options.default_matrices()
    every = ALL in stacks
    names = named(stacks, matrices)
    tongue = language_of(language)
    progress = Progress(tongue, enabled=False if as_json else None)
    order = Order(
        matrices=matrices,
        locks=locks,
        cutoff=exclude_newer,
        targets=frozenset(targets),
        upgrade_policy=UpgradePolicy(upgrade, frozenset(map(canonicalize_name, upgrade_packages))),
        anew=anew,
        seconds=explain_seconds,
        language=tongue,
    )
    # for a single stack contradictions are printed as they become known; for several there is a table
    page = Page(sys.stderr if len(names) == 1 and not as_json else None, order.language, progress, given)
    outcomes = _lock_all(names, order, progress, page, offline=offline)
    progress.clear()
    if len(outcomes) == 1 and isinstance(only := outcomes[0].found, Failure):
        if not as_json:
            raise only.cause
        sys.stderr.write(as_called(f"error: {only.told}\n"))
    status = max(map(_status, (outcome for outcome in outcomes if not (every and _is_known(outcome)))), default=0)
    if as_json:
        sys.stdout.write(json_text(_json(outcomes, status, order.language)) + "\n")
    elif len(names) == 1:
        _tell(outcomes, order.language)
    else:
        _tell_many(outcomes, order.language)
    return status


def _lock_all(names: Sequence[str], order: Order, progress: Progress, page: Page, *, offline: bool) -> list[Outcome]:
    """The outcome for each target of each stack, in order. A failure does not keep others from being locked."""
    prepared = [(name, attempt(partial(jobs_of, name, order, progress, offline=offline))) for name in names]
    jobs = [job for _, found in prepared if not isinstance(found, Failure) for job in found]
    order.upgrade_policy.check([job.previous for job in jobs if job.previous is not None])
    outcomes: list[Outcome] = []
    with closing(Catalogs(order.matrices, progress, offline=offline)) as catalogs:
        for number, (name, found) in enumerate(prepared, 1):
            progress.place(f"{number}/{len(names)} " if len(names) > 1 else "")
            if isinstance(found, Failure):
                outcomes.append(Outcome(stack=name, found=found))
                continue
            done = attempt(partial(lock_stack, found, order, catalogs, progress, page))
            outcomes += [Outcome(stack=name, found=done)] if isinstance(done, Failure) else done
            if number < len(prepared):
                gc.collect()  # a solved stack leaves reference cycles, and collection is disabled
    return outcomes


def _status(outcome: Outcome) -> int:
    match outcome.found:
        case Lock():
            return 0
        case Failure(status=status):
            return status
        case explanation:
            return _UNDECIDED if explanation.awaited else _CONFLICT


def _is_known(outcome: Outcome) -> bool:
    """Whether a target has no solution, and its conflict report said so before."""
    return not isinstance(outcome.found, (Lock, Failure)) and outcome.job is not None and outcome.job.known


def _json(outcomes: Sequence[Outcome], status: int, language: Language) -> dict[str, Any]:
    """One shape, described in docs/lock.md: `status` and `targets`; the keys of an only target are also at the top."""
    told = [_one_json(outcome, language) for outcome in outcomes]
    only = told[0] if len(told) == 1 else {}
    failed = any(isinstance(outcome.found, Failure) for outcome in outcomes)
    return {**only, "status": "error" if failed else _STATUSES[status], "targets": told}


def _one_json(outcome: Outcome, language: Language) -> dict[str, Any]:
    match outcome.found:
        case Lock() as lock:
            return lock_json(lock, _job(outcome).folder, moved=_moved(outcome, lock))
        case Failure(told=told):
            who = {"stack": outcome.stack, "target": outcome.target}
            return {"status": "error", **who, **told.parts()}
        case explanation:
            from resolver.report.explanation.json import explanation_json  # loaded where there is a conflict

            return explanation_json(explanation, language)


def _tell(outcomes: Sequence[Outcome], language: Language) -> None:
    """Print everything about one stack, each warning once; for several targets, a table at the end."""
    told: set[Message] = set()
    room = columns(sys.stdout, COLUMNS)
    for outcome in outcomes:
        if isinstance(lock := outcome.found, Lock):  # others are printed already, or below
            job, moved, written = _job(outcome), _moved(outcome, lock), outcome.written
            sys.stdout.write(
                summary(lock, job.problem, job.folder, language, written=written, moved=moved, told=told, columns=room)
            )
            told.update(lock.all_warnings)
    _tell_failures(outcomes, language)
    if len(outcomes) > 1:
        sys.stdout.write("\n" + table([_row(outcome, language) for outcome in outcomes], language))


def _tell_many(outcomes: Sequence[Outcome], language: Language) -> None:
    """Print one table for several stacks, and the failures."""
    _tell_failures(outcomes, language)
    rows = [_row(outcome, language) for outcome in outcomes]
    sys.stdout.write(table(rows, language) + closing_line(rows, language))


def _tell_failures(outcomes: Sequence[Outcome], language: Language) -> None:
    for outcome in outcomes:
        if isinstance(outcome.found, Failure):
            who = outcome.stack
            if outcome.target:
                who = words.FAILURE_OF(language, stack=outcome.stack, target=outcome.target)
            sys.stderr.write(as_called(f"{who}: error: {outcome.found.told}\n"))
        elif not isinstance(outcome.found, Lock):
            sys.stderr.write(translate("conflict.report-in", language, folder=_job(outcome).folder) + "\n")
    sys.stderr.flush()


def _row(outcome: Outcome, language: Language) -> Row:
    stack, target, seconds = outcome.stack, outcome.target, outcome.seconds
    match outcome.found:
        case Lock() as lock:
            told = words.ROW_LOCKED(language, pins=words.PINS(language, len(lock.pin)))
            if lock.all_warnings:
                told += words.ROW_WARNED(language, warnings=words.WARNINGS(language, len(lock.all_warnings)))
            return Row(stack, target, seconds, _changes(outcome, lock, language), told, "locked")
        case Failure(told=error):
            told = words.ROW_FAILED(language, message=error.message)
            return Row(stack, target, seconds, "-", told, "failed")
        case explanation if explanation.awaited:
            names = words.COMMA(language).join(
                dict.fromkeys(name for one in explanation.awaited for name in one.indexes)
            )
            return Row(stack, target, seconds, "-", words.ROW_UNDECIDED(language, names=names), "undecided")
        case _:
            conflict = words.ROW_CONFLICT_BEFORE if _is_known(outcome) else words.ROW_CONFLICT
            return Row(stack, target, seconds, "-", conflict(language), "without-a-solution")


def _changes(outcome: Outcome, lock: Lock, language: Language) -> str:
    if not _moved(outcome, lock) or (not lock.first and not lock.change):
        return words.NO_CHANGE(language)
    return words.FIRST_LOCK(language) if lock.first else words.PINS(language, len(lock.change))


def _moved(outcome: Outcome, lock: Lock) -> bool:
    """Whether any decision changed."""
    previous = _job(outcome).previous
    return previous is None or not diff.same(previous, lock)


def _job(outcome: Outcome) -> Job:
    assert outcome.job is not None, "only what failed has none"  # noqa: S101
    return outcome.job
