"""METADATA in a wheel, read from the file or from spans of it that were fetched."""

from __future__ import annotations

import re
import zipfile
import zlib
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from typing import IO, Final

from resolver.catalog.parse import directory
from resolver.catalog.parse.guarded import Guarded, TooLargeError, unpacked
from resolver.catalog.parse.metadata import Release
from resolver.catalog.protocol import UnusableFile
from resolver.model import text

METADATA_LIMIT: Final = 16 << 20
DIRECTORY_LIMIT: Final = 16 << 20  # of a zip's list of members; torch's largest wheel has 2 MB

# Of a list of members longer than half a megabyte, so much is read at first. What builds wheels puts .dist-info last.
_END_OF_LIST: Final = 63 << 10
_LONG_LIST: Final = 512 << 10

_MEMBER: Final = ".dist-info/METADATA"
_AT_TOP: Final = re.compile(r"[^/]*\.dist-info/METADATA", re.DOTALL)
_TOLD: Final = 3
_LOCAL_HEADER = 30 + 1024  # a member's header is followed by its name and a short extra field


class MissingSpanError(Exception):
    """A span is needed that was not fetched; `end` is exclusive."""

    def __init__(self, start: int, end: int) -> None:
        super().__init__(start, end)
        self.start = start
        self.end = end


class Sparse:
    """A file of which only some spans are present. Reading elsewhere raises MissingSpanError."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.listed: Sequence[directory.Entry] | None = None  # by its list of members
        self._starts: list[int] = []
        self._spans: list[bytes] = []
        self._position = 0

    def add(self, start: int, content: bytes) -> None:
        """Add a span, which may touch or overlap others with the same content."""
        end = start + len(content)
        for at in range(len(self._starts) - 1, -1, -1):
            begin, span = self._starts[at], self._spans[at]
            if begin + len(span) < start or begin > end:
                continue
            if begin < start:
                content, start = span[: start - begin] + content, begin
            if begin + len(span) > end:
                content, end = content + span[end - begin - len(span) :], begin + len(span)
            del self._starts[at], self._spans[at]
        at = bisect_right(self._starts, start)
        self._starts.insert(at, start)
        self._spans.insert(at, content)

    def require(self, start: int, end: int) -> bytes:
        """The bytes from start to end, both limited to the file's size. Raises MissingSpanError."""
        if start < 0:
            raise OSError("a position before the start")
        start, end = min(start, self.size), min(end, self.size)
        at = bisect_right(self._starts, start) - 1
        if start >= end:
            return b""
        if at < 0 or self._starts[at] + len(self._spans[at]) < end:
            raise MissingSpanError(start, end)
        begin = self._starts[at]
        return self._spans[at][start - begin : end - begin]

    def read(self, size: int = -1) -> bytes:
        """Read on; raises MissingSpanError."""
        end = self.size if size < 0 else self._position + size
        content = self.require(self._position, end)
        self._position += len(content)
        return content

    def seek(self, offset: int, whence: int = 0) -> int:
        """Move within the file."""
        position = offset + (0, self._position, self.size)[whence]
        if position < 0:
            raise OSError("a position before the start")
        self._position = position
        return position

    def tell(self) -> int:
        """The position."""
        return self._position

    def seekable(self) -> bool:
        """Yes."""
        return True


def read_metadata(wheel: IO[bytes] | Sparse, release: Release) -> bytes:
    """The METADATA of a wheel. Raises UnusableFile, and MissingSpanError for a Sparse one."""
    source = Guarded(wheel, one_read=DIRECTORY_LIMIT, position=1 << 62)
    require = wheel.require if isinstance(wheel, Sparse) else lambda start, end: None  # noqa: ARG005
    try:
        found = _quickly(wheel, source, release, require)
        if found is not None:
            return found
        with zipfile.ZipFile(source) as archive:
            info = archive.getinfo(_member(archive.namelist(), release))
            if info.file_size > METADATA_LIMIT:
                raise UnusableFile(f"the metadata of {release.filename} is larger than 16 MiB")
            start = info.header_offset
            require(start, start + _LOCAL_HEADER + len(info.filename.encode()) + info.compress_size)
            content = unpacked(archive, info, METADATA_LIMIT)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, NotImplementedError, ValueError) as error:
        raise UnusableFile(f"{release.filename} is not a readable wheel: {error}") from None
    except TooLargeError as error:
        raise UnusableFile(f"{release.filename} is not a readable wheel: {error}") from None
    if len(content) > METADATA_LIMIT:
        raise UnusableFile(f"the metadata of {release.filename} is larger than 16 MiB")
    return content


def _quickly(
    wheel: IO[bytes] | Sparse, source: Guarded, release: Release, require: Callable[[int, int], object]
) -> bytes | None:
    """The same for a plain, valid wheel; None for any other. The list of a Sparse one is read once."""
    listed = wheel.listed if isinstance(wheel, Sparse) else None
    if listed is None:
        is_sparse = isinstance(wheel, Sparse)
        listed = (is_sparse and _last(source, release)) or directory.entries(source, _MEMBER, DIRECTORY_LIMIT) or ()
        if isinstance(wheel, Sparse):
            wheel.listed = listed
    if not listed:
        return None
    entries = {entry.name: entry for entry in listed}
    return directory.content(source, entries[_member(entries, release)], METADATA_LIMIT, require)


def _last(source: Guarded, release: Release) -> Sequence[directory.Entry]:
    """METADATA among the last members of a long list; empty if the rest of the list must be read."""
    listed = directory.last_entries(source, _MEMBER, _END_OF_LIST, beyond=_LONG_LIST) or ()
    folders = _folders(entry.name for entry in listed)
    return listed if [*map(_project, folders)] == [release.project] else ()


def _member(names: Iterable[str], release: Release) -> str:
    """METADATA in the .dist-info folder. Raises UnusableFile if there are several, like pip and uv."""
    folders = _folders(names)
    if len(folders) > 1:
        told = ", ".join(f"`{folder}`" for folder in folders[:_TOLD]) + (", …" if len(folders) > _TOLD else "")
        raise UnusableFile(f"{release.filename} has {len(folders)} .dist-info folders ({told}), which pip refuses")
    if not folders or _project(folders[0]) != release.project:
        raise UnusableFile(f"{release.filename} has no .dist-info folder of {release.project}")
    return f"{folders[0]}/METADATA"


def _folders(names: Iterable[str]) -> Sequence[str]:
    """The .dist-info folders with METADATA at the top of a wheel."""
    return list(dict.fromkeys(name.removesuffix("/METADATA") for name in names if _AT_TOP.fullmatch(name)))


def _project(folder: str) -> str:
    """The project of a .dist-info folder, however its name is spelled, as in pip."""
    return text.name(folder.removesuffix(".dist-info").rpartition("-")[0])
