"""Releases newer than pins that cannot be used because of an archive without static metadata.

Only releases that the search opened count. So the result does not depend on a cache or on how far a
look-ahead has come.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from packaging.version import Version

from resolver.model import fact as facts
from resolver.model import text
from resolver.model.dependency import Candidate, Edge
from resolver.model.lock import SkippedRelease
from resolver.model.package import PackageKind
from resolver.model.release import Release
from resolver.model.resolution import Pin, Resolution
from resolver.resolve.needs import DynamicArchiveError
from resolver.resolve.universe import Universe


def skipped_releases(
    universe: Universe, resolution: Resolution, before: Sequence[SkippedRelease]
) -> tuple[SkippedRelease, ...]:
    """Return the newest skipped release for each pin that has one.

    All requirements on the project must admit the release. Nothing is read for this. A search that
    prefers the pins of a previous lock does not open newer releases. So a release that was skipped
    `before`, according to that lock, is returned again as long as the pin stays.
    """
    archives: dict[Candidate, Release] = {}
    for candidate in universe.opened_candidates():
        if isinstance(candidate.chosen, Release):
            error = universe.lines.fixable_errors.get(candidate.chosen.file.filename)
            if isinstance(error, DynamicArchiveError):
                archives[candidate] = error.release
    known = {skipped.project: skipped for skipped in before}
    if not archives and not known:
        return ()
    edges_on = _edges_on_projects(universe, resolution)
    newest_skipped = []
    for pin in resolution.pins:
        demand = universe.demand(*edges_on.get(pin.name, ()))
        skipped = _skipped(universe, pin, demand.mask, archives, known.get(pin.name))
        if skipped is not None:
            newest_skipped.append(skipped)
    return tuple(newest_skipped)


def _edges_on_projects(universe: Universe, resolution: Resolution) -> Mapping[str, list[Edge]]:
    """Return the edges of the stack and of the pins on each project."""
    edges = list(universe.roots())
    for pin in resolution.pins:
        for candidate in universe.pin_candidates(pin, pin.release.position):
            edges += universe.edges(candidate)
    edges_on: dict[str, list[Edge]] = {}
    for edge in edges:
        if edge.package.kind is PackageKind.PROJECT and edge.constraint is not None:
            edges_on.setdefault(edge.package.name, []).append(edge)
    return edges_on


def _skipped(
    universe: Universe,
    pin: Pin,
    admitted: int,
    archives: Mapping[Candidate, Release],
    known: SkippedRelease | None,
) -> SkippedRelease | None:
    """Return the newest skipped release of a pin's project; None if there is none.

    `admitted` is the mask of the releases that all requirements admit. `archives` has the opened
    candidates whose archives have no static metadata. `known` is the release that was skipped
    according to the previous lock.
    """
    project = universe.project(pin.name)
    pinned = pin.release.position
    newer = admitted & ((1 << pinned) - 1)
    if not pin.version.is_prerelease:
        newer &= project.stable
    if universe.preferred.get(pin.name) != pin.version:
        known = None
    if known is not None and _has_fact(known, universe):
        known = None
    for position in project.positions(newer):
        if not project.is_preferred_to(position, pinned, universe.as_of.day):
            continue
        if not universe.runs_on_target(project, position):
            continue
        candidates = universe.pin_candidates(pin, position)
        usable = [candidate for candidate in candidates if not candidate.release.yanked]
        for candidate in usable:
            blocker = _blocker(universe, candidate, archives)
            if blocker is not None:
                return _skipped_release(pin, candidate, blocker, archives[blocker])
        if usable and known is not None and str(project.versions[position]) == known.version:
            return known
    return None


def _skipped_release(
    pin: Pin, candidate: Candidate, blocker: Candidate, archive: Release
) -> SkippedRelease:
    """Return a candidate as a skipped release.

    `blocker` is the candidate whose archive is the reason, and `archive` the release with the file.
    """
    return SkippedRelease(
        project=pin.name,
        version=str(candidate.version),
        archive=archive.file.filename,
        archive_of=text.name(blocker.package.name),
        archive_version=str(archive.version),
        index=archive.index,
    )


def _has_fact(skipped: SkippedRelease, universe: Universe) -> bool:
    """Return whether a fact states the metadata of a skipped release's archive, or excludes it."""
    kinds = (facts.Metadata, facts.Builds, facts.Excludes, facts.Names)
    version = Version(skipped.archive_version)
    for fact in universe.problem.facts:
        if isinstance(fact, kinds) and fact.is_about(skipped.archive_of, version):
            return True
    return False


def _blocker(
    universe: Universe, candidate: Candidate, archives: Mapping[Candidate, Release]
) -> Candidate | None:
    """Return the candidate in `archives` because of which a release cannot be used, or None.

    It is the release itself, or the most preferred candidate for one of its requirements if no
    candidate that meets the requirement can be used.
    """
    if candidate in archives:
        return candidate
    if not universe.opened(candidate):
        return None
    packages = {archive.package for archive in archives}
    for edge in universe.edges(candidate):
        if edge.package not in packages:
            continue
        admitted = list(universe.candidates(edge.package, universe.demand(edge)))
        if admitted and all(dependency in archives for dependency in admitted):
            return admitted[0]
    return None
