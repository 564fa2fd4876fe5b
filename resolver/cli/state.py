"""Whether locks match their inputs: each target's lock compared with stack, facts and the files beside it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path

import msgspec

from resolver.cli.named import chosen
from resolver.config.compile import compile_problems
from resolver.config.load import load
from resolver.errors import InputError
from resolver.lock import file as lock_file
from resolver.lock import folder as lock_folder
from resolver.model.lock import Lock
from resolver.model.problem import Problem
from resolver.report.files import render


class State(msgspec.Struct, frozen=True):
    """One target's lock, if there is one. `stale` says why it is stale, or is empty; `text` is the line for people.

    `mend` says how a lock can be read again of which nothing has to be lost; other `unreadable` ones are.
    """

    problem: Problem
    lock: Lock | None
    stale: str
    text: str
    unreadable: bool
    mend: str


def states(stack: str, targets: frozenset[str], matrices: Path, locks: Path) -> Iterator[State]:
    """The locks of a stack, in the order of its targets. Raises InputError."""
    inputs = load(stack, matrices)
    for problem in chosen(compile_problems(inputs), targets):
        folder = locks / problem.stack.name / problem.target.name
        why, mend, lock = "", "", None
        try:
            lock = lock_file.read_own(folder)
        except InputError as error:
            why = f"{error.message}: {error.why}" if error.why else error.message
            mend = lock_file.take_ours(folder) if error.message == lock_file.MERGED else ""
            if isinstance(error, lock_file.Withheld):
                mend = f"{error.where}: {error.hint}"
        unreadable = bool(why) and not mend
        reported, cutoff = lock_folder.reported(folder) if lock is None else ("", lock.exclude_newer)
        if cutoff and problem.policy.exclude_newer is None:  # it was given on the command line
            again = compile_problems(inputs, exclude_newer=dt.datetime.fromisoformat(cutoff))
            (problem,) = chosen(again, frozenset({problem.target.name}))
        current = "current"
        if lock is None and not why and reported:
            current = "no lock, as its report says"
            why = (
                ""
                if reported == problem.digest
                else "the stack or the facts have changed since the conflict was reported"
            )
        elif lock is None:
            why = why or "there is no lock"
        elif lock.inputs != problem.digest:
            why = "the stack or the facts have changed since the lock was made"
        elif not lock_folder.current(render(lock), folder):
            why = "files next to lock.toml do not match it"
        yield State(problem, lock, why, why or current, unreadable, mend)
