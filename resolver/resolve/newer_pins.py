"""Pins that appeared after the day of the stack, and why no release of that day was chosen."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import Final

from msgspec.structs import replace
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.errors import ResolverError
from resolver.model import text
from resolver.model.as_of import NewerPin
from resolver.model.constraint import BuildLine, Line, ReleaseRequires, StackLine
from resolver.model.dependency import Edge
from resolver.model.package import PackageKind
from resolver.model.release import Release
from resolver.model.resolution import Pin, Resolution
from resolver.resolve.project import Project
from resolver.resolve.soft_requirements import broken_pairs
from resolver.resolve.universe import Universe

# The most releases that are tried in place of a pin. For each, a file may have to be read.
_LOOKED_AT: Final = 3


def newer_pins(universe: Universe, resolution: Resolution) -> Iterator[NewerPin]:
    """Yield the pins that were uploaded after the day whose releases are preferred.

    Each says what excludes the newest release of that day (see `NewerPin`).
    """
    day = universe.as_of.day
    for pin in resolution.pins:
        project = universe.project(pin.name)
        if not project.is_later(pin.release.position, day):
            continue
        newest = _newest_by(project, day)
        needed_by: dict[str, None] = {}
        if newest is not None:
            needed_by = dict.fromkeys(_excluding(resolution, pin, newest))
        yield NewerPin(
            project=pin.name,
            version=str(pin.version),
            day=project.ordered.day(pin.release.position),
            needed_by=tuple(needed_by),
            is_kept=not needed_by and _is_only_kept(universe, resolution, pin),
        )


def _is_only_kept(universe: Universe, resolution: Resolution, pin: Pin) -> bool:
    """Return whether a pin was chosen only because the previous lock has it.

    Two things must be true: the previous lock has the pin, and a release of the day fits as well.
    The first is not enough. A lock that is made without a previous lock has no such pin, and it
    must be the same when it is made again.
    """
    if universe.preferred.get(pin.name) != pin.version:
        return False
    project = universe.project(pin.name)
    day = universe.as_of.day
    for position in islice(project.by_preference(project.stable, day), _LOOKED_AT):
        if project.is_later(position, day):
            return False
        # A release that cannot be read does not fit.
        with suppress(ResolverError), universe.optional_reads.allowing_failure():
            if _would_fit(universe, resolution, pin, position):
                return True
    return False


def _would_fit(universe: Universe, resolution: Resolution, pin: Pin, position: int) -> bool:
    """Return whether the release at a position could replace a pin while all other pins stay.

    It must not break more soft requirements than the pin.
    """
    candidates = universe.pin_candidates(pin, position)
    if not candidates or any(_excluding(resolution, pin, candidates[0].version)):
        return False
    for candidate in candidates:
        if not all(_is_met(universe, resolution, edge) for edge in universe.edges(candidate)):
            return False
    other = replace(pin, release=candidates[0].release)
    pins = tuple(other if kept is pin else kept for kept in resolution.pins)
    changed = replace(resolution, pins=pins)
    return broken_pairs(universe, changed) <= broken_pairs(universe, resolution)


def _is_met(universe: Universe, resolution: Resolution, edge: Edge) -> bool:
    """Return whether the pins and the target meet an edge of a release."""
    package = edge.package
    match package.kind:
        case PackageKind.UNAVAILABLE:
            return False
        case PackageKind.COMPONENT:
            return any(universe.candidates(package, universe.demand(edge)))
        case PackageKind.MODULE:
            return True
        case PackageKind.VERSION | PackageKind.PROJECT:
            if edge.constraint is None:
                return True
            pin = resolution.pin(package.name)
            if pin is None:
                return package.kind is PackageKind.VERSION
            return universe.project(pin.name).mask(edge.allows) >> pin.release.position & 1 == 1


def undated_pins(universe: Universe, resolution: Resolution) -> tuple[NormalizedName, ...]:
    """Return the pins for which no day is known.

    If the stack itself has no day, return only the projects that would decide it.
    """
    if not universe.as_of.day:
        return universe.as_of.undated
    return tuple(pin.name for pin in resolution.pins if not _has_day(universe, pin))


def _has_day(universe: Universe, pin: Pin) -> bool:
    """Return whether the day of a pin's release or commit is known."""
    source = pin.release.source
    if source is not None:
        return source.committed is not None
    return bool(universe.project(pin.name).ordered.day(pin.release.position))


def _newest_by(project: Project, day: str) -> Version | None:
    """Return the version of the newest final release by a day that the target can use, or None."""
    for position in project.positions(project.stable):
        if project.is_later(position, day):
            continue
        release = project.release(position)
        if isinstance(release, Release) and not release.yanked:
            return release.version
    return None


def _excluding(resolution: Resolution, pin: Pin, version: Version) -> Iterator[str]:
    """Yield who excludes another version of a pin's project, by a requirement or a bound.

    It is `stack`, or a pin as `name version`.
    """
    for constraint in pin.because:
        need = text.requirement(constraint.text)
        if need.name == pin.name and not need.specifier.contains(version, prereleases=True):
            yield _requirer(resolution, constraint)
    for fact in resolution.problem.facts:
        if pin.name not in fact.bounded_projects:
            continue
        bounding = resolution.pin(fact.package)
        if bounding is None or not fact.applies_to(bounding.version):
            continue
        for bound in fact.bounds_for(bounding.release):
            if bound.name != pin.name or not bound.applies(resolution.problem.target.markers):
                continue
            if not bound.specifier.contains(version, prereleases=True):
                yield f"{bounding.name} {bounding.version}"


def _requirer(resolution: Resolution, constraint: Line | ReleaseRequires) -> str:
    """Return who has a requirement: `stack`, or a pin as `name version`."""
    match constraint:
        case StackLine():
            return "stack"
        case BuildLine():
            return f"{constraint.project} {constraint.version}"
        case ReleaseRequires():
            requiring = resolution.pin(constraint.package.name)
            assert requiring is not None  # noqa: S101  only pins require pins
            return f"{constraint.package} {requiring.version}"
