"""The dependency graph of a problem: all candidates, and the edges of each candidate.

The graph is lazy: metadata is requested when the edges of a release are first asked for. The search
and the complete engine both use it. The independent check does not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from functools import cached_property
from typing import ClassVar, Final, NamedTuple

from msgspec.structs import replace
from packaging.requirements import InvalidRequirement
from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.errors import IndexFailure, ResolverError, WrongRelease
from resolver.index.protocol import Catalog, UnusableFile
from resolver.model import fact as facts
from resolver.model import text
from resolver.model.constraint import (
    Constraint,
    Exclusive,
    Line,
    RequirementSource,
    Requires,
    StackLine,
    Unavailable,
)
from resolver.model.dependency import Candidate, Edge, Installed, ModuleOwner, ReleaseMask
from resolver.model.linkage import TORCH
from resolver.model.lock import Override
from resolver.model.package import Package, PackageKind
from resolver.model.problem import Problem, RootRequirement
from resolver.model.release import Rejection, RejectionReason, Release
from resolver.model.requirement import ComponentRequirement, Requirement
from resolver.redaction import without_secrets
from resolver.resolve.candidates import Candidates
from resolver.resolve.linkage import LinkageRules
from resolver.resolve.needs import (
    DYNAMIC,
    DynamicArchiveError,
    MarkerEvaluator,
    ReleaseRequirements,
    UnusableReleaseError,
    is_built_here,
    requirement_lines,
)
from resolver.resolve.project import Project

# How many archives of a project without static metadata are opened. After these, all other archives
# of the project count as unusable without being opened.
_IN_VAIN: Final = 3


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
        self._markers = MarkerEvaluator(problem.target.markers)
        self.requirements = self._markers.requirements
        # Errors of files that a fact could make usable, by file name.
        self.fixable_errors: dict[str, ResolverError] = {}
        # For opened candidates whose file cannot be used: why it cannot.
        self.rejections: dict[Candidate, Rejection] = {}
        # The edges of the candidates that were opened.
        self._edges: dict[Candidate, tuple[Edge, ...]] = {}
        # The requirement lines of each release that was opened, or why it cannot be used.
        self._lines: dict[Release, ReleaseRequirements | UnusableReleaseError] = {}
        # By project, the errors of its opened archives that have no static metadata.
        self._dynamic: dict[str, list[DynamicArchiveError]] = {}
        # The requirements of opened candidates that are ignored.
        self._overrides: dict[Candidate, tuple[Override, ...]] = {}
        # More edges of the stack, which admit only certain releases (see `narrowed`).
        self._mask_edges: tuple[Edge, ...] = ()
        # The bounds of extras that are in force (see `with_soft_requirements`).
        self._extra_bounds: frozenset[ExtraBound] = frozenset()
        # Projects whose wheels are judged as if a `links` fact said that they are linked with torch
        # (see `with_soft_requirements`). The values are libraries that count as present.
        self.linked: dict[NormalizedName, frozenset[str]] = {}
        # Projects that the search decides before all others (see `deciding_first`).
        self.decided_first: frozenset[NormalizedName] = frozenset()
        # Projects of which nothing is required (see `without`).
        self._unneeded: frozenset[NormalizedName] = frozenset()
        # Shared by all variants of this universe.
        self.optional_reads = OptionalReads()
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
        variant = copy(self)
        variant._extra_bounds = self._extra_bounds.union(bounds)
        variant.linked = {**self.linked, **linked}
        bounded = {bound.other for bound in variant._extra_bounds}
        variant.bounded_projects = self.bounded_projects | bounded
        variant._edges = {}
        variant._overrides = {}
        variant.rejections = {}
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
        variant = copy(self)
        variant._unneeded = self._unneeded.union(projects)
        variant._edges = {}
        variant._overrides = {}
        variant.rejections = {}
        return variant

    # --- the requirements of the stack

    def roots(self) -> tuple[Edge, ...]:
        """Return the edges of the stack: of its lines, and of its constraints."""
        edges: list[Edge] = []
        for root in self.problem.stack.requirements:
            edges += self._need_edges(root.need, root.origin)
        for name, lines in self.constraints.items():
            version = Package(name, "", PackageKind.VERSION)
            for root in lines:
                assert isinstance(root.need, Requirement)  # noqa: S101  of a project
                edges.append(Edge(version, root.need.specifier, root.origin))
        return (*self._needed(edges), *self._mask_edges)

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
        edges = self._edges.get(candidate)
        if edges is None:
            edges = self._edges[candidate] = self._edges_of(candidate)
        return edges

    def opened(self, candidate: Candidate) -> bool:
        """Return whether the requirements of a candidate were already read."""
        return candidate in self._edges

    def provides(self, candidate: Candidate, extra: str) -> bool:
        """Return whether the metadata of an opened candidate declares an extra (Provides-Extra).

        The result is False for a candidate that was not opened.
        """
        lines = self._lines.get(candidate.release)
        if not isinstance(lines, ReleaseRequirements):
            return False
        return any(text.name(provided) == extra for provided in lines.extras)

    def extras_of(self, name: NormalizedName, release: Release) -> tuple[NormalizedName, ...]:
        """Return the extras that the metadata of a release declares (Provides-Extra).

        There are none if the metadata cannot be used.
        """
        lines = self._readable_lines(name, release)
        return tuple(map(text.name, lines.extras)) if lines is not None else ()

    def extra_requirements(
        self, name: NormalizedName, release: Release, extra: NormalizedName
    ) -> list[Requirement]:
        """Return the bounds of an extra on the project of the same name, as far as they count.

        Bounds do not count in three cases. The stack overrides requirements on that project. A fact
        is about both projects: facts have precedence over such bounds. Or the bound is a pin
        (`vllm==0.10.1`), which says what was tried and not what works.
        """
        lines = self._readable_lines(name, release)
        if extra in self.overrides:
            return []
        if lines is None or self._is_spoken_of(name, release.version, extra):
            return []
        needs = self._markers.requirements(release.file.filename, lines.requires, extra)
        return [
            need
            for need in needs
            if need.name == extra and not need.url and _is_range(need.specifier)
        ]

    def _is_spoken_of(self, name: NormalizedName, version: Version, other: NormalizedName) -> bool:
        """Return whether a fact about a release names another project, or the other way round.

        A fact about the other project counts whatever releases it is about.
        """
        for fact in self.problem.facts:
            if fact.is_about(name, version) and other in fact.named_projects:
                return True
            if fact.package == other and name in fact.named_projects:
                return True
        return False

    def _readable_lines(self, name: NormalizedName, release: Release) -> ReleaseRequirements | None:
        """Return the requirement lines of a release; None if its file cannot be used."""
        try:
            return self._requirement_lines(self.candidate_for(Package(name), release))
        except UnusableReleaseError:
            return None

    def overrides_of(self, candidate: Candidate) -> tuple[Override, ...]:
        """Return the requirements of an opened candidate that are ignored.

        Their projects must be absent, or the stack overrides them.
        """
        return self._overrides.get(candidate, ())

    def opened_candidates(self) -> Iterable[Candidate]:
        """Return the candidates that were opened, in that order."""
        return self._edges.keys()

    def _need_edges(self, need: facts.Need, constraint: Line | Requires) -> Iterator[Edge]:
        """Yield the edges of a requirement; none if its marker is false on the target."""
        if isinstance(need, ComponentRequirement):
            # If the target does not state the component, nothing can be compared. The lock warns.
            if need.component in self.problem.target.system:
                yield Edge(Package(need.component, "", PackageKind.COMPONENT), need, constraint)
        elif need.applies(self.problem.target.markers):
            yield from _split(need, constraint)

    def _edges_of(self, candidate: Candidate) -> tuple[Edge, ...]:
        """Return the edges of a candidate by its file, by facts and by the stack's overrides."""
        release = candidate.chosen
        package = candidate.package
        if package.kind is not PackageKind.PROJECT or not isinstance(release, Release):
            return ()
        edges: list[Edge] = []
        try:
            edges.extend(self._file_edges(candidate))
        except UnusableReleaseError as error:
            rejection = Rejection(release.file.filename, error.reason, error.detail)
            self.rejections[candidate] = rejection
            edges = [_unusable(package, rejection)]
        if not package.extra:
            edges += self._fact_edges(candidate)
            edges += self._extra_bound_edges(candidate)
        kept, ignored = self._without_absent(candidate, edges)
        kept, overridden = self._with_overrides(candidate, kept)
        if ignored or overridden:
            self._overrides[candidate] = (*ignored, *overridden)
        return tuple(self._needed(kept))

    def _needed(self, edges: Iterable[Edge]) -> Iterator[Edge]:
        """Yield the edges except for those on projects of which nothing is required."""
        for edge in edges:
            is_project = edge.package.kind is PackageKind.PROJECT
            if not is_project or edge.package.name not in self._unneeded:
                yield edge

    def _without_absent(
        self, candidate: Candidate, edges: list[Edge]
    ) -> tuple[list[Edge], list[Override]]:
        """Return the edges of a candidate except for edges to projects that must be absent.

        The second result has an override for each edge that is left out.
        """
        absent = self.absent_projects
        kept = []
        overrides = []
        for edge in edges:
            if edge.package.kind is not PackageKind.PROJECT or edge.package.name not in absent:
                kept.append(edge)
                continue
            name = text.name(edge.package.name)
            overrides.append(_override(candidate, edge, absent[name]))
        return kept, overrides

    def _with_overrides(
        self, candidate: Candidate, edges: list[Edge]
    ) -> tuple[list[Edge], list[Override]]:
        """Return the edges of a candidate after applying the stack's `overrides`.

        Edges on an overridden project are replaced by the lines about it. Requirements of binaries
        are kept, and so are requirements of a release on its own project. The second result has an
        override for each edge that is replaced by something else.
        """
        if not self.overrides:
            return edges, []
        kept = []
        overrides = []
        # The projects whose lines were added.
        replaced: set[NormalizedName] = set()
        for edge in edges:
            name = text.name(edge.package.name)
            if not self._is_overridden(candidate, edge):
                kept.append(edge)
                continue
            if not edge.package.extra and not self._says_the_same(edge, name):
                where = self._line_of_override(name)
                overrides.append(_override(candidate, edge, where))
            if name not in replaced:
                replaced.add(name)
                kept += self._overriding_edges(candidate, name)
        return kept, overrides

    def _is_overridden(self, candidate: Candidate, edge: Edge) -> bool:
        """Return whether the stack overrides an edge of a candidate."""
        stated = edge.constraint
        if not isinstance(stated, Requires) or stated.source is RequirementSource.LINKAGE:
            return False
        package = edge.package
        is_of_another = (
            package.kind is PackageKind.PROJECT and package.name != candidate.package.name
        )
        return is_of_another and package.name in self.overrides

    def _says_the_same(self, edge: Edge, name: NormalizedName) -> bool:
        """Return whether the only line that overrides an edge has the same requirement."""
        stated = edge.constraint
        lines = [root.need for root in self.overrides[name]]
        texts = [need.without_marker() for need in lines if isinstance(need, Requirement)]
        return isinstance(stated, Requires) and texts == [stated.text]

    def _overriding_edges(self, candidate: Candidate, name: NormalizedName) -> Iterator[Edge]:
        """Yield the edges that replace a candidate's requirements on an overridden project."""
        for root in self.overrides[name]:
            need, line = root.need, root.origin
            assert isinstance(need, Requirement)  # noqa: S101  of a project
            assert isinstance(line, StackLine)  # noqa: S101  and of the stack
            stated = Requires(
                candidate.package,
                need.without_marker(),
                RequirementSource.OVERRIDE,
                override=line,
            )
            yield from _split(need, stated)

    def _line_of_override(self, name: NormalizedName) -> str:
        """Return file:line of the first line that overrides requirements on a project."""
        for root in self.problem.stack.overrides:
            if isinstance(root.need, Requirement) and root.need.name == name:
                return root.origin.where
        raise KeyError(name)

    def _requirement_lines(self, candidate: Candidate) -> ReleaseRequirements:
        """Return the requirement lines of a release, which are read once for all of its extras.

        Raises UnusableReleaseError if its file cannot be used.
        """
        release = candidate.release
        if release not in self._lines:
            try:
                self._lines[release] = self._read(candidate)
            except UnusableReleaseError as error:
                self._lines[release] = error
        lines = self._lines[release]
        if isinstance(lines, UnusableReleaseError):
            raise lines.with_traceback(None)
        return lines

    def _read(self, candidate: Candidate) -> ReleaseRequirements:
        """Read the requirement lines of a release from its file, its commit or facts.

        Raises UnusableReleaseError if they cannot be read, or are not for the target's Python. Some
        of these errors are recorded in `fixable_errors`.
        """
        release = candidate.release
        filename = release.file.filename
        metadata = self._facts_about(candidate, facts.Metadata)
        dynamic = self._dynamic.setdefault(candidate.package.name, [])
        is_known = metadata or release.builds or release.source or release.file.is_wheel
        if not is_known and len(dynamic) >= _IN_VAIN:
            self.fixable_errors[filename] = dynamic[0]
            unopened = RejectionReason.UNOPENED
            raise UnusableReleaseError(unopened, unopened.value)
        try:
            lines = requirement_lines(self.catalog, release, metadata)
        except UnusableFile as error:
            raise UnusableReleaseError(RejectionReason.METADATA, str(error)) from None
        except DynamicArchiveError as error:
            # Another release may be usable. The error is shown only if none is.
            self.fixable_errors[filename] = error
            dynamic.append(error)
            raise UnusableReleaseError(RejectionReason.DYNAMIC, str(DYNAMIC)) from None
        except WrongRelease as error:
            self.fixable_errors[filename] = error
            raise UnusableReleaseError(RejectionReason.METADATA, error.message) from None
        refusal = self._compatibility.python_refusal(lines.requires_python)
        if refusal is not None:
            reason, detail = refusal
            raise UnusableReleaseError(reason, detail)
        return lines

    def _file_edges(self, candidate: Candidate) -> Iterator[Edge]:
        """Yield the edges of a release's file: from its metadata, its build and its binaries.

        Raises UnusableReleaseError if the file cannot be used, if a requirement in it is invalid or
        names an address, or if its binaries cannot be loaded.
        """
        lines = self._requirement_lines(candidate)
        release = candidate.release
        package = candidate.package
        if package.extra:
            yield Edge(package.base, ReleaseMask(1 << release.position), None)
        fact = self._fact_for_metadata(candidate)
        source = RequirementSource.METADATA if fact is None else RequirementSource.FACT
        torch_specifiers = []
        for requirement in self._metadata_requirements(candidate, lines.requires):
            if requirement.name == TORCH:
                torch_specifiers.append(requirement.specifier)
            stated = Requires(package, requirement.without_marker(), source, fact)
            yield from _split(requirement, stated)
        if package.extra:
            return
        yield from self._build_edges(candidate, lines.build_requires)
        assumed = self.linked.get(text.name(package.name))
        yield from self.linkage.edges(candidate, torch_specifiers, assumed)

    def _metadata_requirements(
        self, candidate: Candidate, lines: tuple[str, ...]
    ) -> Iterator[Requirement]:
        """Yield the requirements in a release's metadata that apply and that no fact drops.

        A requirement on its own project without extras is not yielded, since the version is already
        known. Raises UnusableReleaseError if the version does not meet it, or if a requirement is
        invalid or names an address.
        """
        package = candidate.package
        dropped: set[str] = set()
        for fact in self._facts_about(candidate, facts.Replaces):
            dropped.update(fact.drop)
        possible = self._markers.lines_for(candidate.release.file.filename, lines, package.extra)
        for requirement in self._applying(possible, package.extra, dropped, "metadata", "it needs"):
            if requirement.name != package.name or requirement.extras:
                yield requirement
            elif not requirement.specifier.contains(candidate.version, prereleases=True):
                why = f"it needs `{requirement}` of itself"
                raise UnusableReleaseError(RejectionReason.METADATA, why)

    def _fact_for_metadata(self, candidate: Candidate) -> facts.Fact | None:
        """Return the fact that states a release's requirements instead of metadata; None if none.

        It is a `sources`, `builds` or `metadata` fact.
        """
        release = candidate.release
        if release.source is not None or release.builds is not None:
            return _recipe(release)
        if release.file.is_wheel:
            return None
        return next(iter(self._facts_about(candidate, facts.Metadata)), None)

    def _build_edges(self, candidate: Candidate, lines: tuple[str, ...]) -> Iterator[Edge]:
        """Yield the edges of a release's build, if it is built in the target environment."""
        release = candidate.release
        package = candidate.package
        if not is_built_here(release):
            return
        recipe = _recipe(release)
        for requirement in self._applying(
            lines, "", {package.name}, "build-system.requires", "its build needs"
        ):
            line = requirement.without_marker()
            stated = Requires(package, line, RequirementSource.BUILD, recipe)
            yield from _split(requirement, stated)

    def _applying(
        self,
        lines: Iterable[str],
        extra: str,
        dropped: Collection[str],
        where: str,
        who_needs: str,
    ) -> Iterator[Requirement]:
        """Yield the requirements in lines that apply, and are not on `dropped` projects.

        `extra` is the extra whose requirements are wanted; empty for none. `where` and `who_needs`
        are words for errors, such as "metadata" and "it needs". Raises UnusableReleaseError for a
        line that is no requirement, or that names an address.
        """
        for line in lines:
            try:
                requirement = self._markers.evaluate(line, extra)
            except InvalidRequirement:
                why = f"`{without_secrets(line)}` in its {where} is not a requirement"
                raise UnusableReleaseError(RejectionReason.METADATA, why) from None
            if requirement is None or requirement.name in dropped:
                continue
            if requirement.url:
                # The address may have a password.
                why = f"{who_needs} `{requirement.name} @ …`, and addresses are not supported"
                raise UnusableReleaseError(RejectionReason.DIRECT, why)
            yield requirement

    def _fact_edges(self, candidate: Candidate) -> Iterator[Edge]:
        """Yield the edges that facts add to a release: requirements, bounds and modules.

        A release whose file cannot be used has them, too.
        """
        package = candidate.package
        about = self._facts_about(candidate, facts.Fact)
        replacing = [fact for fact in about if isinstance(fact, facts.Replaces)]
        # Facts that add requirements come before facts that replace requirements of metadata.
        about.sort(key=lambda fact: isinstance(fact, facts.Replaces))
        for fact in about:
            needs = fact.needs_for(candidate.release)
            for need in facts.needs_kept(fact, needs, replacing):
                stated = Requires(package, str(need), RequirementSource.FACT, fact)
                yield from self._need_edges(need, stated)
        for fact in about:
            for bound in fact.bounds_for(candidate.release):
                if bound.applies(self.problem.target.markers):
                    version = Package(bound.name, "", PackageKind.VERSION)
                    stated = Requires(package, str(bound), RequirementSource.FACT, fact)
                    yield Edge(version, bound.specifier, stated)
        if package.name in self.bounded_projects:
            version = Package(package.name, "", PackageKind.VERSION)
            yield Edge(version, Installed(candidate.version), None)
        yield from self.module_edges(candidate)

    def _extra_bound_edges(self, candidate: Candidate) -> Iterator[Edge]:
        """Yield the edges of the bounds of a release's extras that are in force."""
        name = text.name(candidate.package.name)
        for bound in sorted(self._extra_bounds):
            if bound.project != name:
                continue
            version = Package(bound.other, "", PackageKind.VERSION)
            needs = self.extra_requirements(name, candidate.release, bound.other)
            allowed = [need.specifier for need in needs]
            if bound.since and candidate.version < Version(bound.since):
                allowed.append(SpecifierSet(bound.upper))
            for specifiers in allowed:
                line = f"{bound.other}{specifiers}"
                stated = Requires(candidate.package, line, RequirementSource.METADATA)
                yield Edge(version, specifiers, stated)

    def module_edges(self, candidate: Candidate) -> Iterator[Edge]:
        """Yield an edge for each module that a release and another project both install.

        The module can have only one owner. No metadata is read.
        """
        name = candidate.package.name
        for collision in self.collisions(text.name(name), candidate.version):
            module = Package(collision.module, "", PackageKind.MODULE)
            yield Edge(module, ModuleOwner(name), Exclusive(collision))

    def _facts_about(
        self, candidate: Candidate, kind: type[facts.FactKind]
    ) -> list[facts.FactKind]:
        """Return the facts of a kind about a candidate's release."""
        project = self.project(text.name(candidate.package.name))
        return project.facts_about(candidate.release.position, kind)


