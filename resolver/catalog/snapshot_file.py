r"""The file of a snapshot: everything that locking and explaining one stack requested.

    magic, a line with the format's number
    sha256 of the rest
    length of the next part, 4 bytes
    xz of msgpack: everything but hashes
    the files' sha256, 32 bytes each

Hashes are separate because they do not compress and would take most of the time to unpack. A page is stored by
column, with `\0` for the version in its file names, and is read when needed. The same snapshot gives the same bytes.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import lzma
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import accumulate
from pathlib import Path
from typing import Final, Generic, TypeVar

import msgspec
from packaging.utils import NormalizedName

from resolver import disk
from resolver.catalog.parse.uploaded import moment_text
from resolver.catalog.protocol import Lookup
from resolver.catalog.snapshot import Snapshot, Unusable
from resolver.catalog.store.cache import ODD
from resolver.errors import InputError
from resolver.model.release import Archive, File, Metadata, Page, Reason, SetAside

_MAGIC: Final = b"ascend-lock snapshot "
_FORMAT: Final = b"1\n"
_DIGEST: Final = 32
# A small dictionary keeps the reader's memory low; no context bits for alignment, there is none.
_XZ: Final = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "dict_size": 1 << 23, "lc": 4, "pb": 0}]

_LARGEST: Final = 1 << 30  # bytes when unpacked; the shipped ones have a hundredth
# What content with the right length and digest can raise if it was not written by this version.
_ODD: Final = (*ODD, LookupError, ValueError, OverflowError, TypeError)

_K = TypeVar("_K")
_S = TypeVar("_S")
_V = TypeVar("_V")


def read(path: Path) -> Snapshot:
    """Read a snapshot's file. Raises InputError if it is missing, damaged or of another format."""
    try:
        return _unpack(disk.read(path, _LARGEST))
    except OSError as error:
        raise InputError(
            "The snapshot cannot be read.",
            where=str(path),
            why=error.strerror or str(error),
            hint=disk.advice(error.errno, f"make it on a machine with network access: make snapshot STACK={path.stem}"),
        ) from error
    except _DamagedError as error:
        raise _unusable(str(error), path) from error


def _unusable(why: str, path: Path | None = None) -> InputError:
    return InputError(
        "The snapshot cannot be used.",
        where=str(path or ""),
        why=why,
        hint="restore the file, or make it again on a machine with network access: "
        f"make snapshot STACK={path.stem if path else '…'}",
    )


def write(snapshot: Snapshot, path: Path) -> None:
    """Write the snapshot's file atomically."""
    disk.write(path, to_bytes(snapshot))


def to_bytes(snapshot: Snapshot) -> bytes:
    """The content of the snapshot's file."""
    return _pack(snapshot)


class _Page(msgspec.Struct, frozen=True, array_like=True):
    r"""One page by column. `names` are file names with `\0` for the version; a file is a number in it."""

    index: str
    names: tuple[str, ...]
    requires_pythons: tuple[str, ...]
    versions: tuple[str, ...]
    counts: tuple[int, ...]  # files for each version
    files: tuple[int, ...]
    requires_python: tuple[int, ...]
    sizes: tuple[int | None, ...]  # empty if the page has no sizes
    uploads: tuple[int | None, ...]  # seconds since the previous file; empty if the page has none
    yanked: tuple[tuple[int, str], ...]
    first_hash: int
    without_hash: tuple[int, ...]
    set_aside: tuple[tuple[str, str, str], ...]


class _Answer(msgspec.Struct, frozen=True, array_like=True):
    """The result of looking a project up on some platforms; `pages` are positions."""

    platforms: tuple[str, ...]
    pages: tuple[int, ...]
    unreachable: tuple[str, ...]


class _Project(msgspec.Struct, frozen=True, array_like=True):
    pages: tuple[_Page, ...]
    answers: tuple[_Answer, ...]


_Key = int | str  # the position of a hash, or the name of a file without one


