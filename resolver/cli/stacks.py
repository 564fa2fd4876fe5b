"""`ascend-lock stacks`: the stacks that can be locked."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from resolver.cli import options
from resolver.cli.options import language_of
from resolver.config.load import read_stack, stack_names
from resolver.errors import shown


@click.command("stacks")
@options.language
@options.matrices
def command(language: str | None, matrices: Path | None) -> int:
    """List the stacks, one per line."""
    matrices = matrices or options.default_matrices()
    names = stack_names(matrices)
    width = max(map(len, names), default=0)
    chinese = language_of(language) == "zh"
    for name in names:
        stack = read_stack(name, matrices).content.stack
        summary = (stack.summary_zh if chinese else "") or stack.summary
        sys.stdout.write(f"  {shown(name):<{width}}  {shown(summary)}\n")
    return 0
