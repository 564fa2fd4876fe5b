"""What can have changed upstream of a lock, and how long ago its facts were checked.

Today is a parameter: nothing here reads a clock.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from enum import Enum
from typing import Final

import msgspec
from packaging.utils import NormalizedName

from resolver.model.release import QUARANTINED

DAYS: Final = 180
_ZONES: Final = 1  # days by which it may be later elsewhere


class Pin(msgspec.Struct, frozen=True):
    """A locked release. `index` is the one that the lock names."""

    project: NormalizedName
    version: str
    index: str


class _Of(msgspec.Struct, frozen=True, kw_only=True):
    pin: Pin


class Scope(Enum):
    """How much is gone."""

    PROJECT = "project"
    RELEASE = "release"
    FILE = "file"


class Yanked(_Of, frozen=True, kw_only=True):
    """Files that have been yanked since (PEP 592). `reason` may be empty."""

    files: tuple[str, ...]
    reason: str


class Restored(_Of, frozen=True, kw_only=True):
    """Files that were yanked when they were locked, and no longer are."""


class Rehashed(_Of, frozen=True, kw_only=True):
    """A file with the same name and different content."""

    file: str
    locked: str
    offered: str


class Twofold(_Of, frozen=True, kw_only=True):
    """A file that the index lists a second time, with another hash."""

    file: str


class Gone(_Of, frozen=True, kw_only=True):
    """Files that are no longer offered; `needed` tells whether the one that pip takes is among them."""

    scope: Scope
    files: tuple[str, ...]
    needed: bool


class Marked(_Of, frozen=True, kw_only=True):
    """A project that the index marks as other than active (PEP 792)."""

    status: str
    reason: str


Change = Yanked | Restored | Rehashed | Twofold | Gone | Marked


def is_grave(change: Change) -> bool:
    """Whether somebody should decide before the lock is installed again. PEP 792 calls quarantined projects unsafe."""
    match change:
        case Yanked() | Rehashed() | Twofold():
            return True
        case Gone():
            return change.needed
        case Marked():
            return change.status == QUARANTINED
        case Restored():
            return False


class Old(msgspec.Struct, frozen=True):
    """A fact that was checked long ago."""

    id: str
    checked: dt.date


def is_to_come(checked: dt.date, today: dt.date) -> bool:
    """Whether a fact says that it was checked on a day that nobody has seen: it would never grow old."""
    return (checked - today).days > _ZONES


def older(facts: Iterable[tuple[str, dt.date]], today: dt.date, days: int) -> tuple[Old, ...]:
    """Facts checked more than `days` ago, the oldest first."""
    found = (Old(fact, checked) for fact, checked in facts if (today - checked).days > days)
    return tuple(sorted(found, key=lambda old: (old.checked, old.id)))
