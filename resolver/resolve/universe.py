"""The dependency graph of a problem: all candidates, and the edges of each candidate.

The graph is lazy: metadata is requested when the edges of a release are first asked for. The search
and the complete engine both use it. The independent check does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from functools import cached_property
from typing import ClassVar, NamedTuple

from msgspec.structs import replace
from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.errors import IndexFailure
from resolver.index.protocol import Catalog
from resolver.model import fact as facts
from resolver.model import text
from resolver.model.constraint import Exclusive, StackLine
from resolver.model.dependency import Candidate, Edge, ModuleOwner, ReleaseMask
from resolver.model.lock import Override
from resolver.model.package import Package, PackageKind
from resolver.model.problem import Problem, RootRequirement
from resolver.model.release import Rejection, Release
from resolver.model.requirement import Requirement
from resolver.resolve.candidates import Candidates
from resolver.resolve.linkage import LinkageRules
from resolver.resolve.needs import MarkerEvaluator
from resolver.resolve.project import Project
from resolver.resolve.release_edges import OpenedCandidate, need_edges, open_candidate
from resolver.resolve.release_lines import ReleaseLines


class OptionalReads:
    """What is read to improve an answer, and may be left unread if an index fails."""

    def __init__(self) -> None:
        """Begin without a failure."""
        # Whether an index has failed. If so, another run may give another answer.
        self.has_failed = False

    @contextmanager
    def allowing_failure(self) -> Iterator[None]:
        """End the block silently if an index fails, and set `has_failed`."""
        try:
            yield
        except IndexFailure:
            self.has_failed = True


class ExtraBound(NamedTuple):
    """A soft requirement that is in force: the bounds of an extra on the project of its name.

    An example is `torch>=2.6; extra == "torch"` (see `soft_requirements`).
    """

    # The project that has the extra.
    project: NormalizedName
    # The name of the extra, and of the project that it bounds.
    other: NormalizedName
    # A specifier set for `other` that holds for releases of `project` older than `since` as well;
    # empty for none.
    upper: str = ""
    # The version of `project` that has this upper bound; empty for none.
    since: str = ""


class Universe(Candidates):
    """The candidates of a problem, and their edges.

    A candidate is opened when its metadata is read. Methods that return a changed universe share
    the caches of this one as far as the change permits.
    """

    _OF_LINES: ClassVar[tuple[str, ...]] = (*Candidates._OF_LINES, "absent_projects")

    def __init__(
        self,
        problem: Problem,
        catalog: Catalog,
        preferred: Mapping[NormalizedName, Version] | None = None,
    ) -> None:
        """Take a problem, the catalog of releases, and the versions to prefer by project."""
        super().__init__(problem, catalog, preferred)
        # Which requirements apply to the target.
        self.markers = MarkerEvaluator(problem.target.markers)
        # The candidates that were opened, in that order.
        self._opened: dict[Candidate, OpenedCandidate] = {}
        # More edges of the stack, which admit only certain releases (see `narrowed`).
        self._mask_edges: tuple[Edge, ...] = ()
        # The bounds of extras that are in force (see `with_soft_requirements`).
        self.extra_bounds: frozenset[ExtraBound] = frozenset()
        # Projects whose wheels are judged as if a `links` fact said that they are linked with torch
        # (see `with_soft_requirements`). The values are libraries that count as present.
        self.linked: dict[NormalizedName, frozenset[str]] = {}
        # Projects that the search decides before all others (see `deciding_first`).
        self.decided_first: frozenset[NormalizedName] = frozenset()
        # Projects of which nothing is required (see `without`).
        self._unneeded: frozenset[NormalizedName] = frozenset()
        # Shared by all variants of this universe, as the next two are.
        self.optional_reads = OptionalReads()
        self.lines = ReleaseLines(self)
        self.linkage = LinkageRules(self)

    def for_problem(
        self,
        problem: Problem,
        preferred: Mapping[NormalizedName, Version] | None = None,
        *,
        takes_nearest: bool = False,
    ) -> Universe:
        """Return the universe of another problem, with the same catalog.

        `preferred` are the versions to prefer by project; with `takes_nearest`, releases near to
        them come next. If the two problems differ only in the stack's lines, all that was read is
        shared. Otherwise only the releases of projects are shared.
        """
        fresh = Universe(problem, self.catalog, preferred)
        fresh.takes_nearest = takes_nearest
        fresh._ordered = self._ordered
        fresh._shared = self._shared
        with_this_stack = replace(
            problem,
            stack=self.problem.stack,
            digest=self.problem.digest,
            sources=self.problem.sources,
        )
        if with_this_stack != self.problem or not self._has_edges_of(fresh):
            return fresh
        variant = copy(self)
        variant._take_lines(problem)
        variant.preferred = fresh.preferred
        variant.takes_nearest = takes_nearest
        return variant

    def over(self, catalog: Catalog) -> Universe:
        """Return the universe of the same problem with another catalog and no preferred versions.

        Releases of projects are shared if both catalogs have the same pages for them.
        """
        fresh = Universe(self.problem, catalog)
        fresh._ordered = self._ordered.copy()
        fresh._shared = self._shared
        return fresh

    def _has_edges_of(self, other: Universe) -> bool:
        """Return whether all releases have the same edges in another universe.

        The two problems may differ only in the stack's lines.
        """
        commits = {name: commit for name, (_, commit) in self.sources.items()}
        commits_of_other = {name: commit for name, (_, commit) in other.sources.items()}
        if commits != commits_of_other:
            return False
        stack, other_stack = self.problem.stack, other.problem.stack
        if stack.constraints != other_stack.constraints:
            return False
        if stack.overrides != other_stack.overrides:
            return False
        return self.absent_projects == other.absent_projects

    def with_line(
        self, line: str, where: str, preferred: Mapping[NormalizedName, Version] | None = None
    ) -> Universe:
        """Return the universe of the stack with one more line.

        `where` is the place of the line. `preferred` are the versions to prefer by project. The day
        of the stack is not changed by the line.
        """
        stack = self.problem.stack
        root = RootRequirement(need=text.requirement(line), origin=StackLine(line, where))
        stack = replace(stack, requirements=(*stack.requirements, root))
        variant = self.for_problem(replace(self.problem, stack=stack), preferred)
        variant.as_of = self.as_of
        return variant

    def narrowed(
        self, releases: Mapping[Package, int], choices: Mapping[Package, Candidate]
    ) -> Universe:
        """Return the universe in which the stack admits only certain releases of some projects.

        `releases` has the releases as bit masks. The stack must require these projects. The
        versions of `choices` are preferred.
        """
        lines = {edge.package.base: edge.constraint for edge in self.roots()}
        narrowed = copy(self)
        narrowed._mask_edges = tuple(
            Edge(package, ReleaseMask(mask), lines[package]) for package, mask in releases.items()
        )
        narrowed.preferred = {
            text.name(package.name): candidate.version
            for package, candidate in choices.items()
            if package.kind is PackageKind.PROJECT
        }
        return narrowed

    def with_soft_requirements(
        self, bounds: Iterable[ExtraBound], linked: Mapping[NormalizedName, frozenset[str]]
    ) -> Universe:
        """Return the universe in which some soft requirements are in force.

        `bounds` are bounds of extras that must be met. `linked` are projects whose binaries must
        load with the chosen torch. Its values are the libraries of other projects that count as
        present.
        """
        variant = self._with_nothing_opened()
        variant.extra_bounds = self.extra_bounds.union(bounds)
        variant.linked = {**self.linked, **linked}
        bounded = {bound.other for bound in variant.extra_bounds}
        variant.bounded_projects = self.bounded_projects | bounded
        return variant

    def deciding_first(
        self, projects: Iterable[NormalizedName], pins: Mapping[NormalizedName, Version]
    ) -> Universe:
        """Return the universe in which the search decides some projects before all others.

        For all other projects, the versions of `pins` are preferred.
        """
        variant = copy(self)
        variant.decided_first = frozenset(projects)
        variant.preferred = {
            name: version for name, version in pins.items() if name not in variant.decided_first
        }
        return variant

    def without(self, projects: Iterable[NormalizedName]) -> Universe:
        """Return the universe in which the stack and the releases require nothing of projects."""
        variant = self._with_nothing_opened()
        variant._unneeded = self._unneeded.union(projects)
        return variant

    def _with_nothing_opened(self) -> Universe:
        """Return a copy whose candidates can have other edges. Their files are not read again."""
        variant = copy(self)
        variant._opened = {}
        return variant

    # --- the requirements of the stack

    def roots(self) -> tuple[Edge, ...]:
        """Return the edges of the stack: of its lines, and of its constraints."""
        edges: list[Edge] = []
        for root in self.problem.stack.requirements:
            edges += need_edges(root.need, root.origin, self.problem.target)
        for name, lines in self.constraints.items():
            version = Package(name, "", PackageKind.VERSION)
            for root in lines:
                assert isinstance(root.need, Requirement)  # noqa: S101  of a project
                edges.append(Edge(version, root.need.specifier, root.origin))
        return (*self.needed(edges), *self._mask_edges)

    @cached_property
    def absent_projects(self) -> Mapping[NormalizedName, str]:
        """Return the projects that must not be installed. Requirements on them are ignored.

        The values say why: the id of a fact, or file:line of the stack.
        """
        absent = {absence.package: absence.where for absence in self.problem.stack.absent}
        for fact in self.problem.facts:
            if isinstance(fact, facts.Absent) and self._is_in_force(fact):
                absent.setdefault(fact.other, fact.id)
        return absent

    def _is_in_force(self, fact: facts.Absent) -> bool:
        """Return whether requirements on the other project of an `absent` fact are ignored.

        They are if the stack names the project of the fact, does not require the other project, and
        the fact is about every release that the stack's lines and the target's components admit. If
        the components admit none of these releases, all of them count: the stack has no solution,
        and requirements on the other project are no reason for that. This is known before anything
        is chosen.
        """
        if self.problem.requirements_on(fact.other):
            return False
        edges = [edge for edge in self.roots() if edge.package.base == Package(fact.package)]
        if not edges:
            return False
        project = self.project(fact.package)
        of_lines = list(project.positions(self.demand(*edges).mask))
        on_target = [position for position in of_lines if self.runs_on_target(project, position)]
        admitted = [project.versions[position] for position in on_target or of_lines]
        return bool(admitted) and all(map(fact.applies_to, admitted))

    def runs_on_target(self, project: Project, position: int) -> bool:
        """Return whether the target meets what facts require of its components for a release.

        Requirements that only wheels have are ignored, since the release may be built from source.
        """
        for fact in project.facts_about(position, facts.Requires):
            if fact.wheels:
                continue
            for need in facts.component_requirements(fact.needs):
                value = self.problem.target.system.get(need.component)
                if value is not None and not need.allows(value):
                    return False
        return True

    # --- the requirements of a candidate

    def edges(self, candidate: Candidate) -> tuple[Edge, ...]:
        """Return the edges of a candidate. The first call opens it, that is, reads its metadata.

        A candidate whose file cannot be used has an edge that nothing meets. Raises IndexFailure if
        an index does not answer.
        """
        opened = self._opened.get(candidate)
        if opened is None:
            opened = self._opened[candidate] = open_candidate(candidate, self)
        return opened.edges

    def opened(self, candidate: Candidate) -> bool:
        """Return whether the requirements of a candidate were already read."""
        return candidate in self._opened

    def opened_candidates(self) -> Iterable[Candidate]:
        """Return the candidates that were opened, in that order."""
        return self._opened.keys()

    def rejection(self, candidate: Candidate) -> Rejection:
        """Return why the file of a candidate cannot be used, as was found when it was opened."""
        rejection = self._opened[candidate].rejection
        assert rejection is not None  # noqa: S101  only such candidates are asked about
        return rejection

    def overrides_of(self, candidate: Candidate) -> tuple[Override, ...]:
        """Return the requirements of a candidate that are ignored; none if it was not opened.

        Their projects must be absent, or the stack overrides them.
        """
        opened = self._opened.get(candidate)
        return opened.overrides if opened is not None else ()

    def needed(self, edges: Iterable[Edge]) -> Iterator[Edge]:
        """Yield the edges except for those on projects of which nothing is required."""
        for edge in edges:
            is_project = edge.package.kind is PackageKind.PROJECT
            if not is_project or edge.package.name not in self._unneeded:
                yield edge

    def provides(self, candidate: Candidate, extra: str) -> bool:
        """Return whether the metadata of an opened candidate declares an extra (Provides-Extra).

        The result is False for a candidate that was not opened.
        """
        lines = self.lines.lines_read(candidate.release)
        if lines is None:
            return False
        return any(text.name(provided) == extra for provided in lines.extras)

    def extras_of(self, name: NormalizedName, release: Release) -> tuple[NormalizedName, ...]:
        """Return the extras that the metadata of a release declares (Provides-Extra).

        There are none if the metadata cannot be used.
        """
        lines = self.lines.usable_lines(self.candidate_for(Package(name), release))
        return tuple(map(text.name, lines.extras)) if lines is not None else ()

    def extra_requirements(
        self, name: NormalizedName, release: Release, extra: NormalizedName
    ) -> list[Requirement]:
        """Return the bounds of an extra on the project of the same name, as far as they count.

        Bounds do not count in three cases. The stack overrides requirements on that project. A fact
        is about both projects: facts have precedence over such bounds. Or the bound is a pin
        (`vllm==0.10.1`), which says what was tried and not what works.
        """
        lines = self.lines.usable_lines(self.candidate_for(Package(name), release))
        if extra in self.overrides:
            return []
        if lines is None or self._has_fact_about_both(name, release.version, extra):
            return []
        needs = self.markers.requirements(release.file.filename, lines.requires, extra)
        return [
            need
            for need in needs
            if need.name == extra and not need.url and _is_range(need.specifier)
        ]

    def _has_fact_about_both(
        self, name: NormalizedName, version: Version, other: NormalizedName
    ) -> bool:
        """Return whether a fact about a release names another project, or the other way round.

        A fact about the other project counts whatever releases it is about.
        """
        for fact in self.problem.facts:
            if fact.is_about(name, version) and other in fact.named_projects:
                return True
            if fact.package == other and name in fact.named_projects:
                return True
        return False

    def module_edges(self, candidate: Candidate) -> Iterator[Edge]:
        """Yield an edge for each module that a release and another project both install.

        The module can have only one owner. No metadata is read.
        """
        name = candidate.package.name
        for collision in self.collisions(text.name(name), candidate.version):
            module = Package(collision.module, "", PackageKind.MODULE)
            yield Edge(module, ModuleOwner(name), Exclusive(collision))


def _is_range(specifiers: SpecifierSet) -> bool:
    """Return whether a specifier set is not empty, and has no `==` or `===` of one release."""
    return bool(str(specifiers)) and not any(map(text.is_exact, specifiers))
