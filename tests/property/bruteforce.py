"""What is true in a world, found by trying everything.

Written with `packaging` alone and as simply as possible: the solver, its engines and its check are
compared with this. Nothing here is from `resolver.resolve`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from resolver.model import fact as facts
from resolver.model.requirement import ComponentRequirement
from tests.property.worlds import COMPONENT_NEEDS, World, contains

# PEP 508, for linux-aarch64 with CPython
_ENVIRONMENT = {
    "implementation_name": "cpython",
    "os_name": "posix",
    "platform_machine": "aarch64",
    "platform_python_implementation": "CPython",
    "platform_release": "",
    "platform_system": "Linux",
    "platform_version": "",
    "sys_platform": "linux",
}

Pins = Mapping[str, str]


@dataclass
class Walk:
    """What a stack reaches with some pins: faults, projects without a pin, and requirements."""

    faults: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    extras: dict[str, set[str]] = field(default_factory=dict)
    asked: dict[str, list[SpecifierSet]] = field(default_factory=dict)
    wished: dict[str, list[SpecifierSet]] = field(default_factory=dict)  # by the stack or a fact


class BruteForce:
    def __init__(self, world: World) -> None:
        self._world = world
        self._python = world.system["python"]

    def solutions(self, pins: Pins | None = None) -> Iterator[dict[str, str]]:
        """Every valid assignment without anything superfluous."""
        pins = dict(pins or {})
        walk = self._walk(pins)
        if walk.faults:
            return
        if not walk.missing:
            if not self.faults(pins):
                yield pins
            return
        name = walk.missing[0]
        for version in self._world.projects.get(name, {}):
            yield from self.solutions({**pins, name: version})

    def satisfiable(self) -> bool:
        return next(self.solutions(), None) is not None

    def faults(self, pins: Pins, extras: Mapping[str, set[str]] | None = None) -> list[str]:
        """Every fault of an assignment, and of the extras that it claims are in use."""
        walk = self._walk(pins)
        found = [*walk.faults, *(f"{name} is not pinned" for name in walk.missing)]
        for name, version in pins.items():
            if name not in walk.asked:
                found.append(f"{name} is superfluous")
            elif extras is not None and extras.get(name, set()) - walk.extras[name]:
                found.append(f"{name} has superfluous extras")
            found += self._policy(name, version, walk)
        return found

    # --- one assignment

    def _walk(self, pins: Pins) -> Walk:
        walk = Walk()
        todo: list[tuple[str, str]] = []
        done: set[tuple[str, str]] = set()
        for ask in self._world.asks:
            self._need(pins, ask, walk, todo, wish=True)
        while todo:
            name, extra = todo.pop()
            if (name, extra) in done:
                continue
            done.add((name, extra))
            if not extra:
                walk.faults += self._unusable(name, pins[name])
                for line in self._stated(name, pins[name]):
                    self._need(pins, line, walk, todo, of=name, wish=True)
            for line in self._requires(name, pins[name], extra):
                self._need(pins, line, walk, todo, of=name, wish=False)
        walk.faults += self._collisions(pins)
        walk.faults += self._beyond_bounds(pins)
        return walk

    def _need(
        self,
        pins: Pins,
        line: str,
        walk: Walk,
        todo: list[tuple[str, str]],
        *,
        of: str = "",
        wish: bool,
    ) -> None:
        if line in COMPONENT_NEEDS:
            component, holds = COMPONENT_NEEDS[line]
            walk.faults += (
                [] if holds(self._world.system.get(component, "")) else [f"{line} does not hold"]
            )
            return
        needed = requirement(line)
        if needed is None or needed.url:
            walk.faults.append(f"`{line}` cannot be met")
            return
        name = needed.name
        if name not in pins:
            walk.missing.append(name)
            return
        if not contains(needed.specifier, pins[name]):
            walk.faults.append(f"{line}, and {pins[name]} is pinned")
        asked = walk.asked.setdefault(name, [])
        if name != of:  # a release cannot permit itself
            asked.append(needed.specifier)
        if wish and name != of:
            walk.wished.setdefault(name, []).append(needed.specifier)
        walk.extras.setdefault(name, set()).update(map(canonicalize_name, needed.extras))
        todo += [(name, ""), *((name, canonicalize_name(extra)) for extra in needed.extras)]

    def _requires(self, name: str, version: str, extra: str) -> Iterator[str]:
        """Return the applicable lines of a release's metadata that no fact drops."""
        dropped = {
            gone
            for fact in self._world.facts_about(name, version, facts.Replaces)
            for gone in fact.drop
        }
        for line in self._world.projects[name][version].requires:
            needed = requirement(line)
            if needed is None or (
                line_holds(line, extra, self._python) and needed.name not in dropped
            ):
                yield line

    def _stated(self, name: str, version: str) -> Iterator[str]:
        for fact in self._world.facts_about(name, version):
            needs = fact.needs if isinstance(fact, facts.Requires) else ()
            needs = fact.add if isinstance(fact, facts.Replaces) else needs
            yield from (
                need.text if isinstance(need, ComponentRequirement) else str(need) for need in needs
            )

    def _unusable(self, name: str, version: str) -> list[str]:
        release = self._world.projects[name][version]
        reasons = [] if self._world.fits(name, version) else ["has no file for the target"]
        if not release.readable:
            reasons.append("has unreadable metadata")
        if not self._world.admits(release.own_python):
            reasons.append("needs a different Python, says its METADATA")
        return [f"{name} {version} {reason}" for reason in reasons]

    def _collisions(self, pins: Pins) -> Iterator[str]:
        owners: dict[str, set[str]] = {}
        for fact in self._world.facts:
            if isinstance(fact, facts.Collides):
                if fact.package in pins and fact in self._world.facts_about(
                    fact.package, pins[fact.package]
                ):
                    owners.setdefault(fact.module, set()).add(fact.package)
                if fact.other in pins:
                    owners.setdefault(fact.module, set()).add(fact.other)
        for module, names in owners.items():
            if len(names) > 1:
                yield f"{' and '.join(sorted(names))} own the module {module}"

    def _beyond_bounds(self, pins: Pins) -> Iterator[str]:
        for name, version in pins.items():
            for fact in self._world.facts_about(name, version, facts.Constrains):
                for bound in fact.bounds:
                    if bound.name in pins and not contains(bound.specifier, pins[bound.name]):
                        yield f"{name} {version} works only with {bound}"

    def _policy(self, name: str, version: str, walk: Walk) -> Iterator[str]:
        release, asked = self._world.projects[name][version], walk.asked.get(name, [])
        pinned = any(_pins(specifier) for specifier in walk.wished.get(name, []))
        if release.yanked and not pinned:
            yield f"{name} {version} is yanked, and neither the stack nor a fact pins it"
        if not Version(version).is_prerelease or self._world.prereleases == "allow":
            return
        if self._world.prereleases == "never":
            yield f"{name} {version} is a pre-release"
        elif not any(_names_prerelease(specifier) for specifier in asked):
            for other, there in self._world.projects[name].items():
                takes = self._world.fits(name, other) and (pinned or not there.yanked)
                if (
                    not Version(other).is_prerelease
                    and takes
                    and all(contains(one, other) for one in asked)
                ):
                    yield f"{name} {version} is a pre-release, and {other} fits"


def _pins(specifier: SpecifierSet) -> bool:
    return any(one.operator in ("==", "===") and "*" not in one.version for one in specifier)


def _names_prerelease(specifier: SpecifierSet) -> bool:
    return any(
        one.operator != "!=" and Version(one.version.removesuffix(".*")).is_prerelease
        for one in specifier
    )


@lru_cache(maxsize=1 << 16)
def requirement(line: str) -> Requirement | None:
    """Return the requirement in a line; None if it is no requirement."""
    try:
        return Requirement(line)
    except InvalidRequirement:
        return None


@lru_cache(maxsize=1 << 16)
def line_holds(line: str, extra: str, python: str) -> bool:
    """Whether a line applies on the target with this Python, or for an extra there."""
    marker = Requirement(line).marker
    versions = {
        "python_version": python,
        "python_full_version": f"{python}.0",
        "implementation_version": f"{python}.0",
    }
    return marker is None or marker.evaluate({**_ENVIRONMENT, **versions, "extra": extra})
