"""Lock the groups of a stack so that they share one version of a project if all can have it."""

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
    """The versions that the groups of a stack share on one target.

    All groups are solved together first. If that has a solution, each group prefers its versions.
    If not, the groups are locked one after the other, and each prefers the versions of its own
    previous lock, then the versions of the groups before it.
    """

    # The problem with all groups as one environment.
    problem: Problem
    # The preferences from the previous lock of each group, in the order of the stack's file.
    own: Mapping[str, Preferences]
    # The pins of the common solution; empty if there is none; None before solving.
    _common: Pins | None = None
    # The pins of the groups that this run has locked.
    _earlier: Pins = field(default_factory=dict)

    @classmethod
    def of(
        cls, problem: Problem, previous: Mapping[str, Lock | None], policy: UpgradePolicy
    ) -> SharedVersions:
        """Return the shared versions of groups with these previous locks."""
        own = {group: policy.preferences(lock) for group, lock in previous.items()}
        return cls(problem, own)

    @property
    def beside(self) -> tuple[Preferences, ...]:
        """Return the preferences of all groups, on which the lock of each group depends."""
        return tuple(self.own.values())

    def preferences(self, group: str, catalog: Catalog, tick: Tick | None = None) -> Preferences:
        """Return the preferences for the resolution of a group."""
        own = self.own[group]
        if self._common is None:
            self._common = self._solve(catalog, tick)
        if self._common:
            return replace(own, pins=self._common)
        return replace(own, pins={**self._earlier, **own.pins})

    def add(self, lock: Lock) -> None:
        """Add the lock of a group: groups that are locked later prefer its pins."""
        self._earlier = {**UpgradePolicy().preferences(lock).pins, **self._earlier}

    def _solve(self, catalog: Catalog, tick: Tick | None) -> Pins:
        """Return the pins of the common solution; empty if there is none or it is undecided."""
        # A run in which all locks are remembered does not need the solver.
        from resolver.resolve.refutation import Refutation
        from resolver.resolve.solver import decide
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
    """Yield the projects of which the locks of groups have several versions.

    All locks must be for the same target.
    """
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
