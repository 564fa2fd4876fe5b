"""Earlier readings of source archives, by sha256. They ship with the facts, so that nobody has to download them.

An archive of vllm has 20 to 60 MB, of which a lock needs a page of text. A reading is valid only for the bytes that
were read: a file with another sha256 is read itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import asdict
from packaging.utils import NormalizedName

from resolver import files
from resolver.errors import InputError
from resolver.index.parse.metadata import check_texts
from resolver.index.protocol import UnusableFile
from resolver.json_text import json_text
from resolver.model import text
from resolver.model.release import Archive, File, Metadata

_ENDING: Final = ".json"
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
        return Archive(
            None if self.metadata is None else Metadata(**asdict(self.metadata)), self.build_requires, self.why_dynamic
        )


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

    def archive(self, file: File) -> Archive | None:
        """The static contents of an archive, None if unknown. Raises InputError if the readings are invalid."""
        row = self._of(file)
        return None if row is None else row.archive

    def member(self, file: File, path: str) -> str | None:
        """The text of a file in an archive, None if unknown. Raises InputError like `archive`."""
        row = self._of(file)
        lines = None if row is None else row.texts.get(path)
        return None if lines is None else "\n".join(lines)

    def _of(self, file: File) -> Reading | None:
        project = text.name(file.filename.rpartition("-")[0])
        if self._folder is None:
            return None
        if project not in self._known:
            self._known[project] = {row.sha256: row for row in read(self._folder, project)}
        row = self._known[project].get(file.sha256)
        return row if row is not None and row.file == file.filename else None


def read(folder: Path, project: NormalizedName) -> list[Reading]:
    """The readings of a project, none if there is no file. Raises InputError."""
    path = folder / f"{project}{_ENDING}"
    try:
        found = _decode(files.read(path, _LARGEST)).archives
        for row in found:
            _check(row, project)
    except FileNotFoundError:
        return []
    except (OSError, ValueError, RecursionError, UnusableFile) as error:
        raise InputError(
            f"the recorded readings of the archives of {project} cannot be used",
            where=str(path),
            why=getattr(error, "strerror", None) or str(error),
            hint=files.advice(
                getattr(error, "errno", None),
                f"make it again: ascend-lock facts read {project} --anew (without the file, archives are downloaded)",
            ),
        ) from None
    return found


def _check(row: Reading, project: NormalizedName) -> None:
    """Raises ValueError and UnusableFile if a row cannot result from reading an archive of the project."""
    if text.name(row.file.rpartition("-")[0]) != project:
        raise ValueError(f"{row.file} is not an archive of {project}")
    metadata = row.archive.metadata
    if metadata is not None:
        if text.name(metadata.name) != project:
            raise ValueError(f"the metadata of {row.file} is that of {metadata.name}")
        check_texts(metadata, row.file)


def reading(file: File, archive: Archive, texts: Mapping[str, str]) -> Reading:
    """The stored form of an archive that was read."""
    static = None if archive.metadata is None else _Static(**asdict(archive.metadata))
    lines = {path: content.split("\n") for path, content in sorted(texts.items())}
    return Reading(file.filename, file.sha256, static, archive.build_requires, archive.why_dynamic, lines)


def write(rows: Sequence[Reading], folder: Path, project: NormalizedName) -> Path:
    """Write a project's file atomically. Raises OSError."""
    path = folder / f"{project}{_ENDING}"
    folder.mkdir(parents=True, exist_ok=True)
    content = json_text(msgspec.to_builtins(_Readings(list(rows))), indent=1, sort_keys=False) + "\n"
    files.write(path, content.encode())
    return path
