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


class Slots:
    """Slots for each host, on one event loop.

    Hosts of indexes have slots of their own, and so have the first few others. All further hosts
    share one more set.
    """

    def __init__(self, most: int) -> None:
        """Have `most` slots for each host."""
        self._most = most
        self._of_indexes: dict[Origin, asyncio.Semaphore] = {}
        self._of_others: dict[Origin, asyncio.Semaphore] = {}
        self._shared = asyncio.Semaphore(most)

    def reserve(self, url: str) -> None:
        """Give the host of an index slots of its own, however many other hosts there are.

        Raises ValueError.
        """
        origin = origin_of(url)
        if origin not in self._of_indexes:
            known = self._of_others.pop(origin, None)
            self._of_indexes[origin] = known or asyncio.Semaphore(self._most)

    def of(self, url: str) -> asyncio.Semaphore:
        """Return the slots of the host of an address, always the same ones."""
        try:
            origin = origin_of(url)
        except ValueError:
            return self._shared
        if origin in self._of_indexes:
            return self._of_indexes[origin]
        if origin not in self._of_others and len(self._of_others) < _MOST_HOSTS:
            self._of_others[origin] = asyncio.Semaphore(self._most)
        return self._of_others.get(origin, self._shared)
