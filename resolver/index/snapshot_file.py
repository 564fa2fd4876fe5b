"""The file of a snapshot: a line with its format, then xz of msgpack. The same snapshot gives the same bytes."""

from __future__ import annotations

import datetime as dt
import lzma
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec
from packaging.utils import NormalizedName

from resolver import files
from resolver.errors import InputError
from resolver.index.protocol import Lookup
from resolver.index.snapshot import Snapshot
from resolver.index.store.cache import ODD
from resolver.model.release import Archive, File, Metadata, Page, Reason, Rejection

_MAGIC: Final = b"ascend-lock snapshot "
_FORMAT: Final = b"2\n"
_PRESET: Final = 6 | lzma.PRESET_EXTREME  # larger ones have the reader take 64 MiB
_LARGEST: Final = 1 << 30  # bytes when unpacked; the shipped ones have a hundredth

_sha256 = re.compile(r"[0-9a-f]{64}").fullmatch


def read(path: Path) -> Snapshot:
    """Read a snapshot's file. Raises InputError if it is missing, damaged or of another format."""
    again = f"make it {{}}on a machine with network access: make snapshot STACK={path.stem}"
    try:
        return _unpack(files.read(path, _LARGEST))
    except OSError as error:
        message, why = "The snapshot cannot be read.", error.strerror or str(error)
        hint = files.advice(error.errno, again.format(""))
    except _DamagedError as error:
        message, why = "The snapshot cannot be used.", str(error)
        hint = "restore the file, or " + again.format("again ")
    raise InputError(message, where=str(path), why=why, hint=hint)


def write(snapshot: Snapshot, path: Path) -> None:
    """Write the snapshot's file atomically."""
    files.write(path, to_bytes(snapshot))


class _DamagedError(Exception):
    """The file is not what was written."""


class _Page(msgspec.Struct, frozen=True, array_like=True):
    """A page without its project; what was set aside has the name of its reason."""

    index: str
    releases: dict[str, tuple[File, ...]]
    rejections: tuple[tuple[str, str, str], ...]


class _Answer(msgspec.Struct, frozen=True, array_like=True):
    """The result of looking a project up on a platform; `pages` are positions."""

    platform: str
    pages: tuple[int, ...]
    unreachable: tuple[str, ...]


class _Project(msgspec.Struct, frozen=True, array_like=True):
    pages: tuple[_Page, ...]
    answers: tuple[_Answer, ...]


class _Body(msgspec.Struct, frozen=True, array_like=True):
    """What `Snapshot` has."""

    stack: str
    date: dt.date
    projects: dict[str, _Project]
    metadata: dict[str, Metadata | str]
    archives: dict[str, Archive | str]
    members: tuple[tuple[str, str, tuple[str] | str], ...]
    hashed: dict[str, tuple[str, int | None]]


def to_bytes(snapshot: Snapshot) -> bytes:
    """The content of the snapshot's file."""
    body = _Body(
        stack=snapshot.stack,
        date=snapshot.date,
        projects={name: _packed(snapshot.lookups[name]) for name in sorted(snapshot.lookups)},
        metadata=dict(sorted(snapshot.metadata.items())),
        archives=dict(sorted(snapshot.archives.items())),
        members=tuple((*key, snapshot.members[key]) for key in sorted(snapshot.members)),
        hashed=dict(sorted(snapshot.hashed.items())),
    )
    return _MAGIC + _FORMAT + lzma.compress(msgspec.msgpack.encode(body), preset=_PRESET)


def _unpack(content: bytes) -> Snapshot:
    if not content.startswith(_MAGIC):
        raise _DamagedError("It is not a snapshot.")
    if not content.startswith(_MAGIC + _FORMAT):
        raise _DamagedError("It was made by another version of ascend-lock.")
    unpacker = lzma.LZMADecompressor(lzma.FORMAT_XZ)
    try:
        packed = unpacker.decompress(content[len(_MAGIC) + len(_FORMAT) :], _LARGEST)
        if not unpacker.eof or unpacker.unused_data:
            raise lzma.LZMAError
    except lzma.LZMAError as error:
        raise _DamagedError("It was changed or truncated after it was made.") from error
    try:
        body = msgspec.msgpack.decode(packed, type=_Body)
        pages = (page for project in body.projects.values() for page in project.pages)
        files = (file for page in pages for rows in page.releases.values() for file in rows)
        hashes = (*(file.sha256 for file in files if file.sha256), *(sha256 for sha256, _ in body.hashed.values()))
        if not all(map(_sha256, hashes)):
            raise _DamagedError("It has a hash that is no sha256.")
        return Snapshot(
            stack=body.stack,
            date=body.date,
            lookups={NormalizedName(name): _unpacked(NormalizedName(name), row) for name, row in body.projects.items()},
            metadata=body.metadata,
            archives=body.archives,
            members={(key, path): member for key, path, member in body.members},
            hashed=body.hashed,
        )
    except (*ODD, LookupError) as error:
        raise _DamagedError("Its content has a different structure.") from error


def _packed(lookups: Mapping[str, Lookup]) -> _Project:
    pages: list[Page] = []
    answers: list[_Answer] = []
    for platform in sorted(lookups):
        lookup = lookups[platform]
        pages += [page for page in lookup.pages if page not in pages]
        answers.append(_Answer(platform, tuple(map(pages.index, lookup.pages)), lookup.unreachable))
    rows = (tuple((row.filename, row.reason.name, row.detail) for row in page.rejections) for page in pages)
    return _Project(
        tuple(_Page(page.index, dict(page.releases), aside) for page, aside in zip(pages, rows, strict=True)),
        tuple(answers),
    )


def _unpacked(project: NormalizedName, stored: _Project) -> dict[str, Lookup]:
    pages = [
        Page(
            project=project,
            index=page.index,
            releases=page.releases,
            rejections=tuple(Rejection(name, Reason[reason], detail) for name, reason, detail in page.rejections),
        )
        for page in stored.pages
    ]
    return {one.platform: Lookup(tuple(pages[at] for at in one.pages), one.unreachable) for one in stored.answers}
