"""Snapshots of indexes: a catalog that records one, its file, and a catalog that answers from it.

The file is a line with its format, then xz of MessagePack. The same snapshot gives the same bytes.
It is compact and has no addresses: those, and whatever no target could use, are left out when it is
made.
"""

from __future__ import annotations

import datetime as dt
import lzma
import re
from collections.abc import Callable, Iterable
from itertools import product
from pathlib import Path
from typing import Annotated, Final, TypeVar

import msgspec
from msgspec.structs import replace
from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName

from resolver import files
from resolver.errors import IndexFailure
from resolver.index.parse.address import NOWHERE
from resolver.index.parse.distribution import expand_tags, upload_time, wheel_parts
from resolver.index.protocol import Catalog, LookAhead, Lookup, UnusableFile
from resolver.index.store.cache import ODD
from resolver.index.store.linkage_readings import ShippedLinkage
from resolver.model.linkage import Linkage
from resolver.model.patterns import SHA256
from resolver.model.release import Archive, CoreMetadata, File, Page, Rejection, RejectionReason
from resolver.model.target import PLATFORMS, Target
from resolver.model.variant import VariantTable
from resolver.owned_folder import OwnedFolder

_MAGIC: Final = b"ascend-lock snapshot "
_FORMAT: Final = b"2\n"
_PRESET: Final = 6 | lzma.PRESET_EXTREME  # larger ones have the reader take 64 MiB
# Limits of a file, of which the shipped ones have a quarter at most. A value that takes memory
# begins with a byte of 0x80 or more, which texts of ASCII do not have, so the number of such bytes
# is no less than that of such values.
_LARGEST: Final = 16 << 20  # bytes
_MOST_BYTES: Final = 48 << 20  # when unpacked
_MOST_VALUES: Final = 2_500_000
_MOST_UNPACKING: Final = 32 << 20  # bytes that the unpacker takes, whatever the file asks for
_BEGINNINGS: Final = bytes(range(0x80, 0x100))

PYTHONS: Final = ("3.10", "3.11", "3.12", "3.13")

K = TypeVar("K")
T = TypeVar("T")


# Numbers are too short to be counted as values.
_Positions = Annotated[tuple[int, ...], msgspec.Meta(max_length=1_000)]


class RecordedPage(msgspec.Struct, frozen=True, array_like=True):
    """A page without its project and addresses; `rejections` have the name of their reason.

    `variants` is what the labels of wheels stand for, by release. Older snapshots have none.
    """

    index: str
    releases: dict[str, tuple[File, ...]]
    rejections: tuple[tuple[str, str, str], ...]
    variants: dict[str, VariantTable] = {}


class RecordedProject(msgspec.Struct, frozen=True, array_like=True):
    """The pages of a project; `answers` are platforms with positions of pages and the unreachable indexes."""

    pages: list[RecordedPage]
    answers: list[tuple[str, _Positions, tuple[str, ...]]]


class Snapshot(msgspec.Struct, frozen=True, array_like=True):
    """The answers of indexes on one day while a stack was locked and explained.

    Contents of files are by `key_of`. A text is the reason why a file cannot be used, so the text
    of a member of an archive (`members` are key, path and text) is in a tuple. `hashed` are sha256
    and size of files without a hash.
    """

    stack: str
    date: dt.date
    projects: dict[NormalizedName, RecordedProject]
    metadata: dict[str, CoreMetadata | str]
    archives: dict[str, Archive | str]
    members: list[tuple[str, str, tuple[str] | str]]
    hashed: dict[str, tuple[str, int | None]]
    # By sha256: the linkage of wheels of which no reading ships with the facts. Older snapshots
    # have none.
    linkage: dict[str, Linkage | str] = {}


_encode: Final = msgspec.msgpack.Encoder(order="deterministic").encode
_decode: Final = msgspec.msgpack.Decoder(Snapshot).decode


def key_of(file: File) -> str:
    """The key of a file's contents: its sha256, or its name if the page has no hash."""
    return file.sha256 or file.filename


def read(path: Path) -> Snapshot:
    """Read a snapshot's file. Raises InputError if it is missing, damaged or of another format."""
    try:
        return _unpacked(files.read(path, _LARGEST))
    except (OSError, lzma.LZMAError, ValueError, *ODD) as error:
        hint = f"make it on a machine with network access: ascend-lock snapshot {path.stem}"
        raise files.input_error(error, "The snapshot cannot be read.", path, hint) from None


