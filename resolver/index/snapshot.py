"""Read and write snapshots of indexes, and answer from them as a catalog.

A snapshot has the answers that indexes gave while a stack was locked, so that it can be locked
again without a network. `recording` makes it. The file begins with a line that names its format;
MessagePack compressed with xz follows. The same snapshot results in the same bytes.
"""

from __future__ import annotations

import datetime as dt
import lzma
from itertools import chain
from pathlib import Path
from typing import Annotated, Final, TypeVar

import msgspec
from msgspec.structs import replace
from packaging.utils import NormalizedName

from resolver import files
from resolver.errors import IndexFailure
from resolver.index.protocol import Catalog, Lookup, UnusableFile
from resolver.index.store.cache import ODD
from resolver.index.store.linkage_readings import ShippedLinkage
from resolver.model.linkage import Linkage
from resolver.model.patterns import SHA256
from resolver.model.release import Archive, CoreMetadata, File, Page, Rejection, RejectionReason
from resolver.model.variant import VariantTable
from resolver.owned_folder import OwnedFolder
from resolver.phrase import Phrase, phrase

_MAGIC: Final = b"ascend-lock snapshot "
_FORMAT: Final = b"2\n"
# With a higher preset, decompression would need 64 MiB of memory.
_PRESET: Final = 6 | lzma.PRESET_EXTREME
# Limits of a file. The largest snapshot of this repository has a quarter of them.
_LARGEST: Final = 16 << 20  # bytes
_MOST_BYTES: Final = 48 << 20  # bytes after decompression
# In MessagePack each value that needs memory begins with a byte of 0x80 or more. So there are at
# most as many such values as such bytes. ASCII texts do not contain these bytes.
_BEGINNINGS: Final = bytes(range(0x80, 0x100))
_MOST_VALUES: Final = 2_500_000
# Bytes of memory for decompression, whatever the file demands.
_MOST_UNPACKING: Final = 32 << 20

T = TypeVar("T")


# Small numbers begin with a byte below 0x80, so they are not counted as values and need a limit.
_Positions = Annotated[tuple[int, ...], msgspec.Meta(max_length=1_000)]


class RecordedPage(msgspec.Struct, frozen=True, array_like=True):
    """A recorded page of an index. It has no addresses, and does not name its project."""

    # The name of the index.
    index: str
    # The files of each version.
    releases: dict[str, tuple[File, ...]]
    # For each rejected file: its name, the name of the `RejectionReason`, and a detail.
    rejections: tuple[tuple[str, str, str], ...]
    # The variants of each version with variant wheels (PEP 825). Older snapshots have none.
    variants: dict[str, VariantTable] = {}


class RecordedProject(msgspec.Struct, frozen=True, array_like=True):
    """The recorded look-ups of a project."""

    # The pages of all look-ups, without duplicates.
    pages: list[RecordedPage]
    # For each look-up: the platform, the positions of its pages in `pages`, and the names of the
    # indexes that could not be reached.
    answers: list[tuple[str, _Positions, tuple[str, ...]]]


class Snapshot(msgspec.Struct, frozen=True, array_like=True):
    """The answers of indexes on one day, while a stack was locked and its conflicts explained.

    The contents of files have the keys that `key_of` returns. A `str` in place of a content is the
    reason why the file cannot be used.
    """

    # The name of the stack.
    stack: str
    # The day of the recording.
    date: dt.date
    projects: dict[NormalizedName, RecordedProject]
    # The metadata of wheels.
    metadata: dict[str, CoreMetadata | str]
    # The static contents of source archives.
    archives: dict[str, Archive | str]
    # For each file that was read in a source archive: the key of the archive, the path in it, and
    # the text. The text is in a tuple, since a `str` is a reason.
    members: list[tuple[str, str, tuple[str] | str]]
    # The sha256 and size of files whose page has no sha256, by file name.
    hashed: dict[str, tuple[str, int | None]]
    # The linkage of wheels, by sha256. Wheels whose linkage ships with the facts are left out.
    # Older snapshots have none.
    linkage: dict[str, Linkage | str] = {}


_encode: Final = msgspec.msgpack.Encoder(order="deterministic").encode
_decode: Final = msgspec.msgpack.Decoder(Snapshot).decode


def key_of(file: File) -> str:
    """Return the key of a file's content: its sha256, or its name if its page has no sha256."""
    return file.sha256 or file.filename


def read(path: Path) -> Snapshot:
    """Return the snapshot in a file.

    Raises InputError if the file is missing or damaged, or has another format.
    """
    try:
        return _unpacked(files.read(path, _LARGEST))
    except (OSError, lzma.LZMAError, ValueError, *ODD) as error:
        hint = phrase(
            "make it on a machine with network access: ascend-lock lock --record {stack}",
            stack=path.stem,
        )
        raise files.input_error(error, phrase("The snapshot cannot be read."), path, hint) from None


def _unpacked(content: bytes) -> Snapshot:
    """Return the snapshot in the content of a file.

    Raises ValueError, LZMAError or one of `store.cache.ODD` if it is damaged or exceeds a limit.
    """
    if not content.startswith(_MAGIC):
        raise ValueError(phrase("It is not a snapshot."))
    if not content.startswith(_MAGIC + _FORMAT):
        raise ValueError(phrase("It was made by another version of ascend-lock."))
    unpacker = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MOST_UNPACKING)
    packed = unpacker.decompress(content[len(_MAGIC) + len(_FORMAT) :], _MOST_BYTES + 1)
    if len(packed) > _MOST_BYTES:
        raise ValueError(phrase("It unpacks to more than {limit} MiB.", limit=_MOST_BYTES >> 20))
    if not unpacker.eof or unpacker.unused_data:
        raise ValueError(phrase("It was changed or truncated after it was made."))
    count_of_values = len(packed) - len(packed.translate(None, _BEGINNINGS))
    if count_of_values > _MOST_VALUES:
        raise ValueError(phrase("It has more than {limit} values.", limit=_MOST_VALUES))
    snapshot = _decode(packed)
    for project in snapshot.projects.values():
        _check_project(project)
    for sha256, _ in snapshot.hashed.values():
        _check_sha256(sha256)
    return snapshot


