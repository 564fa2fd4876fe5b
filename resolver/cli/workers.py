"""Lock several stacks in several processes. `lock` calls this.

Each process locks one stack after the other. What it prints is passed on in the order of the
stacks, so the output is the same as with one process. A process that has grown large is replaced,
so that many stacks need no more memory than the largest one.
"""

from __future__ import annotations

import gc
import os
import signal
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

# How many processes are started online. More would open too many connections to one server.
_MOST_ONLINE: Final = 2
# If a process has used more than so many bytes, it is replaced. With all imports it uses 90 MiB.
_LARGEST: Final = 128 << 20
# How many seconds a process has to clean up after itself.
_PATIENCE: Final = 3.0


class LockOptions(NamedTuple):
    """The options with which all stacks of a run are locked."""

    # The options of the run.
    settings: Settings
    # Which pins of the existing locks are kept.
    policy: UpgradePolicy
    # Whether to solve again even if the result for the same inputs and pages is remembered.
    ignore_remembered: bool
    # Whether the folders of locks stay as they are.
    dry_run: bool


class _Report(NamedTuple):
    """The results for one stack, as its process sends them."""

    # The results for the targets of the stack.
    results: list[TargetResult]
    # Warnings, and other lines, to be printed.
    said: tuple[Message | str, ...]
    # The peak memory of the process in bytes.
    peak: int


class _Notes(Progress):
    """Collects what a process would print, for the process that prints it."""

    def __init__(self, language: Language, verbosity: int = 0) -> None:
        super().__init__(language, enabled=False, verbosity=verbosity)
        self._said: list[Message | str] = []

    def __reduce__(self) -> tuple[type[_Notes], tuple[Language, int]]:
        return _Notes, (self.language, self.verbosity)

    def warn(self, warning: Message) -> None:
        """Keep a warning."""
        self._said.append(warning)

    def say(self, text: str) -> None:
        """Keep a line."""
        self._said.append(text)

    def trace(self, read: Message) -> None:
        """Keep a line about what was read, if the run is verbose."""
        if self.verbosity > 0:
            self._said.append(translate(read, self.language))

    def take(self) -> tuple[Message | str, ...]:
        """Return what was kept since the last call."""
        said = tuple(self._said)
        self._said.clear()
        return said


class _Worker:
    """A process that locks one stack after the other.

    Only one thread at a time may call its methods.
    """

    def __init__(self, options: LockOptions) -> None:
        self._options = options
        self._process: SpawnProcess | None = None
        self._connection: Connection | None = None

    def lock(self, stack: str) -> _Report:
        """Lock a stack. If the process is killed, the result is an error."""
        try:
            report = self._ask(stack)
        except (EOFError, OSError):
            self.end()
            error = ResolverError(
                phrase("the process that locks the stack was killed"),
                hint=phrase("is there enough memory? lock this stack alone"),
            )
            result = TargetResult(stack=stack, answer=error, dry_run=self._options.dry_run)
            return _Report([result], (), 0)
        if report.peak > _LARGEST:
            self.end()
        return report

    def _ask(self, stack: str) -> _Report:
        """Return the report of the process about a stack. The process is started if needed."""
        if self._connection is None:
            self._connection, theirs = SPAWN.Pipe()
            self._process = SPAWN.Process(target=_serve, args=(theirs, self._options), daemon=True)
            self._process.start()
            theirs.close()
        self._connection.send(stack)
        report: _Report = self._connection.recv()
        return report

    def end(self) -> None:
        """End the process, even if it is locking a stack."""
        process, self._process = self._process, None
        connection, self._connection = self._connection, None
        if process is not None:
            process.terminate()
            process.join(_PATIENCE)
            process.kill()
        if connection is not None:
            connection.close()


def lock_stacks(names: Sequence[str], options: LockOptions) -> Iterator[list[TargetResult]]:
    """Yield the results of each stack, in order, after everything about it was printed.

    Online, the first stack is locked alone: pages that other stacks need as well are then cached.
    """
    progress = options.settings.progress
    number = min(_usable_cores(), len(names))
    if not options.settings.offline:
        number = min(number, _MOST_ONLINE)
    notes = _Notes(options.settings.language, progress.verbosity)
    options_with_notes = options._replace(settings=replace(options.settings, progress=notes))
    workers = [_Worker(options_with_notes) for _ in range(number)]
    idle = SimpleQueue[_Worker]()
    for worker in workers:
        idle.put(worker)

    def lock(stack: str) -> _Report:
        """Lock a stack in an idle process."""
        worker = idle.get()
        try:
            return worker.lock(stack)
        finally:
            idle.put(worker)

    def reports(threads: ThreadPoolExecutor) -> Iterator[_Report]:
        """Yield the reports about all stacks, in order."""
        alone = [] if options.settings.offline else names[:1]
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
    """Return how many cores this process may use; all cores if that is unknown."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _serve(connection: Connection, options: LockOptions) -> None:
    """Lock the stacks whose names arrive on the connection, until the process is ended."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # `end` sends it, also where the run ignores it
    listen()
    follow_parent()
    settings = options.settings
    notes = settings.progress
    assert isinstance(notes, _Notes)  # noqa: S101
    page = ConflictPage(None, notes, settings.repeated_options)
    # `main` does this for a run with one stack.
    gc.disable()
    try:
        with closing(Catalogs(settings)) as catalogs:
            session = Session(
                settings,
                catalogs,
                page,
                options.policy,
                options.ignore_remembered,
                dry_run=options.dry_run,
            )
            while True:
                stack = connection.recv()
                try:
                    results = session.lock_stack(stack)
                except Exception as error:
                    answer = failure(error)
                    results = [TargetResult(stack=stack, answer=answer, dry_run=options.dry_run)]
                # A solved stack leaves reference cycles.
                gc.collect()
                connection.send(_Report(results, notes.take(), _peak()))
                del results
    except (KeyboardInterrupt, EOFError, OSError):
        os._exit(1)


def _peak() -> int:
    """Return the most memory that this process has used, in bytes."""
    # Windows does not have this module.
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # The value is in KiB, on macOS in bytes.
    return peak if sys.platform == "darwin" else peak << 10
