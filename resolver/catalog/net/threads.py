"""Blocking calls from an event loop, in threads that nobody waits for at the end."""

from __future__ import annotations

import asyncio
import ctypes
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, Final, TypeVar

T = TypeVar("T")

_M_TRIM_THRESHOLD: Final = -1  # malloc.h
_M_MMAP_THRESHOLD: Final = -3
_M_ARENA_MAX: Final = -8
_ARENAS: Final = 2
_LARGE: Final = 32 << 20  # bytes, the highest value allowed: larger pieces are mapped separately
_KEPT: Final = 512 << 20  # bytes

_Job = tuple[asyncio.AbstractEventLoop, "asyncio.Future[Any]", Callable[[], Any]]


class Threads:
    """At most so many threads, started when needed.

    The interpreter waits at exit for threads of `concurrent.futures`: a cancelled run would hang until the time limit
    of a dead host is over.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._begun = 0
        self._busy = 0

    async def run(self, call: Callable[[], T]) -> T:
        """Return or raise what a call does."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._busy += 1
        if self._busy > self._begun and self._begun < self._most:
            self._begun += 1
            threading.Thread(target=self._work, name=f"ascend-lock-{self._begun}", daemon=True).start()
        self._jobs.put((loop, future, call))
        try:
            return await future
        finally:
            self._busy -= 1

    def close(self) -> None:
        """Let the threads end after their current call."""
        for _ in range(self._begun):
            self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            loop, future, call = job
            if future.cancelled():
                continue
            result: Any = None
            failure: BaseException | None = None
            try:
                result = call()
            except BaseException as error:
                failure = error
            with suppress(RuntimeError):  # the loop is closed: nobody waits for it any more
                loop.call_soon_threadsafe(_settle, future, result, failure)
            del job, loop, future, call, result, failure


def tune_allocator() -> None:
    """Have freed memory reused by all threads, before more is requested from the system.

    By default glibc keeps it per thread, a third of all memory of a run, and returns large pieces to the system,
    which then has to zero the pages of the next one. Allocators of other systems are left as they are.
    """
    with suppress(OSError, AttributeError):
        set_option = ctypes.CDLL(None).mallopt
        for option in ((_M_ARENA_MAX, _ARENAS), (_M_MMAP_THRESHOLD, _LARGE), (_M_TRIM_THRESHOLD, _KEPT)):
            set_option(*option)


def _settle(future: asyncio.Future[Any], result: Any, failure: BaseException | None) -> None:
    if future.done():
        return
    if failure is not None:
        future.set_exception(failure)
    else:
        future.set_result(result)
