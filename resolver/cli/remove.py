"""`ascend-lock remove STACK NAME…`."""

from __future__ import annotations

import click

from resolver.cli import options
from resolver.cli.edits import edit_and_lock, frozen
from resolver.cli.options import Settings, settings
from resolver.errors import InputError, did_you_mean
from resolver.explain.stack_text import StackText, subject
from resolver.model import text as texts


@click.command("remove")
@options.stack
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@frozen
@settings("offline", "seconds", "language", "own_matrices", "locks")
def command(run: Settings, stack: str, names: tuple[str, ...], frozen: bool) -> int:
    """Remove the lines about each NAME from STACK's file, and lock it.

    If it cannot be locked, the file stays as it was.
    """

    def edit(text: StackText) -> StackText:
        for name in names:
            needs = text.needs()
            gone = {number: need for number, need in needs.items() if subject(need) == texts.name(name)}
            if not gone:
                known = sorted(set(map(subject, needs.values())))
                hint = did_you_mean(texts.name(name), known, f"its lines are about {', '.join(known)}")
                raise InputError(f"no line of {stack} is about `{name}`", hint=hint)
            run.print_message("edit.removed", lines=tuple(map(str, gone.values())))
            text = text.without_lines(gone)
        return text

    return edit_and_lock(run, stack, edit, frozen=frozen)
