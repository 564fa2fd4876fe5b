"""What the binaries of a wheel need of others, and what they offer: a wheel's linkage, as read from its bytes.

Symbols are kept as hashes, four bytes each, since PyTorch offers tens of thousands of them with
long names.
"""

from __future__ import annotations

from hashlib import sha256

import msgspec
from packaging.utils import NormalizedName

# The project of PyTorch, whose symbols other wheels take.
TORCH = NormalizedName("torch")
SYMBOL_BYTES = 4


class SharedObject(
    msgspec.Struct, frozen=True, rename="kebab", omit_defaults=True, forbid_unknown_fields=True
):
    """One ELF object of a wheel."""

    # Where it is in the wheel.
    path: str
    # False if its content was not read because it is larger than a limit; all that follows is then
    # unknown.
    read: bool = True
    # The name by which others need it (DT_SONAME); empty if it has none.
    soname: str = ""
    # The names of the libraries that the dynamic loader must find for it (DT_NEEDED), in their
    # order.
    needs: tuple[str, ...] = ()
    # The folders in which it has them looked for (DT_RUNPATH, else DT_RPATH).
    run_path: tuple[str, ...] = ()
    # The highest GLIBC_x.y that it asks for; empty if it asks for none.
    glibc: str = ""
    # The highest GLIBCXX_x.y that it asks for.
    glibcxx: str = ""
    # The highest CXXABI_x.y that it asks for.
    cxxabi: str = ""
    # The symbols that it takes from PyTorch's libraries, as `symbols` packs them.
    takes: bytes = b""
    # If it is one of PyTorch's libraries: the symbols that it offers, likewise.
    offers: bytes = b""

    @property
    def names(self) -> frozenset[str]:
        """The names by which another object can need this one."""
        file_name = self.path.rpartition("/")[2]
        return frozenset(filter(None, (file_name, self.soname)))


class Linkage(msgspec.Struct, frozen=True, rename="kebab", forbid_unknown_fields=True):
    """The ELF objects of one wheel, in the order of their paths."""

    objects: tuple[SharedObject, ...] = ()

    @property
    def names(self) -> frozenset[str]:
        """The names of the libraries that the wheel contains."""
        return frozenset(name for shared_object in self.objects for name in shared_object.names)

    @property
    def is_complete(self) -> bool:
        """Whether every object was read."""
        return all(shared_object.read for shared_object in self.objects)

    @property
    def takes(self) -> frozenset[int]:
        """The hashes of all symbols that the wheel takes from PyTorch."""
        return frozenset().union(*(unpacked(shared_object.takes) for shared_object in self.objects))

    @property
    def offers(self) -> frozenset[int]:
        """The hashes of all symbols that the wheel offers as PyTorch."""
        return frozenset().union(
            *(unpacked(shared_object.offers) for shared_object in self.objects)
        )


def hashed(symbol: bytes) -> bytes:
    """Return the hash that stands for a symbol's name: the first four bytes of its sha256."""
    return sha256(symbol).digest()[:SYMBOL_BYTES]


def packed(hashes: set[bytes]) -> bytes:
    """Return hashes of symbols in one text, sorted."""
    return b"".join(sorted(hashes))


def unpacked(text: bytes) -> frozenset[int]:
    """Return the hashes in a text that `packed` made, as numbers that mean something only among themselves."""
    return frozenset(memoryview(text).cast("I"))
