"""Linkage: which libraries and symbols the binaries of a wheel need, and which they offer.

`index/parse/elf` reads it from the ELF objects of a wheel. A symbol is stored as a hash of four
bytes, since PyTorch offers tens of thousands of symbols with long names.
"""

from __future__ import annotations

from hashlib import sha256

import msgspec
from packaging.utils import NormalizedName

# The project of PyTorch, whose symbols other wheels use.
TORCH = NormalizedName("torch")
# The length of a symbol's hash in bytes.
SYMBOL_BYTES = 4


class SharedObject(
    msgspec.Struct, frozen=True, rename="kebab", omit_defaults=True, forbid_unknown_fields=True
):
    """An ELF object in a wheel: a shared library or an extension module."""

    # The path in the wheel.
    path: str
    # Whether the content was read. An object that is larger than a limit is not read, and all other
    # fields keep their defaults.
    read: bool = True
    # The name by which others need it (DT_SONAME); empty if it has none.
    soname: str = ""
    # The names of the libraries that the dynamic loader must find (DT_NEEDED), in the order of the
    # object.
    needs: tuple[str, ...] = ()
    # The folders in which the loader looks for them (DT_RUNPATH, else DT_RPATH).
    run_path: tuple[str, ...] = ()
    # The highest GLIBC_x.y that it requires; empty if it requires none.
    glibc: str = ""
    # The highest GLIBCXX_x.y that it requires; empty if it requires none.
    glibcxx: str = ""
    # The highest CXXABI_x.y that it requires; empty if it requires none.
    cxxabi: str = ""
    # The hashes of the symbols that PyTorch's libraries must offer to it, as `packed` returns them.
    takes: bytes = b""
    # For one of PyTorch's own libraries: the hashes of the symbols that it offers to others, as
    # `packed` returns them.
    offers: bytes = b""

    @property
    def names(self) -> frozenset[str]:
        """Return the names by which another object can require this one in DT_NEEDED.

        They are the file name and the soname.
        """
        file_name = self.path.rpartition("/")[2]
        names = {file_name, self.soname}
        # An object without a soname has an empty one.
        return frozenset(names - {""})


class Linkage(msgspec.Struct, frozen=True, rename="kebab", forbid_unknown_fields=True):
    """The ELF objects of one wheel, with what they need and offer."""

    # The ELF objects, in the order of their paths.
    objects: tuple[SharedObject, ...] = ()

    @property
    def names(self) -> frozenset[str]:
        """Return the names of the libraries that the wheel contains."""
        names: set[str] = set()
        for shared_object in self.objects:
            names.update(shared_object.names)
        return frozenset(names)

    @property
    def is_complete(self) -> bool:
        """Return whether every shared object in the wheel was read."""
        return all(shared_object.read for shared_object in self.objects)

    @property
    def takes_symbols(self) -> bool:
        """Return whether an object of the wheel uses symbols of PyTorch."""
        return any(shared_object.takes for shared_object in self.objects)


def hashed(symbol: bytes) -> bytes:
    """Return the hash of a symbol's name: the first four bytes of its sha256."""
    return sha256(symbol).digest()[:SYMBOL_BYTES]


def packed(hashes: set[bytes]) -> bytes:
    """Return the sorted hashes of symbols, joined without separators."""
    return b"".join(sorted(hashes))


def numbers(hashes: bytes) -> memoryview[int]:
    """Return the hashes that `packed` joined as a sequence of numbers.

    The numbers depend on the byte order of the machine. So they must only be compared with numbers
    from this function, and never be stored.
    """
    return memoryview(hashes).cast("I")


def unpacked(hashes: bytes) -> frozenset[int]:
    """Return the hashes that `packed` joined as a set of numbers (see `numbers`)."""
    return frozenset(numbers(hashes))
