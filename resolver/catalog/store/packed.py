"""Reading MessagePack of the cache and snapshots, recognizing bytes of another format."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import msgspec

T = TypeVar("T")

# What msgspec raises for bytes of another format; not all of it is its own.
ODD = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def reader(decode: Callable[[bytes], T]) -> Callable[[bytes], T | None]:
    """`decode`, but None for bytes of another format: an entry written by another version counts as absent."""

    def read(content: bytes) -> T | None:
        try:
            return decode(content)
        except ODD:
            return None

    return read
