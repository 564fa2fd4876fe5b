"""A container image that brings CANN and Python, and what a lock must ask for to be installed on it."""

from __future__ import annotations

import msgspec


class Image(msgspec.Struct, frozen=True, kw_only=True):
    """`name` with registry and tag. `cann`, `soc` and `python` as targets state them, `glibc` as `2.35`."""

    name: str
    cann: str
    soc: str
    python: str
    glibc: str
    source: str
