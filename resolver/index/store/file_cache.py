"""Contents of files that need not be fetched: from the cache, or from the readings that ship with the facts.

Imports neither asyncio nor an HTTP client, for offline runs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, TypeVar

import msgspec

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

# A text is the reason why a file cannot be used, if it is in the bytes of the file.
_METADATA: Final[msgspec.msgpack.Decoder[CoreMetadata | str]] = msgspec.msgpack.Decoder(
    CoreMetadata | str
)
_ARCHIVE: Final[msgspec.msgpack.Decoder[Archive | str]] = msgspec.msgpack.Decoder(Archive | str)
_LINKAGE: Final[msgspec.msgpack.Decoder[Linkage | str]] = msgspec.msgpack.Decoder(Linkage | str)
_MEMBER: Final[msgspec.msgpack.Decoder[tuple[str] | str]] = msgspec.msgpack.Decoder(
    tuple[str] | str
)
_VARIANTS: Final = msgspec.msgpack.Decoder(VariantTable)

T = TypeVar("T")


class FileHash(msgspec.Struct, array_like=True, gc=False):
    """The hash of a file whose page has no sha256, with the validators of the answer."""

    sha256: str
    size: int
    etag: str
    modified: str

    def fill(self, file: File) -> File:
        """The file with this sha256 and size filled in."""
        return msgspec.structs.replace(file, sha256=self.sha256, size=self.size)


_HASHED: Final = msgspec.msgpack.Decoder(FileHash)


class FileCache:
    """Contents of files. Does not use the network; may be called from any thread.

    The readings of a project in the folder `readings` are loaded when the content of an archive of
    it is needed, those in the folder `linkage` when the binaries of a wheel of it are.
    """

    def __init__(
        self, cache: Cache, readings: Path | None = None, linkage: Path | None = None
    ) -> None:
        self._cache = cache
        self.shipped_linkage = ShippedLinkage(linkage)
        self._folder = readings
        self._readings: dict[str, dict[str, ArchiveReading]] = {}  # by project and sha256

    def metadata(self, file: File, release: FileRelease) -> CoreMetadata | None:
        """A wheel's metadata. Raises UnusableFile, and WrongRelease if it is of another release."""
        keys = (_metadata_key(file, separate=separate) for separate in (True, False))
        stored = (self._load("metadata", key, _METADATA) for key in keys)
        metadata = next((metadata for metadata in stored if metadata is not None), None)
        if metadata is not None:
            check_release(metadata.name, metadata.version, release, file.url)
        return metadata

    def store_metadata(
        self, file: File, value: CoreMetadata | UnusableFile, *, separate: bool
    ) -> None:
        """Store the metadata of a wheel, or why there is none; `separate` if it is from a `.metadata` file."""
        self._save("metadata", _metadata_key(file, separate=separate), value)

    def variants(self, file: File) -> VariantTable | None:
        """Return a list of variants, of an index or in a wheel, if its page has a hash and it was read before."""
        return self._cache.load("variants", file.sha256, _VARIANTS) if file.sha256 else None

    def store_variants(self, file: File, value: VariantTable) -> None:
        """Store a list of variants, if its page has a hash."""
        if file.sha256:
            self._cache.save("variants", file.sha256, value)

    def linkage(self, file: File) -> Linkage | None:
        """Return the linkage of a wheel, None if nobody has read it. Raises UnusableFile."""
        if file.filename.endswith("-any.whl"):
            return Linkage()  # it says that it has no binaries
        shipped = self.shipped_linkage.get(file)
        if shipped is not None:
            return shipped
        return self._load("linkage", file.sha256, _LINKAGE)

    def store_linkage(self, file: File, value: Linkage | UnusableFile) -> None:
        """Store the linkage of a wheel, or why its binaries cannot be used."""
        self._save("linkage", file.sha256, value)

    def archive(self, file: File) -> Archive | None:
        """The static contents of a source archive. Raises UnusableFile."""
        archive = self._load("archive", file.sha256, _ARCHIVE)
        if archive is None and (reading := self.reading(file)) is not None:
            return reading.archive
        return archive

    def store_archive(self, file: File, value: Archive | UnusableFile) -> None:
        """Store the static contents of a source archive, or why there are none."""
        self._save("archive", file.sha256, value)

    def member(self, file: File, path: str) -> str | None:
        """The text of a file in a source archive. Raises UnusableFile."""
        member = self._load("text", file.sha256 and f"{file.sha256}/{path}", _MEMBER)
        if member is None and (reading := self.reading(file)) is not None:
            return reading.member(path)
        return None if member is None else member[0]

    def store_member(self, file: File, path: str, value: str | UnusableFile) -> None:
        """Store the text of a file in a source archive, or why there is none."""
        member = (value,) if isinstance(value, str) else value
        self._save("text", file.sha256 and f"{file.sha256}/{path}", member)

    def reading(self, file: File) -> ArchiveReading | None:
        """The reading of an archive, None if there is none.

        Raises InputError if those of its project are invalid.
        """
        if self._folder is None:
            return None
        project = text.name(file.filename.rpartition("-")[0])
        if project not in self._readings:
            self._readings[project] = {
                reading.sha256: reading for reading in read_archives(self._folder, project)
            }
        reading = self._readings[project].get(file.sha256)
        return reading if reading is not None and reading.file == file.filename else None

    def hashed(self, file: File) -> FileHash | None:
        """The hash, at its last download, of a file whose page has none."""
        return self._cache.load("hash", file.url, _HASHED)

    def store_hash(self, file: File, value: FileHash) -> None:
        """Store the hash of a file whose page has none."""
        self._cache.save("hash", file.url, value)

    def _save(self, kind: str, key: str, value: object) -> None:
        """Store a value, or the reason why there is none; nothing without a key."""
        if key:
            self._cache.save(kind, key, str(value) if isinstance(value, UnusableFile) else value)

    def _load(self, kind: str, key: str, decoder: msgspec.msgpack.Decoder[T | str]) -> T | None:
        """A value, None without a key.

        Raises UnusableFile if it is the reason why there is none.
        """
        value = self._cache.load(kind, key, decoder) if key else None
        if isinstance(value, str):
            raise UnusableFile(value)
        return value


def _metadata_key(file: File, *, separate: bool) -> str:
    """The key of a wheel's metadata: with the hash of the `.metadata` file, or else with the address; "" for neither.

    Metadata that one index gives for a file must not be attributed to another, even if both list
    the same sha256.
    """
    if separate:
        return f"{file.sha256 or file.filename}\0{file.metadata}" if file.metadata else ""
    return f"{file.sha256}\0{file.url.partition('?')[0]}" if file.sha256 else ""
