"""`ascend-lock check [STACK]`: whether locks are still what their inputs, and on demand their indexes, say."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Iterable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import click

from resolver.catalog.cache import Cache, default_folder
from resolver.cli import options
from resolver.cli.called import as_called
from resolver.cli.language import language_of
from resolver.cli.unchanged import Unchanged
from resolver.errors import ChangedUpstream, IndexFailure, InputError, StaleLock, shown
from resolver.model.language import Language
from resolver.render import words

# What --json calls the outcome, by the exit status.
_STATUS = {
    0: "current",
    IndexFailure.exit_status: "out-of-reach",
    StaleLock.exit_status: "stale",
    ChangedUpstream.exit_status: "changed",
}


@click.command("check")
@click.argument("stack", required=False)
@click.option("--target", "targets", multiple=True, metavar="NAME", help="Only this target; may be repeated.")
@options.matrices
@options.locks
@click.option("--upstream", is_flag=True, help="Also ask the indexes what has happened to each file since.")
@options.facts_days
@click.option(
    "--ignore-vulnerability", "ignored", multiple=True, metavar="ID", help="Do not report this one; may be repeated."
)
@options.language
@options.as_json
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
    """Check whether locks still match their inputs.

    Compares them with their stacks, facts and rendered files; with --upstream, also with their indexes, over the
    network. Changes nothing.
    """
    matrices = matrices or options.default_matrices()
    if targets and stack is None:
        raise InputError("a target is one of a stack's", where="--target", hint="name the stack, too")
    tongue = language_of(language)
    memory = None if upstream or facts_days is not None else _memory(stack, targets, matrices, locks)
    if memory is not None and (known := memory.recall()) is not None:
        _tell([_row(*row) for row in known], 0, {}, tongue, as_json=as_json)
        _tell_others(stack, matrices, locks, as_json=as_json)
        return 0
    from resolver.cli.state import states  # what was checked before does not pay for it

    told: list[dict[str, Any]] = []
    statuses = {0}
    stale: dict[str, bool] = {}
    with ExitStack() as open_until_the_end:
        since = None
        if upstream or facts_days is not None:
            from resolver.cli.upstream import Since  # what only compares files does not pay for it

            since = Since(matrices, facts_days, ignored, language, ask=upstream, quiet=as_json)
            open_until_the_end.enter_context(closing(since))
        for checked in states(stack, frozenset(targets), matrices, locks):
            name, target = checked.problem.stack.name, checked.problem.target.name
            row = _row(name, target, checked.text, checked.stale)
            lines: list[str] = []
            if since is not None and checked.lock is not None:
                seen = since.seen(checked.problem, checked.lock)
                lines, row = seen.lines, {**row, **seen.json}
                statuses.add(seen.status)
            if not as_json:
                _say(row, tongue, lines)
            told.append(row)
            if checked.stale:
                statuses.add(StaleLock.exit_status)
                called = name if stack is None else shlex.quote(stack)
                stale[called] = stale.get(called, False) or checked.unreadable
    status = max(statuses)
    if memory is not None and not status:
        memory.keep([(row["stack"], row["target"], row["state"]) for row in told])
    _tell(told if as_json else [], status, stale, tongue, as_json=as_json)
    _tell_others(stack, matrices, locks, as_json=as_json)
    return status


def _tell_others(stack: str | None, matrices: Path, locks: Path, *, as_json: bool) -> None:
    """Where all were to be looked at: the stacks that have locks here and are not in `matrices`."""
    if stack is None and not as_json:
        known = {path.stem for path in (matrices / "stacks").glob("*.toml")}
        for name in sorted({path.parts[-3] for path in locks.glob("*/*/lock.toml")} - known):
            hint = f"{locks / name} is of a stack that is not in {matrices}; name its file:"
            sys.stderr.write(as_called(f"hint: {hint} ascend-lock check path/to/{name}.toml\n"))


def _memory(stack: str | None, targets: tuple[str, ...], matrices: Path, locks: Path) -> Unchanged | None:
    """What may be known already; nothing is of a stack that is given by its path."""
    if stack is not None and (stack.endswith(".toml") or os.sep in stack):
        return None
    stacks = [stack] if stack is not None else sorted(path.stem for path in (matrices / "stacks").glob("*.toml"))
    return Unchanged(Cache(default_folder(), lambda _: None), stacks, targets, matrices, locks)


def _row(stack: str, target: str, state: str, stale: str = "") -> dict[str, Any]:
    return {"stack": stack, "target": target, "stale": stale, "state": state}


def _say(row: dict[str, Any], language: Language, lines: Iterable[str] = ()) -> None:
    state = _state(row["state"], language)
    told = (words.CHECKED(language, stack=row["stack"], target=row["target"], state=state), *lines)
    sys.stdout.write("".join(f"{line}\n" for line in told))


def _state(state: str, language: Language) -> str:
    """What was found, in the language; a message about a lock that cannot be read stays English."""
    return next((known(language) for known in words.STATES if known.en == state), shown(state))


def _tell(
    rows: list[dict[str, Any]], status: int, stale: dict[str, bool], language: Language, *, as_json: bool
) -> None:
    """The rows that are still to be told, all of them as one object, and what mends stale locks."""
    if as_json:
        sys.stdout.write(json.dumps({"status": _STATUS[status], "locks": rows}, indent=2) + "\n")
        return
    for row in rows:
        _say(row, language)
    for name in sorted(stale):
        command = as_called(f"ascend-lock lock {name}{' --upgrade' if stale[name] else ''}")
        sys.stdout.write(words.HINT(language, command=command) + "\n")
