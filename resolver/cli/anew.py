"""What a lock has and its inputs would not give, for `check --solve`.

Loaded where something is solved.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from msgspec.structs import replace

from resolver.cli.answers import lock_or_refutation
from resolver.cli.catalogs import Catalogs
from resolver.index.protocol import Catalog
from resolver.lock.previous import KEEP_ALL, Preferences, changes
from resolver.model.lock import Lock, PinChange
from resolver.model.message import Message, message
from resolver.model.problem import Problem
from resolver.resolve.provider import Tick
from resolver.resolve.solver import Refutation
from resolver.resolve.universe import Universe

_OF_HISTORY = ("first", "change")  # what a lock says of the one before


@dataclass(frozen=True)
class SolutionDifference:
    """How a lock differs from what its inputs give.

    `pins` are the changes that solving without the lock makes, in the environment and in builds.
    `parts` are the keys of lock.toml that differ although the pins of the lock are kept.
    """

    is_refuted: bool = False
    pins: tuple[PinChange, ...] = ()
    parts: tuple[str, ...] = ()

    @property
    def is_same(self) -> bool:
        """Whether nothing differs."""
        return not self.is_refuted and not self.pins and not self.parts

    def lines(self) -> Iterator[Message]:
        """Yield what differs, for people."""
        if self.is_refuted:
            yield message("check.refuted")
        if self.pins:
            yield message("check.other-pins", count=len(self.pins))
        for pin in self.pins:
            code = (
                "check.added-pin"
                if not pin.new
                else "check.missing-pin"
                if not pin.old
                else "check.other-pin"
            )
            yield message(code, name=pin.name, locked=pin.old, solved=pin.new)
        if self.parts:
            yield message("check.other-parts", names=self.parts)

    def json(self) -> dict[str, Any]:
        """Return the object in --json; an empty `locked` or `solved` means that the pin is not there."""
        pins = [{"name": pin.name, "locked": pin.old, "solved": pin.new} for pin in self.pins]
        return {"refuted": self.is_refuted, "pins": pins, "parts": list(self.parts)}


def difference_from_solution(
    problem: Problem, lock: Lock, catalogs: Catalogs, tick: Tick | None = None
) -> SolutionDifference:
    """Solve a problem anew, and return how its lock differs.

    Raises IndexFailure if what is needed is out of reach.
    """
    solved = _solution(problem, Preferences(), catalogs, tick)
    if solved is None:
        return SolutionDifference(is_refuted=True)
    pins = tuple(_other_pins(lock, solved))
    if pins:
        solved = _solution(problem, KEEP_ALL.preferences(lock), catalogs, tick)
    return SolutionDifference(
        pins=pins, parts=tuple(_parts(lock, solved)) if solved is not None else ()
    )


def _solution(
    problem: Problem, preferences: Preferences, catalogs: Catalogs, tick: Tick | None
) -> Lock | None:
    """Return the lock that a problem gives by these preferences; None if it is refuted."""
    answer = catalogs.ask_recorded(problem, partial(_solved, problem, preferences, tick))
    return answer if isinstance(answer, Lock) else None


def _solved(
    problem: Problem, preferences: Preferences, tick: Tick | None, catalog: Catalog
) -> Lock | Refutation:
    return lock_or_refutation(Universe(problem, catalog, preferences.pins), preferences, tick)


def _other_pins(lock: Lock, solved: Lock) -> Iterator[PinChange]:
    """Yield the pins of two locks that differ: of the environment, then of each in which archives are built."""
    yield from changes(lock.pin, solved.pin)
    locked, given = (
        {pins[0].builds: pins for pins in one.build_environments()} for one in (lock, solved)
    )
    for archives in sorted({*locked, *given}):
        yield from changes(locked.get(archives, ()), given.get(archives, ()))


def _parts(lock: Lock, solved: Lock) -> Iterator[str]:
    """Yield the keys of lock.toml in which two locks differ."""
    solved = replace(solved, first=lock.first, change=lock.change)
    for name in Lock.__struct_fields__:
        if name not in _OF_HISTORY and getattr(lock, name) != getattr(solved, name):
            yield name.replace("_", "-")
