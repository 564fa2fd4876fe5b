"""From the choices of an engine to a resolution.

The choices are upgraded, checked and turned into pins. An early decision of an engine may have
ruled out a release that fits in the end. So the choices are upgraded until two promises are kept.
No project that the stack requires can be newer unless another such project gets older
(`_upgrade_requested`). No other project can be newer while all others stay as they are
(`_upgrade_others`). "Newer" means more preferred in the order of `candidates`.
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
from resolver.model.constraint import BuildLine, Line, ReleaseRequires, StackLine
from resolver.model.dependency import Candidate, Edge
from resolver.model.lock import Override
from resolver.model.package import Package, PackageKind
from resolver.model.requirement import Requirement
from resolver.model.resolution import Pin, Resolution
from resolver.resolve.candidates import ANYTHING, Demand
from resolver.resolve.needs import requirement_lines
from resolver.resolve.provider import Tick
from resolver.resolve.universe import Universe

# The candidate that an engine chose for each package.
Choices = Mapping[Package, Candidate]

# The package that stands for the stack, as the parent of its edges.
_STACK: Final = Package("")


class InvalidChoiceError(Exception):
    """The choices of an engine contradict each other, or lack something that is required."""


class DependencyGraph:
    """The choices that the stack requires, directly or through others, and the edges on them."""

    def __init__(
        self, universe: Universe, choices: Choices, *, without: Package | None = None
    ) -> None:
        """Follow the edges from the stack through the choices.

        The edges of the project `without` are not followed. Raises InvalidChoiceError if a choice
        does not meet an edge: engines are not trusted.
        """
        self._universe = universe
        # The edges on each choice.
        self.edges: dict[Candidate, list[Edge]] = {}
        # The demand on each project, without the edges of its own releases (`Edge.is_own`).
        self.demands: dict[Package, Demand] = {}
        # The projects and other packages that each project requires.
        self.needs: dict[Package, set[Package]] = {}
        # The bounds on each project.
        self._bounds: dict[str, list[Edge]] = {}
        waiting = [(edge, _STACK) for edge in universe.roots()]
        for edge, parent in waiting:  # the list grows while it is read
            if edge.package.kind is PackageKind.VERSION:
                self._bounds.setdefault(edge.package.name, []).append(edge)
                continue
            candidate = choices.get(edge.package)
            if candidate is None or not universe.is_admitted(candidate, edge):
                raise InvalidChoiceError(f"{edge} is not met")
            base = edge.package.base
            if not edge.is_own:
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
        """Return a bound in the graph that does not admit a release; None if all bounds admit it.

        The release need not be chosen.
        """
        for edge in self._bounds.get(candidate.package.name, ()):
            bound = edge.allows
            if not isinstance(bound, SpecifierSet):
                continue
            if not bound.contains(candidate.version, prereleases=True):
                return edge
        return None

    def unpermitted(self) -> Iterator[Candidate]:
        """Yield the chosen pre-releases and yanked releases that the policy does not permit.

        Whether they are permitted depends on the requirements on their projects.
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
        """Return the projects that require themselves through other projects."""
        graph = nx.DiGraph()
        for package, needed in self.needs.items():
            graph.add_edges_from((package, other) for other in needed)
        packages: set[Package] = set()
        for circle in nx.strongly_connected_components(graph):
            if len(circle) > 1:
                packages |= circle
        return packages


def upgrade(universe: Universe, choices: Choices, tick: Tick | None) -> Choices:
    """Return choices that keep the promises of this module.

    Raises InvalidChoiceError if the given choices are not valid.
    """
    upgraded: Choices | None = choices
    while upgraded is not None:
        choices = _upgrade_others(universe, upgraded)
        upgraded = _upgrade_requested(universe, choices, tick)
    return choices


