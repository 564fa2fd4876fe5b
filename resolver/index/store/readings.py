"""Read and write the metadata of source archives and wheels that ships with the facts: readings.

Each project has a file `PROJECT.json`. A source archive is downloaded only if no reading has its
sha256: the archives of vllm have 20 to 60 MB, of which a lock needs a page of text. The readings of
wheels are about releases that belong in pairs. Only `ascend-lock matrix show` uses them; locks do
not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeVar

import msgspec
from msgspec.structs import asdict
from packaging.utils import NormalizedName

from resolver import files
from resolver.files import json_text
from resolver.index.parse.metadata import check_texts
from resolver.index.protocol import UnusableFile
from resolver.model import text
from resolver.model.release import Archive, CoreMetadata, File
from resolver.phrase import Phrase, literal, phrase

T = TypeVar("T")

_LARGEST: Final = 16 << 20  # bytes of a file


class _Static(msgspec.Struct, rename="kebab", forbid_unknown_fields=True):
    """The fields of `CoreMetadata`, as a reading has them."""

    name: str
    version: str
    requires_python: str
    requires_dist: tuple[str, ...]
    provides_extra: tuple[str, ...]


class ArchiveReading(msgspec.Struct, rename="kebab", forbid_unknown_fields=True):
    """The reading of one source archive: its static metadata, and the texts of some files in it."""

    # The file name of the archive.
    file: str
    # The sha256 of the archive.
    sha256: str
    # These are the fields of an `Archive`.
    metadata: _Static | None
    build_requires: tuple[str, ...] | None
    why_dynamic: str
    # The lines of files in the archive, by their path below the top folder.
    texts: dict[str, list[str]]

    @property
    def archive(self) -> Archive:
        """Return the static metadata of the archive."""
        metadata = None
        if self.metadata is not None:
            metadata = CoreMetadata(**asdict(self.metadata))
        return Archive(metadata, self.build_requires, self.why_dynamic)

    def member(self, path: str) -> str | None:
        """Return the text of the file at `path` in the archive; None if it was not read."""
        lines = self.texts.get(path)
        return None if lines is None else "\n".join(lines)


class _Archives(msgspec.Struct, forbid_unknown_fields=True):
    """The content of a file with readings of source archives."""

    archives: list[ArchiveReading]


class WheelReading(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The reading of the wheels of one release."""

    version: str
    # The file name of the wheel whose metadata was read.
    file: str
    # The sha256 of that wheel.
    sha256: str
    # The requirements in its metadata that pin another project to one version.
    pins: tuple[str, ...]
    # The file names of all wheels of the release.
    wheels: tuple[str, ...]


def archive_reading(file: File, archive: Archive, texts: Mapping[str, str]) -> ArchiveReading:
    """Return the reading of a source archive, from its metadata and the texts of files in it.

    The keys of `texts` are their paths below the top folder.
    """
    static = None
    metadata = archive.metadata
    if metadata is not None:
        static = _Static(
            name=metadata.name,
            version=metadata.version,
            requires_python=metadata.requires_python,
            requires_dist=metadata.requires_dist,
            provides_extra=metadata.provides_extra,
        )
    lines = {path: content.split("\n") for path, content in sorted(texts.items())}
    return ArchiveReading(
        file.filename, file.sha256, static, archive.build_requires, archive.why_dynamic, lines
    )


def read_archives(folder: Path, project: NormalizedName) -> list[ArchiveReading]:
    """Return the readings of a project's source archives; none if the folder has no file for it.

    Raises InputError if the file is invalid.
    """

    def decode(content: bytes) -> list[ArchiveReading]:
        """Return the readings in a file. Raises ValueError and UnusableFile."""
        readings = msgspec.json.decode(content, type=_Archives).archives
        for reading in readings:
            _check(reading, project)
        return readings

    return _read(
        folder,
        project,
        decode,
        phrase("archives"),
        phrase("{command} (without the file, archives are downloaded)", command=_again(project)),
    )


def read_wheels(folder: Path, project: NormalizedName) -> list[WheelReading]:
    """Return the readings of a project's wheels, in the order of the file: newest release first.

    There are none if the folder has no file for the project. Raises InputError if the file is
    invalid.
    """
    return _read(
        folder,
        project,
        msgspec.json.Decoder(list[WheelReading]).decode,
        phrase("wheels"),
        literal(_again(project)),
    )


def _read(
    folder: Path,
    project: NormalizedName,
    decode: Callable[[bytes], list[T]],
    content: Phrase,
    commands: Phrase,
) -> list[T]:
    """Return the readings in a project's file; none if there is no file.

    `content` and `commands` are parts of the error's message and hint. Raises InputError.
    """
    path = folder / f"{project}.json"
    try:
        return decode(files.read(path, _LARGEST))
    except FileNotFoundError:
        return []
    except (OSError, ValueError, RecursionError, UnusableFile) as error:
        message = phrase(
            "the recorded readings of the {content} of {project} cannot be used",
            content=content,
            project=project,
        )
        hint = phrase("make it again: {command}", command=commands)
        raise files.input_error(error, message, path, hint) from None


def _again(project: NormalizedName) -> str:
    """Return the command with which a user makes the readings of a project again."""
    return f"ascend-lock facts read {project} --anew"


def _check(reading: ArchiveReading, project: NormalizedName) -> None:
    """Raise ValueError for a reading of another project, and UnusableFile for invalid metadata."""
    if text.name(reading.file.rpartition("-")[0]) != project:
        raise ValueError(
            phrase("{file} is not an archive of {project}", file=reading.file, project=project)
        )
    metadata = reading.archive.metadata
    if metadata is not None:
        if text.name(metadata.name) != project:
            raise ValueError(
                phrase(
                    "the metadata of {file} is that of {name}",
                    file=reading.file,
                    name=metadata.name,
                )
            )
        check_texts(metadata, reading.file)


def write_archives(
    readings: Sequence[ArchiveReading], folder: Path, project: NormalizedName
) -> None:
    """Write a project's file with readings of source archives atomically.

    `folder` and the file must not be symbolic links. Raises OSError.
    """
    _write(_Archives(list(readings)), folder, project)


def write_wheels(readings: Sequence[WheelReading], folder: Path, project: NormalizedName) -> None:
    """Write a project's file with readings of wheels atomically.

    `folder` and the file must not be symbolic links. Raises OSError.
    """
    _write(list(readings), folder, project)


def _write(content: object, folder: Path, project: NormalizedName) -> None:
    """Write a project's file as JSON. Raises OSError."""
    document = json_text(msgspec.to_builtins(content), indent=1, sort_keys=False) + "\n"
    # `write_below` follows no symbolic link below the folder of the facts, `folder.parent`.
    files.write_below(folder.parent, f"{folder.name}/{project}.json", document.encode())