def _recipe(release: Release) -> facts.Builds | facts.Sources | None:
    """Return the fact that says how a release is built; None if no fact does."""
    return release.builds if release.source is None else release.source.fact


def _override(candidate: Candidate, edge: Edge, where: str) -> Override:
    """Return an ignored edge of a candidate as an override.

    `where` is the id of the fact, or file:line of the stack, that says that it is ignored.
    """
    stated = edge.constraint
    return Override(
        package=candidate.package.name,
        version=str(candidate.version),
        name=edge.package.name,
        dropped=stated.text if isinstance(stated, Requires) else str(edge.package),
        fact=where,
    )


def _is_range(specifiers: SpecifierSet) -> bool:
    """Return whether a specifier set is not empty, and has no `==` or `===` of one release."""
    return bool(str(specifiers)) and not any(map(text.is_exact, specifiers))


def _unusable(package: Package, rejection: Rejection) -> Edge:
    """Return the edge of a candidate whose file cannot be used. No candidate meets this edge."""
    reason = rejection.reason
    # Archives that were not opened are reported together with archives that were.
    if reason is RejectionReason.UNOPENED:
        reason = RejectionReason.DYNAMIC
    nothing = Package(rejection.filename, "", PackageKind.UNAVAILABLE)
    return Edge(nothing, ReleaseMask(0), Unavailable(package, reason))


def _split(requirement: Requirement, constraint: Constraint) -> Iterator[Edge]:
    """Yield the edges of a requirement on a project: on the project, and on each of the extras."""
    for extra in ("", *requirement.extras):
        yield Edge(Package(requirement.name, extra), requirement.specifier, constraint)
