"""`ascend-lock stacks`: what there is to lock."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from resolver.cli import options
from resolver.errors import shown
from resolver.matrix.load import read_stack, stack_names


@click.command("stacks")
@options.matrices
def command(matrices: Path | None) -> int:
    """List the stacks, a line each."""
    matrices = matrices or options.default_matrices()
    names = stack_names(matrices)
    width = max(map(len, names), default=0)
    for name in names:
        sys.stdout.write(f"  {shown(name):<{width}}  {shown(read_stack(name, matrices).content.stack.summary)}\n")
    return 0
