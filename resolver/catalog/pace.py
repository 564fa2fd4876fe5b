"""Answers held to a pace: a time limit for each read alone lets a server send a byte now and then for ever."""

from __future__ import annotations

import http.client
import io
import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import urllib3

    from resolver.catalog.names import Names

SLOWEST: Final = 100  # bytes a second; a proxy that looks at a file before it hands it on sends less for a while
_MOST_LINES: Final = 1000  # one after another: heads that say "continue", and what may follow the last chunk


class PaceError(OSError):
    """A server that goes on for ever, or as good as."""


class EndlessError(Exception):
    """An answer that is not whole when its time is up; the text tells how long that is."""


class _Until(threading.local):
    """When what this thread reads must be whole, and how long that is; not at all unless it is said."""

    end = math.inf
    seconds = 0.0


_until = _Until()


@contextmanager
def whole_within(seconds: float) -> Iterator[None]:
    """What is read in this thread raises EndlessError where more comes after so many seconds."""
    _until.end, _until.seconds = time.monotonic() + seconds, seconds
    try:
        yield
    finally:
        _until.end = math.inf


class Paced(io.RawIOBase):
    """What comes from a socket. Only time that is spent waiting for it counts."""

    def __init__(self, raw: Any, window: float, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._raw = raw
        self._window = window
        self._clock = clock
        self._waited = 0.0
        self._came = 0

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: Any, /) -> int | None:
        """Read on; raises PaceError after `window` seconds with less than SLOWEST bytes in each, or EndlessError."""
        begin = self._clock()
        size: int | None = self._raw.readinto(buffer)
        now = self._clock()
        if now > _until.end:
            raise EndlessError(f"It was not whole after {_until.seconds:.0f} seconds.")
        self._waited += now - begin
        self._came += size or 0
        if self._waited > self._window:
            if size and self._came < SLOWEST * self._waited:
                raise PaceError(f"It sends less than {SLOWEST} bytes a second")
            self._waited, self._came = 0.0, 0
        return size

    def close(self) -> None:
        """Let go of the socket."""
        self._raw.close()
        super().close()


class Lines(io.BufferedReader):
    """Reads bytes, and a limited number of lines in a row."""

    _in_a_row = 0

    def readline(self, size: int | None = -1, /) -> bytes:
        """A line; raises PaceError for the 1,001st without any other read."""
        self._in_a_row += 1
        if self._in_a_row > _MOST_LINES:
            raise PaceError(f"It sends more than {_MOST_LINES} lines that belong to no content")
        return super().readline(size)

    def read(self, size: int | None = None, /) -> bytes:
        """Read on; raises PaceError for a size below nothing."""
        self._in_a_row = 0
        _check(size)
        return super().read(size)

    def read1(self, size: int = -1, /) -> bytes:
        """Read what is there; raises PaceError for a size below nothing."""
        self._in_a_row = 0
        _check(size)
        return super().read1(size)

    def readinto(self, buffer: Any, /) -> int:
        """Read on."""
        self._in_a_row = 0
        return super().readinto(buffer)


def _check(size: int | None) -> None:
    """Refuse a size below nothing: http.client takes a chunk's from the server, and -1 is all that comes."""
    if size is not None and size < 0:
        raise PaceError("It sends a chunk of a size below nothing")


def hold(manager: urllib3.PoolManager, window: float, names: Names) -> None:
    """Have all answers to a manager's requests held to the pace, and `names` asked; `window` is in seconds."""

    class Answer(http.client.HTTPResponse):
        def __init__(self, *args: Any, **more: Any) -> None:
            super().__init__(*args, **more)
            # what `makefile` gives is a buffer, though typeshed promises less
            self.fp: Any = Lines(Paced(self.fp.detach(), window))

    def held(pool: Any) -> Any:
        kind = names.of(pool.ConnectionCls)
        connection = type(kind.__name__, (kind,), {"response_class": Answer})
        return type(pool.__name__, (pool,), {"ConnectionCls": connection})

    manager.pool_classes_by_scheme = {scheme: held(pool) for scheme, pool in manager.pool_classes_by_scheme.items()}
