"""Contents of files that need not be fetched: those in the cache, and earlier readings of source archives.

Imports neither asyncio nor an HTTP client, for offline runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Final, TypeVar

import msgspec
from msgspec.structs import asdict
from packaging.utils import NormalizedName

from resolver import files
from resolver.errors import InputError
from resolver.index.parse.distribution import ARCHIVE_ENDINGS, wheel_parts
from resolver.index.parse.metadata import Release, check_release, check_texts
from resolver.index.protocol import UnusableFile
from resolver.index.store.cache import Cache
from resolver.json_text import json_text
from resolver.model import text
from resolver.model.release import Archive, File, Metadata

# A text is the reason why a file cannot be used; only reasons that lie in its bytes are stored.
_METADATA: Final[msgspec.msgpack.Decoder[Metadata | str]] = msgspec.msgpack.Decoder(Metadata | str)
_ARCHIVE: Final[msgspec.msgpack.Decoder[Archive | str]] = msgspec.msgpack.Decoder(Archive | str)
_MEMBER: Final[msgspec.msgpack.Decoder[tuple[str] | str]] = msgspec.msgpack.Decoder(tuple[str] | str)

T = TypeVar("T")


class Hashed(msgspec.Struct, array_like=True, gc=False):
    """The hash of a file whose page has no sha256, with the validators of the answer."""

    sha256: str
    size: int
    etag: str
    modified: str

    def fill(self, file: File) -> File:
        """The file with this sha256 and size filled in."""
        return msgspec.structs.replace(file, sha256=self.sha256, size=self.size)


_HASHED: Final = msgspec.msgpack.Decoder(Hashed)


class Told(Enum):
    """What vouches for the metadata of a wheel. A hash is valid everywhere, a server's word only for that server."""

    FILE = "the whole wheel, whose sha256 matched the page"
    BESIDE = "a `.metadata` file whose sha256 matched the page"
    SERVER = "the server's word"


class FileCache:
    """Contents of files in the cache and in `readings`. Does not use the network; may be called from any thread."""

    def __init__(self, cache: Cache, readings: Readings | None = None) -> None:
        self._cache = cache
        self._readings = readings or Readings()

    def metadata(self, file: File, release: Release) -> Metadata | None:
        """A wheel's metadata. Raises like `Files.metadata`."""
        known = (self._load("metadata", key, _METADATA) for key in _metadata_keys(file).values())
        found = next((one for one in known if one is not None), None)
        if found is not None:
            check_release(found.name, found.version, release, file.url)
        return found

    def keep_metadata(self, file: File, told: Told, value: Metadata | UnusableFile) -> None:
        """Store the metadata of a wheel, or why there is none, under what vouches for it."""
        self._keep("metadata", _metadata_keys(file).get(told, ""), value)

    def archive(self, file: File) -> Archive | None:
        """The static contents of a source archive. Raises like `Files.archive`."""
        found = self._load("archive", file.sha256, _ARCHIVE)
        if found is None and (row := self._readings.of(file)) is not None:
            return row.archive
        return found

    def keep_archive(self, file: File, value: Archive | UnusableFile) -> None:
        """Store the static contents of a source archive, or why there are none."""
        self._keep("archive", file.sha256, value)

    def member(self, file: File, path: str) -> str | None:
        """The text of a file in a source archive. Raises like `Files.member`."""
        found = self._load("text", file.sha256 and f"{file.sha256}/{path}", _MEMBER)
        if found is None and (row := self._readings.of(file)) is not None:
            return row.member(path)
        return None if found is None else found[0]

    def keep_member(self, file: File, path: str, value: str | UnusableFile) -> None:
        """Store the text of a file in a source archive, or why there is none."""
        told = (value,) if isinstance(value, str) else value
        self._keep("text", file.sha256 and f"{file.sha256}/{path}", told)

    def hashed(self, file: File) -> Hashed | None:
        """The digest, at its last download, of a file whose page has none."""
        return self._cache.load("hash", file.url, _HASHED)

    def keep_hashed(self, file: File, value: Hashed) -> None:
        """Store the digest of a file whose page has none."""
        self._cache.save("hash", file.url, value)

    def _keep(self, kind: str, key: str, value: object) -> None:
        """Store a value, or the reason why there is none; nothing without a key."""
        if key:
            self._cache.save(kind, key, str(value) if isinstance(value, UnusableFile) else value)

    def _load(self, kind: str, key: str, decoder: msgspec.msgpack.Decoder[T | str]) -> T | None:
        """A value, None without a key. Raises UnusableFile if it is the reason why there is none."""
        found = self._cache.load(kind, key, decoder) if key else None
        if isinstance(found, str):
            raise UnusableFile(found)
        return found


