"""Remember answers in the cache, so that the same inputs need not be solved and checked again.

The key of a lock covers the input files, the preferences and the program itself. The entry has the
fingerprint of each look-up that the lock rests on. The lock is used only if all look-ups have the
same fingerprints today; for this the indexes (or offline, the cache) are asked each time. Metadata
and archives of files with a sha256 need no fingerprint. A lock that rests on anything else is not
remembered.

The texts of a lock's folder are remembered as well. They depend only on the lock and the program.
So are the ways out of a conflict, for a command that applies one that was just shown.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable
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
from resolver.model.message import Message
from resolver.model.problem import Problem

# The kinds of the cache's entries.
_KIND: Final = "lock"
_FIXES: Final = "fixes"
_TEXTS: Final = "rendered"


class _Entry(msgspec.Struct, array_like=True, gc=False):
    """A remembered lock, in the form in which the cache stores it."""

    # The fingerprint of each look-up that the lock rests on, by project.
    fingerprints: dict[NormalizedName, str]
    # The lock, without its changes since the previous lock.
    lock: Lock


class StackOfFix(msgspec.Struct, frozen=True):
    """A way out of a conflict as the stack or the two stacks that it makes."""

    # The letter of the way out.
    name: str
    # What it changes, in one sentence.
    changes: Message
    # For each stack, its name and the text of its TOML file.
    files: tuple[tuple[str, str], ...]
    # For each stack, the TOML with the name of the original stack.
    texts: tuple[str, ...]


class _FixesEntry(msgspec.Struct, array_like=True, gc=False):
    """The remembered ways out of one target, in the form in which the cache stores them."""

    # The fingerprint of each look-up that the explanation rests on, by project.
    fingerprints: dict[NormalizedName, str]
    # The ways out, in their order.
    fixes: tuple[StackOfFix, ...]


_FIXES_ENTRY: Final = msgspec.msgpack.Decoder(_FixesEntry)
_ENTRY: Final = msgspec.msgpack.Decoder(_Entry)
_TEXTS_BY_NAME: Final = msgspec.msgpack.Decoder(dict[str, str])


class RememberedLock(msgspec.Struct, frozen=True):
    """The remembered locks of one problem, one for each set of preferences."""

    cache: Cache
    problem: Problem
    # The preferences of the other groups of a stack that is split into groups: the lock of one
    # group depends on them, too.
    beside: tuple[Preferences, ...] = ()

    def get(self, catalog: Catalog, preferences: Preferences) -> Lock | None:
        """Return the remembered lock, if solving would certainly result in the same one.

        None if there is no such lock, or if an answer of an index has changed or is not known.
        """
        entry = self.cache.load(_KIND, self._key(preferences), _ENTRY)
        if entry is None:
            return None
        try:
            fingerprints = catalog.fingerprints(list(entry.fingerprints))
        except IndexFailure:
            # Solving raises the failure again, if it needs this answer.
            return None
        return entry.lock if fingerprints == entry.fingerprints else None

    def keep(self, catalog: Catalog, lock: Lock, preferences: Preferences) -> None:
        """Remember a lock that was solved, unless it rests on an answer without a fingerprint."""
        if fingerprints := catalog.used_fingerprints():
            self.cache.save(_KIND, self._key(preferences), _Entry(dict(fingerprints), lock))

    def _key(self, preferences: Preferences) -> str:
        """Return the key of the lock, which depends on all its inputs but the indexes' answers."""
        return _digest_of(*_inputs(self.problem), preferences, self.beside)


class RememberedFixes(msgspec.Struct, frozen=True):
    """The remembered ways out of one problem that has no solution."""

    cache: Cache
    problem: Problem
    # The text of the stack's file, which each way out changes.
    stack_text: str

    def get(self, catalog: Catalog) -> tuple[StackOfFix, ...] | None:
        """Return the ways out as they were shown last.

        None if there are none, or if an answer of an index has changed since or is not known.
        """
        entry = self.cache.load(_FIXES, self._key(), _FIXES_ENTRY)
        if entry is None:
            return None
        try:
            fingerprints = catalog.fingerprints(list(entry.fingerprints))
        except IndexFailure:
            # The search for ways out raises the failure again, if it needs this answer.
            return None
        return entry.fixes if fingerprints == entry.fingerprints else None

    def shown(self) -> tuple[StackOfFix, ...]:
        """Return the ways out as they were shown last, whatever the indexes say today."""
        entry = self.cache.load(_FIXES, self._key(), _FIXES_ENTRY)
        return () if entry is None else entry.fixes

    def keep(self, catalog: Catalog, fixes: Iterable[StackOfFix]) -> None:
        """Remember ways out, unless they rest on an answer without a fingerprint."""
        if fingerprints := catalog.used_fingerprints():
            entry = _FixesEntry(dict(fingerprints), tuple(fixes))
            self.cache.save(_FIXES, self._key(), entry)

    def _key(self) -> str:
        """Return the key of the ways out, which depends on all inputs but the indexes' answers."""
        return _digest_of(*_inputs(self.problem), self.stack_text)


def rendered(lock: Lock, cache: Cache, render: Callable[[Lock], dict[str, str]]) -> dict[str, str]:
    """Return the texts of a lock's folder by file name, from the cache or by calling `render`.

    `render` must belong to this program, since the key covers only the lock and the program.
    """
    key = _digest(_program().encode("utf-8", "surrogatepass") + msgspec.msgpack.encode(lock))
    texts = cache.load(_TEXTS, key, _TEXTS_BY_NAME)
    if texts is None:
        texts = render(lock)
        cache.save(_TEXTS, key, texts)
    return texts


def _inputs(problem: Problem) -> tuple[object, ...]:
    """Return what an answer for a problem depends on, apart from the indexes' answers."""
    return (
        _program(),
        problem.digest,
        problem.readings,
        problem.stack.where,
        # Warnings name the files of facts by their path from the folder that holds them.
        problem.facts[0].where if problem.facts else "",
        problem.target.name,
        problem.policy.exclude_newer,
        problem.policy.as_of,
        problem.indexes,
        sorted(problem.sources.items()),
    )


def _digest_of(*parts: object) -> str:
    """Return a hash of objects, by their `repr`, for a key of the cache."""
    return _digest(repr(parts).encode("utf-8", "surrogatepass"))


def _digest(content: bytes) -> str:
    """Return a hash of a text, for a key of the cache."""
    return blake2b(content, digest_size=20).hexdigest()


@functools.cache
def _program() -> str:
    """Return a text that is different after any change of this program, released or not.

    It has the path, size and modification time of each module, template and translation, and the
    versions of Python and of `packaging`, which parse versions and markers.
    """
    lines = [f"{sys.version} {packaging.__version__}"]
    for path in sorted(Path(__file__).parents[1].rglob("*")):
        if path.suffix in (".py", ".po", ".j2"):
            status = path.stat()
            lines.append(f"{path} {status.st_size} {status.st_mtime_ns}")
    return "\n".join(lines)
