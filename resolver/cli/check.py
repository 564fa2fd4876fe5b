"""`ascend-lock check [STACK…]`: whether locks still match their inputs and, on request, their indexes."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
from msgspec import structs

from resolver.audit.compare import DAYS, as_locked, compare, is_grave, older
from resolver.cli import options
from resolver.cli.catalogs import Catalogs
from resolver.cli.commands import failure
from resolver.cli.console import print_error, print_json, print_line
from resolver.cli.options import ALL, Settings, settings, today
from resolver.cli.selection import chosen_targets, locked_stacks, unknown_locks
from resolver.config.compile import compile_problems
from resolver.config.load import Inputs, load
from resolver.errors import CHANGED_UPSTREAM, IndexFailure, InputError, StaleLock, escaped
from resolver.i18n import translate
from resolver.lock import file as lock_file
from resolver.lock import folder as lock_folder
from resolver.model.lock import Lock
from resolver.model.message import Message, message, verbatim
from resolver.model.problem import Problem
from resolver.report.rendering import render
from resolver.report.upstream import change_lines, compared_json, old_facts

_CURRENT = ("state.current", "state.conflict-current")
# The outcome in --json, by exit status.
_STATUS = {
    0: "current",
    IndexFailure.exit_status: "out-of-reach",
    StaleLock.exit_status: "stale",
    CHANGED_UPSTREAM: "changed",
}


@click.command("check", short_help="Check whether locks still match their inputs.")
@options.stacks("stacks", "[STACK...]", required=False)
@click.option("--upstream", is_flag=True, help="Also ask the indexes what has happened to each file since.")
@options.facts_days
@settings("targets", "own_matrices", "locks", "language", "as_json")
def command(run: Settings, stacks: tuple[str, ...], upstream: bool, facts_days: int | None) -> int:
    """Check whether the locks of each STACK, or of all, still match their inputs.

    Without STACK, or with `all`, that is every stack of the checkout; in another folder, every stack that has a lock
    there. A stack file of your own is found if it is beside the locks folder and named after the stack.

    Compares them with their stacks, facts and rendered files; with --upstream, also with their indexes, over the
    network. Changes nothing. A stack that cannot be read does not stop the others; the exit status is the highest
    of all.
    """
    names = locked_stacks(stacks or (ALL,), run.matrices, run.locks)
    elsewhere = unknown_locks(run.matrices, run.locks)
    if not names:
        here = f"The stack of {', '.join(elsewhere)} is neither in {run.matrices} nor beside the folder."
        raise InputError(
            "there is nothing to check",
            where=str(run.locks),
            why=here if elsewhere else "",
            hint=run.command("check", f"path/to/{elsewhere[0]}.toml")
            if elsewhere
            else "lock a stack first, or give the folder of locks by --locks DIR",
        )
    days = facts_days if facts_days is not None or not upstream else DAYS
    found: list[_Found] = []
    stray: list[Path] = []
    with closing(Catalogs(run)) as catalogs:
        asked = catalogs if upstream else None
        for name in names:
            try:
                inputs = load(name, run.matrices)
                every = compile_problems(inputs)
                seen = [
                    _found(name, inputs, problem, days, asked, run) for problem in chosen_targets(every, run.targets)
                ]
                stray += _stray(every, run.locks)
            except Exception as error:
                if len(names) == 1:
                    raise
                told = failure(error)
                print_error(f"{escaped(name)}: error: {told}")
                row = {"stack": name, "target": "", "stale": "", "state": told.message, **told.parts()}
                seen = [_Found(name, row, verbatim(told.message), told.exit_status)]
            if not run.as_json:
                _say(seen, run, together=len(names) > 1 and days is None)
            found += seen
    status = max((one.status for one in found), default=0)
    if run.as_json:
        print_json({"status": _STATUS.get(status, "error"), "locks": [one.row for one in found]})
        return status
    _tell_hints(found, run)
    for folder in stray:
        print_error(f"hint: {folder} belongs to no target of its stack any more; remove it if it is not needed")
    for name in elsewhere if not stacks or ALL in stacks else ():
        belongs = f"{run.locks / name} belongs to a stack that is not in {run.matrices}"
        again = run.command("check", f"path/to/{name}.toml")
        print_error(f"hint: {belongs}; give the path of its file: {again}")
    return status


@dataclass(frozen=True)
class _Found:
    """The result for one target of a stack, as named on the command line; for a whole stack if it cannot be read.

    `row` is for --json, `state` for people; `hint` says what to do about a lock that cannot be read.
    """

    stack: str
    row: dict[str, Any]
    state: Message
    status: int
    lines: Sequence[str] = ()
    hint: str = ""


def _found(
    stack: str, inputs: Inputs, problem: Problem, days: int | None, catalogs: Catalogs | None, run: Settings
) -> _Found:
    """What is found of one target: whether its lock matches its inputs, and with `days` or `catalogs`, what is old."""
    target = problem.target.name
    folder = run.locks / problem.stack.name / target
    lock: Lock | None = None
    unreadable, hint = None, ""
    try:
        lock = lock_file.read_own(folder)
    except InputError as error:
        unreadable = verbatim(": ".join(filter(None, (error.message, error.why))))
        hint = f"{error.where}: {error.hint}"
    reported, cutoff = lock_folder.report_inputs(folder) if lock is None else ("", lock.exclude_newer)
    if cutoff and problem.policy.exclude_newer is None:  # it was given on the command line
        again = compile_problems(inputs, exclude_newer=dt.datetime.fromisoformat(cutoff))
        (problem,) = chosen_targets(again, (target,))
    state = unreadable or message(_state(lock, reported, problem, folder))
    told, status = translate(state, "en"), 0 if state.code in _CURRENT else StaleLock.exit_status
    row = {"stack": problem.stack.name, "target": target, "stale": told if status else "", "state": told}
    found = _Found(stack, row, state, status, hint=hint)
    return found if lock is None or days is None else _with_upstream(found, problem, lock, days, catalogs, run)


def _stray(problems: Sequence[Problem], locks: Path) -> list[Path]:
    """The folders of locks of targets that their stack does not have."""
    targets = {problem.target.name for problem in problems}
    found = sorted(path.parent for path in (locks / problems[0].stack.name).glob(f"[!.]*/{lock_file.NAME}"))
    return [folder for folder in found if folder.name not in targets]


def _state(lock: Lock | None, reported: str, problem: Problem, folder: Path) -> str:
    """The code of what a target's lock is, or the conflict report in its place, made from inputs of this digest."""
    if lock is None and reported:
        return "state.conflict-current" if reported == problem.digest else "state.conflict-stale"
    if lock is None:
        return "state.missing"
    if lock.inputs != problem.digest:
        return "state.stale"
    return "state.altered" if lock_folder.outdated(render(lock), folder) else "state.current"


