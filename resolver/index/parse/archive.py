"""METADATA of a wheel, and the static contents of a source archive.

Nothing is extracted, no link is followed, no code is run, and no more is read than an honest
archive requires.
"""

from __future__ import annotations

import re
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import IO, Any, Final, TypeVar

from resolver.index.parse.distribution import FileRelease
from resolver.index.parse.metadata import read, read_pyproject
from resolver.index.parse.variants import MEMBER, TABLE_LIMIT
from resolver.index.protocol import UnusableFile
from resolver.model import text
from resolver.model.release import Archive

T = TypeVar("T")

_BOUNDED: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
METADATA_LIMIT: Final = 16 << 20
DIRECTORY_LIMIT: Final = 16 << 20  # of a zip's list of members; torch's largest wheel has 2 MB

_TEXT_LIMIT: Final = 128 << 20  # of a member of a wheel that is searched for a text
_AT_TOP: Final = re.compile(r"[^/]*\.dist-info/METADATA", re.DOTALL)
_SHOWN: Final = 3
_LOCAL_HEADER: Final = (
    30 + 1024
)  # a member's header is followed by its name and a short extra field

_MEMBER_LIMIT: Final = 8 << 20
_TOTAL_LIMIT: Final = 32 << 20  # for all files read, with the names of their top folders
_MOST_MEMBERS: Final = 100_000
_UNPACKED_LIMIT: Final = 2 << 30
_AFTER_END: Final = 1 << 20  # tar fills its last block of 10 KiB
_CHUNK: Final = 1 << 20
_HEADER_LIMIT: Final = (
    16 << 20
)  # for one of a tar's extended headers, and for a zip's list of members
_HEADERS_LIMIT: Final = 256 << 10  # for all the headers of a tar's member

# PEP 643: the fields that a lock needs. Not in Dynamic and of version 2.2 or later, they hold for
# every wheel.
_NEEDED = {
    "requires-dist": "Requires-Dist",
    "requires-python": "Requires-Python",
    "provides-extra": "Provides-Extra",
}


class TooLargeError(Exception):
    """Reading an archive would exceed a limit."""


@contextmanager
def readable(filename: str, kind: str) -> Iterator[None]:
    """Turns the exceptions of reading a zip or tar, most of them of the standard library, into UnusableFile."""
    try:
        yield
    except (
        *(
            tarfile.TarError,
            zipfile.BadZipFile,
            zlib.error,
            EOFError,
            OSError,
            ValueError,
            TooLargeError,
        ),
        *(
            RuntimeError,
            NotImplementedError,
        ),  # an encrypted member, a compression that is not supported
    ) as error:
        raise UnusableFile(f"{filename} is not a readable {kind}: {error}") from None


def unpacked(archive: zipfile.ZipFile, info: zipfile.ZipInfo, limit: int) -> bytes:
    """At most `limit` + 1 bytes of a zip's member.

    Raises TooLargeError if it cannot be unpacked within bounds.

    For bzip2 and LZMA, zipfile unpacks all that it reads at once, and a kilobyte can hold a
    gigabyte.
    """
    if info.compress_type not in _BOUNDED:
        raise TooLargeError(f"its {info.filename} uses an unsupported compression method")
    with archive.open(info) as member:
        content = BytesIO()
        while content.tell() <= limit and (
            piece := member.read(min(_CHUNK, limit + 1 - content.tell()))
        ):
            content.write(piece)
        return content.getvalue()


class MissingSpanError(Exception):
    """A span that is needed was not fetched: from the first argument up to the second, exclusive."""


