"""The static contents of a source archive.

Nothing is extracted, no link is followed, no code is run, and no more is read than an honest
archive requires.
"""

from __future__ import annotations

import stat
import tarfile
import zipfile
from collections.abc import Callable, Collection, Iterator
from io import BufferedReader
from pathlib import Path
from typing import IO, Any, Final

from resolver.index.parse.distribution import FileRelease
from resolver.index.parse.guarded import (
    CHUNK,
    Guarded,
    TooLargeError,
    limited,
    readable,
    unpacked,
)
from resolver.index.parse.metadata import Header, read, read_pyproject
from resolver.index.protocol import UnusableFile
from resolver.model import text
from resolver.model.release import Archive

_MEMBER_LIMIT: Final = 8 << 20
_TOTAL_LIMIT: Final = 32 << 20  # for all files read, with the names of their top folders
_UNPACKED_LIMIT: Final = 2 << 30
_AFTER_END: Final = 1 << 20  # tar fills its last block of 10 KiB
# For one of a tar's extended headers, and for a zip's list of members.
_HEADER_LIMIT: Final = 16 << 20
_HEADERS_LIMIT: Final = 256 << 10  # for all the headers of a tar's member

# PEP 643: the fields that a lock needs. Not in Dynamic and of version 2.2 or later, they hold for
# every wheel.
_NEEDED_FIELDS: Final = {
    "requires-dist": "Requires-Dist",
    "requires-python": "Requires-Python",
    "provides-extra": "Provides-Extra",
}


def read_archive(path: Path, release: FileRelease, where: str) -> Archive:
    """Return what PKG-INFO and pyproject.toml say, without running anything.

    `where` is the address, for a failure. Raises UnusableFile if the archive cannot be read,
    WrongRelease if it is of another release.
    """
    members = _read_members(path, release, ("PKG-INFO", "pyproject.toml"))
    pyproject = Archive(None, None, "it has no pyproject.toml")
    if "pyproject.toml" in members:
        pyproject = read_pyproject(members["pyproject.toml"], release)
    why_dynamic = "it has no PKG-INFO"
    if "PKG-INFO" in members:
        try:
            header = read(members["PKG-INFO"], release, where)
        except UnusableFile as error:
            why_dynamic = str(error)
        else:
            why_dynamic = _why_dynamic(header)
            if not why_dynamic:
                return Archive(header.metadata, pyproject.build_requires)
    if pyproject.metadata is None:
        why_dynamic = f"{why_dynamic}, and {pyproject.why_dynamic}"
        return Archive(None, pyproject.build_requires, why_dynamic)
    return pyproject


def _why_dynamic(header: Header) -> str:
    """Return why a PKG-INFO does not say what every wheel requires; empty if it does."""
    dynamic = [title for field, title in _NEEDED_FIELDS.items() if field in header.dynamic]
    if dynamic:
        return f"its PKG-INFO calls {' and '.join(dynamic)} dynamic"
    if header.version >= (2, 2):
        return ""
    major, minor = header.version
    return f"its PKG-INFO is of version {major}.{minor}, and only 2.2 or later says what is static"


def read_member(path: Path, release: FileRelease, member: str) -> str:
    """Return the text of one file below the archive's top folder.

    Raises UnusableFile if there is none.
    """
    members = _read_members(path, release, (member,))
    if member not in members:
        raise UnusableFile(f"{release.filename} has no file {member}")
    try:
        return members[member].decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UnusableFile(f"{member} in {release.filename} is not UTF-8") from None


