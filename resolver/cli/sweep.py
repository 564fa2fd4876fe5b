"""Solving the cells of a grid in processes of this machine or of a cluster, going on where an earlier run stopped."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import lru_cache
from pathlib import Path

import msgspec

from resolver import files
from resolver.cli.cells import CellSolver, Sweep
from resolver.errors import InputError, ResolverError
from resolver.files import json_text
from resolver.model.matrix import Answer, Cell, CellOutcome
from resolver.owned_folder import OwnedFolder

_TRIES = 3  # runs of a cell in a row whose process was killed
_LARGEST_JOURNAL = 256 * files.MIB

ExecutorFactory = Callable[[], AbstractContextManager[Executor]]


_solver = lru_cache(1)(CellSolver)  # that of this process


def _solve(sweep: Sweep, cell: Cell) -> Answer:
    """The answer for a cell, in any process.

    Raises InputError if its files are not those of the sweep.
    """
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
                for future in as_completed(
                    [executor.submit(_solve, sweep, cell) for cell in unsolved.values()]
                ):
                    answer = future.result()
                    del unsolved[answer.cell.name]
                    tries = 0
                    yield answer
            except (BrokenProcessPool, OSError) as error:
                # Python's own pipe to a pool that broke while it was given work: "handle is
                # closed", without a number
                if isinstance(error, OSError) and error.errno is not None:
                    raise
                tries += 1
                if tries >= _TRIES:
                    why = f"{len(unsolved)} cells are left, and {_TRIES} runs of them ended so"
                    hint = "is there enough memory? fewer at once: --jobs 1"
                    raise ResolverError(
                        "a process that solves cells was killed", why=why, hint=hint
                    ) from None


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
    """The workers of a dask cluster, which runs the cells of a lost one again by itself.

    Raises InputError.
    """
    try:
        from distributed import Client
    except ImportError:
        hint = "pip install 'ascend-lock[cluster]', here and on the workers"
        raise InputError("a cluster needs dask.distributed", where="--cluster", hint=hint) from None
    try:
        client = Client(address, timeout=30)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise InputError(
            f"there is no cluster at `{address}`", where="--cluster", why=str(error)
        ) from None
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
        return [
            answer for answer in answers.values() if answer.outcome is not CellOutcome.UNDECIDED
        ]

    def add(self, answer: Answer) -> None:
        """Append an answer."""
        self._file.write(_line(answer).encode())
        self._file.flush()

    def end(self) -> None:
        """Remove the file: the run is complete."""
        self._folder.remove(self._name)


def _line(answer: Answer) -> str:
    return json_text(msgspec.to_builtins(answer), indent=None) + "\n"
