"""Solve the cells of a grid one after the other, in one process.

A cell is one release of a project, for one use, on one machine (`Cell`). `matrix build` solves all
cells of a grid; `sweep` does so in several processes.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

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
from resolver.explain.clock import Clock
from resolver.explain.explain import reason_of
from resolver.explain.unreachable_indexes import depends_on_unreachable_index
from resolver.i18n import translate
from resolver.index import snapshot
from resolver.index.protocol import Catalog
from resolver.index.recording import Recording, RecordingCatalog
from resolver.index.snapshot import SnapshotCatalog
from resolver.index.unhashed import UnhashedCatalog
from resolver.lock.previous import Preferences
from resolver.model.constraint import BuildLine, ComponentValue, StackLine
from resolver.model.lock import Lock
from resolver.model.matrix import LOCKED, Answer, Cell, CellOutcome, Practices
from resolver.model.message import joined, message, of_phrase
from resolver.model.problem import NO_OPTIONS, PolicyOptions, Problem
from resolver.model.reason import Premise
from resolver.model.resolution import Resolution
from resolver.phrase import phrase
from resolver.report.explanation.sentences import expected_text, indexes_of
from resolver.resolve.check_refutation import check_refutation
from resolver.resolve.premises import premises
from resolver.resolve.refutation import Refutation
from resolver.resolve.solver import decide, prove, search
from resolver.resolve.universe import Universe

T = TypeVar("T")

# The time limit for finding a readable reason of a conflict, in seconds. After that, the reason is
# the core that the engine found.
_SECONDS: Final = 5.0


class Sweep(msgspec.Struct, frozen=True):
    """The input that each process needs to solve cells."""

    # The path of the grid.
    grid: Path
    # The folder of facts, indexes and stacks.
    matrices: Path
    # The digest of the grid and the facts. A process compares it, so that all processes use the
    # same files.
    digest: str
    # Whether to work without network access.
    offline: bool = False
    # The options that replace parts of each stack's policy.
    options: PolicyOptions = NO_OPTIONS


class _Case(NamedTuple):
    """A cell, and which files count when it is solved."""

    # The cell.
    cell: Cell
    # Whether recorded files without a sha256 count. A lock cannot have such files.
    unhashed: bool = False


class CellSolver:
    """Solves cells, with one cache and one connection for all.

    What was found for one machine is tried first on the next. It is checked there, so the answer to
    a cell does not depend on the cells before it.
    """

    def __init__(self, sweep: Sweep, recording: Recording | None = None) -> None:
        """Load the grid. Everything that cells request from indexes is added to `recording`.

        Raises InputError if the grid or the facts have changed since the sweep was started.
        """
        self.grid = load_grid(sweep.grid, sweep.matrices)
        if self.grid.digest != sweep.digest:
            raise InputError(
                phrase("the grid or its facts differ from those that the run was started with"),
                where=str(sweep.matrices),
                hint=phrase("run the command again, with the same files for all processes"),
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
        # The grid's snapshot; None until the cache lacks something.
        self._snapshot: snapshot.Snapshot | None = None
        # The last universe of each platform, without and with files that have no sha256.
        self._universes: dict[tuple[str, bool], Universe] = {}
        self._has_unhashed = any(not recorded.sha256 for recorded in self.grid.problem.recorded)
        # The use, project and release of cells for which files without a sha256 gave an answer.
        self._expected: set[tuple[str, str, str]] = set()
        # The premises of refutations of cells of the present release, by use, platform, practices
        # and `unhashed`.
        self._premises: dict[tuple[str, str, Practices, bool], list[tuple[Premise, ...]]] = {}
        self._proven_release = ""
        # The practices that cells needed, by use, release, platform and `unhashed`.
        self._needed: dict[tuple[str, str, str, bool], tuple[str, ...]] = {}
        # Later garbage collections skip the objects that exist now.
        gc.freeze()

    def close(self) -> None:
        """Release the connection and the cache."""
        self._catalogs.close()

    def answer(self, cell: Cell) -> Answer:
        """Return the answer for a cell. An error is an undecided answer.

        Offline, the answer comes from the cache. Once the cache lacks something, the grid's
        snapshot is used.
        """
        try:
            return self._answer(cell)
        except ResolverError as error:
            path = self._settings.snapshot_path(NAME)
            is_lacking = isinstance(error, IndexFailure) and self._settings.offline
            if is_lacking and self._snapshot is None and path.exists():
                self._snapshot = snapshot.read(path)
                self._universes.clear()
                return self.answer(cell)
            reason = of_phrase(error.phrases["message"])
            return self._as_answer(
                cell,
                (),
                CellOutcome.UNDECIDED,
                reason=reason,
            )
        finally:
            # A solved stack leaves reference cycles.
            gc.collect()

    def _answer(self, cell: Cell) -> Answer:
        """Return the answer for a cell. Raises ResolverError.

        If it depends on an index that does not answer, the cell is solved with recorded files.
        """
        if cell.use in self.grid.shipped:
            return self._of_stack(cell)
        key = cell.use, cell.package, cell.release
        if key in self._expected and self._is_refuted(_Case(cell), "all"):
            expected = self._by_recorded_files(cell)
            if expected is not None:
                return expected
        answer = self._by_known_files(cell)
        if isinstance(answer, Answer):
            return answer
        is_uncertain = any(
            depends_on_unreachable_index(constraint, answer.clauses) for constraint in answer.core
        )
        if self._has_unhashed and is_uncertain:
            expected = self._by_recorded_files(cell)
            if expected is not None:
                self._expected.add(key)
                return expected
        return self._unsolvable(cell, "all", answer)

    def _of_stack(self, cell: Cell) -> Answer:
        """Return the answer for a cell of a shipped stack, which turns on practices itself."""
        (problem,) = self._catalogs.with_sources([self.grid.problem_of(cell, (), self._options)])
        with closing(self._catalog(problem)) as catalog:
            answer = lock_or_refutation(Universe(problem, catalog), Preferences())
            if isinstance(answer, Refutation):
                return self._unsolvable(cell, (), answer)
        return self._locked(cell, self.grid.practices(cell), answer)

    def _by_known_files(self, cell: Cell) -> Answer | Refutation:
        """Return the answer for a cell, solved with the files that indexes have.

        If it has no solution, return the refutation with all practices in force.
        """

        def lock(universe: Universe) -> Lock | Refutation:
            return lock_or_refutation(universe, Preferences())

        answer = self._with_practices(_Case(cell), lock)
        if isinstance(answer, Refutation):
            return answer
        return self._locked(cell, *answer)

    def _by_recorded_files(self, cell: Cell) -> Answer | None:
        """Return the answer for a cell, solved also with recorded files that have no sha256.

        Such files cannot be locked. None if the answer depends on an index even so, or if no such
        file is used.
        """
        answer = self._with_practices(_Case(cell, unhashed=True), decide)
        if isinstance(answer, Refutation):
            refuted = self._unsolvable(cell, "all", answer)
            if refuted.outcome is CellOutcome.UNDECIDED:
                return None
            return refuted
        practices, resolution = answer
        expected = expected_pins(resolution)
        if not expected.unhashed:
            return None
        return self._as_answer(
            cell,
            practices,
            CellOutcome.EXPECTED,
            pins=expected.pins,
            unhashed=tuple(recorded.filename for recorded in expected.unhashed),
            reason=expected_text(expected),
        )

    # --- practices

    def _with_practices(
        self, case: _Case, solve: Callable[[Universe], T | Refutation]
    ) -> tuple[tuple[str, ...], T] | Refutation:
        """Return the practices that a cell needs, and the answer of `solve` with them in force.

        The cell has no solution without any one of them. If it has none with all practices, return
        that refutation.
        """
        known = self._known_practices(case)
        if known is not None:
            answer = solve(self._universe(case, known))
            if not isinstance(answer, Refutation):
                return known, answer
        needed = self._needed_practices(case)
        if isinstance(needed, Refutation):
            return needed
        answer = solve(self._universe(case, needed))
        if isinstance(answer, Refutation):
            return answer
        return needed, answer

    def _known_practices(self, case: _Case) -> tuple[str, ...] | None:
        """Return a set of practices that the cell needs, if one can be found without a full search.

        That is none at all if a quick search finds a solution without practices; or the set of
        another machine, if each of its practices is needed here. The latter may not be enough. None
        if neither holds.
        """
        if search(self._universe(case, ())) is not None:
            return ()
        known = self._needed.get(_key(case), ())
        if known and all(self._is_refuted(case, _without(known, name)) for name in known):
            return known
        return None

    def _needed_practices(self, case: _Case) -> tuple[str, ...] | Refutation:
        """Return the ids of a minimal set of practices with which a cell has a solution.

        If any single one of them is turned off, the cell has none.

        If it has no solution with all practices in force, return that refutation.
        """
        universe = self._universe(case, "all")
        with_all = search(universe) or prove(universe)
        if isinstance(with_all, Refutation):
            return with_all
        needed = tuple(practice.id for practice in with_all.used_practices)
        for name in needed:
            if not self._is_refuted(case, _without(needed, name)):
                needed = _without(needed, name)
        self._needed[_key(case)] = needed
        return needed

    def _is_refuted(self, case: _Case, practices: Practices) -> bool:
        """Return whether a cell has no solution with these practices.

        Premises of refutations for other machines are tried first.
        """
        cell = case.cell
        if cell.release != self._proven_release:
            self._premises.clear()
            self._proven_release = cell.release
        universe = self._universe(case, practices)
        key = cell.use, cell.platform, practices, case.unhashed
        known = self._premises.setdefault(key, [])
        if any(_refute(found, universe) for found in known):
            return True
        answer = prove(universe)
        if isinstance(answer, Resolution):
            return False
        known.append(premises(answer.clauses, answer.core))
        return True

    # --- answers

    def _locked(self, cell: Cell, practices: Practices, lock: Lock) -> Answer:
        """Return the answer for a cell that has a lock."""
        return self._as_answer(
            cell,
            practices,
            CellOutcome.PRACTICES if practices else CellOutcome.LOCKS,
            pins={pin.name: pin.version for pin in lock.pin},
            warnings=lock.all_warnings,
        )

    def _unsolvable(self, cell: Cell, practices: Practices, refutation: Refutation) -> Answer:
        """Return the answer for a cell without a solution, or one that depends on an index."""
        why, awaited = reason_of(refutation, Clock(_SECONDS))
        if not awaited:
            reason = reasons_text(why.reasons)
            closing = why.closing or why.branches[0]
            subject = closing.subject
            cause = subject if isinstance(subject, str) else translate(subject, "en")
            return self._as_answer(
                cell, practices, CellOutcome.CONFLICT, reason=reason, cause=cause
            )
        needs = joined("comma", list(chain.from_iterable(each.needs for each in awaited)))
        reason = message("matrix.awaited", indexes=indexes_of(awaited), needs=needs)
        cause = ", ".join(each.project for each in awaited)
        return self._as_answer(
            cell,
            practices,
            CellOutcome.UNDECIDED,
            reason=reason,
            cause=cause,
        )

    def _as_answer(
        self, cell: Cell, practices: Practices, outcome: CellOutcome, **fields: Any
    ) -> Answer:
        """Return an answer with these fields, and with the fields that follow from them."""
        if outcome not in LOCKED:
            fields["pairing"] = self.grid.pairing(cell)
        if "pins" in fields:
            fields["unpaired"] = self._unpaired(cell, fields["pins"])
        return Answer(
            cell=cell,
            outcome=outcome,
            practices=() if practices == "all" else practices,
            stack=self.grid.stack(cell, practices),
            **fields,
        )

    def _unpaired(self, cell: Cell, pins: Mapping[str, str]) -> tuple[str, ...]:
        """Return the pairs of pins that tables list only with other releases."""
        versions = {canonicalize_name(name): Version(version) for name, version in pins.items()}
        pairs = unpaired(versions, self.grid.projects(cell), self.grid.problem.facts)
        return tuple(
            f"{first} {versions[first]}, {second} {versions[second]}" for first, second in pairs
        )

    # --- universes

    def _universe(self, case: _Case, practices: Practices) -> Universe:
        """Return the universe of a cell. It shares what it can with the last one."""
        problem = self.grid.problem_of(case.cell, practices, self._options)
        key = case.cell.platform, case.unhashed
        if key in self._universes:
            universe = self._universes[key].for_problem(problem)
        else:
            catalog = self._catalog(problem)
            if case.unhashed:
                catalog = UnhashedCatalog(catalog, problem.recorded)
            universe = Universe(problem, catalog)
        self._universes[key] = universe
        return universe

    def _catalog(self, problem: Problem) -> Catalog:
        """Return the catalog of the snapshot or of the indexes, which is recorded on request."""
        platform = problem.target.platform
        shipped = self._catalogs.pool.files.shipped_linkage
        if self._snapshot is not None:
            return SnapshotCatalog(self._snapshot, platform, shipped)
        live = self._catalogs.open(problem)
        if self._recording is None:
            return live
        return RecordingCatalog(live, platform, self._recording, shipped)


def _key(case: _Case) -> tuple[str, str, str, bool]:
    """Return a key that is the same for cells that may need the same practices."""
    return case.cell.use, case.cell.release, case.cell.platform, case.unhashed


def _refute(found: Sequence[Premise], universe: Universe) -> bool:
    """Return whether premises found for another machine also refute the problem of a universe.

    Lines in them must be lines of this problem. `check_refutation` must confirm all its premises.
    """
    problem = universe.problem
    stack = problem.stack
    lines = {root.origin for root in (*stack.requirements, *stack.constraints)}
    adapted = []
    for premise in found:
        constraint = premise.constraint
        if isinstance(constraint, (StackLine, BuildLine)) and constraint.whole not in lines:
            return False
        if isinstance(constraint, ComponentValue):
            # Take the value that this machine has.
            constraint = problem.component_value(constraint.component)
        adapted.append(replace(premise, constraint=constraint))
    return not check_refutation(problem, adapted, universe.catalog)


def _without(practices: tuple[str, ...], name: str) -> tuple[str, ...]:
    """Return the practices without one of them."""
    return tuple(practice for practice in practices if practice != name)
