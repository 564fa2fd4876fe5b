"""Solving the cells of a grid: each by itself, in processes of this machine or of a cluster."""

from __future__ import annotations

import datetime as dt
import gc
import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from resolver.cli.answers import sentences, solved
from resolver.cli.catalogs import Catalogs
from resolver.cli.console import Progress
from resolver.cli.options import Settings
from resolver.config.grid import Grid, load_grid
from resolver.errors import InputError, ResolverError
from resolver.explain.explain import reason_of
from resolver.explain.trial import Clock
from resolver.index.protocol import Catalog
from resolver.lock.previous import Preferences
from resolver.model.matrix import Answer, Cell, Outcome, Practices
from resolver.model.message import joined, message, text
from resolver.model.resolution import Resolution
from resolver.resolve.solver import Refutation, decide
from resolver.resolve.universe import Universe

if TYPE_CHECKING:
    from resolver.index.snapshot import Recording

_TRIES = 3  # for the cells of a process that was killed
_SECONDS = 5.0  # for a readable reason of a conflict; after that it is told as the engine found it


class Sweep(msgspec.Struct, frozen=True):
    """What every process that solves cells is told. Each must see the same files under `matrices`: `digest` is theirs."""

    grid: Path
    matrices: Path
    digest: str
    offline: bool = False
    cutoff: dt.datetime | None = None


def solve(sweep: Sweep, cell: Cell) -> Answer:
    """The answer for a cell, in whichever process. Raises InputError if its files are not those of the sweep."""
    return _worker(sweep).answer(cell)


class Worker:
    """Solves cells with one cache and one connection, and a catalog for each platform. `recording` has what they ask."""

    def __init__(self, sweep: Sweep, recording: Recording | None = None) -> None:
        self._grid = load_grid(sweep.grid, sweep.matrices)
        if self._grid.digest != sweep.digest:
            raise InputError("the grid or its facts are not those of the run", where=str(sweep.matrices))
        settings = Settings(
            progress=Progress(enabled=False), language="en", own_matrices=sweep.matrices, offline=sweep.offline
        )
        self._catalogs = Catalogs(settings)
        self._cutoff = sweep.cutoff
        self._recording = recording
        self._last: dict[str, Universe] = {}  # by platform

    def answer(self, cell: Cell) -> Answer:
        """Solve a cell: without practices, then with all of them, and if that locks, with those that it needs."""
        practices: Practices = ()
        try:
            found = decide(self._universe(cell, practices))
            if isinstance(found, Refutation):
                found = decide(self._universe(cell, practices := "all"))
                if isinstance(found, Resolution):
                    practices = self._needed(cell, found)
            answer = solved(self._universe(cell, practices), Preferences()) if isinstance(found, Resolution) else found
        except ResolverError as error:
            return self._answer(cell, practices, outcome=Outcome.UNDECIDED, reason=text(error.message))
        finally:
            gc.collect()  # a solved stack leaves reference cycles
        if isinstance(answer, Refutation):
            return self._refused(cell, practices, answer)
        return self._answer(
            cell,
            practices,
            outcome=Outcome.PRACTICES if practices else Outcome.LOCKS,
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

    def _answer(self, cell: Cell, practices: Practices, **told: Any) -> Answer:
        named = () if practices == "all" else practices
        return Answer(cell=cell, practices=named, stack=self._grid.stack(cell, practices), **told)

    def _refused(self, cell: Cell, practices: Practices, refutation: Refutation) -> Answer:
        why, awaited = reason_of(refutation, Clock(_SECONDS))
        if awaited:
            needs = joined("comma", [need for one in awaited for need in one.needs])
            indexes = list(dict.fromkeys(f"`{name}`" for one in awaited for name in one.indexes))
            reason = message("matrix.awaited", indexes=indexes, needs=needs)
            cause = ", ".join(one.project for one in awaited)
            return self._answer(cell, practices, outcome=Outcome.UNDECIDED, reason=reason, cause=cause)
        cause = why.closing.subject if why.closing is not None else why.branches[0].subject
        return self._answer(
            cell, practices, outcome=Outcome.CONFLICT, reason=sentences(why.statements), cause=cause
        )

    def _universe(self, cell: Cell, practices: Practices) -> Universe:
        problem = self._grid.problem_of(self._grid.stack(cell, practices), self._cutoff)
        last = self._last.get(cell.platform)
        universe = Universe(problem, self._catalogs.asking(problem)) if last is None else last.variant(problem)
        self._last[cell.platform] = universe
        return universe


@lru_cache(1)
def _worker(sweep: Sweep) -> Worker:
    """That of this process."""
    return Worker(sweep)
