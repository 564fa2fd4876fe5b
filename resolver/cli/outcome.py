"""Define the result of a run for each target, and print results for people and as JSON."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from resolver.cli.console import (
    columns,
    for_stream,
    has_color,
    print_error,
    print_json,
    print_text,
    print_to_stderr,
)
from resolver.cli.shared_versions import SharedVersions, differences
from resolver.config.compile import StackCompiler
from resolver.errors import ResolverError, StaleLock
from resolver.i18n import translate
from resolver.lock.difference import difference, new_notes, new_warnings
from resolver.lock.previous import same_decisions
from resolver.lock.warnings import is_grave, rests_on_absence
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

# A run without conflicts does not need these types.
if TYPE_CHECKING:
    from resolver.model.explanation import Explanation

# Exit statuses. UNDECIDED is also the status of a failed index, as the answer depends on one.
CONFLICT = 1
UNDECIDED = 3
# The width of the table without a terminal, so that each row is one line.
_TABLE_COLUMNS = 1000
# The `status` in --json, by exit status.
STATUS_BY_EXIT = {
    0: "locked",
    CONFLICT: "conflict",
    UNDECIDED: "undecided",
    StaleLock.exit_status: "stale",
}


def conflict_status(explanation: Explanation) -> int:
    """Return the exit status for a target without a lock.

    It is UNDECIDED if an index that did not answer may change that.
    """
    return UNDECIDED if explanation.awaited else CONFLICT


class Job(msgspec.Struct, frozen=True):
    """A target to lock."""

    # The compiler that made the problem from the stack's files.
    compiler: StackCompiler
    # The problem to solve.
    problem: Problem
    # The folder of the target's lock.
    folder: Path
    # The lock that is there before the run; None if there is none.
    previous: Lock | None
    # Whether the folder has the report of a conflict instead of a lock.
    has_report: bool
    # The versions that the groups of the stack share on this target; None for a stack without
    # groups.
    shared: SharedVersions | None = None


class TargetResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result for a target, or for a stack whose files could not be read."""

    # The name of the stack.
    stack: str
    # The target; None for a whole stack.
    job: Job | None = None
    # The lock, the explanation of a conflict, or the error.
    answer: Lock | Explanation | ResolverError
    # Whether nothing is written.
    dry_run: bool = False
    # How long solving took.
    seconds: float = 0.0
    # The names of the files in the lock's folder that changed, or would change without `dry_run`.
    written: tuple[str, ...] = ()

    @property
    def target(self) -> str:
        """Return the name of the target; empty for a whole stack."""
        if self.job is None:
            return ""
        return self.job.problem.target.name

    @property
    def folder(self) -> Path:
        """Return the folder of the target's lock and report.

        It is the current folder for a whole stack.
        """
        if self.job is None:
            return Path()
        return self.job.folder

    @property
    def pins_changed(self) -> bool:
        """Return whether there is a lock whose pins differ from the previous one's.

        True for a first lock.
        """
        if not isinstance(self.answer, Lock):
            return False
        if self.job is None or self.job.previous is None:
            return True
        return not same_decisions(self.job.previous, self.answer)

    @property
    def exit_status(self) -> int:
        """Return the exit status of a run with this result alone."""
        match self.answer:
            case Lock():
                return 0
            case ResolverError() as error:
                return error.exit_status
            case explanation:
                return conflict_status(explanation)

    @property
    def is_known_conflict(self) -> bool:
        """Return whether there is no solution, and the folder already has a report that says so."""
        if isinstance(self.answer, (Lock, ResolverError)):
            return False
        return self.job is not None and self.job.has_report


def print_targets(status: str, targets: Sequence[dict[str, Any]]) -> None:
    """Print the JSON object that docs/lock.md describes.

    If there is only one target, its keys are also at the top of the object.
    """
    shortcut = targets[0] if len(targets) == 1 else {}
    print_json({**shortcut, "status": status, "targets": targets})


