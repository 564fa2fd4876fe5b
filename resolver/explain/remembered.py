"""Explanations found earlier from the same inputs: a hit replaces solving, explaining and every trial.

The counterpart of `lock/remembered`, with the same two halves: the key covers what an explanation follows from; the
entry holds what indexes answered, as the mark of each look-up for every target of the stack, and counts only if each
page is byte for byte what it was. An explanation that was cut short, or rests on an index out of reach or on a file
without a hash, is not remembered: the next run may find more.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from hashlib import blake2b
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

import msgspec
from packaging.utils import NormalizedName

from resolver.catalog.protocol import NOBODY, Marked
from resolver.catalog.store.cache import Cache
from resolver.catalog.store.packed import reader
from resolver.lock.remembered import Pins, question
from resolver.matrix.compile import compile_problems
from resolver.matrix.load import Inputs
from resolver.model.problem import Problem
from resolver.profile import counts

if TYPE_CHECKING:  # a lock has none
    from resolver.model.explanation import Explanation

_KIND: Final = "explained"

Marks = Mapping[NormalizedName, str]
# The present marks of these projects on the indexes of a problem; None if they are uncertain.
Ask = Callable[[Problem, Sequence[NormalizedName]], Marks | None]


class _Entry(msgspec.Struct, array_like=True, gc=False):
    """The marks that an explanation rests on, by target, and the packed explanation."""

    marks: dict[str, dict[NormalizedName, str]]
    explanation: bytes


_read = reader(msgspec.msgpack.Decoder(_Entry).decode)
_encode = msgspec.msgpack.Encoder().encode


class Basis:
    """What an explanation rests on: the marks of everything looked up, by target."""

    def __init__(self) -> None:
        self._marks: dict[str, dict[NormalizedName, str]] = {}
        self._whole = True

    def add(self, target: str, catalog: object) -> None:
        """Add everything that a catalog was asked for."""
        marks = catalog.seen() if isinstance(catalog, Marked) else None
        known = self._marks.setdefault(target, {})
        if (
            marks is None
            or NOBODY in marks.values()
            or any(known.get(name, mark) != mark for name, mark in marks.items())
        ):
            self._whole = False
        known.update(marks or {})

    def lose(self) -> None:
        """Record a failure that no mark covers."""
        self._whole = False

    @property
    def marks(self) -> Mapping[str, Marks] | None:
        """The marks; None if they do not cover everything."""
        return self._marks if self._whole and self._marks else None


class RememberedExplanation:
    """The explanation of one problem in the cache, found from these files and with these options.

    `cutoff` replaces that of the stack; `preferred` are releases to keep if they fit.
    """

    def __init__(
        self, store: Cache, inputs: Inputs, problem: Problem, cutoff: datetime | None, seconds: float, preferred: Pins
    ) -> None:
        self._store = store
        self._inputs = inputs
        self._problem = problem
        self._cutoff = cutoff
        parts = (
            *question(problem, preferred),
            cutoff.isoformat() if cutoff is not None else "",
            repr(seconds),
            *(f"{spare.name} {spare.digest}" for spare in inputs.spare),
            _engine(),
        )
        self._key = blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=20).hexdigest()

    @counts("inputs")
    def recall(self, ask: Ask) -> Explanation | None:
        """The explanation that would be found; None if that is uncertain."""
        content = self._store.get(_KIND, self._key)
        entry = _read(content) if content is not None else None
        if entry is None or not all(self._holds(target, marks, ask) for target, marks in entry.marks.items()):
            return None
        from resolver.explain.packed import unpack  # most runs have nothing to unpack

        return unpack(entry.explanation, self._problem)

    def keep(self, explanation: Explanation, basis: Basis) -> None:
        """Remember an explanation, if it would be found again."""
        marks = basis.marks
        if marks is not None and not explanation.limited:
            from resolver.explain.packed import pack

            entry = _Entry({target: dict(rows) for target, rows in marks.items()}, pack(explanation))
            self._store.put(_KIND, self._key, _encode(entry))

    def _holds(self, target: str, marks: Marks, ask: Ask) -> bool:
        problem: Problem | None = self._problem
        if target != self._problem.target.name:
            others = compile_problems(self._inputs, exclude_newer=self._cutoff)
            problem = next((one for one in others if one.target.name == target), None)
        return problem is not None and ask(problem, list(marks)) == marks


def _engine() -> str:
    """What identifies the SAT solver, as another might find another core: its path, size and modification time."""
    spec = find_spec("pysat")
    if spec is None or spec.origin is None:
        return ""
    seen = os.stat(spec.origin)  # noqa: PTH116 -- called at each start
    return f"{spec.origin} {seen.st_size} {seen.st_mtime_ns}"
