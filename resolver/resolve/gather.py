"""From an engine's choices to a resolution: the pins that the stack reaches, upgraded.

An engine's first decisions may have ruled out a release that would fit in the end. So afterwards no
project that the stack asks for can be newer unless another one of these gets older
(`upgrade_requested`), and no other project with all others as they are (`upgrade_others`). "Newer"
is what comes first in the order of preference (`candidates`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from itertools import takewhile
from typing import Final

import networkx as nx
from msgspec.structs import replace
from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName

from resolver.errors import UndecidedError
from resolver.model import fact as facts
from resolver.model import text
from resolver.model.constraint import BuildLine, Line, Requires, StackLine
from resolver.model.dependency import Candidate, Edge
from resolver.model.lock import Override
from resolver.model.package import Package, PackageKind
from resolver.model.requirement import Requirement
from resolver.model.resolution import Pin, Resolution
from resolver.resolve.candidates import ANYTHING, Demand
from resolver.resolve.needs import requirement_lines
from resolver.resolve.provider import Tick
from resolver.resolve.universe import Universe

Choices = Mapping[Package, Candidate]

# The parent of the stack's edges.
_STACK: Final = Package("")


class InvalidChoiceError(Exception):
    """An engine returned inconsistent choices."""


class DependencyGraph:
    """The choices that the stack reaches, and the edges on each.

    The edges of the project `without` are not followed. Raises InvalidChoiceError if an edge is
    unmet: engines are not trusted.
    """

    def __init__(
        self, universe: Universe, choices: Choices, *, without: Package | None = None
    ) -> None:
        self._universe = universe
        # the edges on each choice
        self.edges: dict[Candidate, list[Edge]] = {}
        # the demands of others on each project
        self.demands: dict[Package, Demand] = {}
        # the projects that each project needs
        self.needs: dict[Package, set[Package]] = {}
        # the bounds on each project
        self._bounds: dict[str, list[Edge]] = {}
        waiting = [(edge, _STACK) for edge in universe.roots()]
        for edge, parent in waiting:  # which grows
            if edge.package.kind is PackageKind.VERSION:
                self._bounds.setdefault(edge.package.name, []).append(edge)
                continue
            candidate = choices.get(edge.package)
            if candidate is None or not universe.is_admitted(candidate, edge):
                raise InvalidChoiceError(f"{edge} is not met")
            base = edge.package.base
            if parent != base:
                self.demands[base] = self.demands.get(base, ANYTHING) & universe.demand(edge)
                self.needs.setdefault(parent, set()).add(base)
            if candidate not in self.edges:
                self.edges[candidate] = []
                if base != without:
                    waiting += [(needed, base) for needed in universe.edges(candidate)]
            self.edges[candidate].append(edge)
        self.choices = {candidate.package: candidate for candidate in self.edges}
        for candidate in self.edges:
            if candidate.package.kind is PackageKind.PROJECT:
                broken = self.broken_bound(candidate)
                if broken is not None:
                    raise InvalidChoiceError(f"{broken} is not met")

    def broken_bound(self, candidate: Candidate) -> Edge | None:
        """Return a bound of some choice that a release is beyond, chosen or not; or None."""
        for edge in self._bounds.get(candidate.package.name, ()):
            bound = edge.allows
            if not isinstance(bound, SpecifierSet):
                continue
            if not bound.contains(candidate.version, prereleases=True):
                return edge
        return None

    def unpermitted(self) -> Iterator[Candidate]:
        """Yield the chosen pre-releases and yanked releases that the policies do not permit.

        It depends on who requires their projects.
        """
        for package, candidate in self.choices.items():
            if package.kind is not PackageKind.PROJECT or package.extra:
                continue
            if not candidate.release.yanked and not candidate.version.is_prerelease:
                continue
            if candidate not in self._universe.candidates(package, self.demands[package]):
                yield candidate

    @cached_property
    def circular(self) -> set[Package]:
        """Return the projects that need themselves by way of others."""
        graph = nx.DiGraph()
        for package, needed in self.needs.items():
            graph.add_edges_from((package, other) for other in needed)
        packages: set[Package] = set()
        for circle in nx.strongly_connected_components(graph):
            if len(circle) > 1:
                packages |= circle
        return packages


def upgrade(universe: Universe, choices: Choices, tick: Tick | None) -> Choices:
    """Return choices of which nothing could simply be newer.

    Raises InvalidChoiceError if those given are not valid.
    """
    upgraded: Choices | None = choices
    while upgraded is not None:
        choices = upgrade_others(universe, upgraded)
        upgraded = upgrade_requested(universe, choices, tick)
    return choices


def upgrade_others(universe: Universe, choices: Choices) -> Choices:
    """Return the choices that the stack reaches, each project as new as the others admit.

    That is the most preferred of its releases that all other choices admit.
    """
    graph = DependencyGraph(universe, choices)
    has_changed = True
    while has_changed:
        has_changed = False
        for package, candidate in list(graph.choices.items()):
            if package.kind is not PackageKind.PROJECT or package.extra:
                continue
            if graph.choices.get(package) is not candidate:
                continue
            upgraded = _upgraded(universe, graph, candidate)
            if upgraded is not None:
                graph = upgraded
                has_changed = True
    return graph.choices


def _upgraded(
    universe: Universe, graph: DependencyGraph, candidate: Candidate
) -> DependencyGraph | None:
    """Return the graph with a newer release of a project; None if all others admit none."""
    package = candidate.package
    others = graph
    # what a project requires of itself by way of others would be gone together with it
    if package in graph.circular:
        others = DependencyGraph(universe, graph.choices, without=package)
    for newer in _before(candidate, universe.candidates(package, others.demands[package])):
        if others.broken_bound(newer) is None:
            upgraded = _with_release(universe, graph.choices, newer)
            if upgraded is not None:
                return upgraded
    return None


def _with_release(universe: Universe, choices: Choices, newer: Candidate) -> DependencyGraph | None:
    """Return the graph with another release of a project; None unless all others can stay."""
    packages = [package for package in choices if package.base == newer.package]
    changed = dict(choices)
    for package in packages:
        candidate = universe.candidate(package, newer.release.position)
        if candidate is not None:
            changed[package] = candidate
    for package in packages:
        for edge in universe.edges(changed[package]):
            if edge.package.kind is PackageKind.VERSION:
                continue  # the graph compares bounds with what it reaches
            is_new = edge.package not in changed
            if is_new and edge.package.kind in (PackageKind.COMPONENT, PackageKind.MODULE):
                for candidate in universe.candidates(edge.package, universe.demand(edge)):
                    changed[edge.package] = candidate
            decided = changed.get(edge.package)
            if decided is None or not universe.is_admitted(decided, edge):
                return None  # the whole graph need not be built
    try:
        graph = DependencyGraph(universe, changed)
    except InvalidChoiceError:
        return None
    return graph if next(graph.unpermitted(), None) is None else None


def upgrade_requested(universe: Universe, choices: Choices, tick: Tick | None) -> Choices | None:
    """Return choices with a newer release of a project that the stack asks for, and none older.

    None if there are none.
    """
    possible = _PossibleReleases(universe, choices).masks()
    for package, mask in possible.items():
        newer = mask & ~_bit(choices[package])
        if newer:
            # PySAT is loaded only if needed
            from resolver.resolve.complete import CompleteEngine, Unsatisfiable

            narrowed = universe.narrowed({**possible, package: newer}, choices)
            with suppress(Unsatisfiable, UndecidedError):
                return CompleteEngine(narrowed, tick=tick).solve()
    return None


class _PossibleReleases:
    """The releases that the projects which the stack asks for may have if none gets older."""

    def __init__(self, universe: Universe, choices: Choices) -> None:
        self._universe = universe
        demands: dict[Package, Demand] = {}
        for edge in universe.roots():
            if edge.package.kind is PackageKind.PROJECT:
                base = edge.package.base
                demands[base] = demands.get(base, ANYTHING) & universe.demand(edge)
        # of each project, the choice and what is preferred to it
        self._candidates: dict[Package, list[Candidate]] = {}
        # of these and other projects, the releases that are possible
        self._masks: dict[Package, int] = {}
        for package, demand in demands.items():
            choice = choices[package]
            newer = _before(choice, universe.candidates(package, demand))
            self._set(package, [choice, *newer])

    def masks(self) -> dict[Package, int]:
        """Return the releases that are possible of each project that the stack asks for, as masks.

        Releases are ruled out that are known to require something of which none is possible.
        """
        before: dict[Package, int] = {}
        while before != self._masks:
            before = dict(self._masks)
            for package, candidates in self._candidates.items():
                self._set(package, list(filter(self._is_possible, candidates)))
                candidates = self._candidates[package]
                if len(candidates) == 1:
                    for needed, mask in self._known_needs(candidates[0]):
                        self._masks[needed] = self._masks.get(needed, -1) & mask
        return {package: self._masks[package] for package in self._candidates}

    def _set(self, package: Package, candidates: list[Candidate]) -> None:
        self._candidates[package] = candidates
        self._masks[package] = sum(map(_bit, candidates))

    def _is_possible(self, candidate: Candidate) -> bool:
        if not self._masks[candidate.package] & _bit(candidate):
            return False
        needs = self._known_needs(candidate)
        return all(mask & self._masks.get(needed, -1) for needed, mask in needs)

    def _known_needs(self, candidate: Candidate) -> Iterator[tuple[Package, int]]:
        """Yield the projects that an opened candidate requires, each with what it admits."""
        if not self._universe.opened(candidate):
            return
        for edge in self._universe.edges(candidate):
            if edge.package.kind is PackageKind.PROJECT:
                yield edge.package.base, self._universe.mask(edge.package, edge.allows)


def _bit(candidate: Candidate) -> int:
    return 1 << candidate.release.position


def _before(candidate: Candidate, order: Iterator[Candidate]) -> Iterator[Candidate]:
    """Return the candidates that come before the release of a candidate in an order."""
    return takewhile(lambda other: other.chosen is not candidate.chosen, order)


# --- the resolution


def gather(universe: Universe, choices: Choices, *, engine: str, rounds: int) -> Resolution:
    """Return the pins that the stack reaches through the choices.

    Raises InvalidChoiceError like `DependencyGraph`.
    """
    graph = DependencyGraph(universe, choices)
    packages: dict[NormalizedName, list[Package]] = {}
    overrides: set[Override] = set()
    for candidate in graph.edges:
        overrides.update(universe.overrides_of(candidate))
        if candidate.package.kind is PackageKind.PROJECT:
            name = text.name(candidate.package.name)
            packages.setdefault(name, []).append(candidate.package)
    resolution = Resolution(
        problem=universe.problem,
        pins=tuple(_pin(universe, graph, name, packages[name]) for name in sorted(packages)),
        engine=engine,
        rounds=rounds,
        as_of=universe.as_of,
        overrides=tuple(sorted(overrides, key=_override_order)),
    )
    return replace(resolution, used_practices=tuple(_practices_used(universe, resolution)))


def _override_order(override: Override) -> tuple[str, ...]:
    return override.package, override.name, override.dropped


def _pin(
    universe: Universe, graph: DependencyGraph, name: NormalizedName, packages: list[Package]
) -> Pin:
    """Return the pin of a project, of which these packages were chosen: itself and its extras."""
    base = graph.choices[Package(name)]
    extras = []
    unknown_extras = []
    for package in sorted(packages):
        candidate = graph.choices[package]
        if candidate.chosen is not base.chosen:
            raise InvalidChoiceError(f"two releases of {name}")
        if not package.extra:
            continue
        extras.append(package.extra)
        requires_nothing = all(edge.constraint is None for edge in universe.edges(candidate))
        if requires_nothing and not universe.provides(base, package.extra):
            unknown_extras.append(package.extra)
    because: dict[Line | Requires, None] = {}
    for package in packages:
        for edge in graph.edges[graph.choices[package]]:
            if isinstance(edge.constraint, (StackLine, BuildLine, Requires)):
                because[edge.constraint] = None
    needed = graph.needs.get(Package(name), ())
    needs = [text.name(other.name) for other in needed if other.kind is PackageKind.PROJECT]
    return Pin(
        name=name,
        release=base.release,
        extras=tuple(extras),
        unknown_extras=tuple(unknown_extras),
        because=tuple(because),
        needs=tuple(sorted(needs)),
    )


def _practices_used(universe: Universe, resolution: Resolution) -> Iterator[facts.Practice]:
    """Yield the practices in force without which metadata or a fact would forbid the resolution.

    One that replaces requirements makes no difference if the pins meet those requirements anyway.
    """
    for fact in resolution.problem.facts:
        if fact.strength is not facts.Strength.PRACTICE:
            continue
        pin = resolution.pin(fact.package)
        if pin is None or not fact.applies_to(pin.version):
            continue
        if isinstance(fact, facts.Requires) and fact.counts_for(pin.release):
            yield fact
        elif isinstance(fact, facts.Replaces):
            replaced = _replaced_by(fact, pin, universe)
            if not all(_is_met(need, resolution) for need in replaced):
                yield fact


def _is_met(need: Requirement, resolution: Resolution) -> bool:
    """Return whether the pin of a project meets a requirement on it."""
    pin = resolution.pin(need.name)
    return pin is not None and need.specifier.contains(pin.version, prereleases=True)


def _replaced_by(fact: facts.Replaces, pin: Pin, universe: Universe) -> Iterator[Requirement]:
    """Yield the requirements of a pin's metadata and of other facts that a fact drops.

    Without the fact, they would count on the target.
    """
    project = universe.project(pin.name)
    metadata = project.facts_about(pin.release.position, facts.Metadata)
    lines = requirement_lines(universe.catalog, pin.release, metadata).requires
    for extra in ("", *pin.extras):
        for need in universe.requirements(pin.release.file.filename, lines, extra):
            if need.name in fact.drop:
                yield need
    markers = universe.problem.target.markers
    for other in project.facts_about(pin.release.position, facts.Fact):
        needs = other.needs_for(pin.release)
        kept = facts.needs_kept(other, needs, [fact])
        for stated in needs:
            if isinstance(stated, Requirement) and stated not in kept and stated.applies(markers):
                yield stated
