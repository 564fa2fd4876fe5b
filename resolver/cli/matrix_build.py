"""Run `ascend-lock matrix build`: solve every cell of a grid, and write its page and its data."""

from __future__ import annotations

import os
import secrets
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from operator import methodcaller
from pathlib import Path
from typing import Any

import click
from packaging.version import Version

from resolver import files
from resolver.cli.catalogs import Catalogs
from resolver.cli.cells import CellSolver, Sweep
from resolver.cli.common import Command
from resolver.cli.console import columns, print_json, print_text
from resolver.cli.matrix_diff import difference_status
from resolver.cli.options import Settings, settings, today
from resolver.cli.processes import processes
from resolver.cli.sweep import ExecutorFactory, Journal, answers, cluster
from resolver.config.grid import NAME, Grid, load_grid
from resolver.errors import InputError
from resolver.files import digest
from resolver.i18n import translate
from resolver.index import snapshot
from resolver.index.recording import Recording
from resolver.model import text
from resolver.model.matrix import Answer, Cell, Matrix
from resolver.model.message import message
from resolver.phrase import phrase
from resolver.report.matrix import (
    matrix_difference,
    matrix_difference_json,
    matrix_json,
    matrix_page,
    matrix_summary,
    outcome_counts,
    read_matrix,
)
from resolver.report.terminal import WIDTH

# The number of cells between two lines of progress where there is no terminal.
_CELLS_PER_LINE = 50
_path = click.Path(path_type=Path, dir_okay=False)


@click.command("build", cls=Command)
@click.option(
    "--grid",
    "grid_path",
    type=_path,
    help="The grid, in place of grid.toml of the folder of facts.",
)
@click.option(
    "--data",
    type=_path,
    default=Path("matrix.json"),
    help="Where the answers go (default: ./matrix.json).",
)
@click.option(
    "--page",
    type=_path,
    default=Path("matrix.html"),
    help="Where the page goes (default: ./matrix.html).",
)
@click.option(
    "--diff",
    "earlier",
    type=_path,
    metavar="OLD.json",
    help="Also show which cells changed since this one, as `matrix diff` does.",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=os.cpu_count() or 1,
    help="Processes (default: one a core).",
)
@click.option(
    "--cluster",
    "address",
    metavar="ADDRESS",
    help="Solve on the dask cluster at tcp://HOST:PORT instead.",
)
@click.option(
    "--record",
    is_flag=True,
    help="Also record what is asked of the indexes, for use offline.",
)
@settings("cutoff", "as_of")
def command(
    run: Settings,
    grid_path: Path | None,
    data: Path,
    page: Path,
    earlier: Path | None,
    jobs: int,
    address: str | None,
    record: bool,
) -> int:
    """Solve what goes together on which machine.

    Each release of vllm-ascend that the vendor's tables pair with a CANN is locked, or refuted, for
    each machine and use. Writes a page for people (one file, which needs no network) and its data.
    A run that was interrupted goes on where it stopped. With --diff the exit status is 5 if a cell
    that locked no longer does.
    """
    before = None if earlier is None else read_matrix(earlier)
    grid_path = (grid_path or run.matrices / "grid.toml").resolve()
    grid = load_grid(grid_path, run.matrices)
    releases = _releases(grid, run)
    options = run.policy_options
    matrices = run.matrices.resolve()
    sweep = Sweep(grid_path, matrices, grid.digest, offline=run.offline, options=options)
    cells = list(grid.cells(releases))
    if not cells:
        raise InputError(
            phrase("the grid has no cell"),
            where=str(grid_path),
            why=phrase(
                "No fact pairs a release of {package} with a release of a component that one of "
                "its machines can have.",
                package=grid.package,
            ),
        )
    part = data.with_name(f"{data.name}.part")
    inputs = [sweep.digest, run.offline, repr(options)]
    if record:
        # A run that records solves all cells: it does not know what an interrupted one asked.
        inputs.append(secrets.token_hex())
    with Journal(part, digest(inputs)) as journal:
        recording = Recording(()) if record else None
        if recording is not None or (jobs == 1 and address is None):
            with closing(CellSolver(sweep, recording)) as solver:
                solved = _solved(cells, partial(map, solver.answer), journal, run)
        else:
            solve = partial(answers, sweep, _executor(jobs, address))
            solved = _solved(cells, solve, journal, run)
        matrix = Matrix(
            package=grid.package,
            date=today().isoformat(),
            inputs=grid.digest,
            releases=_rows(releases, cells),
            toolkits=grid.toolkits(),
            uses=grid.file.content.use,
            answers=tuple(solved),
        )
        files.write(data, matrix_json(matrix).encode())
        files.write(page, matrix_page(matrix).encode())
        if recording is not None:
            snapshot_path = run.own_snapshot(NAME)
            snapshot.write(recording.snapshot(NAME, today()), snapshot_path)
        journal.end()
    run.progress.clear()
    return _report(matrix, before, (page, data), run)


