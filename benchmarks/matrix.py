"""What a cell of the matrix costs: CPU by outcome, and how memory grows, with a warm cache.

    .venv/bin/python benchmarks/matrix.py

Solves each release of matrices/grid.toml for serving on A2, aarch64, Python 3.11, in this process,
offline: once to fill memory with pages, which a run reads once, and once more for the figures.
"""

from __future__ import annotations

import gc
import os
import statistics
import time
from contextlib import closing
from pathlib import Path
from typing import Final

from resolver.cli.cells import CellSolver, Sweep
from resolver.config.grid import load_grid
from resolver.model.matrix import LOCKED, Cell, CellOutcome
from resolver.report.matrix import read_matrix

MATRICES: Final = Path(__file__).parents[1] / "matrices"
GRID: Final = MATRICES / "grid.toml"


def cells() -> list[Cell]:
    """Return the cells that are measured."""
    releases = read_matrix(MATRICES / "matrix.json").releases
    measured = ("serve", "A2", "linux-aarch64", "3.11")
    return [
        cell
        for cell in load_grid(GRID, MATRICES).cells(releases)
        if (cell.use, cell.chip, cell.platform, cell.python) == measured
    ]


def resident() -> float:
    """Return the resident memory of this process in MiB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


def main() -> None:
    """Print the figures."""
    # The command does so, too.
    gc.disable()
    measured_cells = cells()
    seconds: dict[CellOutcome, list[float]] = {outcome: [] for outcome in CellOutcome}
    sweep = Sweep(GRID, MATRICES, load_grid(GRID, MATRICES).digest, offline=True)
    with closing(CellSolver(sweep)) as solver:
        for cell in measured_cells:
            solver.answer(cell)
        before = resident()
        for cell in measured_cells:
            began = time.process_time()
            answer = solver.answer(cell)
            seconds[answer.outcome].append(time.process_time() - began)
        grown = resident() - before
    print(f"{len(measured_cells)} cells, load {os.getloadavg()[0]:.1f}")
    for outcome, values in seconds.items():
        if values:
            target = 1.5 if outcome in LOCKED else 3.0
            print(
                f"{outcome.value}: {len(values)} cells, "
                f"median {statistics.median(values):.2f} s of CPU, "
                f"at most {max(values):.2f} (target {target})"
            )
    print(f"memory: {grown / len(measured_cells):.2f} MiB a cell (target 2)")


if __name__ == "__main__":
    main()
