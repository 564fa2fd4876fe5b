"""Recordings of what indexes answer, which become snapshots.

A recording is compact and has no addresses: these, and whatever no target could use, are left out.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable
from itertools import product
from typing import Final, TypeVar

from msgspec.structs import replace
from packaging.utils import NormalizedName

from resolver.index.host_names import without_addresses, without_urls
from resolver.index.parse.address import NOWHERE
from resolver.index.parse.distribution import expand_tags, upload_time, wheel_parts
from resolver.index.protocol import Catalog, CatalogWrapper, Lookup, UnusableFile
from resolver.index.snapshot import RecordedPage, RecordedProject, Snapshot, key_of
from resolver.index.store.linkage_readings import ShippedLinkage
from resolver.model.linkage import Linkage
from resolver.model.release import Archive, CoreMetadata, File, Page, RejectionReason
from resolver.model.target import PLATFORMS, Target
from resolver.model.variant import VariantTable

# Besides the Pythons of the targets.
PYTHONS: Final = ("3.10", "3.11", "3.12", "3.13")

K = TypeVar("K")
T = TypeVar("T")


class Recording:
    """The answers of indexes while a stack is locked for its targets, without addresses.

    Files that no CPython of PYTHONS, or of a target, on any supported platform could use are left
    out, except for one if a release has no other.
    """

    def __init__(self, targets: Iterable[Target]) -> None:
        pythons = set(PYTHONS)
        for target in targets:
            pythons.add(".".join(map(str, target.python_line)))
        tags: set[str] = set()
        for python, platform in product(pythons, PLATFORMS):
            tags.update(Target(name="", python=python, platform=platform, glibc=(2, 99)).tags)
        self._tags = frozenset(tags)
        # In the forms that the fields of `Snapshot` have.
        self.projects: dict[NormalizedName, RecordedProject] = {}
        self.metadata: dict[str, CoreMetadata | str] = {}
        self.archives: dict[str, Archive | str] = {}
        self.hashed: dict[str, tuple[str, int | None]] = {}
        self.linkage: dict[str, Linkage | str] = {}
        # By key of the archive and path.
        self.members: dict[tuple[str, str], tuple[str] | str] = {}

    def add(self, project: NormalizedName, platform: str, lookup: Lookup) -> None:
        """Record the first answer of a project for a platform."""
        recorded = self.projects.setdefault(project, RecordedProject([], []))
        if any(known_platform == platform for known_platform, _, _ in recorded.answers):
            return
        positions = []
        for page in lookup.pages:
            recorded_page = _recorded_page(page, self._tags)
            if recorded_page not in recorded.pages:
                recorded.pages.append(recorded_page)
            positions.append(recorded.pages.index(recorded_page))
        recorded.answers.append((platform, tuple(positions), lookup.unreachable))

    def snapshot(self, stack: str, date: dt.date) -> Snapshot:
        """Return everything recorded so far; `date` is the day of the recording."""
        members = []
        for (key, path), member in sorted(self.members.items()):
            members.append((key, path, member))
        return Snapshot(
            stack,
            date,
            self.projects,
            self.metadata,
            self.archives,
            members,
            self.hashed,
            self.linkage,
        )


class RecordingCatalog(CatalogWrapper):
    """Records the answers of another catalog for one platform.

    A file that is unusable is an answer; a failure of an index is not. What is prefetched is
    recorded when it is requested. Linkage in `shipped` is not recorded.
    """

    def __init__(
        self,
        inner: Catalog,
        platform: str,
        recording: Recording,
        shipped: ShippedLinkage | None = None,
    ) -> None:
        super().__init__(inner)
        self._platform = platform
        self._recording = recording
        self._shipped = shipped or ShippedLinkage(None)

    def lookup(self, project: NormalizedName) -> Lookup:
        lookup = self.inner.lookup(project)
        self._recording.add(project, self._platform, lookup)
        return lookup

    def metadata(self, file: File) -> CoreMetadata:
        return _recorded(
            self._recording.metadata,
            key_of(file),
            lambda: self.inner.metadata(file),
            _clean_metadata,
        )

    def archive(self, file: File) -> Archive:
        return _recorded(
            self._recording.archives,
            key_of(file),
            lambda: self.inner.archive(file),
            _clean_archive,
        )

    def member(self, file: File, path: str) -> str:
        member = _recorded(
            self._recording.members,
            (key_of(file), path),
            lambda: (self.inner.member(file, path),),
            _clean_member,
        )
        return member[0]

    def sha256(self, file: File) -> File:
        hashed = self.inner.sha256(file)
        if not file.sha256:
            self._recording.hashed[file.filename] = hashed.sha256, hashed.size
        return hashed

    def linkage(self, file: File) -> Linkage | None:
        return self._recorded_linkage(file, self.inner.linkage)

    def known_linkage(self, file: File) -> Linkage | None:
        return self._recorded_linkage(file, self.inner.known_linkage)

    def _recorded_linkage(
        self, file: File, request: Callable[[File], Linkage | None]
    ) -> Linkage | None:
        """Return what the other catalog answers, and record it unless it is shipped."""
        is_recorded = bool(file.sha256) and self._shipped.get(file) is None
        try:
            linkage = request(file)
        except UnusableFile as error:
            if is_recorded:
                self._recording.linkage[file.sha256] = without_addresses(str(error))
            raise
        if linkage is not None and linkage.objects and is_recorded:
            self._recording.linkage[file.sha256] = linkage
        return linkage


def _recorded(
    contents: dict[K, T | str], key: K, request: Callable[[], T], clean: Callable[[T], T]
) -> T:
    """Return a content of a file, and record it without addresses, or why it is unusable."""
    try:
        content = request()
    except UnusableFile as error:
        contents[key] = without_addresses(str(error))
        raise
    contents[key] = clean(content)
    return content


# Pages


def _recorded_page(page: Page, tags: frozenset[str]) -> RecordedPage:
    """Return a page without addresses and files that no target could use.

    A release that no target could use keeps one file, for the reason of its rejection. Files of
    another format matter only if there is no release.
    """
    releases = {}
    for version, files in page.releases.items():
        recorded = [_recorded_file(file) for file in files if file.url != NOWHERE]
        recorded.sort(key=lambda file: file.filename)
        usable = [file for file in recorded if _fits(file.filename, tags)]
        releases[version] = tuple(usable or recorded[:1])
    rejections = set()
    for rejection in page.rejections:
        if rejection.reason is not RejectionReason.FORMAT or not releases:
            detail = without_addresses(rejection.detail)
            rejections.add((rejection.filename, rejection.reason.name, detail))
    variants = {}
    for version, table in sorted(page.variants.items()):
        variants[version] = _clean_table(table)
    return RecordedPage(page.index, releases, tuple(sorted(rejections)), variants)


def _recorded_file(file: File) -> File:
    """Return a file without its address.

    The hash of a `.metadata` file is left out, too: it is only useful for fetching that, and does
    not compress.
    """
    yanked = None if file.yanked is None else without_addresses(file.yanked)
    uploaded = in_whole_seconds(file.uploaded)
    return replace(file, url="", metadata=None, yanked=yanked, uploaded=uploaded)


def in_whole_seconds(uploaded: str) -> str:
    """Return an upload time in UTC, `2025-11-20T09:59:00Z`; empty if it is not a time."""
    time = upload_time(uploaded)
    return "" if time is None else time.strftime("%Y-%m-%dT%H:%M:%SZ")


def _fits(filename: str, tags: frozenset[str]) -> bool:
    """Return whether a target could install a file by its tags; source archives always fit."""
    if not filename.endswith(".whl"):
        return True
    parts = wheel_parts(filename)
    if parts is None:
        return False
    return any(tag in tags for tag in expand_tags(parts.python, parts.abi, parts.platform))


# Contents without addresses


def _clean_table(table: VariantTable) -> VariantTable:
    return replace(table, fault=without_addresses(table.fault))


def _clean_metadata(metadata: CoreMetadata) -> CoreMetadata:
    return replace(metadata, requires_dist=tuple(map(without_urls, metadata.requires_dist)))


def _clean_archive(archive: Archive) -> Archive:
    metadata = archive.metadata
    if metadata is not None:
        metadata = _clean_metadata(metadata)
    build_requires = archive.build_requires
    if build_requires is not None:
        build_requires = tuple(map(without_urls, build_requires))
    return Archive(metadata, build_requires, without_addresses(archive.why_dynamic))


def _clean_member(member: tuple[str]) -> tuple[str]:
    """Return the text of a member, in a tuple, without addresses.

    Names of projects in a requirements file may look like hosts, so host names are removed from
    comments and options alone.
    """
    lines = []
    for line in member[0].splitlines(keepends=True):
        is_requirement = not line.lstrip().startswith(("#", "-"))
        lines.append(without_urls(line) if is_requirement else without_addresses(line))
    return ("".join(lines),)
