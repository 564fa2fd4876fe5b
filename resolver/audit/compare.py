"""Compare a lock with what its indexes offer now, for the command `check`.

The day of today is a parameter: nothing here reads a clock.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping, Sequence
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

# Facts that were checked more days ago are reported, unless a user says otherwise.
DAYS: Final = 180
# How much the index no longer offers: a whole project, a release, or single files.
Scope = Literal["project", "release", "file"]


class _Change(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag=str.lower):
    """A difference between a locked release and what its index offers now."""

    # The normalized name of the project.
    project: str
    # The locked version.
    version: str
    # The index that the lock names.
    index: str


class Yanked(_Change, frozen=True, kw_only=True):
    """Files have been yanked since the release was locked (PEP 592)."""

    # The names of the yanked files.
    files: tuple[str, ...]
    # The reason on the page; empty if it has none.
    reason: str


class Unyanked(_Change, frozen=True, kw_only=True, tag="restored"):
    """Files were yanked when the release was locked, and are no longer yanked."""


class Rehashed(_Change, frozen=True, kw_only=True):
    """The index offers a file with the same name and another hash."""

    # The name of the file.
    file: str
    # The sha256 in the lock.
    locked: str
    # The sha256 on the page.
    offered: str


class DuplicateFile(_Change, frozen=True, kw_only=True, tag="twofold"):
    """The index lists a file a second time, with another hash."""

    # The name of the file.
    file: str


class Gone(_Change, frozen=True, kw_only=True):
    """The index no longer offers files of the release."""

    # How much is gone.
    scope: Scope
    # The names of the files that are gone.
    files: tuple[str, ...]
    # Whether the file that pip takes is among them.
    needed: bool


class Marked(_Change, frozen=True, kw_only=True):
    """The index gives the project a status other than active (PEP 792)."""

    # The status on the page.
    status: str
    # The reason on the page; empty if it has none.
    reason: str


Change = Yanked | Unyanked | Rehashed | DuplicateFile | Gone | Marked


def is_grave(change: Change) -> bool:
    """Return whether a change must be looked at before the lock is installed again.

    PEP 792 says that projects in quarantine are unsafe.
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
    """Return the facts of a lock that were checked more than `days` ago, the oldest first."""
    old = [fact for fact in lock.fact if _age(fact, today) > days]
    return sorted(old, key=lambda fact: (fact.checked, fact.id))


def _age(fact: LockedFact, today: dt.date) -> int:
    """Return how many days ago a fact was checked."""
    return (today - dt.date.fromisoformat(fact.checked)).days


class OutOfReach(msgspec.Struct, frozen=True):
    """An index that did not answer for some projects of a lock."""

    # The name of the index.
    index: str
    # The projects that could not be looked up.
    projects: tuple[NormalizedName, ...]
    # The error, in English.
    why: str


class NewerRelease(msgspec.Struct, frozen=True, kw_only=True):
    """An installed project with a newer final release than the pinned one."""

    # The name of the project.
    project: NormalizedName
    # The pinned version.
    version: str
    # The newest final version that is not yanked, on the index that the lock names. Whether the
    # other pins admit it is not checked.
    newest: str
    # Whether a line of the stack names the project.
    is_requested: bool


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """The result of comparing a lock with what its indexes offer now."""

    # Each change once.
    changes: tuple[Change, ...]
    # The number of files that were compared.
    files: int
    # The number of these files without a hash on their page.
    unhashed: int
    # The projects from git, which are not compared.
    sources: tuple[NormalizedName, ...]
    # The indexes that did not answer. Their projects were not compared.
    out_of_reach: tuple[OutOfReach, ...]
    # The installed projects with newer releases.
    newer: tuple[NewerRelease, ...] = ()


def pins_of(lock: Lock) -> tuple[LockedPin, ...]:
    """Return the pins of a lock and of its build environments, each file once."""
    pins: dict[tuple[str, str, str], LockedPin] = {}
    for pin in (*lock.pin, *lock.build_pin):
        file = pin.file[0].name if pin.file else ""
        pins.setdefault((pin.name, pin.version, file), pin)
    return tuple(pins.values())


def locked_indexes(lock: Lock, indexes: Indexes) -> Indexes:
    """Return the indexes, with each project bound only to its indexes in the lock."""
    names: dict[NormalizedName, dict[str, None]] = {}
    for pin in pins_of(lock):
        if pin.file:
            names.setdefault(canonicalize_name(pin.name), {})[pin.index] = None
    bindings = tuple(
        Binding(packages=(project,), indexes=tuple(bound), take="all", unreachable="fail")
        for project, bound in names.items()
    )
    return Indexes(indexes=indexes.indexes, bindings=bindings, own_only=True)


