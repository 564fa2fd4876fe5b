"""Everything that can be chosen for one problem, the most preferred first.

Policy, the previous lock and age decide the order. A page is requested when its project is first
needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Any, Final, NamedTuple

from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.errors import InputError
from resolver.index.parse.distribution import Compatibility
from resolver.index.protocol import Catalog, Lookup
from resolver.model import fact as facts
from resolver.model import text
from resolver.model.as_of import AsOf
from resolver.model.component import Value
from resolver.model.constraint import Requires, StackLine
from resolver.model.dependency import NOT_INSTALLED, Allows, Candidate, Edge, Installed, ReleaseMask
from resolver.model.package import Package, PackageKind
from resolver.model.problem import Problem, RootRequirement
from resolver.model.release import Release, Source
from resolver.model.requirement import Requirement
from resolver.model.resolution import Pin
from resolver.phrase import phrase
from resolver.resolve.as_of import day_of, decisive_lines
from resolver.resolve.project import OrderedReleases, Project, lookup_of


class Demand(NamedTuple):
    """What edges require of one package; `a & b` is the demand of both."""

    # the candidates that all edges admit (see `Candidates.mask`)
    mask: int = -1
    # whether an edge names one release
    pin: bool = False
    # whether an edge is a line of the stack
    from_stack: bool = False
    # whether an edge has bounds
    bounded: bool = False
    # whether the stack or a fact names one release, which permits a yanked one
    pinned_by_user: bool = False
    # whether an edge names a pre-release, which permits pre-releases (PEP 440)
    prerelease: bool = False

    def __and__(self, other: Demand) -> Demand:
        return Demand(
            self.mask & other.mask,
            self.pin or other.pin,
            self.from_stack or other.from_stack,
            self.bounded or other.bounded,
            self.pinned_by_user or other.pinned_by_user,
            self.prerelease or other.prerelease,
        )

    def decision_key(self, first_required: int) -> tuple[object, ...]:
        """Return a sort key for the order of decisions.

        1. Packages that an edge pins come first.
        2. Then those that the stack names, by name.
        3. Then those with bounds.
        4. Among equals, packages that were required earlier go first. So most of what requires a
           package is decided before it, and its demand is complete.
        """
        return (
            not self.pin,
            not self.from_stack,
            not self.bounded,
            0 if self.from_stack else first_required,
        )


ANYTHING = Demand()


def names_prerelease(allows: Allows) -> bool:
    """Return whether a requirement names a pre-release.

    The edge from an extra to its project does not.
    """
    return isinstance(allows, SpecifierSet) and bool(allows.prereleases)


def pins(allows: Allows) -> bool:
    """Return whether a requirement names one release and no other."""
    if isinstance(allows, SpecifierSet):
        return any(map(text.is_exact, allows))
    return isinstance(allows, ReleaseMask) and allows.positions.bit_count() == 1


# How many of the last variants of a project are kept for further variants of the problem. A matrix
# has hundreds of problems, each with facts of its own about a project; with all of their projects a
# process grew by 8 MB a cell.
_MOST_SHARED: Final = 8


class Candidates:
    """The candidates of a problem."""

    def __init__(
        self,
        problem: Problem,
        catalog: Catalog,
        preferred: Mapping[NormalizedName, Version] | None = None,
    ) -> None:
        self.problem = problem
        self.catalog = catalog
        # the releases to try first, which the previous lock has
        self.preferred = dict(preferred or {})
        # whether the releases nearest to a preferred one come next, instead of the newest
        self.takes_nearest = False
        # the projects that are taken from a commit, each with the line of the stack that names it
        self.sources: dict[NormalizedName, tuple[RootRequirement, Source]] = {}
        for root in problem.stack.requirements:
            need = root.need
            if isinstance(need, Requirement) and need.url:
                source = problem.source(need.name)
                if source is not None:
                    self.sources[need.name] = source
        self._compatibility = Compatibility(problem.target, problem.policy.exclude_newer)
        self._facts: dict[NormalizedName, list[facts.Fact]] = {}
        # the facts by which at most one of two projects can be installed
        self._collisions: list[facts.Collides | facts.Absent] = []
        bounded: set[NormalizedName] = set()
        for fact in problem.facts:
            self._facts.setdefault(fact.package, []).append(fact)
            bounded.update(fact.bounded_projects)
            if isinstance(fact, (facts.Collides, facts.Absent)):
                self._collisions.append(fact)
        # the lines that bound projects, or override what is required of them, as far as they apply
        self.constraints = _applying_by_project(problem.stack.constraints, problem)
        bounded.update(self.constraints)
        # of a project whose lines do not apply, nothing is required
        self.overrides = _applying_by_project(problem.stack.overrides, problem)
        # the projects that facts and the stack put bounds on without requiring them
        self.bounded_projects = frozenset(bounded)
        self._projects: dict[NormalizedName, Project] = {}
        # shared by all variants of the problem: releases, and projects with what they are made from
        self._ordered: dict[NormalizedName, OrderedReleases] = {}
        self._shared: dict[NormalizedName, list[tuple[object, Project]]] = {}
        self._candidates: dict[tuple[Package, object], Candidate] = {}
        self._demands: dict[Edge, Demand] = {}

    @cached_property
    def as_of(self) -> AsOf:
        """Return the day whose releases are preferred.

        With the policy `auto`, look up the projects that decide it.

        Must be known before anything is prefetched, as look-ahead must not wait for a page.
        """
        lines = decisive_lines(self.problem)
        if lines:  # all at once, not one by one
            self.catalog.prefetch((need.name, need.specifier) for need in lines)
        return day_of(self.problem, self.project)

    def project(self, name: NormalizedName, lookup: Lookup | None = None) -> Project:
        """Return a project with all its releases.

        The first call asks the catalog, unless given its answer, `lookup`. May be called from any
        thread, like `candidate`: look-ahead does so from the catalog's.
        """
        project = self._projects.get(name)
        if project is not None:
            return project
        source = None
        if name in self.sources:
            _, source = self.sources[name]
            lookup = lookup_of(source)
        elif lookup is None:
            lookup = self.catalog.lookup(name)
        ordered = self._ordered.get(name)
        if ordered is None or not ordered.is_of(lookup):
            ordered = self._ordered[name] = OrderedReleases(lookup)
        return self._projects.setdefault(name, self._project(ordered, name, source))

    def _project(
        self, ordered: OrderedReleases, name: NormalizedName, source: Source | None
    ) -> Project:
        """Return a project, which may be that of another variant: most are the same in all."""
        about = self._facts.get(name, [])
        target, wheels_only = self.problem.target, self.problem.wheels_only
        arguments: tuple[Any, ...] = (ordered, self._compatibility, about, wheels_only, source)
        if any(map(facts.is_put_last, about)):
            arguments = (*arguments, target.system, target.release_lines)
        known = self._shared.setdefault(name, [])
        # Another thread may add one meanwhile.
        for made_from, project in tuple(known):
            if made_from == arguments:
                return project
        project = Project(name, *arguments)
        self._check_facts(project)
        known.append((arguments, project))
        del known[:-_MOST_SHARED]
        return project

    def is_loaded(self, name: NormalizedName) -> bool:
        """Return whether the project has been looked up."""
        return name in self._projects

    def mask(self, package: Package, allows: Allows) -> int:
        """Return the mask of the candidates that a requirement admits.

        A project has one bit a release (see `project`), and a component or module one a candidate.
        A version has no list of candidates (see `version_candidates`), so its mask says nothing.
        """
        if package.kind is PackageKind.VERSION:
            return -1
        if package.kind is PackageKind.PROJECT:
            return self.project(text.name(package.name)).mask(allows)
        mask = 0
        for position, candidate in enumerate(self._choices(package)):
            if candidate.satisfies(allows):
                mask |= 1 << position
        return mask

    def demand(self, *edges: Edge) -> Demand:
        """Return the combined demand of edges on one package. Looks the project up."""
        demand = ANYTHING
        for edge in edges:
            demand &= self._demands.get(edge) or self._demand_of(edge)
        return demand

    def _demand_of(self, edge: Edge) -> Demand:
        pin = pins(edge.allows)
        constraint = edge.constraint
        from_stack = isinstance(constraint, StackLine)
        from_fact = isinstance(constraint, Requires) and constraint.is_by_user
        demand = self._demands[edge] = Demand(
            mask=self.mask(edge.package, edge.allows),
            pin=pin,
            from_stack=from_stack,
            bounded=bool(str(edge.allows)),
            pinned_by_user=pin and (from_stack or from_fact),
            prerelease=names_prerelease(edge.allows),
        )
        return demand

    def is_admitted(self, candidate: Candidate, edge: Edge) -> bool:
        """Return whether an edge on its package admits a candidate, leaving policies aside."""
        if candidate.package.kind is PackageKind.PROJECT:
            demand = self._demands.get(edge) or self._demand_of(edge)
            return bool(demand.mask >> candidate.release.position & 1)
        return candidate.satisfies(edge.allows)

    def candidates(
        self,
        package: Package,
        demand: Demand,
        excluded: Iterable[Candidate] = (),
        *,
        stable: bool = False,
    ) -> Iterator[Candidate]:
        """Yield the candidates that a demand and the policies admit, in order of preference.

        With the policy "if-necessary" pre-releases are offered if a requirement names one, or if
        nothing else fits and `stable` is not set. Yanked releases are offered only if the stack or
        a fact pins them: PEP 592 leaves open whether a pin in metadata counts, and uv does not
        accept one either. A pin admits several releases if they differ in their local part; those
        that were yanked then come last.
        """
        banned = set(excluded)
        for candidate in self._admitted(package, demand, stable=stable):
            if candidate not in banned:
                yield candidate

    def _admitted(self, package: Package, demand: Demand, *, stable: bool) -> Iterator[Candidate]:
        if package.kind is not PackageKind.PROJECT:
            for position, candidate in enumerate(self._choices(package)):
                if demand.mask >> position & 1:
                    yield candidate
            return
        project = self.project(text.name(package.name))
        policy = self.problem.policy.prereleases_for(project.name)
        mask = project.all & demand.mask
        yanked = demand.pinned_by_user
        if policy == "allow" or (policy == "if-necessary" and demand.prerelease):
            yield from self._usable(package, mask, yanked=yanked)
            return
        has_final = False
        for candidate in self._usable(package, mask & project.stable, yanked=yanked):
            has_final = True
            yield candidate
        if policy == "if-necessary" and not has_final and not stable:
            yield from self._usable(package, mask & ~project.stable, yanked=yanked)

    def version_candidates(self, package: Package, edges: Iterable[Edge]) -> Iterator[Candidate]:
        """Yield the version of a project that these edges on it leave: the installed one, or none.

        No page is needed for this, so a bound on a project that nothing requires costs no request.
        """
        edges = list(edges)
        chosen: Value = NOT_INSTALLED
        for edge in edges:
            if isinstance(edge.allows, Installed):
                chosen = edge.allows.version
                break
        candidate = self.candidate_for(package, chosen)
        if all(candidate.satisfies(edge.allows) for edge in edges):
            yield candidate

    def all_candidates(self, package: Package) -> Iterator[Candidate]:
        """Yield all candidates that some requirements could admit, the least preferred last.

        For a component, that is the target's value, then all other known values, including those
        named by facts.
        """
        if package.kind is PackageKind.PROJECT:
            project = self.project(text.name(package.name))
            policy = self.problem.policy.prereleases_for(project.name)
            stable = project.all if policy == "allow" else project.stable
            yield from self._usable(package, stable, yanked=True)
            if policy != "never":
                yield from self._usable(package, project.all & ~stable, yanked=True)
            return
        choices = self._choices(package)
        yield from choices
        if choices and package.kind is PackageKind.COMPONENT:
            for value in self.problem.values.get(package.name, ()):
                if value != choices[0].chosen:
                    yield self.candidate_for(package, value)

    def _usable(self, package: Package, mask: int, *, yanked: bool) -> Iterator[Candidate]:
        """Yield the usable releases in a mask.

        The release of the previous lock comes first, and yanked ones come last if `yanked` is set.
        """
        project = self.project(text.name(package.name))
        preferred = self.preferred.get(project.name)
        first = project.position(preferred) if preferred is not None else None
        day = self.as_of.day
        positions = project.by_preference(mask, day)
        if first is not None and self.takes_nearest:
            positions = iter(project.nearest_first(positions, first))
        if first is not None and mask >> first & 1:
            others = (position for position in positions if position != first)
            positions = chain((first,), others)
        last: list[Candidate] = []
        for position in positions:
            candidate = self.candidate(package, position)
            if candidate is None:
                continue
            if not candidate.release.yanked or (yanked and position == first):
                yield candidate
            elif yanked:
                last.append(candidate)
        yield from last

    def candidate(self, package: Package, position: int) -> Candidate | None:
        """Return the candidate for a project's release; None if the target cannot use it."""
        release = self.project(text.name(package.name)).release(position)
        return self.candidate_for(package, release) if isinstance(release, Release) else None

    def pin_candidates(self, pin: Pin, position: int) -> list[Candidate]:
        """Return the candidates of a release of a pinned project: itself and the pin's extras."""
        candidates = []
        for extra in ("", *pin.extras):
            candidate = self.candidate(Package(pin.name, extra), position)
            if candidate is not None:
                candidates.append(candidate)
        return candidates

    def collisions(
        self, name: NormalizedName, version: Version
    ) -> Iterator[facts.Collides | facts.Absent]:
        """Yield the facts by which a release owns a module together with another project."""
        for fact in self._collisions:
            if name == fact.other or fact.is_about(name, version):
                yield fact

    def _choices(self, package: Package) -> Sequence[Candidate]:
        """Return the target's value of a component, or the owners of a module, as candidates."""
        system = self.problem.target.system
        if package.kind is PackageKind.COMPONENT and package.name in system:
            return [self.candidate_for(package, system[package.name])]
        if package.kind is not PackageKind.MODULE:
            return []
        owners = set()
        for fact in self._collisions:
            if fact.module == package.name:
                owners |= {fact.package, fact.other}
        return [self.candidate_for(package, owner) for owner in sorted(owners)]

    def candidate_for(self, package: Package, chosen: Release | Value) -> Candidate:
        """Return the candidate for a release, a component's value or the owner of a module."""
        return self._candidates.setdefault((package, chosen), Candidate(package, chosen))

    def _check_facts(self, project: Project) -> None:
        """Raise InputError for a fact that matches no release.

        Facts are about what the shipped indexes have, or about a commit that another fact knows.
        They are not about a project that the stack looks up elsewhere, nor about one of which part
        of the indexes could not be reached.
        """
        if not project.exists or project.source or not self._has_all_releases(project):
            return
        of_project = self._facts.get(project.name, ())
        at_commits = [fact.recipe.version for fact in of_project if isinstance(fact, facts.Sources)]
        for fact in of_project:
            if isinstance(fact, facts.Sources):
                continue
            for versions in fact.versions:
                if project.mask(versions):
                    continue
                if any(versions.contains(commit, prereleases=True) for commit in at_commits):
                    continue
                raise InputError(
                    phrase(
                        "the fact `{fact}` refers to {name} {versions}, but there is no such "
                        "release",
                        fact=fact.id,
                        name=project.name,
                        versions=versions,
                    ),
                    where=fact.where,
                    hint=phrase(
                        "correct `versions`, or remove what is no longer on the index; an "
                        "index with only selected releases needs `complete = false` in its row "
                        "of indexes.toml"
                    ),
                )

    def _has_all_releases(self, project: Project) -> bool:
        """Return whether a project has all the releases that the shipped indexes have."""
        indexes = self.problem.indexes
        platform = self.problem.target.platform
        if project.unreachable or indexes.is_own(project.name, platform):
            return False
        binding = indexes.binding(project.name, platform)
        known = [indexes.indexes[name] for name in binding.indexes if name in indexes.indexes]
        return all(index.complete for index in known)


def _applying_by_project(
    lines: Iterable[RootRequirement], problem: Problem
) -> dict[NormalizedName, list[RootRequirement]]:
    """Return lines by their project; of a project none if none of its lines apply."""
    by_project: dict[NormalizedName, list[RootRequirement]] = {}
    for root in lines:
        if isinstance(root.need, Requirement):
            applying = by_project.setdefault(root.need.name, [])
            if root.need.applies(problem.target.markers):
                applying.append(root)
    return by_project