class RangeFile:
    """A file of which only some spans are present. Reading elsewhere raises MissingSpanError."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._spans: list[tuple[int, bytes]] = []
        self._position = 0

    def add(self, start: int, content: bytes) -> None:
        """Add a span."""
        self._spans.append((start, content))

    def read(self, size: int = -1, /) -> bytes:
        """Read from the position; raises MissingSpanError."""
        start = min(self._position, self._size)
        end = self._size if size < 0 else min(start + size, self._size)
        for begin, span in self._spans:
            if begin <= start and end <= begin + len(span):
                self._position = end
                return span[start - begin : end - begin]
        if start < end:
            raise MissingSpanError(start, end)
        return b""

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """Move within the file."""
        position = offset + (0, self._position, self._size)[whence]
        if position < 0:
            raise OSError("a position before the start")
        self._position = position
        return position

    def tell(self) -> int:
        """The position."""
        return self._position


class Guarded:
    """A readable, seekable file with limits on each read and on the position.

    With `forward` nothing is read twice: going back in a compressed file means reading it again
    from the start.
    """

    def __init__(
        self, file: IO[bytes] | RangeFile, *, one_read: int, position: int, forward: bool = False
    ) -> None:
        self._file = file
        self._one_read = one_read
        self._position = position
        self._forward = forward
        self._at = file.tell()  # slow in a compressed file
        self._budget: int | None = None
        self._excess = ""

    def set_budget(self, size: int, excess: str) -> None:
        """Allow so many bytes from now on, in any number of reads; `excess` describes more."""
        self._budget = size
        self._excess = excess

    def read(self, size: int = -1) -> bytes:
        """Read `size` bytes; raises TooLargeError."""
        if size > self._one_read:
            raise TooLargeError(f"it makes a reader take {size} bytes at once")
        content = self._file.read(
            size
        )  # zipfile alone asks for all that is left, and only of the last 64 KiB
        self._at += len(content)
        self._check(self._at)
        if self._budget is not None:
            self._budget -= len(content)
            if self._budget < 0:
                raise TooLargeError(f"{self._excess} of unreasonable size")
        return content

    def seek(self, offset: int, whence: int = 0) -> int:
        """Move. Raises TooLargeError, and ValueError for a position before the beginning."""
        if whence == 0:
            if offset < 0:
                raise ValueError("it points to before its beginning")
            self._check(
                offset
            )  # beforehand, since moving ahead in a compressed file means reading it
            if self._forward and offset < self._at:
                raise TooLargeError("it points back to data that was already read")
        self._at = self._file.seek(offset, whence)
        return self._at

    def _check(self, position: int) -> None:
        if position > self._position:
            raise TooLargeError(f"it continues beyond {self._position} bytes")

    def tell(self) -> int:
        """The position."""
        return self._at

    def seekable(self) -> bool:
        """Yes."""
        return True


# Wheels


def wheel_metadata(file: IO[bytes] | RangeFile, release: FileRelease) -> bytes:
    """METADATA of a wheel. Raises UnusableFile, and MissingSpanError of a RangeFile."""
    content = _dist_info_member(file, release, "METADATA", METADATA_LIMIT)
    if content is None:
        raise UnusableFile(f"the metadata of {release.filename} is larger than 16 MiB")
    return content


def wheel_variant(file: IO[bytes] | RangeFile, release: FileRelease) -> bytes:
    """Return `variant.json` of a variant wheel (PEP 825).

    Raises UnusableFile, and MissingSpanError of a RangeFile.
    """
    content = _dist_info_member(file, release, MEMBER, TABLE_LIMIT)
    if content is None:
        raise UnusableFile(f"{MEMBER} of {release.filename} is larger than {TABLE_LIMIT >> 10} KiB")
    return content


def _dist_info_member(
    file: IO[bytes] | RangeFile, release: FileRelease, name: str, limit: int
) -> bytes | None:
    """Return a file of a wheel's .dist-info folder, None if it is longer.

    Raises UnusableFile and MissingSpanError.
    """
    source = Guarded(file, one_read=DIRECTORY_LIMIT, position=1 << 62)
    with readable(release.filename, "wheel"):
        archive = zipfile.ZipFile(source)
        path = _metadata_member(archive.namelist(), release).removesuffix("METADATA") + name
        if path not in archive.namelist():
            raise UnusableFile(f"{release.filename} has no {name}")
        info = archive.getinfo(path)
        source.seek(info.header_offset)
        size = _LOCAL_HEADER + len(info.filename.encode()) + info.compress_size
        if info.file_size <= limit:
            source.read(size)  # one request for all of it
            return unpacked(archive, info, limit)
    return None


def wheel_text(file: IO[bytes] | RangeFile, filename: str, path: str) -> str | None:
    """Return a member of a wheel as text, with a mark for each byte that is none; None if there is no such member.

    The list of the wheel's files may be called RECORD, and METADATA and entry_points.txt as well
    without their folder. Raises UnusableFile, and MissingSpanError of a RangeFile.
    """
    source = Guarded(file, one_read=max(DIRECTORY_LIMIT, _TEXT_LIMIT), position=1 << 62)
    with readable(filename, "wheel"):
        archive = zipfile.ZipFile(source)
        name = _member_name(archive.namelist(), path)
        if name is None:
            return None
        info = archive.getinfo(name)
        if info.file_size > _TEXT_LIMIT:
            raise TooLargeError(f"its {name} is larger than {_TEXT_LIMIT >> 20} MiB")
        source.seek(info.header_offset)
        source.read(
            _LOCAL_HEADER + len(name.encode()) + info.compress_size
        )  # one request for all of it
        return unpacked(archive, info, _TEXT_LIMIT).decode("utf-8", "replace")


def _member_name(names: Sequence[str], path: str) -> str | None:
    """Return the name of the member that a path means; None if there is none."""
    if path in names or "/" in path:
        return path if path in names else None
    described = [
        name for name in names if name.endswith(f".dist-info/{path}") and name.count("/") == 1
    ]
    return described[0] if len(described) == 1 else None


def _metadata_member(names: Iterable[str], release: FileRelease) -> str:
    """The path of METADATA.

    Raises UnusableFile if there are several .dist-info folders, like pip and uv.
    """
    folders = list(
        dict.fromkeys(name.removesuffix("/METADATA") for name in names if _AT_TOP.fullmatch(name))
    )
    if len(folders) > 1:
        shown = ", ".join(f"`{folder}`" for folder in folders[:_SHOWN]) + (
            ", …" if len(folders) > _SHOWN else ""
        )
        raise UnusableFile(
            f"{release.filename} has {len(folders)} .dist-info folders ({shown}), which pip refuses"
        )
    if (
        not folders
        or text.name(folders[0].removesuffix(".dist-info").rpartition("-")[0]) != release.project
    ):
        raise UnusableFile(f"{release.filename} has no .dist-info folder of {release.project}")
    return f"{folders[0]}/METADATA"


# Source archives


def read_archive(path: Path, release: FileRelease, where: str) -> Archive:
    """Read PKG-INFO and pyproject.toml, without running anything; `where` is the address, for a failure.

    Raises UnusableFile if the archive cannot be read, IndexFailure if it is of another release.
    """
    members = _read_members(path, release, ("PKG-INFO", "pyproject.toml"))
    pyproject = Archive(None, None, "it has no pyproject.toml")
    if "pyproject.toml" in members:
        pyproject = read_pyproject(members["pyproject.toml"], release)
    why = "it has no PKG-INFO"
    if "PKG-INFO" in members:
        try:
            header = read(members["PKG-INFO"], release, where)
        except UnusableFile as error:
            why = str(error)
        else:
            major, minor = header.version
            why = f"its PKG-INFO is of version {major}.{minor}, and only 2.2 or later says what is static"
            if dynamic := [title for field, title in _NEEDED.items() if field in header.dynamic]:
                why = f"its PKG-INFO calls {' and '.join(dynamic)} dynamic"
            elif header.version >= (2, 2):
                return Archive(header.metadata, pyproject.build_requires)
    if pyproject.metadata is None:
        return Archive(None, pyproject.build_requires, f"{why}, and {pyproject.why_dynamic}")
    return pyproject


def read_member(path: Path, release: FileRelease, member: str) -> str:
    """The text of one file below the archive's top folder. Raises UnusableFile if there is none."""
    members = _read_members(path, release, (member,))
    if member not in members:
        raise UnusableFile(f"{release.filename} has no file {member}")
    try:
        return members[member].decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UnusableFile(f"{member} in {release.filename} is not UTF-8") from None


