"""How long ago facts were checked. Today is a parameter: nothing here reads a clock."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from typing import Final

import msgspec

DAYS: Final = 180
_ZONES: Final = 1  # days by which it may be later elsewhere


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
