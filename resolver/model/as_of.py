"""The day that a lock is of: releases uploaded by then are preferred to later ones."""

from __future__ import annotations

import datetime as dt
from typing import Final

import msgspec
from packaging.utils import NormalizedName

AUTO: Final = "auto"
NEWEST: Final = "newest"


def read_as_of(value: str | dt.date) -> str:
    """Return `auto`, `newest` or a day in ISO 8601. Raises ValueError for anything else."""
    if isinstance(value, dt.datetime):
        raise ValueError("it is a day, without a time")
    if isinstance(value, dt.date):
        return value.isoformat()
    if value in (AUTO, NEWEST):
        return value
    try:
        return dt.datetime.strptime(value, "%Y-%m-%d").date().isoformat()
    except ValueError:
        raise ValueError(
            f"`{value}` is neither a day such as 2026-03-01 nor `auto` or `newest`"
        ) from None


class DatedRelease(msgspec.Struct, frozen=True, kw_only=True, rename="kebab", omit_defaults=True):
    """A release and the day on which it appeared."""

    # the normalised name of the project
    project: NormalizedName
    # as the index has it, or the version of a commit
    version: str
    # of the upload of its first file, or of the commit; ISO 8601, in UTC
    day: str


class AsOf(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    rename="kebab",
    omit_defaults=True,
    forbid_unknown_fields=True,
):
    """The day of a lock, and what it follows from."""

    # what the stack or the command line says: `auto`, `newest` or a day
    policy: str
    # the last day whose releases are preferred, in ISO 8601; empty if the newest releases are
    day: str = ""
    # with `auto`, the last release to appear of those that the stack pins; None if it pins none
    # with a known day
    latest: DatedRelease | None = None
    # the pins for which no day is known; without a day of the lock, those of them that the stack
    # names
    undated: tuple[NormalizedName, ...] = ()


class NewerPin(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    rename="kebab",
    omit_defaults=True,
    forbid_unknown_fields=True,
):
    """A pin that appeared after the day of its lock."""

    # the pin and its day
    project: NormalizedName
    version: str
    day: str
    # what does not admit the newest release of that day: releases as `name version`, or `stack`;
    # empty if nothing does so by itself, or no release of that day can be used
    needed_by: tuple[str, ...] = ()
    # whether it is only there because the previous lock has it
    is_kept: bool = False