def release_of(file: File, is_project: Callable[[str], bool]) -> Release:
    """The release that a file's name says it is of.

    If a source archive's name can be split in several ways, the first split whose project `is_project` counts,
    otherwise the first.
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
    """The keys under which a wheel's metadata may be stored, best first.

    What one index says about a file must not be attributed to another, even if both name the same sha256.
    """
    keys = {}
    if file.sha256:
        keys[Told.FILE] = f"whole {file.sha256}"
    if file.metadata:
        keys[Told.BESIDE] = f"{file.sha256 or file.filename}\0{file.metadata}"
    if file.sha256:
        keys[Told.SERVER] = f"{file.sha256}\0{file.url.partition('?')[0]}"
    return keys


# Earlier readings of source archives, by sha256. They ship with the facts, so that nobody has to download the archives:
# one of vllm has 20 to 60 MB, of which a lock needs a page of text. A reading is valid only for the bytes that were
# read: a file with another sha256 is read itself.

_LARGEST: Final = 16 << 20


class _Static(msgspec.Struct, rename="kebab", forbid_unknown_fields=True):
    """`Metadata`, as stored."""

    name: str
    version: str
    requires_python: str
    requires_dist: tuple[str, ...]
    provides_extra: tuple[str, ...]


class Reading(msgspec.Struct, rename="kebab", forbid_unknown_fields=True):
    """The `Archive` of one file, and the texts of members, as lines."""

    file: str
    sha256: str
    metadata: _Static | None
    build_requires: tuple[str, ...] | None
    why_dynamic: str
    texts: dict[str, list[str]]

    @property
    def archive(self) -> Archive:
        """The static contents of the archive."""
        metadata = None if self.metadata is None else Metadata(**asdict(self.metadata))
        return Archive(metadata, self.build_requires, self.why_dynamic)

    def member(self, path: str) -> str | None:
        """The text of a file in the archive, None if it was not read."""
        return "\n".join(self.texts[path]) if path in self.texts else None


class _Readings(msgspec.Struct, forbid_unknown_fields=True):
    archives: list[Reading]


_decode = msgspec.json.Decoder(_Readings).decode


class Readings:
    """The readings in a folder, one `PROJECT.json` each. They are loaded when an archive of the project is needed.

    May be used from any thread. Without a folder there are none.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._known: dict[str, dict[str, Reading]] = {}

    def of(self, file: File) -> Reading | None:
        """The reading of an archive, None if there is none. Raises InputError if those of the project are invalid."""
        if self._folder is None:
            return None
        project = text.name(file.filename.rpartition("-")[0])
        if project not in self._known:
            self._known[project] = {row.sha256: row for row in read_readings(self._folder, project)}
        row = self._known[project].get(file.sha256)
        return row if row is not None and row.file == file.filename else None


def read_readings(folder: Path, project: NormalizedName) -> list[Reading]:
    """The readings of a project, none if there is no file. Raises InputError."""
    path = folder / f"{project}.json"
    try:
        found = _decode(files.read(path, _LARGEST)).archives
        for row in found:
            _check(row, project)
    except FileNotFoundError:
        return []
    except (OSError, ValueError, RecursionError, UnusableFile) as error:
        again = f"make it again: ascend-lock facts read {project} --anew (without the file, archives are downloaded)"
        raise InputError(
            f"the recorded readings of the archives of {project} cannot be used",
            where=str(path),
            why=getattr(error, "strerror", None) or str(error),
            hint=files.advice(getattr(error, "errno", None), again),
        ) from None
    return found


def _check(row: Reading, project: NormalizedName) -> None:
    """Raises ValueError and UnusableFile if a row cannot result from reading an archive of the project."""
    if text.name(row.file.rpartition("-")[0]) != project:
        raise ValueError(f"{row.file} is not an archive of {project}")
    if (metadata := row.archive.metadata) is not None:
        if text.name(metadata.name) != project:
            raise ValueError(f"the metadata of {row.file} is that of {metadata.name}")
        check_texts(metadata, row.file)


def reading(file: File, archive: Archive, texts: Mapping[str, str]) -> Reading:
    """The stored form of an archive that was read."""
    static = None if archive.metadata is None else _Static(**asdict(archive.metadata))
    lines = {path: content.split("\n") for path, content in sorted(texts.items())}
    return Reading(file.filename, file.sha256, static, archive.build_requires, archive.why_dynamic, lines)


def write_readings(rows: Sequence[Reading], folder: Path, project: NormalizedName) -> None:
    """Write a project's file atomically. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    content = json_text(msgspec.to_builtins(_Readings(list(rows))), indent=1, sort_keys=False) + "\n"
    files.write(folder / f"{project}.json", content.encode())
