"""MessagePack as the cache and snapshots store it, read back: what is of another shape is told from what is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import msgspec

T = TypeVar("T")

# What msgspec raises for bytes of another shape; not all of it is its own.
ODD = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def reader(decode: Callable[[bytes], T]) -> Callable[[bytes], T | None]:
    """`decode`, with None for bytes of another shape: an entry that another version wrote counts as absent."""

    def read(content: bytes) -> T | None:
        try:
            return decode(content)
        except ODD:
            return None

    return read
