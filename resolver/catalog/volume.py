"""A volume: the contents that one process wrote, one after the other in a file, and beside it a row for each.

A cache of a file for each content would make thousands of them, which on many file systems, network ones above all,
costs more than what is in them. A volume is only ever written by the process that made it, and only at its end, so
whoever reads needs no lock; what a killed process left of an unfinished content has no row.
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
_ABANDONED: Final = 3600.0  # seconds without a write after which nobody writes any more, where locks do not tell
_NEW: Final = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_READ: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC  # a pipe would be waited for
_MOST_ROWS: Final = 1 << 20  # far more than are ever written: what is larger is none of ours


class Row(NamedTuple):
    """Where a content is: its name, the seal over name and content, its place in the file of contents."""

    name: bytes
    seal: bytes
    offset: int
    length: int


class Rows:
    """The rows of a volume as bytes: a run reads thousands, and looks at a few."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def __len__(self) -> int:
        return len(self._content) // _ROW.size

    def __iter__(self) -> Iterator[Row]:
        return map(Row._make, _ROW.iter_unpack(self._content))

    def __getitem__(self, number: int) -> Row:
        return Row._make(_ROW.unpack_from(self._content, number * _ROW.size))

    def names(self) -> list[bytes]:
        """The name of each."""
        content = self._content
        return [content[at : at + _NAME] for at in range(0, len(content), _ROW.size)]

    def lengths(self) -> list[int]:
        """The bytes of each one's content."""
        return [length for _, _, _, length in _ROW.iter_unpack(self._content)]


class Volume:
    """Contents and their rows. `path` is that of its files without their endings; they are open as long as it lives."""

    def __init__(self, path: str, data: int, rows: int) -> None:
        self.path = path
        self._data = data
        self._rows = rows
        self._size = os.fstat(data).st_size

    @classmethod
    def create(cls, path: str) -> Volume:
        """A new one, to be written by this process; raises OSError."""
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
        """One that is there, to be read; raises OSError."""
        data = os.open(path + DATA, _READ)
        try:
            return cls(path, data, os.open(path + ROWS, _READ))
        except OSError:
            os.close(data)
            raise

    @property
    def size(self) -> int:
        """The bytes of its contents."""
        return self._size

    def rows(self) -> Rows:
        """The rows as they are now, the oldest first. Whatever is in the file, they are of the right shape."""
        content = b""
        with suppress(OSError):
            size = os.fstat(self._rows).st_size
            content = _read(self._rows, size, 0) if size <= _MOST_ROWS * _ROW.size else b""
        return Rows(content[: len(content) // _ROW.size * _ROW.size])

    def read(self, offset: int, length: int) -> bytes | None:
        """A piece of its contents; None where it is not there."""
        with suppress(OSError):
            if offset + length > self._size:  # it may have been written since
                self._size = os.fstat(self._data).st_size
            if offset + length > self._size:
                return None
            piece = _read(self._data, length, offset)
            if len(piece) == length:
                return piece
        return None

    def append(self, name: bytes, seal: bytes, content: bytes) -> Row:
        """Write a content; raises OSError, and the volume is as it was then."""
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
        """Whether the process that made it may still write to it."""
        try:
            fcntl.flock(self._rows, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            return abs(time.time() - os.fstat(self._rows).st_mtime) < _ABANDONED
        fcntl.flock(self._rows, fcntl.LOCK_UN)
        return False

    def remove(self) -> None:
        """Take its files away, the rows last. Who has it open can still read it."""
        for ending in (DATA, ROWS):
            with suppress(OSError):
                os.unlink(self.path + ending)  # noqa: PTH108

    def __del__(self) -> None:
        for descriptor in (self._data, self._rows):
            os.close(descriptor)


class Place(NamedTuple):
    """A row, and the volume it is of."""

    volume: Volume
    row: Row

    def content(self) -> bytes | None:
        """The content; None where it is not what was written."""
        content = self.volume.read(self.row.offset, self.row.length)
        return content if content is not None and seal_of(self.row.name, content) == self.row.seal else None


def seal_of(name: bytes, content: bytes) -> bytes:
    """A digest over both; it guards against accidents, not against who can write the folder."""
    digest = sha256(name)  # most processors have instructions for it
    digest.update(content)
    return digest.digest()[:16]


def _read(descriptor: int, length: int, offset: int) -> bytes:
    """So many bytes from an offset on, fewer at the end of the file; one call gives two gigabytes at most."""
    piece = os.pread(descriptor, length, offset)
    while len(piece) < length and (more := os.pread(descriptor, length - len(piece), offset + len(piece))):
        piece += more
    return piece


def _write(descriptor: int, content: bytes, offset: int) -> None:
    done = 0
    while done < len(content):
        done += os.pwrite(descriptor, content[done:] if done else content, offset + done)
