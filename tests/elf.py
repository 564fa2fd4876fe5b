"""Minimal ELF objects, as a linker would write the parts that a loader reads.

elf(needs=["libc.so.6"], soname="liba.so", versions={"libc.so.6": ["GLIBC_2.34"]},
undefined=["_ZN2at1fEv"])
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping

from resolver.model.linkage import hashed, packed

_NULL, _STRTAB, _DYNAMIC, _DYNSYM, _VERNEED = 0, 3, 6, 11, 0x6FFFFFFE
_NEEDED, _SONAME, _RUNPATH = 1, 14, 29
_GLOBAL, _WEAK, _UNIQUE = 1, 2, 10


class _Strings:
    """A table of strings."""

    def __init__(self) -> None:
        self.content = b"\0"

    def add(self, text: str | bytes) -> int:
        """Add a string and return its position."""
        position = len(self.content)
        self.content += (text.encode() if isinstance(text, str) else text) + b"\0"
        return position


def elf(
    *,
    needs: Iterable[str | bytes] = (),
    soname: str = "",
    run_path: str = "",
    versions: Mapping[str, Iterable[str]] | None = None,
    defined: Iterable[str] = (),
    undefined: Iterable[str] = (),
    weak: Iterable[str] = (),
    unique: Iterable[str] = (),
    changes: Mapping[int, bytes] | None = None,
) -> bytes:
    """Return a shared object for aarch64, with `changes` written over it at these positions."""
    strings = _Strings()
    dynamic = [(_NEEDED, strings.add(name)) for name in needs]
    dynamic += [(_SONAME, strings.add(soname))] if soname else []
    dynamic += [(_RUNPATH, strings.add(run_path))] if run_path else []
    rows = [(name, _GLOBAL, 1) for name in defined]
    rows += [(name, _GLOBAL, 0) for name in undefined]
    rows += [(name, _WEAK, 0) for name in weak]
    rows += [(name, _UNIQUE, 1) for name in unique]
    symbols = bytes(24)
    for name, binding, section in rows:
        symbols += struct.pack("<IBBHQQ", strings.add(name), binding << 4, 0, section, 0, 0)
    version_needs = b""
    libraries = list((versions or {}).items())
    for number, (library, names) in enumerate(libraries):
        version_names = list(names)
        size = 16 + 16 * len(version_names)
        following = size if number + 1 < len(libraries) else 0
        version_needs += struct.pack(
            "<HHIII", 1, len(version_names), strings.add(library), 16, following
        )
        for position, name in enumerate(version_names):
            more = 16 if position + 1 < len(version_names) else 0
            version_needs += struct.pack("<IHHII", 0, 0, 0, strings.add(name), more)
    table = b"".join(struct.pack("<qQ", *entry) for entry in [*dynamic, (0, 0)])
    names = _Strings()
    parts = [
        (names.add(".dynstr"), _STRTAB, strings.content, 0, 0, 0),
        (names.add(".dynamic"), _DYNAMIC, table, 1, 0, 16),
        (names.add(".dynsym"), _DYNSYM, symbols, 1, 1, 24),
        (names.add(".gnu.version_r"), _VERNEED, version_needs, 1, len(libraries), 0),
    ]
    name = names.add(".shstrtab")
    parts.append((name, _STRTAB, names.content, 0, 0, 0))
    body, headers, at = b"", bytes(64), 64
    for name, kind, content, link, info, entry in parts:
        headers += struct.pack(
            "<IIQQQQIIQQ", name, kind, 2, 0, at, len(content), link, info, 1, entry
        )
        body += content
        at += len(content)
    identity = b"\x7fELF\x02\x01\x01" + bytes(9)
    head = struct.pack(
        "<HHIQQQIHHHHHH", 3, 183, 1, 0, 0, at, 0, 64, 56, 0, 64, len(parts) + 1, len(parts)
    )
    made = bytearray(identity + head + body + headers)
    for position, content in (changes or {}).items():
        made[position : position + len(content)] = content
    return bytes(made)


def symbols(*names: str) -> bytes:
    """Return symbols of these names as `Linkage` keeps them."""
    return packed({hashed(symbol.encode()) for symbol in names})
