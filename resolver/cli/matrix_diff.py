"""Run `ascend-lock matrix diff OLD [NEW]`: show which cells of a solved grid have changed."""

from __future__ import annotations

from pathlib import Path

import click

from resolver.cli.common import Command
from resolver.cli.console import print_json, print_text
from resolver.cli.options import Settings, settings
from resolver.errors import CHANGED_UPSTREAM
from resolver.model.matrix import Matrix
from resolver.report.matrix import (
    changed_cells,
    is_broken,
    matrix_difference,
    matrix_difference_json,
    read_matrix,
)

_path = click.Path(path_type=Path, dir_okay=False)


@click.command("diff", cls=Command)
@click.argument("old", metavar="OLD.json", type=_path)
@click.argument("new", metavar="[NEW.json]", type=_path, default=Path("matrix.json"))
@settings()
def command(run: Settings, old: Path, new: Path) -> int:
    """Show which cells changed between two solved grids.

    Without NEW.json, ./matrix.json is compared. Nothing is solved. The exit status is 5 if a cell
    that locked no longer does.
    """
    before, after = read_matrix(old), read_matrix(new)
    status = difference_status(before, after)
    if run.as_json:
        cells = matrix_difference_json(before, after)
        name = "different" if cells else "same"
        print_json({"status": "broken" if status else name, "cells": cells})
    else:
        print_text(matrix_difference(before, after, run.language))
    return status


def difference_status(old: Matrix, new: Matrix) -> int:
    """Return the exit status for two grids: 5 if a cell had a lock and has none now, else 0."""
    for _, was, now in changed_cells(old, new):
        if is_broken(was, now):
            return CHANGED_UPSTREAM
    return 0
