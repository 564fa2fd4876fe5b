"""Sentences about the day of a lock, and the pins that appeared after it."""

from __future__ import annotations

from collections.abc import Iterator

from resolver.model.as_of import AUTO, NewerPin
from resolver.model.lock import Lock
from resolver.model.message import Message, first_of, joined, message

_NAMED = 5  # pins without a day that are named


def as_of_sentences(lock: Lock) -> Iterator[Message]:
    """Yield what people are told of a lock's day: the day and why, pins that are newer, and pins without a day."""
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
        yield message(
            "as-of.newer", day=as_of.day, pins=joined("comma", map(_newer_pin, lock.newer))
        )


def _newer_pin(row: NewerPin) -> Message:
    pin = f"{row.project} {row.version}"
    if row.needed_by:
        needed_by = joined(
            "comma", [message("as-of.stack") if by == "stack" else by for by in row.needed_by]
        )
        return message("as-of.needed", pin=pin, by=needed_by)
    if row.is_kept:
        return message("as-of.kept", pin=pin)
    return message("as-of.fits", pin=pin)
