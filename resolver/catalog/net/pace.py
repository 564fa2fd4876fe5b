"""A minimum pace for answers: a time limit per read alone would let a server send a byte now and then for ever."""

from __future__ import annotations

from typing import Final

SLOWEST: Final = 100  # bytes a second; a proxy that scans a file before passing it on sends little for a while
_WINDOW: Final = 4  # in read time limits: the window over which pace is measured
_WHOLE: Final = 40  # in read time limits: when an answer held in memory must be complete


class PaceError(Exception):
    """A server is silent or never finishes; the text is the reason."""


class EndlessError(Exception):
    """An answer is incomplete when its time is up; the text says how long that is."""


class Pace:
    """The bytes received of an answer, and the seconds spent waiting for it; other time does not count.

    `timeout` is the limit without any bytes, `connect` the additional limit until there is a connection.
    """

    def __init__(self, timeout: float, connect: float) -> None:
        self._timeout = timeout
        self._silent = -connect
        self._window = self._all = 0.0
        self._came = 0
        self.held = False  # in memory, like a head: it must be complete at some time

    def connected(self) -> None:
        """There is a connection."""
        self._silent = 0.0

    def came(self, size: int) -> None:
        """So many bytes arrived."""
        self._silent = 0.0
        self._came += size

    def waited(self, seconds: float) -> None:
        """So many seconds passed without more bytes than `came` was told. Raises PaceError and EndlessError."""
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
