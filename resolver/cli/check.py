"""`ascend-lock check [STACK]`: whether locks are still what their inputs, and on demand their indexes, say."""

from __future__ import annotations

import datetime as dt
import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from resolver.cli import options
from resolver.cli.called import as_called
from resolver.cli.language import language_of
from resolver.cli.targets import chosen
from resolver.errors import ChangedUpstream, IndexFailure, InputError, StaleLock
from resolver.lock import file as lock_file
from resolver.lock import folder as lock_folder
from resolver.matrix.compile import compile_problems
from resolver.matrix.load import load, stack_names
from resolver.model.language import Language
from resolver.model.lock import Lock
from resolver.model.problem import Problem
from resolver.render import words
from resolver.render.files import render

# What --json calls the outcome, by the exit status.
_STATUS = {
    0: "current",
    IndexFailure.exit_status: "out-of-reach",
    StaleLock.exit_status: "stale",
    ChangedUpstream.exit_status: "changed",
}


@dataclass(frozen=True)
class _Checked:
    """One target's lock, where there is one. `stale` says why it is; `state` is the line for people."""

    problem: Problem
    lock: Lock | None
    stale: str
    state: str
    unreadable: bool


@click.command("check")
@click.argument("stack", required=False)
@click.option("--target", "targets", multiple=True, metavar="NAME", help="Only this one of the stack's targets.")
@options.matrices
@options.locks
@click.option("--upstream", is_flag=True, help="Ask the indexes what became of each file since it was locked.")
@options.facts_days
@click.option(
    "--ignore-vulnerability", "ignored", multiple=True, metavar="ID", help="One that was judged; may be given again."
)
@options.language
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout and nothing else.")
def command(
    stack: str | None,
    targets: tuple[str, ...],
    matrices: Path | None,
    locks: Path,
    upstream: bool,
    facts_days: int | None,
    ignored: tuple[str, ...],
    language: str | None,
    as_json: bool,
) -> int:
    """Compare locks with the facts, stacks and files that they belong to; with --upstream, with their indexes, too.

    Changes nothing. Only --upstream asks the network.
    """
    matrices = matrices or options.default_matrices()
    if targets and stack is None:
        raise InputError("a target is one of a stack's", where="--target", hint="name the stack, too")
    tongue = language_of(language)
    told: list[dict[str, Any]] = []
    statuses = {0}
    stale: dict[str, bool] = {}
    with ExitStack() as open_until_the_end:
        since = None
        if upstream or facts_days is not None:
            from resolver.cli.upstream import Since  # what only compares files does not pay for it

            since = Since(matrices, facts_days, ignored, language, ask=upstream, quiet=as_json)
            open_until_the_end.enter_context(closing(since))
        for checked in _checked(stack, frozenset(targets), matrices, locks):
            name, target = checked.problem.stack.name, checked.problem.target.name
            row: dict[str, Any] = {"stack": name, "target": target, "stale": checked.stale, "state": checked.state}
            lines: list[str] = []
            if since is not None and checked.lock is not None:
                seen = since.seen(checked.problem, checked.lock)
                lines, row = seen.lines, {**row, **seen.json}
                statuses.add(seen.status)
            if not as_json:
                told_state = words.CHECKED(tongue, stack=name, target=target, state=_state(checked.state, tongue))
                sys.stdout.write("".join(f"{line}\n" for line in (told_state, *lines)))
            told.append(row)
            if checked.stale:
                statuses.add(StaleLock.exit_status)
                stale[name] = stale.get(name, False) or checked.unreadable
    status = max(statuses)
    if as_json:
        sys.stdout.write(json.dumps({"status": _STATUS[status], "locks": told}, indent=2) + "\n")
    else:
        for name in sorted(stale):
            command = as_called(f"ascend-lock lock {name}{' --upgrade' if stale[name] else ''}")
            sys.stdout.write(words.HINT(tongue, command=command) + "\n")
    return status


def _state(state: str, language: Language) -> str:
    """What was found, in the language; a message about a lock that cannot be read stays English."""
    return next((known(language) for known in words.STATES if known.en == state), state)


def _checked(stack: str | None, targets: frozenset[str], matrices: Path, locks: Path) -> Iterator[_Checked]:
    """The locks of one stack or of all, in the order of stacks and targets."""
    for name in [stack] if stack else stack_names(matrices):
        inputs = load(name, matrices)
        for problem in chosen(compile_problems(inputs), targets):
            folder = locks / problem.stack.name / problem.target.name
            state, lock = "", None
            try:
                lock = lock_file.read(folder)
            except InputError as error:
                state = f"{error.message}: {error.why}"
            unreadable = bool(state)
            reported, cutoff = lock_folder.reported(folder) if lock is None else ("", lock.exclude_newer)
            if cutoff:  # it may have been given on the command line
                again = compile_problems(inputs, exclude_newer=dt.datetime.fromisoformat(cutoff))
                (problem,) = chosen(again, frozenset({problem.target.name}))
            current = "current"
            if lock is None and not state and reported:
                current = "no solution, as its report says"
                state = (
                    "" if reported == problem.digest else "the stack or the facts changed since its conflict was told"
                )
            elif lock is None:
                state = state or "there is no lock"
            elif lock.inputs != problem.digest:
                state = "the stack or the facts changed since"
            elif not lock_folder.current(render(lock), folder):
                state = "files beside lock.toml are not what it says"
            yield _Checked(problem, lock, state, state or current, unreadable)
