"""Which projects the last run for the same purpose needed, in order: a hint, never an answer."""

from __future__ import annotations

from typing import Final

import msgspec
from packaging.utils import NormalizedName

from resolver.catalog.store.cache import Cache

_NAMES: Final = msgspec.msgpack.Decoder(list[str])


class Needed:
    """Names in the cache. Nothing is stored without a purpose."""

    def __init__(self, cache: Cache, purpose: str) -> None:
        self._cache = cache
        self._purpose = purpose
        self.names = [NormalizedName(name) for name in cache.load("needed", purpose, _NAMES) or ()] if purpose else []

    def keep(self, names: list[NormalizedName]) -> None:
        """Remember what this run needed."""
        if self._purpose and names and names != self.names:
            self._cache.save("needed", self._purpose, names)
