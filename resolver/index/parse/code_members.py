"""Read the code in a wheel or source archive: Python, Cython and compiled files.

`audit.code_scan` searches it for checks of versions.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from resolver.index.parse.archive import tar_members, zip_members
from resolver.index.parse.distribution import FileRelease
from resolver.index.parse.guarded import (
    ANYWHERE,
    DIRECTORY_LIMIT,
    Guarded,
    TooLargeError,
    limited,
    readable,
    unpacked,
)

# Bytes of one file. The longest Python file of a real project has 2 MB (sympy), the longest
# compiled one 60 MB (opencv).
_SOURCE_LIMIT: Final = 4 << 20
_COMPILED_LIMIT: Final = 128 << 20

# Bytes of all code in a wheel or archive: transformers has 60 MB of Python, torch 700 MB of
# libraries.
_SOURCES_LIMIT: Final = 256 << 20
_TOTAL_LIMIT: Final = 2 << 30

_SOURCES: Final = (".py", ".pyx", ".pxi")
_ELF: Final = b"\x7fELF"


class CodeMember(NamedTuple):
    """A file of code in a wheel or source archive."""

    # Its path; in a source archive, the path below the top folder.
    path: str
    # Its bytes; None if it exceeds the limit for one file and was not read.
    content: bytes | None


def read_code(path: Path, release: FileRelease) -> Iterator[CodeMember]:
    """Yield the files of code in a wheel or source archive, in the order of its members.

    Compiled files are read in wheels only. Nothing is extracted to the disk or run. Raises
    UnusableFile if the wheel or archive is damaged, or if all its code together exceeds a limit.
    """
    kind = "wheel" if release.filename.endswith(".whl") else "archive"
    size = 0
    sources = 0
    with readable(release.filename, kind):
        members = _wheel_code(path) if kind == "wheel" else _archive_code(path, release)
        for member in members:
            content = member.content or b""
            size += len(content)
            if member.path.endswith(_SOURCES):
                sources += len(content)
            if sources > _SOURCES_LIMIT or size > _TOTAL_LIMIT:
                raise TooLargeError("it has more code than any honest one")
            yield member


def _wheel_code(path: Path) -> Iterator[CodeMember]:
    """Yield the files of code in a wheel."""
    with path.open("rb") as file:
        source = Guarded(file, one_read=DIRECTORY_LIMIT, position=ANYWHERE)
        with zipfile.ZipFile(source) as wheel:
            for info in limited(wheel.infolist()):
                limit = _limit(info.filename)
                if limit == 0:
                    continue
                if info.file_size > limit:
                    yield CodeMember(info.filename, None)
                    continue
                content = unpacked(wheel, info, limit)
                if len(content) > limit:
                    yield CodeMember(info.filename, None)
                elif limit == _SOURCE_LIMIT or content.startswith(_ELF):
                    yield CodeMember(info.filename, content)


def _archive_code(path: Path, release: FileRelease) -> Iterator[CodeMember]:
    """Yield the files of code in a source archive."""
    members = zip_members if release.filename.endswith(".zip") else tar_members
    with path.open("rb") as file:
        for _, member, content in members(file, lambda name: name.endswith(_SOURCES)):
            yield CodeMember(member, content if len(content) <= _SOURCE_LIMIT else None)


def _limit(name: str) -> int:
    """Return the limit for the size of a member in bytes, by its name; 0 if it is not code."""
    if name.endswith(_SOURCES):
        return _SOURCE_LIMIT
    is_library = name.endswith(".so") or ".so." in name
    return _COMPILED_LIMIT if is_library else 0
