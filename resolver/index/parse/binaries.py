"""The binaries of a wheel: which of its members are ELF objects, and what they need and offer.

Nothing is extracted. What exceeds a limit is left unread, and the reading says so.
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

# A member with this ending is a library; its version may follow. A file without a suffix in a
# folder of programs may be one.
_LIBRARY: Final = re.compile(r"\.so(\.[A-Za-z0-9_]+)*$")  # libssl.so.1.1.1k
_PROGRAM: Final = re.compile(r"(^|/)(bin|scripts)/[^/.]+$")
_LONGEST_PATH: Final = 512
_MOST_OBJECTS: Final = 2_000  # of one wheel; scipy has 110, the wheels of CANN's operators 400
_HEADER: Final = 30 + 1024  # a member's header is followed by its name and a short extra field


class Limits(NamedTuple):
    """How much of one wheel is read; what is beyond it stays unread."""

    # Bytes that are fetched.
    packed: int
    # Bytes after unpacking.
    unpacked: int

    def without(self, cost: Limits) -> Limits:
        """Return what is left of the limits."""
        return Limits(self.packed - cost.packed, self.unpacked - cost.unpacked)

    def at_most(self, limits: Limits) -> Limits:
        """Return the lower of these limits and others."""
        return Limits(min(self.packed, limits.packed), min(self.unpacked, limits.unpacked))


# For a file on this machine, or one of which everything is to be read: the libraries of one wheel
# with CUDA have 3 GB.
WHOLE: Final = Limits(packed=2 << 30, unpacked=6 << 30)


class Member(NamedTuple):
    """A member of a wheel that may be an ELF object."""

    path: str
    # Where its header begins in the file, and a position after its content.
    start: int
    end: int
    # The size of its content, as the list of members has it.
    packed: int
    unpacked: int


def binary_members(file: IO[bytes] | RangeFile, filename: str) -> list[Member]:
    """Return the members of a wheel that may be ELF objects, in the order of their paths.

    Raises UnusableFile, and MissingSpanError of a RangeFile.
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
    return _binaries(
        (info.filename, info.header_offset, info.compress_size, info.file_size)
        for info in archive.infolist()
    )


def _binaries(members: Iterable[tuple[str, int, int, int]]) -> list[Member]:
    """Return what may be an ELF object, by path.

    Of each member the path, where it begins, and its sizes are given.
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
    """Return the members that are read: the smallest ones, which together are within the limits."""
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
    """Return what reading these members takes."""
    packed_size = unpacked_size = 0
    for member in members:
        packed_size += member.packed
        unpacked_size += member.unpacked
    return Limits(packed_size, unpacked_size)


def read_linkage(file: IO[bytes] | RangeFile, filename: str, limits: Limits) -> Linkage:
    """Return the linkage of a wheel, of which no more is read than the limits say.

    Raises UnusableFile for a file that cannot be read, and MissingSpanError of a RangeFile.
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
            # A text in the place of a library tells the linker where that is, and is not loaded.
            if content.startswith(MAGIC):
                elf = read_elf(content, member.path)
                if elf is not None:
                    objects.append(elf)
        return _linked(objects)
    raise AssertionError  # `readable` raises what it catches


def linkage_of_wheel(path: Path, filename: str, limits: Limits) -> Linkage:
    """Return the linkage of a wheel on this machine. Raises UnusableFile, and OSError."""
    with path.open("rb") as file:
        return read_linkage(file, filename, limits)


def _content(archive: zipfile.ZipFile, member: Member) -> bytes:
    """Return the content of a member.

    Raises TooLargeError for a compression that cannot be bounded.
    """
    content = unpacked(archive, archive.getinfo(member.path), member.unpacked)
    if len(content) > member.unpacked:
        raise TooLargeError(f"its {member.path} is larger than its list of members says")
    return content


def _linked(objects: Sequence[ElfObject]) -> Linkage:
    """Return the objects of a wheel with the symbols that they take from PyTorch or offer.

    What a library of the same wheel defines is not taken from elsewhere. An object without any
    library of PyTorch among its needs may still take PyTorch's symbols, from whatever was loaded
    before it: so all are looked at.
    """
    defined: set[bytes] = set()
    for elf in objects:
        defined |= elf.defines
    return Linkage(tuple(_with_symbols(elf, defined) for elf in objects))


def _with_symbols(elf: ElfObject, defined: Set[bytes]) -> SharedObject:
    """Return an object with its symbols, of which its wheel defines `defined`."""
    from resolver.index.parse.elf import TORCH_LIBRARY

    taken = {hashed(symbol) for symbol in elf.requires - defined}
    offered: set[bytes] = set()
    is_of_torch = any(TORCH_LIBRARY.match(name) for name in elf.shared_object.names)
    if is_of_torch:
        offered = {hashed(symbol) for symbol in elf.defines}
    return replace(elf.shared_object, takes=packed(taken), offers=packed(offered))