def _read_members(path: Path, release: FileRelease, paths: Collection[str]) -> dict[str, bytes]:
    """The files at these paths below the top folder.

    Of several with the same name the last counts, as if unpacked.
    """
    members: dict[str, dict[str, bytes]] = {}
    size = 0
    reader = zip_members if release.filename.endswith(".zip") else tar_members
    with readable(release.filename, "archive"), path.open("rb") as file:
        for top, member, content in reader(file, paths.__contains__):
            size += len(top) + len(content)
            if size > _TOTAL_LIMIT:
                raise TooLargeError(f"what is read of it is larger than {_TOTAL_LIMIT >> 20} MiB")
            members.setdefault(top, {})[member] = content
    if len(members) > 1:
        # PEP 625: "{name}-{version}"
        expected = release.project, text.version(release.version)
        parts = {top: top.rpartition("-") for top in members}
        tops = [
            top
            for top, (name, _, version) in parts.items()
            if (text.name(name), text.version(version)) == expected
        ]
        if len(tops) != 1:
            raise UnusableFile(
                f"{release.filename} has several top folders: {', '.join(sorted(members))}"
            )
        return members[tops[0]]
    return next(iter(members.values()), {})


def tar_members(file: IO[bytes], wanted: Callable[[str], bool]) -> Iterator[tuple[str, str, bytes]]:
    """Yield the top folder, the path below it and the content of each `wanted` file of a tar; raise as tarfile does."""
    import gzip

    # gzip's own buffer is 8 KiB, and a member's headers and content are mostly small
    with BufferedReader(gzip.GzipFile(fileobj=file, mode="rb"), _CHUNK) as stream:
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
        # gzip checks the checksum at the very end
        while source.read(_CHUNK):
            pass


