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
    """The cells that are measured."""
    releases = read_matrix(MATRICES / "matrix.json").releases
    wanted = ("serve", "A2", "linux-aarch64", "3.11")
    found = load_grid(GRID, MATRICES).cells(releases)
    return [one for one in found if (one.use, one.soc, one.platform, one.python) == wanted]


def resident() -> float:
    """MiB of memory that this process has now."""
    return (
        int(Path("/proc/self/statm").read_text().split()[1])
        * os.sysconf("SC_PAGE_SIZE")
        / (1 << 20)
    )


def main() -> None:
    """Print the figures."""
    gc.disable()  # as the command does
    wanted = cells()
    seconds: dict[CellOutcome, list[float]] = {outcome: [] for outcome in CellOutcome}
    with closing(
        CellSolver(Sweep(GRID, MATRICES, load_grid(GRID, MATRICES).digest, offline=True))
    ) as solver:
        for cell in wanted:
            solver.answer(cell)
        before = resident()
        for cell in wanted:
            began = time.process_time()
            answer = solver.answer(cell)
            seconds[answer.outcome].append(time.process_time() - began)
        grown = resident() - before
    print(f"{len(wanted)} cells, load {os.getloadavg()[0]:.1f}")
    for outcome, values in seconds.items():
        if values:
            target = 1.5 if outcome in LOCKED else 3.0
            told = f"median {statistics.median(values):.2f} s of CPU, at most {max(values):.2f} (target {target})"
            print(f"{outcome.value}: {len(values)} cells, {told}")
    print(f"memory: {grown / len(wanted):.2f} MiB a cell (target 2)")


if __name__ == "__main__":
    main()
