"""Limits of concurrent work by host.

A host that is slow, or says to wait, so holds up no other.
"""

from __future__ import annotations

import asyncio
from typing import Final

from resolver.index.parse.address import Origin, origin_of

# Files of an index may be on any number of hosts, and each connection is an open file of this
# process.
_MOST_HOSTS: Final = 8
# Seconds after which an answer is late: then most of a connection's time is waiting.
_LATE: Final = 0.1
# A host keeps up while its answers take no longer than this many times the quickest one, and is
# overtaxed when they take longer than that many times.
_KEEPS_UP: Final = 2.0
_OVERTAXED: Final = 5.0
# The share of the last answer in the average.
_SHARE: Final = 0.2


class Lane:
    """The slots of a host, for `async with`. They may become more while it answers late."""

    def __init__(self, least: int, most: int) -> None:
        """Have `least` slots, and up to `most`."""
        self._least = least
        self._most = most
        self._count = least
        # Slots that are taken away as soon as they are free.
        self._surplus = 0
        self._slots = asyncio.Semaphore(least)
        # Seconds: the quickest answer, and what answers take now.
        self._quickest = float("inf")
        self._average = 0.0
        # The first answers, which come late since connections are made for them.
        self._first_answers = least

    async def __aenter__(self) -> None:
        await self._slots.acquire()

    async def __aexit__(self, *_: object) -> None:
        if self._surplus:
            self._surplus -= 1
        else:
            self._slots.release()

    @property
    def count(self) -> int:
        """Return how many slots there are."""
        return self._count

    def answered(self, seconds: float) -> None:
        """Take note that an answer began after so many seconds."""
        if self._first_answers:
            self._first_answers -= 1
            return
        self._quickest = min(self._quickest, seconds)
        last = self._average or seconds
        self._average = last + (seconds - last) * _SHARE
        if self._average > _OVERTAXED * max(self._quickest, _LATE):
            self._shrink()
        elif self._average > _LATE and self._average < _KEEPS_UP * self._quickest:
            self._grow()

    def refused(self) -> None:
        """Take note that the host refused a request or broke off: it gets no more slots."""
        self._most = self._least
        self._shrink()

    def _grow(self) -> None:
        if self._count < self._most:
            self._count += 1
            if self._surplus:
                self._surplus -= 1
            else:
                self._slots.release()

    def _shrink(self) -> None:
        self._surplus += self._count - self._least
        self._count = self._least


class Slots:
    """Slots for each host, on one event loop.

    Hosts of indexes have slots of their own, and so have the first few others. All further hosts
    share one more set.
    """

    def __init__(self, least: int, most: int = 0) -> None:
        """Have `least` slots for each host, and up to `most` while it answers late."""
        self._least = least
        self._most = max(least, most)
        self._of_indexes: dict[Origin, Lane] = {}
        self._of_others: dict[Origin, Lane] = {}
        self._shared = self._lane()

    def _lane(self) -> Lane:
        return Lane(self._least, self._most)

    def reserve(self, url: str) -> None:
        """Give the host of an index slots of its own, however many other hosts there are.

        Raises ValueError.
        """
        origin = origin_of(url)
        if origin not in self._of_indexes:
            known = self._of_others.pop(origin, None)
            self._of_indexes[origin] = known or self._lane()

    def of(self, url: str) -> Lane:
        """Return the slots of the host of an address, always the same ones."""
        try:
            origin = origin_of(url)
        except ValueError:
            return self._shared
        if origin in self._of_indexes:
            return self._of_indexes[origin]
        if origin not in self._of_others and len(self._of_others) < _MOST_HOSTS:
            self._of_others[origin] = self._lane()
        return self._of_others.get(origin, self._shared)
