"""Store contents of files in the cache, and return those that need not be requested.

These are the contents in the cache, and the readings that ship with the facts (`readings`,
`linkage_readings`). Neither asyncio nor an HTTP client is imported, so that offline runs start
quickly.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, TypeVar

import msgspec
from msgspec.msgpack import Decoder
from msgspec.structs import replace

from resolver.index.parse.distribution import FileRelease
from resolver.index.parse.metadata import check_release
from resolver.index.protocol import UnusableFile
from resolver.index.store.cache import Cache
from resolver.index.store.linkage_readings import ShippedLinkage
from resolver.index.store.readings import ArchiveReading, read_archives
from resolver.model import text
from resolver.model.linkage import Linkage
from resolver.model.release import Archive, CoreMetadata, File
from resolver.model.variant import VariantTable


class FileHash(msgspec.Struct, array_like=True, gc=False):
    """The sha256 of a file whose page has none, from its last download."""

    sha256: str
    # In bytes.
    size: int
    # The ETag and Last-Modified of the answer that had the file, with which its server is asked
    # whether it has changed.
    etag: str
    modified: str

    def fill(self, file: File) -> File:
        """Return the file with this sha256 and size filled in."""
        return replace(file, sha256=self.sha256, size=self.size)


# Decoders of contents. A `str` in place of a content is the reason why the file cannot be used. So
# the text of a member is in a tuple.
_METADATA: Final[Decoder[CoreMetadata | str]] = Decoder(CoreMetadata | str)
_ARCHIVE: Final[Decoder[Archive | str]] = Decoder(Archive | str)
_LINKAGE: Final[Decoder[Linkage | str]] = Decoder(Linkage | str)
_MEMBER: Final[Decoder[tuple[str] | str]] = Decoder(tuple[str] | str)
_VARIANTS: Final = Decoder(VariantTable)
_HASH: Final = Decoder(FileHash)

T = TypeVar("T")


class FileCache:
    """The contents of files. It may be used from any thread.

    A method returns None for a content that is not known, and raises UnusableFile if the stored
    content is the reason why the file cannot be used. A content of a file without a sha256 is not
    stored, since the file may change.
    """

    def __init__(
        self, cache: Cache, readings: Path | None = None, linkage: Path | None = None
    ) -> None:
        """Use a cache, and the folders with readings of source archives and of wheels' binaries.

        The readings of a project are loaded when a content of one of its files is first needed.
        """
        self._cache = cache
        self.shipped_linkage = ShippedLinkage(linkage)
        self._folder = readings
        # The readings of source archives, by project and sha256.
        self._readings: dict[str, dict[str, ArchiveReading]] = {}

    def metadata(self, file: File, release: FileRelease) -> CoreMetadata | None:
        """Return the metadata of a wheel; None if it is not known.

        Raises UnusableFile, and WrongRelease if the metadata is for another release.
        """
        for separate in (True, False):
            key = _metadata_key(file, separate=separate)
            metadata = self._load("metadata", key, _METADATA)
            if metadata is not None:
                check_release(metadata.name, metadata.version, release, file.url)
                return metadata
        return None

    def store_metadata(
        self, file: File, value: CoreMetadata | UnusableFile, *, separate: bool
    ) -> None:
        """Store the metadata of a wheel, or why it cannot be used.

        `separate` says that it is from a `.metadata` file (PEP 658) whose sha256 the page has.
        """
        self._save("metadata", _metadata_key(file, separate=separate), value)

    def variants(self, file: File) -> VariantTable | None:
        """Return the variants in an index's list or in a wheel (PEP 825); None if not known."""
        if not file.sha256:
            return None
        return self._cache.load("variants", file.sha256, _VARIANTS)

    def store_variants(self, file: File, value: VariantTable) -> None:
        """Store the variants in an index's list or in a wheel."""
        self._save("variants", file.sha256, value)

    def linkage(self, file: File) -> Linkage | None:
        """Return the linkage of a wheel; None if it is not known. Raises UnusableFile."""
        shipped = self.shipped_linkage.get(file)
        if shipped is not None:
            return shipped
        return self._load("linkage", file.sha256, _LINKAGE)

    def store_linkage(self, file: File, value: Linkage | UnusableFile) -> None:
        """Store the linkage of a wheel, or why its binaries cannot be used."""
        self._save("linkage", file.sha256, value)

    def archive(self, file: File) -> Archive | None:
        """Return the static metadata of a source archive; None if it is not known.

        Raises UnusableFile.
        """
        archive = self._load("archive", file.sha256, _ARCHIVE)
        if archive is not None:
            return archive
        reading = self.reading(file)
        return None if reading is None else reading.archive

    def store_archive(self, file: File, value: Archive | UnusableFile) -> None:
        """Store the static metadata of a source archive, or why the archive cannot be used."""
        self._save("archive", file.sha256, value)

    def member(self, file: File, path: str) -> str | None:
        """Return the text of the file at `path` in a source archive; None if it is not known.

        Raises UnusableFile.
        """
        member = self._load("text", _member_key(file, path), _MEMBER)
        if member is not None:
            return member[0]
        reading = self.reading(file)
        return None if reading is None else reading.member(path)

    def store_member(self, file: File, path: str, value: str | UnusableFile) -> None:
        """Store the text of the file at `path` in a source archive, or why it cannot be used."""
        member = (value,) if isinstance(value, str) else value
        self._save("text", _member_key(file, path), member)

    def reading(self, file: File) -> ArchiveReading | None:
        """Return the reading of a source archive that ships with the facts; None if there is none.

        Raises InputError if the readings of its project are invalid.
        """
        if self._folder is None:
            return None
        project = text.name(file.filename.rpartition("-")[0])
        readings = self._readings.get(project)
        if readings is None:
            readings = {reading.sha256: reading for reading in read_archives(self._folder, project)}
            self._readings[project] = readings
        reading = readings.get(file.sha256)
        if reading is None or reading.file != file.filename:
            return None
        return reading

    def hashed(self, file: File) -> FileHash | None:
        """Return the sha256 at its last download of a file whose page has none; None if unknown."""
        return self._cache.load("hash", file.url, _HASH)

    def store_hash(self, file: File, value: FileHash) -> None:
        """Store the sha256 of a file whose page has none."""
        self._cache.save("hash", file.url, value)

    def _save(self, kind: str, key: str, value: object) -> None:
        """Store a content, or the reason why it cannot be used. An empty key stores nothing."""
        if key:
            self._cache.save(kind, key, str(value) if isinstance(value, UnusableFile) else value)

    def _load(self, kind: str, key: str, decoder: Decoder[T | str]) -> T | None:
        """Return a stored content; None if there is none, or for an empty key.

        Raises UnusableFile if the stored value is a reason.
        """
        if not key:
            return None
        value = self._cache.load(kind, key, decoder)
        if isinstance(value, str):
            raise UnusableFile(value)
        return value


def _metadata_key(file: File, *, separate: bool) -> str:
    """Return the key of a wheel's metadata in the cache; empty if it must not be stored.

    It contains the sha256 of the `.metadata` file (`separate`), or otherwise the address of the
    wheel. So metadata that one index gives for a wheel is never used for another index, even if
    both list the same sha256 of the wheel.
    """
    if separate:
        return f"{file.sha256 or file.filename}\0{file.metadata}" if file.metadata else ""
    return f"{file.sha256}\0{file.url.partition('?')[0]}" if file.sha256 else ""


def _member_key(file: File, path: str) -> str:
    """Return the key of a file in a source archive; empty if it must not be stored."""
    return f"{file.sha256}/{path}" if file.sha256 else ""
