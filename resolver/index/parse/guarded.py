"""Read archives with limits, since an index may send a hostile file.

`Guarded` limits the reads of a file, `unpacked` the size of a member, and `limited` the number of
members. `RangeFile` is a remote file of which only parts were fetched.
"""

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
# Greater than any position in a file: no limit for the position.
ANYWHERE: Final = 1 << 62
CHUNK: Final = 1 << 20  # bytes unpacked at once
_MOST_MEMBERS: Final = 100_000
# The compression methods whose memory can be limited; see `unpacked`.
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
    """Raise UnusableFile for any exception of `_UNREADABLE` in the body of `with`.

    These are the exceptions of the standard library for a damaged zip or tar file, and
    TooLargeError. `kind`, such as "wheel", is for the message.
    """
    try:
        yield
    except _UNREADABLE as error:
        raise UnusableFile(f"{filename} is not a readable {kind}: {error}") from None


def unpacked(archive: zipfile.ZipFile, info: zipfile.ZipInfo, limit: int) -> bytes:
    """Return the first `limit` + 1 bytes of the uncompressed content of a zip's member.

    So a result of more than `limit` bytes means that the member is too large. Raises TooLargeError
    for bzip2 and LZMA: zipfile decompresses at once all that it reads of these, and a kilobyte can
    hold a gigabyte.
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
    """Yield the members of an archive. Raises TooLargeError after _MOST_MEMBERS of them."""
    for count, member in enumerate(members):
        if count >= _MOST_MEMBERS:
            raise TooLargeError(f"it has more than {_MOST_MEMBERS} members")
        yield member


class MissingSpanError(Exception):
    """A span of a RangeFile is needed that was not fetched.

    The arguments are the position of its first byte, and the position after its last byte.
    """


class RangeFile:
    """A remote file of which only some spans were fetched.

    A span is a sequence of bytes at a position. Reading outside of the spans raises
    MissingSpanError.
    """

    def __init__(self, size: int) -> None:
        """Begin without spans; `size` is the size of the whole file in bytes."""
        self._size = size
        # The first position and the content of each span.
        self._spans: list[tuple[int, bytes]] = []
        self._position = 0

    def add(self, start: int, content: bytes) -> None:
        """Add the span that begins at `start`."""
        self._spans.append((start, content))

    def read(self, size: int = -1, /) -> bytes:
        """Return `size` bytes from the position, or all bytes up to the end if it is negative.

        Fewer are returned at the end of the file. Raises MissingSpanError unless one span has all
        of them.
        """
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
        """Move to a position, which is returned. Raises OSError for one before the start."""
        position = offset + (0, self._position, self._size)[whence]
        if position < 0:
            raise OSError("a position before the start")
        self._position = position
        return position

    def tell(self) -> int:
        """Return the position."""
        return self._position


class Guarded:
    """A readable, seekable file with limits for each read and for the position."""

    def __init__(
        self, file: IO[bytes] | RangeFile, *, one_read: int, position: int, forward: bool = False
    ) -> None:
        """Allow reads of at most `one_read` bytes each, and no byte after `position`.

        With `forward`, seeking back is not allowed: in a compressed file that would mean
        decompressing it again from the start.
        """
        self._file = file
        self._one_read = one_read
        self._last_position = position
        self._forward = forward
        self._position = file.tell()  # slow in a compressed file
        self._budget: int | None = None
        self._excess = ""

    def set_budget(self, size: int, excess: str) -> None:
        """Allow `size` more bytes in total, in any number of reads.

        A read beyond that raises TooLargeError with the message `EXCESS of unreasonable size`.
        """
        self._budget = size
        self._excess = excess

    def read(self, size: int = -1) -> bytes:
        """Return `size` bytes from the position, or all bytes up to the end if it is negative.

        Raises TooLargeError beyond a limit.
        """
        if size > self._one_read:
            raise TooLargeError(f"it makes a reader take {size} bytes at once")
        # A negative size is not checked: only zipfile uses it, for the last 64 KiB of a file.
        content = self._file.read(size)
        self._position += len(content)
        self._check(self._position)
        if self._budget is not None:
            self._budget -= len(content)
            if self._budget < 0:
                raise TooLargeError(f"{self._excess} of unreasonable size")
        return content

    def seek(self, offset: int, whence: int = 0) -> int:
        """Move to a position, which is returned.

        Raises TooLargeError beyond a limit, and ValueError for a position before the beginning.
        """
        if whence == 0:
            if offset < 0:
                raise ValueError("it points to before its beginning")
            # Checked before moving, since moving forward in a compressed file decompresses it.
            self._check(offset)
            if self._forward and offset < self._position:
                raise TooLargeError("it points back to data that was already read")
        self._position = self._file.seek(offset, whence)
        return self._position

    def _check(self, position: int) -> None:
        """Raise TooLargeError for a position beyond the limit."""
        if position > self._last_position:
            raise TooLargeError(f"it continues beyond {self._last_position} bytes")

    def tell(self) -> int:
        """Return the position."""
        return self._position

    def seekable(self) -> bool:
        """Return True: `seek` is supported."""
        return True