def result_json(result: TargetResult, language: Language) -> dict[str, Any]:
    """Return the object for a target, for `print_targets`."""
    match result.answer:
        case Lock() as lock:
            return lock_json(lock, result.folder, moved=result.pins_changed, written=result.written)
        case ResolverError() as error:
            names = {"stack": result.stack, "target": result.target}
            return {"status": "error", **names, **error.parts()}
        case explanation:
            # Imported only for a conflict.
            from resolver.report.explanation.json import explanation_json

            return explanation_json(explanation, language)


def print_result_json(results: Sequence[TargetResult], status: int, language: Language) -> None:
    """Print the results of a run with this exit status as JSON."""
    has_failed = any(isinstance(result.answer, ResolverError) for result in results)
    if has_failed and len(results) == 1:
        print_failures(results, language)
    targets = [result_json(result, language) for result in results]
    print_targets("error" if has_failed else STATUS_BY_EXIT[status], targets)


def print_results(results: Sequence[TargetResult], language: Language, *, together: bool) -> None:
    """Print the results of a run for people.

    For one stack, the summaries of its locks are printed, and a table if it has several targets.
    For several stacks `together`, it is the table, and for a dry run also what would change.
    """
    blocks: list[Block] = []
    printed: set[Message] = set()
    for result in results:
        if not isinstance(result.answer, Lock) or result.job is None:
            continue
        if result.dry_run and (result.written or not together):
            blocks += _difference(result.answer, result.job, result.written)
        elif not together:
            _print_summary(result.answer, result.job, result, language, printed)
    blocks += _differences_of_groups(results)
    blocks += _differences_of_days(results)
    if blocks:
        difference_text = for_stream(blocks, language, sys.stdout)
        if together:
            difference_text += "\n"
        print_text(difference_text)
    print_failures(results, language)
    rows = [_row(result, language) for result in results]
    width = columns(sys.stdout, _TABLE_COLUMNS)
    table_text = table(rows, language, width, color=has_color(sys.stdout))
    if together:
        print_text(table_text + closing_line(rows, language))
    elif len(rows) > 1:
        print_text("\n" + table_text)


def _print_summary(
    lock: Lock,
    job: Job,
    result: TargetResult,
    language: Language,
    printed: set[Message],
) -> None:
    """Print the summary of a lock, with the warnings and notes that the user must see.

    A grave or new warning is printed if the lock was written. A warning that pins depend on an
    index which was out of reach is always printed, a note only if it is new. Warnings in `printed`
    are left out; the others are added to it.
    """
    shown: list[Message] = []
    new = new_warnings(job.previous, lock)
    for warning in lock.all_warnings:
        is_due = rests_on_absence(warning)
        if result.written:
            is_due = is_due or warning in new or is_grave(warning, job.problem)
        if is_due and warning not in printed:
            shown.append(warning)
    printed.update(shown)
    text = summary(
        lock,
        job.problem,
        result.folder,
        language,
        written=bool(result.written),
        moved=result.pins_changed,
        shown=shown,
        notes=new_notes(job.previous, lock),
        columns=columns(sys.stdout, COLUMNS),
        color=has_color(sys.stdout),
    )
    print_text(text)


def _difference(lock: Lock, job: Job, written: Sequence[str]) -> Iterator[Block]:
    """Yield what a dry run would change in a lock."""
    if job.previous is None:
        code = "cli.would-write"
    elif written:
        code = "cli.would-change"
    else:
        code = "cli.would-not-change"
    yield Paragraph((line(message(code, folder=job.folder, names=tuple(written))),))
    if job.previous is not None and written:
        yield from difference_blocks(difference(job.previous, lock))


def _differences_of_groups(results: Sequence[TargetResult]) -> Iterator[Block]:
    """Yield, for each target, the projects of which the groups of a stack have several versions."""
    locks: dict[tuple[str, int], dict[str, Lock]] = {}
    for result in results:
        if result.job is not None and isinstance(result.answer, Lock):
            problem = result.job.problem
            key = problem.stack.argument, problem.target_number
            of_target = locks.setdefault(key, {})
            of_target[problem.stack.group] = result.answer
    for (stack, _), by_group in locks.items():
        projects = list(differences(by_group))
        if projects:
            command = shlex.join(("ascend-lock", "explain", stack, "--all-groups"))
            values = {"count": len(projects), "projects": joined("semicolon", projects)}
            yield Paragraph((line(message("group.differ", **values, command=command)),))


