"""Limited concurrency: first come, first served, except that whatever somebody waits for goes at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager


class Turns:
    """At most `most` at once, except those in a hurry. Lives on an event loop."""

    def __init__(self, most: int) -> None:
        self._free = most
        self._waiting: dict[Hashable, list[asyncio.Future[None]]] = {}  # longest waiting first
        self._hurried: set[Hashable] = set()

    def hurry(self, key: Hashable) -> None:
        """Let whatever has this key pass, now and later, regardless of the limit."""
        self._hurried.add(key)
        for future in self._waiting.pop(key, ()):
            self._pass(future)

    @asynccontextmanager
    async def turn(self, key: Hashable) -> AsyncIterator[None]:
        """Wait for a turn, and hold it."""
        if self._free <= 0 and key not in self._hurried:
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.setdefault(key, []).append(future)
            try:
                await future
            except BaseException:
                if future.done() and not future.cancelled():
                    self._end()
                raise
        else:
            self._free -= 1
        try:
            yield
        finally:
            self._end()

    def _pass(self, future: asyncio.Future[None]) -> None:
        if not future.done():
            self._free -= 1
            future.set_result(None)

    def _end(self) -> None:
        self._free += 1
        while self._free > 0 and self._waiting:
            key = next(iter(self._waiting))
            futures = self._waiting[key]
            self._pass(futures.pop(0))
            if not futures:
                del self._waiting[key]
