"""Read what one ELF object needs from other libraries, and what it offers to them.

This is its dynamic section, the symbol versions that it needs, and its dynamic symbols. pyelftools
parses the headers. It does not guard against malformed files, so it reads through `_Metered`, which
raises an error after more reads than a real object requires. Symbols are read here, all at once.
`binaries` calls this module for each binary of a wheel.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from io import BytesIO
from typing import Any, Final, NamedTuple

from elftools.common.exceptions import ELFError
from elftools.construct import ConstructError
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection
from elftools.elf.sections import Section

from resolver.index.protocol import UnusableFile
from resolver.model.linkage import SharedObject

MAGIC: Final = b"\x7fELF"

# A library of torch takes 5,000 reads with all its versions and sections, each of a few KiB at
# most.
_MOST_READS: Final = 60_000
_LONGEST_READ: Final = 1 << 20
_MOST_SECTIONS: Final = 1_000
_MOST_NEEDS: Final = 1_000
_MOST_VERSIONS: Final = 10_000
_LONGEST_NAME: Final = 1_024
_LONGEST_SYMBOL: Final = 16_384  # template instances of PyTorch have up to 8,000 bytes
_MOST_SYMBOLS: Final = 1_000_000  # libtorch_cpu.so has 150,000

# Elf64_Sym: name, info, other, section, value, size.
_SYMBOL: Final = struct.Struct("<IBBHQQ")
_UNDEFINED: Final = 0
_GLOBAL: Final = 1
_WEAK: Final = 2
# STB_GNU_UNIQUE: the binding that GCC gives to static data of templates and inline functions.
_UNIQUE: Final = 10
# The bindings of symbols that other objects can use.
_FOR_OTHERS: Final = (_GLOBAL, _WEAK, _UNIQUE)
_HIDDEN: Final = (1, 2)  # STV_INTERNAL, STV_HIDDEN

# A symbol version of glibc or of libstdc++.
_VERSION: Final = re.compile(r"(GLIBC|GLIBCXX|CXXABI)_(\d{1,4}(?:\.\d{1,4}){0,3})")

# The names of PyTorch's libraries. The symbols that they define are those that PyTorch offers.
TORCH_LIBRARY: Final = re.compile(r"lib(torch|c10)(_cpu|_cuda|_cuda_linalg|_python)?\.so$")
# A symbol of PyTorch. It is mangled by the Itanium C++ ABI and in a namespace of PyTorch, which is
# written as the length of the name and the name. Before the namespace may be the mark of a vtable,
# type information, a guard or a thunk, and qualifiers of a method. Or it belongs to the stable C
# interface of PyTorch.
_OF_TORCH: Final = re.compile(
    rb"_Z(?:T[VTISCchv][0-9n_]*|G[VR])?N[KVrRO]*(?:3c10|2at|5torch|6caffe2)"
    rb"|(?:aoti_torch|torch)_[a-z]"
)
# The exceptions that pyelftools and this module raise for a malformed object.
_MALFORMED: Final = (
    ELFError,
    ConstructError,
    ValueError,
    KeyError,
    IndexError,
    AttributeError,
    TypeError,
    struct.error,
    OverflowError,
    RecursionError,
    MemoryError,
    AssertionError,
)


class _Symbol(NamedTuple):
    """A dynamic symbol of an ELF object."""

    # The mangled name.
    name: bytes
    # Whether the object defines the symbol; otherwise another object must.
    is_defined: bool


class ElfObject(NamedTuple):
    """An ELF object, with its dynamic symbols that belong to PyTorch (`_OF_TORCH`)."""

    shared_object: SharedObject
    # The mangled names of the symbols that it defines for other objects.
    defines: frozenset[bytes]
    # The mangled names of the symbols that another object must define.
    requires: frozenset[bytes]


class _Metered:
    """The bytes of an ELF object as a file, with limits for the number and the size of reads."""

    def __init__(self, content: bytes) -> None:
        self._file = BytesIO(content)
        self._reads = 0

    def read(self, size: int = -1) -> bytes:
        """Return at most `size` bytes from the position. Raises ValueError beyond the limits."""
        self._reads += 1
        if self._reads > _MOST_READS or size > _LONGEST_READ:
            raise ValueError("its tables have an unreasonable size")
        return self._file.read(size if size >= 0 else _LONGEST_READ)

    def seek(self, offset: int, whence: int = 0) -> int:
        """Move to a position. Raises ValueError for one before the start."""
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        """Return the position."""
        return self._file.tell()

    def close(self) -> None:
        """Free the bytes. Objects of pyelftools keep this file alive by circular references."""
        self._file = BytesIO()


def read_elf(content: bytes, path: str) -> ElfObject | None:
    """Return what the dynamic loader reads of an ELF object.

    `content` is the whole object, `path` its path in the wheel. None if the object is not of 64
    bits and little-endian, and so is for none of the target machines. Raises UnusableFile if it is
    not a valid ELF object, or if one of its tables exceeds a limit.
    """
    if content[:4] != MAGIC:
        raise UnusableFile(f"{path} is not an ELF object")
    # Not 64 bits and little-endian: code for a device or for another system.
    if content[4:6] != b"\x02\x01":
        return None
    try:
        return _read(content, path)
    except _MALFORMED as error:
        raise UnusableFile(f"{path} is not a readable ELF object: {error}") from None


def _read(content: bytes, path: str) -> ElfObject:
    """Return the object. Raises one of `_MALFORMED` if it is malformed."""
    (section_count,) = struct.unpack_from("<H", content, 60)  # e_shnum
    if section_count > _MOST_SECTIONS:
        raise ValueError(f"it has {section_count} sections")
    stream: Any = _Metered(content)
    try:
        return _object(ELFFile(stream), content, path)
    finally:
        stream.close()


def _object(elf: ELFFile, content: bytes, path: str) -> ElfObject:
    """Return the object from its sections. Raises one of `_MALFORMED` if it is malformed."""
    sections = list(elf.iter_sections())
    needs: list[str] = []
    soname = ""
    run_path: dict[str, str] = {}
    versions: dict[str, str] = {}
    symbols: list[_Symbol] = []
    for section in sections:
        if isinstance(section, DynamicSection):
            for tag, name in _dynamic_names(section, sections, content):
                if tag == "DT_NEEDED":
                    needs.append(name)
                elif tag == "DT_SONAME":
                    soname = name
                else:
                    run_path[tag] = name
        elif isinstance(section, GNUVerNeedSection):
            versions = _highest_versions(section, sections, content)
        elif section["sh_type"] == "SHT_DYNSYM":
            symbols = list(_symbols(section, sections[section["sh_link"]], content))
    folders = run_path.get("DT_RUNPATH", run_path.get("DT_RPATH", ""))
    shared_object = SharedObject(
        path=path,
        soname=soname,
        needs=tuple(needs),
        run_path=tuple(filter(None, folders.split(":"))),
        glibc=versions.get("GLIBC", ""),
        glibcxx=versions.get("GLIBCXX", ""),
        cxxabi=versions.get("CXXABI", ""),
    )
    defines = frozenset(symbol.name for symbol in symbols if symbol.is_defined)
    requires = frozenset(symbol.name for symbol in symbols if not symbol.is_defined)
    return ElfObject(shared_object, defines, requires)


def _dynamic_names(
    section: Any, sections: list[Section], content: bytes
) -> Iterator[tuple[str, str]]:
    """Yield each tag of the dynamic section whose value is a name, with the name.

    These are the tags in `_NAMED_TAGS`. Raises ValueError for too many entries.
    """
    strings = sections[section["sh_link"]]
    count = section["sh_size"] // max(section["sh_entsize"], 16)
    if count > _MOST_NEEDS:
        raise ValueError(f"its dynamic section has {count} entries")
    for number in range(count):
        tag, value = struct.unpack_from("<qQ", content, section["sh_offset"] + 16 * number)
        if tag == 0:
            return
        name = _NAMED_TAGS.get(tag)
        if name is not None:
            yield name, _name(content, strings, value)


_NAMED_TAGS: Final = {1: "DT_NEEDED", 14: "DT_SONAME", 15: "DT_RPATH", 29: "DT_RUNPATH"}


def _name(content: bytes, strings: Any, offset: int) -> str:
    """Return the name at an offset of a string table.

    Raises ValueError if it does not end in the table, does not print, or contains a quote or a
    backslash.
    """
    name = _bytes_at(content, strings, offset, _LONGEST_NAME).decode()
    if not name.isprintable() or any(letter in name for letter in "\\`\"'"):
        raise ValueError("it has a name that does not print")
    return name


def _bytes_at(content: bytes, strings: Any, offset: int, longest: int) -> bytes:
    """Return the bytes at an offset of a string table, up to the next zero byte.

    Raises ValueError if there is none in the table or within `longest` bytes.
    """
    start = strings["sh_offset"] + offset
    limit = min(start + longest, strings["sh_offset"] + strings["sh_size"], len(content))
    end = content.find(b"\0", start, limit)
    if offset >= strings["sh_size"] or end < 0:
        raise ValueError("it has a name that does not end")
    return content[start:end]


def _highest_versions(section: Any, sections: list[Section], content: bytes) -> dict[str, str]:
    """Return the highest symbol version that an object needs of each of three libraries.

    The keys are GLIBC, GLIBCXX and CXXABI. A key is missing if the object needs no version of it.
    `section` is the section .gnu.version_r. Raises ValueError for too many versions.
    """
    strings = sections[section["sh_link"]]
    highest: dict[str, tuple[int, ...]] = {}
    need_position = section["sh_offset"]
    seen = 0
    for _ in range(section["sh_info"]):
        # Elf64_Verneed: version, count, file, offset of the first Vernaux, of the next Verneed.
        _, count, _, first, following = struct.unpack_from("<HHIII", content, need_position)
        version_position = need_position + first
        for _ in range(count):
            seen += 1
            if seen > _MOST_VERSIONS:
                raise ValueError("it asks for an unreasonable number of versions")
            # Elf64_Vernaux: hash, flags, other, name, offset of the next one.
            _, _, _, name, next_version = struct.unpack_from("<IHHII", content, version_position)
            match = _VERSION.fullmatch(_name(content, strings, name))
            if match is not None:
                number = tuple(map(int, match[2].split(".")))
                highest[match[1]] = max(number, highest.get(match[1], ()))
            if not next_version:
                break
            version_position += next_version
        seen += 1
        if not following or seen > _MOST_VERSIONS:
            break
        need_position += following
    return {library: ".".join(map(str, number)) for library, number in highest.items()}


def _symbols(section: Any, strings: Any, content: bytes) -> Iterator[_Symbol]:
    """Yield the symbols of PyTorch in the dynamic symbol table that link an object to others.

    The object either defines such a symbol for others, or needs another object that defines it.
    `strings` is the string table with their names. Raises ValueError for too many symbols.
    """
    start, size = section["sh_offset"], section["sh_size"]
    count = size // _SYMBOL.size
    if count > _MOST_SYMBOLS or start + size > len(content):
        raise ValueError(f"its table of symbols has {size} bytes")
    table = memoryview(content)[start : start + count * _SYMBOL.size]
    for name, info, other, defining_section, _, _ in _SYMBOL.iter_unpack(table):
        binding = info >> 4
        is_defined = defining_section != _UNDEFINED
        if binding not in _FOR_OTHERS or other & 3 in _HIDDEN:
            continue
        # A weak symbol that is found nowhere is no error.
        if binding == _WEAK and not is_defined:
            continue
        name_position = strings["sh_offset"] + name
        if name < strings["sh_size"] and _OF_TORCH.match(content, name_position):
            yield _Symbol(_bytes_at(content, strings, name, _LONGEST_SYMBOL), is_defined)
