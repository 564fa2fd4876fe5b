"""Read the list of members of a plain zip file, and single members, faster than `zipfile` does.

`zipfile` makes an object for each member, of which a wheel may have thousands, and only one is
needed. A zip file is plain if it has none of the rare features of the format; most wheels are. For
any other file these functions return None, and the caller uses `zipfile`. What they do return is
the same as what `zipfile` returns (tests/property/test_zip_laws.py).

The specification is APPNOTE.TXT of PKWARE, 4.3. In its terms the list of members is the central
directory, and the header of a member is its local file header.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from struct import Struct
from typing import Final, NamedTuple

from resolver.index.parse.guarded import DIRECTORY_LIMIT, Guarded

# The record at the end of a zip file.
_END: Final = Struct("<4s4H2LH")
# An entry of the list of members, without the version of its maker, its time and its attributes.
_ENTRY: Final = Struct("<4s2x3H4x3L4H6xL")
# The header before the content of a member.
_HEADER: Final = Struct("<4s5H3L2H")
_END_MARK: Final = b"PK\x05\x06"
_ENTRY_MARK: Final = b"PK\x01\x02"
_HEADER_MARK: Final = b"PK\x03\x04"
# Begins the record that precedes the end of a file in the ZIP64 format.
_LOCATOR_MARK: Final = b"PK\x06\x07"
_LOCATOR_SIZE: Final = 20
# The flags that a plain member may have: the compression level, that the sizes follow the content,
# and that the name is UTF-8.
_PLAIN_FLAGS: Final = 0x0006 | 0x0008 | 0x0800
_STORED: Final = 0
_DEFLATED: Final = 8
# The newest version of the format that a plain member may need, times ten.
_NEWEST: Final = 45
# Stands for a number that does not fit in 32 bits and is stored elsewhere (ZIP64).
_UNSAID: Final = 0xFFFFFFFF
# A member's header is followed by its name and a short extra field.
_LONGEST_EXTRA: Final = 1024


class PlainMember(NamedTuple):
    """A member of a zip file, as the list of members describes it."""

    name: str
    flags: int
    # The compression method.
    method: int
    # The CRC-32 of the uncompressed content.
    crc: int
    # The size of the compressed content in bytes.
    packed: int
    # The size of the uncompressed content in bytes.
    unpacked: int
    # The position of its header in the file.
    start: int


# An entry of the list of members, as `_ENTRY` unpacks it.
_Entry = tuple[bytes, int, int, int, int, int, int, int, int, int, int, int]


class PlainZip:
    """A zip file without comments, extra fields and other rare features. `open` makes it."""

    def __init__(self, source: Guarded, names: list[str], entries: list[_Entry], end: int) -> None:
        """Use the names and the entries of the members, in the order of the list of members."""
        self.names = names
        self._entries = entries
        self._source = source
        # The position of the list of members, where the contents end.
        self._end = end

    @classmethod
    def open(cls, source: Guarded) -> PlainZip | None:
        """Return a zip file with its list of members; None if the file is not plain.

        Raises the exceptions of reading `source`.
        """
        size = source.seek(0, 2)
        if size < _END.size:
            return None
        source.seek(size - _END.size)
        end = source.read(_END.size)
        mark, disk, first_disk, count_here, count, length, start, comment = _END.unpack(end)
        if (mark, disk, first_disk, comment) != (_END_MARK, 0, 0, 0) or count_here != count:
            return None
        if start + length + _END.size != size or length > DIRECTORY_LIMIT:
            return None
        source.seek(start)
        found = _entries(source.read(length))
        if found is None or len(found[0]) != count:
            return None
        return cls(source, *found, start)

    def members(self) -> Iterator[PlainMember]:
        """Yield all members, in the order of the list."""
        for name, entry in zip(self.names, self._entries, strict=True):
            yield _member(name, entry)

    def member(self, name: str) -> PlainMember | None:
        """Return the member with a name; None if there is none.

        If several have the name, the last one counts, as in `zipfile`.
        """
        if name not in self.names:
            return None
        from_last = self.names[::-1].index(name)
        return _member(name, self._entries[-1 - from_last])

    def content(self, member: PlainMember) -> bytes | None:
        """Return the uncompressed content of a member, checked by its CRC-32.

        None if the member is not plain or is damaged. Raises the exceptions of reading the source.
        """
        if member.method not in (_STORED, _DEFLATED):
            return None
        name = member.name.encode()
        self._source.seek(member.start)
        block = self._source.read(_HEADER.size + len(name) + _LONGEST_EXTRA + member.packed)
        if len(block) < _HEADER.size:
            return None
        # The sizes in the list of members are used. The header may lack them: they may follow the
        # content.
        fields = _HEADER.unpack_from(block)
        mark, _, flags, method, _, _, _, _, _, name_length, extra_length = fields
        if (mark, flags, method) != (_HEADER_MARK, member.flags, member.method):
            return None
        start = _HEADER.size + name_length + extra_length
        end = start + member.packed
        is_named_alike = block[_HEADER.size : _HEADER.size + name_length] == name
        if not is_named_alike or end > len(block) or member.start + end > self._next(member):
            return None
        content = _unpacked(block[start:end], member)
        if content is None or zlib.crc32(content) != member.crc:
            return None
        return content

    def _next(self, member: PlainMember) -> int:
        """Return the position after a member: the next header, or the list of members."""
        starts = [entry[-1] for entry in self._entries]
        return min((start for start in starts if start > member.start), default=self._end)


def _member(name: str, entry: _Entry) -> PlainMember:
    """Return a member from its name and its entry in the list of members."""
    _, _, flags, method, crc, packed, unpacked, *_, start = entry
    return PlainMember(name, flags, method, crc, packed, unpacked, start)


def _entries(directory: bytes) -> tuple[list[str], list[_Entry]] | None:
    """Return the names and the entries in the bytes of a list of members; None if not plain."""
    if directory[-_LOCATOR_SIZE:].startswith(_LOCATOR_MARK):
        return None
    names: list[str] = []
    entries: list[_Entry] = []
    position = 0
    last = len(directory) - _ENTRY.size
    read_entry = _ENTRY.unpack_from
    while position <= last:
        entry: _Entry = read_entry(directory, position)
        mark, needed, flags, _, _, packed, unpacked, name_length, extra, comment, disk, start = (
            entry
        )
        begin = position + _ENTRY.size
        position = begin + name_length
        if mark != _ENTRY_MARK or needed > _NEWEST or flags & ~_PLAIN_FLAGS:
            return None
        if extra or comment or disk or _UNSAID in (packed, unpacked, start):
            return None
        name = directory[begin:position]
        if not name.isascii() or b"\0" in name:
            return None
        names.append(name.decode())
        entries.append(entry)
    return (names, entries) if position == len(directory) else None


def _unpacked(packed: bytes, member: PlainMember) -> bytes | None:
    """Return the uncompressed content of a member; None if it is damaged.

    It is damaged if it cannot be decompressed, or if its length is not that in the list of members.
    """
    if member.method == _STORED:
        return packed if member.packed == member.unpacked else None
    unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        content = unpacker.decompress(packed, member.unpacked + 1)
    except zlib.error:
        return None
    is_whole = unpacker.eof and not unpacker.unused_data and len(content) == member.unpacked
    return content if is_whole else None