def _differences_of_days(results: Sequence[TargetResult]) -> Iterator[Block]:
    """Yield how many versions differ between two targets of a stack if only one has a day.

    A target has no day if its index gives no upload times.
    """
    locks: dict[tuple[str, str], list[Lock]] = {}
    for result in results:
        if result.job is not None and isinstance(result.answer, Lock):
            stack = result.job.problem.stack
            locks.setdefault((stack.argument, stack.group), []).append(result.answer)
    for of_stack in locks.values():
        dated = [lock for lock in of_stack if lock.as_of.day]
        undated = [lock for lock in of_stack if not lock.as_of.day and lock.as_of.undated]
        if not dated or not undated:
            continue
        latest = max(dated, key=lambda lock: lock.as_of.day)
        other = undated[0]
        versions = {pin.name: pin.version for pin in latest.pin}
        moved = [pin for pin in other.pin if versions.get(pin.name, pin.version) != pin.version]
        if moved:
            names = (latest.target.name, other.target.name)
            values = {"day": latest.as_of.day, "targets": names, "count": len(moved)}
            yield Paragraph((line(message("targets.differ", **values)),))


def print_failures(results: Sequence[TargetResult], language: Language) -> None:
    """Print errors on stderr, and where the reports of conflicts are."""
    for result in results:
        if isinstance(result.answer, ResolverError):
            name = result.stack
            if result.target:
                name = translate("cli.for", language, stack=result.stack, target=result.target)
            print_error(result.answer, language, name if len(results) > 1 else "")
        elif result.written and not isinstance(result.answer, Lock):
            print_to_stderr(translate("conflict.report-in", language, folder=result.folder))


def print_apply_hint(results: Sequence[TargetResult], command: str, language: Language) -> None:
    """Print on stderr how to take a way out, if one changes a single stack.

    `command` is the command line that the option --apply is added to.
    """
    for result in results:
        if isinstance(result.answer, (Lock, ResolverError)):
            continue
        for fix in result.answer.fixes:
            if len(fix.texts) == 1:
                apply = f"{command} --apply {fix.name}"
                hint = translate("edit.apply-hint", language, command=apply, letter=fix.name)
                print_to_stderr(hint)
                return


def _row(result: TargetResult, language: Language) -> SummaryRow:
    """Return the row of a result in the table."""
    changes = "-"
    match result.answer:
        case Lock() as lock:
            state, kind = _state_of_lock(lock, result)
            changes = _changes(lock, result, language)
        case ResolverError() as error:
            state, kind = message("cli.row-failed", message=error.phrases["message"]), "failed"
        case explanation if explanation.awaited:
            indexes = dict.fromkeys(
                chain.from_iterable(awaited.indexes for awaited in explanation.awaited)
            )
            state = message("cli.row-undecided", names=joined("comma", indexes))
            kind = "undecided"
        case _:
            state, kind = message("cli.row-conflict"), "without-a-solution"
            if result.is_known_conflict:
                state = message("cli.row-conflict-before")
    return SummaryRow(
        result.stack,
        result.target,
        result.seconds,
        changes,
        translate(state, language),
        kind,
    )


def _state_of_lock(lock: Lock, result: TargetResult) -> tuple[Message, str]:
    """Return the state of a lock for the table, and its kind for counting."""
    if result.dry_run and result.written:
        return message("cli.row-stale"), "stale"
    if result.dry_run:
        return message("state.current"), "current"
    pins = message("cli.pins", count=len(lock.pin))
    if not lock.all_warnings:
        return message("cli.row-locked", pins=pins), "locked"
    warnings = message("cli.warnings", count=len(lock.all_warnings))
    return message("cli.row-warned", pins=pins, warnings=warnings), "locked"


def _changes(lock: Lock, result: TargetResult, language: Language) -> str:
    """Return how many pins changed, for the table."""
    if result.pins_changed and lock.first:
        return translate("cli.first-lock", language)
    if result.pins_changed and lock.change:
        return translate("cli.pins", language, len(lock.change))
    return translate("cli.no-change", language)
