"""A copy of this process, made while that is safe: before it has threads.

To begin an interpreter and load what is loaded here takes 0.1 s of CPU; a copy takes a millisecond.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import BinaryIO, Final

Work = Callable[[BinaryIO, BinaryIO], None]

_INTERRUPTS: Final = (signal.SIGINT, signal.SIGTERM)


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
        if sys.platform != "linux" or threading.active_count() > 1 or (os.cpu_count() or 1) == 1:
            return None
        theirs, stdin = os.pipe()
        stdout, ours = os.pipe()
        # An interrupt is for the process that was begun; until the copy knows what it is, it must not act on one.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _INTERRUPTS)
        try:
            pid = os.fork()
            if not pid:
                _be_twin(work, theirs, ours, (stdin, stdout))
        except OSError:  # no memory or number for one more
            for end in (stdin, stdout):
                os.close(end)
            return None
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            for end in (theirs, ours):
                os.close(end)
        return cls(pid, os.fdopen(stdin, "wb", 0), os.fdopen(stdout, "rb", 0))

    def poll(self) -> int | None:
        """Its status once it has ended, None before."""
        if not self._ended and os.waitpid(self.pid, os.WNOHANG)[0]:
            self._ended = True
        return 0 if self._ended else None

    def kill(self) -> None:
        """End it, whatever it is at."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> None:
        """Wait for its end."""
        if not self._ended:
            os.waitpid(self.pid, 0)
            self._ended = True


def _be_twin(work: Work, stdin: int, stdout: int, others: tuple[int, ...]) -> None:
    """What the copy does; never returns."""
    try:
        for interrupt in _INTERRUPTS:
            signal.signal(interrupt, signal.SIG_DFL)
        os.setsid()  # what a terminal interrupts is the other process
        for end in others:
            os.close(end)
        null = os.open(os.devnull, os.O_RDWR)
        for number in range(3):
            if number not in (stdin, stdout):  # as it may be where a stream was closed
                os.dup2(null, number)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _INTERRUPTS)
        work(os.fdopen(stdin, "rb", 0), os.fdopen(stdout, "wb", 0))
    finally:
        os._exit(0)
