"""Locks made earlier from the same inputs: one of them replaces solving, checking and building.

The key of a lock in the cache covers the input files, the preferences and the program itself. Its
entry holds the fingerprint of each look-up. It is used only if all fingerprints are the same today,
for which the indexes (or offline, the cache) are asked each time. Metadata and archives of files
with a hash need no fingerprint. A lock that rests on anything else is not remembered.

The texts of a lock's files follow from the lock and the program alone, which are their key.
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
    """A lock in the cache."""

    # What the look-ups that the lock rests on returned, by project.
    fingerprints: dict[NormalizedName, str]
    # The lock without its changes since the one before.
    lock: Lock


_ENTRY: Final = msgspec.msgpack.Decoder(_Entry)
_TEXTS_BY_NAME: Final = msgspec.msgpack.Decoder(dict[str, str])


class RememberedLock(msgspec.Struct, frozen=True):
    """Locks of one problem in the cache, by the preferences with which it was solved."""

    cache: Cache
    problem: Problem
    # The preferences of other groups, which the lock of a group depends on, too.
    beside: tuple[Preferences, ...] = ()

    def get(self, catalog: Catalog, preferences: Preferences) -> Lock | None:
        """Return the lock that solving would give; None if that is not certain."""
        entry = self.cache.load(_KIND, self._key(preferences), _ENTRY)
        if entry is None:
            return None
        try:
            fingerprints = catalog.fingerprints(list(entry.fingerprints))
        except IndexFailure:
            # Solving raises it again, if it matters.
            return None
        return entry.lock if fingerprints == entry.fingerprints else None

    def keep(self, catalog: Catalog, lock: Lock, preferences: Preferences) -> None:
        """Keep a lock that was solved, unless it rests on what has no fingerprint."""
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
            self.beside,
        )
        return _digest(repr(parts).encode("utf-8", "surrogatepass"))


def rendered(lock: Lock, cache: Cache, render: Callable[[Lock], dict[str, str]]) -> dict[str, str]:
    """Return the texts of a lock from the cache, or else by `render`, a part of this program."""
    key = _digest(_program().encode("utf-8", "surrogatepass") + msgspec.msgpack.encode(lock))
    texts = cache.load(_TEXTS, key, _TEXTS_BY_NAME)
    if texts is None:
        texts = render(lock)
        cache.save(_TEXTS, key, texts)
    return texts


def _digest(content: bytes) -> str:
    return blake2b(content, digest_size=20).hexdigest()


@functools.cache
def _program() -> str:
    """Return a text that changes with this program, also between two releases of it.

    It has the name, size and time of change of each module, template and text, and the versions of
    Python and of packaging, by which versions and markers are read.
    """
    lines = [f"{sys.version} {packaging.__version__}"]
    for path in sorted(Path(__file__).parents[1].rglob("*")):
        if path.suffix in (".py", ".po", ".j2"):
            status = path.stat()
            lines.append(f"{path} {status.st_size} {status.st_mtime_ns}")
    return "\n".join(lines)
