"""Read the code in a wheel or source archive: Python, Cython and compiled files, within limits."""

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

# The longest file of an honest project: Python has 2 MB (sympy), a compiled one 60 MB (opencv).
_SOURCE_LIMIT: Final = 4 << 20
_COMPILED_LIMIT: Final = 128 << 20

# For all that is read of a file: transformers has 60 MB of Python, torch 700 MB of libraries.
_SOURCES_LIMIT: Final = 256 << 20
_TOTAL_LIMIT: Final = 2 << 30

_SOURCES: Final = (".py", ".pyx", ".pxi")
_ELF: Final = b"\x7fELF"


class CodeMember(NamedTuple):
    """A file within a wheel or archive."""

    # Its path; in an archive below the top folder.
    path: str
    # Its bytes, or None if it is larger than any honest one and was not read.
    content: bytes | None


def read_code(path: Path, release: FileRelease) -> Iterator[CodeMember]:
    """Yield the code in a file, in the order of its members; nothing is extracted or run.

    Compiled code is read of wheels alone. Raises UnusableFile if the file is damaged, or has more
    than a limit allows.
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
    members = zip_members if release.filename.endswith(".zip") else tar_members
    with path.open("rb") as file:
        for _, member, content in members(file, lambda name: name.endswith(_SOURCES)):
            yield CodeMember(member, content if len(content) <= _SOURCE_LIMIT else None)


def _limit(name: str) -> int:
    """Return the largest size of a member that is read; 0 if it is no code."""
    if name.endswith(_SOURCES):
        return _SOURCE_LIMIT
    is_library = name.endswith(".so") or ".so." in name
    return _COMPILED_LIMIT if is_library else 0
