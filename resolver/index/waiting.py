"""What is done while an answer is waited for: whoever has a limit of time looks at the clock.

An archive of hundreds of megabytes may take minutes, and nobody who reads it knows of a limit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError  # not the built-in one before Python 3.11
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, TypeVar

T = TypeVar("T")

_EACH: Final = 0.2  # seconds

_LOOK: ContextVar[Callable[[], None] | None] = ContextVar("look", default=None)


@contextmanager
def looking(look: Callable[[], None]) -> Iterator[None]:
    """Within this context, waiting for a catalog calls `look` at short intervals; an exception of it ends the wait."""
    token = _LOOK.set(look)
    try:
        yield
    finally:
        _LOOK.reset(token)


def answer_of(future: Future[T]) -> T:
    """The result of a future, waited for as `looking` says. Raises its exception, or that of `look`."""
    look = _LOOK.get()
    if look is None:
        return future.result()
    while True:
        try:
            return future.result(_EACH)
        except FutureTimeoutError:
            if future.done():  # just now, or this is the failure of what was waited for
                return future.result()
        look()
