"""`ascend-lock check [STACK…]`: whether locks still match their inputs and, on request, their indexes."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from resolver.cli import options
from resolver.cli.called import as_called, command_line
from resolver.cli.failures import failure
from resolver.cli.named import ALL, locked, unknown
from resolver.cli.options import language_of
from resolver.cli.state import states
from resolver.errors import ChangedUpstream, IndexFailure, InputError, StaleLock, shown
from resolver.json_text import json_text
from resolver.model.text import Language
from resolver.report import words

if TYPE_CHECKING:
    from resolver.cli.upstream import Since

# The outcome in --json, by exit status.
_STATUS = {
    0: "current",
    IndexFailure.exit_status: "out-of-reach",
    StaleLock.exit_status: "stale",
    ChangedUpstream.exit_status: "changed",
}


@click.command("check", short_help="Check whether locks still match their inputs.")
@click.argument("stacks", metavar="[STACK...]", nargs=-1, shell_complete=options.completed)
@click.option("--target", "targets", multiple=True, metavar="NAME", help="Only this target; may be repeated.")
@options.matrices
@options.locks
@click.option("--upstream", is_flag=True, help="Also ask the indexes what has happened to each file since.")
@options.facts_days
@options.language
@options.as_json
def command(
    stacks: tuple[str, ...],
    targets: tuple[str, ...],
    matrices: Path | None,
    locks: Path,
    upstream: bool,
    facts_days: int | None,
    language: str | None,
    as_json: bool,
) -> int:
    """Check whether the locks of each STACK, or of all, still match their inputs.

    Without STACK, or with `all`, that is every stack of the checkout; in another folder, every stack that has a lock
    there. A stack file of your own is found if it is beside the locks folder and named after the stack.

    Compares them with their stacks, facts and rendered files; with --upstream, also with their indexes, over the
    network. Changes nothing. A stack that cannot be read does not stop the others; the exit status is the highest
    of all.
    """
    given = options.elsewhere(matrices, locks)
    matrices = matrices or options.default_matrices()
    if targets and not stacks:
        raise InputError("--target needs a stack", where="--target", hint="name the stack as well")
    every = not stacks or ALL in stacks
    names = locked(stacks or (ALL,), matrices, locks)
    if not names:
        raise _nothing(matrices, locks, given)
    tongue = language_of(language)
    asked = upstream or facts_days is not None
    found: list[_Seen] = []
    with ExitStack() as open_until_the_end:
        since = None
        if asked:
            from resolver.cli.upstream import Since  # not loaded if only files are compared

            since = Since(matrices, facts_days, language, ask=upstream, quiet=as_json)
            open_until_the_end.enter_context(closing(since))
        short = len(names) > 1 and since is None
        for name in names:
            seen = []
            for one in _look(name, frozenset(targets), matrices, locks, since, alone=len(names) == 1):
                seen.append(one)
                if not (as_json or short):
                    _say(one.row, one.lines, tongue)
            if short and not as_json:
                _say_shortly(seen, tongue)
            found += seen
    status = max((one.status for one in found), default=0)
    if as_json:
        told = {"status": _STATUS.get(status, "error"), "locks": [one.row for one in found]}
        sys.stdout.write(json_text(told) + "\n")
    else:
        _tell_hints(found, given, tongue)
        if every:
            _tell_others(matrices, locks, given)
    return status


class _Seen(msgspec.Struct, frozen=True):
    """The result for one target; for a whole stack, without a target, if its files could not be read.

    `again` is the stack as given on the command line, if it has to be locked again; `mend` is to be done before.
    """

    row: dict[str, Any]
    lines: Sequence[str] = ()
    status: int = 0
    again: str = ""
    unreadable: bool = False
    mend: str = ""


def _look(
    name: str, targets: frozenset[str], matrices: Path, locks: Path, since: Since | None, *, alone: bool
) -> Iterator[_Seen]:
    """The results of a stack's targets. An error is raised if the stack is `alone`, otherwise reported."""
    try:
        for checked in states(name, targets, matrices, locks):
            row = _row(checked.problem.stack.name, checked.problem.target.name, checked.text, checked.stale)
            lines: list[str] = []
            status = StaleLock.exit_status if checked.stale else 0
            if since is not None and checked.lock is not None:
                seen = since.seen(checked.problem, checked.lock)
                lines, row, status = seen.lines, {**row, **seen.json}, max(status, seen.status)
            yield _Seen(row, lines, status, name if checked.stale else "", checked.unreadable, checked.mend)
    except Exception as error:
        if alone:
            raise
        told, status = failure(error)
        sys.stderr.write(as_called(f"{shown(name)}: error: {told}\n"))
        yield _Seen({**_row(name, "", told.message), **told.parts()}, status=status)


