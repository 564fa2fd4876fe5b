"""Solving the cells of a grid one after the other, in one process."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace
from packaging.utils import canonicalize_name
from packaging.version import Version

from resolver.audit.pairs import unpaired
from resolver.cli.answers import expected_pins, lock_or_refutation, reasons_text
from resolver.cli.catalogs import Catalogs
from resolver.cli.console import Progress
from resolver.cli.options import Settings
from resolver.config.grid import NAME, load_grid
from resolver.errors import IndexFailure, InputError, ResolverError
from resolver.explain.contradictions import is_open
from resolver.explain.explain import reason_of
from resolver.explain.trial import Clock
from resolver.index import snapshot
from resolver.index.protocol import Catalog
from resolver.index.recording import Recording, RecordingCatalog
from resolver.index.snapshot import SnapshotCatalog
from resolver.index.unhashed import UnhashedCatalog
from resolver.lock.previous import Preferences
from resolver.model.constraint import BuildLine, ComponentValue, Line, StackLine
from resolver.model.lock import Lock
from resolver.model.matrix import LOCKED, Answer, Cell, CellOutcome, Practices
from resolver.model.message import joined, message, verbatim
from resolver.model.problem import NO_OPTIONS, PolicyOptions, Problem
from resolver.model.reason import Reason
from resolver.model.resolution import Resolution
from resolver.report.explanation.sentences import expected_text, indexes_of
from resolver.resolve.check_refutation import check_refutation
from resolver.resolve.solver import Refutation, decide, prove, search
from resolver.resolve.universe import Universe

T = TypeVar("T")

_SECONDS = (
    5.0  # for a readable reason of a conflict; after that it is the core as the engine found it
)


class Sweep(msgspec.Struct, frozen=True):
    """The input of each process that solves cells.

    All must see the same grid and facts, whose `digest` this is.
    """

    grid: Path
    matrices: Path
    digest: str
    offline: bool = False
    options: PolicyOptions = NO_OPTIONS


class CellSolver:
    """Solves cells with one cache and one connection, and adds what they request from indexes to a `recording`.

    What was found for one machine is tried first on the next machine. It is checked there, so that
    the answer to a cell does not depend on the cells before it.
    """

    def __init__(self, sweep: Sweep, recording: Recording | None = None) -> None:
        """Load the grid. Raises InputError if it is not the one of the sweep."""
        self.grid = load_grid(sweep.grid, sweep.matrices)
        if self.grid.digest != sweep.digest:
            raise InputError(
                "the grid or its facts are not those of the run", where=str(sweep.matrices)
            )
        self._settings = Settings(
            progress=Progress(enabled=False),
            language="en",
            own_matrices=sweep.matrices,
            offline=sweep.offline,
        )
        self._catalogs = Catalogs(self._settings)
        self._options = sweep.options
        self._recording = recording
        # set once the cache lacks something
        self._snapshot: snapshot.Snapshot | None = None
        # the last one of each platform, without and with recorded files that have no sha256
        self._universes: dict[tuple[str, bool], Universe] = {}
        self._has_unhashed = any(not row.sha256 for row in self.grid.problem.recorded)
        # use, project and release of cells of which such files were of use
        self._expecting: set[tuple[str, str, str]] = set()
        # proofs about cells of one release, by use, platform, practices, and whether such files
        # count
        self._proofs: dict[tuple[str, str, Practices, bool], list[tuple[Reason, ...]]] = {}
        self._proven_release = ""
        # practices that cells needed, by use, release, platform, and whether such files count
        self._needed: dict[tuple[str, str, str, bool], tuple[str, ...]] = {}
        gc.freeze()  # a collection after each cell then looks at nothing older

    def close(self) -> None:
        """Release the connection and the cache."""
        self._catalogs.close()

    def answer(self, cell: Cell) -> Answer:
        """Solve a cell.

        Offline, from the cache, and from the first thing on that it lacks from the grid's snapshot.
        """
        try:
            return self._answer(cell)
        except ResolverError as error:
            path = self._settings.snapshot_path(NAME)
            is_lacking = (
                self._settings.offline
                and self._snapshot is None
                and isinstance(error, IndexFailure)
            )
            if is_lacking and path.exists():
                self._snapshot = snapshot.read(path)
                self._universes.clear()
                return self.answer(cell)
            return self._as_answer(
                cell, (), outcome=CellOutcome.UNDECIDED, reason=verbatim(error.message)
            )
        finally:
            gc.collect()  # a solved stack leaves reference cycles

    def _answer(self, cell: Cell) -> Answer:
        """Solve a cell; if that depends on an index, solve it by what is recorded of its wheels without a sha256."""
        if cell.use in self.grid.shipped:
            return self._of_stack(cell)
        row = cell.use, cell.package, cell.release
        if row in self._expecting and self._is_refuted(cell, "all"):
            expected = self._by_recorded_files(cell)
            if expected is not None:
                return expected
        answer = self._by_known_files(cell)
        if isinstance(answer, Answer):
            return answer
        if self._has_unhashed and any(is_open(ground, answer.clauses) for ground in answer.core):
            expected = self._by_recorded_files(cell)
            if expected is not None:
                self._expecting.add(row)
                return expected
        return self._unsolvable(cell, "all", answer)

    def _of_stack(self, cell: Cell) -> Answer:
        """Solve a cell of a shipped stack, which has the practices that it wants."""
        (problem,) = self._catalogs.with_sources([self.grid.problem_of(cell, (), self._options)])
        with closing(self._catalog(problem)) as catalog:
            answer = lock_or_refutation(Universe(problem, catalog), Preferences())
            if isinstance(answer, Refutation):
                return self._unsolvable(cell, (), answer)
        return self._locked(cell, self.grid.practices(cell), answer)

    def _by_known_files(self, cell: Cell) -> Answer | Refutation:
        """Solve a cell by the files that the indexes have; a refutation is the one with all practices."""

        def lock(universe: Universe) -> Lock | Refutation:
            return lock_or_refutation(universe, Preferences())

        answer = self._with_practices(cell, lock)
        if isinstance(answer, Refutation):
            return answer
        return self._locked(cell, *answer)

    def _by_recorded_files(self, cell: Cell) -> Answer | None:
        """Solve a cell as if no lock were to be written; None if it depends on an index all the same."""
        answer = self._with_practices(cell, decide, unhashed=True)
        if isinstance(answer, Refutation):
            refuted = self._unsolvable(cell, "all", answer)
            return None if refuted.outcome is CellOutcome.UNDECIDED else refuted
        practices, resolution = answer
        expected = expected_pins(resolution)
        if not expected.unhashed:
            return None
        return self._as_answer(
            cell,
            practices,
            outcome=CellOutcome.EXPECTED,
            pins=expected.pins,
            unhashed=tuple(row.filename for row in expected.unhashed),
            reason=expected_text(expected),
        )

    # --- practices

    def _with_practices(
        self, cell: Cell, solve: Callable[[Universe], T | Refutation], *, unhashed: bool = False
    ) -> tuple[tuple[str, ...], T] | Refutation:
        """Return the practices that a cell needs, none of which it can do without, and what `solve` makes of it so.

        A refutation says that all practices together do not help.
        """
        known = self._known_practices(cell, unhashed=unhashed)
        if known is not None:
            answer = solve(self._universe(cell, known, unhashed=unhashed))
            if not isinstance(answer, Refutation):
                return known, answer
        needed = self._needed_practices(cell, unhashed=unhashed)
        if isinstance(needed, Refutation):
            return needed
        answer = solve(self._universe(cell, needed, unhashed=unhashed))
        return answer if isinstance(answer, Refutation) else (needed, answer)

    def _known_practices(self, cell: Cell, *, unhashed: bool) -> tuple[str, ...] | None:
        """Return no practices if a cell needs none, or those of another machine, if it needs each; else None.

        Whether they are enough is not looked at.
        """
        if search(self._universe(cell, (), unhashed=unhashed)) is not None:
            return ()
        known = self._needed.get((cell.use, cell.release, cell.platform, unhashed), ())
        if known and all(
            self._is_refuted(cell, _without(known, name), unhashed=unhashed) for name in known
        ):
            return known
        return None

    def _needed_practices(self, cell: Cell, *, unhashed: bool) -> tuple[str, ...] | Refutation:
        """Return the practices that a resolution with all of them rests on, less those that it can do without."""
        universe = self._universe(cell, "all", unhashed=unhashed)
        with_all = search(universe) or prove(universe)
        if isinstance(with_all, Refutation):
            return with_all
        needed = tuple(practice.id for practice in with_all.used_practices)
        for name in needed:
            if not self._is_refuted(cell, _without(needed, name), unhashed=unhashed):
                needed = _without(needed, name)
        self._needed[cell.use, cell.release, cell.platform, unhashed] = needed
        return needed

    def _is_refuted(self, cell: Cell, practices: Practices, *, unhashed: bool = False) -> bool:
        """Return whether a cell has no solution with these practices.

        A proof for another machine is looked at first: it holds if its lines are lines of this
        cell, too, and `check_refutation` confirms all else of it for this machine.
        """
        if cell.release != self._proven_release:
            self._proofs.clear()
            self._proven_release = cell.release
        universe = self._universe(cell, practices, unhashed=unhashed)
        problem = universe.problem
        lines = {root.origin for root in problem.stack.requirements}
        proofs = self._proofs.setdefault((cell.use, cell.platform, practices, unhashed), [])
        for proof in proofs:
            if any(row.whole not in lines for row in _lines_of(proof)):
                continue
            reasons = [_on_machine(reason, problem) for reason in proof]
            if not check_refutation(problem, reasons, universe.catalog):
                return True
        answer = prove(universe)
        if isinstance(answer, Resolution):
            return False
        proofs.append(answer.clauses.reasons(answer.core))
        return True

    # --- answers

    def _locked(self, cell: Cell, practices: Practices, lock: Lock) -> Answer:
        return self._as_answer(
            cell,
            practices,
            outcome=CellOutcome.PRACTICES if practices else CellOutcome.LOCKS,
            pins={pin.name: pin.version for pin in lock.pin},
            warnings=lock.all_warnings,
        )

    def _as_answer(self, cell: Cell, practices: Practices, **values: Any) -> Answer:
        names = () if practices == "all" else practices
        if values["outcome"] not in LOCKED:
            values["pairing"] = self.grid.pairing(cell)
        if "pins" in values:
            values["unpaired"] = self._unpaired(cell, values["pins"])
        return Answer(cell=cell, practices=names, stack=self.grid.stack(cell, practices), **values)

    def _unpaired(self, cell: Cell, pins: Mapping[str, str]) -> tuple[str, ...]:
        versions = {canonicalize_name(name): Version(version) for name, version in pins.items()}
        pairs = unpaired(versions, self.grid.projects(cell), self.grid.problem.facts)
        return tuple(
            f"{first} {versions[first]}, {second} {versions[second]}" for first, second in pairs
        )

    def _unsolvable(self, cell: Cell, practices: Practices, refutation: Refutation) -> Answer:
        why, awaited = reason_of(refutation, Clock(_SECONDS))
        if awaited:
            needs = joined("comma", [need for row in awaited for need in row.needs])
            reason = message("matrix.awaited", indexes=indexes_of(awaited), needs=needs)
            cause = ", ".join(row.project for row in awaited)
            return self._as_answer(
                cell, practices, outcome=CellOutcome.UNDECIDED, reason=reason, cause=cause
            )
        cause = why.closing.subject if why.closing is not None else why.branches[0].subject
        reason = reasons_text(why.reasons)
        return self._as_answer(
            cell, practices, outcome=CellOutcome.CONFLICT, reason=reason, cause=cause
        )

    def _universe(self, cell: Cell, practices: Practices, *, unhashed: bool = False) -> Universe:
        problem = self.grid.problem_of(cell, practices, self._options)
        last = self._universes.get((cell.platform, unhashed))
        if last is not None:
            universe = last.variant(problem)
        else:
            catalog = self._catalog(problem)
            universe = Universe(
                problem, UnhashedCatalog(catalog, problem.recorded) if unhashed else catalog
            )
        self._universes[cell.platform, unhashed] = universe
        return universe

    def _catalog(self, problem: Problem) -> Catalog:
        platform, shipped = problem.target.platform, self._catalogs.pool.files.shipped_linkage
        if self._snapshot is not None:
            return SnapshotCatalog(self._snapshot, platform, shipped)
        live = self._catalogs.open(problem)
        return (
            live
            if self._recording is None
            else RecordingCatalog(live, platform, self._recording, shipped)
        )


def _without(practices: tuple[str, ...], name: str) -> tuple[str, ...]:
    return tuple(practice for practice in practices if practice != name)


def _lines_of(proof: Iterable[Reason]) -> Iterator[Line]:
    """Yield the lines, and parts of lines, that a proof rests on."""
    for reason in proof:
        if isinstance(reason.constraint, (StackLine, BuildLine)):
            yield reason.constraint


def _on_machine(reason: Reason, problem: Problem) -> Reason:
    """Return a reason of a proof as it reads on another machine."""
    if isinstance(reason.constraint, ComponentValue):
        value = problem.component_value(reason.constraint.component)
        return replace(reason, constraint=value)
    return reason