def _next(archive: Any, source: Guarded) -> tarfile.TarInfo | None:
    """The next member.

    It may have any number of headers of any length, which tarfile keeps in memory.
    """
    source.set_budget(_HEADERS_LIMIT, "it has headers")
    info: tarfile.TarInfo | None = archive.next()
    archive.members.clear()
    archive.pax_headers.clear()
    return info


def zip_members(file: IO[bytes], wanted: Callable[[str], bool]) -> Iterator[tuple[str, str, bytes]]:
    """Yield the same of a zip; raise as zipfile does."""
    source = Guarded(file, one_read=_HEADER_LIMIT, position=_UNPACKED_LIMIT)
    with zipfile.ZipFile(source) as archive:
        for info in limited(archive.infolist()):
            top, path = _split(info.filename)
            mode = info.external_attr >> 16
            if not info.filename.endswith("/") and not stat.S_ISLNK(mode) and wanted(path):
                _check_size(path, info.file_size)
                yield top, path, unpacked(archive, info, _MEMBER_LIMIT)


def _split(name: str) -> tuple[str, str]:
    """The top folder of a member and the path below it; none if the name leads elsewhere."""
    top, _, path = name.removeprefix("./").partition("/")
    return (top, path) if top not in ("", ".", "..") else (top, "")


def limited(members: Iterable[T]) -> Iterator[T]:
    """Yield members up to a number that no honest file has; raise TooLargeError at the next."""
    for count, member in enumerate(members):
        if count >= _MOST_MEMBERS:
            raise TooLargeError(f"it has more than {_MOST_MEMBERS} members")
        yield member


def _check_size(name: str, size: int) -> None:
    if size > _MEMBER_LIMIT:
        raise TooLargeError(f"its {name} is larger than {_MEMBER_LIMIT >> 20} MiB")
