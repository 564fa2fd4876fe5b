"""Linkage: what the binaries of a wheel need of other binaries, and what they offer.

Symbols are kept as hashes of four bytes, since PyTorch offers tens of thousands of them with long
names.
"""

from __future__ import annotations

from hashlib import sha256

import msgspec
from packaging.utils import NormalizedName

# The project of PyTorch, whose symbols other wheels take.
TORCH = NormalizedName("torch")
# The length of a symbol's hash.
SYMBOL_BYTES = 4


class SharedObject(
    msgspec.Struct, frozen=True, rename="kebab", omit_defaults=True, forbid_unknown_fields=True
):
    """An ELF object of a wheel."""

    # The path in the wheel.
    path: str
    # Whether its content was read. If not, since it is larger than a limit, the other fields are
    # unknown.
    read: bool = True
    # The name by which others need it (DT_SONAME); empty if it has none.
    soname: str = ""
    # The names of the libraries that the dynamic loader must find for it, in its order (DT_NEEDED).
    needs: tuple[str, ...] = ()
    # The folders in which the loader looks for them (DT_RUNPATH, else DT_RPATH).
    run_path: tuple[str, ...] = ()
    # The highest GLIBC_x.y that it requires; empty if it requires none.
    glibc: str = ""
    # The highest GLIBCXX_x.y that it requires; empty if it requires none.
    glibcxx: str = ""
    # The highest CXXABI_x.y that it requires; empty if it requires none.
    cxxabi: str = ""
    # The hashes of the symbols that it takes from PyTorch's libraries (see `packed`).
    takes: bytes = b""
    # The hashes of the symbols that it offers, if it is one of PyTorch's libraries (see `packed`).
    offers: bytes = b""

    @property
    def names(self) -> frozenset[str]:
        """Return the names by which another object can need this one."""
        file_name = self.path.rpartition("/")[2]
        names = {file_name, self.soname}
        # An object without a soname has an empty one.
        return frozenset(names - {""})


class Linkage(msgspec.Struct, frozen=True, rename="kebab", forbid_unknown_fields=True):
    """The linkage of one wheel."""

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
        """Return whether every object was read."""
        return all(shared_object.read for shared_object in self.objects)

    @property
    def takes_symbols(self) -> bool:
        """Return whether an object takes symbols from PyTorch."""
        return any(shared_object.takes for shared_object in self.objects)


def hashed(symbol: bytes) -> bytes:
    """Return the hash that stands for a symbol's name: the first four bytes of its sha256."""
    return sha256(symbol).digest()[:SYMBOL_BYTES]


def packed(hashes: set[bytes]) -> bytes:
    """Return hashes of symbols one after the other, sorted."""
    return b"".join(sorted(hashes))


def numbers(hashes: bytes) -> memoryview[int]:
    """Return the hashes that `packed` joined, as numbers.

    The numbers depend on the byte order of the machine: compare them only with each other.
    """
    return memoryview(hashes).cast("I")


def unpacked(hashes: bytes) -> frozenset[int]:
    """Return the set of `numbers`."""
    return frozenset(numbers(hashes))
