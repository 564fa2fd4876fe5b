"""A copy of this process, made while that is safe: before it has threads.

To begin an interpreter and load what is loaded here takes 0.1 s of CPU; a copy takes a millisecond.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Collection, Iterator
from typing import BinaryIO, Final

Work = Callable[[BinaryIO, BinaryIO], None]

_INTERRUPTS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_STREAMS: Final = 3


class Twin:
    """The copy, which does one thing and ends: as `subprocess.Popen` as far as that is needed."""

    def __init__(self, pid: int, stdin: BinaryIO, stdout: BinaryIO) -> None:
        self.pid = pid
        self.stdin = stdin
        self.stdout = stdout
        self._ended = False

    @classmethod
    def begin(cls, work: Work) -> Twin | None:
        """One that does this with what it reads from and writes to; None where there cannot be one.

        Other systems' libraries do not bear to be copied, and where there are threads, what one of them holds would be
        held for ever. With one processor there is nothing to be gained.
        """
        if sys.platform != "linux" or threading.active_count() > 1 or processors() == 1:
            return None
        with contextlib.ExitStack() as ends, contextlib.suppress(OSError):  # no memory, number or descriptor for it
            theirs, stdin = _pipe(ends)
            stdout, ours = _pipe(ends)
            with contextlib.ExitStack() as kept:
                to = kept.enter_context(os.fdopen(os.dup(stdin), "wb", 0))
                back = kept.enter_context(os.fdopen(os.dup(stdout), "rb", 0))
                pid = _fork(work, theirs, ours)
                kept.pop_all()
            return cls(pid, to, back)
        return None

    def poll(self) -> int | None:
        """Its status once it has ended, None before."""
        if not self._ended:
            with self._reaped():
                self._ended = os.waitpid(self.pid, os.WNOHANG)[0] != 0
        return 0 if self._ended else None

    def kill(self) -> None:
        """End it, whatever it is at."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> None:
        """Wait for its end."""
        if not self._ended:
            with self._reaped():
                os.waitpid(self.pid, 0)
                self._ended = True

    def close(self) -> None:
        """End it where nobody else has its pipes."""
        self.stdin.close()
        self.stdout.close()
        self.kill()
        self.wait()

    @contextlib.contextmanager
    def _reaped(self) -> Iterator[None]:
        """Where whoever began this process has SIGCHLD ignored, the system itself takes note of its end."""
        try:
            yield
        except ChildProcessError:
            self._ended = True


def processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):  # not everywhere
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _pipe(ends: contextlib.ExitStack) -> tuple[int, int]:
    """A pipe, closed with all others; raises OSError."""
    pipe = os.pipe()
    for end in pipe:
        ends.callback(os.close, end)
    return pipe


def _fork(work: Work, stdin: int, stdout: int) -> int:
    """The number of the copy; raises OSError. The copy itself never returns.

    An interrupt is for the process that was begun; until the copy knows what it is, it must not act on one.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, _INTERRUPTS)
        here = os.getpid()
        pid = -1
        try:
            pid = os.fork()
            if not pid:
                _be_twin(work, stdin, stdout)
        finally:
            if os.getpid() != here:  # whatever came in between
                os._exit(0)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return pid


def _be_twin(work: Work, stdin: int, stdout: int) -> None:
    """What the copy does."""
    for interrupt in _INTERRUPTS:
        signal.signal(interrupt, signal.SIG_DFL)
    os.setsid()  # what a terminal interrupts is the other process
    null = os.open(os.devnull, os.O_RDWR)
    for number in range(_STREAMS):
        if number not in (stdin, stdout):  # as it may be where a stream was closed
            os.dup2(null, number)
    _close_others((stdin, stdout))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _INTERRUPTS)
    work(os.fdopen(stdin, "rb", 0), os.fdopen(stdout, "wb", 0))


def _close_others(kept: Collection[int]) -> None:
    """Close what the copy has no use for: a lock that this process holds would outlive it there.

    What belongs to objects may be closed, too: those that began the copy live as long as it does.
    """
    with contextlib.suppress(OSError):
        for number in map(int, os.listdir("/proc/self/fd")):  # noqa: PTH208
            if number >= _STREAMS and number not in kept:
                with contextlib.suppress(OSError):
                    os.close(number)
