"""Solving one cell of a grid at a time, in any process."""

from __future__ import annotations

import datetime as dt
import gc
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from resolver.cli.answers import lock_or_refutation, statements_text
from resolver.cli.catalogs import Catalogs
from resolver.cli.console import Progress
from resolver.cli.options import Settings
from resolver.config.grid import NAME, load_grid
from resolver.errors import IndexFailure, InputError, ResolverError
from resolver.explain.explain import reason_of
from resolver.explain.trial import Clock
from resolver.index import snapshot
from resolver.index.protocol import Catalog
from resolver.index.snapshot import Recording, RecordingCatalog, SnapshotCatalog
from resolver.lock.previous import Preferences
from resolver.model.matrix import Answer, Cell, CellOutcome, Practices
from resolver.model.message import joined, message, verbatim
from resolver.model.problem import Problem
from resolver.model.resolution import Resolution
from resolver.report.explanation.sentences import indexes_of
from resolver.resolve.solver import Refutation, decide
from resolver.resolve.universe import Universe

_SECONDS = 5.0  # for a readable reason of a conflict; after that it is told as the engine found it


class Sweep(msgspec.Struct, frozen=True):
    """What each process that solves cells is told. All must see the same grid and facts, whose `digest` this is."""

    grid: Path
    matrices: Path
    digest: str
    offline: bool = False
    cutoff: dt.datetime | None = None


def solve(sweep: Sweep, cell: Cell) -> Answer:
    """The answer for a cell, in whichever process. Raises InputError if its files are not those of the sweep."""
    return _worker(sweep).answer(cell)


class CellSolver:
    """Solves cells with one cache and one connection. What they ask of indexes is kept in `recording`, if any."""

    def __init__(self, sweep: Sweep, recording: Recording | None = None) -> None:
        self.grid = load_grid(sweep.grid, sweep.matrices)
        if self.grid.digest != sweep.digest:
            raise InputError("the grid or its facts are not those of the run", where=str(sweep.matrices))
        self._settings = Settings(
            progress=Progress(enabled=False), language="en", own_matrices=sweep.matrices, offline=sweep.offline
        )
        self._catalogs = Catalogs(self._settings)
        self._sweep = sweep
        self._recording = recording
        self._recorded: snapshot.Snapshot | None = None  # once the cache lacks something
        self._last: dict[str, Universe] = {}  # by platform
        gc.freeze()  # so that each cell collects what cells have left, and nothing older

    def close(self) -> None:
        """Release the connection and the cache."""
        self._catalogs.close()

    def answer(self, cell: Cell) -> Answer:
        """Solve a cell. Offline, from the cache, and from the first thing on that it lacks from the grid's snapshot."""
        try:
            return self._answer(cell)
        except ResolverError as error:
            path = self._settings.snapshot_path(NAME)
            may_be_there = self._sweep.offline and self._recorded is None and isinstance(error, IndexFailure)
            if may_be_there and path.exists():
                self._recorded = snapshot.read(path)
                self._last.clear()
                return self.answer(cell)
            return self._told(cell, (), outcome=CellOutcome.UNDECIDED, reason=verbatim(error.message))
        finally:
            gc.collect()  # a solved stack leaves reference cycles

    def _answer(self, cell: Cell) -> Answer:
        """Without practices, then with all of them, and if that locks, with those that it needs."""
        practices: Practices = ()
        answer = lock_or_refutation(self._universe(cell, practices), Preferences())
        if isinstance(answer, Refutation):
            practices = "all"
            found = decide(self._universe(cell, practices))
            if isinstance(found, Refutation):
                return self._refused(cell, practices, found)
            practices = self._needed(cell, found)
            answer = lock_or_refutation(self._universe(cell, practices), Preferences())
        if isinstance(answer, Refutation):
            return self._refused(cell, practices, answer)
        return self._told(
            cell,
            practices,
            outcome=CellOutcome.PRACTICES if practices else CellOutcome.LOCKS,
            pins={pin.name: pin.version for pin in answer.pin},
            warnings=answer.all_warnings,
        )

    def _needed(self, cell: Cell, with_all: Resolution) -> tuple[str, ...]:
        """The practices that a resolution rests on, without those that it can do without."""
        needed = tuple(practice.id for practice in with_all.practices)
        for name in needed if len(needed) > 1 else ():
            fewer = tuple(other for other in needed if other != name)
            if isinstance(decide(self._universe(cell, fewer)), Resolution):
                needed = fewer
        return needed

    def _told(self, cell: Cell, practices: Practices, **told: Any) -> Answer:
        named = () if practices == "all" else practices
        return Answer(cell=cell, practices=named, stack=self.grid.stack(cell, practices), **told)

    def _refused(self, cell: Cell, practices: Practices, refutation: Refutation) -> Answer:
        why, awaited = reason_of(refutation, Clock(_SECONDS))
        if awaited:
            needs = joined("comma", [need for one in awaited for need in one.needs])
            reason = message("matrix.awaited", indexes=indexes_of(awaited), needs=needs)
            cause = ", ".join(one.project for one in awaited)
            return self._told(cell, practices, outcome=CellOutcome.UNDECIDED, reason=reason, cause=cause)
        cause = why.closing.subject if why.closing is not None else why.branches[0].subject
        return self._told(
            cell, practices, outcome=CellOutcome.CONFLICT, reason=statements_text(why.statements), cause=cause
        )

    def _universe(self, cell: Cell, practices: Practices) -> Universe:
        problem = self.grid.problem_of(self.grid.stack(cell, practices), self._sweep.cutoff)
        last = self._last.get(cell.platform)
        universe = Universe(problem, self._catalog(problem)) if last is None else last.variant(problem)
        self._last[cell.platform] = universe
        return universe

    def _catalog(self, problem: Problem) -> Catalog:
        platform = problem.target.platform
        if self._recorded is not None:
            return SnapshotCatalog(self._recorded, platform)
        live = self._catalogs.open(problem)
        return live if self._recording is None else RecordingCatalog(live, platform, self._recording)


_worker = lru_cache(1)(CellSolver)  # that of this process
