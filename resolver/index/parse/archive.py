"""Read the static metadata and single files of a source archive (.tar.gz or .zip).

Nothing is extracted to the disk, no link is followed, and no code is run. Limits keep a hostile
archive from using much memory or time.
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
# Bytes of all files that are read, with the names of their top folders.
_TOTAL_LIMIT: Final = 32 << 20
# The last position that is read in an unpacked archive.
_UNPACKED_LIMIT: Final = 2 << 30
# Bytes after the end mark of a tar; tar pads its last block to 10 KiB.
_AFTER_END: Final = 1 << 20
# Bytes of one read: an extended header of a tar, or the list of members of a zip.
_HEADER_LIMIT: Final = 16 << 20
# Bytes of all headers of one member of a tar.
_HEADERS_LIMIT: Final = 256 << 10

# The fields that a lock needs. PEP 643: if the Metadata-Version of a PKG-INFO is 2.2 or later and a
# field is not in Dynamic, every wheel built from the archive has the same value.
_NEEDED_FIELDS: Final = {
    "requires-dist": "Requires-Dist",
    "requires-python": "Requires-Python",
    "provides-extra": "Provides-Extra",
}


def read_archive(path: Path, release: FileRelease, where: str) -> Archive:
    """Return the static metadata and the build requirements of a source archive.

    The metadata is taken from PKG-INFO if that is static (PEP 643), otherwise from pyproject.toml.
    It is None, with the reason, if neither is static. `where` is the address of the archive, which
    an error names. Raises UnusableFile if the archive cannot be read, and WrongRelease if its
    PKG-INFO is for another release.
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
    """Return why a PKG-INFO is not static (PEP 643), as an English clause; empty if it is."""
    dynamic = [title for field, title in _NEEDED_FIELDS.items() if field in header.dynamic]
    if dynamic:
        return f"its PKG-INFO calls {' and '.join(dynamic)} dynamic"
    if header.version >= (2, 2):
        return ""
    major, minor = header.version
    return f"its PKG-INFO is of version {major}.{minor}, and only 2.2 or later says what is static"


def read_member(path: Path, release: FileRelease, member: str) -> str:
    """Return the text of the file at the path `member` below the top folder of an archive.

    Raises UnusableFile if there is no such file, or if it is not UTF-8.
    """
    members = _read_members(path, release, (member,))
    if member not in members:
        raise UnusableFile(f"{release.filename} has no file {member}")
    try:
        return members[member].decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UnusableFile(f"{member} in {release.filename} is not UTF-8") from None


def _read_members(path: Path, release: FileRelease, paths: Collection[str]) -> dict[str, bytes]:
    """Return the contents of the files at these paths below the top folder, by path.

    Missing files are left out. If several members have the same path, the last one counts, as if
    the archive were unpacked. If there are several top folders, the one that is named
    `{name}-{version}` counts. Raises UnusableFile if the archive cannot be read, or if it is not
    clear which top folder counts.
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
    """Return whether a folder has the name that PEP 625 demands: `{name}-{version}`."""
    name, _, version = top.rpartition("-")
    if text.name(name) != release.project:
        return False
    return text.version(version) == text.version(release.version)


def tar_members(file: IO[bytes], wanted: Callable[[str], bool]) -> Iterator[tuple[str, str, bytes]]:
    """Yield top folder, path below it, and content of each file of a .tar.gz that is wanted.

    `wanted` is called with the path. Links are left out. Raises TooLargeError beyond a limit, and
    the exceptions of tarfile and gzip.
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
    """Return the next member of a tar; None at its end. Raises TooLargeError for large headers.

    A member may have any number of headers of any length, and tarfile would keep them in memory.
    """
    source.set_budget(_HEADERS_LIMIT, "it has headers")
    info: tarfile.TarInfo | None = archive.next()
    archive.members.clear()
    archive.pax_headers.clear()
    return info


def zip_members(file: IO[bytes], wanted: Callable[[str], bool]) -> Iterator[tuple[str, str, bytes]]:
    """Yield top folder, path below it, and content of each file of a zip that is wanted.

    `wanted` is called with the path. Links are left out. Raises TooLargeError beyond a limit, and
    the exceptions of zipfile.
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
    """Return the top folder in the name of a member, and the path below it.

    The path is empty for a member that is in no folder, and for one with a dangerous name (`/…`,
    `../…`).
    """
    top, _, path = name.removeprefix("./").partition("/")
    if top in ("", ".", ".."):
        return top, ""
    return top, path


def _check_size(name: str, size: int) -> None:
    """Raise TooLargeError if a member is larger than _MEMBER_LIMIT; `name` is for the message."""
    if size > _MEMBER_LIMIT:
        raise TooLargeError(f"its {name} is larger than {_MEMBER_LIMIT >> 20} MiB")
