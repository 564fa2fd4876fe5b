"""The candidates of a problem: what can be chosen for each package, the most preferred first.

The policy, the previous lock and the day of the stack decide the order. The page of a project is
requested when the project is first looked up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Any, ClassVar, Final, NamedTuple

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
from resolver.model.constraint import ReleaseRequires, StackLine
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
    """The combined requirements of edges on one package.

    `a & b` is the demand of the edges of both.
    """

    # The candidates that all edges admit, as a bit mask (see `Candidates.mask`).
    mask: int = -1
    # Whether an edge admits a single release.
    pin: bool = False
    # Whether an edge is from a line of the stack.
    from_stack: bool = False
    # Whether an edge has a specifier.
    bounded: bool = False
    # Whether an edge from the stack or a fact names a single release, and is of no release on its
    # own project (`Edge.is_own`). This permits a yanked one.
    pinned_by_user: bool = False
    # Whether an edge names a pre-release, and is not of a release on its own project. This permits
    # pre-releases (PEP 440).
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
        """Return a sort key for the order in which packages are decided.

        `first_required` is the position of the package in the order in which packages were first
        required. The key has these parts, in this order:

        1. Packages that an edge pins come first.
        2. Packages that the stack names come next. The caller sorts them by name.
        3. Packages with a specifier come next.
        4. Among equals, packages that were required earlier come first. So most packages that
           require a package are decided before it, and its demand is complete.
        """
        return (
            not self.pin,
            not self.from_stack,
            not self.bounded,
            0 if self.from_stack else first_required,
        )


# The demand without any edges.
ANYTHING = Demand()


def names_prerelease(allows: Allows) -> bool:
    """Return whether an edge names a pre-release in its specifier (PEP 440).

    The edge from an extra to its project has no specifier, and so does not.
    """
    return isinstance(allows, SpecifierSet) and bool(allows.prereleases)


def pins(allows: Allows) -> bool:
    """Return whether an edge admits a single release: by `==`, `===`, or a mask with one bit."""
    if isinstance(allows, SpecifierSet):
        return any(map(text.is_exact, allows))
    return isinstance(allows, ReleaseMask) and allows.positions.bit_count() == 1


# How many of the last variants of a project are kept for further variants of the problem. A matrix
# has hundreds of problems, each with facts of its own about a project; with all of their projects a
# process grew by 8 MB a cell.
_MOST_SHARED: Final = 8


class Candidates:
    """The candidates of a problem. `Universe` adds their edges."""

    # The cached properties that depend on the stack's lines.
    _OF_LINES: ClassVar[tuple[str, ...]] = ("as_of",)

    def __init__(
        self,
        problem: Problem,
        catalog: Catalog,
        preferred: Mapping[NormalizedName, Version] | None = None,
    ) -> None:
        """Take a problem, the catalog of releases, and the versions to prefer by project."""
        self.catalog = catalog
        self._take_lines(problem)
        # The versions that are tried first, such as the versions of the previous lock.
        self.preferred = dict(preferred or {})
        # Whether releases near to the preferred version are tried next, and not the newest ones.
        self.takes_nearest = False
        # Which files the target can use.
        self.compatibility = Compatibility(problem.target, problem.policy.exclude_newer)
        # The facts about each project.
        self._facts: dict[NormalizedName, list[facts.Fact]] = {}
        # The facts that say that at most one of two projects can be installed.
        self._collisions: list[facts.Collides | facts.Absent] = []
        bounded: set[NormalizedName] = set()
        for fact in problem.facts:
            self._facts.setdefault(fact.package, []).append(fact)
            bounded.update(fact.bounded_projects)
            if isinstance(fact, (facts.Collides, facts.Absent)):
                self._collisions.append(fact)
        # The stack's constraints that apply to the target, by project.
        self.constraints = _applying_by_project(problem.stack.constraints, problem)
        bounded.update(self.constraints)
        # The stack's overrides that apply to the target, by project. The list is empty if no line
        # about a project applies: then requirements on it are dropped.
        self.overrides = _applying_by_project(problem.stack.overrides, problem)
        # The projects that facts and the stack bound without requiring them.
        self.bounded_projects = frozenset(bounded)
        # The projects that were looked up.
        self._projects: dict[NormalizedName, Project] = {}
        # Caches that are shared with universes of changed problems: the releases of projects, and
        # projects with the arguments from which they were made.
        self._ordered: dict[NormalizedName, OrderedReleases] = {}
        self._shared: dict[NormalizedName, list[tuple[object, Project]]] = {}
        # The only object for each candidate.
        self._candidates: dict[tuple[Package, object], Candidate] = {}
        # The demand of each edge.
        self._demands: dict[Edge, Demand] = {}

    def _take_lines(self, problem: Problem) -> None:
        """Take a problem that differs from that of these candidates at most in the stack's lines.

        What depends on the lines is set here, or read when it is first needed (`_OF_LINES`).
        """
        self.problem = problem
        # The projects that the stack takes from a commit, with the line and the commit's release.
        self.sources: dict[NormalizedName, tuple[RootRequirement, Source]] = {}
        for root in problem.stack.requirements:
            need = root.need
            if isinstance(need, Requirement) and need.url:
                source = problem.source(need.name)
                if source is not None:
                    self.sources[need.name] = source
        for attribute in self._OF_LINES:
            self.__dict__.pop(attribute, None)

    @cached_property
    def as_of(self) -> AsOf:
        """Return the day whose releases are preferred.

        With the policy `auto`, the projects that decide the day are looked up. So this property
        must be read before anything is prefetched: a look-ahead must not wait for a page. Raises
        IndexFailure.
        """
        lines = decisive_lines(self.problem)
        if lines:  # request all pages at once
            self.catalog.prefetch((need.name, need.specifier) for need in lines)
        return day_of(self.problem, self.project)

    def project(self, name: NormalizedName, lookup: Lookup | None = None) -> Project:
        """Return a project with all its releases.

        The first call asks the catalog, unless its answer is given as `lookup`. The method may be
        called from any thread: look-ahead calls it from the thread of the catalog. Raises
        IndexFailure, and InputError if a fact matches no release of the project.
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
        """Return a project, which is shared with other universes if it is the same there."""
        about = self._facts.get(name, [])
        target, wheels_only = self.problem.target, self.problem.wheels_only
        arguments: tuple[Any, ...] = (ordered, self.compatibility, about, wheels_only, source)
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
        """Return whether the releases of a project were already read by `project`."""
        return name in self._projects

    def mask(self, package: Package, allows: Allows) -> int:
        """Return the candidates of a package that an edge admits, as a bit mask.

        A project has one bit for each release (see `project`), and a component or a module one bit
        for each candidate. For a `PackageKind.VERSION`, which has no list of candidates, all bits
        are set (see `version_candidates`).
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
        """Return the combined demand of edges on one package. A project is looked up."""
        demand = ANYTHING
        for edge in edges:
            demand &= self._demands.get(edge) or self._demand_of(edge)
        return demand

    def _demand_of(self, edge: Edge) -> Demand:
        """Return the demand of one edge, which is cached."""
        pin = pins(edge.allows)
        constraint = edge.constraint
        from_stack = isinstance(constraint, StackLine)
        from_fact = isinstance(constraint, ReleaseRequires) and constraint.is_by_user
        demand = self._demands[edge] = Demand(
            mask=self.mask(edge.package, edge.allows),
            pin=pin,
            from_stack=from_stack,
            bounded=bool(str(edge.allows)),
            pinned_by_user=pin and (from_stack or from_fact) and not edge.is_own,
            prerelease=names_prerelease(edge.allows) and not edge.is_own,
        )
        return demand

    def is_admitted(self, candidate: Candidate, edge: Edge) -> bool:
        """Return whether an edge admits a candidate of its package, whatever the policy says."""
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
        """Yield the candidates that a demand and the policy admit, the most preferred first.

        `excluded` candidates are left out. With the policy "if-necessary", pre-releases are yielded
        if an edge names one, or if no final release is admitted and `stable` is not set. Yanked
        releases are yielded only if the stack or a fact pins them. PEP 592 leaves open whether a
        pin in metadata permits them; here it does not, as in uv. A pin can admit several releases
        that differ in their local versions. Of these, yanked ones come last.
        """
        banned = set(excluded)
        for candidate in self._admitted(package, demand, stable=stable):
            if candidate not in banned:
                yield candidate

    def _admitted(self, package: Package, demand: Demand, *, stable: bool) -> Iterator[Candidate]:
        """Yield the candidates of `candidates`, without excluding any."""
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
        """Yield the only candidate for a `PackageKind.VERSION`, if all of these edges admit it.

        It is the installed version if an edge says so, and otherwise NOT_INSTALLED. No page is
        needed for this. So a bound on a project that nothing requires causes no request.
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
        """Yield all candidates that could be admitted by some edges, the most preferred first.

        Yanked releases are among them, and pre-releases unless the policy is "never". For a
        component, the target's value comes first, and then all known values and values that facts
        name.
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
        """Yield the candidates for the releases in a mask that the target can use.

        The preferred version comes first. Yanked releases come last, and only if `yanked` is set.
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
        """Return the candidate for the release at a position; None if the target cannot use it."""
        release = self.project(text.name(package.name)).release(position)
        return self.candidate_for(package, release) if isinstance(release, Release) else None

    def counterpart(self, other: Candidate) -> Candidate | None:
        """Return the candidate for the release of a candidate of another universe.

        A project may have other releases there, such as one from a commit. None if it has no such
        release here, or if the target cannot use it.
        """
        project = self.project(text.name(other.package.name))
        position = project.ordered.position(other.version)
        return None if position is None else self.candidate(other.package, position)

    def pin_candidates(self, pin: Pin, position: int) -> list[Candidate]:
        """Return the candidates for a pin at another release: for the project and each extra.

        `position` is the position of that release. There are none if the target cannot use it.
        """
        candidates = []
        for extra in ("", *pin.extras):
            candidate = self.candidate(Package(pin.name, extra), position)
            if candidate is not None:
                candidates.append(candidate)
        return candidates

    def facts_about(self, candidate: Candidate, kind: type[facts.FactKind]) -> list[facts.FactKind]:
        """Return the facts of a kind about a candidate's release."""
        project = self.project(text.name(candidate.package.name))
        return project.facts_about(candidate.release.position, kind)

    def collisions(
        self, name: NormalizedName, version: Version
    ) -> Iterator[facts.Collides | facts.Absent]:
        """Yield the facts that say that a release cannot be installed with another project."""
        for fact in self._collisions:
            if name == fact.other or fact.is_about(name, version):
                yield fact

    def _choices(self, package: Package) -> Sequence[Candidate]:
        """Return the candidates for a component or a module.

        They are the target's value of the component, or the owners of the module.
        """
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
        """Return the only candidate object for a choice: a release, a value or an owner."""
        return self._candidates.setdefault((package, chosen), Candidate(package, chosen))

    def _check_facts(self, project: Project) -> None:
        """Raise InputError for a fact about a project if its versions match no release.

        A fact may also match the version of a commit that a `sources` fact is about. Nothing is
        checked for a project that the stack takes from its own index or a commit, or if one of its
        indexes is incomplete or could not be reached.
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
        """Return whether all releases of a project on the shipped indexes are known.

        They are not if the stack takes the project from its own index, if an index could not be
        reached, or if an index is declared as incomplete.
        """
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
    """Return the lines that apply to the target, by project.

    The list of a project is empty if there are lines about it and none of them applies.
    """
    by_project: dict[NormalizedName, list[RootRequirement]] = {}
    for root in lines:
        if isinstance(root.need, Requirement):
            applying = by_project.setdefault(root.need.name, [])
            if root.need.applies(problem.target.markers):
                applying.append(root)
    return by_project
