"""What the cache on disk has of files. Imports neither asyncio nor an HTTP client, for offline runs."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto

import msgspec

from resolver.catalog.cache import Cache
from resolver.catalog.filename import ARCHIVE_ENDINGS, wheel_parts
from resolver.catalog.metadata import Release, check_release
from resolver.catalog.meter import Meter
from resolver.catalog.packed import reader
from resolver.catalog.protocol import UnusableFile
from resolver.catalog.readings import Readings
from resolver.model import text
from resolver.model.release import Archive, File, Metadata
from resolver.profile import counts

_encode = msgspec.msgpack.Encoder().encode
# A text is the reason why a file cannot be used; only reasons that its very bytes give are kept.
_read_metadata: Callable[[bytes], Metadata | str | None] = reader(msgspec.msgpack.Decoder(Metadata | str).decode)
_read_archive: Callable[[bytes], Archive | str | None] = reader(msgspec.msgpack.Decoder(Archive | str).decode)


class NoMember(msgspec.Struct, array_like=True, gc=False):
    """Why an archive has no such text: its bytes say so."""

    why: str


_read_member: Callable[[bytes], str | NoMember | None] = reader(msgspec.msgpack.Decoder(str | NoMember).decode)


class Hashed(msgspec.Struct, array_like=True, gc=False):
    """A file that was hashed because its page has no sha256, with the validators of that answer."""

    sha256: str
    size: int
    etag: str
    modified: str

    def fill(self, file: File) -> File:
        """The file with this sha256 and size."""
        return msgspec.structs.replace(file, sha256=self.sha256, size=self.size)


_read_hashed = reader(msgspec.msgpack.Decoder(Hashed).decode)


class Told(Enum):
    """What vouches for the metadata of a wheel. A hash holds wherever it is named, a server's word for the server."""

    FILE = auto()  # the wheel as a whole, whose sha256 was that of the page
    BESIDE = auto()  # a `.metadata` file whose sha256 was that of the page
    SERVER = auto()  # the server's word alone


class Stored:
    """What the cache on disk and `readings` have of files. Asks no network, and may be called from any thread."""

    def __init__(self, cache: Cache, meter: Meter, readings: Readings | None = None) -> None:
        self._cache = cache
        self._meter = meter
        self._readings = readings or Readings()

    @counts("parsing")
    def metadata(self, file: File, release: Release) -> Metadata | None:
        """A wheel's metadata; raises what `Files.metadata` would."""
        known = (self._cache.get("metadata", key) for key in _metadata_keys(file).values())
        content = next((one for one in known if one is not None), None)
        found = None if content is None else _read_metadata(content)
        if found is None:
            return None
        self._meter.add(hits=1)
        if isinstance(found, str):
            raise UnusableFile(found)
        check_release(found.name, found.version, release, file.url)
        return found

    def has_metadata(self, file: File) -> bool:
        """Whether a wheel's metadata is here, as far as can be told without reading it."""
        return any(self._cache.has("metadata", key) for key in _metadata_keys(file).values())

    def keep_metadata(self, file: File, told: Told, value: Metadata | str) -> None:
        """Store the metadata of a wheel, or why there is none, for whoever names what vouches for it."""
        self.put("metadata", _metadata_keys(file).get(told, ""), value)

    @counts("parsing")
    def archive(self, file: File) -> Archive | None:
        """What is static in a source archive; raises what `Files.archive` would."""
        content = self._cache.get("archive", file.sha256) if file.sha256 else None
        found = None if content is None else _read_archive(content)
        if found is None:
            return self._readings.archive(file)
        self._meter.add(hits=1)
        if isinstance(found, str):
            raise UnusableFile(found)
        return found

    @counts("parsing")
    def member(self, file: File, path: str) -> str | None:
        """The text of a file in a source archive; raises what `Files.member` would."""
        content = self._cache.get("member", f"{file.sha256}/{path}") if file.sha256 else None
        found = None if content is None else _read_member(content)
        if found is None:
            return self._readings.member(file, path)
        self._meter.add(hits=1)
        if isinstance(found, NoMember):
            raise UnusableFile(found.why)
        return found

    def keep_member(self, file: File, path: str, value: str | NoMember) -> None:
        """Store the text of a file in a source archive, or why there is none."""
        self.put("member", f"{file.sha256}/{path}" if file.sha256 else "", value)

    def hashed(self, file: File) -> Hashed | None:
        """The digest that a file without one had when it was last downloaded."""
        content = self._cache.get("hash", file.url)
        return None if content is None else _read_hashed(content)

    def put(self, kind: str, key: str, value: object) -> None:
        """Store a value where there is a key for it."""
        if key:
            self._cache.put(kind, key, _encode(value))


def release_of(file: File, is_project: Callable[[str], bool]) -> Release:
    """What a file's name says it is.

    Where a source archive's name can be split in several ways, the first whose
    project `is_project` counts, else the first.
    """
    if (parts := wheel_parts(file.filename)) is not None:
        return Release(file.filename, text.name(parts.distribution), parts.version)
    stem = next((file.filename.removesuffix(end) for end in ARCHIVE_ENDINGS if file.filename.endswith(end)), "")
    splits = [
        Release(file.filename, text.name(stem[:at]), stem[at + 1 :])
        for at, char in enumerate(stem)
        if char == "-" and at and text.version(stem[at + 1 :]) is not None
    ]
    if not splits:
        raise UnusableFile(f"{file.filename} has no name and version that can be read")
    return next((split for split in splits if is_project(split.project)), splits[0])


def _metadata_keys(file: File) -> dict[Told, str]:
    """The keys under which a wheel's metadata may be, best first.

    What one index says of a file must not be what another is taken to say, though both name the same sha256.
    """
    keys = {}
    if file.sha256:
        keys[Told.FILE] = f"whole {file.sha256}"
    if file.metadata:
        keys[Told.BESIDE] = f"{file.sha256 or file.filename}\0{file.metadata}"
    if file.sha256:
        keys[Told.SERVER] = f"{file.sha256}\0{file.url.partition('?')[0]}"
    return keys
