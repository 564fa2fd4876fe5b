"""A container image that brings CANN and Python, and what a lock must ask for to be installed on it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """`name` with registry and tag. `cann`, `soc` and `python` as targets state them, `glibc` as `2.35`."""

    name: str
    cann: str
    soc: str
    python: str
    glibc: str
    source: str
