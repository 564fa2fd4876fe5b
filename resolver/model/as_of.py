"""The day of a lock: releases uploaded by the end of that day are preferred to later ones.

docs/solving.md ("A lock is of its time") says how the day is found.
"""

from __future__ import annotations

import datetime as dt
from typing import Final

import msgspec
from packaging.utils import NormalizedName

from resolver.phrase import phrase

# The policy whose day follows from the releases that the stack pins.
AUTO: Final = "auto"
# The policy without a day: the newest releases are preferred.
NEWEST: Final = "newest"


def read_as_of(value: str | dt.date) -> str:
    """Return `auto`, `newest` or a day in ISO 8601; raise ValueError for anything else."""
    if isinstance(value, dt.datetime):
        raise ValueError(phrase("it is a day, without a time"))
    if isinstance(value, dt.date):
        return value.isoformat()
    if value in (AUTO, NEWEST):
        return value
    try:
        return dt.datetime.strptime(value, "%Y-%m-%d").date().isoformat()
    except ValueError:
        raise ValueError(
            phrase(
                "`{value}` is neither a day such as 2026-03-01 nor `auto` or `newest`", value=value
            )
        ) from None


class DatedRelease(msgspec.Struct, frozen=True, kw_only=True, rename="kebab", omit_defaults=True):
    """A release, and the day on which it was uploaded, or committed."""

    # The project of the release.
    project: NormalizedName
    # The version as the index has it, or the version of a commit.
    version: str
    # The day on which its first file was uploaded, or the day of the commit; ISO 8601, in UTC.
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

    # What the stack or the command line says: `auto`, `newest` or a day.
    policy: str
    # The last day whose releases are preferred, in ISO 8601; empty if the newest are preferred.
    day: str = ""
    # With `auto`, the release that appeared last among the releases that decide the day; None if
    # the day of none of them is known.
    latest: DatedRelease | None = None
    # The pins for which no day is known. If the lock has no day, only pins that the stack names.
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

    # The project of the pin.
    project: NormalizedName
    # The version of the pin.
    version: str
    # The day on which it appeared, in ISO 8601.
    day: str
    # What excludes the newest release of the lock's day: pins as `name version`, or `stack`. Empty
    # if only several together exclude it, or if no release of that day can be used.
    needed_by: tuple[str, ...] = ()
    # Whether it was chosen only because the previous lock has it.
    is_kept: bool = False
