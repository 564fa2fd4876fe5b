"""Limit the number of concurrent requests for each host.

Each host has slots of its own: a request takes one and returns it. So a host that is slow, or that
asks to wait, does not delay requests to other hosts.
"""

from __future__ import annotations

import asyncio
from typing import Final

from resolver.index.parse.address import Origin, origin_of

# Hosts that have slots of their own besides those of indexes. An index may link to any number of
# hosts, and each connection is an open file of this process.
_MOST_HOSTS: Final = 8
# Seconds. If answers begin later than this, connections spend most of their time waiting, and a
# host gets more slots if it is not overloaded.
_LATE: Final = 0.1
# A host gets more slots only while its answers take on average less than this many times as long as
# its quickest answer.
_KEEPS_UP: Final = 2.0
# A host is overloaded if its answers take on average more than this many times as long as its
# quickest answer, or as _LATE if that is longer.
_OVERTAXED: Final = 5.0
# The weight of the last answer in the average.
_SHARE: Final = 0.2


class Lane:
    """The slots of one host. `async with` waits for a free slot, and returns it at the end.

    Their number grows while answers begin late, but not much later than the quickest one. It falls
    if the host is overloaded.
    """

    def __init__(self, least: int, most: int) -> None:
        """Begin with `least` slots, and allow at most `most`."""
        self._least = least
        self._most = most
        self._count = least
        # The number of slots that are removed as soon as they are free.
        self._surplus = 0
        self._slots = asyncio.Semaphore(least)
        # The seconds until the quickest answer began.
        self._quickest = float("inf")
        # The average of the seconds until an answer begins.
        self._average = 0.0
        # The number of answers that are not counted yet: the first ones are late, since connections
        # are made for them.
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
        """Return the number of slots of the host."""
        return self._count

    def answered(self, seconds: float) -> None:
        """Note that an answer began `seconds` after its request, and adapt the number of slots."""
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
        """Note that the host refused a request or broke off an answer.

        It has the least number of slots from now on.
        """
        self._most = self._least
        self._shrink()

    def _grow(self) -> None:
        """Add one slot, unless the host has the most that it may have."""
        if self._count < self._most:
            self._count += 1
            if self._surplus:
                self._surplus -= 1
            else:
                self._slots.release()

    def _shrink(self) -> None:
        """Remove all slots beyond the least number, as soon as each of them is free."""
        self._surplus += self._count - self._least
        self._count = self._least


class Slots:
    """The slots of all hosts, for one event loop.

    Each host of an index has slots of its own, and so have the first _MOST_HOSTS other hosts. All
    further hosts share the slots of one more lane.
    """

    def __init__(self, least: int, most: int = 0) -> None:
        """Give each host `least` slots, and up to `most` of them while it answers late."""
        self._least = least
        self._most = max(least, most)
        self._of_indexes: dict[Origin, Lane] = {}
        self._of_others: dict[Origin, Lane] = {}
        self._shared = self._lane()

    def _lane(self) -> Lane:
        """Return the slots for one more host."""
        return Lane(self._least, self._most)

    def reserve(self, url: str) -> None:
        """Give the host of an index slots of its own, however many other hosts there are.

        Raises ValueError if `url` has no host.
        """
        origin = origin_of(url)
        if origin not in self._of_indexes:
            known = self._of_others.pop(origin, None)
            self._of_indexes[origin] = known or self._lane()

    def of(self, url: str) -> Lane:
        """Return the slots of the host of an address; for the same host always the same slots.

        An address without a host gets the slots that further hosts share.
        """
        try:
            origin = origin_of(url)
        except ValueError:
            return self._shared
        if origin in self._of_indexes:
            return self._of_indexes[origin]
        if origin not in self._of_others and len(self._of_others) < _MOST_HOSTS:
            self._of_others[origin] = self._lane()
        return self._of_others.get(origin, self._shared)