class _Body(msgspec.Struct, frozen=True, array_like=True):
    stack: str
    date: dt.date
    projects: dict[str, msgspec.Raw]
    metadata: tuple[tuple[_Key, msgspec.Raw], ...]
    archives: tuple[tuple[_Key, msgspec.Raw], ...]
    members: tuple[tuple[_Key, str, msgspec.Raw], ...]
    hashed: tuple[tuple[_Key, int, int | None], ...]


class _DamagedError(Exception):
    """The file is not what was written."""


class _Lazy(Mapping[_K, _V], Generic[_K, _S, _V]):
    """A mapping whose values are decoded once, when needed."""

    def __init__(self, stored: Mapping[_K, _S], decode: Callable[[_K, _S], _V]) -> None:
        self._stored = stored
        self._decode = decode
        self._decoded: dict[_K, _V] = {}

    def __getitem__(self, key: _K) -> _V:
        if key not in self._decoded:
            stored = self._stored[key]
            try:
                self._decoded[key] = self._decode(key, stored)
            except _ODD as error:
                raise _unusable("its content has a different structure") from error
        return self._decoded[key]

    def __iter__(self) -> Iterator[_K]:
        return iter(self._stored)

    def __len__(self) -> int:
        return len(self._stored)


class _Hashes:
    """The hashes in the order of the pages, then those not on any page."""

    def __init__(self) -> None:
        self.raw = bytearray()
        self._positions: dict[str, int] = {}

    def append(self, sha256: str) -> int:
        """Append a hash, known or not."""
        position = len(self.raw) // _DIGEST
        self.raw += bytes.fromhex(sha256)
        self._positions.setdefault(sha256, position)
        return position

    def position(self, sha256: str) -> int:
        """The position of a hash, which is added if necessary."""
        known = self._positions.get(sha256)
        return self.append(sha256) if known is None else known

    def key(self, key: str) -> _Key:
        """How a key of `key_of` is stored."""
        return self.position(key) if re.fullmatch(r"[0-9a-f]{64}", key) else key


def _pack(snapshot: Snapshot) -> bytes:
    hashes = _Hashes()
    encode = msgspec.msgpack.Encoder().encode
    projects = {
        project: msgspec.Raw(encode(_pack_project(snapshot.lookups[project], hashes)))
        for project in sorted(snapshot.lookups)
    }

    def row(answer: object) -> msgspec.Raw:
        return msgspec.Raw(encode(answer.why if isinstance(answer, Unusable) else answer))

    def rows(answers: Mapping[str, object]) -> list[tuple[_Key, msgspec.Raw]]:
        # By position, so that the answers about one project are together and compress well.
        keyed = {hashes.key(key): row(answers[key]) for key in sorted(answers)}
        return [(key, keyed[key]) for key in sorted(keyed, key=_order)]

    members = {
        (hashes.key(key), path): row((member,) if isinstance(member, str) else member)
        for (key, path), member in sorted(snapshot.members.items(), key=lambda item: item[0])
    }
    hashed = {
        hashes.key(key): (hashes.position(sha256), size) for key, (sha256, size) in sorted(snapshot.hashed.items())
    }
    body = encode(
        (
            snapshot.stack,
            snapshot.date,
            projects,
            rows(snapshot.metadata),
            rows(snapshot.archives),
            [(*key, members[key]) for key in sorted(members, key=lambda key: (_order(key[0]), key[1]))],
            [(key, *hashed[key]) for key in sorted(hashed, key=_order)],
        )
    )
    packed = lzma.compress(body, format=lzma.FORMAT_XZ, check=lzma.CHECK_NONE, filters=_XZ)
    payload = len(packed).to_bytes(4, "big") + packed + hashes.raw
    return _MAGIC + _FORMAT + hashlib.sha256(payload).digest() + payload


def _order(key: _Key) -> tuple[int, str]:
    return (key, "") if isinstance(key, int) else (1 << 32, key)


