"""Everything that can be chosen for one problem, and what each choice needs.

It is lazy: a page is requested when its project is first needed (`project`), metadata when a release is first
chosen (`edges`). The search and the complete engine are both built on it; the independent check is not.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from functools import cached_property

from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.errors import FactError
from resolver.index.parse.compatibility import Compatibility
from resolver.index.protocol import Catalog, Lookup
from resolver.model import fact as facts
from resolver.model import text
from resolver.model.dependency import Allows, Among, Candidate, Edge, Kind, Owner, Package
from resolver.model.problem import Ask, Problem
from resolver.model.release import Release, Source
from resolver.model.requirement import Requirement
from resolver.resolve.demand import ANYTHING, Demand, of_edge, pins, satisfies
from resolver.resolve.edges import Edges
from resolver.resolve.fact_index import About
from resolver.resolve.ordered import Ordered
from resolver.resolve.preference import Preference
from resolver.resolve.project import Project, of_source


class Universe:
    """The candidates of a problem and their edges.

    `preferred` names releases to try first: those of the previous lock. `sources` are the projects
    that come from a repository instead of an index, each with the line of the stack that says so.
    """

    def __init__(
        self, problem: Problem, catalog: Catalog, preferred: Mapping[NormalizedName, Version] | None = None
    ) -> None:
        self.problem = problem
        self.catalog = catalog
        self.preferred = dict(preferred or {})
        self.sources = dict(_named(problem))
        self._preference = Preference(problem.policy, self.preferred)
        self._screen = Compatibility(problem.target, problem.policy.exclude_newer)
        self._about = About(problem.facts)
        self._edges = Edges(problem.target, catalog, self._screen, self._about, self.project, lambda: self.absent)
        # what a choice needs, and what is known of that
        self.edges = self._edges.of
        self.opened = self._edges.are_known
        self.is_given_up = self._edges.is_given_up
        self.provides = self._edges.provides
        self.tools = self._edges.tools
        self.left_out = self._edges.left_out
        self.read = self._edges.read
        self.refused = self._edges.refused
        self.requirements = self._edges.relevant.among
        self.taken_by = self._about.taken_by
        self.collisions = self._about.collisions
        self._projects: dict[NormalizedName, Project] = {}
        self._ordered: dict[NormalizedName, Ordered] = {}  # of all variants
        self._candidates: dict[tuple[Package, object], Candidate] = {}
        self._demands: dict[Edge, Demand] = {}
        self._narrow: tuple[Edge, ...] = ()
        self._owners: dict[str, dict[str, int]] = {}  # of a module: the bit of each
        self._lock = threading.RLock()  # look-ahead asks from the catalog's thread

    def variant(
        self,
        problem: Problem,
        catalog: Catalog | None = None,
        preferred: Mapping[NormalizedName, Version] | None = None,
    ) -> Universe:
        """The universe of another problem, or of the same through another catalog with the same pages.

        If only the stack's lines differ, everything known is shared, except for what this universe prefers.
        """
        before = self.problem
        catalog = self.catalog if catalog is None else catalog
        same = (
            catalog is self.catalog
            and problem.facts == before.facts
            and problem.target == before.target
            and problem.policy == before.policy
            and problem.indexes == before.indexes
            and problem.wheels_only == before.wheels_only
        )
        fresh = Universe(problem, catalog, preferred)
        fresh._ordered = self._ordered
        if not same or _sources(fresh) != _sources(self) or fresh.absent.keys() != self.absent.keys():
            return fresh
        other = copy(self)
        other.problem = problem
        other.sources = fresh.sources
        other.preferred = fresh.preferred
        other._preference = fresh._preference
        return other

    def narrowed(self, releases: Mapping[Package, int], choices: Mapping[Package, Candidate]) -> Universe:
        """The same universe for a stack that asks for certain releases, as masks, of projects that it asks for.

        `choices` are preferred.
        """
        other = copy(self)
        origins = {edge.package.base: edge.origin for edge in self.roots()}
        other._narrow = tuple(Edge(package, Among(mask), origins[package]) for package, mask in releases.items())
        other.preferred = {
            text.name(package.name): one.version for package, one in choices.items() if package.kind is Kind.PROJECT
        }
        other._preference = Preference(self.problem.policy, other.preferred)
        return other

    # --- what is wanted

    def roots(self) -> tuple[Edge, ...]:
        """The edges of the stack's lines; components of the target are not among them."""
        edges: list[Edge] = []
        for ask in self.problem.stack.asks:
            edges += self._edges.of_need(ask.need, ask.origin)
        return (*edges, *self._narrow)

    @cached_property
    def absent(self) -> Mapping[NormalizedName, str]:
        """The projects that must be absent: requirements on them do not count.

        Each has the fact's id, or the file:line of the stack's row. A fact applies if the stack itself names its
        project, the fact is about every release that those lines admit, and the stack does not require the other
        project. So this is known before anything is chosen. Facts that do not apply make the two exclude each other,
        as those about collisions do.
        """
        found = {row.package: row.where for row in self.problem.stack.absent}
        for fact in self.problem.facts:
            if isinstance(fact, facts.Absent) and not self.problem.asked(fact.other):
                asks = self.problem.asked(fact.package)
                if asks and _speaks_of_all(fact, self.project(fact.package), asks):
                    found.setdefault(fact.other, fact.id)
        return found

    # --- what there is

    def project(self, name: NormalizedName, lookup: Lookup | None = None) -> Project:
        """A project with all its releases. The first call asks the catalog, unless given its answer, `lookup`."""
        known = self._projects.get(name)
        if known is not None:
            return known
        source = self.sources[name][1] if name in self.sources else None
        if source is not None:
            lookup = of_source(source)
        elif lookup is None:
            lookup = self.catalog.lookup(name)
        with self._lock:
            if name not in self._projects:
                project = Project(
                    name,
                    self._ordered_as(name, lookup),
                    self._screen,
                    self._about.project(name),
                    wheels_only=self.problem.wheels_only,
                    source=source,
                    system=self.problem.target.system,
                )
                self._check_facts(project)
                self._projects[name] = project
            return self._projects[name]

    def _ordered_as(self, name: NormalizedName, lookup: Lookup) -> Ordered:
        known = self._ordered.get(name)
        if known is None or known.lookup is not lookup:
            known = self._ordered[name] = Ordered(lookup)
        return known

    def known(self, name: NormalizedName) -> bool:
        """Whether the project has been looked up."""
        return name in self._projects

    def mask(self, package: Package, allows: Allows) -> int:
        """The candidates that a requirement admits, as a mask: for a project, one bit per release (see `project`)."""
        match package.kind:
            case Kind.PROJECT:
                return self.project(text.name(package.name)).mask(allows)
            case Kind.SYSTEM:
                value = self.problem.target.system.get(package.name)
                return int(value is not None and satisfies(self._candidate(package, value), allows))
            case Kind.MODULE:
                return 1 << self._owner_bit(package, allows.name) if isinstance(allows, Owner) else 0
            case Kind.NONE:
                return 0

    def demand(self, *edges: Edge) -> Demand:
        """The combined demand of edges on one package. Looks the project up."""
        demand = ANYTHING
        for edge in edges:
            known = self._demands.get(edge)
            if known is None:
                known = self._demands[edge] = of_edge(edge, self.mask(edge.package, edge.allows))
            demand &= known
        return demand

    def is_admitted(self, candidate: Candidate, demand: Demand) -> bool:
        """Whether a demand on its package admits a candidate, leaving policies aside."""
        match candidate.package.kind:
            case Kind.PROJECT:
                assert isinstance(candidate.chosen, Release)  # noqa: S101  projects have releases
                return bool(demand.mask >> candidate.chosen.position & 1)
            case Kind.MODULE:
                return bool(demand.mask >> self._owner_bit(candidate.package, str(candidate.chosen)) & 1)
            case _:
                return bool(demand.mask & 1)

    def _owner_bit(self, module: Package, owner: str) -> int:
        owners = self._owners.setdefault(module.name, {})
        return owners.setdefault(owner, len(owners))

    def candidates(
        self, package: Package, demand: Demand, excluded: Iterable[Candidate] = (), *, stable: bool = False
    ) -> Iterator[Candidate]:
        """The candidates that a demand and the policies admit (see `preference`), in order of preference.

        With `stable` no pre-release is offered in place of final releases that are all ruled out.
        """
        banned = set(excluded)
        match package.kind:
            case Kind.PROJECT:
                project = self.project(text.name(package.name))
                for position in self._preference.order(project, demand, stable=stable):
                    candidate = self.candidate(package, position)
                    if candidate is not None and candidate not in banned:
                        yield candidate
            case Kind.SYSTEM:
                value = self.problem.target.system.get(package.name)
                if value is not None and demand.mask & 1:
                    candidate = self._candidate(package, value)
                    if candidate not in banned:
                        yield candidate
            case Kind.MODULE:
                for name, bit in sorted(self._owners.get(package.name, {}).items()):
                    candidate = self._candidate(package, name)
                    if demand.mask >> bit & 1 and candidate not in banned:
                        yield candidate
            case Kind.NONE:
                return

    def every(self, package: Package) -> Iterator[Candidate]:
        """All candidates of a project that some requirements could admit, the least preferred last."""
        for position in self._preference.every(self.project(text.name(package.name))):
            candidate = self.candidate(package, position)
            if candidate is not None:
                yield candidate

    def values(self, package: Package) -> Iterator[Candidate]:
        """The target's value of a component, then all other known values, including those named by facts."""
        own = self.problem.target.system.get(package.name)
        if own is None:
            return
        yield self._candidate(package, own)
        for value in self.problem.values.get(package.name, ()):
            if value != own:
                yield self._candidate(package, value)

    def owner(self, package: Package, name: str) -> Candidate:
        """The candidate of a module that stands for the owner `name`."""
        return self._candidate(package, name)

    def candidate(self, package: Package, position: int) -> Candidate | None:
        """The candidate for a project's release; None if the target cannot use the release."""
        release = self.project(text.name(package.name)).release(position)
        return self._candidate(package, release) if isinstance(release, Release) else None

    def _candidate(self, package: Package, chosen: object) -> Candidate:
        key = (package, chosen)
        with self._lock:
            if key not in self._candidates:
                self._candidates[key] = Candidate(package, chosen)  # type: ignore[arg-type]
            return self._candidates[key]

    def _check_facts(self, project: Project) -> None:
        """Raise FactError for a fact that matches no release, unless part of the indexes was out of reach."""
        indexes = self.problem.indexes
        if not project.found or project.source or project.unreachable or indexes.own:
            return
        binding = indexes.binding(project.name, self.problem.target.platform)
        if not all(indexes.indexes[name].complete for name in binding.indexes if name in indexes.indexes):
            return
        for fact in self._about.project(project.name):
            if isinstance(fact, facts.Sources):
                continue
            for versions in fact.versions:
                if not project.mask(versions):
                    raise FactError(
                        f"the fact `{fact.id}` refers to {project.name} {versions}, but there is no such release",
                        where=fact.where,
                        hint="correct `versions`, or remove what is no longer on the index; an index with only "
                        "selected "
                        "releases needs `complete = false` in its row of indexes.toml",
                    )

    # --- what facts say

    def is_stated(self, name: NormalizedName) -> bool:
        """Whether facts state what a project's archives need."""
        return any(isinstance(fact, (facts.Builds, facts.Metadata)) for fact in self._about.project(name))

    def may_be_pinned(self, name: NormalizedName) -> bool:
        """Whether a fact pins a project, or may do so because it reads requirements from an archive or repository."""
        if self.sources or any(isinstance(fact, facts.Builds) for fact in self.problem.facts):
            return True
        needs = (need for fact in self.problem.facts for need in facts.needs_of(fact))
        return any(isinstance(need, Requirement) and need.name == name and pins(need.specifier) for need in needs)


def _named(problem: Problem) -> Iterator[tuple[NormalizedName, tuple[Ask, Source]]]:
    for ask in problem.stack.asks:
        if isinstance(ask.need, Requirement) and ask.need.url:
            found = problem.source(ask.need.name)
            if found is not None:
                yield ask.need.name, found


def _sources(universe: Universe) -> dict[NormalizedName, Source]:
    return {name: source for name, (_, source) in universe.sources.items()}


def _speaks_of_all(fact: facts.Absent, project: Project, asks: Iterable[Ask]) -> bool:
    """Whether a fact is about every release that these lines admit, of which there is at least one."""
    mask = project.all
    for ask in asks:
        if isinstance(ask.need, Requirement):
            mask &= project.mask(ask.need.specifier)
    return bool(mask) and all(fact.speaks_of(project.versions[position]) for position in project.positions(mask))
