"""Find the ELF objects in a wheel, and read what they need and offer: the linkage of the wheel.

Nothing is extracted to the disk. An object that exceeds a limit is listed in the result as unread.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable, Sequence, Set
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, NamedTuple

from msgspec.structs import replace

from resolver.index.parse.guarded import (
    ANYWHERE,
    DIRECTORY_LIMIT,
    Guarded,
    RangeFile,
    TooLargeError,
    readable,
    unpacked,
)
from resolver.index.parse.plain_zip import PlainZip
from resolver.model.linkage import Linkage, SharedObject, hashed, packed

# Most runs open no binary, and pyelftools takes 60 ms to import.
if TYPE_CHECKING:
    from resolver.index.parse.elf import ElfObject

# A member that may be a shared library: `.so`, perhaps with a version.
_LIBRARY: Final = re.compile(r"\.so(\.[A-Za-z0-9_]+)*$")  # libssl.so.1.1.1k
# A member that may be a program: a file without a suffix in a folder of programs.
_PROGRAM: Final = re.compile(r"(^|/)(bin|scripts)/[^/.]+$")
_LONGEST_PATH: Final = 512
_MOST_OBJECTS: Final = 2_000  # of one wheel; scipy has 110, the wheels of CANN's operators 400
# Bytes of the header before a member's content, apart from the name: 30, and an extra field.
_HEADER: Final = 30 + 1024


class Limits(NamedTuple):
    """Limits for what is read of a wheel, or the cost of reading it. Beyond them, it stays unread.

    The members of a zip file are compressed ("packed").
    """

    # Compressed bytes, as they are fetched.
    packed: int
    # Bytes after decompression.
    unpacked: int

    def without(self, cost: Limits) -> Limits:
        """Return the limits that are left after something of this cost was read."""
        return Limits(self.packed - cost.packed, self.unpacked - cost.unpacked)

    def at_most(self, limits: Limits) -> Limits:
        """Return the lower limit of each kind, of these limits and of `limits`."""
        return Limits(min(self.packed, limits.packed), min(self.unpacked, limits.unpacked))


# For a wheel on this machine, or one of which all binaries are to be read. The libraries of a
# wheel with CUDA have 3 GB.
WHOLE: Final = Limits(packed=2 << 30, unpacked=6 << 30)


class Member(NamedTuple):
    """A member of a wheel that may be an ELF object."""

    # Its path in the wheel.
    path: str
    # The position of its header in the file.
    start: int
    # A position at or after the end of its content, for fetching it with one range.
    end: int
    # The size of its compressed content in bytes, as the list of members states it.
    packed: int
    # The size of its uncompressed content in bytes, as the list of members states it.
    unpacked: int


def binary_members(file: IO[bytes] | RangeFile, filename: str) -> list[Member]:
    """Return the members of a wheel that may be ELF objects, by their names, sorted by path.

    Raises UnusableFile if the wheel cannot be read or has too many of them, and MissingSpanError if
    a span of a RangeFile is needed that was not fetched.
    """
    with readable(filename, "wheel"):
        source = Guarded(file, one_read=DIRECTORY_LIMIT, position=ANYWHERE)
        plain = PlainZip.open(source)
        if plain is None:
            return _members(zipfile.ZipFile(source))
        return _binaries(
            (member.name, member.start, member.packed, member.unpacked)
            for member in plain.members()
        )


def _members(archive: zipfile.ZipFile) -> list[Member]:
    """Return the members that may be ELF objects, of a zip file that is not plain (`plain_zip`)."""
    return _binaries(
        (info.filename, info.header_offset, info.compress_size, info.file_size)
        for info in archive.infolist()
    )


def _binaries(members: Iterable[tuple[str, int, int, int]]) -> list[Member]:
    """Return the members that may be ELF objects, sorted by path.

    `members` has the path, the position of the header, the compressed size and the uncompressed
    size of each member. Raises ValueError for an invalid name, and TooLargeError for more than
    _MOST_OBJECTS objects.
    """
    found: dict[str, Member] = {}
    for path, start, packed_size, unpacked_size in members:
        if not _LIBRARY.search(path) and not _PROGRAM.search(path):
            continue
        if len(path) > _LONGEST_PATH or not path.isprintable():
            raise ValueError("it has a binary whose name is too long or does not print")
        end = start + _HEADER + len(path.encode()) + packed_size
        found[path] = Member(path, start, end, packed_size, unpacked_size)
    if len(found) > _MOST_OBJECTS:
        raise TooLargeError(f"it has more than {_MOST_OBJECTS} binaries")
    return [found[path] for path in sorted(found)]


def within(members: Iterable[Member], limits: Limits) -> list[Member]:
    """Return the members that are read: as many of the smallest ones as the limits allow."""
    chosen = []
    packed_size = unpacked_size = 0
    for member in sorted(members, key=lambda member: (member.packed, member.path)):
        packed_size += member.packed
        unpacked_size += member.unpacked
        if packed_size > limits.packed or unpacked_size > limits.unpacked:
            break
        chosen.append(member)
    return chosen


def cost_of(members: Iterable[Member]) -> Limits:
    """Return how many bytes, compressed and uncompressed, are read to read these members."""
    packed_size = unpacked_size = 0
    for member in members:
        packed_size += member.packed
        unpacked_size += member.unpacked
    return Limits(packed_size, unpacked_size)


def read_linkage(file: IO[bytes] | RangeFile, filename: str, limits: Limits) -> Linkage:
    """Return the linkage of a wheel. Binaries beyond the limits are listed in it as unread.

    Raises UnusableFile for a wheel or binary that cannot be read, and MissingSpanError if a span of
    a RangeFile is needed that was not fetched.
    """
    from resolver.index.parse.elf import MAGIC, ElfObject, read_elf

    source = Guarded(file, one_read=max(DIRECTORY_LIMIT, limits.packed), position=ANYWHERE)
    with readable(filename, "wheel"):
        archive = zipfile.ZipFile(source)
        members = _members(archive)
        chosen = {member.path for member in within(members, limits)}
        objects: list[ElfObject] = []
        for member in members:
            if member.path not in chosen:
                unread = SharedObject(path=member.path, read=False)
                objects.append(ElfObject(unread, frozenset(), frozenset()))
                continue
            content = _content(archive, member)
            # A member named like a library may be a linker script: a text that says where the
            # library is. It is not loaded.
            if content.startswith(MAGIC):
                elf = read_elf(content, member.path)
                if elf is not None:
                    objects.append(elf)
        return _linked(objects)
    raise AssertionError  # `readable` raises what it catches


def linkage_of_wheel(path: Path, filename: str, limits: Limits) -> Linkage:
    """Return the linkage of a wheel on this machine, as `read_linkage` does.

    Raises UnusableFile, and OSError if the file cannot be opened.
    """
    with path.open("rb") as file:
        return read_linkage(file, filename, limits)


def _content(archive: zipfile.ZipFile, member: Member) -> bytes:
    """Return the uncompressed content of a member.

    Raises TooLargeError if it is larger than the list of members says, or if its compression method
    is not supported.
    """
    content = unpacked(archive, archive.getinfo(member.path), member.unpacked)
    if len(content) > member.unpacked:
        raise TooLargeError(f"its {member.path} is larger than its list of members says")
    return content


def _linked(objects: Sequence[ElfObject]) -> Linkage:
    """Return the objects of a wheel, with the PyTorch symbols that each takes and offers.

    A symbol that an object of the same wheel defines is not taken from another wheel. Objects that
    name no library of PyTorch among their needs are included: they may take PyTorch's symbols from
    a library that was loaded before them.
    """
    defined: set[bytes] = set()
    for elf in objects:
        defined |= elf.defines
    return Linkage(tuple(_with_symbols(elf, defined) for elf in objects))


def _with_symbols(elf: ElfObject, defined: Set[bytes]) -> SharedObject:
    """Return an object with the hashes of the PyTorch symbols that it takes and offers.

    `defined` are the symbols that any object of the wheel defines. Only PyTorch's own libraries
    offer symbols.
    """
    from resolver.index.parse.elf import TORCH_LIBRARY

    taken = {hashed(symbol) for symbol in elf.requires - defined}
    offered: set[bytes] = set()
    is_of_torch = any(TORCH_LIBRARY.match(name) for name in elf.shared_object.names)
    if is_of_torch:
        offered = {hashed(symbol) for symbol in elf.defines}
    return replace(elf.shared_object, takes=packed(taken), offers=packed(offered))
