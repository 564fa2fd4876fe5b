"""Locks that `check` found current, remembered by the bytes of everything it looked at.

This module imports very little: if nothing changed, all that `check` does is read those bytes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Final

from resolver import disk
from resolver.catalog.store.cache import Cache
from resolver.json_text import json_text
from resolver.program import program

_KIND: Final = "current"
_LARGEST: Final = 8 << 20  # bytes; larger files are not ours

Told = list[tuple[str, str, str]]  # stack, target, state


class Unchanged:
    """The memory of these stacks, given by name, and targets (none: all)."""

    def __init__(
        self, store: Cache, stacks: Sequence[str], targets: Iterable[str], matrices: Path, locks: Path
    ) -> None:
        self._store = store
        self._stacks = stacks
        self._asked = json_text([program(), list(stacks), sorted(targets), str(matrices), str(locks)])
        self._matrices = str(matrices)
        self._locks = str(locks)
        self._key = self._digest()

    def recall(self) -> Told | None:
        """The result for the same bytes; None if not everything was current, or it was never checked."""
        content = self._store.get(_KIND, self._key) if self._key else None
        try:
            return None if content is None else [(str(a), str(b), str(c)) for a, b, c in json.loads(content)]
        except (ValueError, TypeError):
            return None

    def keep(self, told: Told) -> None:
        """Remember that everything was current, unless a file changed since this object was created."""
        if self._key and {stack for stack, _, _ in told} <= {*self._stacks} and self._digest() == self._key:
            self._store.put(_KIND, self._key, json_text(told).encode())

    def _digest(self) -> str:
        """A digest of names and bytes; "" if something cannot be read."""
        digest = blake2b(self._asked.encode("utf-8", "surrogatepass"), digest_size=20)
        try:
            for path in self._files():
                content = disk.read(path, _LARGEST)
                digest.update(f"\0{path}\0{len(content)}\0".encode("utf-8", "surrogateescape"))
                digest.update(content)
        except OSError:
            return ""
        return digest.hexdigest()

    def _files(self) -> Iterator[str]:
        for name in ("indexes.toml", "systems.toml"):
            if os.path.exists(path := f"{self._matrices}/{name}"):  # noqa: PTH110
                yield path
        yield from _below(f"{self._matrices}/facts")
        for stack in self._stacks:
            yield f"{self._matrices}/stacks/{stack}.toml"
            yield from _below(f"{self._locks}/{stack}")


def _below(folder: str) -> Iterator[str]:
    """Every file below a folder, sorted."""
    if not os.path.isdir(folder):  # noqa: PTH112
        return
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda one: one.name):
            if entry.is_dir(follow_symlinks=False):
                yield from _below(entry.path)
            else:
                yield entry.path
