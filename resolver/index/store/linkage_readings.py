"""Read and write the linkage of wheels that ships with the facts, called readings.

Each project has a file `PROJECT.json` with one line for each wheel. For a wheel with a reading,
nothing is fetched to learn its linkage. `facts read-linkage` makes the files.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec
from packaging.utils import NormalizedName, canonicalize_name

from resolver import files
from resolver.files import json_text
from resolver.index.parse.distribution import wheel_parts
from resolver.model.linkage import SYMBOL_BYTES, TORCH, Linkage, SharedObject
from resolver.model.release import File
from resolver.phrase import phrase

_LARGEST: Final = 64 << 20  # bytes of a file
# For this project, a reading of the wheel for one Python is used for those for all Pythons:
# libtorch_cpu.so and libc10.so do not depend on Python, and the symbols of libtorch_python.so were
# the same in the wheels of 2.8.0 for 3.10, 3.11 and 3.12.
_SAME_FOR_ALL_PYTHONS: Final = TORCH


class LinkageReading(msgspec.Struct, frozen=True, rename="kebab", forbid_unknown_fields=True):
    """The linkage of one wheel, in the form of the JSON file of its project."""

    # The file name of the wheel.
    file: str
    # The sha256 of the wheel.
    sha256: str
    # The binaries in the wheel.
    objects: tuple[SharedObject, ...]

    @property
    def linkage(self) -> Linkage:
        """Return the linkage of the wheel."""
        return Linkage(self.objects)


_decode: Final = msgspec.json.Decoder(tuple[LinkageReading, ...]).decode


def read_linkages(folder: Path, project: NormalizedName) -> tuple[LinkageReading, ...]:
    """Return the readings of a project's wheels from a folder; none if it has no file for it.

    Raises InputError if the file is invalid.
    """
    path = folder / f"{project}.json"
    try:
        readings = _decode(files.read(path, _LARGEST))
        for reading in readings:
            _check(reading, project)
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, RecursionError) as error:
        message = phrase(
            "the recorded readings of the binaries of {project} cannot be used", project=project
        )
        hint = phrase(
            "make them again: ascend-lock facts read-linkage (without the file, wheels are read "
            "anew)"
        )
        raise files.input_error(error, message, path, hint) from None
    return readings


def _check(reading: LinkageReading, project: NormalizedName) -> None:
    """Raise ValueError for a reading of another project, or with symbols that are cut off."""
    if _project(reading.file) != project:
        raise ValueError(
            phrase("{file} is not a wheel of {project}", file=reading.file, project=project)
        )
    for shared_object in reading.objects:
        if len(shared_object.takes) % SYMBOL_BYTES or len(shared_object.offers) % SYMBOL_BYTES:
            raise ValueError(
                phrase(
                    "the symbols of {path} in {file} are cut off",
                    path=shared_object.path,
                    file=reading.file,
                )
            )


def write_linkages(
    readings: Iterable[LinkageReading], folder: Path, project: NormalizedName
) -> None:
    """Write a project's file in a folder atomically, or remove it if there are no readings.

    `folder` is in the folder of the facts; neither it nor the file may be a symbolic link. Raises
    OSError.
    """
    name = f"{folder.name}/{project}.json"
    lines = [
        json_text(msgspec.to_builtins(reading), indent=None, sort_keys=False)
        for reading in sorted(readings, key=lambda reading: reading.file)
    ]
    if not lines:
        files.remove_below(folder.parent, name)
        return
    files.write_below(folder.parent, name, ("[\n" + ",\n".join(lines) + "\n]\n").encode())


class ShippedLinkage:
    """The readings that ship with the facts, loaded for each project when first needed."""

    def __init__(self, folder: Path | None) -> None:
        """Use the readings in a folder; None means that there are none."""
        self._folder = folder
        self._by_sha256: dict[NormalizedName, dict[str, Linkage]] = {}
        self._by_platform: dict[NormalizedName, dict[tuple[str, str], Linkage]] = {}

    def get(self, file: File) -> Linkage | None:
        """Return the linkage of a wheel; None if there is no reading of it.

        Raises InputError if the readings of its project are invalid.
        """
        if file.filename.endswith("-any.whl"):
            return Linkage()  # a wheel for any platform has no binaries
        if self._folder is None or not file.is_wheel:
            return None
        project = _project(file.filename)
        if project is None:
            return None
        if project not in self._by_sha256:
            self._load(self._folder, project)
        reading = self._by_sha256[project].get(file.sha256)
        if reading is None and project == _SAME_FOR_ALL_PYTHONS:
            return self._by_platform[project].get(_release_and_platform(file.filename))
        return reading

    def _load(self, folder: Path, project: NormalizedName) -> None:
        """Load the readings of a project. Raises InputError."""
        readings = read_linkages(folder, project)
        self._by_sha256[project] = {reading.sha256: reading.linkage for reading in readings}
        self._by_platform[project] = {
            _release_and_platform(reading.file): reading.linkage for reading in readings
        }


def _project(filename: str) -> NormalizedName | None:
    """Return the project in the file name of a wheel; None if it is not the name of a wheel."""
    parts = wheel_parts(filename)
    return canonicalize_name(parts.distribution) if parts is not None else None


def _release_and_platform(filename: str) -> tuple[str, str]:
    """Return the version and the platform in a wheel's file name; both are empty for another file.

    All platform tags for aarch64 become `aarch64`. Other tags are returned unchanged.
    """
    parts = wheel_parts(filename)
    if parts is None:
        return "", ""
    processor = "aarch64" if parts.platform.endswith("aarch64") else parts.platform
    return parts.version, processor
