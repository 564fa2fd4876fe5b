"""A fork of this process, made while that is safe: before it has threads.

Starting an interpreter and loading the modules takes 0.1 s of CPU; a fork takes a millisecond.
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
    """The fork, which does one thing and ends. Has the part of `subprocess.Popen`'s interface that is needed."""

    def __init__(self, pid: int, stdin: BinaryIO, stdout: BinaryIO) -> None:
        self.pid = pid
        self.stdin = stdin
        self.stdout = stdout
        self._ended = False

    @classmethod
    def begin(cls, work: Work) -> Twin | None:
        """A fork that runs this with its input and output pipe; None if there cannot be one.

        Libraries of other systems do not survive a fork, and locks held by other threads would be held for ever. With a
        single processor nothing would be gained.
        """
        if sys.platform != "linux" or threading.active_count() > 1 or processors() == 1:
            return None
        with contextlib.ExitStack() as ends, contextlib.suppress(OSError):  # no memory, process number or descriptor
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
        """Its exit status once it has ended, None before."""
        if not self._ended:
            with self._reaped():
                self._ended = os.waitpid(self.pid, os.WNOHANG)[0] != 0
        return 0 if self._ended else None

    def kill(self) -> None:
        """End it, whatever it is doing."""
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
        """End it, if nobody else has its pipes."""
        self.stdin.close()
        self.stdout.close()
        self.kill()
        self.wait()

    @contextlib.contextmanager
    def _reaped(self) -> Iterator[None]:
        """If this process was started with SIGCHLD ignored, the system itself reaps the fork."""
        try:
            yield
        except ChildProcessError:
            self._ended = True


def processors() -> int:
    """The number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # not everywhere
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _pipe(ends: contextlib.ExitStack) -> tuple[int, int]:
    """A pipe, closed with all others. Raises OSError."""
    pipe = os.pipe()
    for end in pipe:
        ends.callback(os.close, end)
    return pipe


def _fork(work: Work, stdin: int, stdout: int) -> int:
    """The process number of the fork, which itself never returns. Raises OSError.

    Interrupts are for the original process; the fork must not act on one before it knows what it is.
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
            if os.getpid() != here:  # whatever happens in between
                os._exit(0)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return pid


def _be_twin(work: Work, stdin: int, stdout: int) -> None:
    """The main function of the fork."""
    for interrupt in _INTERRUPTS:
        signal.signal(interrupt, signal.SIG_DFL)
    os.setsid()  # a terminal interrupts only the other process
    null = os.open(os.devnull, os.O_RDWR)
    for number in range(_STREAMS):
        if number not in (stdin, stdout):  # it may be, if a stream was closed
            os.dup2(null, number)
    _close_others((stdin, stdout))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _INTERRUPTS)
    work(os.fdopen(stdin, "rb", 0), os.fdopen(stdout, "wb", 0))


def _close_others(kept: Collection[int]) -> None:
    """Close what the fork does not need: a lock held by the original process would outlive it there.

    Descriptors of objects may be closed, too: the objects in the fork live as long as it does.
    """
    with contextlib.suppress(OSError):
        for number in map(int, os.listdir("/proc/self/fd")):  # noqa: PTH208
            if number >= _STREAMS and number not in kept:
                with contextlib.suppress(OSError):
                    os.close(number)
