"""From an engine's choices to a resolution: the pins that the stack reaches, upgraded where that is simply possible.

An engine's first decisions may have ruled out a release that would fit in the end. So afterwards no
project that the stack asks for can be newer unless another one of these gets older
(`upgrade_requested`), and no other project with all others as they are (`upgrade_others`). "Newer"
is what comes first in the order of preference (`candidates`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import takewhile

import networkx as nx
from msgspec.structs import replace
from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName

from resolver.errors import UndecidedError
from resolver.model import fact as facts
from resolver.model import text
from resolver.model.constraint import BuildLine, Requires, StackLine
from resolver.model.dependency import Candidate, Edge
from resolver.model.package import Package, PackageKind
from resolver.model.requirement import Requirement
from resolver.model.resolution import Pin, Resolution
from resolver.resolve.candidates import ANYTHING, Demand
from resolver.resolve.needs import requirement_lines
from resolver.resolve.provider import Tick
from resolver.resolve.universe import Universe

Choices = Mapping[Package, Candidate]


class InvalidChoiceError(Exception):
    """An engine returned inconsistent choices."""


class DependencyGraph:
    """The choices that the stack reaches, and the edges on each; those of the project `without` are not followed.

    `demands` are those on each project by others, and `needs` the projects that each project needs.
    Raises InvalidChoiceError if an edge is unmet: engines are not trusted.
    """

    def __init__(
        self, universe: Universe, choices: Choices, *, without: Package | None = None
    ) -> None:
        self.edges: dict[Candidate, list[Edge]] = {}
        self.demands: dict[Package, Demand] = {}
        self.needs: dict[Package, set[Package]] = {}
        edges = [(edge, Package("")) for edge in universe.roots()]
        self._bounds: dict[str, list[Edge]] = {}  # by the project that they are about
        for edge, parent in edges:  # which grows
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
                edges += (
                    [(needed, base) for needed in universe.edges(candidate)]
                    if base != without
                    else []
                )
            self.edges[candidate].append(edge)
        self.choices = {candidate.package: candidate for candidate in self.edges}
        self._universe = universe
        for candidate in self.choices.values():
            if candidate.package.kind is PackageKind.PROJECT and (
                broken := self.broken_bound(candidate)
            ):
                raise InvalidChoiceError(f"{broken} is not met")

    def broken_bound(self, candidate: Candidate) -> Edge | None:
        """Return a bound of some choice that a release is beyond, whether or not the release is one of the choices."""
        for edge in self._bounds.get(candidate.package.name, ()):
            bound = edge.allows
            if isinstance(bound, SpecifierSet) and not bound.contains(
                candidate.version, prereleases=True
            ):
                return edge
        return None

    def unpermitted(self) -> Iterator[Candidate]:
        """The pre-releases and yanked releases of projects that the policies do not permit, given who requires them."""
        for package, candidate in self.choices.items():
            if package.kind is not PackageKind.PROJECT or package.extra:
                continue
            doubtful = candidate.release.yanked or candidate.version.is_prerelease
            if doubtful and candidate not in self._universe.candidates(
                package, self.demands[package]
            ):
                yield candidate


def upgrade(universe: Universe, choices: Choices, tick: Tick | None) -> Choices:
    """Choices of which nothing could simply be newer; raises InvalidChoiceError if those given are not valid."""
    choices = upgrade_others(universe, choices)
    while (upgraded := upgrade_requested(universe, choices, tick)) is not None:
        choices = upgrade_others(universe, upgraded)
    return choices


def upgrade_others(universe: Universe, choices: Choices) -> Choices:
    """The choices that are needed, each project at the most preferred of its releases that the others admit."""
    graph = DependencyGraph(universe, choices)
    has_changed = True
    while has_changed:
        has_changed = False
        circular = _circular(graph)
        for package, candidate in list(graph.choices.items()):
            if (
                package.kind is not PackageKind.PROJECT
                or package.extra
                or graph.choices.get(package) is not candidate
            ):
                continue
            # what a project requires of itself by way of others would be gone together with it
            others = (
                DependencyGraph(universe, graph.choices, without=package)
                if package in circular
                else graph
            )
            for newer in _before(candidate, universe.candidates(package, others.demands[package])):
                if others.broken_bound(newer) is not None:
                    continue
                if (upgraded := _with_release(universe, graph.choices, newer)) is not None:
                    graph, circular = upgraded, _circular(upgraded)
                    has_changed = True
                    break
    return graph.choices


def _circular(graph: DependencyGraph) -> set[Package]:
    """The projects that need themselves by way of others."""
    needs = nx.DiGraph(
        (package, needed) for package, packages in graph.needs.items() for needed in packages
    )
    return {
        package
        for circle in nx.strongly_connected_components(needs)
        if len(circle) > 1
        for package in circle
    }


def _with_release(universe: Universe, choices: Choices, newer: Candidate) -> DependencyGraph | None:
    """The graph with another release of a project; None unless all others can stay as they are."""
    packages = [package for package in choices if package.base == newer.package]
    candidates = {
        package: universe.candidate(package, newer.release.position) for package in packages
    }
    choices = {
        **choices,
        **{
            package: candidate for package, candidate in candidates.items() if candidate is not None
        },
    }
    for package in packages:
        for edge in universe.edges(choices[package]):
            if edge.package.kind is PackageKind.VERSION:
                continue  # the graph compares bounds with what it reaches
            if (
                edge.package.kind in (PackageKind.COMPONENT, PackageKind.MODULE)
                and edge.package not in choices
            ):
                admitted = universe.candidates(edge.package, universe.demand(edge))
                choices.update((edge.package, candidate) for candidate in admitted)
            if edge.package not in choices or not universe.is_admitted(choices[edge.package], edge):
                return None  # the whole graph need not be built
    try:
        graph = DependencyGraph(universe, choices)
    except InvalidChoiceError:
        return None
    return graph if next(graph.unpermitted(), None) is None else None


def upgrade_requested(universe: Universe, choices: Choices, tick: Tick | None) -> Choices | None:
    """Choices with a newer release of a project that the stack asks for, and none older; None if there are none."""
    demands: dict[Package, Demand] = {}
    for edge in universe.roots():
        if edge.package.kind is PackageKind.PROJECT:
            base = edge.package.base
            demands[base] = demands.get(base, ANYTHING) & universe.demand(edge)
    candidates = {
        package: [
            choices[package],
            *_before(choices[package], universe.candidates(package, demand)),
        ]
        for package, demand in demands.items()
    }
    masks = {
        package: sum(map(_bit, rows)) for package, rows in candidates.items()
    }  # of releases that are possible

    def known_needs(candidate: Candidate) -> Iterator[tuple[Package, int]]:
        for edge in universe.edges(candidate) if universe.opened(candidate) else ():
            if edge.package.kind is PackageKind.PROJECT:
                yield edge.package.base, universe.mask(edge.package, edge.allows)

    def is_possible(candidate: Candidate) -> bool:
        if not masks[candidate.package] & _bit(candidate):
            return False
        return all(mask & masks.get(needed, -1) for needed, mask in known_needs(candidate))

    # releases are ruled out that are known to require something of which no release is possible
    before: dict[Package, int] = {}
    while before != masks:
        before = dict(masks)
        for package, rows in candidates.items():
            rows[:] = filter(is_possible, rows)
            masks[package] = sum(map(_bit, rows))
            for needed, mask in known_needs(rows[0]) if len(rows) == 1 else ():
                masks[needed] = masks.get(needed, -1) & mask
    possible = {package: masks[package] for package in demands}
    for package in demands:
        if newer := possible[package] & ~_bit(choices[package]):
            from resolver.resolve.complete import (
                CompleteEngine,
                Unsatisfiable,
            )  # PySAT is loaded only if needed

            with suppress(Unsatisfiable, UndecidedError):
                return CompleteEngine(
                    universe.narrowed({**possible, package: newer}, choices), tick=tick
                ).solve()
    return None


def _bit(candidate: Candidate) -> int:
    return 1 << candidate.release.position


def _before(candidate: Candidate, order: Iterator[Candidate]) -> Iterator[Candidate]:
    return takewhile(lambda other: other.chosen is not candidate.chosen, order)


# --- the resolution


def gather(universe: Universe, choices: Choices, *, engine: str, rounds: int) -> Resolution:
    """The pins that the stack reaches through the choices; raises InvalidChoiceError like `DependencyGraph`."""
    graph = DependencyGraph(universe, choices)
    by_name: defaultdict[NormalizedName, list[Candidate]] = defaultdict(list)
    for candidate in graph.edges:
        if candidate.package.kind is PackageKind.PROJECT:
            by_name[text.name(candidate.package.name)].append(candidate)
    pins = []
    for name, candidates in sorted(by_name.items()):
        base, *extras = sorted(candidates, key=lambda candidate: candidate.package)
        if any(extra.chosen is not base.chosen for extra in extras):
            raise InvalidChoiceError(f"two releases of {name}")
        because = dict.fromkeys(
            edge.constraint for candidate in candidates for edge in graph.edges[candidate]
        )
        packages = graph.needs.get(base.package, ())
        pins.append(
            Pin(
                name=name,
                release=base.release,
                extras=tuple(extra.package.extra for extra in extras),
                unknown_extras=tuple(
                    extra.package.extra
                    for extra in extras
                    if not universe.provides(base, extra.package.extra)
                    and all(edge.constraint is None for edge in universe.edges(extra))
                ),
                because=tuple(
                    row for row in because if isinstance(row, (StackLine, BuildLine, Requires))
                ),
                needs=tuple(
                    sorted(
                        text.name(row.name) for row in packages if row.kind is PackageKind.PROJECT
                    )
                ),
            )
        )
    overrides = {row for candidate in graph.edges for row in universe.overrides_of(candidate)}
    resolution = Resolution(
        problem=universe.problem,
        pins=tuple(pins),
        engine=engine,
        rounds=rounds,
        as_of=universe.as_of,
        overrides=tuple(sorted(overrides, key=lambda row: (row.package, row.name, row.dropped))),
    )
    return replace(resolution, used_practices=tuple(_practices_used(universe, resolution)))


def _practices_used(universe: Universe, resolution: Resolution) -> Iterator[facts.Practice]:
    """The practices in force without which metadata or a fact would forbid the resolution, in the order of the facts.

    One that replaces requirements makes no difference if the pins meet those requirements anyway.
    """
    for fact in resolution.problem.facts:
        pin = resolution.pin(fact.package) if fact.strength is facts.Strength.PRACTICE else None
        if pin is None or not fact.applies_to(pin.version):
            continue
        match fact:
            case facts.Requires() if fact.counts_for(pin.release):
                yield fact
            case facts.Replaces() if any(
                _is_unmet(need, resolution) for need in _replaced_by(fact, pin, universe)
            ):
                yield fact


def _is_unmet(need: Requirement, resolution: Resolution) -> bool:
    pin = resolution.pin(need.name)
    return pin is None or not need.specifier.contains(pin.version, prereleases=True)


def _replaced_by(fact: facts.Replaces, pin: Pin, universe: Universe) -> Iterator[Requirement]:
    """The requirements of a pin's metadata and of other facts that a fact drops."""
    project = universe.project(pin.name)
    metadata = project.facts_about(pin.release.position, facts.Metadata)
    lines = requirement_lines(universe.catalog, pin.release, metadata).requires
    for extra in ("", *pin.extras):
        needs = universe.requirements(pin.release.file.filename, lines, extra)
        yield from (need for need in needs if need.name in fact.drop)
    for other in project.facts_about(pin.release.position, facts.Requires):
        remaining = facts.needs_kept(other, [fact])
        yield from (
            need for need in other.needs if isinstance(need, Requirement) and need not in remaining
        )
