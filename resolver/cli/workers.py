"""Processes that lock stacks for a run over several, each one stack after the other.

A stack is locked and written by one process, and what it has to say is passed on in the order of
the stacks. So the output is that of one process. One that has grown is replaced, so that a run over
many stacks takes no more memory than its largest stack.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from queue import SimpleQueue
from typing import Final, NamedTuple

from msgspec.structs import replace

from resolver.cli.catalogs import Catalogs
from resolver.cli.commands import failure, listen
from resolver.cli.console import ConflictPage, Progress
from resolver.cli.options import Settings
from resolver.cli.outcome import TargetResult
from resolver.cli.processes import SPAWN, follow_parent
from resolver.cli.session import Session
from resolver.errors import ResolverError
from resolver.i18n import translate
from resolver.lock.previous import UpgradePolicy
from resolver.model.message import Message
from resolver.model.text import Language
from resolver.phrase import phrase

# Online, all processes together open no more connections than one does to a distant server.
_MOST_ONLINE: Final = 2
# The peak in bytes beyond which a process is replaced. One that has imported everything has 90 MiB.
_LARGEST: Final = 128 << 20
# Seconds for a process to clean up after itself.
_PATIENCE: Final = 3.0


class Order(NamedTuple):
    """How all stacks of a run are locked."""

    settings: Settings
    policy: UpgradePolicy
    # As in `Session`.
    ignore_remembered: bool
    dry_run: bool


class _Report(NamedTuple):
    """What became of a stack."""

    results: list[TargetResult]
    # Warnings, and lines of text.
    said: tuple[Message | str, ...]
    # The peak memory of the process in bytes.
    peak: int


class _Notes(Progress):
    """What a process has to say, for the one that prints it."""

    def __init__(self, language: Language, verbosity: int = 0) -> None:
        super().__init__(language, enabled=False, verbosity=verbosity)
        self._said: list[Message | str] = []

    def __reduce__(self) -> tuple[type[_Notes], tuple[Language, int]]:
        return _Notes, (self.language, self.verbosity)

    def warn(self, warning: Message) -> None:
        self._said.append(warning)

    def say(self, text: str) -> None:
        self._said.append(text)

    def trace(self, read: Message) -> None:
        if self.verbosity > 0:
            self._said.append(translate(read, self.language))

    def take(self) -> tuple[Message | str, ...]:
        """Return what was said since this was last called."""
        said = tuple(self._said)
        self._said.clear()
        return said


class _Worker:
    """A process that locks one stack after the other. Each method is for one thread at a time."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._process: SpawnProcess | None = None
        self._connection: Connection | None = None

    def lock(self, stack: str) -> _Report:
        """Lock a stack. The report of one whose process was killed is an error."""
        try:
            report = self._ask(stack)
        except (EOFError, OSError):
            self.end()
            error = ResolverError(
                phrase("the process that locks the stack was killed"),
                hint=phrase("is there enough memory? lock this stack alone"),
            )
            result = TargetResult(stack=stack, answer=error, dry_run=self._order.dry_run)
            return _Report([result], (), 0)
        if report.peak > _LARGEST:
            self.end()
        return report

    def _ask(self, stack: str) -> _Report:
        """Return what the process answers, which is started if necessary."""
        if self._connection is None:
            self._connection, theirs = SPAWN.Pipe()
            self._process = SPAWN.Process(target=_serve, args=(theirs, self._order), daemon=True)
            self._process.start()
            theirs.close()
        self._connection.send(stack)
        report: _Report = self._connection.recv()
        return report

    def end(self) -> None:
        """End the process. One that locks a stack is interrupted."""
        process, self._process = self._process, None
        connection, self._connection = self._connection, None
        if process is not None:
            process.terminate()
            process.join(_PATIENCE)
            process.kill()
        if connection is not None:
            connection.close()


def lock_stacks(names: Sequence[str], order: Order) -> Iterator[list[TargetResult]]:
    """Yield what becomes of each stack, in order, when everything it has to say was printed.

    Online, the first stack is locked alone: the pages that others need, too, are then in the cache.
    """
    progress = order.settings.progress
    number = min(_usable_cores(), len(names))
    if not order.settings.offline:
        number = min(number, _MOST_ONLINE)
    notes = _Notes(order.settings.language, progress.verbosity)
    order_with_notes = order._replace(settings=replace(order.settings, progress=notes))
    workers = [_Worker(order_with_notes) for _ in range(number)]
    idle = SimpleQueue[_Worker]()
    for worker in workers:
        idle.put(worker)

    def lock(stack: str) -> _Report:
        worker = idle.get()
        try:
            return worker.lock(stack)
        finally:
            idle.put(worker)

    def reports(threads: ThreadPoolExecutor) -> Iterator[_Report]:
        alone = [] if order.settings.offline else names[:1]
        yield from threads.map(lock, alone)
        yield from threads.map(lock, names[len(alone) :])

    with ThreadPoolExecutor(number) as threads:
        try:
            reported = reports(threads)
            for position, name in enumerate(names, 1):
                progress.place(f"{position}/{len(names)} ")
                progress.label("cli.locking-stack", stack=name)
                report = next(reported)
                for said in report.said:
                    if isinstance(said, str):
                        progress.say(said)
                    else:
                        progress.warn(said)
                yield report.results
        finally:
            threads.shutdown(wait=False, cancel_futures=True)
            for worker in workers:
                worker.end()


def _usable_cores() -> int:
    """Return how many cores this process may use, or else how many there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _serve(connection: Connection, order: Order) -> None:
    """Lock the stacks whose names arrive, until the process is ended."""
    listen()
    follow_parent()
    settings = order.settings
    notes = settings.progress
    assert isinstance(notes, _Notes)  # noqa: S101
    page = ConflictPage(None, notes, settings.repeated_options)
    # As in a run with one stack.
    gc.disable()
    try:
        with closing(Catalogs(settings)) as catalogs:
            session = Session(
                settings,
                catalogs,
                page,
                order.policy,
                order.ignore_remembered,
                dry_run=order.dry_run,
            )
            while True:
                stack = connection.recv()
                try:
                    results = session.lock_stack(stack)
                except Exception as error:
                    answer = failure(error)
                    results = [TargetResult(stack=stack, answer=answer, dry_run=order.dry_run)]
                # A solved stack leaves reference cycles.
                gc.collect()
                connection.send(_Report(results, notes.take(), _peak()))
                del results
    except (KeyboardInterrupt, EOFError, OSError):
        os._exit(1)


def _peak() -> int:
    """Return the peak memory of this process in bytes."""
    # There is none on Windows.
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # In KiB, on macOS in bytes.
    return peak if sys.platform == "darwin" else peak << 10
