"""Sentences about the day of a lock, and the pins that appeared after it."""

from __future__ import annotations

from collections.abc import Iterator

from resolver.model.as_of import AUTO, NewerPin
from resolver.model.lock import Lock
from resolver.model.message import Message, first_of, joined, message

# The most pins without a day that are named.
_NAMED = 5


def as_of_sentences(lock: Lock) -> Iterator[Message]:
    """Yield sentences about the day of a lock.

    They say which day it is and why, which pins have no day, and which are newer.
    """
    as_of = lock.as_of
    if as_of.latest is not None:
        latest = f"{as_of.latest.project} {as_of.latest.version}"
        yield message("as-of.auto", day=as_of.day, latest=latest, uploaded=as_of.latest.day)
    elif as_of.day:
        yield message("as-of.day", day=as_of.day)
    elif as_of.policy == AUTO and as_of.undated:
        yield message("as-of.unknown", names=as_of.undated)
    elif as_of.policy == AUTO:
        yield message("as-of.open")
    if as_of.day and as_of.undated:
        yield message("as-of.undated", names=first_of(as_of.undated, _NAMED))
    if lock.newer:
        pins = joined("comma", map(_newer_pin, lock.newer))
        yield message("as-of.newer", day=as_of.day, pins=pins)


def _newer_pin(row: NewerPin) -> Message:
    pin = f"{row.project} {row.version}"
    if row.needed_by:
        stack = message("as-of.stack")
        dependents = [stack if name == "stack" else name for name in row.needed_by]
        return message("as-of.needed", pin=pin, by=joined("comma", dependents))
    if row.is_kept:
        return message("as-of.kept", pin=pin)
    return message("as-of.fits", pin=pin)
