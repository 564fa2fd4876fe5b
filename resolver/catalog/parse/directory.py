"""Finding a member in a zip's list of members without creating an object for each of ten thousand.

Reads as `zipfile` does, but only the plain case: anything not plain (ZIP64, a comment on the whole, encryption, other
compressions, later versions, odd extra fields or names, members that overlap) or incomplete is left to `zipfile`, be
it at a member that nobody looks for: pip could not install such a wheel.
"""

from __future__ import annotations

import struct
import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol

_END = struct.Struct("<4s4H2LH")
_ENTRY = struct.Struct("<4s6H3L5H2L")
# Of an entry: signature, version, flags; the lengths of name, extra field and comment; offset.
_LENGTHS = struct.Struct("<L2xBxH18x3H8xL")
_SIGNATURE = b"PK\1\2"
_LISTED = int.from_bytes(_SIGNATURE, "little")
_FIELD = struct.Struct("<2H")  # the begin of an extra field: kind and length
_READ_FIELDS = (0x1, 0x7075)  # which `zipfile` acts on: ZIP64, a name
_LOCATOR = 20  # bytes before the end in which ZIP64 says where its own end is
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


class _Place(NamedTuple):
    """Where the list is, and how many members it has."""

    offset: int
    size: int
    members: int


def entries(source: PositionedFile, ending: str, limit: int) -> list[Entry] | None:
    """The members whose names end so, in the order of the list; None if it is not plain or longer than `limit`."""
    place = _place(source)
    if place is None or place.size > limit:
        return None
    source.seek(place.offset)
    found = _read(source.read(place.size), 0, ending, place.offset)
    return found[0] if found is not None and found[1] == place.members else None


def last_entries(source: PositionedFile, ending: str, span: int, *, beyond: int) -> list[Entry] | None:
    """Those among the last members of a list longer than `beyond`, of which only the last `span` bytes are read.

    None if the list is not longer, or they are not plain. What comes before them is not looked at.
    """
    place = _place(source)
    if place is None or place.size <= max(span, beyond):
        return None
    source.seek(place.offset + place.size - span)
    listed = source.read(span)
    begin = _first_whole(listed)
    found = None if begin is None else _read(listed, begin, ending, place.offset)
    return found[0] if found is not None and found[1] <= place.members else None


def _place(source: PositionedFile) -> _Place | None:
    """By the record at the end of the file; None if that is not plain."""
    total = source.seek(0, 2)
    if total < _END.size:
        return None
    source.seek(total - _END.size)
    mark, disk, first, here, count, size, offset, comment = _END.unpack(source.read(_END.size))
    if mark != b"PK\5\6" or disk or first or comment or here != count or count == 0xFFFF:
        return None
    return _Place(offset, size, count) if offset + size == total - _END.size else None


def _first_whole(listed: bytes) -> int | None:
    """Where the first member begins from which one follows the other to the end, in the end of a list."""
    leads = {len(listed)}  # the places from which they do; a name may have the signature, too
    first = None
    at = listed.rfind(_SIGNATURE)
    while at >= 0:
        if at <= len(listed) - _ENTRY.size:
            _, _, _, name, extra, remark, _ = _LENGTHS.unpack_from(listed, at)
            if at + _ENTRY.size + name + extra + remark in leads:
                leads.add(at)
                first = at
        at = listed.rfind(_SIGNATURE, 0, at + len(_SIGNATURE) - 1)
    return first


def _read(listed: bytes, at: int, ending: str, offset: int) -> tuple[list[Entry], int] | None:
    """The members from there on whose names end so, and how many there are in all; None if one is not plain."""
    if listed[-_LOCATOR:].startswith(b"PK\6\7"):  # perhaps in a comment; `zipfile` then goes by another list
        return None
    wanted = ending.encode()
    ends = set(_ends(listed, wanted))
    places = []
    begins = [offset]
    plain: set[bytes] = set()  # extra fields, which hardly differ from member to member
    unpack, add = _LENGTHS.unpack_from, begins.append  # looked up once, not for each of ten thousand members
    size = len(listed)
    while at <= size - _ENTRY.size:
        mark, version, flags, name, extra, remark, begin = unpack(listed, at)
        start = at + _ENTRY.size
        end = start + name
        if mark != _LISTED or version > _VERSION or (flags & _UTF_8 and not listed[start:end].isascii()):
            return None
        if extra and (fields := listed[end : end + extra]) not in plain:
            if not _is_plain(fields):
                return None
            plain.add(fields)
        if end in ends and name >= len(wanted):
            if b"\0" in listed[start:end]:  # where `zipfile` cuts the name
                return None
            places.append(at)
        add(begin)
        at = end + extra + remark
    if at != size or len(ends) != len(places):  # otherwise one is hidden somewhere
        return None
    count = len(begins) - 1
    begins.sort()
    try:
        return [_entry(listed, place, begins) for place in places], count
    except UnicodeDecodeError:
        return None


def _entry(listed: bytes, place: int, begins: Sequence[int]) -> Entry:
    """The member listed at a place. It ends where the next one begins, or there if another begins there, too."""
    row = _ENTRY.unpack_from(listed, place)
    start = place + _ENTRY.size
    begin = row[-1]
    after = bisect_right(begins, begin)
    is_alone = after - bisect_left(begins, begin) == 1 and after < len(begins)
    title = listed[start : start + row[10]].decode("ascii")
    return Entry(title, row[3], row[4], row[7], row[8], row[9], begin, begins[after] if is_alone else begin)


def _is_plain(extra: bytes) -> bool:
    """Whether the extra fields of a member are whole, and mean nothing to `zipfile`."""
    at = 0
    while at + _FIELD.size <= len(extra):
        kind, length = _FIELD.unpack_from(extra, at)
        at += _FIELD.size + length
        if kind in _READ_FIELDS or at > len(extra):
            return False
    return True


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
