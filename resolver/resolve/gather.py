"""From an engine's choices to a resolution: what the stack reaches, with nothing that could simply be newer, and why.

The search decides one package after the other, and what it decided first may have kept something out that would fit
in the end. So after it, two things are made true, whichever engine found the choices:

- no other project can be newer with all others as they are (`upgrade_others`);
- no project that the stack asks for can be newer by itself: without another one of those that it asks for getting
  older, whatever else moves (`upgrade_requested`).

"Newer" is what comes first in the order of preference (`candidates`): what the previous lock has comes before all.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import takewhile

import networkx as nx
from msgspec.structs import replace
from packaging.utils import NormalizedName

from resolver.errors import UndecidedError
from resolver.model import fact as facts
from resolver.model import text
from resolver.model.dependency import Candidate, Edge, Package, PackageKind, SameRelease
from resolver.model.requirement import Requirement
from resolver.model.resolution import Pin, Resolution
from resolver.resolve.candidates import ANYTHING, Demand
from resolver.resolve.needs import requirement_lines
from resolver.resolve.provider import Tick
from resolver.resolve.universe import Universe

Choices = Mapping[Package, Candidate]


class InvalidChoiceError(Exception):
    """An engine returned inconsistent choices."""


class Reachable:
    """The choices to which the stack leads, and the edges on each, without following what a project `without` needs.

    `demands` are those on each project by others, and `needs` the projects that each project needs. Raises
    InvalidChoiceError if an edge is unmet: engines are not trusted.
    """

    def __init__(self, universe: Universe, choices: Choices, *, without: Package | None = None) -> None:
        self.edges: dict[Candidate, list[Edge]] = {}
        self.demands: dict[Package, Demand] = {}
        self.needs: dict[Package, set[Package]] = {}
        edges = [(edge, Package("")) for edge in universe.roots()]
        for edge, parent in edges:  # which grows
            candidate = choices.get(edge.package)
            if candidate is None or not universe.is_admitted(candidate, edge):
                raise InvalidChoiceError(f"{edge.origin} is not met")
            base = edge.package.base
            if parent != base:
                self.demands[base] = self.demands.get(base, ANYTHING) & universe.demand(edge)
                self.needs.setdefault(parent, set()).add(base)
            if candidate not in self.edges:
                self.edges[candidate] = []
                edges += [(one, base) for one in universe.edges(candidate)] if base != without else []
            self.edges[candidate].append(edge)
        self.choices = {candidate.package: candidate for candidate in self.edges}
        self._universe = universe

    def unpermitted(self) -> Iterator[Candidate]:
        """The pre-releases and yanked releases of projects that the policies do not permit, given who requires them."""
        for package, candidate in self.choices.items():
            if package.kind is not PackageKind.PROJECT or package.extra:
                continue
            doubtful = candidate.release.yanked or candidate.version.is_prerelease
            if doubtful and candidate not in self._universe.candidates(package, self.demands[package]):
                yield candidate


def newest(universe: Universe, choices: Choices, tick: Tick | None) -> Choices:
    """Choices that keep the promise, from valid ones; raises InvalidChoiceError if they are not valid."""
    choices = upgrade_others(universe, choices)
    while (better := upgrade_requested(universe, choices, tick)) is not None:
        choices = upgrade_others(universe, better)
    return choices


def upgrade_others(universe: Universe, choices: Choices) -> Choices:
    """The choices that are needed, each project at the first of its releases that fits beside all others."""
    reached = Reachable(universe, choices)
    moved = True
    while moved:
        moved = False
        circular = _circular(reached)
        for package, candidate in list(reached.choices.items()):
            if (
                package.kind is not PackageKind.PROJECT
                or package.extra
                or reached.choices.get(package) is not candidate
            ):
                continue
            # what a project requires of itself by way of others would be gone together with it
            others = Reachable(universe, reached.choices, without=package) if package in circular else reached
            for newer in _before(candidate, universe.candidates(package, others.demands[package])):
                if (fitting := _with_release(universe, reached.choices, newer)) is not None:
                    reached, circular = fitting, _circular(fitting)
                    moved = True
                    break
    return reached.choices


def _circular(reached: Reachable) -> set[Package]:
    """The projects that need themselves by way of others."""
    graph = nx.DiGraph((package, need) for package, needs in reached.needs.items() for need in needs)
    return {package for circle in nx.strongly_connected_components(graph) if len(circle) > 1 for package in circle}


def _with_release(universe: Universe, choices: Choices, newer: Candidate) -> Reachable | None:
    """What is reached with another release of a project; None unless all others can stay as they are."""
    own = [package for package in choices if package.base == newer.package]
    moved = {package: universe.candidate(package, newer.release.position) for package in own}
    choices = {**choices, **{package: one for package, one in moved.items() if one is not None}}
    for package in own:
        for edge in universe.edges(choices[package]):
            if edge.package.kind in (PackageKind.COMPONENT, PackageKind.MODULE) and edge.package not in choices:
                choices.update((edge.package, one) for one in universe.candidates(edge.package, universe.demand(edge)))
            if edge.package not in choices or not universe.is_admitted(choices[edge.package], edge):
                return None  # found out before all the rest is looked at
    try:
        found = Reachable(universe, choices)
    except InvalidChoiceError:
        return None
    return found if next(found.unpermitted(), None) is None else None


def upgrade_requested(universe: Universe, choices: Choices, tick: Tick | None) -> Choices | None:
    """Choices with a newer release of something that the stack asks for, and none older; None if there are none."""
    asked: dict[Package, Demand] = {}
    for edge in universe.roots():
        if edge.package.kind is PackageKind.PROJECT:
            base = edge.package.base
            asked[base] = asked.get(base, ANYTHING) & universe.demand(edge)
    wishes = {
        package: [choices[package], *_before(choices[package], universe.candidates(package, demand))]
        for package, demand in asked.items()
    }
    left = {package: sum(map(_bit, those)) for package, those in wishes.items()}  # releases, as masks

    def known(candidate: Candidate) -> Iterator[tuple[Package, int]]:
        for edge in universe.edges(candidate) if universe.opened(candidate) else ():
            if edge.package.kind is PackageKind.PROJECT:
                yield edge.package.base, universe.mask(edge.package, edge.allows)

    # releases are struck out that are known to require something of which nothing is left
    before: dict[Package, int] = {}
    while before != left:
        before = dict(left)
        for package, those in wishes.items():
            those[:] = [
                one
                for one in those
                if left[package] & _bit(one) and all(mask & left.get(other, -1) for other, mask in known(one))
            ]
            left[package] = sum(map(_bit, those))
            for other, mask in known(those[0]) if len(those) == 1 else ():
                left[other] = left.get(other, -1) & mask
    possible = {package: left[package] for package in asked}
    for package in asked:
        if newer := possible[package] & ~_bit(choices[package]):
            from resolver.resolve.complete import CompleteEngine, Unsatisfiable  # PySAT is loaded only if needed

            with suppress(Unsatisfiable, UndecidedError):
                return CompleteEngine(universe.narrowed({**possible, package: newer}, choices), tick=tick).solve()
    return None


def _bit(candidate: Candidate) -> int:
    return 1 << candidate.release.position


def _before(candidate: Candidate, order: Iterator[Candidate]) -> Iterator[Candidate]:
    """What comes before the release of a candidate."""
    return takewhile(lambda one: one.chosen is not candidate.chosen, order)


# --- what people are told of it


def gather(universe: Universe, choices: Choices, *, engine: str, rounds: int) -> Resolution:
    """The pins that the stack reaches through the choices; raises InvalidChoiceError like `Reachable`."""
    found = Reachable(universe, choices)
    reached = found.edges
    by_name: defaultdict[NormalizedName, list[Candidate]] = defaultdict(list)
    for candidate in reached:
        if candidate.package.kind is PackageKind.PROJECT:
            by_name[text.name(candidate.package.name)].append(candidate)
    pins = []
    for name, own in sorted(by_name.items()):
        base, *extras = sorted(own, key=lambda one: one.package)
        if any(other.chosen is not base.chosen for other in extras):
            raise InvalidChoiceError(f"two releases of {name}")
        origins = dict.fromkeys(edge.origin for other in own for edge in reached[other])
        needs = sorted(one.name for one in found.needs.get(base.package, ()) if one.kind is PackageKind.PROJECT)
        pins.append(
            Pin(
                name=name,
                release=base.release,
                extras=tuple(one.package.extra for one in extras),
                unknown_extras=tuple(
                    one.package.extra
                    for one in extras
                    if not universe.provides(base, one.package.extra)
                    and all(isinstance(edge.origin, SameRelease) for edge in universe.edges(one))
                ),
                because=tuple(origin for origin in origins if not isinstance(origin, SameRelease)),
                needs=tuple(map(text.name, needs)),
            )
        )
    overrides = {row for candidate in reached for row in universe.overrides_of(candidate)}
    resolution = Resolution(
        problem=universe.problem,
        pins=tuple(pins),
        engine=engine,
        rounds=rounds,
        overrides=tuple(sorted(overrides, key=lambda row: (row.package, row.name, row.dropped))),
    )
    return replace(resolution, practices=tuple(_practices_used(universe, resolution)))


def _practices_used(universe: Universe, resolution: Resolution) -> Iterator[facts.Practice]:
    """The practices in force without which metadata or a fact would forbid the resolution, in the order of the facts.

    One that replaces requirements makes no difference if the pins meet those requirements anyway.
    """
    for fact in resolution.problem.facts:
        pin = resolution.pin(fact.package) if fact.strength is facts.Strength.PRACTICE else None
        if pin is None or not fact.applies_to(pin.version):
            continue
        match fact:
            case facts.Requires() if fact.counts_for(pin.release.file):
                yield fact
            case facts.Replaces() if any(_is_unmet(need, resolution) for need in _dropped(universe, pin, fact)):
                yield fact


def _is_unmet(need: Requirement, resolution: Resolution) -> bool:
    pin = resolution.pin(need.name)
    return pin is None or not need.specifier.contains(pin.version, prereleases=True)


def _dropped(universe: Universe, pin: Pin, fact: facts.Replaces) -> Iterator[Requirement]:
    """What a pin's metadata and other facts require, as far as a fact drops it."""
    project = universe.project(pin.name)
    stated = project.facts_about(pin.release.position, facts.Metadata)
    lines = requirement_lines(universe.catalog, pin.release, stated).requires
    for extra in ("", *pin.extras):
        needs = universe.requirements(pin.release.file.filename, lines, extra)
        yield from (need for need in needs if need.name in fact.drop)
    for other in project.facts_about(pin.release.position, facts.Requires):
        kept = facts.needs_kept(other, [fact])
        yield from (need for need in other.needs if isinstance(need, Requirement) and need not in kept)
