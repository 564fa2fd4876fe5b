"""`ascend-lock add STACK REQUIREMENT…`."""

from __future__ import annotations

import click

from resolver.cli import options
from resolver.cli.edits import edit_and_lock, frozen
from resolver.cli.options import Settings, settings
from resolver.config.decode import parse_need
from resolver.errors import InputError, without_secrets
from resolver.explain.stack_text import StackText, subject
from resolver.model.fact import Need
from resolver.model.requirement import Requirement


@click.command("add")
@options.stack
@click.argument("lines", metavar="REQUIREMENT...", nargs=-1, required=True)
@frozen
@settings("offline", "seconds", "language", "own_matrices", "locks")
def command(run: Settings, stack: str, lines: tuple[str, ...], frozen: bool) -> int:
    """Add lines to STACK's file, such as 'ms-swift>=4', and lock it.

    A line takes the place of those about the same project; one with a marker, of one with the same marker. If it cannot
    be locked, the file stays as it was.
    """
    needs = {line: _need(line) for line in lines}

    def edit(text: StackText) -> StackText:
        for line, need in needs.items():
            text = _with(text, line, need, run)
        return text

    return edit_and_lock(run, stack, edit, frozen=frozen)


def _need(line: str) -> Need:
    try:
        return parse_need(line, direct=True)
    except ValueError as error:
        raise InputError(without_secrets(f"`{line}` cannot be used"), why=str(error)) from None


def _with(text: StackText, line: str, need: Need, run: Settings) -> StackText:
    replaced = {number: other for number, other in text.needs().items() if _takes_the_place_of(need, other)}
    if not replaced:
        run.print_message("edit.added", line=line)
        return text.with_new_line(line)
    first, *others = replaced
    run.print_message("edit.replaced", old=tuple(map(str, replaced.values())), new=line)
    return text.with_line(first, line).without_lines(others)


def _takes_the_place_of(need: Need, other: Need) -> bool:
    if isinstance(need, Requirement) and isinstance(other, Requirement):
        return need.name == other.name and (need.marker is None or need.marker == other.marker)
    return subject(need) == subject(other)
