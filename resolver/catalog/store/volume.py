"""A volume: the contents written by one process, one after the other in a file, with a second file of rows about them.

One file per content would mean thousands of files, which on many file systems, especially network ones, cost more
than their contents. A volume is only written by the process that created it, and only at its end, so readers need no
lock; an unfinished content left by a killed process has no row.
"""

from __future__ import annotations

import fcntl
import os
import struct
import time
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from typing import Final, NamedTuple

DATA: Final = ".data"
ROWS: Final = ".rows"

_NAME: Final = 20  # bytes
_ROW: Final = struct.Struct(f"<{_NAME}s16sQQ")
_ABANDONED: Final = 3600.0  # seconds without a write after which a volume counts as finished if locks cannot tell
_NEW: Final = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_READ: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC  # a pipe would be waited for
_MOST_ROWS: Final = 1 << 20  # far more than are ever written: what is larger is none of ours


class Row(NamedTuple):
    """The location of a content: its name, the seal over name and content, its place in the file of contents."""

    name: bytes
    seal: bytes
    offset: int
    length: int


class Rows:
    """The rows of a volume as bytes: a run reads thousands and looks at a few."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def __len__(self) -> int:
        return len(self._content) // _ROW.size

    def __iter__(self) -> Iterator[Row]:
        return map(Row._make, _ROW.iter_unpack(self._content))

    def __getitem__(self, number: int) -> Row:
        return Row._make(_ROW.unpack_from(self._content, number * _ROW.size))

    def names(self) -> list[bytes]:
        """The name of each row."""
        content = self._content
        return [content[at : at + _NAME] for at in range(0, len(content), _ROW.size)]

    def lengths(self) -> list[int]:
        """The length in bytes of each row's content."""
        return [length for _, _, _, length in _ROW.iter_unpack(self._content)]


class Volume:
    """Contents and their rows. `path` is that of its files without endings; they stay open as long as it exists."""

    def __init__(self, path: str, data: int, rows: int) -> None:
        self.path = path
        self._data = data
        self._rows = rows
        self._size = os.fstat(data).st_size

    @classmethod
    def create(cls, path: str) -> Volume:
        """Create a volume to be written by this process. Raises OSError."""
        data = os.open(path + DATA, _NEW, 0o600)
        try:
            rows = os.open(path + ROWS, _NEW, 0o600)
        except OSError:
            os.close(data)
            os.unlink(path + DATA)  # noqa: PTH108
            raise
        with suppress(OSError):  # a file system without locks; see `is_written`
            fcntl.flock(rows, fcntl.LOCK_SH)
        return cls(path, data, rows)

    @classmethod
    def open(cls, path: str) -> Volume:
        """Open an existing volume for reading. Raises OSError."""
        data = os.open(path + DATA, _READ)
        try:
            return cls(path, data, os.open(path + ROWS, _READ))
        except OSError:
            os.close(data)
            raise

    @property
    def size(self) -> int:
        """The size of its contents in bytes."""
        return self._size

    def rows(self) -> Rows:
        """The present rows, oldest first. Whatever is in the file, they have the right format."""
        content = b""
        with suppress(OSError):
            size = os.fstat(self._rows).st_size
            content = _read(self._rows, size, 0) if size <= _MOST_ROWS * _ROW.size else b""
        return Rows(content[: len(content) // _ROW.size * _ROW.size])

    def read(self, offset: int, length: int) -> bytes | None:
        """A piece of its contents; None if it is missing."""
        with suppress(OSError):
            if offset + length > self._size:  # the file may have grown
                self._size = os.fstat(self._data).st_size
            if offset + length > self._size:
                return None
            piece = _read(self._data, length, offset)
            if len(piece) == length:
                return piece
        return None

    def append(self, name: bytes, seal: bytes, content: bytes) -> Row:
        """Append a content. Raises OSError, leaving the volume as it was."""
        row = Row(name, seal, self._size, len(content))
        end = os.fstat(self._rows).st_size
        try:
            _write(self._data, content, row.offset)
            _write(self._rows, _ROW.pack(*row), end)
        except BaseException:
            with suppress(OSError):
                os.ftruncate(self._rows, end)
                os.ftruncate(self._data, row.offset)
            raise
        self._size = row.offset + row.length
        return row

    def is_written(self) -> bool:
        """Whether the process that created it may still write to it."""
        try:
            fcntl.flock(self._rows, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            return abs(time.time() - os.fstat(self._rows).st_mtime) < _ABANDONED
        fcntl.flock(self._rows, fcntl.LOCK_UN)
        return False

    def remove(self) -> None:
        """Remove its files, the rows last. Processes that have it open can still read it."""
        for ending in (DATA, ROWS):
            with suppress(OSError):
                os.unlink(self.path + ending)  # noqa: PTH108

    def __del__(self) -> None:
        for descriptor in (self._data, self._rows):
            os.close(descriptor)


class Place(NamedTuple):
    """A row and its volume."""

    volume: Volume
    row: Row

    def content(self) -> bytes | None:
        """The content; None if it is not what was written."""
        content = self.volume.read(self.row.offset, self.row.length)
        return content if content is not None and seal_of(self.row.name, content) == self.row.seal else None


def seal_of(name: bytes, content: bytes) -> bytes:
    """A digest of both. It guards against accidents, not against anyone who can write to the folder."""
    digest = sha256(name)  # most processors have instructions for sha256
    digest.update(content)
    return digest.digest()[:16]


def _read(descriptor: int, length: int, offset: int) -> bytes:
    """So many bytes from an offset on, fewer at the end of the file. One system call reads at most two gigabytes."""
    piece = os.pread(descriptor, length, offset)
    while len(piece) < length and (more := os.pread(descriptor, length - len(piece), offset + len(piece))):
        piece += more
    return piece


def _write(descriptor: int, content: bytes, offset: int) -> None:
    done = 0
    while done < len(content):
        done += os.pwrite(descriptor, content[done:] if done else content, offset + done)
