"""Answers held to a pace: a time limit for each read alone lets a server send a byte now and then for ever."""

from __future__ import annotations

from typing import Final

SLOWEST: Final = 100  # bytes a second; a proxy that looks at a file before it hands it on sends less for a while
_WINDOW: Final = 4  # time limits of a read, over which an answer's pace is taken
_WHOLE: Final = 40  # time limits of a read, after which an answer that is held in memory must be whole


class PaceError(Exception):
    """A server that is silent, or goes on for ever; the text is the reason."""


class EndlessError(Exception):
    """An answer that is not whole when its time is up; the text tells how long that is."""


class Pace:
    """What came of one answer, and how long it was waited for. Seconds; only time spent waiting is to be told.

    `timeout` is how long nothing may come, `connect` how much longer until there is a connection.
    """

    def __init__(self, timeout: float, connect: float) -> None:
        self._timeout = timeout
        self._silent = -connect
        self._window = self._all = 0.0
        self._came = 0
        self.held = False  # in memory, as a head is: it must be whole some time

    def connected(self) -> None:
        """There is a connection."""
        self._silent = 0.0

    def came(self, size: int) -> None:
        """So many bytes came."""
        self._silent = 0.0
        self._came += size

    def waited(self, seconds: float) -> None:
        """Nothing came for so long, or less than what `came` told; raises PaceError and EndlessError."""
        self._silent += seconds
        self._window += seconds
        self._all += seconds
        if self._silent > self._timeout:
            raise PaceError("It stopped answering")
        if self._window > _WINDOW * self._timeout:
            if 0 < self._came < SLOWEST * self._window:
                raise PaceError(f"It sends less than {SLOWEST} bytes a second")
            self._window, self._came = 0.0, 0
        if self.held and self._all > _WHOLE * self._timeout:
            raise EndlessError(f"It was not complete after {_WHOLE * self._timeout:.0f} seconds.")
