"""From an engine's choices to a resolution: what the stack reaches, and why."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from msgspec.structs import replace
from packaging.utils import NormalizedName

from resolver.model import fact as facts
from resolver.model import text
from resolver.model.dependency import Candidate, Edge, Kind, Package, SameRelease
from resolver.model.requirement import Requirement
from resolver.model.resolution import Pin, Resolution
from resolver.resolve.needs import requirement_lines
from resolver.resolve.preference import ANYTHING, Demand
from resolver.resolve.universe import Universe


class InvalidChoiceError(Exception):
    """An engine returned inconsistent choices."""


class Reached:
    """The choices to which the stack leads, and the edges on each, without following what a project `without` needs.

    `demands` are those on each project by others, and `needs` the projects that each project needs. Raises
    InvalidChoiceError if an edge is unmet: engines are not trusted.
    """

    def __init__(
        self, universe: Universe, choices: Mapping[Package, Candidate], *, without: Package | None = None
    ) -> None:
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
            if package.kind is not Kind.PROJECT or package.extra:
                continue
            doubtful = candidate.release.yanked or candidate.version.is_prerelease
            if doubtful and candidate not in self._universe.candidates(package, self.demands[package]):
                yield candidate


def gather(universe: Universe, choices: Mapping[Package, Candidate], *, engine: str, rounds: int) -> Resolution:
    """The pins that the stack reaches through the choices; raises InvalidChoiceError like `Reached`."""
    found = Reached(universe, choices)
    reached = found.edges
    by_name: defaultdict[NormalizedName, list[Candidate]] = defaultdict(list)
    for candidate in reached:
        if candidate.package.kind is Kind.PROJECT:
            by_name[text.name(candidate.package.name)].append(candidate)
    pins = []
    for name, own in sorted(by_name.items()):
        base, *extras = sorted(own, key=lambda one: one.package)
        if any(other.chosen is not base.chosen for other in extras):
            raise InvalidChoiceError(f"two releases of {name}")
        origins = dict.fromkeys(edge.origin for other in own for edge in reached[other])
        needs = sorted(one.name for one in found.needs.get(base.package, ()) if one.kind is Kind.PROJECT)
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
    left_out = {row for candidate in reached for row in universe.left_out(candidate)}
    resolution = Resolution(
        problem=universe.problem,
        pins=tuple(pins),
        engine=engine,
        rounds=rounds,
        left_out=tuple(sorted(left_out, key=lambda row: (row.package, row.name, row.dropped))),
    )
    return replace(resolution, practices=tuple(_practices_used(universe, resolution)))


def _practices_used(universe: Universe, resolution: Resolution) -> Iterator[facts.Practice]:
    """The practices in force without which metadata or a fact would forbid the resolution, in the order of the facts.

    One that replaces requirements makes no difference if the pins meet those requirements anyway.
    """

    def is_met(need: facts.Need) -> bool:
        pin = resolution.pin(need.name) if isinstance(need, Requirement) else None
        return not isinstance(need, Requirement) or (
            pin is not None and need.specifier.contains(pin.version, prereleases=True)
        )

    for fact in resolution.problem.facts:
        pin = resolution.pin(fact.package) if fact.strength is facts.Strength.PRACTICE else None
        if pin is None or not fact.speaks_of(pin.version):
            continue
        match fact:
            case facts.Requires() if pin.release.file.is_wheel or not fact.wheels:
                yield fact
            case facts.Replaces() if not all(map(is_met, _dropped(universe, pin, fact))):
                yield fact


def _dropped(universe: Universe, pin: Pin, fact: facts.Replaces) -> Iterator[facts.Need]:
    """What a pin's metadata and other facts require, as far as a fact drops it."""
    project = universe.project(pin.name)
    stated = project.about(pin.release.position, facts.Metadata)
    lines = requirement_lines(universe.catalog, pin.release, stated).requires
    for extra in ("", *pin.extras):
        for need in universe.requirements(pin.release.file.filename, lines, extra):
            if need.name in fact.drop:
                yield need
    for other in project.about(pin.release.position, facts.Requires):
        kept = facts.kept_of(other, [fact])
        yield from (need for need in other.needs if need not in kept)
