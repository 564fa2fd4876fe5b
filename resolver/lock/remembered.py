"""Locks made earlier from the same inputs: a hit replaces solving, checking and building.

The key covers the input files, the preferences and the program itself. The entry holds the
fingerprint of each look-up. It is used only if all are the same today, for which the indexes (or
offline, the cache) are asked each time. Metadata and archives of files with a hash need none. A
lock that rests on anything else is not remembered.

The files of a lock follow from it and the program alone, and are remembered by these.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Final

import msgspec
import packaging
from packaging.utils import NormalizedName

from resolver.errors import IndexFailure
from resolver.index.protocol import Catalog
from resolver.index.store.cache import Cache
from resolver.lock.previous import Preferences
from resolver.model.lock import Lock
from resolver.model.problem import Problem

_KIND: Final = "lock"
_TEXTS: Final = "rendered"


class _Entry(msgspec.Struct, array_like=True, gc=False):
    """A lock without its changes since the one before, and the fingerprints that it rests on."""

    fingerprints: dict[NormalizedName, str]
    lock: Lock


_ENTRY: Final = msgspec.msgpack.Decoder(_Entry)


class RememberedLock(msgspec.Struct, frozen=True):
    """Locks of one problem in the cache, by the preferences with which it was solved."""

    cache: Cache
    problem: Problem

    def get(self, catalog: Catalog, preferences: Preferences) -> Lock | None:
        """The lock that solving would give; None where that is not certain."""
        entry = self.cache.load(_KIND, self._key(preferences), _ENTRY)
        if entry is None:
            return None
        try:
            fingerprints = catalog.fingerprints(list(entry.fingerprints))
        except IndexFailure:
            return None  # solving raises it again, if it matters
        return entry.lock if fingerprints == entry.fingerprints else None

    def keep(self, catalog: Catalog, lock: Lock, preferences: Preferences) -> None:
        """Remember the lock that was solved."""
        if fingerprints := catalog.used_fingerprints():
            self.cache.save(_KIND, self._key(preferences), _Entry(dict(fingerprints), lock))

    def _key(self, preferences: Preferences) -> str:
        problem = self.problem
        parts = (
            _program(),
            problem.digest,
            problem.readings,
            problem.stack.where,
            problem.facts[0].where if problem.facts else "",
            problem.target.name,
            problem.policy.exclude_newer,
            problem.policy.as_of,
            problem.indexes,
            sorted(problem.sources.items()),
            preferences,
        )
        return blake2b(repr(parts).encode("utf-8", "surrogatepass"), digest_size=20).hexdigest()


def rendered(lock: Lock, cache: Cache, render: Callable[[Lock], dict[str, str]]) -> dict[str, str]:
    """The texts of a lock by `render`, a part of this program, from now or from an earlier run."""
    program = _program().encode("utf-8", "surrogatepass")
    key = blake2b(program + msgspec.msgpack.encode(lock), digest_size=20).hexdigest()
    texts = cache.load(_TEXTS, key, msgspec.msgpack.Decoder(dict[str, str]))
    if texts is None:
        texts = render(lock)
        cache.save(_TEXTS, key, texts)
    return texts


@functools.cache
def _program() -> str:
    """The state of this program, which developers change without changing its version.

    That is name, size and time of change of each module, template and text, and the versions of
    Python and of packaging, by which versions and markers are read.
    """
    paths = [
        path
        for path in Path(__file__).parents[1].rglob("*")
        if path.suffix in (".py", ".po", ".j2")
    ]
    states = [f"{path} {path.stat().st_size} {path.stat().st_mtime_ns}" for path in sorted(paths)]
    return "\n".join([f"{sys.version} {packaging.__version__}", *states])
