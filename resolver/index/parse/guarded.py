"""Files that are read with limits, as nothing in them is believed."""

from __future__ import annotations

import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import IO, Final, TypeVar

from resolver.index.protocol import UnusableFile

T = TypeVar("T")

# Bytes of a zip's list of members; torch's largest wheel has 2 MB.
DIRECTORY_LIMIT: Final = 16 << 20
# A position that no file has.
ANYWHERE: Final = 1 << 62
CHUNK: Final = 1 << 20
_MOST_MEMBERS: Final = 100_000
_BOUNDED: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


class TooLargeError(Exception):
    """Reading an archive would exceed a limit."""


_UNREADABLE: Final = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    OSError,
    ValueError,
    TooLargeError,
    RuntimeError,  # an encrypted member
    NotImplementedError,  # a compression that is not supported
)


@contextmanager
def readable(filename: str, kind: str) -> Iterator[None]:
    """Turn the exceptions of reading a zip or tar into UnusableFile.

    Most of them are of the standard library.
    """
    try:
        yield
    except _UNREADABLE as error:
        raise UnusableFile(f"{filename} is not a readable {kind}: {error}") from None


def unpacked(archive: zipfile.ZipFile, info: zipfile.ZipInfo, limit: int) -> bytes:
    """Return at most `limit` + 1 bytes of a zip's member.

    Raises TooLargeError if it cannot be unpacked within bounds: for bzip2 and LZMA, zipfile unpacks
    all that it reads at once, and a kilobyte can hold a gigabyte.
    """
    if info.compress_type not in _BOUNDED:
        raise TooLargeError(f"its {info.filename} uses an unsupported compression method")
    content = BytesIO()
    with archive.open(info) as member:
        while content.tell() <= limit:
            piece = member.read(min(CHUNK, limit + 1 - content.tell()))
            if not piece:
                break
            content.write(piece)
    return content.getvalue()


def limited(members: Iterable[T]) -> Iterator[T]:
    """Yield members up to a number that no honest file has; raise TooLargeError at the next."""
    for count, member in enumerate(members):
        if count >= _MOST_MEMBERS:
            raise TooLargeError(f"it has more than {_MOST_MEMBERS} members")
        yield member


class MissingSpanError(Exception):
    """A span that is needed was not fetched.

    The arguments are its first position, and the position after its last one.
    """


class RangeFile:
    """A file of which only some spans are present. Reading elsewhere raises MissingSpanError."""

    def __init__(self, size: int) -> None:
        self._size = size
        # The first position and the content of each span.
        self._spans: list[tuple[int, bytes]] = []
        self._position = 0

    def add(self, start: int, content: bytes) -> None:
        """Add a span."""
        self._spans.append((start, content))

    def read(self, size: int = -1, /) -> bytes:
        """Return `size` bytes from the position, or all of them. Raises MissingSpanError."""
        start = min(self._position, self._size)
        end = self._size if size < 0 else min(start + size, self._size)
        for span_start, span in self._spans:
            if span_start <= start and end <= span_start + len(span):
                self._position = end
                return span[start - span_start : end - span_start]
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
        """Return the position."""
        return self._position


class Guarded:
    """A readable, seekable file with limits on each read and on the position."""

    def __init__(
        self, file: IO[bytes] | RangeFile, *, one_read: int, position: int, forward: bool = False
    ) -> None:
        """Allow reads of at most `one_read` bytes, up to a position.

        With `forward` nothing is read twice: going back in a compressed file means reading it again
        from the start.
        """
        self._file = file
        self._one_read = one_read
        self._last_position = position
        self._forward = forward
        self._position = file.tell()  # slow in a compressed file
        self._budget: int | None = None
        self._excess = ""

    def set_budget(self, size: int, excess: str) -> None:
        """Allow `size` bytes from now on, in any number of reads; `excess` describes more."""
        self._budget = size
        self._excess = excess

    def read(self, size: int = -1) -> bytes:
        """Return `size` bytes from the position. Raises TooLargeError."""
        if size > self._one_read:
            raise TooLargeError(f"it makes a reader take {size} bytes at once")
        # zipfile alone asks for all that is left, and only of the last 64 KiB.
        content = self._file.read(size)
        self._position += len(content)
        self._check(self._position)
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
            # Beforehand, since moving ahead in a compressed file means reading it.
            self._check(offset)
            if self._forward and offset < self._position:
                raise TooLargeError("it points back to data that was already read")
        self._position = self._file.seek(offset, whence)
        return self._position

    def _check(self, position: int) -> None:
        if position > self._last_position:
            raise TooLargeError(f"it continues beyond {self._last_position} bytes")

    def tell(self) -> int:
        """Return the position."""
        return self._position

    def seekable(self) -> bool:
        """Return that one can move in it."""
        return True