def _unpack(content: bytes) -> Snapshot:
    if not content.startswith(_MAGIC):
        raise _DamagedError("It is not a snapshot.")
    start = len(_MAGIC) + len(_FORMAT)
    if content[len(_MAGIC) : start] != _FORMAT:
        raise _DamagedError("It was made by another version of ascend-lock.")
    view = memoryview(content)
    payload = view[start + _DIGEST :]
    if hashlib.sha256(payload).digest() != content[start : start + _DIGEST]:
        raise _DamagedError("It was changed or truncated after it was made.")
    length = int.from_bytes(payload[:4], "big")
    hashes = payload[4 + length :]
    try:
        unpacker = lzma.LZMADecompressor(lzma.FORMAT_XZ)
        packed = unpacker.decompress(payload[4 : 4 + length], _LARGEST)
        if not unpacker.eof:
            raise _DamagedError(f"Its content is truncated, or larger than {_LARGEST >> 20} MiB.")
        body = msgspec.msgpack.decode(packed, type=_Body)
    except (lzma.LZMAError, *ODD) as error:
        raise _DamagedError(str(error)) from error

    def sha256(position: int) -> str:
        if not 0 <= position < len(hashes) // _DIGEST:
            raise LookupError(position)
        return hashes[_DIGEST * position : _DIGEST * (position + 1)].hex()

    try:
        return _snapshot(body, sha256)
    except LookupError as error:
        raise _DamagedError("It refers to hashes that it does not have.") from error


def _snapshot(body: _Body, sha256: Callable[[int], str]) -> Snapshot:
    def key(stored: _Key) -> str:
        return sha256(stored) if isinstance(stored, int) else stored

    return Snapshot(
        stack=body.stack,
        date=body.date,
        lookups=_Lazy(
            {NormalizedName(project): raw for project, raw in body.projects.items()},
            lambda project, raw: _unpack_project(project, _PROJECT.decode(raw), sha256),
        ),
        metadata=_Lazy({key(row[0]): row[1] for row in body.metadata}, _unpack_metadata),
        archives=_Lazy({key(row[0]): row[1] for row in body.archives}, _unpack_archive),
        members=_Lazy({(key(row[0]), row[1]): row[2] for row in body.members}, _unpack_member),
        hashed={key(row[0]): (sha256(row[1]), row[2]) for row in body.hashed},
    )


_PROJECT: Final = msgspec.msgpack.Decoder(_Project)
# An answer is stored as an array, a refusal as its text.
_METADATA: Final = msgspec.msgpack.Decoder(Metadata | str)
_ARCHIVE: Final = msgspec.msgpack.Decoder(Archive | str)
_MEMBER: Final = msgspec.msgpack.Decoder(tuple[str] | str)


def _unpack_metadata(_: str, raw: msgspec.Raw) -> Metadata | Unusable:
    value = _METADATA.decode(raw)
    return Unusable(value) if isinstance(value, str) else value


def _unpack_archive(_: str, raw: msgspec.Raw) -> Archive | Unusable:
    value = _ARCHIVE.decode(raw)
    return Unusable(value) if isinstance(value, str) else value


def _unpack_member(_: tuple[str, str], raw: msgspec.Raw) -> str | Unusable:
    value = _MEMBER.decode(raw)
    return Unusable(value) if isinstance(value, str) else value[0]


def _pack_project(lookups: Mapping[str, Lookup], hashes: _Hashes) -> _Project:
    pages: list[Page] = []
    answers: dict[tuple[tuple[int, ...], tuple[str, ...]], list[str]] = {}
    for platform in sorted(lookups):
        lookup = lookups[platform]
        for page in lookup.pages:
            if page not in pages:
                pages.append(page)
        positions = tuple(pages.index(page) for page in lookup.pages)
        answers.setdefault((positions, lookup.unreachable), []).append(platform)
    return _Project(
        tuple(_pack_page(page, hashes) for page in pages),
        tuple(_Answer(tuple(platforms), *answer) for answer, platforms in answers.items()),
    )


def _unpack_project(project: NormalizedName, stored: _Project, sha256: Callable[[int], str]) -> dict[str, Lookup]:
    pages = [_unpack_page(project, page, sha256) for page in stored.pages]
    return {
        platform: Lookup(tuple(pages[position] for position in answer.pages), answer.unreachable)
        for answer in stored.answers
        for platform in answer.platforms
    }


