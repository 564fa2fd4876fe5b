"""Parsed pages in a form that is read back in microseconds, release by release.

150 pages have 100,000 files, of which a lock looks at a few hundred. So a page has two parts: an index of its
releases, newest first, which is read, and their files, of which only those requested are read from disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple
from zlib import crc32

import msgspec
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.catalog.store.packed import ODD, reader
from resolver.errors import IndexFailure
from resolver.model import text
from resolver.model.release import File, Page, SetAside, Standing

# Reads so many bytes from an offset on; None if they are no longer available.
Read = Callable[[int, int], "bytes | None"]


class DamagedPageError(IndexFailure):
    """The files of a page are not what was stored. They are discarded: asking again reads the page anew."""


class _Index(msgspec.Struct, array_like=True, gc=False):
    project: str
    set_aside: tuple[SetAside, ...]
    releases: dict[str, tuple[int, int, int]]  # offset, length, CRC-32
    size: int
    standing: Standing


class Frozen(NamedTuple):
    """A page in two parts, the index of its releases and their files; neither has the name of the page's index."""

    releases: bytes
    files: bytes

    def read(self, offset: int, length: int) -> bytes:
        """Read from the files, as needed by `thaw`."""
        return self.files[offset : offset + length]


_encode = msgspec.msgpack.Encoder().encode
_read_index = reader(msgspec.msgpack.Decoder(_Index).decode)
_decode_files = msgspec.msgpack.Decoder(tuple[File, ...]).decode


class Releases(Mapping[str, tuple[File, ...]]):
    """Files by version text; a release's files are read and decoded when first needed.

    `lost` is called if they are not what was stored, before DamagedPageError is raised.
    """

    __slots__ = ("_files", "_lost", "_places", "_read")

    def __init__(self, places: dict[str, tuple[int, int, int]], read: Read, lost: Callable[[], None]) -> None:
        self._places = places
        self._read = read
        self._lost = lost
        self._files: dict[str, tuple[File, ...]] = {}

    def __getitem__(self, version: str) -> tuple[File, ...]:
        files = self._files.get(version)
        if files is None:
            offset, length, check = self._places[version]
            content = self._read(offset, length)
            try:
                files = _decode_files(content) if content is not None and crc32(content) == check else None
            except ODD:
                files = None
            if files is None:
                self._lost()
                raise DamagedPageError(
                    "A page in the cache is damaged.", hint="run the command again: the page will be fetched again"
                )
            self._files[version] = files
        return files

    def __contains__(self, version: object) -> bool:
        return version in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def freeze(page: Page) -> Frozen:
    """The page as its two parts."""
    places = {}
    parts = []
    size = 0
    for version in sorted(page.releases, key=_version, reverse=True):
        part = _encode(page.releases[version])
        places[version] = size, len(part), crc32(part)
        parts.append(part)
        size += len(part)
    return Frozen(_encode(_Index(page.project, page.set_aside, places, size, page.standing)), b"".join(parts))


def _version(spelling: str) -> Version:
    return text.version(spelling) or Version(spelling)  # a page has no other keys


def thaw(
    frozen: bytes,
    project: NormalizedName,
    index: str,
    read: Read,
    lost: Callable[[], None] = lambda: None,
    *,
    whole: bool = False,
) -> Page | None:
    """The page that was frozen; None if the bytes have another format or are of another project, or its files are gone.

    With `whole` every file is read, and the result is None also if one is not what was stored.
    """
    page = _read_index(frozen)
    if page is None or page.project != project or read(page.size, 0) is None:
        return None
    releases = Releases(page.releases, read, lost)
    if whole:
        try:
            list(releases.values())
        except DamagedPageError:
            return None
    return Page(
        project=project,
        index=index,
        releases=releases,
        set_aside=page.set_aside,
        standing=page.standing,
        newest_first=True,
    )