def _unpacked(content: bytes) -> Snapshot:
    if not content.startswith(_MAGIC):
        raise ValueError("It is not a snapshot.")
    if not content.startswith(_MAGIC + _FORMAT):
        raise ValueError("It was made by another version of ascend-lock.")
    unpacker = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MOST_UNPACKING)
    packed = unpacker.decompress(content[len(_MAGIC) + len(_FORMAT) :], _MOST_BYTES + 1)
    if len(packed) > _MOST_BYTES:
        raise ValueError(f"It unpacks to more than {_MOST_BYTES >> 20} MiB.")
    if not unpacker.eof or unpacker.unused_data:
        raise ValueError("It was changed or truncated after it was made.")
    if len(packed) - len(packed.translate(None, _BEGINNINGS)) > _MOST_VALUES:
        raise ValueError(f"It has more than {_MOST_VALUES} values.")
    snapshot = _decode(packed)
    for project in snapshot.projects.values():
        for page in project.pages:
            hashes = (file.sha256 for row in page.releases.values() for file in row if file.sha256)
            if not all(map(SHA256.matches, hashes)):
                raise ValueError("It has a hash that is no sha256.")
            if not all(reason in RejectionReason.__members__ for _, reason, _ in page.rejections):
                raise ValueError("It has a reason that is not known.")
        if not all(
            0 <= at < len(project.pages) for _, positions, _ in project.answers for at in positions
        ):
            raise ValueError("It lacks a page.")
    if not all(SHA256.matches(sha256) for sha256, _ in snapshot.hashed.values()):
        raise ValueError("It has a hash that is no sha256.")
    return snapshot


def to_bytes(snapshot: Snapshot) -> bytes:
    """The content of the snapshot's file."""
    return _MAGIC + _FORMAT + lzma.compress(_encode(snapshot), preset=_PRESET)


def write(snapshot: Snapshot, path: Path) -> None:
    """Write the snapshot's file atomically, in a folder that is made if it is missing and must not be a link.

    Raises InputError if the disk refuses.
    """
    folder, name = path.absolute().parts[-2:]
    try:
        with OwnedFolder.open(path.absolute().parent.parent, make=True) as outer:
            outer.write(f"{folder}/{name}", to_bytes(snapshot))
    except OSError as error:
        raise files.input_error(
            error, "the snapshot could not be written", error.filename or path
        ) from None


class SnapshotCatalog(Catalog):
    """Answers from a snapshot for one platform.

    Raises IndexFailure for whatever was not recorded.
    """

    def __init__(
        self, snapshot: Snapshot, platform: str, shipped: ShippedLinkage | None = None
    ) -> None:
        self._snapshot = snapshot
        self._shipped = shipped or ShippedLinkage(None)
        self._platform = platform
        self._members = {(key, path): member for key, path, member in snapshot.members}

    def lookup(self, project: NormalizedName) -> Lookup:
        recorded = self._snapshot.projects.get(project, RecordedProject([], []))
        for platform, positions, unreachable in recorded.answers:
            if platform == self._platform:
                return Lookup(
                    tuple(_page(project, recorded.pages[at]) for at in positions), unreachable
                )
        raise self._missing(f"`{project}` for {self._platform}")

    def metadata(self, file: File) -> CoreMetadata:
        return self._answer(
            self._snapshot.metadata.get(key_of(file)), f"the metadata of `{file.filename}`"
        )

    def archive(self, file: File) -> Archive:
        return self._answer(
            self._snapshot.archives.get(key_of(file)), f"the content of `{file.filename}`"
        )

    def member(self, file: File, path: str) -> str:
        return self._answer(
            self._members.get((key_of(file), path)), f"`{path}` of `{file.filename}`"
        )[0]

    def linkage(self, file: File) -> Linkage | None:
        if file.filename.endswith("-any.whl"):
            return Linkage()
        shipped = self._shipped.get(file)
        if shipped is not None:
            return shipped
        recorded = self._snapshot.linkage.get(file.sha256)
        if isinstance(recorded, str):
            raise UnusableFile(recorded)
        return recorded

    def known_linkage(self, file: File) -> Linkage | None:
        return self.linkage(file)

    def sha256(self, file: File) -> File:
        if file.sha256:
            return file
        sha256, size = self._answer(
            self._snapshot.hashed.get(file.filename), f"the sha256 of `{file.filename}`"
        )
        return replace(file, sha256=sha256, size=size)

    def _answer(self, answer: T | str | None, what: str) -> T:
        if isinstance(answer, str):
            raise UnusableFile(answer)
        if answer is None:
            raise self._missing(what)
        return answer

    def _missing(self, what: str) -> IndexFailure:
        return IndexFailure(
            f"The snapshot of {self._snapshot.date} does not contain {what}.",
            why="It contains only what was requested while it was made.",
            hint="run online, or make it again on a machine with network access: "
            f"ascend-lock snapshot {self._snapshot.stack}",
        )