def _with_upstream(
    found: _Found, problem: Problem, lock: Lock, days: int, catalogs: Catalogs | None, run: Settings
) -> _Found:
    """The same with facts that were checked more than so many days ago, and what the indexes say of the lock."""
    old = older(lock, today(), days)
    row = {**found.row, "old_facts": [{"id": one.id, "checked": one.checked} for one in old]}
    if catalogs is None:
        lines = [translate(old_facts(old, days), run.language)] if old else []
        return replace(found, row=row, lines=lines)
    run.progress.label("cli.asking-indexes", stack=lock.stack, target=lock.target.name)
    with closing(catalogs.live(structs.replace(problem, indexes=as_locked(lock, problem.indexes)))) as catalog:
        compared = compare(lock, catalog)
    run.progress.clear()
    status = IndexFailure.exit_status if compared.out_of_reach else 0
    if any(map(is_grave, compared.changes)):
        status = CHANGED_UPSTREAM
    return replace(
        found,
        row={**row, "upstream": compared_json(compared)},
        status=max(found.status, status),
        lines=[translate(line, run.language) for line in change_lines(compared, old, days)],
    )


def _say(seen: Sequence[_Found], run: Settings, *, together: bool) -> None:
    """Print a line for each target of a stack, or one for all where they are alike; or that it cannot be read."""
    states = [escaped(translate(one.state, run.language)) for one in seen]
    if together and len(seen) > 1 and len(set(states)) == 1:
        run.print_message("cli.checked-alike", stack=seen[0].row["stack"], count=len(seen), state=states[0])
        return
    for one, state in zip(seen, states, strict=True):
        stack, target = escaped(one.row["stack"]), one.row["target"]
        if target:
            run.print_message("cli.checked", stack=stack, target=target, state=state)
        else:
            run.print_message("cli.checked-not", stack=stack, failed=message("cli.row-failed", message=state))
        for line in one.lines:
            print_line(f"  {line}")


def _tell_hints(found: Sequence[_Found], run: Settings) -> None:
    """Print what to do about locks that cannot be read, and the command that locks the other stale stacks again."""
    hints = [one.hint for one in found if one.hint]
    unreadable = {one.stack for one in found if one.hint}
    if names := dict.fromkeys(one.stack for one in found if one.row["stale"] and one.stack not in unreadable):
        hints.append(run.command("lock", *names))
    for hint in hints:
        run.print_message("cli.hint", command=hint)
