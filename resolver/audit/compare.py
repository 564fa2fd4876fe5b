"""A lock compared with what its indexes offer today, and how long ago its facts were checked.

Today is a parameter: nothing here reads a clock.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Final

import msgspec
from packaging.utils import NormalizedName, canonicalize_name

from resolver.errors import ResolverError
from resolver.index.locked_files import expect_pins, files_by_name, page_of
from resolver.index.protocol import Catalog
from resolver.model import text
from resolver.model.lock import Lock, LockedPin
from resolver.model.problem import Binding, Indexes
from resolver.model.release import ACTIVE, QUARANTINED, File, Page

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


class OutOfReach(msgspec.Struct, frozen=True):
    """An index that did not answer for these projects, and why."""

    index: str
    projects: tuple[NormalizedName, ...]
    why: str


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """The result. `files` were looked up, `unhashed` of them have no hash on their page, `sources` are from git."""

    changes: tuple[Change, ...]
    files: int
    unhashed: int
    sources: tuple[NormalizedName, ...]
    out_of_reach: tuple[OutOfReach, ...]


def pins_of(lock: Lock) -> tuple[LockedPin, ...]:
    """The pins that are installed and those that build them, each file once."""
    seen: dict[tuple[str, str, str], LockedPin] = {}
    for pin in (*lock.pin, *lock.build_pin):
        seen.setdefault((pin.name, pin.version, pin.file[0].name if pin.file else ""), pin)
    return tuple(seen.values())


def as_locked(lock: Lock, indexes: Indexes) -> Indexes:
    """The same indexes, with each project bound only to those that the lock names for it."""
    named: dict[str, list[str]] = {}
    for pin in pins_of(lock):
        if pin.file and pin.index not in named.setdefault(canonicalize_name(pin.name), []):
            named[canonicalize_name(pin.name)].append(pin.index)
    bindings = (
        Binding(packages=(name,), indexes=tuple(rows), take="all", unreachable="fail") for name, rows in named.items()
    )
    return Indexes(indexes=indexes.indexes, bindings=tuple(bindings), own=True)


def compare(lock: Lock, catalog: Catalog) -> Compared:
    """Compare every file of a lock with its index; `catalog` must have the bindings of `as_locked`."""
    pins = pins_of(lock)
    served = [pin for pin in pins if pin.file]
    expect_pins(served, catalog)
    changes: list[Change] = []
    failed: dict[tuple[str, str], list[NormalizedName]] = {}
    files = unhashed = 0
    for pin in served:
        name = canonicalize_name(pin.name)
        try:
            page = page_of(pin, catalog)
        except ResolverError as error:
            failed.setdefault((pin.index, error.why or error.message), []).append(name)
            continue
        offered = files_by_name(page)
        files += len(pin.file)
        unhashed += sum(offered[file.name][-1].sha256 == "" for file in pin.file if file.name in offered)
        changes += _changes(pin, page, offered)
    return Compared(
        changes=tuple(dict.fromkeys(changes)),
        files=files,
        unhashed=unhashed,
        sources=tuple(canonicalize_name(pin.name) for pin in pins if not pin.file),
        out_of_reach=tuple(
            OutOfReach(index, tuple(dict.fromkeys(names)), why) for (index, why), names in failed.items()
        ),
    )


def _changes(pin: LockedPin, page: Page | None, offered: Mapping[str, Sequence[File]]) -> Iterator[Change]:
    of = Pin(canonicalize_name(pin.name), pin.version, pin.index)
    if page is not None and page.project_status.status != ACTIVE.status:
        yield Marked(pin=of, status=page.project_status.status, reason=page.project_status.reason)
    lost = tuple(file.name for file in pin.file if file.name not in offered)
    if lost:
        yield Gone(pin=of, scope=_scope(pin, page), files=lost, needed=pin.file[0].name in lost)
    for file in pin.file:
        known = {one.sha256 for one in offered.get(file.name, ())} or {file.sha256}
        if len(known) > 1 and file.sha256 in known:
            yield Twofold(pin=of, file=file.name)
        elif not known & {"", file.sha256}:
            yield Rehashed(pin=of, file=file.name, locked=file.sha256, offered=min(known))
    yanked = {
        file.name: reason
        for file in pin.file
        if file.name in offered and (reason := offered[file.name][-1].yanked) is not None
    }
    if yanked and pin.yanked is None:
        yield Yanked(pin=of, files=tuple(yanked), reason=next((reason for reason in yanked.values() if reason), ""))
    elif pin.yanked is not None and not yanked and not lost:
        yield Restored(pin=of)


def _scope(pin: LockedPin, page: Page | None) -> Scope:
    """How much is gone with a file: its project, its release, or only the file."""
    if page is None:
        return Scope.PROJECT
    there = any(text.version(version) == text.version(pin.version) for version in page.releases)
    return Scope.FILE if there else Scope.RELEASE
