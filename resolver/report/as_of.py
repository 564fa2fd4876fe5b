"""State the day of a lock, and the pins that are newer, as sentences.

The day of a lock is the day whose releases it prefers (docs/solving.md).
"""

from __future__ import annotations

from collections.abc import Iterator

from resolver.model.as_of import AUTO, NewerPin
from resolver.model.lock import Lock
from resolver.model.message import Message, first_of, joined, message

# How many pins without an upload date are named.
_NAMED = 5


def as_of_sentences(lock: Lock, *, in_short: bool = False) -> Iterator[Message]:
    """Yield the sentences about the day of a lock.

    They say which day it is and why, which pins have no upload date, and which pins are newer. With
    `in_short`, only newer pins that lines of the stack name are listed, and the others are counted.
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
        pins = _in_short(lock) if in_short else joined("comma", map(_newer_pin, lock.newer))
        yield message("as-of.newer", day=as_of.day, pins=pins)


def _in_short(lock: Lock) -> Message:
    """Return the newer pins that lines of the stack name, and how many others there are."""
    requested = [pin for pin in lock.newer if pin.project in lock.requested_projects]
    listed = joined("comma", map(_newer_pin, requested))
    others = len(lock.newer) - len(requested)
    if not others:
        return listed
    if not requested:
        return message("as-of.newer-count", count=others)
    return message("as-of.newer-others", pins=listed, count=others)


def _newer_pin(pin: NewerPin) -> Message:
    """Return a pin that is newer than the day, with the reason why it was taken."""
    release = f"{pin.project} {pin.version}"
    if pin.needed_by:
        stack = message("as-of.stack")
        dependents = [stack if name == "stack" else name for name in pin.needed_by]
        return message("as-of.needed", pin=release, by=joined("comma", dependents))
    if pin.is_kept:
        return message("as-of.kept", pin=release)
    return message("as-of.fits", pin=release)
