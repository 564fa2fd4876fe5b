"""Locks made earlier from the same inputs: a hit replaces solving, checking and building.

The key covers what a lock follows from: the input files, the wishes, the program itself. The entry holds what indexes
answered, as the mark of each look-up. It counts only if every page is byte for byte what it was, for which the indexes
(or offline, the cache) are asked each time. Metadata and archives of files with a hash need no marks, as a hash vouches
for them. A lock that rests on anything else is not remembered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Final

import msgspec
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.errors import IndexFailure
from resolver.index.protocol import Catalog
from resolver.index.store.cache import Cache
from resolver.model.lock import Lock
from resolver.model.problem import Problem
from resolver.model.resolution import PassedOver
from resolver.program import program

_KIND: Final = "lock"

Pins = Mapping[NormalizedName, Version]
Kept = Mapping[tuple[NormalizedName, ...], Pins]
Passed = Sequence[PassedOver]


class _Entry(msgspec.Struct, array_like=True, gc=False):
    """A lock without what changed against the one before, and the marks that it rests on."""

    marks: dict[NormalizedName, str]
    lock: Lock


_ENTRY: Final = msgspec.msgpack.Decoder(_Entry)


class RememberedLock(msgspec.Struct, frozen=True):
    """Locks of one problem in the cache; `keep` and `builds` are the pins to prefer, of each environment of builds.

    `passed` is what is told of those pins: releases that were passed over for them.
    """

    store: Cache
    problem: Problem

    def recall(self, catalog: Catalog, keep: Pins, builds: Kept, passed: Passed) -> Lock | None:
        """The lock that solving would give; None where that is not certain."""
        entry = self.store.load(_KIND, self._key(keep, builds, passed), _ENTRY)
        if entry is None:
            return None
        try:
            marks = catalog.marks(list(entry.marks))
        except IndexFailure:
            return None  # met again by who solves, where it matters
        return entry.lock if marks == entry.marks else None

    def keep(self, catalog: Catalog, lock: Lock, keep: Pins, builds: Kept, passed: Passed) -> None:
        """Remember what solving gave, as it came from these wishes."""
        marks = catalog.seen()
        if marks:
            self.store.save(_KIND, self._key(keep, builds, passed), _Entry(dict(marks), lock))

    def _key(self, keep: Pins, builds: Kept, passed: Passed) -> str:
        problem = self.problem
        parts = (
            program(),
            problem.digest,
            problem.readings,
            problem.stack.where,
            problem.facts[0].where if problem.facts else "",
            problem.target.name,
            problem.policy.exclude_newer.isoformat() if problem.policy.exclude_newer else "",
            repr(problem.indexes),
            repr(sorted(problem.sources.items())),
            _text(keep),
            *(f"{' '.join(archives)}: {_text(pins)}" for archives, pins in sorted(builds.items())),
            *(f"{row.project} {row.version} {row.archive} {row.index}" for row in passed),
        )
        return blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=20).hexdigest()


def _text(pins: Pins) -> str:
    return " ".join(f"{name}=={version}" for name, version in sorted(pins.items()))
