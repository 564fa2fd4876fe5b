"""Compare a lock with what its inputs give when they are solved anew, for `check --solve`.

This module imports the solver, so it is imported only for this option.
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
from resolver.resolve.refutation import Refutation
from resolver.resolve.universe import Universe

# The keys of a lock that are about the previous lock.
_HISTORY = ("first", "change")


@dataclass(frozen=True)
class SolutionDifference:
    """The differences between a lock and what its inputs give when solved anew."""

    # Whether the inputs have no solution.
    is_refuted: bool = False
    # The pins that differ if the lock is not preferred, in the environment and in build
    # environments.
    pins: tuple[PinChange, ...] = ()
    # The keys of lock.toml that differ even if the pins of the lock are preferred.
    parts: tuple[str, ...] = ()

    @property
    def is_same(self) -> bool:
        """Return whether nothing differs."""
        return not self.is_refuted and not self.pins and not self.parts

    def lines(self) -> Iterator[Message]:
        """Yield a line for each difference."""
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
        """Return the differences as an object for JSON. A missing pin is an empty text."""
        pins = [{"name": pin.name, "locked": pin.old, "solved": pin.new} for pin in self.pins]
        return {"refuted": self.is_refuted, "pins": pins, "parts": list(self.parts)}


def difference_from_solution(
    problem: Problem,
    lock: Lock,
    catalogs: Catalogs,
    tick: Tick | None,
    shared: SharedVersions | None,
) -> SolutionDifference:
    """Solve a problem anew, and return how the result differs from its lock.

    `shared` has the versions that the group of the problem shares with others. Raises IndexFailure
    if an index is out of reach.
    """

    def without_lock(catalog: Catalog) -> Preferences:
        """Return the preferences if the lock is not preferred."""
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
    """Lock a problem, and return the lock; None if the problem has no solution.

    `preferences_in` returns the preferences, given the catalog that answers.
    """

    def solve(catalog: Catalog) -> Lock | Refutation:
        preferences = preferences_in(catalog)
        return lock_or_refutation(Universe(problem, catalog, preferences.pins), preferences, tick)

    answer = catalogs.ask_recorded(problem, solve)
    return answer if isinstance(answer, Lock) else None


def _changed_pins(lock: Lock, solved: Lock) -> Iterator[PinChange]:
    """Yield the pins in which two locks differ.

    The pins of the environment come first, then the pins of each build environment.
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
