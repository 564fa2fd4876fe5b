"""Contents of files that need not be requested.

They are from the cache, or from the readings that ship with the facts. Imports neither asyncio nor
an HTTP client, for offline runs.
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
    """The hash of a file whose page has no sha256."""

    sha256: str
    size: int
    # The validators of the answer that had the file.
    etag: str
    modified: str

    def fill(self, file: File) -> File:
        """Return the file with this sha256 and size filled in."""
        return replace(file, sha256=self.sha256, size=self.size)


# A text is the reason why a file cannot be used, if it is in the bytes of the file. So the text of
# a member is in a tuple.
_METADATA: Final[Decoder[CoreMetadata | str]] = Decoder(CoreMetadata | str)
_ARCHIVE: Final[Decoder[Archive | str]] = Decoder(Archive | str)
_LINKAGE: Final[Decoder[Linkage | str]] = Decoder(Linkage | str)
_MEMBER: Final[Decoder[tuple[str] | str]] = Decoder(tuple[str] | str)
_VARIANTS: Final = Decoder(VariantTable)
_HASH: Final = Decoder(FileHash)

T = TypeVar("T")


class FileCache:
    """Contents of files. May be used from any thread.

    What cannot be stored is not: a content without a hash may change.
    """

    def __init__(
        self, cache: Cache, readings: Path | None = None, linkage: Path | None = None
    ) -> None:
        """Use a cache, and the folders of readings of archives and of wheels' binaries.

        The readings of a project are loaded when a file of it is first asked for.
        """
        self._cache = cache
        self.shipped_linkage = ShippedLinkage(linkage)
        self._folder = readings
        # By project and sha256.
        self._readings: dict[str, dict[str, ArchiveReading]] = {}

    def metadata(self, file: File, release: FileRelease) -> CoreMetadata | None:
        """Return a wheel's metadata, None if it is not known.

        Raises UnusableFile, and WrongRelease if the metadata is of another release.
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
        """Store the metadata of a wheel, or why there is none.

        `separate` says that it is from a `.metadata` file.
        """
        self._save("metadata", _metadata_key(file, separate=separate), value)

    def variants(self, file: File) -> VariantTable | None:
        """Return a list of variants, of an index or in a wheel; None if it is not known."""
        if not file.sha256:
            return None
        return self._cache.load("variants", file.sha256, _VARIANTS)

    def store_variants(self, file: File, value: VariantTable) -> None:
        """Store a list of variants."""
        self._save("variants", file.sha256, value)

    def linkage(self, file: File) -> Linkage | None:
        """Return the linkage of a wheel, None if it is not known. Raises UnusableFile."""
        shipped = self.shipped_linkage.get(file)
        if shipped is not None:
            return shipped
        return self._load("linkage", file.sha256, _LINKAGE)

    def store_linkage(self, file: File, value: Linkage | UnusableFile) -> None:
        """Store the linkage of a wheel, or why its binaries cannot be used."""
        self._save("linkage", file.sha256, value)

    def archive(self, file: File) -> Archive | None:
        """Return the static contents of a source archive, None if they are not known.

        Raises UnusableFile.
        """
        archive = self._load("archive", file.sha256, _ARCHIVE)
        if archive is not None:
            return archive
        reading = self.reading(file)
        return None if reading is None else reading.archive

    def store_archive(self, file: File, value: Archive | UnusableFile) -> None:
        """Store the static contents of a source archive, or why there are none."""
        self._save("archive", file.sha256, value)

    def member(self, file: File, path: str) -> str | None:
        """Return the text of a file in a source archive, None if it is not known.

        Raises UnusableFile.
        """
        member = self._load("text", _member_key(file, path), _MEMBER)
        if member is not None:
            return member[0]
        reading = self.reading(file)
        return None if reading is None else reading.member(path)

    def store_member(self, file: File, path: str, value: str | UnusableFile) -> None:
        """Store the text of a file in a source archive, or why there is none."""
        member = (value,) if isinstance(value, str) else value
        self._save("text", _member_key(file, path), member)

    def reading(self, file: File) -> ArchiveReading | None:
        """Return the reading of an archive, None if there is none.

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
        """Return the hash, at its last download, of a file whose page has none."""
        return self._cache.load("hash", file.url, _HASH)

    def store_hash(self, file: File, value: FileHash) -> None:
        """Store the hash of a file whose page has none."""
        self._cache.save("hash", file.url, value)

    def _save(self, kind: str, key: str, value: object) -> None:
        """Store a content, or the reason why there is none; nothing without a key."""
        if key:
            self._cache.save(kind, key, str(value) if isinstance(value, UnusableFile) else value)

    def _load(self, kind: str, key: str, decoder: Decoder[T | str]) -> T | None:
        """Return a content, None without a key.

        Raises UnusableFile if the reason is stored why there is none.
        """
        if not key:
            return None
        value = self._cache.load(kind, key, decoder)
        if isinstance(value, str):
            raise UnusableFile(value)
        return value


def _metadata_key(file: File, *, separate: bool) -> str:
    """Return the key of a wheel's metadata, empty if it cannot be stored.

    It has the hash of the `.metadata` file, or else the address: metadata that one index gives for
    a file must not be attributed to another, even if both list the same sha256.
    """
    if separate:
        return f"{file.sha256 or file.filename}\0{file.metadata}" if file.metadata else ""
    return f"{file.sha256}\0{file.url.partition('?')[0]}" if file.sha256 else ""


def _member_key(file: File, path: str) -> str:
    """Return the key of a file in a source archive, empty if it cannot be stored."""
    return f"{file.sha256}/{path}" if file.sha256 else ""
