"""Everything that can be chosen for one problem. A page is requested when its project is first needed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.errors import InputError
from resolver.index.parse.distribution import Compatibility
from resolver.index.protocol import Catalog, Lookup
from resolver.model import fact as facts
from resolver.model import text
from resolver.model.dependency import Allows, Candidate, Edge, Kind, Package
from resolver.model.problem import Ask, Problem
from resolver.model.release import Release, Source
from resolver.model.requirement import Requirement
from resolver.resolve.preference import ANYTHING, Demand, demand_of, every_release, releases, satisfies
from resolver.resolve.project import Ordered, Project, of_source


class Candidates:
    """The candidates of a problem, by what is demanded of them.

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
        self._screen = Compatibility(problem.target, problem.policy.exclude_newer)
        self._facts: dict[NormalizedName, list[facts.Fact]] = {}
        for fact in problem.facts:
            self._facts.setdefault(fact.package, []).append(fact)
        self._collisions = [fact for fact in problem.facts if isinstance(fact, (facts.Collides, facts.Absent))]
        self._projects: dict[NormalizedName, Project] = {}
        self._ordered: dict[NormalizedName, Ordered] = {}  # of all variants
        self._candidates: dict[tuple[Package, object], Candidate] = {}
        self._demands: dict[Edge, Demand] = {}

    def project(self, name: NormalizedName, lookup: Lookup | None = None) -> Project:
        """A project with all its releases. The first call asks the catalog, unless given its answer, `lookup`.

        May be called from any thread, like `candidate`: look-ahead does so from the catalog's.
        """
        known = self._projects.get(name)
        if known is not None:
            return known
        source = self.sources[name][1] if name in self.sources else None
        if source is not None:
            lookup = of_source(source)
        elif lookup is None:
            lookup = self.catalog.lookup(name)
        ordered = self._ordered.get(name)
        if ordered is None or ordered.lookup is not lookup:
            ordered = self._ordered[name] = Ordered(lookup)
        project = Project(
            name,
            ordered,
            self._screen,
            self._facts.get(name, ()),
            wheels_only=self.problem.wheels_only,
            source=source,
            system=self.problem.target.system,
        )
        self._check_facts(project)
        return self._projects.setdefault(name, project)

    def known(self, name: NormalizedName) -> bool:
        """Whether the project has been looked up."""
        return name in self._projects

    def mask(self, package: Package, allows: Allows) -> int:
        """The candidates that a requirement admits, as a mask: for a project, one bit per release (see `project`)."""
        if package.kind is Kind.PROJECT:
            return self.project(text.name(package.name)).mask(allows)
        return sum(satisfies(one, allows) << at for at, one in enumerate(self._choices(package)))

    def demand(self, *edges: Edge) -> Demand:
        """The combined demand of edges on one package. Looks the project up."""
        demand = ANYTHING
        for edge in edges:
            known = self._demands.get(edge)
            if known is None:
                known = self._demands[edge] = demand_of(edge, self.mask(edge.package, edge.allows))
            demand &= known
        return demand

    def is_admitted(self, candidate: Candidate, edge: Edge) -> bool:
        """Whether an edge on its package admits a candidate, leaving policies aside."""
        known = self._demands.get(edge) or self.demand(edge)
        if candidate.package.kind is Kind.PROJECT:
            return bool(known.mask >> candidate.release.position & 1)
        return bool(known.mask >> self._choices(candidate.package).index(candidate) & 1)

    def candidates(
        self, package: Package, demand: Demand, excluded: Iterable[Candidate] = (), *, stable: bool = False
    ) -> Iterator[Candidate]:
        """The candidates that a demand and the policies admit (see `preference`), in order of preference.

        With `stable` no pre-release is offered in place of final releases that are all ruled out.
        """
        banned = set(excluded)
        if package.kind is Kind.PROJECT:
            project = self.project(text.name(package.name))
            policy = self.problem.policy.prereleases_for(project.name)
            order = releases(project, demand, self._first(project), policy=policy, stable=stable)
            found = (self.candidate(package, position) for position in order)
        else:
            found = (one if demand.mask >> at & 1 else None for at, one in enumerate(self._choices(package)))
        return (one for one in found if one is not None and one not in banned)

    def every(self, package: Package) -> Iterator[Candidate]:
        """All candidates of a package that some requirements could admit, the least preferred last.

        Those of a component are the target's value, then all other known values, including those named by facts.
        """
        if package.kind is Kind.PROJECT:
            project = self.project(text.name(package.name))
            policy = self.problem.policy.prereleases_for(project.name)
            for position in every_release(project, self._first(project), policy=policy):
                candidate = self.candidate(package, position)
                assert candidate is not None  # noqa: S101  it is usable
                yield candidate
            return
        own = self._choices(package)
        yield from own
        if own and package.kind is Kind.SYSTEM:
            for value in self.problem.values.get(package.name, ()):
                if value != own[0].chosen:
                    yield self._candidate(package, value)

    def owner(self, package: Package, name: str) -> Candidate:
        """The candidate of a module that stands for the owner `name`."""
        return self._candidate(package, name)

    def candidate(self, package: Package, position: int) -> Candidate | None:
        """The candidate for a project's release; None if the target cannot use the release."""
        release = self.project(text.name(package.name)).release(position)
        return self._candidate(package, release) if isinstance(release, Release) else None

    def collisions(self, name: NormalizedName, version: Version) -> Iterator[facts.Collides | facts.Absent]:
        """The facts by which a release owns a module together with another project."""
        for fact in self._collisions:
            if name == fact.other or (name == fact.package and fact.speaks_of(version)):
                yield fact

    def _first(self, project: Project) -> int | None:
        preferred = self.preferred.get(project.name)
        return project.position(preferred) if preferred is not None else None

    def _choices(self, package: Package) -> Sequence[Candidate]:
        """What can be chosen for a component, which is the target's value, or for a module, which are its owners."""
        value = self.problem.target.system.get(package.name) if package.kind is Kind.SYSTEM else None
        if value is not None:
            return [self._candidate(package, value)]
        concerned = [fact for fact in self._collisions if package.kind is Kind.MODULE and fact.module == package.name]
        owners = {owner for fact in concerned for owner in (fact.package, fact.other)}
        return [self._candidate(package, owner) for owner in sorted(owners)]

    def _candidate(self, package: Package, chosen: object) -> Candidate:
        return self._candidates.setdefault((package, chosen), Candidate(package, chosen))  # type: ignore[arg-type]

    def _check_facts(self, project: Project) -> None:
        """Raise InputError for a fact that matches no release, unless part of the indexes was out of reach."""
        indexes = self.problem.indexes
        if not project.found or project.source or project.unreachable or indexes.own:
            return
        binding = indexes.binding(project.name, self.problem.target.platform)
        if not all(indexes.indexes[name].complete for name in binding.indexes if name in indexes.indexes):
            return
        for fact in self._facts.get(project.name, ()):
            if isinstance(fact, facts.Sources):
                continue
            for versions in fact.versions:
                if not project.mask(versions):
                    raise InputError(
                        f"the fact `{fact.id}` refers to {project.name} {versions}, but there is no such release",
                        where=fact.where,
                        hint="correct `versions`, or remove what is no longer on the index; an index with only "
                        "selected releases needs `complete = false` in its row of indexes.toml",
                    )


def _named(problem: Problem) -> Iterator[tuple[NormalizedName, tuple[Ask, Source]]]:
    for ask in problem.stack.asks:
        if isinstance(ask.need, Requirement) and ask.need.url:
            found = problem.source(ask.need.name)
            if found is not None:
                yield ask.need.name, found
