"""The result of a run for each target, as it is printed for people and in `--json`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from resolver.cli.console import (
    columns,
    for_stream,
    has_color,
    print_json,
    print_text,
    print_to_stderr,
)
from resolver.config.load import Inputs
from resolver.errors import ResolverError, StaleLock
from resolver.i18n import translate
from resolver.lock.difference import difference, new_warnings
from resolver.lock.previous import same_decisions
from resolver.lock.warnings import is_grave
from resolver.model.lock import Lock
from resolver.model.message import Message, joined, message
from resolver.model.problem import Problem
from resolver.model.text import Language
from resolver.report.document import Block, Paragraph, line
from resolver.report.summary import (
    SummaryRow,
    closing_line,
    difference_blocks,
    lock_json,
    summary,
    table,
)
from resolver.report.terminal import COLUMNS

if TYPE_CHECKING:  # a remembered lock needs no explaining
    from resolver.model.explanation import Explanation

CONFLICT = 1
UNDECIDED = 3  # as for a failure of an index, since it depends on one
_TABLE = 1000  # columns of the table, where no terminal has fewer: a row is a line
# In --json, by exit status.
STATUS_BY_EXIT = {
    0: "locked",
    CONFLICT: "conflict",
    UNDECIDED: "undecided",
    StaleLock.exit_status: "stale",
}


class Job(msgspec.Struct, frozen=True):
    """One target to be locked. `has_report`: of a conflict, instead of a lock."""

    inputs: Inputs
    problem: Problem
    folder: Path
    previous: Lock | None
    has_report: bool


class TargetResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result for a target, its `job`; or for a whole stack, if its files could not be read.

    `written` are the files of the lock's folder that changed, or would in a `dry_run`.
    """

    stack: str
    job: Job | None = None
    answer: Lock | Explanation | ResolverError
    dry_run: bool = False
    seconds: float = 0.0
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
    def pins_changed(self) -> bool:
        """Whether there is a lock with another decision than the one before."""
        previous = self.job.previous if self.job is not None else None
        return isinstance(self.answer, Lock) and (
            previous is None or not same_decisions(previous, self.answer)
        )

    @property
    def exit_status(self) -> int:
        """The exit status of a run with this result alone."""
        match self.answer:
            case Lock():
                return 0
            case ResolverError() as error:
                return error.exit_status
            case explanation:
                return UNDECIDED if explanation.awaited else CONFLICT

    @property
    def is_known_conflict(self) -> bool:
        """Whether there is no solution, and the target's conflict report said so before."""
        return (
            not isinstance(self.answer, (Lock, ResolverError))
            and self.job is not None
            and self.job.has_report
        )


def print_targets(status: str, targets: Sequence[dict[str, Any]]) -> None:
    """Print one shape, described in docs/lock.md; the keys of an only target are also at the top."""
    only = targets[0] if len(targets) == 1 else {}
    print_json({**only, "status": status, "targets": targets})


def result_json(result: TargetResult, language: Language) -> dict[str, Any]:
    """The object of a target in `print_targets`."""
    match result.answer:
        case Lock() as lock:
            return lock_json(lock, result.folder, moved=result.pins_changed, written=result.written)
        case ResolverError() as error:
            return {
                "status": "error",
                "stack": result.stack,
                "target": result.target,
                **error.parts(),
            }
        case explanation:
            from resolver.report.explanation.json import (
                explanation_json,
            )  # loaded where there is a conflict

            return explanation_json(explanation, language)


def print_results(results: Sequence[TargetResult], language: Language, *, together: bool) -> None:
    """Print all about the locks of one stack, or of several `together` the table and what a dry run would change."""
    printed: set[Message] = set()
    blocks: list[Block] = []
    for result in results:
        if not isinstance(result.answer, Lock) or result.job is None:
            continue
        if result.dry_run and (result.written or not together):
            blocks += _difference(result.answer, result.job, result.written)
        elif not together:
            warnings = _warnings_to_show(result.answer, result.job, result.written)
            new = [warning for warning in warnings if warning not in printed]
            printed.update(new)
            text = summary(
                result.answer,
                result.job.problem,
                result.folder,
                language,
                written=bool(result.written),
                moved=result.pins_changed,
                shown=new,
                columns=columns(sys.stdout, COLUMNS),
                color=has_color(sys.stdout),
            )
            print_text(text)
    if blocks:
        print_text(for_stream(blocks, language, sys.stdout) + "\n" * together)
    print_failures(results, language)
    rows = [_row(result, language) for result in results]
    lines = table(rows, language, columns(sys.stdout, _TABLE), color=has_color(sys.stdout))
    if together:
        print_text(lines + closing_line(rows, language))
    elif len(rows) > 1:
        print_text("\n" + lines)


def _warnings_to_show(lock: Lock, job: Job, written: Sequence[str]) -> list[Message]:
    """The warnings of a lock to show: if it was written, the grave ones and those that the lock before did not have."""
    if not written:
        return []
    new = new_warnings(job.previous, lock)
    return [
        warning for warning in lock.all_warnings if warning in new or is_grave(warning, job.problem)
    ]


def _difference(lock: Lock, job: Job, written: Sequence[str]) -> Iterator[Block]:
    code = "cli.would-change" if written else "cli.would-not-change"
    code = "cli.would-write" if job.previous is None else code
    yield Paragraph((line(message(code, folder=job.folder, names=tuple(written))),))
    if job.previous is not None and written:
        yield from difference_blocks(difference(job.previous, lock))


def print_failures(results: Sequence[TargetResult], language: Language) -> None:
    """Print what failed, and where the reports of conflicts are."""
    for result in results:
        if isinstance(result.answer, ResolverError):
            who = result.stack
            if result.target:
                who = translate("cli.for", language, stack=result.stack, target=result.target)
            print_to_stderr(
                f"{who}: error: {result.answer}" if len(results) > 1 else f"error: {result.answer}"
            )
        elif result.written and not isinstance(result.answer, Lock):
            print_to_stderr(translate("conflict.report-in", language, folder=result.folder))


def _row(result: TargetResult, language: Language) -> SummaryRow:
    changes = "-"
    match result.answer:
        case Lock() as lock:
            pins = message("cli.pins", count=len(lock.pin))
            warnings = message("cli.warnings", count=len(lock.all_warnings))
            state = message(
                "cli.row-warned" if lock.all_warnings else "cli.row-locked",
                pins=pins,
                warnings=warnings,
            )
            kind = "locked"
            if result.dry_run:
                state = message("cli.row-stale" if result.written else "state.current")
                kind = "stale" if result.written else "current"
            if result.pins_changed and lock.first:
                changes = translate("cli.first-lock", language)
            elif result.pins_changed and lock.change:
                changes = translate("cli.pins", language, len(lock.change))
            else:
                changes = translate("cli.no-change", language)
        case ResolverError() as error:
            state, kind = message("cli.row-failed", message=error.message), "failed"
        case explanation if explanation.awaited:
            indexes = dict.fromkeys(name for row in explanation.awaited for name in row.indexes)
            state, kind = message("cli.row-undecided", names=joined("comma", indexes)), "undecided"
        case _:
            state = message(
                "cli.row-conflict-before" if result.is_known_conflict else "cli.row-conflict"
            )
            kind = "without-a-solution"
    return SummaryRow(
        result.stack, result.target, result.seconds, changes, translate(state, language), kind
    )
