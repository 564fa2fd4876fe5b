"""Which projects the last run for the same purpose needed, in order: a hint, never an answer."""

from __future__ import annotations

import msgspec
from packaging.utils import NormalizedName

from resolver.catalog.store.cache import Cache
from resolver.catalog.store.packed import reader

_read = reader(msgspec.msgpack.Decoder(list[str]).decode)


class Needed:
    """Names in the cache. Nothing is stored without a purpose."""

    def __init__(self, cache: Cache, purpose: str) -> None:
        self._cache = cache
        self._purpose = purpose
        content = cache.get("needed", purpose) if purpose else None
        self.names = [NormalizedName(name) for name in (_read(content) if content is not None else None) or ()]

    def keep(self, names: list[NormalizedName]) -> None:
        """Remember what this run needed."""
        if self._purpose and names and names != self.names:
            self._cache.put("needed", self._purpose, msgspec.msgpack.encode(names))
