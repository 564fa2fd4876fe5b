"""Record the answers of a catalog while a stack is locked, and make a snapshot of them.

A recording is small and has no addresses of indexes: these are removed, and files that no target
could use are left out.
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

# The versions of CPython for which wheels are recorded, besides those of the targets.
PYTHONS: Final = ("3.10", "3.11", "3.12", "3.13")

K = TypeVar("K")
T = TypeVar("T")


class Recording:
    """The answers of indexes while a stack is locked for its targets, without addresses.

    A file is left out if no CPython of PYTHONS or of a target could use it on any supported
    platform. If that holds for all files of a release, one of them is kept.
    """

    def __init__(self, targets: Iterable[Target]) -> None:
        """Begin an empty recording for a stack with these targets."""
        pythons = set(PYTHONS)
        for target in targets:
            pythons.add(".".join(map(str, target.python_line)))
        tags: set[str] = set()
        for python, platform in product(pythons, PLATFORMS):
            tags.update(Target(name="", python=python, platform=platform, glibc=(2, 99)).tags)
        self._tags = frozenset(tags)
        # The fields of the snapshot, in its format.
        self.projects: dict[NormalizedName, RecordedProject] = {}
        self.metadata: dict[str, CoreMetadata | str] = {}
        self.archives: dict[str, Archive | str] = {}
        self.hashed: dict[str, tuple[str, int | None]] = {}
        self.linkage: dict[str, Linkage | str] = {}
        # By key of the archive (`key_of`) and path.
        self.members: dict[tuple[str, str], tuple[str] | str] = {}

    def add(self, project: NormalizedName, platform: str, lookup: Lookup) -> None:
        """Record the look-up of a project for a platform, unless one is recorded already."""
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
        """Return all that was recorded so far as a snapshot; `date` is the day of the recording."""
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
    """A catalog that records the answers of another catalog for one platform.

    UnusableFile is recorded as an answer; a failure of an index is not recorded. An answer that was
    prefetched is recorded when it is used.
    """

    def __init__(
        self,
        inner: Catalog,
        platform: str,
        recording: Recording,
        shipped: ShippedLinkage | None = None,
    ) -> None:
        """Record the answers of `inner`, without linkage that ships with the facts (`shipped`)."""
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
        """Return the linkage that `request` returns, and record it.

        UnusableFile is recorded as well, and raised. Nothing is recorded if the linkage ships with
        the facts, if the wheel was not read or has no binaries, or if its page has no sha256.
        """
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
    """Return the content that `request` returns, and record it in `contents` under a key.

    `clean` removes addresses from it. If the file is unusable, the reason is recorded, and
    UnusableFile is raised.
    """
    try:
        content = request()
    except UnusableFile as error:
        contents[key] = without_addresses(str(error))
        raise
    contents[key] = clean(content)
    return content


# Pages


def _recorded_page(page: Page, tags: frozenset[str]) -> RecordedPage:
    """Return a page for the snapshot: without addresses, and without files that fit none of `tags`.

    A release without a fitting file keeps one file, so that the reason of its rejection is
    known. Rejected files of an unknown format are kept only if the page has no release.
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
    """Return a file without addresses, and without the sha256 of its `.metadata` file.

    That sha256 is needed only to fetch the `.metadata` file, and it cannot be compressed.
    """
    yanked = None if file.yanked is None else without_addresses(file.yanked)
    uploaded = in_whole_seconds(file.uploaded)
    return replace(file, url="", metadata=None, yanked=yanked, uploaded=uploaded)


def in_whole_seconds(uploaded: str) -> str:
    """Return an upload time in UTC without fractions of a second, such as `2025-11-20T09:59:00Z`.

    Empty if `uploaded` is not a time.
    """
    time = upload_time(uploaded)
    return "" if time is None else time.strftime("%Y-%m-%dT%H:%M:%SZ")


def _fits(filename: str, tags: frozenset[str]) -> bool:
    """Return whether a wheel has one of these tags. For a source archive, return True."""
    if not filename.endswith(".whl"):
        return True
    parts = wheel_parts(filename)
    if parts is None:
        return False
    return any(tag in tags for tag in expand_tags(parts.python, parts.abi, parts.platform))


# Contents without addresses


def _clean_table(table: VariantTable) -> VariantTable:
    """Return a list of variants without addresses in its fault."""
    return replace(table, fault=without_addresses(table.fault))


def _clean_metadata(metadata: CoreMetadata) -> CoreMetadata:
    """Return metadata without the hosts of URLs in its requirements."""
    return replace(metadata, requires_dist=tuple(map(without_urls, metadata.requires_dist)))


def _clean_archive(archive: Archive) -> Archive:
    """Return the static metadata of an archive without hosts of URLs."""
    metadata = archive.metadata
    if metadata is not None:
        metadata = _clean_metadata(metadata)
    build_requires = archive.build_requires
    if build_requires is not None:
        build_requires = tuple(map(without_urls, build_requires))
    return Archive(metadata, build_requires, without_addresses(archive.why_dynamic))


def _clean_member(member: tuple[str]) -> tuple[str]:
    """Return the text of a file in an archive without hosts, in a tuple as it is given.

    In a requirements file the name of a project may look like a host. So host names outside of URLs
    are removed only in lines that begin with `#` or `-`: comments and options.
    """
    lines = []
    for line in member[0].splitlines(keepends=True):
        is_requirement = not line.lstrip().startswith(("#", "-"))
        lines.append(without_urls(line) if is_requirement else without_addresses(line))
    return ("".join(lines),)