def _executor(jobs: int, address: str | None) -> ExecutorFactory:
    """Return what starts the processes here, or the workers of the dask cluster at an address."""
    return partial(processes, jobs) if address is None else partial(cluster, address)


def _report(
    matrix: Matrix, before: Matrix | None, written: tuple[Path, Path], run: Settings
) -> int:
    """Print the outcomes of the cells, and how they differ from an earlier grid.

    `written` has the paths of the page and of the data. Return the exit status.
    """
    page, data = written
    status = 0 if before is None else difference_status(before, matrix)
    if run.as_json:
        document: dict[str, Any] = {
            "status": "broken" if status else "built",
            "page": str(page),
            "data": str(data),
            "counts": outcome_counts(matrix),
        }
        if before is not None:
            document["cells"] = matrix_difference_json(before, matrix)
        print_json(document)
        return status
    if not run.is_quiet:
        print_text(matrix_summary(matrix, run.language, columns(sys.stdout, WIDTH)))
    run.print_note("matrix.written", page=page, data=data)
    if before is not None:
        print_text("\n" + matrix_difference(before, matrix, run.language))
    return status


def _releases(grid: Grid, run: Settings) -> dict[str, list[str]]:
    """Return the newest releases of the grid's projects that indexes have, newest first."""
    releases: dict[str, list[str]] = {}
    with closing(Catalogs(run)) as catalogs:
        for package in grid.packages:
            lookup = catalogs.ask(grid.problem, methodcaller("lookup", package))
            versions: set[Version] = set()
            for page in lookup.pages:
                parsed = map(text.version, page.releases)
                versions.update(version for version in parsed if version is not None)
            newest = sorted(versions, reverse=True)[: grid.file.content.newest]
            releases[package] = list(map(str, newest))
    return releases


def _rows(
    releases: Mapping[str, Sequence[str]], cells: Iterable[Cell]
) -> dict[str, tuple[str, ...]]:
    """Return the releases that have cells, by project, newest first.

    `releases` gives the order. Releases of a project that is not in it are sorted by version.
    """
    releases_with_cells: dict[str, set[str]] = {}
    for cell in cells:
        releases_with_cells.setdefault(cell.package, set()).add(cell.release)
    rows = {}
    for package, names in releases_with_cells.items():
        ordered = [name for name in releases.get(package, ()) if name in names]
        rows[package] = tuple(ordered or sorted(names, key=Version, reverse=True))
    return rows


def _solved(
    cells: list[Cell],
    solve: Callable[[list[Cell]], Iterator[Answer]],
    journal: Journal,
    run: Settings,
) -> list[Answer]:
    """Return the answers of all cells.

    Answers of an interrupted run with the same inputs are taken from the journal.
    """
    names = {cell.name for cell in cells}
    solved = [answer for answer in journal.begin() if answer.cell.name in names]
    done = {answer.cell.name for answer in solved}
    unsolved = [cell for cell in cells if cell.name not in done]
    began = time.monotonic()
    run.progress.label("matrix.begun", count=len(unsolved))
    for number, answer in enumerate(solve(unsolved), 1):
        journal.add(answer)
        solved.append(answer)
        minutes_per_cell = (time.monotonic() - began) / 60 / number
        minutes = f"{minutes_per_cell * (len(unsolved) - number):.0f}"
        progress = message("matrix.progress", done=number, of=len(unsolved), minutes=minutes)
        run.progress.label(progress.code, **progress.values)
        if number % _CELLS_PER_LINE == 0 and not sys.stderr.isatty():
            run.progress.say(translate(progress, run.language))
    return solved
