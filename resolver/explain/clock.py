"""Limit the time of a search by the time that it takes and that it waits for indexes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from resolver.errors import UndecidedError
from resolver.index.protocol import polling, waited

# The share of the whole time that a search may take in any case after `Clock.shorten`.
_REST = 1 / 4


class Expired(Exception):
    """The limit of time is reached."""


def spent() -> float:
    """Return the seconds that this thread has computed or waited for indexes so far.

    That is the time of day that passes on a machine which does nothing else. What others take of
    the machine does not count, so that results do not depend on it.
    """
    return time.thread_time() + waited()


class Clock:
    """A limit of the time that a search takes, as `spent` counts it."""

    def __init__(
        self, seconds: float, report: Callable[[int, int], None] = lambda *_: None
    ) -> None:
        """Start the clock, which ends after so many seconds.

        `report` is called with the progress of each search, see `tick`.
        """
        self.seconds = seconds
        # Whether time was up when somebody asked, so that something was cut short.
        self.limited = False
        self._began = spent()
        self._end = self._began + seconds
        self._report = report

    def expired(self) -> bool:
        """Return whether time is up, and remember in `limited` that it was."""
        is_late = spent() > self._end
        self.limited |= is_late
        return is_late

    def shorten(self) -> None:
        """Leave as much time as was taken so far, or a quarter of the whole if that is more.

        A search calls it when it has found what it may end with. A second call changes nothing.
        """
        now = spent()
        left = max(now - self._began, self.seconds * _REST)
        self._end = min(self._end, now + left)

    def grant(self, seconds: float) -> None:
        """Let the clock end after so many seconds from now, whenever it would have ended."""
        self._end = spent() + seconds

    def restore(self) -> None:
        """Undo `shorten`: the clock ends when it would have ended without it."""
        self._end = self._began + self.seconds

    @property
    def left(self) -> float:
        """Return the seconds that are left."""
        return max(self._end - spent(), 0.0)

    def within(self, seconds: float) -> Clock:
        """Return a clock that ends with this one, or after so many seconds if that is earlier.

        The new clock has a `limited` of its own.
        """
        return Clock(min(seconds, self._end - spent()), self._report)

    def tick(self, rounds: int, packages: int) -> None:
        """Report the progress of a search. Raise Expired if time is up.

        `rounds` and `packages` are how many rounds were made and how many packages are decided.
        """
        self._report(rounds, packages)
        self.look()

    def look(self) -> None:
        """Raise Expired if time is up."""
        if self.expired():
            raise Expired

    @contextmanager
    def limiting(self) -> Iterator[None]:
        """End the `with` block, and set `limited`, when time is up or the solver gives up.

        Requests to indexes that are made in the block are not waited for longer than that.
        """
        try:
            with polling(self.look):
                yield
        except (Expired, UndecidedError):
            self.limited = True


class Allowance:
    """An amount of time that several parts of a search share, such as all that try rows."""

    def __init__(self, seconds: float) -> None:
        """Allow so many seconds."""
        self._left = seconds
        # When the part that runs now began; None if none runs.
        self._began: float | None = None

    @contextmanager
    def spending(self) -> Iterator[None]:
        """Take the time of the `with` block from the allowance. Blocks must not be nested."""
        self._began = spent()
        try:
            yield
        finally:
            self._left -= spent() - self._began
            self._began = None

    @property
    def is_spent(self) -> bool:
        """Return whether nothing is left."""
        running = 0.0 if self._began is None else spent() - self._began
        return running >= self._left
