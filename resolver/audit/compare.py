"""A lock compared with what its indexes offer today, and how long ago its facts were checked.

Today is a parameter: nothing here reads a clock.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal

import msgspec
from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

from resolver.errors import ResolverError
from resolver.index.locked_files import files_by_name, page_of, prefetch_pins
from resolver.index.protocol import Catalog
from resolver.model import text
from resolver.model.lock import Lock, LockedFact, LockedPin
from resolver.model.problem import Binding, Indexes
from resolver.model.release import ACTIVE, QUARANTINED, File, Page

DAYS: Final = 180
Scope = Literal["project", "release", "file"]


class _Change(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag=str.lower):
    """What happened to a locked release. `index` is the one that the lock names."""

    project: str
    version: str
    index: str


class Yanked(_Change, frozen=True, kw_only=True):
    """Files that have been yanked since (PEP 592). `reason` may be empty."""

    files: tuple[str, ...]
    reason: str


class Unyanked(_Change, frozen=True, kw_only=True, tag="restored"):
    """Files that were yanked when they were locked, and no longer are."""


class Rehashed(_Change, frozen=True, kw_only=True):
    """A file with the same name and different content."""

    file: str
    locked: str
    offered: str


class DuplicateFile(_Change, frozen=True, kw_only=True, tag="twofold"):
    """A file that the index lists a second time, with another hash."""

    file: str


class Gone(_Change, frozen=True, kw_only=True):
    """Files that are no longer offered.

    `scope`: how much is gone; `needed`: the file that pip takes is among them.
    """

    scope: Scope
    files: tuple[str, ...]
    needed: bool


class Marked(_Change, frozen=True, kw_only=True):
    """A project that the index marks as other than active (PEP 792)."""

    status: str
    reason: str


Change = Yanked | Unyanked | Rehashed | DuplicateFile | Gone | Marked


def is_grave(change: Change) -> bool:
    """Whether to decide about it before the lock is installed again.

    PEP 792 calls quarantined projects unsafe.
    """
    match change:
        case Yanked() | Rehashed() | DuplicateFile():
            return True
        case Gone():
            return change.needed
        case Marked():
            return change.status == QUARANTINED
        case Unyanked():
            return False


def old_facts(lock: Lock, today: dt.date, days: int) -> list[LockedFact]:
    """The facts of a lock that were checked more than `days` ago, the oldest first."""
    old = (fact for fact in lock.fact if (today - dt.date.fromisoformat(fact.checked)).days > days)
    return sorted(old, key=lambda fact: (fact.checked, fact.id))


class OutOfReach(msgspec.Struct, frozen=True):
    """An index that did not answer for these projects, and why."""

    index: str
    projects: tuple[NormalizedName, ...]
    why: str


class NewerRelease(msgspec.Struct, frozen=True, kw_only=True):
    """The newest final release of a project that is installed, where that is newer than the pin."""

    # the normalised name, and the pinned version
    project: NormalizedName
    version: str
    # the newest version on the index that the lock names, not yanked; whether anything else admits
    # it is not looked at
    newest: str
    # whether a line of the stack names the project
    is_requested: bool


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """The result: the number of `files`, and of those `unhashed` on their page; `sources` are projects from git.

    `newer` are the pins of which there are newer releases by now.
    """

    changes: tuple[Change, ...]
    files: int
    unhashed: int
    sources: tuple[NormalizedName, ...]
    out_of_reach: tuple[OutOfReach, ...]
    newer: tuple[NewerRelease, ...] = ()


def pins_of(lock: Lock) -> tuple[LockedPin, ...]:
    """The pins that are installed and those that build them, each file once."""
    pins: dict[tuple[str, str, str], LockedPin] = {}
    for pin in (*lock.pin, *lock.build_pin):
        pins.setdefault((pin.name, pin.version, pin.file[0].name if pin.file else ""), pin)
    return tuple(pins.values())


def locked_indexes(lock: Lock, indexes: Indexes) -> Indexes:
    """The same indexes, with each project bound only to those that the lock names for it."""
    names: dict[str, dict[str, None]] = {}
    for pin in pins_of(lock):
        if pin.file:
            names.setdefault(canonicalize_name(pin.name), {})[pin.index] = None
    bindings = (
        Binding(packages=(project,), indexes=tuple(of_project), take="all", unreachable="fail")
        for project, of_project in names.items()
    )
    return Indexes(indexes=indexes.indexes, bindings=tuple(bindings), own_only=True)


def compare(lock: Lock, catalog: Catalog) -> Compared:
    """Compare every file of a lock with its index; `catalog` must have the bindings of `locked_indexes`."""
    pins = pins_of(lock)
    served = [pin for pin in pins if pin.file]
    prefetch_pins(served, catalog)
    changes: list[Change] = []
    failed: dict[tuple[str, str], list[NormalizedName]] = {}
    newer: list[NewerRelease] = []
    installed = {pin.name for pin in lock.pin}
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
        unhashed += sum(
            offered[file.name][-1].sha256 == "" for file in pin.file if file.name in offered
        )
        changes += _changes(pin, page, offered)
        newest = _newest(page)
        if pin.name in installed and newest is not None and newest > Version(pin.version):
            is_requested = pin.name in lock.requested_projects
            newer.append(
                NewerRelease(
                    project=name, version=pin.version, newest=str(newest), is_requested=is_requested
                )
            )
    return Compared(
        changes=tuple(dict.fromkeys(changes)),
        files=files,
        unhashed=unhashed,
        sources=tuple(canonicalize_name(pin.name) for pin in pins if not pin.file),
        out_of_reach=tuple(
            OutOfReach(index, tuple(dict.fromkeys(names)), why)
            for (index, why), names in failed.items()
        ),
        newer=tuple({row.project: row for row in newer}.values()),
    )


def _newest(page: Page | None) -> Version | None:
    """Return the newest final release on a page that has a file which is not yanked."""
    newest = None
    for spelled, files in page.releases.items() if page is not None else ():
        version = text.version(spelled)
        if (
            version is None
            or version.is_prerelease
            or all(file.yanked is not None for file in files)
        ):
            continue
        if newest is None or version > newest:
            newest = version
    return newest


def _changes(
    pin: LockedPin, page: Page | None, offered: Mapping[str, Sequence[File]]
) -> Iterator[Change]:
    release = {"project": canonicalize_name(pin.name), "version": pin.version, "index": pin.index}
    if page is not None and page.project_status.status != ACTIVE.status:
        yield Marked(
            **release, status=page.project_status.status, reason=page.project_status.reason
        )
    gone = tuple(file.name for file in pin.file if file.name not in offered)
    if gone:
        versions = () if page is None else map(text.version, page.releases)
        scope: Scope = (
            "project"
            if page is None
            else "file"
            if text.version(pin.version) in versions
            else "release"
        )
        yield Gone(**release, scope=scope, files=gone, needed=pin.file[0].name in gone)
    for file in pin.file:
        hashes = {copy.sha256 for copy in offered.get(file.name, ())} or {file.sha256}
        if len(hashes) > 1 and file.sha256 in hashes:
            yield DuplicateFile(**release, file=file.name)
        elif not hashes & {"", file.sha256}:
            yield Rehashed(**release, file=file.name, locked=file.sha256, offered=min(hashes))
    yanked = {
        file.name: reason
        for file in pin.file
        if file.name in offered and (reason := offered[file.name][-1].yanked) is not None
    }
    if yanked and pin.yanked is None:
        yield Yanked(**release, files=tuple(yanked), reason=next(filter(None, yanked.values()), ""))
    elif pin.yanked is not None and not yanked and not gone:
        yield Unyanked(**release)
