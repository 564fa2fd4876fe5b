"""`ascend-lock stacks`: the stacks that can be locked."""

from __future__ import annotations

import click

from resolver.cli.console import print_line
from resolver.cli.options import Settings, settings
from resolver.config.load import read_stack, stack_names
from resolver.errors import escaped
from resolver.i18n import translate
from resolver.model.message import verbatim


@click.command("stacks")
@settings("language", "own_matrices")
def command(run: Settings) -> int:
    """List the stacks, one per line."""
    names = stack_names(run.matrices)
    width = max(map(len, names), default=0)
    for name in names:
        stack = read_stack(name, run.matrices).content.stack
        summary = translate(verbatim(stack.summary, stack.summary_zh), run.language)
        print_line(f"  {escaped(name):<{width}}  {escaped(summary)}".rstrip())
    return 0
