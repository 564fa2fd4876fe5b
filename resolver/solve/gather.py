"""From an engine's choices to a resolution: what the stack reaches, and why."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping

from packaging.utils import NormalizedName

from resolver.model import text
from resolver.model.candidate import Candidate, Release
from resolver.model.edge import Edge
from resolver.model.origin import SameRelease
from resolver.model.package import Kind, Package
from resolver.model.resolution import Pin, Resolution
from resolver.solve.admits import satisfies
from resolver.solve.universe import Universe


class InvalidChoiceError(Exception):
    """An engine returned inconsistent choices."""


def gather(universe: Universe, chosen: Mapping[Package, Candidate], *, engine: str, rounds: int) -> Resolution:
    """The pins that the stack reaches through the choices.

    Raises InvalidChoiceError if an edge is unmet: engines are not trusted.
    """
    because: dict[Package, list[Edge]] = {}
    reached: list[Candidate] = []
    queue = deque(universe.roots())
    while queue:
        edge = queue.popleft()
        candidate = chosen.get(edge.package)
        if candidate is None or not satisfies(candidate, edge.allows):
            raise InvalidChoiceError(f"{edge.origin} is not met")
        if edge.package not in because:
            because[edge.package] = []
            reached.append(candidate)
            queue.extend(universe.edges(candidate))
        because[edge.package].append(edge)
    by_name: defaultdict[str, list[Candidate]] = defaultdict(list)
    for candidate in reached:
        if candidate.package.kind is Kind.PROJECT:
            by_name[candidate.package.name].append(candidate)
    pins = []
    for candidate in sorted(reached, key=lambda candidate: candidate.package):
        package, release = candidate.package, candidate.chosen
        if package.kind is not Kind.PROJECT or package.extra or not isinstance(release, Release):
            continue
        own = by_name[package.name]
        if any(other.chosen is not release for other in own):
            raise InvalidChoiceError(f"two releases of {package}")
        origins = list(dict.fromkeys(edge.origin for other in own for edge in because[other.package]))
        pins.append(
            Pin(
                name=text.name(package.name),
                release=release,
                extras=tuple(sorted(other.package.extra for other in own if other.package.extra)),
                unknown_extras=tuple(
                    sorted(
                        other.package.extra
                        for other in own
                        if other.package.extra
                        and not universe.provides(candidate, other.package.extra)
                        and all(isinstance(edge.origin, SameRelease) for edge in universe.edges(other))
                    )
                ),
                because=tuple(origin for origin in origins if not isinstance(origin, SameRelease)),
                needs=_needs(universe, own),
            )
        )
    left_out = {row for candidate in reached for row in universe.left_out(candidate)}
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
