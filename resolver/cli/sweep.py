"""Solving the cells of a grid in processes of this machine or of a cluster, going on where an earlier run stopped."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
from packaging.utils import canonicalize_name
from packaging.version import Version

from resolver import files
from resolver.audit.pairs import unpaired
from resolver.cli.answers import expected_pins, lock_or_refutation, statements_text
from resolver.cli.catalogs import Catalogs
from resolver.cli.console import Progress
from resolver.cli.options import Settings
from resolver.config.grid import NAME, load_grid
from resolver.errors import IndexFailure, InputError, ResolverError
from resolver.explain.contradictions import is_open
from resolver.explain.explain import reason_of
from resolver.explain.trial import Clock
from resolver.files import json_text
from resolver.index import snapshot
from resolver.index.protocol import Catalog
from resolver.index.snapshot import Recording, RecordingCatalog, SnapshotCatalog
from resolver.index.unhashed import UnhashedCatalog
from resolver.lock.previous import Preferences
from resolver.model.lock import Lock
from resolver.model.matrix import LOCKED, Answer, Cell, CellOutcome, Practices
from resolver.model.message import joined, message, verbatim
from resolver.model.problem import NO_OPTIONS, PolicyOptions, Problem
from resolver.model.resolution import Resolution
from resolver.owned_folder import OwnedFolder
from resolver.report.explanation.sentences import expected_text, indexes_of
from resolver.resolve.check_refutation import Claim, check_refutation
from resolver.resolve.grounds import LineGround
from resolver.resolve.solver import Refutation, decide, prove, search
from resolver.resolve.universe import Universe

_SECONDS = 5.0  # for a readable reason of a conflict; after that it is the core as the engine found it
_TRIES = 3  # runs of a cell in a row whose process was killed
_LARGEST_JOURNAL = 256 * files.MIB

ExecutorFactory = Callable[[], AbstractContextManager[Executor]]


class Sweep(msgspec.Struct, frozen=True):
    """The input of each process that solves cells. All must see the same grid and facts, whose `digest` this is."""

    grid: Path
    matrices: Path
    digest: str
    offline: bool = False
    options: PolicyOptions = NO_OPTIONS


class CellSolver:
    """Solves cells with one cache and one connection, and adds what they request from indexes to a `recording`."""

    def __init__(self, sweep: Sweep, recording: Recording | None = None) -> None:
        self.grid = load_grid(sweep.grid, sweep.matrices)
        if self.grid.digest != sweep.digest:
            raise InputError("the grid or its facts are not those of the run", where=str(sweep.matrices))
        self._settings = Settings(
            progress=Progress(enabled=False), language="en", own_matrices=sweep.matrices, offline=sweep.offline
        )
        self._catalogs = Catalogs(self._settings)
        self._options = sweep.options
        self._recording = recording
        self._snapshot: snapshot.Snapshot | None = None  # once the cache lacks something
        # the last one of each platform, without and with recorded files that have no sha256
        self._universes: dict[tuple[str, bool], Universe] = {}
        self._has_unhashed = any(not row.sha256 for row in self.grid.problem.recorded)
        # use, project and release of cells of which such files were of use
        self._expecting: set[tuple[str, str, str]] = set()
        # proofs about cells of one release, by use, platform, practices, and whether such files count
        self._proofs: dict[tuple[str, str, Practices, bool], list[tuple[Claim, ...]]] = {}
        self._proven_release = ""
        # practices that cells needed, by use, release, platform, and whether such files count
        self._known_practices: dict[tuple[str, str, str, bool], tuple[str, ...]] = {}
        gc.freeze()  # a collection after each cell then looks at nothing older

    def close(self) -> None:
        """Release the connection and the cache."""
        self._catalogs.close()

    def answer(self, cell: Cell) -> Answer:
        """Solve a cell. Offline, from the cache, and from the first thing on that it lacks from the grid's snapshot."""
        try:
            return self._answer(cell)
        except ResolverError as error:
            path = self._settings.snapshot_path(NAME)
            is_lacking = self._settings.offline and self._snapshot is None and isinstance(error, IndexFailure)
            if is_lacking and path.exists():
                self._snapshot = snapshot.read(path)
                self._universes.clear()
                return self.answer(cell)
            return self._as_answer(cell, (), outcome=CellOutcome.UNDECIDED, reason=verbatim(error.message))
        finally:
            gc.collect()  # a solved stack leaves reference cycles

    def _answer(self, cell: Cell) -> Answer:
        """Solve a cell; if that depends on an index, solve it by what is recorded of its wheels without a sha256.

        Where that was of use for another machine, it is tried first: the answer is the same, and known sooner.
        """
        if cell.use in self.grid.shipped:
            return self._of_stack(cell)
        row = cell.use, cell.package, cell.release
        if row in self._expecting:
            expected = self._by_all_recorded(cell)
            if expected.outcome is CellOutcome.EXPECTED and self._is_refuted(cell, "all"):
                return expected
        answer = self._by_known_files(cell)
        if isinstance(answer, Answer):
            return answer
        if self._has_unhashed and any(is_open(ground, answer.clauses) for ground in answer.core):
            expected = self._by_all_recorded(cell)
            if expected.outcome is not CellOutcome.UNDECIDED:
                self._expecting.add(row)
                return expected
        return self._unsolvable(cell, "all", answer)

    def _is_refuted(self, cell: Cell, practices: Practices, *, unhashed: bool = False) -> bool:
        """Return whether a cell has no solution with these practices.

        A proof for another machine is looked at first: it holds if its lines are those of this cell, too, and
        `check_refutation` confirms all else of it for this machine.
        """
        if cell.release != self._proven_release:
            self._proofs.clear()
            self._proven_release = cell.release
        universe = self._universe(cell, practices, unhashed=unhashed)
        problem = universe.problem
        lines = {root.origin for root in problem.stack.requirements}
        proofs = self._proofs.setdefault((cell.use, cell.platform, practices, unhashed), [])
        for claims in proofs:
            grounds = [claim.ground for claim in claims]
            is_of_lines = all(ground.origin in lines for ground in grounds if isinstance(ground, LineGround))
            if is_of_lines and not check_refutation(problem, claims, universe.catalog):
                return True
        answer = prove(universe)
        if isinstance(answer, Resolution):
            return False
        proofs.append(answer.clauses.claims(answer.core))
        return True

    def _of_stack(self, cell: Cell) -> Answer:
        """Solve a cell of a shipped stack, which has the practices that it wants."""
        (problem,) = self._catalogs.with_sources([self.grid.problem_of(cell, (), self._options)])
        with closing(self._catalog(problem)) as catalog:
            answer = lock_or_refutation(Universe(problem, catalog), Preferences())
            if isinstance(answer, Refutation):
                return self._unsolvable(cell, (), answer)
        return self._locked(cell, self.grid.practices(cell), answer)

    def _by_all_recorded(self, cell: Cell) -> Answer:
        """Solve a cell as if no lock were to be written. It is undecided if no file without a sha256 is of use."""
        practices = self._practices(cell, unhashed=True)
        if isinstance(practices, Refutation):
            return self._unsolvable(cell, "all", practices)
        found = decide(self._universe(cell, practices, unhashed=True))
        if isinstance(found, Refutation):
            is_known = self._forget(cell, unhashed=True)
            return self._by_all_recorded(cell) if is_known else self._unsolvable(cell, practices, found)
        expected = expected_pins(found)
        return self._as_answer(
            cell,
            practices,
            outcome=CellOutcome.EXPECTED if expected.unhashed else CellOutcome.UNDECIDED,
            pins=expected.pins,
            unhashed=tuple(row.filename for row in expected.unhashed),
            reason=expected_text(expected),
        )

    def _by_known_files(self, cell: Cell) -> Answer | Refutation:
        """Solve a cell by the files that the indexes have; a refutation is that with all practices."""
        practices = self._practices(cell)
        if isinstance(practices, Refutation):
            return practices
        answer = lock_or_refutation(self._universe(cell, practices), Preferences())
        if isinstance(answer, Refutation):
            return self._by_known_files(cell) if self._forget(cell) else answer
        return self._locked(cell, practices, answer)

    def _forget(self, cell: Cell, *, unhashed: bool = False) -> bool:
        """Forget the practices that other machines needed. Return whether there were any."""
        row = cell.use, cell.release, cell.platform, unhashed
        return self._known_practices.pop(row, None) is not None

    def _practices(self, cell: Cell, *, unhashed: bool = False) -> tuple[str, ...] | Refutation:
        """Return the practices that a cell needs, none of which it can do without; or that all do not help.

        Those that another machine needed are tried first. If they are not enough, `_forget` them and ask again.
        """
        if search(self._universe(cell, (), unhashed=unhashed)) is not None:
            return ()
        row = cell.use, cell.release, cell.platform, unhashed
        known = self._known_practices.get(row, ())
        if known and all(self._is_refuted(cell, _without(known, name), unhashed=unhashed) for name in known):
            return known
        with_all = self._found(cell, "all", unhashed=unhashed)
        if isinstance(with_all, Refutation):
            return with_all
        needed = tuple(practice.id for practice in with_all.used_practices)
        for name in needed:
            if not self._is_refuted(cell, _without(needed, name), unhashed=unhashed):
                needed = _without(needed, name)
        self._known_practices[row] = needed
        return needed

    def _found(self, cell: Cell, practices: Practices, *, unhashed: bool = False) -> Resolution | Refutation:
        """Return any resolution, not the preferred one; or the refutation."""
        universe = self._universe(cell, practices, unhashed=unhashed)
        return search(universe) or prove(universe)

    def _locked(self, cell: Cell, practices: Practices, answer: Lock) -> Answer:
        return self._as_answer(
            cell,
            practices,
            outcome=CellOutcome.PRACTICES if practices else CellOutcome.LOCKS,
            pins={pin.name: pin.version for pin in answer.pin},
            warnings=answer.all_warnings,
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
        return tuple(f"{first} {versions[first]}, {second} {versions[second]}" for first, second in pairs)

    def _unsolvable(self, cell: Cell, practices: Practices, refutation: Refutation) -> Answer:
        why, awaited = reason_of(refutation, Clock(_SECONDS))
        if awaited:
            needs = joined("comma", [need for row in awaited for need in row.needs])
            reason = message("matrix.awaited", indexes=indexes_of(awaited), needs=needs)
            cause = ", ".join(row.project for row in awaited)
            return self._as_answer(cell, practices, outcome=CellOutcome.UNDECIDED, reason=reason, cause=cause)
        cause = why.closing.subject if why.closing is not None else why.branches[0].subject
        reason = statements_text(why.statements)
        return self._as_answer(cell, practices, outcome=CellOutcome.CONFLICT, reason=reason, cause=cause)

    def _universe(self, cell: Cell, practices: Practices, *, unhashed: bool = False) -> Universe:
        problem = self.grid.problem_of(cell, practices, self._options)
        last = self._universes.get((cell.platform, unhashed))
        if last is not None:
            universe = last.variant(problem)
        else:
            catalog = self._catalog(problem)
            universe = Universe(problem, UnhashedCatalog(catalog, problem.recorded) if unhashed else catalog)
        self._universes[cell.platform, unhashed] = universe
        return universe

    def _catalog(self, problem: Problem) -> Catalog:
        platform, shipped = problem.target.platform, self._catalogs.pool.files.shipped_linkage
        if self._snapshot is not None:
            return SnapshotCatalog(self._snapshot, platform, shipped)
        live = self._catalogs.open(problem)
        return live if self._recording is None else RecordingCatalog(live, platform, self._recording, shipped)


def _without(practices: tuple[str, ...], name: str) -> tuple[str, ...]:
    return tuple(practice for practice in practices if practice != name)


_solver = lru_cache(1)(CellSolver)  # that of this process


def _solve(sweep: Sweep, cell: Cell) -> Answer:
    """The answer for a cell, in any process. Raises InputError if its files are not those of the sweep."""
    return _solver(sweep).answer(cell)


def answers(sweep: Sweep, pool: ExecutorFactory, cells: Sequence[Cell]) -> Iterator[Answer]:
    """The answers as they become known. What a killed process had is solved again.

    Raises ResolverError if processes are killed again and again.
    """
    unsolved = {cell.name: cell for cell in cells}
    tries = 0
    while unsolved:
        with pool() as executor:
            try:
                for future in as_completed([executor.submit(_solve, sweep, cell) for cell in unsolved.values()]):
                    answer = future.result()
                    del unsolved[answer.cell.name]
                    tries = 0
                    yield answer
            except (BrokenProcessPool, OSError) as error:
                # Python's own pipe to a pool that broke while it was given work: "handle is closed", without a number
                if isinstance(error, OSError) and error.errno is not None:
                    raise
                tries += 1
                if tries >= _TRIES:
                    why = f"{len(unsolved)} cells are left, and {_TRIES} runs of them ended so"
                    hint = "is there enough memory? fewer at once: --jobs 1"
                    raise ResolverError("a process that solves cells was killed", why=why, hint=hint) from None


@contextmanager
def processes(number: int) -> Iterator[Executor]:
    """So many processes of this machine, which end with this one."""
    # not forked: a fork would share the threads' locks and the connection to the cache
    context = multiprocessing.get_context("spawn")
    executor = ProcessPoolExecutor(number, mp_context=context, initializer=_follow_parent)
    try:
        yield executor
    finally:
        # otherwise `shutdown` would wait for a process that started while another was killed
        for child in multiprocessing.active_children():
            child.terminate()
        executor.shutdown(cancel_futures=True)
        del executor
        gc.collect()  # of its semaphores, which would be reported as leaked


def _follow_parent() -> None:
    """End when the process that started this one does, which alone hears of ^C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()

    def follow() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=follow, daemon=True).start()


@contextmanager
def cluster(address: str) -> Iterator[Executor]:
    """The workers of a dask cluster, which runs the cells of a lost one again by itself. Raises InputError."""
    try:
        from distributed import Client
    except ImportError:
        hint = "pip install 'ascend-lock[cluster]', here and on the workers"
        raise InputError("a cluster needs dask.distributed", where="--cluster", hint=hint) from None
    try:
        client = Client(address, timeout=30)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise InputError(f"there is no cluster at `{address}`", where="--cluster", why=str(error)) from None
    with client:
        yield client.get_executor(pure=False)  # type: ignore[no-untyped-call]


class Journal:
    """The answers of an unfinished run, in a file: a line that identifies its inputs, then one for each answer.

    Use it as a context. One run at a time has the file, so that no answer is in it twice.
    """

    def __init__(self, path: Path, head: str) -> None:
        """Open the file. Raises InputError if another run has it."""
        self._head = f"{head}\n".encode()
        self._name = path.name
        self._folder = OwnedFolder.open(path.parent)
        file = self._folder.open_alone(path.name)
        if file is None:
            self._folder.close()
            raise InputError(
                "another run solves this matrix",
                where=str(path),
                why="its answers go there as they become known",
                hint="wait for it, or put the answers elsewhere: --data FILE",
            )
        self._file = file

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._folder.close()

    def begin(self) -> list[Answer]:
        """Return the decided answers of an interrupted run of the same inputs, and make ready for others."""
        self._file.seek(0)
        content = self._file.read(_LARGEST_JOURNAL)
        if not content.startswith(self._head):
            self._file.truncate(0)
            self._file.write(self._head)
            self._file.flush()
            return []
        # what a killed run did not write to its end
        whole = content.rpartition(b"\n")[0] + b"\n"
        self._file.truncate(len(whole))
        answers: dict[str, Answer] = {}
        for line in whole[len(self._head) :].splitlines():
            with suppress(msgspec.MsgspecError, UnicodeDecodeError):
                answer = msgspec.json.decode(line, type=Answer)
                answers[answer.cell.name] = answer
        return [answer for answer in answers.values() if answer.outcome is not CellOutcome.UNDECIDED]

    def add(self, answer: Answer) -> None:
        """Append an answer."""
        self._file.write(_line(answer).encode())
        self._file.flush()

    def end(self) -> None:
        """Remove the file: the run is complete."""
        self._folder.remove(self._name)


def _line(answer: Answer) -> str:
    return json_text(msgspec.to_builtins(answer), indent=None) + "\n"
