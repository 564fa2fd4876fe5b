"""Solve the cells of a grid in several processes, and keep a journal of the answers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, as_completed
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
from resolver.phrase import cause, phrase

# How often in a row a pool with a killed process is replaced.
_TRIES = 3
# The size in bytes of the longest journal that is read.
_LARGEST_JOURNAL = 256 * files.MIB

# A function that starts the processes.
ExecutorFactory = Callable[[], AbstractContextManager[Executor]]

# Returns the solver of this process, which is kept for further cells.
_solver_of_process = lru_cache(1)(CellSolver)


def _solve(sweep: Sweep, cell: Cell) -> Answer:
    """Return the answer for a cell. Any process may run this.

    Raises InputError if the grid or the facts have changed since the sweep began.
    """
    return _solver_of_process(sweep).answer(cell)


def answers(sweep: Sweep, pool: ExecutorFactory, cells: Sequence[Cell]) -> Iterator[Answer]:
    """Yield the answers as they become known. Cells of a killed process are solved again.

    Raises ResolverError if processes are killed again and again.
    """
    unsolved = {cell.name: cell for cell in cells}
    tries = 0
    while unsolved:
        with pool() as executor:
            try:
                futures = [executor.submit(_solve, sweep, cell) for cell in unsolved.values()]
                for future in as_completed(futures):
                    answer = future.result()
                    del unsolved[answer.cell.name]
                    tries = 0
                    yield answer
            except (BrokenProcessPool, OSError) as error:
                # If a pool breaks while it is given work, Python's pipe to it says "handle is
                # closed", in an OSError without a number.
                if isinstance(error, OSError) and error.errno is not None:
                    raise
                tries += 1
                if tries >= _TRIES:
                    raise ResolverError(
                        phrase("a process that solves cells was killed"),
                        why=phrase(
                            "{count} cells are left, and {tries} runs of them ended so",
                            count=len(unsolved),
                            tries=_TRIES,
                        ),
                        hint=phrase("is there enough memory? fewer at once: --jobs 1"),
                    ) from None


@contextmanager
def cluster(address: str) -> Iterator[Executor]:
    """Yield an executor for the workers of a dask cluster.

    The cluster repeats the cells of a lost worker itself. Raises InputError if the library is not
    installed, or if nothing answers at the address.
    """
    try:
        from distributed import Client
    except ImportError:
        raise InputError(
            phrase("a cluster needs dask.distributed"),
            where="--cluster",
            hint=phrase("pip install 'ascend-lock[cluster]', here and on the workers"),
        ) from None
    try:
        client = Client(address, timeout=30)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise InputError(
            phrase("there is no cluster at `{address}`", address=address),
            where="--cluster",
            why=cause(error),
        ) from None
    with client:
        yield client.get_executor(pure=False)  # type: ignore[no-untyped-call]


class Journal:
    """The file with the answers of an unfinished run. Use it as a context manager.

    Its first line identifies the inputs, and the file by its inode. So the answers in a copy of the
    file, or in one that git has checked out, are not used. Each further line is an answer. Only one
    run at a time can have the file open.
    """

    def __init__(self, path: Path, head: str) -> None:
        """Open the file. Raises InputError if another run has it."""
        self._name = path.name
        self._folder = OwnedFolder.open(path.parent)
        file = self._folder.open_alone(path.name)
        if file is None:
            self._folder.close()
            raise InputError(
                phrase("another run solves this matrix"),
                where=str(path),
                why=phrase("its answers go there as they become known"),
                hint=phrase("wait for it, or put the answers elsewhere: --data FILE"),
            )
        self._file = file
        self._head = f"{head} {os.fstat(file.fileno()).st_ino}\n".encode()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._folder.close()

    def begin(self) -> list[Answer]:
        """Return the answers of an interrupted run with the same inputs, without undecided ones.

        A journal of other inputs is emptied.
        """
        self._file.seek(0)
        content = self._file.read(_LARGEST_JOURNAL)
        if not content.startswith(self._head):
            self._file.truncate(0)
            self._file.write(self._head)
            self._file.flush()
            return []
        # Cut off a line that a killed run did not finish.
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
        """Remove the file, because the run is complete."""
        self._folder.remove(self._name)


def _line(answer: Answer) -> str:
    """Return the line of the file for an answer."""
    return json_text(msgspec.to_builtins(answer), indent=None) + "\n"
