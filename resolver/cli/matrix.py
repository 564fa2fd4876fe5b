"""Run `ascend-lock matrix`: the group of commands about which versions go together."""

from __future__ import annotations

import click

from resolver.cli import MATRIX_COMMANDS
from resolver.cli.commands import list_commands
from resolver.cli.group import LazyGroup


@click.command("matrix", cls=LazyGroup, modules=MATRIX_COMMANDS, invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> int:
    """Show which versions go together, or solve what locks where."""
    return list_commands(context)
