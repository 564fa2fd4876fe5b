"""Everything that can be chosen for one problem, the most preferred first: by policy, the previous lock, and age.

A page is requested when its project is first needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from operator import or_
from typing import NamedTuple

from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.errors import InputError
from resolver.index.parse.distribution import Compatibility
from resolver.index.protocol import Catalog, Lookup
from resolver.model import fact as facts
from resolver.model import text
from resolver.model.as_of import AsOf
from resolver.model.constraint import Requires, StackLine
from resolver.model.dependency import NOT_INSTALLED, Allows, Candidate, Edge, Installed, ReleaseMask
from resolver.model.package import Package, PackageKind
from resolver.model.problem import Problem
from resolver.model.release import Release, Source
from resolver.model.requirement import Requirement, Value
from resolver.resolve.as_of import day_of, decisive_lines
from resolver.resolve.project import OrderedReleases, Project, of_source


class Demand(NamedTuple):
    """What edges require of one package; `a & b` is the demand of both.

    `mask` are the candidates that all edges admit (see `Candidates.mask`); the other fields say
    whether any edge is of that kind.
    """

    mask: int = -1
    pin: bool = False  # names one release
    from_stack: bool = False  # a line of the stack
    bounded: bool = False  # has bounds
    pinned_by_user: bool = False  # a pin by the stack or a fact, which permits a yanked release
    prerelease: bool = False  # names a pre-release, and so permits them (PEP 440)

    def __and__(self, other: Demand) -> Demand:
        return Demand(self.mask & other.mask, *map(or_, self[1:], other[1:]))

    def decision_key(self, first_required: int) -> tuple[object, ...]:
        """A sort key for the order of decisions: first pinned packages, then the stack's, then those with bounds.

        Among equals, packages that were required earlier go first, so most of what requires a
        package is decided before it, and its demand is complete. Those of the stack are sorted by
        name.
        """
        return (
            not self.pin,
            not self.from_stack,
            not self.bounded,
            0 if self.from_stack else first_required,
        )


ANYTHING = Demand()


def names_prerelease(allows: Allows) -> bool:
    """Whether a requirement names a pre-release.

    The link between an extra and its project's release does not.
    """
    return isinstance(allows, SpecifierSet) and bool(allows.prereleases)


def pins(allows: Allows) -> bool:
    """Whether a requirement names one release and no other."""
    if isinstance(allows, SpecifierSet):
        return any(map(text.is_exact, allows))
    return isinstance(allows, ReleaseMask) and allows.positions.bit_count() == 1


class Candidates:
    """The candidates of a problem.

    `preferred` names releases to try first: those of the previous lock. `sources` are the projects
    that come from a repository instead of an index, each with the line of the stack that says so.
    """

    def __init__(
        self,
        problem: Problem,
        catalog: Catalog,
        preferred: Mapping[NormalizedName, Version] | None = None,
    ) -> None:
        self.problem = problem
        self.catalog = catalog
        self.preferred = dict(preferred or {})
        needs = [root.need for root in problem.stack.requirements]
        names = [need.name for need in needs if isinstance(need, Requirement) and need.url]
        self.sources = {
            name: source for name in names if (source := problem.source(name)) is not None
        }
        self._compatibility = Compatibility(problem.target, problem.policy.exclude_newer)
        self._facts: dict[NormalizedName, list[facts.Fact]] = {}
        for fact in problem.facts:
            self._facts.setdefault(fact.package, []).append(fact)
        # the projects that facts put bounds on without requiring them
        self.bounded_projects = frozenset(
            name for fact in problem.facts for name in fact.bounded_projects
        )
        self._collisions = [
            fact for fact in problem.facts if isinstance(fact, (facts.Collides, facts.Absent))
        ]
        self._projects: dict[NormalizedName, Project] = {}
        self._ordered: dict[NormalizedName, OrderedReleases] = {}  # of all variants
        self._shared: dict[
            NormalizedName, list[tuple[object, Project]]
        ] = {}  # likewise, with what each is made from
        self._candidates: dict[tuple[Package, object], Candidate] = {}
        self._demands: dict[Edge, Demand] = {}

    @cached_property
    def as_of(self) -> AsOf:
        """Return the day whose releases are preferred.

        With the policy `auto`, look up the projects that decide it.

        Must be known before anything is prefetched, as look-ahead must not wait for a page.
        """
        if named := decisive_lines(self.problem):
            self.catalog.prefetch(
                (need.name, need.specifier) for need in named
            )  # all at once, not one by one
        return day_of(self.problem, self.project)

    def project(self, name: NormalizedName, lookup: Lookup | None = None) -> Project:
        """A project with all its releases.

        The first call asks the catalog, unless given its answer, `lookup`.

        May be called from any thread, like `candidate`: look-ahead does so from the catalog's.
        """
        project = self._projects.get(name)
        if project is not None:
            return project
        source = self.sources[name][1] if name in self.sources else None
        if lookup is None or source is not None:
            lookup = of_source(source) if source is not None else self.catalog.lookup(name)
        if name not in self._ordered or self._ordered[name].lookup is not lookup:
            self._ordered[name] = OrderedReleases(lookup)
        return self._projects.setdefault(name, self._project(self._ordered[name], name, source))

    def _project(
        self, ordered: OrderedReleases, name: NormalizedName, source: Source | None
    ) -> Project:
        """A project, which may be that of another variant: most projects are the same in all."""
        about = self._facts.get(name, [])
        system = self.problem.target.system if any(map(facts.is_put_last, about)) else {}
        arguments = (ordered, self._compatibility, about, self.problem.wheels_only, source, system)
        for same_as, project in self._shared.get(name, ()):
            if same_as == arguments:
                return project
        project = Project(name, *arguments)
        self._check_facts(project)
        self._shared.setdefault(name, []).append((arguments, project))
        return project

    def is_loaded(self, name: NormalizedName) -> bool:
        """Whether the project has been looked up."""
        return name in self._projects

    def mask(self, package: Package, allows: Allows) -> int:
        """The candidates that a requirement admits, as a mask: for a project, one bit per release (see `project`).

        A version has no list of candidates (see `version_candidates`), so its mask says nothing.
        """
        if package.kind is PackageKind.VERSION:
            return -1
        if package.kind is PackageKind.PROJECT:
            return self.project(text.name(package.name)).mask(allows)
        return sum(
            candidate.satisfies(allows) << at for at, candidate in enumerate(self._choices(package))
        )

    def demand(self, *edges: Edge) -> Demand:
        """The combined demand of edges on one package. Looks the project up."""
        demand = ANYTHING
        for edge in edges:
            demand &= self._demands.get(edge) or self._demand_of(edge)
        return demand

    def _demand_of(self, edge: Edge) -> Demand:
        pin, constraint = pins(edge.allows), edge.constraint
        from_stack = isinstance(constraint, StackLine)
        from_fact = isinstance(constraint, Requires) and constraint.is_by_user
        self._demands[edge] = Demand(
            mask=self.mask(edge.package, edge.allows),
            pin=pin,
            from_stack=from_stack,
            bounded=bool(str(edge.allows)),
            pinned_by_user=pin and (from_stack or from_fact),
            prerelease=names_prerelease(edge.allows),
        )
        return self._demands[edge]

    def is_admitted(self, candidate: Candidate, edge: Edge) -> bool:
        """Whether an edge on its package admits a candidate, leaving policies aside."""
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
        """The candidates that a demand and the policies admit, in order of preference.

        With the policy "if-necessary" pre-releases are offered if a requirement names one, or if
        nothing else fits and `stable` is not set. Yanked releases are offered only if the stack or
        a fact pins them: PEP 592 leaves open whether a pin in metadata counts, and uv does not
        accept one either. A pin admits several releases if they differ in their local part; those
        that were yanked then come last.
        """
        banned = set(excluded)
        if package.kind is PackageKind.PROJECT:
            admitted = self._admitted(package, demand, stable=stable)
        else:
            choices = enumerate(self._choices(package))
            admitted = (candidate for at, candidate in choices if demand.mask >> at & 1)
        return (candidate for candidate in admitted if candidate not in banned)

    def _admitted(self, package: Package, demand: Demand, *, stable: bool) -> Iterator[Candidate]:
        project = self.project(text.name(package.name))
        policy = self.problem.policy.prereleases_for(project.name)
        mask = project.all & demand.mask
        if policy == "allow" or (policy == "if-necessary" and demand.prerelease):
            yield from self._usable(package, mask, yanked=demand.pinned_by_user)
            return
        final = None
        for final in self._usable(package, mask & project.stable, yanked=demand.pinned_by_user):
            yield final
        if policy == "if-necessary" and final is None and not stable:
            yield from self._usable(package, mask & ~project.stable, yanked=demand.pinned_by_user)

    def version_candidates(self, package: Package, edges: Iterable[Edge]) -> Iterator[Candidate]:
        """Yield the version of a project that these edges on it leave: the installed one, or none if it is not.

        No page is needed for this, so a bound on a project that nothing requires costs no request.
        """
        edges = list(edges)
        installed = [edge.allows.version for edge in edges if isinstance(edge.allows, Installed)]
        candidate = self.candidate_for(package, installed[0] if installed else NOT_INSTALLED)
        if all(candidate.satisfies(edge.allows) for edge in edges):
            yield candidate

    def all_candidates(self, package: Package) -> Iterator[Candidate]:
        """All candidates of a package that some requirements could admit, the least preferred last.

        Those of a component are the target's value, then all other known values, including those
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
        """The usable releases in a mask: first that of the previous lock, last those that were yanked."""
        project = self.project(text.name(package.name))
        preferred = self.preferred.get(project.name)
        first = project.position(preferred) if preferred is not None else None
        day = self.as_of.day
        positions = project.by_preference(mask, day)
        if first is not None and mask >> first & 1:
            positions = chain((first,), project.by_preference(mask ^ 1 << first, day))
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
        """The candidate for a project's release; None if the target cannot use the release."""
        release = self.project(text.name(package.name)).release(position)
        return self.candidate_for(package, release) if isinstance(release, Release) else None

    def collisions(
        self, name: NormalizedName, version: Version
    ) -> Iterator[facts.Collides | facts.Absent]:
        """The facts by which a release owns a module together with another project."""
        for fact in self._collisions:
            if name == fact.other or fact.is_about(name, version):
                yield fact

    def _choices(self, package: Package) -> Sequence[Candidate]:
        """The candidates of a component, which are the target's value, or of a module, which are its owners."""
        choices: Iterable[Value] = ()
        if package.kind is PackageKind.MODULE:
            rows = [
                (fact.package, fact.other)
                for fact in self._collisions
                if fact.module == package.name
            ]
            choices = sorted(set(chain.from_iterable(rows)))
        elif package.kind is PackageKind.COMPONENT and package.name in self.problem.target.system:
            choices = (self.problem.target.system[package.name],)
        return [self.candidate_for(package, choice) for choice in choices]

    def candidate_for(self, package: Package, chosen: Release | Value) -> Candidate:
        """The candidate that stands for a release, a component's value or the owner of a module."""
        return self._candidates.setdefault((package, chosen), Candidate(package, chosen))

    def _check_facts(self, project: Project) -> None:
        """Raise InputError for a fact that matches no release.

        Facts are about what the shipped indexes have, or about a commit that another fact knows.
        They are not about a project that the stack looks up elsewhere, nor about one of which part
        of the indexes could not be reached.
        """
        indexes, platform = self.problem.indexes, self.problem.target.platform
        if (
            not project.exists
            or project.source
            or project.unreachable
            or indexes.is_own(project.name, platform)
        ):
            return
        binding = indexes.binding(project.name, platform)
        if not all(
            indexes.indexes[name].complete for name in binding.indexes if name in indexes.indexes
        ):
            return
        of_project = self._facts.get(project.name, ())
        at_commits = [fact.recipe.version for fact in of_project if isinstance(fact, facts.Sources)]
        for fact in of_project:
            if isinstance(fact, facts.Sources):
                continue
            for versions in fact.versions:
                is_at_commit = any(
                    versions.contains(version, prereleases=True) for version in at_commits
                )
                if not project.mask(versions) and not is_at_commit:
                    raise InputError(
                        f"the fact `{fact.id}` refers to {project.name} {versions}, but there is no such release",
                        where=fact.where,
                        hint="correct `versions`, or remove what is no longer on the index; an index with only "
                        "selected releases needs `complete = false` in its row of indexes.toml",
                    )
