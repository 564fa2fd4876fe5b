"""Find releases that work beside the others of a lock, where facts say that its own does not.

A grave `warns` fact with the key `with` says that a release fails at its purpose beside another
one, though nothing forbids to install both. The search for fixes cannot know what will be beside a
release before it is locked. `candidate_fixes` asks for other releases afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.explain.paired_lines import pinned_versions
from resolver.lock.applied_facts import applied_facts
from resolver.model import text
from resolver.model.dependency import Candidate
from resolver.model.fact import Constrains, Warns
from resolver.model.package import Package, PackageKind
from resolver.model.release import Release
from resolver.model.resolution import Pin, Resolution
from resolver.resolve.project import Project
from resolver.resolve.universe import Universe


def failing_pairs(resolution: Resolution) -> Iterator[Warns]:
    """Yield the grave warnings that a release in a lock fails beside another one."""
    for fact in applied_facts(resolution):
        if isinstance(fact, Warns) and fact.grave and fact.together_with:
            yield fact


def newer_that_work(
    universe: Universe, pin: Pin, extras: Iterable[str], resolution: Resolution
) -> Iterator[Candidate]:
    """Yield newer releases of a pin's project that nothing speaks against, the oldest first.

    No fact says that one fails beside the other pins of the lock, or bounds them, and neither does
    its metadata, with these extras, what lines pin. Pre-releases and yanked releases are left out.
    """
    project = universe.project(pin.name)
    packages = [Package(pin.name), *(Package(pin.name, extra) for extra in extras)]
    pinned = pinned_versions(resolution.problem)
    for position in reversed(list(project.positions(project.all & project.stable))):
        if project.versions[position] <= pin.version:
            continue
        candidate = universe.candidate(Package(pin.name), position)
        if candidate is None or candidate.release.yanked:
            continue
        if _is_spoken_against(project, position, resolution):
            continue
        if all(_admits(universe, package, candidate.release, pinned) for package in packages):
            yield candidate


def _admits(
    universe: Universe,
    package: Package,
    release: Release,
    pinned: Mapping[NormalizedName, Version],
) -> bool:
    """Return whether the requirements of a release or its extra admit the versions in `pinned`."""
    for edge in universe.edges(universe.candidate_for(package, release)):
        version = pinned.get(text.name(edge.package.name))
        if edge.package.kind is not PackageKind.PROJECT or version is None:
            continue
        allows = edge.allows
        if isinstance(allows, SpecifierSet) and not allows.contains(version, prereleases=True):
            return False
    return True


def _is_spoken_against(project: Project, position: int, resolution: Resolution) -> bool:
    """Return whether facts say that a release does not go with the pins of other projects."""
    for warning in project.facts_about(position, Warns):
        beside = warning.together_with
        if warning.grave and beside and all(map(resolution.meets, beside)):
            return True
    for fact in project.facts_about(position, Constrains):
        for bound in fact.bounds:
            other = resolution.pin(bound.name)
            if other is not None and not resolution.meets(bound):
                return True
    return False