def _pack_page(page: Page, hashes: _Hashes) -> _Page:
    names: dict[str, int] = {}
    requires_pythons: dict[str, int] = {}
    rows = [(version, file) for version, files in page.releases.items() for file in files]
    uploads = [_seconds(file.uploaded) for _, file in rows]
    first_hash = len(hashes.raw) // _DIGEST
    for _, file in rows:
        if file.sha256:
            hashes.append(file.sha256)
    return _Page(
        index=page.index,
        versions=tuple(page.releases),
        counts=tuple(map(len, page.releases.values())),
        files=tuple(
            names.setdefault(file.filename.replace(f"-{version}", "-\0", 1), len(names)) for version, file in rows
        ),
        names=tuple(names),
        requires_python=tuple(
            requires_pythons.setdefault(file.requires_python, len(requires_pythons)) for _, file in rows
        ),
        requires_pythons=tuple(requires_pythons),
        sizes=_column(file.size for _, file in rows),
        uploads=_column(_differences(uploads)),
        yanked=tuple((row, file.yanked) for row, (_, file) in enumerate(rows) if file.yanked is not None),
        first_hash=first_hash,
        without_hash=tuple(row for row, (_, file) in enumerate(rows) if not file.sha256),
        set_aside=tuple((row.filename, row.reason.name, row.detail) for row in page.set_aside),
    )


def _unpack_page(project: NormalizedName, stored: _Page, sha256: Callable[[int], str]) -> Page:
    return Page(
        project=project,
        index=stored.index,
        releases=_Releases(stored, sha256),
        set_aside=tuple(SetAside(filename, Reason[reason], detail) for filename, reason, detail in stored.set_aside),
    )


class _Releases(Mapping[str, tuple[File, ...]]):
    """The releases of a stored page; some projects have thousands, few of which are looked at."""

    def __init__(self, page: _Page, sha256: Callable[[int], str]) -> None:
        self._page = page
        self._sha256 = sha256
        ends = tuple(accumulate(page.counts))
        if sum(page.counts) != len(page.files) or any(count < 0 for count in page.counts):
            raise ValueError("there are more or fewer files than the releases have")
        self._rows = {
            version: range(end - count, end)
            for version, count, end in zip(page.versions, page.counts, ends, strict=True)
        }
        self._yanked = dict(page.yanked)
        self._uploads = tuple(accumulate(difference or 0 for difference in page.uploads))
        self._known: dict[str, tuple[File, ...]] = {}

    def __getitem__(self, version: str) -> tuple[File, ...]:
        if version not in self._known:
            rows = self._rows[version]
            try:
                self._known[version] = tuple(self._file(version, row) for row in rows)
            except _ODD as error:
                raise _unusable("its content has a different structure") from error
        return self._known[version]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def _file(self, version: str, row: int) -> File:
        page = self._page
        before = bisect_left(page.without_hash, row)  # rows before this one without a hash
        has_hash = row not in page.without_hash[before : before + 1]
        return File(
            filename=page.names[page.files[row]].replace("\0", version),
            sha256=self._sha256(page.first_hash + row - before) if has_hash else "",
            size=page.sizes[row] if page.sizes else None,
            requires_python=page.requires_pythons[page.requires_python[row]],
            yanked=self._yanked.get(row),
            uploaded=moment_text(self._uploads[row]) if page.uploads and page.uploads[row] is not None else "",
        )


def _column(values: Iterable[int | None]) -> tuple[int | None, ...]:
    column = tuple(values)
    return column if any(value is not None for value in column) else ()


def _differences(moments: Iterable[int | None]) -> Iterator[int | None]:
    before = 0
    for moment in moments:
        yield None if moment is None else moment - before
        before = before if moment is None else moment


def _seconds(uploaded: str) -> int | None:
    return int(dt.datetime.fromisoformat(uploaded.replace("Z", "+00:00")).timestamp()) if uploaded else None