def _check_project(project: RecordedProject) -> None:
    """Raise ValueError for values that the types allow, but that a recording never contains."""
    for page in project.pages:
        for file in chain.from_iterable(page.releases.values()):
            if file.sha256:
                _check_sha256(file.sha256)
        for _, reason, _ in page.rejections:
            if reason not in RejectionReason.__members__:
                raise ValueError(phrase("It has a reason that is not known."))
    for _, positions, _ in project.answers:
        for position in positions:
            if not 0 <= position < len(project.pages):
                raise ValueError(phrase("It lacks a page."))


def _check_sha256(sha256: str) -> None:
    """Raise ValueError for a text that is not a sha256."""
    if not SHA256.matches(sha256):
        raise ValueError(phrase("It has a hash that is no sha256."))


def to_bytes(snapshot: Snapshot) -> bytes:
    """Return the content of the snapshot's file."""
    return _MAGIC + _FORMAT + lzma.compress(_encode(snapshot), preset=_PRESET)


def write(snapshot: Snapshot, path: Path) -> None:
    """Write a snapshot to a file atomically.

    Its folder is made if it is missing, and must not be a symbolic link. Raises InputError if the
    file cannot be written.
    """
    folder, name = path.absolute().parts[-2:]
    try:
        with OwnedFolder.open(path.absolute().parent.parent, make=True) as outer:
            outer.write(f"{folder}/{name}", to_bytes(snapshot))
    except OSError as error:
        raise files.input_error(
            error, phrase("the snapshot could not be written"), error.filename or path
        ) from None


class SnapshotCatalog(Catalog):
    """A catalog that answers from a snapshot, for one platform.

    It raises IndexFailure for anything that was not recorded.
    """

    def __init__(
        self, snapshot: Snapshot, platform: str, shipped: ShippedLinkage | None = None
    ) -> None:
        """Answer from `snapshot`, and from `shipped`, the linkage that ships with the facts."""
        self._snapshot = snapshot
        self._shipped = shipped or ShippedLinkage(None)
        self._platform = platform
        # By project and position in its recorded pages. What is made of a page is found again by
        # its identity, so each look-up returns the same ones.
        self._pages: dict[tuple[NormalizedName, int], Page] = {}
        self._members: dict[tuple[str, str], tuple[str] | str] = {}
        for key, path, member in snapshot.members:
            self._members[key, path] = member

    def lookup(self, project: NormalizedName) -> Lookup:
        recorded = self._snapshot.projects.get(project)
        if recorded is not None:
            for platform, positions, unreachable in recorded.answers:
                if platform == self._platform:
                    pages = [self._page(project, position) for position in positions]
                    return Lookup(tuple(pages), unreachable)
        raise self._not_recorded(
            phrase("`{project}` for {platform}", project=project, platform=self._platform)
        )

    def _page(self, project: NormalizedName, position: int) -> Page:
        """Return the recorded page of a project at a position."""
        key = project, position
        page = self._pages.get(key)
        if page is None:
            page = _page(project, self._snapshot.projects[project].pages[position])
        return self._pages.setdefault(key, page)

    def metadata(self, file: File) -> CoreMetadata:
        metadata = self._snapshot.metadata.get(key_of(file))
        return self._required(metadata, phrase("the metadata of `{file}`", file=file.filename))

    def archive(self, file: File) -> Archive:
        archive = self._snapshot.archives.get(key_of(file))
        return self._required(archive, phrase("the content of `{file}`", file=file.filename))

    def member(self, file: File, path: str) -> str:
        member = self._members.get((key_of(file), path))
        return self._required(
            member, phrase("`{path}` of `{file}`", path=path, file=file.filename)
        )[0]

    def linkage(self, file: File) -> Linkage | None:
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
        hashed = self._snapshot.hashed.get(file.filename)
        sha256, size = self._required(hashed, phrase("the sha256 of `{file}`", file=file.filename))
        return replace(file, sha256=sha256, size=size)

    def _required(self, content: T | str | None, content_name: Phrase) -> T:
        """Return a recorded content of a file.

        Raises UnusableFile for a text, which is the reason, and IndexFailure for None, which
        contains `content_name`.
        """
        if isinstance(content, str):
            raise UnusableFile(content)
        if content is None:
            raise self._not_recorded(content_name)
        return content

    def _not_recorded(self, content_name: Phrase) -> IndexFailure:
        """Return the failure for a content that the snapshot does not have."""
        return IndexFailure(
            phrase(
                "The snapshot of {date} does not contain {content}.",
                date=self._snapshot.date,
                content=content_name,
            ),
            why=phrase("It contains only what was requested while it was made."),
            hint=phrase(
                "run online, or make it again on a machine with network access: ascend-lock lock "
                "--record {stack}",
                stack=self._snapshot.stack,
            ),
        )


def _page(project: NormalizedName, recorded: RecordedPage) -> Page:
    """Return a recorded page as a `Page` of a project."""
    rejections = []
    for filename, reason, detail in recorded.rejections:
        rejections.append(Rejection(filename, RejectionReason[reason], detail))
    return Page(
        project=project,
        index=recorded.index,
        releases=recorded.releases,
        rejections=tuple(rejections),
        variants=recorded.variants,
    )
