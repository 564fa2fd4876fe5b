"""What one ELF object needs and offers.

That is its dynamic section, the versions it asks for, and its dynamic symbols. pyelftools takes the
headers apart. It believes what it reads, so it gets the bytes through `_Metered`, which ends any
walk that takes more reads than an honest object requires. Symbols are read here, all at once.
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

# A library of torch with all its versions and sections takes 5,000 reads, and one read at most a
# few KiB.
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
# STB_GNU_UNIQUE: static data of templates and inline functions, as GCC binds them.
_UNIQUE: Final = 10
_FOR_OTHERS: Final = (_GLOBAL, _WEAK, _UNIQUE)
_HIDDEN: Final = (1, 2)  # STV_INTERNAL, STV_HIDDEN

_VERSION: Final = re.compile(r"(GLIBC|GLIBCXX|CXXABI)_(\d{1,4}(?:\.\d{1,4}){0,3})")

# The libraries of PyTorch: what they define counts as offered by it, and what needs them may take
# it.
TORCH_LIBRARY: Final = re.compile(r"lib(torch|c10)(_cpu|_cuda|_cuda_linalg|_python)?\.so$")
# A symbol in a namespace of PyTorch (Itanium C++ ABI: the length of a name, then the name), with
# what may stand before it: vtables, type information, guards and thunks; qualifiers of methods. Or
# one of its stable C interface.
_OF_TORCH: Final = re.compile(
    rb"_Z(?:T[VTISCchv][0-9n_]*|G[VR])?N[KVrRO]*(?:3c10|2at|5torch|6caffe2)"
    rb"|(?:aoti_torch|torch)_[a-z]"
)
# What pyelftools lets through, besides its own errors.
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
    name: bytes
    is_defined: bool


class ElfObject(NamedTuple):
    """An ELF object with its symbols that look like PyTorch's."""

    shared_object: SharedObject
    # Symbols that it defines for others.
    defines: frozenset[bytes]
    # Symbols that it finds elsewhere.
    requires: frozenset[bytes]


class _Metered:
    """The bytes of an object as a file that can be read only so often."""

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
        """Let go of the bytes, since pyelftools' objects refer to each other and to this one."""
        self._file = BytesIO()


def read_elf(content: bytes, path: str) -> ElfObject | None:
    """Return what the dynamic loader would read of an object.

    None if it is for no machine that we lock for. Raises UnusableFile if it is malformed, or larger
    in any table than honest objects are.
    """
    if content[:4] != MAGIC:
        raise UnusableFile(f"{path} is not an ELF object")
    # Of 32 bits, or with the highest byte first: code for a device or another system.
    if content[4:6] != b"\x02\x01":
        return None
    try:
        return _read(content, path)
    except _MALFORMED as error:
        raise UnusableFile(f"{path} is not a readable ELF object: {error}") from None


def _read(content: bytes, path: str) -> ElfObject:
    (section_count,) = struct.unpack_from("<H", content, 60)  # e_shnum
    if section_count > _MOST_SECTIONS:
        raise ValueError(f"it has {section_count} sections")
    stream: Any = _Metered(content)
    try:
        return _object(ELFFile(stream), content, path)
    finally:
        stream.close()


def _object(elf: ELFFile, content: bytes, path: str) -> ElfObject:
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
    """Yield the tags of the dynamic section that stand for names, with the names."""
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
    """Return the text at an offset of a table of strings.

    Raises ValueError for one that is no name of a file.
    """
    name = _bytes_at(content, strings, offset, _LONGEST_NAME).decode()
    if not name.isprintable() or any(letter in name for letter in "\\`\"'"):
        raise ValueError("it has a name that does not print")
    return name


def _bytes_at(content: bytes, strings: Any, offset: int, longest: int) -> bytes:
    start = strings["sh_offset"] + offset
    limit = min(start + longest, strings["sh_offset"] + strings["sh_size"], len(content))
    end = content.find(b"\0", start, limit)
    if offset >= strings["sh_size"] or end < 0:
        raise ValueError("it has a name that does not end")
    return content[start:end]


def _highest_versions(section: Any, sections: list[Section], content: bytes) -> dict[str, str]:
    """Return the highest versions that are asked for, by GLIBC, GLIBCXX and CXXABI."""
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
    """Yield the symbols of PyTorch that are defined for others, or must be found elsewhere."""
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
