"""The groups of a stack: their locks have one version of a project wherever all can have it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from msgspec.structs import replace

from resolver.errors import UndecidedError
from resolver.index.protocol import Catalog
from resolver.lock.previous import Pins, Preferences, UpgradePolicy
from resolver.model.lock import Lock
from resolver.model.message import Message, joined, message
from resolver.model.problem import Problem
from resolver.resolve.provider import Tick


@dataclass
class SharedVersions:
    """What the groups of a stack share on one target.

    All of them are solved together first. If that has a solution, the lock of each group is a part
    of it. Otherwise they are locked one after the other, and each prefers what the ones before it
    have; the pins of its own previous lock come first.
    """

    # All groups as one environment.
    problem: Problem
    # The preferences of each group's own previous lock, in the order of the stack's file.
    own: Mapping[str, Preferences]
    # The pins that all groups can have; empty if there is no solution for all. None before solving.
    _common: Pins | None = None
    # The pins of the groups that are locked already.
    _earlier: Pins = field(default_factory=dict)

    @classmethod
    def of(
        cls, problem: Problem, previous: Mapping[str, Lock | None], policy: UpgradePolicy
    ) -> SharedVersions:
        """Return what is shared by groups with these previous locks."""
        own = {group: policy.preferences(lock) for group, lock in previous.items()}
        return cls(problem, own)

    @property
    def beside(self) -> tuple[Preferences, ...]:
        """Return all preferences on which the lock of any group depends."""
        return tuple(self.own.values())

    def preferences(self, group: str, catalog: Catalog, tick: Tick | None = None) -> Preferences:
        """Return the releases that the resolution of a group prefers."""
        own = self.own[group]
        if self._common is None:
            self._common = self._solve(catalog, tick)
        if self._common:
            return replace(own, pins=self._common)
        return replace(own, pins={**self._earlier, **own.pins})

    def add(self, lock: Lock) -> None:
        """Let groups that are locked from now on prefer the pins of a group's lock."""
        self._earlier = {**UpgradePolicy().preferences(lock).pins, **self._earlier}

    def _solve(self, catalog: Catalog, tick: Tick | None) -> Pins:
        # A remembered lock does not need the solver.
        from resolver.resolve.solver import Refutation, decide
        from resolver.resolve.universe import Universe

        preferred: Pins = {}
        for preferences in self.own.values():
            preferred = {**preferences.pins, **preferred}
        universe = Universe(self.problem, catalog, preferred)
        try:
            answer = decide(universe, hints=preferred, tick=tick)
        except UndecidedError:
            return {}
        if isinstance(answer, Refutation):
            return {}
        return {pin.name: pin.version for pin in answer.pins}


def differences(locks: Mapping[str, Lock]) -> Iterator[Message]:
    """Yield the projects of which the locks of groups, for one target, have different versions."""
    versions: dict[str, dict[str, list[str]]] = {}
    for group, lock in locks.items():
        for pin in lock.pin:
            versions.setdefault(pin.name, {}).setdefault(pin.version, []).append(group)
    for name, groups_by_version in sorted(versions.items()):
        if len(groups_by_version) > 1:
            parts = [
                message("group.version", version=version, groups=joined("comma", groups))
                for version, groups in groups_by_version.items()
            ]
            yield message("group.project", name=name, versions=joined("comma", parts))