def compare(lock: Lock, catalog: Catalog) -> Compared:
    """Return the differences between the files of a lock and what their indexes offer now.

    The catalog must have the bindings of `locked_indexes`. An index that fails is part of the
    result.
    """
    pins = pins_of(lock)
    with_files = [pin for pin in pins if pin.file]
    prefetch_pins(with_files, catalog)
    pages: list[tuple[LockedPin, Page | None]] = []
    failed: dict[tuple[str, str], dict[NormalizedName, None]] = {}
    for pin in with_files:
        try:
            pages.append((pin, page_of(pin, catalog)))
        except ResolverError as error:
            why = error.why or error.message
            projects = failed.setdefault((pin.index, why), {})
            projects[canonicalize_name(pin.name)] = None
    changes: dict[Change, None] = {}
    unhashed = 0
    for pin, page in pages:
        offered = files_by_name(page)
        unhashed += _count_unhashed(pin, offered)
        changes |= dict.fromkeys(_changes(pin, page, offered))
    return Compared(
        changes=tuple(changes),
        files=sum(len(pin.file) for pin, _ in pages),
        unhashed=unhashed,
        sources=tuple(canonicalize_name(pin.name) for pin in pins if not pin.file),
        out_of_reach=tuple(
            OutOfReach(index, tuple(projects), why) for (index, why), projects in failed.items()
        ),
        newer=_newer_releases(lock, pages),
    )


def _count_unhashed(pin: LockedPin, offered: Mapping[str, Sequence[File]]) -> int:
    """Return how many files of a pin have no hash on the page of the index."""
    there = [file.name for file in pin.file if file.name in offered]
    return sum(not offered[name][-1].sha256 for name in there)


def _newer_releases(
    lock: Lock, pages: Iterable[tuple[LockedPin, Page | None]]
) -> tuple[NewerRelease, ...]:
    """Return the installed projects with newer final releases than the pinned ones."""
    # A build may pin another version of a project than the one that is installed.
    installed = {(pin.name, pin.version) for pin in lock.pin}
    newer: dict[NormalizedName, NewerRelease] = {}
    for pin, page in pages:
        if page is None or (pin.name, pin.version) not in installed:
            continue
        newest = _newest(page)
        if newest is not None and newest > Version(pin.version):
            project = canonicalize_name(pin.name)
            newer[project] = NewerRelease(
                project=project,
                version=pin.version,
                newest=str(newest),
                is_requested=pin.name in lock.requested_projects,
            )
    return tuple(newer.values())


def _newest(page: Page) -> Version | None:
    """Return the newest final release on a page that has a file which is not yanked.

    None if the page has no such release.
    """
    versions = []
    for spelled, files in page.releases.items():
        version = text.version(spelled)
        if version is None or version.is_prerelease:
            continue
        if any(file.yanked is None for file in files):
            versions.append(version)
    return max(versions, default=None)


def _changes(
    pin: LockedPin, page: Page | None, offered: Mapping[str, Sequence[File]]
) -> Iterator[Change]:
    """Yield the changes of one pin.

    `page` is None if the index no longer has the project. `offered` has the files on it by their
    name.
    """
    release = {"project": canonicalize_name(pin.name), "version": pin.version, "index": pin.index}
    if page is not None and page.project_status.status != ACTIVE.status:
        mark = page.project_status
        yield Marked(**release, status=mark.status, reason=mark.reason)
    gone = tuple(file.name for file in pin.file if file.name not in offered)
    if gone:
        needed = pin.file[0].name in gone
        yield Gone(**release, scope=_scope(pin, page), files=gone, needed=needed)
    there = [file for file in pin.file if file.name in offered]
    for file in there:
        hashes = {copy.sha256 for copy in offered[file.name]}
        if file.sha256 not in hashes and "" not in hashes:
            yield Rehashed(**release, file=file.name, locked=file.sha256, offered=min(hashes))
        elif file.sha256 in hashes and len(hashes) > 1:
            yield DuplicateFile(**release, file=file.name)
    yanked = {}
    for file in there:
        reason = offered[file.name][-1].yanked
        if reason is not None:
            yanked[file.name] = reason
    if yanked and pin.yanked is None:
        reasons = [reason for reason in yanked.values() if reason]
        yield Yanked(**release, files=tuple(yanked), reason=reasons[0] if reasons else "")
    elif pin.yanked is not None and not yanked and not gone:
        yield Unyanked(**release)


def _scope(pin: LockedPin, page: Page | None) -> Scope:
    """Return how much the index no longer offers of a pin of which files are gone."""
    if page is None:
        return "project"
    versions = map(text.version, page.releases)
    return "file" if text.version(pin.version) in versions else "release"
