"""Finding a member in a zip's list of members without creating an object for each of ten thousand.

Reads as `zipfile` does, but only the plain case: anything not plain (ZIP64, comments, encryption, other
compressions, later versions, odd extra fields or names, members that overlap) or incomplete is left to `zipfile`, be
it at a member that nobody looks for: pip could not install such a wheel.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol

_END = struct.Struct("<4s4H2LH")
_ENTRY = struct.Struct("<4s6H3L5H2L")
# Of an entry: signature, version, flags; the lengths of name, extra field and comment; offset.
_LENGTHS = struct.Struct("<4s2xBxH18x3H8xL")
_FIELD = struct.Struct("<2H")  # the begin of an extra field: kind and length
_READ_FIELDS = (0x1, 0x7075)  # which `zipfile` acts on: ZIP64, a name
_UTF_8 = 0x800
_LOCAL = struct.Struct("<4s5H3L2H")
_ODD_FLAGS = 0x1 | 0x20 | 0x40  # encrypted, a patch, encrypted strongly
_VERSION = 63  # of the format: what asks for a later one is refused by `zipfile`, and so by pip
_DEFLATED = 8
_ZIP64 = 0xFFFFFFFF


class PositionedFile(Protocol):
    """A file that is read at positions."""

    def read(self, size: int = -1) -> bytes:
        """Read on."""
        ...

    def seek(self, offset: int, whence: int = 0) -> int:
        """Move."""
        ...


class Entry(NamedTuple):
    """A member as listed: name, how it is stored, and where."""

    name: str
    flags: int
    method: int
    checksum: int
    packed: int
    size: int
    offset: int
    end: int  # where the next member begins, or the list


def entries(source: PositionedFile, ending: str, limit: int) -> list[Entry] | None:
    """The members whose names end so, in the order of the list; None if it is not plain or longer than `limit`."""
    total = source.seek(0, 2)
    if total < _END.size:
        return None
    source.seek(total - _END.size)
    mark, disk, first, here, count, size, offset, comment = _END.unpack(source.read(_END.size))
    if mark != b"PK\5\6" or disk or first or comment or here != count or count == 0xFFFF:
        return None
    if size > limit or offset + size != total - _END.size:
        return None
    source.seek(offset)
    listed = source.read(size)
    wanted = ending.encode()
    ends = set(_ends(listed, wanted))
    found = []
    begins = [offset]
    at = 0
    while at + _ENTRY.size <= size:
        mark, version, flags, name, extra, remark, begin = _LENGTHS.unpack_from(listed, at)
        if mark != b"PK\1\2":
            break
        start = at + _ENTRY.size
        end = start + name
        if version > _VERSION or (extra and not _is_plain(listed[end : end + extra])):
            return None
        if flags & _UTF_8 and not listed[start:end].isascii():
            return None
        if end in ends and name >= len(wanted):
            row = _ENTRY.unpack_from(listed, at)
            try:
                title = listed[start:end].decode("ascii")
            except UnicodeDecodeError:
                return None
            found.append(Entry(title, row[3], row[4], row[7], row[8], row[9], begin, 0))
        begins.append(begin)
        at = end + extra + remark
        count -= 1
    whole = at == size and count == 0 and len(ends) == len(found)  # otherwise one is hidden somewhere
    return [one._replace(end=_end(one.offset, begins)) for one in found] if whole else None


def _is_plain(extra: bytes) -> bool:
    """Whether the extra fields of a member are whole, and mean nothing to `zipfile`."""
    at = 0
    while at + _FIELD.size <= len(extra):
        kind, length = _FIELD.unpack_from(extra, at)
        at += _FIELD.size + length
        if kind in _READ_FIELDS or at > len(extra):
            return False
    return True


def _end(begin: int, begins: Sequence[int]) -> int:
    """Where a member that begins there must end; there, if another one begins there, too."""
    return begin if begins.count(begin) > 1 else min((one for one in begins if one > begin), default=begin)


def _ends(listed: bytes, wanted: bytes) -> Iterator[int]:
    """Where each occurrence ends."""
    at = listed.find(wanted)
    while at >= 0:
        yield at + len(wanted)
        at = listed.find(wanted, at + 1)


def content(source: PositionedFile, entry: Entry, limit: int, require: Callable[[int, int], object]) -> bytes | None:
    """A member's content, with its checksum verified; None if it is not plain or has more than `limit` bytes.

    `require` is called with the member's start and end before it is read.
    """
    if entry.flags & _ODD_FLAGS or entry.method not in (0, _DEFLATED) or entry.size > limit:
        return None
    if _ZIP64 in (entry.packed, entry.size, entry.offset):
        return None
    require(entry.offset, entry.offset + _LOCAL.size + len(entry.name) + 1024 + entry.packed)
    source.seek(entry.offset)
    head = source.read(_LOCAL.size)
    if len(head) != _LOCAL.size or head[:4] != b"PK\3\4":
        return None
    name, extra = _LOCAL.unpack(head)[9:]
    start = entry.offset + _LOCAL.size + name + extra
    if source.read(name) != entry.name.encode() or start + entry.packed > entry.end:
        return None
    source.seek(start)
    packed = source.read(entry.packed)
    if entry.method == _DEFLATED:
        try:
            packed = zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, limit + 1)
        except zlib.error:
            return None
    return packed if len(packed) == entry.size and zlib.crc32(packed) == entry.checksum else None