def _nothing(matrices: Path, locks: Path, given: Sequence[str]) -> InputError:
    names = unknown(matrices, locks)
    if not names:
        hint = "lock a stack first, or give the folder of locks by --locks DIR"
        return InputError("there are no locks to check", where=str(locks), hint=hint)
    return InputError(
        "there is nothing to check",
        where=str(locks),
        why=f"The stack of {', '.join(names)} is neither in {matrices} nor beside the folder.",
        hint=command_line("check", f"path/to/{names[0]}.toml", *given),
    )


def _tell_others(matrices: Path, locks: Path, given: Sequence[str]) -> None:
    """After a check of all: report locks whose stacks were not found."""
    for name in unknown(matrices, locks):
        hint = f"{locks / name} belongs to a stack that is not in {matrices}; give the path of its file:"
        command = command_line("check", f"path/to/{name}.toml", *given)
        sys.stderr.write(as_called(f"hint: {hint} {command}\n"))


def _row(stack: str, target: str, state: str, stale: str = "") -> dict[str, Any]:
    return {"stack": stack, "target": target, "stale": stale, "state": state}


def _say(row: dict[str, Any], lines: Iterable[str], language: Language) -> None:
    """Print the result of a target and its indexes; or of a stack that could not be read."""
    stack, target, state = shown(row["stack"]), row["target"], _state(row["state"], language)
    if target:
        line = words.CHECKED(language, stack=stack, target=target, state=state)
    else:
        line = words.CHECKED_NOT(language, stack=stack, failed=words.ROW_FAILED(language, message=state))
    sys.stdout.write("".join(f"{told}\n" for told in (line, *lines)))


def _say_shortly(seen: Sequence[_Seen], language: Language) -> None:
    """Print one line for a stack, or one for each target if they differ."""
    states = {one.row["state"] for one in seen}
    if len(seen) == 1 or len(states) > 1:
        for one in seen:
            _say(one.row, (), language)
        return
    state = _state(states.pop(), language)
    stack = seen[0].row["stack"]
    sys.stdout.write(words.CHECKED_ALIKE(language, stack=stack, count=len(seen), state=state) + "\n")


def _state(state: str, language: Language) -> str:
    """The result in the language; a message about an unreadable lock stays English."""
    return next((known(language) for known in words.STATES if known.en == state), shown(state))


def _tell_hints(found: Sequence[_Seen], given: Sequence[str], language: Language) -> None:
    """Print the commands that lock stale stacks again; those with an unreadable lock have to be locked from scratch."""
    for one in found:
        if one.mend:
            sys.stdout.write(words.HINT(language, command=one.mend) + "\n")
    lost = {one.again for one in found if one.unreadable}
    stale = dict.fromkeys(one.again for one in found if one.again)
    for names, option in (([n for n in stale if n not in lost], ()), ([n for n in stale if n in lost], ("--upgrade",))):
        if names:
            command = as_called(command_line("lock", *names, *option, *given))
            sys.stdout.write(words.HINT(language, command=command) + "\n")
