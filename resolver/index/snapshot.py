"""A recorded piece of the indexes: its file, and the catalog that answers from it alone.

The file is a line with its format, then xz of MessagePack. The same snapshot gives the same bytes.
"""

from __future__ import annotations

import datetime as dt
import lzma
import re
from pathlib import Path
from typing import Final, TypeVar

import msgspec
from msgspec.structs import replace
from packaging.utils import NormalizedName

from resolver import files
from resolver.errors import IndexFailure, InputError
from resolver.index.protocol import Catalog, Lookup, UnusableFile
from resolver.index.store.cache import ODD
from resolver.model.release import Archive, File, Metadata, Page, Reason, Rejection

_MAGIC: Final = b"ascend-lock snapshot "
_FORMAT: Final = b"2\n"
_PRESET: Final = 6 | lzma.PRESET_EXTREME  # larger ones have the reader take 64 MiB
_LARGEST: Final = 1 << 30  # bytes when unpacked; the shipped ones have a hundredth

T = TypeVar("T")

_sha256 = re.compile(r"[0-9a-f]{64}").fullmatch


class RecordedPage(msgspec.Struct, frozen=True, array_like=True):
    """A page without its project, and with no address of a file; `rejections` have the name of their reason."""

    index: str
    releases: dict[str, tuple[File, ...]]
    rejections: tuple[tuple[str, str, str], ...]


class Answer(msgspec.Struct, frozen=True, array_like=True):
    """The result of looking a project up on a platform; `pages` are positions, and without any no index has it."""

    platform: str
    pages: tuple[int, ...]
    unreachable: tuple[str, ...]


class RecordedProject(msgspec.Struct, frozen=True, array_like=True):
    """The pages of a project, and what of them was the answer on which platform."""

    pages: list[RecordedPage]
    answers: list[Answer]


class Snapshot(msgspec.Struct, frozen=True, array_like=True):
    """What the indexes answered on one day while a stack was locked and explained.

    What is known of files is by their keys (`key_of`). A text is the reason why a file cannot be used, so the text
    of a `member`, the third of each, is in a tuple. `hashed` has sha256 and size where the page left out the first.
    """

    stack: str
    date: dt.date
    projects: dict[NormalizedName, RecordedProject]
    metadata: dict[str, Metadata | str]
    archives: dict[str, Archive | str]
    members: list[tuple[str, str, tuple[str] | str]]
    hashed: dict[str, tuple[str, int | None]]


_encode: Final = msgspec.msgpack.Encoder(order="deterministic").encode
_decode: Final = msgspec.msgpack.Decoder(Snapshot).decode


def key_of(file: File) -> str:
    """What answers about a file are remembered by: its sha256, or its name where the page has no hash."""
    return file.sha256 or file.filename


def read(path: Path) -> Snapshot:
    """Read a snapshot's file. Raises InputError if it is missing, damaged or of another format."""
    again = f"make it {{}}on a machine with network access: make snapshot STACK={path.stem}"
    try:
        return _unpacked(files.read(path, _LARGEST))
    except OSError as error:
        raise files.refusal(error, "The snapshot cannot be read.", path, again.format("")) from None
    except lzma.LZMAError:
        why = "It was changed or truncated after it was made."
    except ODD:
        why = "Its content has a different structure."
    except ValueError as error:
        why = str(error)
    hint = "restore the file, or " + again.format("again ")
    raise InputError("The snapshot cannot be used.", where=str(path), why=why, hint=hint)


def _unpacked(content: bytes) -> Snapshot:
    if not content.startswith(_MAGIC):
        raise ValueError("It is not a snapshot.")
    if not content.startswith(_MAGIC + _FORMAT):
        raise ValueError("It was made by another version of ascend-lock.")
    unpacker = lzma.LZMADecompressor(lzma.FORMAT_XZ)
    packed = unpacker.decompress(content[len(_MAGIC) + len(_FORMAT) :], _LARGEST)
    if not unpacker.eof or unpacker.unused_data:
        raise lzma.LZMAError
    snapshot = _decode(packed)
    for project in snapshot.projects.values():
        for page in project.pages:
            listed = (file.sha256 for rows in page.releases.values() for file in rows if file.sha256)
            if not all(map(_sha256, listed)):
                raise ValueError("It has a hash that is no sha256.")
            if not all(reason in Reason.__members__ for _, reason, _ in page.rejections):
                raise ValueError("It has a reason that is not known.")
        if not all(0 <= at < len(project.pages) for answer in project.answers for at in answer.pages):
            raise ValueError("It lacks a page.")
    if not all(_sha256(sha256) for sha256, _ in snapshot.hashed.values()):
        raise ValueError("It has a hash that is no sha256.")
    return snapshot


def to_bytes(snapshot: Snapshot) -> bytes:
    """The content of the snapshot's file."""
    return _MAGIC + _FORMAT + lzma.compress(_encode(snapshot), preset=_PRESET)


def write(snapshot: Snapshot, path: Path) -> None:
    """Write the snapshot's file atomically."""
    files.write(path, to_bytes(snapshot))


class SnapshotCatalog(Catalog):
    """Answers from a snapshot, as its recording was answered on one platform.

    Raises IndexFailure for whatever was not recorded: that says nothing about what the indexes have.
    """

    def __init__(self, snapshot: Snapshot, platform: str) -> None:
        self._snapshot = snapshot
        self._platform = platform
        self._members = {(key, path): member for key, path, member in snapshot.members}

    def lookup(self, project: NormalizedName) -> Lookup:
        recorded = self._snapshot.projects.get(project, RecordedProject([], []))
        for answer in recorded.answers:
            if answer.platform == self._platform:
                pages = (recorded.pages[at] for at in answer.pages)
                return Lookup(tuple(_page(project, page) for page in pages), answer.unreachable)
        raise self._missing(f"`{project}` for {self._platform}")

    def metadata(self, file: File) -> Metadata:
        return self._answer(self._snapshot.metadata.get(key_of(file)), f"the metadata of `{file.filename}`")

    def archive(self, file: File) -> Archive:
        return self._answer(self._snapshot.archives.get(key_of(file)), f"the content of `{file.filename}`")

    def member(self, file: File, path: str) -> str:
        return self._answer(self._members.get((key_of(file), path)), f"`{path}` of `{file.filename}`")[0]

    def sha256(self, file: File) -> File:
        if file.sha256:
            return file
        sha256, size = self._answer(self._snapshot.hashed.get(file.filename), f"the sha256 of `{file.filename}`")
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
            hint=f"run online, or make it again on a machine with network access: make snapshot "
            f"STACK={self._snapshot.stack}",
        )


def _page(project: NormalizedName, page: RecordedPage) -> Page:
    rejections = (Rejection(name, Reason[reason], detail) for name, reason, detail in page.rejections)
    return Page(project=project, index=page.index, releases=page.releases, rejections=tuple(rejections))
