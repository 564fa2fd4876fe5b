"""A view of a file that refuses to read more at once, or further ahead, than any honest archive requires."""

from __future__ import annotations

import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Protocol

from resolver.index.protocol import UnusableFile

_BOUNDED: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


class TooLargeError(Exception):
    """An archive requires reading more than allowed."""


class Readable(Protocol):
    """A seekable, readable file."""

    def read(self, size: int = -1, /) -> bytes:
        """Read on."""
        ...

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """Move."""
        ...

    def tell(self) -> int:
        """The position."""
        ...


@contextmanager
def readable(filename: str, kind: str) -> Iterator[None]:
    """Turns what reading a zip or tar may raise, most of it by the standard library, into UnusableFile."""
    try:
        yield
    except (
        *(tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, TooLargeError),
        *(RuntimeError, NotImplementedError),  # an encrypted member, a compression that is not supported
    ) as error:
        raise UnusableFile(f"{filename} is not a readable {kind}: {error}") from None


def unpacked(archive: zipfile.ZipFile, info: zipfile.ZipInfo, limit: int) -> bytes:
    """At most `limit` + 1 bytes of a zip's member. Raises TooLargeError if it cannot be unpacked within bounds.

    For bzip2 and LZMA, zipfile unpacks all that it reads at once, and a kilobyte can hold a gigabyte.
    """
    if info.compress_type not in _BOUNDED:
        raise TooLargeError(f"its {info.filename} uses an unsupported compression method")
    with archive.open(info) as member:
        return member.read(limit + 1)


class Guarded:
    """A readable, seekable file with limits on each read and on the position.

    With `forward` nothing is read twice: going back in a compressed file means reading it again from the start.
    """

    def __init__(self, file: Readable, *, one_read: int, position: int, forward: bool = False) -> None:
        self._file = file
        self._one_read = one_read
        self._position = position
        self._forward = forward
        self._at = file.tell()  # slow in a compressed file
        self._left: int | None = None
        self._what = ""

    def allow(self, size: int, what: str) -> None:
        """Allow so many bytes from now on, in any number of reads; `what` says what they contain."""
        self._left = size
        self._what = what

    def read(self, size: int = -1) -> bytes:
        """Read `size` bytes; raises TooLargeError."""
        if size > self._one_read:
            raise TooLargeError(f"it makes a reader take {size} bytes at once")
        content = self._file.read(self._one_read + 1 if size < 0 else size)
        if len(content) > self._one_read:
            raise TooLargeError(f"it makes a reader take more than {self._one_read} bytes at once")
        self._at += len(content)
        self._check(self._at)
        if self._left is not None:
            self._left -= len(content)
            if self._left < 0:
                raise TooLargeError(f"{self._what} of unreasonable size")
        return content

    def seek(self, offset: int, whence: int = 0) -> int:
        """Move; raises TooLargeError."""
        if whence == 0:
            self._check(offset)  # beforehand, since moving ahead in a compressed file means reading it
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