def _read_members(path: Path, release: FileRelease, paths: Collection[str]) -> dict[str, bytes]:
    """Return the files at these paths below the top folder.

    Of several with the same name the last counts, as if unpacked.
    """
    members_by_top: dict[str, dict[str, bytes]] = {}
    size = 0
    reader = zip_members if release.filename.endswith(".zip") else tar_members
    with readable(release.filename, "archive"), path.open("rb") as file:
        for top, member, content in reader(file, paths.__contains__):
            size += len(top) + len(content)
            if size > _TOTAL_LIMIT:
                raise TooLargeError(f"what is read of it is larger than {_TOTAL_LIMIT >> 20} MiB")
            members_by_top.setdefault(top, {})[member] = content
    if not members_by_top:
        return {}
    tops = list(members_by_top)
    if len(tops) > 1:
        tops = [top for top in tops if _is_top_of(top, release)]
        if len(tops) != 1:
            shown = ", ".join(sorted(members_by_top))
            raise UnusableFile(f"{release.filename} has several top folders: {shown}")
    return members_by_top[tops[0]]


def _is_top_of(top: str, release: FileRelease) -> bool:
    """Return whether a folder is the top folder of a release: `{name}-{version}` (PEP 625)."""
    name, _, version = top.rpartition("-")
    if text.name(name) != release.project:
        return False
    return text.version(version) == text.version(release.version)


def tar_members(file: IO[bytes], wanted: Callable[[str], bool]) -> Iterator[tuple[str, str, bytes]]:
    """Yield the `wanted` files of a tar: top folder, path below it, and content.

    Raises as tarfile does.
    """
    import gzip  # slow to import

    # gzip's own buffer is 8 KiB, and a member's headers and content are mostly small.
    with BufferedReader(gzip.GzipFile(fileobj=file, mode="rb"), CHUNK) as stream:
        source = Guarded(stream, one_read=_HEADER_LIMIT, position=_UNPACKED_LIMIT, forward=True)
        source.set_budget(_HEADERS_LIMIT, "it has headers")  # opening reads the first one
        with tarfile.open(fileobj=source, mode="r:") as archive:  # type: ignore[call-overload]
            for info in limited(iter(lambda: _next(archive, source), None)):
                top, path = _split(info.name)
                if info.isreg() and wanted(path):
                    _check_size(path, info.size)
                    source.set_budget(info.size, f"its {path} goes on")
                    content = archive.extractfile(info)
                    if content is not None:
                        yield top, path, content.read()
        source.set_budget(_AFTER_END, "it has data after its end")
        # gzip checks the checksum at the very end.
        while source.read(CHUNK):
            pass


def _next(archive: Any, source: Guarded) -> tarfile.TarInfo | None:
    """Return the next member.

    It may have any number of headers of any length, which tarfile keeps in memory.
    """
    source.set_budget(_HEADERS_LIMIT, "it has headers")
    info: tarfile.TarInfo | None = archive.next()
    archive.members.clear()
    archive.pax_headers.clear()
    return info


def zip_members(file: IO[bytes], wanted: Callable[[str], bool]) -> Iterator[tuple[str, str, bytes]]:
    """Yield the `wanted` files of a zip: top folder, path below it, and content.

    Raises as zipfile does.
    """
    source = Guarded(file, one_read=_HEADER_LIMIT, position=_UNPACKED_LIMIT)
    with zipfile.ZipFile(source) as archive:
        for info in limited(archive.infolist()):
            top, path = _split(info.filename)
            is_folder = info.filename.endswith("/")
            is_link = stat.S_ISLNK(info.external_attr >> 16)
            if not is_folder and not is_link and wanted(path):
                _check_size(path, info.file_size)
                yield top, path, unpacked(archive, info, _MEMBER_LIMIT)


def _split(name: str) -> tuple[str, str]:
    """Return the top folder of a member and the path below it.

    The path is empty if the name leads elsewhere.
    """
    top, _, path = name.removeprefix("./").partition("/")
    if top in ("", ".", ".."):
        return top, ""
    return top, path


def _check_size(name: str, size: int) -> None:
    """Raise TooLargeError for a member of this size."""
    if size > _MEMBER_LIMIT:
        raise TooLargeError(f"its {name} is larger than {_MEMBER_LIMIT >> 20} MiB")