def _page(project: NormalizedName, page: RecordedPage) -> Page:
    rejections = (
        Rejection(name, RejectionReason[reason], detail) for name, reason, detail in page.rejections
    )
    return Page(
        project=project,
        index=page.index,
        releases=page.releases,
        rejections=tuple(rejections),
        variants=page.variants,
    )


# Recording


class Recording:
    """The answers of indexes while a stack is locked for its targets, without addresses.

    Files that no CPython 3.10 to 3.13, or of a target, on any supported platform could use are left
    out, except for one if a release has no other.
    """

    def __init__(self, targets: Iterable[Target]) -> None:
        pythons = {*PYTHONS, *(".".join(map(str, target.python_line)) for target in targets)}
        self._tags = frozenset(
            tag
            for python, platform in product(pythons, PLATFORMS)
            for tag in Target(name="", python=python, platform=platform, glibc=(2, 99)).tags
        )
        self.projects: dict[NormalizedName, RecordedProject] = {}
        self.metadata: dict[str, CoreMetadata | str] = {}
        self.archives: dict[str, Archive | str] = {}
        self.members: dict[tuple[str, str], tuple[str] | str] = {}
        self.hashed: dict[str, tuple[str, int | None]] = {}
        self.linkage: dict[str, Linkage | str] = {}

    def add(self, project: NormalizedName, platform: str, lookup: Lookup) -> None:
        """Record the first answer of a project for a platform."""
        recorded = self.projects.setdefault(project, RecordedProject([], []))
        if all(other != platform for other, _, _ in recorded.answers):
            pages = [_trimmed(page, self._tags) for page in lookup.pages]
            recorded.pages.extend(page for page in pages if page not in recorded.pages)
            recorded.answers.append(
                (platform, tuple(map(recorded.pages.index, pages)), lookup.unreachable)
            )

    def snapshot(self, stack: str, date: dt.date) -> Snapshot:
        """Everything requested so far; `date` is the day of the recording."""
        members = [(*key, self.members[key]) for key in sorted(self.members)]
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


class RecordingCatalog(Catalog):
    """Records the answers of `inner`, a catalog for `platform`.

    That a file is unusable is an answer; a failure of an index is not. What is prefetched is
    recorded when requested.
    """

    def __init__(
        self,
        inner: Catalog,
        platform: str,
        recording: Recording,
        shipped: ShippedLinkage | None = None,
    ) -> None:
        self.inner = inner
        self._shipped = shipped or ShippedLinkage(None)
        self._platform = platform
        self._recording = recording

    def lookup(self, project: NormalizedName) -> Lookup:
        answer = self.inner.lookup(project)
        self._recording.add(project, self._platform, answer)
        return answer

    def metadata(self, file: File) -> CoreMetadata:
        return _recorded(
            self._recording.metadata,
            key_of(file),
            lambda: self.inner.metadata(file),
            _clean_metadata,
        )

    def archive(self, file: File) -> Archive:
        return _recorded(
            self._recording.archives, key_of(file), lambda: self.inner.archive(file), _clean_archive
        )

    def member(self, file: File, path: str) -> str:
        key = key_of(file), path
        return _recorded(
            self._recording.members, key, lambda: (self.inner.member(file, path),), _clean_member
        )[0]

    def sha256(self, file: File) -> File:
        answer = self.inner.sha256(file)
        if not file.sha256:
            self._recording.hashed[file.filename] = answer.sha256, answer.size
        return answer

    def linkage(self, file: File) -> Linkage | None:
        return self._recorded_linkage(file, self.inner.linkage)

    def known_linkage(self, file: File) -> Linkage | None:
        return self._recorded_linkage(file, self.inner.known_linkage)

    def _recorded_linkage(
        self, file: File, ask: Callable[[File], Linkage | None]
    ) -> Linkage | None:
        """Return what the inner catalog answers, which is recorded unless it ships with the facts."""
        is_recorded = bool(file.sha256) and self._shipped.get(file) is None
        try:
            answer = ask(file)
        except UnusableFile as error:
            if is_recorded:
                self._recording.linkage[file.sha256] = without_addresses(str(error))
            raise
        if answer is not None and answer.objects and is_recorded:
            self._recording.linkage[file.sha256] = answer
        return answer

    def prefetch(
        self,
        requests: Iterable[tuple[NormalizedName, SpecifierSet]],
        look_ahead: LookAhead | None = None,  # noqa: ARG002
    ) -> None:
        """See `Catalog`. Without look-ahead, whose answers would not be recorded."""
        self.inner.prefetch(requests, None)

    def prefetch_metadata(self, files: Iterable[File]) -> None:
        self.inner.prefetch_metadata(files)


