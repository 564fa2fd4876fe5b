"""How a lock differs from what its inputs would give now, for `check --solve`.

Imported only where something is solved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from resolver.cli.answers import lock_or_refutation
from resolver.cli.catalogs import Catalogs
from resolver.cli.shared_versions import SharedVersions
from resolver.index.protocol import Catalog
from resolver.lock.previous import KEEP_ALL, Preferences, changes
from resolver.model.lock import Lock, PinChange
from resolver.model.message import Message, message
from resolver.model.problem import Problem
from resolver.resolve.provider import Tick
from resolver.resolve.solver import Refutation
from resolver.resolve.universe import Universe

# The keys of a lock about the lock before it.
_HISTORY = ("first", "change")


@dataclass(frozen=True)
class SolutionDifference:
    """How a lock differs from what its inputs give."""

    # Whether the inputs have no solution.
    is_refuted: bool = False
    # The pins that change without the lock, in the environment and where archives are built.
    pins: tuple[PinChange, ...] = ()
    # The keys of lock.toml that differ even if the pins of the lock are kept.
    parts: tuple[str, ...] = ()

    @property
    def is_same(self) -> bool:
        """Return whether nothing differs."""
        return not self.is_refuted and not self.pins and not self.parts

    def lines(self) -> Iterator[Message]:
        """Yield what differs, for people."""
        if self.is_refuted:
            yield message("check.refuted")
        if self.pins:
            yield message("check.other-pins", count=len(self.pins))
        for pin in self.pins:
            code = "check.other-pin"
            if not pin.new:
                code = "check.added-pin"
            elif not pin.old:
                code = "check.missing-pin"
            yield message(code, name=pin.name, locked=pin.old, solved=pin.new)
        if self.parts:
            yield message("check.other-parts", names=self.parts)

    def json(self) -> dict[str, Any]:
        """Return the object in --json, where an absent pin is an empty text."""
        pins = [{"name": pin.name, "locked": pin.old, "solved": pin.new} for pin in self.pins]
        return {"refuted": self.is_refuted, "pins": pins, "parts": list(self.parts)}


def difference_from_solution(
    problem: Problem,
    lock: Lock,
    catalogs: Catalogs,
    tick: Tick | None = None,
    shared: SharedVersions | None = None,
) -> SolutionDifference:
    """Solve a problem anew, and return how its lock differs.

    `shared` is what the group of the problem shares with others. Raise IndexFailure if an index is
    out of reach.
    """

    def without_lock(catalog: Catalog) -> Preferences:
        if shared is None:
            return Preferences()
        return shared.preferences(problem.stack.group, catalog, tick)

    solved = _solution(problem, without_lock, catalogs, tick)
    if solved is None:
        return SolutionDifference(is_refuted=True)
    pins = tuple(_changed_pins(lock, solved))
    if pins:
        kept = KEEP_ALL.preferences(lock)
        solved = _solution(problem, lambda _: kept, catalogs, tick)
    parts = () if solved is None else tuple(_changed_parts(lock, solved))
    return SolutionDifference(pins=pins, parts=parts)


def _solution(
    problem: Problem,
    preferences_in: Callable[[Catalog], Preferences],
    catalogs: Catalogs,
    tick: Tick | None,
) -> Lock | None:
    """Return the lock that a problem has with its preferences; None if it is refuted."""

    def solve(catalog: Catalog) -> Lock | Refutation:
        preferences = preferences_in(catalog)
        return lock_or_refutation(Universe(problem, catalog, preferences.pins), preferences, tick)

    answer = catalogs.ask_recorded(problem, solve)
    return answer if isinstance(answer, Lock) else None


def _changed_pins(lock: Lock, solved: Lock) -> Iterator[PinChange]:
    """Yield the pins in which two locks differ.

    First come the pins of the environment, then of each environment in which archives are built.
    """
    yield from changes(lock.pin, solved.pin)
    locked = {pins[0].builds: pins for pins in lock.build_environments()}
    given = {pins[0].builds: pins for pins in solved.build_environments()}
    for archives in sorted(locked.keys() | given.keys()):
        yield from changes(locked.get(archives, ()), given.get(archives, ()))


def _changed_parts(lock: Lock, solved: Lock) -> Iterator[str]:
    """Yield the keys of lock.toml in which two locks differ."""
    for name in Lock.__struct_fields__:
        if name not in _HISTORY and getattr(lock, name) != getattr(solved, name):
            yield name.replace("_", "-")
