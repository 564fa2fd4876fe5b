"""From an engine's choices to a resolution: what the stack reaches, and why."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from packaging.utils import NormalizedName

from resolver.model import text
from resolver.model.dependency import Candidate, Edge, Kind, Package, SameRelease
from resolver.model.release import Release
from resolver.model.resolution import Pin, Resolution
from resolver.resolve.demand import satisfies
from resolver.resolve.universe import Universe


class InvalidChoiceError(Exception):
    """An engine returned inconsistent choices."""


def gather(universe: Universe, chosen: Mapping[Package, Candidate], *, engine: str, rounds: int) -> Resolution:
    """The pins that the stack reaches through the choices.

    Raises InvalidChoiceError if an edge is unmet: engines are not trusted.
    """
    because: dict[Candidate, list[Edge]] = {}  # what was reached, and the edges on it
    edges = list(universe.roots())
    for edge in edges:  # which grows
        candidate = chosen.get(edge.package)
        if candidate is None or not satisfies(candidate, edge.allows):
            raise InvalidChoiceError(f"{edge.origin} is not met")
        if candidate not in because:
            because[candidate] = []
            edges += universe.edges(candidate)
        because[candidate].append(edge)
    by_name: defaultdict[str, list[Candidate]] = defaultdict(list)
    for candidate in because:
        if candidate.package.kind is Kind.PROJECT:
            by_name[candidate.package.name].append(candidate)
    pins = []
    for name, own in sorted(by_name.items()):
        (base,) = (one for one in own if not one.package.extra)
        release = base.chosen
        assert isinstance(release, Release)  # noqa: S101  projects have releases
        if any(other.chosen is not release for other in own):
            raise InvalidChoiceError(f"two releases of {name}")
        extras = sorted((one for one in own if one is not base), key=lambda one: one.package)
        origins = dict.fromkeys(edge.origin for other in own for edge in because[other])
        pins.append(
            Pin(
                name=text.name(name),
                release=release,
                extras=tuple(one.package.extra for one in extras),
                unknown_extras=tuple(
                    one.package.extra
                    for one in extras
                    if not universe.provides(base, one.package.extra)
                    and all(isinstance(edge.origin, SameRelease) for edge in universe.edges(one))
                ),
                because=tuple(origin for origin in origins if not isinstance(origin, SameRelease)),
                needs=_needs(universe, own),
            )
        )
    left_out = {row for candidate in because for row in universe.left_out(candidate)}
    return Resolution(
        problem=universe.problem,
        pins=tuple(pins),
        engine=engine,
        rounds=rounds,
        left_out=tuple(sorted(left_out, key=lambda row: (row.package, row.name, row.requirement))),
    )


def _needs(universe: Universe, own: list[Candidate]) -> tuple[NormalizedName, ...]:
    names = {
        text.name(edge.package.name)
        for candidate in own
        for edge in universe.edges(candidate)
        if edge.package.kind is Kind.PROJECT and edge.package.name != candidate.package.name
    }
    return tuple(sorted(names))
