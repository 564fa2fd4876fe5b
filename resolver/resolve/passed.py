"""Releases newer than a pin that were passed over because of a source archive without static metadata.

The result is certain and depends only on what the engine required, not on the cache or the progress of a look-ahead.
An engine that prefers the pins of a lock never gets to the newer releases; what that lock says about them remains
valid as long as their pins are kept.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from packaging.version import Version

from resolver.model import fact as facts
from resolver.model import text
from resolver.model.dependency import Candidate, Edge, Kind, Package, SameRelease
from resolver.model.release import Release
from resolver.model.requirement import ComponentRequirement
from resolver.model.resolution import PassedOver, Pin, Resolution
from resolver.resolve.needs import DynamicArchiveError
from resolver.resolve.universe import Universe


def passed_over(universe: Universe, resolution: Resolution, before: Sequence[PassedOver]) -> tuple[PassedOver, ...]:
    """The newest such release of each project, by name; `before` are those in the lock whose pins are preferred."""
    blocked = _blocked(universe)
    carried = {row.project: row for row in before}
    concerned = {candidate.package.name for candidate in blocked} | carried.keys()
    if not concerned:
        return ()
    asked = _asked(universe, resolution)
    found: list[PassedOver] = []
    for pin in resolution.pins:
        if pin.name in concerned:
            newer = _newer(universe, pin, asked[pin.name])
            row, known = _newest(universe, pin, newer, blocked), carried.get(pin.name)
            if row is None and known is not None and _still_holds(known, universe, pin, newer):
                row = known
            found += [row] if row is not None else []
    return tuple(found)


def _blocked(universe: Universe) -> Mapping[Candidate, DynamicArchiveError]:
    """What was opened and lacks static metadata: its own, or that of everything that would meet a requirement of it."""
    opened = [one for one in universe.read() if one.package.kind is Kind.PROJECT and isinstance(one.chosen, Release)]
    blocked: dict[Candidate, DynamicArchiveError] = {}
    for candidate in opened:
        assert isinstance(candidate.chosen, Release)  # noqa: S101  see above
        error = universe.refused.get(candidate.chosen.file.filename)
        if isinstance(error, DynamicArchiveError):
            blocked[candidate] = error
    known = -1
    while known < len(blocked):
        known = len(blocked)
        packages = {candidate.package for candidate in blocked}
        for candidate in opened:
            for edge in universe.edges(candidate) if candidate not in blocked else ():
                if edge.package in packages:
                    admitted = list(universe.candidates(edge.package, universe.demand(edge)))
                    if admitted and all(one in blocked for one in admitted):
                        blocked[candidate] = blocked[max(admitted, key=lambda one: one.version)]
                        break
    return blocked


def _asked(universe: Universe, resolution: Resolution) -> Mapping[str, Sequence[Edge]]:
    """The final demand on each project."""
    edges = list(universe.roots())
    for pin in resolution.pins:
        for extra in ("", *pin.extras):
            candidate = universe.candidate(Package(pin.name, extra), pin.release.position)
            edges += universe.edges(candidate) if candidate is not None else ()
    asked: dict[str, list[Edge]] = defaultdict(list)
    for edge in edges:
        if edge.package.kind is Kind.PROJECT and not isinstance(edge.origin, SameRelease):
            asked[edge.package.name].append(edge)
    return asked


def _newer(universe: Universe, pin: Pin, asked: Sequence[Edge]) -> Mapping[Version, Candidate]:
    """The releases newer than a project's pin, and preferred to it, that all requirements admit for this target."""
    admitted = universe.candidates(Package(pin.name), universe.demand(*asked), stable=not pin.version.is_prerelease)
    project = universe.project(pin.name)
    own = pin.release.position
    newer = (
        candidate
        for candidate in admitted
        if candidate.version > pin.version and project.precedes(candidate.chosen.position, own)  # type: ignore[union-attr]
    )
    return {one.version: one for one in newer if not _is_for_another_target(universe, pin, one.version)}


def _is_for_another_target(universe: Universe, pin: Pin, release: Version) -> bool:
    """Whether a fact says so about a release: then its archive does not matter."""
    problem = universe.problem
    needs = (
        need
        for fact in problem.facts
        if isinstance(fact, facts.Requires) and fact.package == pin.name and not fact.wheels and fact.speaks_of(release)
        for need in fact.needs
    )
    stated = problem.target.system
    return any(
        isinstance(need, ComponentRequirement) and need.component in stated and not need.allows(stated[need.component])
        for need in needs
    )


def _newest(
    universe: Universe,
    pin: Pin,
    newer: Mapping[Version, Candidate],
    blocked: Mapping[Candidate, DynamicArchiveError],
) -> PassedOver | None:
    for version, candidate in sorted(newer.items(), reverse=True):
        assert isinstance(candidate.chosen, Release)  # noqa: S101  it has a version
        for extra in ("", *pin.extras):
            one = universe.candidate(Package(pin.name, extra), candidate.chosen.position)
            error = blocked.get(one) if one is not None else None
            if error is not None:
                return PassedOver(
                    project=pin.name,
                    version=version,
                    archive=error.release.file.filename,
                    archive_of=text.name(error.name),
                    archive_version=error.release.version,
                    index=error.release.index,
                )
    return None


def _still_holds(row: PassedOver, universe: Universe, pin: Pin, newer: Mapping[Version, Candidate]) -> bool:
    """Whether the pin was kept, the release would still do, and there is still no fact about the archive."""
    spoken = any(
        isinstance(fact, facts.Metadata | facts.Builds | facts.Excludes | facts.Names)
        and fact.package == row.archive_of
        and fact.speaks_of(row.archive_version)
        for fact in universe.problem.facts
    )
    return universe.preferred.get(pin.name) == pin.version and row.version in newer and not spoken
