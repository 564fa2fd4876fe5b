"""Find the changes with which a stack is expected to lock where an index can be reached.

The search for fixes is made again as if each index that could not be reached had what the stack and
releases that were read require of it. What it finds was not solved with real files, so it is no
fix. `explain/explain` calls `suppose`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from typing import NamedTuple

from packaging.requirements import InvalidRequirement
from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.errors import ResolverError
from resolver.explain.clock import Clock
from resolver.explain.cores import found_cores
from resolver.explain.fix_search import FixSearch
from resolver.explain.trials import Trials
from resolver.explain.unreachable_indexes import depends_on_unreachable_index
from resolver.index.protocol import UnusableFile
from resolver.index.unhashed import SupposedWheel, UnhashedCatalog, UnhashedWheel
from resolver.model import text
from resolver.model.explanation import Awaited
from resolver.model.problem import RootRequirement
from resolver.model.release import Release
from resolver.model.requirement import Requirement
from resolver.model.resolution import Resolution
from resolver.model.target import missing_on_machine, tag_values
from resolver.resolve.clauses import Clauses
from resolver.resolve.refutation import Refutation
from resolver.resolve.solver import first_answer

# The largest share of the time of the search for what clashes with supposed files.
_SHARE_OF_CORES = 1 / 4


class Supposed(NamedTuple):
    """The search as if unreachable indexes had what is required of them."""

    # The search for fixes.
    search: FixSearch
    # The wheels that unreachable indexes are supposed to have.
    wheels: Sequence[UnhashedWheel]
    # The catalog with these wheels.
    catalog: UnhashedCatalog

    def awaited(self, resolution: Resolution) -> tuple[Awaited, ...]:
        """Return what indexes must have for a lock that uses supposed wheels; else nothing."""
        return tuple(
            Awaited(
                indexes=self.catalog.lookup(pin.name).unreachable,
                project=pin.name,
                needs=(f"{pin.name}=={pin.version}",),
            )
            for pin in resolution.pins
            if self.catalog.has(pin.release.file)
        )


def suppose(trials: Trials, clauses: Clauses, clock: Clock) -> Supposed | None:
    """Return the search as if unreachable indexes had what is required of them.

    `trials` and `clauses` are those of the original stack. Nothing was tried yet. Return None if
    the indexes can have nothing that helps, if the stack itself has a solution with it, or if time
    is up first.
    """
    wheels = wanted_wheels(clauses)
    if not wheels:
        return None
    catalog = UnhashedCatalog(clauses.universe.catalog, wheels)
    universe = clauses.universe.over(catalog)
    supposed = trials.over(universe, clock, lambda inner: UnhashedCatalog(inner, wheels))
    answer: Resolution | Refutation | None = None
    # What another index fails to answer is no reason to lose what was found before.
    with suppress(ResolverError), clock.limiting():
        answer = first_answer(universe, tick=clock.tick)
    if not isinstance(answer, Refutation):
        return None
    supposed.learn(answer)
    cores = found_cores(answer, clock.within(clock.seconds * _SHARE_OF_CORES))
    return Supposed(FixSearch(answer.clauses, cores, supposed), wheels, catalog)


def wanted_wheels(clauses: Clauses) -> list[UnhashedWheel]:
    """Return the wheels that unreachable indexes are supposed to have, by what is known so far."""
    return list(_supposed_wheels(clauses))


def _supposed_wheels(clauses: Clauses) -> Iterator[UnhashedWheel]:
    """Yield the wheels that unreachable indexes are supposed to have.

    They are those of which something is recorded, the releases that other releases pin and no
    index has, and the releases that have wheels for other processors alone.
    """
    universe = clauses.universe
    unreachable = [
        constraint
        for constraint in clauses.known
        if depends_on_unreachable_index(constraint, clauses)
    ]
    projects = dict.fromkeys(constraint.project for constraint in unreachable)
    known: set[tuple[NormalizedName, str]] = set()
    for wheel in universe.problem.recorded:
        known.add((wheel.project, wheel.version))
        yield wheel
    for name, version in chain(_pinned(clauses, projects), _for_others(clauses, projects)):
        if (name, version) not in known:
            known.add((name, version))
            requires = tuple(_requires_of_others(clauses, name, version))
            yield SupposedWheel(universe.project(name).unreachable[0], name, version, requires)


def _requires_of_others(clauses: Clauses, name: NormalizedName, version: str) -> Iterator[str]:
    """Yield what wheels of a release for other machines require of projects that lines name.

    Other requirements may be about those machines. Versions are compared without local parts.
    """
    universe = clauses.universe
    named = {need.name for need in map(_project_need, universe.problem.stack.requirements) if need}
    public = Version(version).public
    for page in universe.catalog.lookup(name).pages:
        for written, files in page.releases.items():
            known = text.version(written)
            if known is None or known.public != public:
                continue
            for file in files:
                if file.is_wheel:
                    with suppress(ResolverError, UnusableFile, InvalidRequirement):
                        for line in universe.catalog.metadata(file).requires_dist:
                            if text.requirement(line).name in named:
                                yield line
                    return


def _project_need(root: RootRequirement) -> Requirement | None:
    """Return the requirement of a line; None if it is about a component."""
    return root.need if isinstance(root.need, Requirement) else None


def _pinned(
    clauses: Clauses, projects: Collection[NormalizedName]
) -> Iterator[tuple[NormalizedName, str]]:
    """Yield the releases of projects that other releases pin, and that no index has.

    What a line alone names goes with nothing that is known.
    """
    for edges in clauses.edges.values():
        for parent, edge in edges:
            name, allows = edge.package.name, edge.allows
            if parent is None or name not in projects or not isinstance(allows, SpecifierSet):
                continue
            version = text.pinned_version(allows)
            project = clauses.universe.project(text.name(name))
            if version is not None and not project.mask(allows):
                yield project.name, str(version)


def _for_others(
    clauses: Clauses, projects: Iterable[NormalizedName]
) -> Iterator[tuple[NormalizedName, str]]:
    """Yield the releases of projects whose wheels are for other processors alone.

    What an index lacks for the target's Python, others lack as well.
    """
    machine = tag_values(clauses.universe.problem.target)
    for name in projects:
        project = clauses.universe.project(name)
        for position in project.positions(project.all):
            files = project.release(position)
            if isinstance(files, Release):
                continue
            missing = [missing_on_machine(file.filename, machine).keys() for file in files]
            if {"processor"} in missing:
                yield name, str(project.versions[position])