def _upgrade_others(universe: Universe, choices: Choices) -> Choices:
    """Return the choices that the stack requires, with each project as new as possible.

    A project gets the most preferred release that all other choices admit. This is repeated until
    nothing changes. Raises InvalidChoiceError if the given choices are not valid.
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
    """Return the graph with a newer release of a candidate's project.

    None if the other choices admit no newer release.
    """
    package = candidate.package
    others = graph
    # Requirements on a project that exist only because the project is installed do not count.
    if package in graph.circular:
        others = DependencyGraph(universe, graph.choices, without=package)
    for newer in _before(candidate, universe.candidates(package, others.demands[package])):
        if others.broken_bound(newer) is None:
            upgraded = _with_release(universe, graph.choices, newer)
            if upgraded is not None:
                return upgraded
    return None


def _with_release(universe: Universe, choices: Choices, newer: Candidate) -> DependencyGraph | None:
    """Return the graph with another release of a project; None if another choice must change."""
    packages = [package for package in choices if package.base == newer.package]
    changed = dict(choices)
    for package in packages:
        candidate = universe.candidate(package, newer.release.position)
        if candidate is not None:
            changed[package] = candidate
    for package in packages:
        for edge in universe.edges(changed[package]):
            if edge.package.kind is PackageKind.VERSION:
                continue  # the graph checks bounds
            is_new = edge.package not in changed
            if is_new and edge.package.kind in (PackageKind.COMPONENT, PackageKind.MODULE):
                for candidate in universe.candidates(edge.package, universe.demand(edge)):
                    changed[edge.package] = candidate
            decided = changed.get(edge.package)
            if decided is None or not universe.is_admitted(decided, edge):
                return None  # without building the whole graph
    try:
        graph = DependencyGraph(universe, changed)
    except InvalidChoiceError:
        return None
    return graph if next(graph.unpermitted(), None) is None else None


def _upgrade_requested(universe: Universe, choices: Choices, tick: Tick | None) -> Choices | None:
    """Return choices in which a project that the stack requires is newer, and none is older.

    None if there are no such choices, or the engine could not decide.
    """
    possible = _PossibleReleases(universe, choices).masks()
    for package, mask in possible.items():
        newer = mask & ~_bit(choices[package])
        if newer:
            # PySAT is loaded only if it is needed.
            from resolver.resolve.complete import CompleteEngine, Unsatisfiable

            narrowed = universe.narrowed({**possible, package: newer}, choices)
            with suppress(Unsatisfiable, UndecidedError):
                return CompleteEngine(narrowed, tick=tick).solve()
    return None


class _PossibleReleases:
    """The possible releases of the projects that the stack requires, if none may get older."""

    def __init__(self, universe: Universe, choices: Choices) -> None:
        """Begin with the chosen releases, and all that are preferred to them."""
        self._universe = universe
        demands: dict[Package, Demand] = {}
        for edge in universe.roots():
            if edge.package.kind is PackageKind.PROJECT:
                base = edge.package.base
                demands[base] = demands.get(base, ANYTHING) & universe.demand(edge)
        # The chosen candidate of each project, and the candidates that are preferred to it.
        self._candidates: dict[Package, list[Candidate]] = {}
        # The releases that are possible, as bit masks, for these projects and for projects that
        # they require.
        self._masks: dict[Package, int] = {}
        for package, demand in demands.items():
            choice = choices[package]
            newer = _before(choice, universe.candidates(package, demand))
            self._set(package, [choice, *newer])

    def masks(self) -> dict[Package, int]:
        """Return the possible releases of each project that the stack requires, as bit masks.

        Opened releases are ruled out if they require a project of which no release is possible.
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
        """Record the possible candidates of a project, and their mask."""
        self._candidates[package] = candidates
        self._masks[package] = sum(map(_bit, candidates))

    def _is_possible(self, candidate: Candidate) -> bool:
        """Return whether a candidate is possible, by what is known of the others so far."""
        if not self._masks[candidate.package] & _bit(candidate):
            return False
        needs = self._known_needs(candidate)
        return all(mask & self._masks.get(needed, -1) for needed, mask in needs)

    def _known_needs(self, candidate: Candidate) -> Iterator[tuple[Package, int]]:
        """Yield the projects that an opened candidate requires, with masks of admitted releases.

        Nothing is yielded for a candidate that was not opened.
        """
        if not self._universe.opened(candidate):
            return
        for edge in self._universe.edges(candidate):
            if edge.package.kind is PackageKind.PROJECT:
                yield edge.package.base, self._universe.mask(edge.package, edge.allows)


def _bit(candidate: Candidate) -> int:
    """Return the mask with only the release of a candidate."""
    return 1 << candidate.release.position


def _before(candidate: Candidate, order: Iterator[Candidate]) -> Iterator[Candidate]:
    """Return the candidates of an order that come before a candidate."""
    return takewhile(lambda other: other.chosen is not candidate.chosen, order)


# --- the resolution


def gather(universe: Universe, choices: Choices) -> Resolution:
    """Return the resolution with the pins that the stack requires, directly or through others.

    Raises InvalidChoiceError if the choices are not valid.
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
        as_of=universe.as_of,
        overrides=tuple(sorted(overrides, key=_override_order)),
    )
    return replace(resolution, used_practices=tuple(_practices_used(universe, resolution)))


def _override_order(override: Override) -> tuple[str, ...]:
    return override.package, override.name, override.dropped


def _pin(
    universe: Universe, graph: DependencyGraph, name: NormalizedName, packages: list[Package]
) -> Pin:
    """Return the pin of a project.

    `packages` are the chosen packages of the project: the project itself and extras. Raises
    InvalidChoiceError if they have different releases.
    """
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
    because: dict[Line | ReleaseRequires, None] = {}
    for package in packages:
        for edge in graph.edges[graph.choices[package]]:
            if isinstance(edge.constraint, (StackLine, BuildLine, ReleaseRequires)):
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
    """Yield the practices that the stack turns on and that the resolution needs.

    A practice that replaces requirements is not needed if the pins meet these requirements anyway.
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
    """Yield the requirements of a pin, from metadata and other facts, that a fact drops.

    Requirements whose markers are false on the target are left out.
    """
    project = universe.project(pin.name)
    metadata = project.facts_about(pin.release.position, facts.Metadata)
    lines = requirement_lines(universe.catalog, pin.release, metadata).requires
    for extra in ("", *pin.extras):
        for need in universe.markers.requirements(pin.release.file.filename, lines, extra):
            if need.name in fact.drop:
                yield need
    markers = universe.problem.target.markers
    for other in project.facts_about(pin.release.position, facts.Fact):
        needs = other.needs_for(pin.release)
        kept = facts.needs_kept(other, needs, [fact])
        for added in needs:
            if isinstance(added, Requirement) and added not in kept and added.applies(markers):
                yield added
