"""Solving all cells of a grid: in processes of this machine or of a cluster, going on where an earlier run stopped."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

import msgspec

from resolver import files
from resolver.cli.cell_worker import Sweep, solve
from resolver.errors import InputError, ResolverError
from resolver.json_text import json_text
from resolver.model.matrix import Answer, Cell, CellOutcome

_TRIES = 3  # runs of a cell in a row whose process was killed
_LARGEST = 256 * files.MIB

ExecutorFactory = Callable[[], AbstractContextManager[Executor]]


def answers(sweep: Sweep, pool: ExecutorFactory, cells: Sequence[Cell]) -> Iterator[Answer]:
    """The answers as they become known. What a killed process had is solved again.

    Raises ResolverError if processes are killed again and again.
    """
    left = {cell.name: cell for cell in cells}
    tries = 0
    while left:
        with pool() as executor:
            try:
                for future in as_completed([executor.submit(solve, sweep, cell) for cell in left.values()]):
                    answer = future.result()
                    del left[answer.cell.name]
                    tries = 0
                    yield answer
            except (BrokenProcessPool, OSError) as error:
                # Python's own pipe to a pool that broke while it was given work: "handle is closed", without a number
                if isinstance(error, OSError) and error.errno is not None:
                    raise
                tries += 1
                if tries >= _TRIES:
                    raise ResolverError(
                        "a process that solves cells was killed",
                        why=f"{len(left)} cells are left, and {_TRIES} runs of them ended so",
                        hint="is there enough memory? fewer at once: --jobs 1",
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
        # nothing that they still do is wanted; one that started while another was killed would be waited for
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
    """The answers of a run that has not ended, in a file: a line says what they follow from, then one for each."""

    def __init__(self, path: Path, head: str) -> None:
        self._path = path
        self._head = head

    def read(self) -> Iterable[Answer]:
        """The answers of an interrupted run of the same inputs; not those that an index may decide by now."""
        with suppress(OSError, ValueError):
            head, *lines = files.read(self._path, _LARGEST).decode().split("\n")
            if head == self._head:
                for line in lines:
                    with suppress(msgspec.MsgspecError):  # one was cut off
                        answer = msgspec.json.decode(line, type=Answer)
                        if answer.outcome is not CellOutcome.UNDECIDED:
                            yield answer

    def begin(self, known: Iterable[Answer]) -> None:
        """Begin the file anew, with what is known."""
        files.write(self._path, "".join([f"{self._head}\n", *map(_line, known)]).encode())

    def add(self, answer: Answer) -> None:
        """One more."""
        with self._path.open("a", encoding="utf-8") as file:
            file.write(_line(answer))

    def end(self) -> None:
        """Remove the file: the run is complete."""
        self._path.unlink(missing_ok=True)


def _line(answer: Answer) -> str:
    return json_text(msgspec.to_builtins(answer), indent=None) + "\n"
