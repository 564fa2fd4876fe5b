"""Reading MessagePack of the cache and snapshots, recognizing bytes of another format."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from resolver.catalog.store.cache import ODD

__all__ = ["ODD", "reader"]

T = TypeVar("T")


def reader(decode: Callable[[bytes], T]) -> Callable[[bytes], T | None]:
    """`decode`, but None for bytes of another format: an entry written by another version counts as absent."""

    def read(content: bytes) -> T | None:
        try:
            return decode(content)
        except ODD:
            return None

    return read