def _recorded(
    answers: dict[K, T | str], key: K, request: Callable[[], T], clean: Callable[[T], T]
) -> T:
    """The answer to a request about a file, which is recorded without addresses."""
    try:
        answer = request()
    except UnusableFile as error:
        answers[key] = without_addresses(str(error))
        raise
    answers[key] = clean(answer)
    return answer


# Files that a target could use


def _trimmed(page: Page, tags: frozenset[str]) -> RecordedPage:
    """The page without addresses and irrelevant files.

    A release that no target could use keeps one file, for the reason of its rejection. Files of
    another format matter only if there is no release.
    """
    releases = {}
    for version, offered in page.releases.items():
        bare = sorted(
            (_bare(file) for file in offered if file.url != NOWHERE), key=lambda file: file.filename
        )
        releases[version] = tuple(file for file in bare if _fits(file.filename, tags)) or tuple(
            bare[:1]
        )
    rejections = {
        (row.filename, row.reason.name, without_addresses(row.detail))
        for row in page.rejections
        if row.reason is not RejectionReason.FORMAT or not releases
    }
    variants = {
        version: _without_hosts_in(table) for version, table in sorted(page.variants.items())
    }
    return RecordedPage(page.index, releases, tuple(sorted(rejections)), variants)


def _without_hosts_in(table: VariantTable) -> VariantTable:
    return replace(table, fault=without_addresses(table.fault))


def _bare(file: File) -> File:
    # The hash of a `.metadata` file is only useful for fetching it, and does not compress.
    yanked = None if file.yanked is None else without_addresses(file.yanked)
    return replace(
        file, url="", metadata=None, yanked=yanked, uploaded=in_whole_seconds(file.uploaded)
    )


def in_whole_seconds(uploaded: str) -> str:
    """An upload time in UTC and whole seconds, `2025-11-20T09:59:00Z`; empty if it is not one."""
    time = upload_time(uploaded)
    return "" if time is None else time.strftime("%Y-%m-%dT%H:%M:%SZ")


def _fits(filename: str, tags: frozenset[str]) -> bool:
    """Whether a target could install a file, judging by its tags; source archives always fit."""
    if not filename.endswith(".whl"):
        return True
    parts = wheel_parts(filename)
    return parts is not None and any(
        tag in tags for tag in expand_tags(parts.python, parts.abi, parts.platform)
    )


# Addresses

# Hosts of source code, which are shown, as none is an index.
_FORGES = frozenset(
    {"bitbucket.org", "gitcode.com", "gitee.com", "github.com", "gitlab.com", "huggingface.co"}
)
_NO_HOST = "address.invalid"  # RFC 2606
_ADDRESS = re.compile(
    r"://(?P<authority>(?:\[[^\s\]]*\])?[^\s/?#'\"<>()\[\]]*)(?P<rest>[^\s'\"<>]*)"
)
_HOST = re.compile(
    r"(?<![\w.-])(?:[a-z0-9-]+\.)+(?:cn|com|dev|io|net|org)(?![\w.-]*\w)", re.IGNORECASE
)


def without_addresses(text: str) -> str:
    """Prose with host names replaced, except those of code hosts."""
    return _without_hosts(_without_urls(text))


def _without_urls(text: str) -> str:
    """Any text with the host of each URL replaced.

    Project names may look like hosts: `zope.org`.
    """
    return _ADDRESS.sub(
        lambda url: f"://{_known_host(url['authority'])}{_without_hosts(url['rest'])}", text
    )


def _without_hosts(text: str) -> str:
    return _HOST.sub(lambda match: _known_host(match[0]), text)


def _known_host(authority: str) -> str:
    host = authority.rpartition("@")[2].lower()  # without credentials
    return host if host in _FORGES else _NO_HOST


def _clean_metadata(value: CoreMetadata) -> CoreMetadata:
    return replace(value, requires_dist=tuple(map(_without_urls, value.requires_dist)))


def _clean_archive(value: Archive) -> Archive:
    metadata = value.metadata and _clean_metadata(value.metadata)
    build = value.build_requires and tuple(map(_without_urls, value.build_requires))
    return Archive(metadata, build, without_addresses(value.why_dynamic))


def _clean_member(member: tuple[str]) -> tuple[str]:
    # Names of projects in a requirements file may look like hosts.
    def clean(line: str) -> str:
        return (without_addresses if line.lstrip().startswith(("#", "-")) else _without_urls)(line)

    return ("".join(map(clean, member[0].splitlines(keepends=True))),)
