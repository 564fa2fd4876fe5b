"""What can be chosen for one problem, and what each choice needs, according to its file and to facts.

It is lazy: metadata is requested when a release is first chosen (`edges`). The search and the
complete engine are both built on it; the independent check is not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property
from typing import NamedTuple

from msgspec.structs import replace
from packaging.requirements import InvalidRequirement
from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.errors import ResolverError, WrongRelease
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
from resolver.resolve.candidates import Candidates
from resolver.resolve.linkage import LinkageRules, UnloadableError
from resolver.resolve.needs import (
    DYNAMIC,
    DynamicArchiveError,
    MarkerEvaluator,
    ReleaseRequirements,
    is_built_here,
    requirement_lines,
)
from resolver.resolve.project import Project

# How many of a project's archives without static metadata are opened before older ones are given
# up.
_IN_VAIN = 3


class _UnusableRelease(Exception):
    """A release cannot be used; the arguments are those of `Rejection` after the file's name."""


class ExtraBound(NamedTuple):
    """A project whose extra of the name of another one bounds that (see `soft_requirements`)."""

    # the project with the extra
    project: NormalizedName
    # the extra, and the project that it bounds
    other: NormalizedName
    # specifiers that releases of `project` older than `since` are held to as well; empty for none
    upper: str = ""
    since: str = ""


class Universe(Candidates):
    """The candidates of a problem and their edges.

    `fixable_errors` are of files that a fact could make usable.
    """

    def __init__(
        self,
        problem: Problem,
        catalog: Catalog,
        preferred: Mapping[NormalizedName, Version] | None = None,
    ) -> None:
        super().__init__(problem, catalog, preferred)
        self._markers = MarkerEvaluator(problem.target.markers)
        self.requirements = self._markers.requirements
        self.fixable_errors: dict[str, ResolverError] = {}  # by file name
        # why the file of a candidate that was opened cannot be used
        self.rejections: dict[Candidate, Rejection] = {}
        self._edges: dict[Candidate, tuple[Edge, ...]] = {}
        self._lines: dict[Release, ReleaseRequirements | _UnusableRelease] = {}
        self._dynamic: dict[str, list[DynamicArchiveError]] = {}  # by project
        self._overrides: dict[Candidate, tuple[Override, ...]] = {}
        self._mask_edges: tuple[Edge, ...] = ()  # further roots
        self._extra_bounds: frozenset[ExtraBound] = frozenset()
        # projects taken to be linked with torch, each with the libraries of other projects that
        # count as there
        self.linked: dict[NormalizedName, frozenset[str]] = {}
        self.decided_first: frozenset[NormalizedName] = frozenset()
        self.is_answer_final = True  # whether the same pages lead to the same answer
        self.linkage = LinkageRules(self)

    def variant(
        self, problem: Problem, preferred: Mapping[NormalizedName, Version] | None = None
    ) -> Universe:
        """The universe of another problem, over the same catalog.

        If only the stack's lines differ, all caches are shared: an attribute that depends on them,
        or on what is preferred, must be replaced below.
        """
        fresh = Universe(problem, self.catalog, preferred)
        fresh._ordered, fresh._shared = self._ordered, self._shared
        old, new = (
            [(name, source) for name, (_, source) in universe.sources.items()]
            + sorted(universe.excluded_projects)
            for universe in (self, fresh)
        )
        with_this_stack = replace(
            problem,
            stack=self.problem.stack,
            digest=self.problem.digest,
            sources=self.problem.sources,
        )
        if with_this_stack != self.problem or old != new:
            return fresh
        variant = copy(self)
        variant.problem, variant.sources, variant.preferred = (
            problem,
            fresh.sources,
            fresh.preferred,
        )
        variant.__dict__.pop("as_of", None)  # it follows from the lines
        return variant

    def with_line(
        self, line: str, where: str, preferred: Mapping[NormalizedName, Version] | None = None
    ) -> Universe:
        """The universe of the stack with one more line."""
        stack = self.problem.stack
        root = RootRequirement(need=text.requirement(line), origin=StackLine(line, where))
        stack = replace(stack, requirements=(*stack.requirements, root))
        variant = self.variant(replace(self.problem, stack=stack), preferred)
        variant.as_of = self.as_of  # a line that only asks "what if?" does not change the day
        return variant

    def narrowed(
        self, releases: Mapping[Package, int], choices: Mapping[Package, Candidate]
    ) -> Universe:
        """The universe for a stack that admits only certain releases, as masks, of the projects that it requires.

        `choices` are preferred.
        """
        lines = {edge.package.base: edge.constraint for edge in self.roots()}
        narrowed = copy(self)
        narrowed._mask_edges = tuple(
            Edge(name, ReleaseMask(mask), lines[name]) for name, mask in releases.items()
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
        """Return the universe in which these bounds hold as well, and binaries of the `linked` projects must load.

        For each of these, libraries of other projects are given, which count as there.
        """
        variant = copy(self)
        variant._extra_bounds = self._extra_bounds.union(bounds)
        variant.linked = {**self.linked, **linked}
        variant.bounded_projects = self.bounded_projects.union(
            bound.other for bound in variant._extra_bounds
        )
        variant._edges = {}
        variant._overrides = {}
        variant.rejections = {}
        return variant

    def deciding_first(
        self, projects: Iterable[NormalizedName], pins: Mapping[NormalizedName, Version]
    ) -> Universe:
        """Return the universe in which these projects are decided before all others that are required with them.

        The `pins` of other projects are preferred.
        """
        variant = copy(self)
        variant.decided_first = frozenset(projects)
        variant.preferred = {
            name: version for name, version in pins.items() if name not in variant.decided_first
        }
        return variant

    # --- what the stack requires

    def roots(self) -> tuple[Edge, ...]:
        """The edges of the stack's lines."""
        edges = [
            edge
            for root in self.problem.stack.requirements
            for edge in self._of_need(root.need, root.origin)
        ]
        return (*edges, *self._mask_edges)

    @cached_property
    def excluded_projects(self) -> Mapping[NormalizedName, str]:
        """The projects on which requirements do not count, each with a fact's id or the file:line of the stack's row.

        A fact applies if the stack itself names its project, the fact is about every release that
        those lines and the target's components admit, and the stack does not require the other
        project: so this is known before anything is chosen.
        """
        absent = {row.package: row.where for row in self.problem.stack.absent}
        for fact in self.problem.facts:
            if not isinstance(fact, facts.Absent) or self.problem.requirements_on(fact.other):
                continue
            if edges := [
                edge for edge in self.roots() if edge.package.base == Package(fact.package)
            ]:
                project = self.project(fact.package)
                positions = project.positions(self.demand(*edges).mask)
                admitted = [
                    project.versions[at] for at in positions if self._runs_on_target(project, at)
                ]
                if admitted and all(map(fact.applies_to, admitted)):
                    absent.setdefault(fact.other, fact.id)
        return absent

    def _runs_on_target(self, project: Project, position: int) -> bool:
        """Return whether the components of the target meet what facts require of them for a release.

        What only its wheels require does not count, as it may be built from source.
        """
        for fact in project.facts_about(position, facts.Requires):
            if fact.wheels:
                continue
            for need in facts.component_requirements(fact.needs):
                value = self.problem.target.system.get(need.component)
                if value is not None and not need.allows(value):
                    return False
        return True

    # --- what a candidate requires

    def edges(self, candidate: Candidate) -> tuple[Edge, ...]:
        """What a candidate requires. The first call reads its metadata."""
        if candidate not in self._edges:
            self._edges[candidate] = self._edges_of(candidate)
        return self._edges[candidate]

    def opened(self, candidate: Candidate) -> bool:
        """Whether a candidate's metadata was read."""
        return candidate in self._edges

    def provides(self, candidate: Candidate, extra: str) -> bool:
        """Whether the metadata of a candidate that was opened has the extra (Provides-Extra)."""
        lines = self._lines.get(candidate.release)
        return isinstance(lines, ReleaseRequirements) and any(
            text.name(provided) == extra for provided in lines.extras
        )

    def extras_of(self, name: NormalizedName, release: Release) -> tuple[NormalizedName, ...]:
        """Return the extras that the metadata of a release declares; none if it cannot be read."""
        lines = self._readable_lines(name, release)
        return tuple(map(text.name, lines.extras)) if lines is not None else ()

    def extra_requirements(
        self, name: NormalizedName, release: Release, extra: NormalizedName
    ) -> list[Requirement]:
        """Return the bounds that an extra of a release puts on the project of the extra's name, as far as they count.

        Facts go before them: a bound does not count if a fact about this release names the other
        project, or one about the other project names this one. Neither does a pin (`vllm==0.10.1`):
        it says what was tried, not what works.
        """
        lines = self._readable_lines(name, release)
        if lines is None or self._is_spoken_of(name, release.version, extra):
            return []
        needs = self._markers.requirements(release.file.filename, lines.requires, extra)
        return [
            need
            for need in needs
            if need.name == extra and not need.url and _is_range(need.specifier)
        ]

    def _is_spoken_of(self, name: NormalizedName, version: Version, other: NormalizedName) -> bool:
        """Return whether a fact about a release names another project, or one about that project names this one."""
        for fact in self.problem.facts:
            if fact.is_about(name, version) and other in fact.named_projects:
                return True
            if fact.package == other and name in fact.named_projects:
                return True
        return False

    def _readable_lines(self, name: NormalizedName, release: Release) -> ReleaseRequirements | None:
        try:
            return self._requirement_lines(self.candidate_for(Package(name), release))
        except _UnusableRelease:
            return None

    def overrides_of(self, candidate: Candidate) -> tuple[Override, ...]:
        """The requirements of a candidate that was opened that are not followed, as the project must be absent."""
        return self._overrides.get(candidate, ())

    def opened_candidates(self) -> Iterable[Candidate]:
        """The candidates whose metadata was read."""
        return self._edges.keys()

    def _of_need(self, need: facts.Need, constraint: Line | Requires) -> Iterator[Edge]:
        if isinstance(need, ComponentRequirement):
            # a component that the target does not state cannot fail; the lock warns
            if need.component in self.problem.target.system:
                yield Edge(Package(need.component, "", PackageKind.COMPONENT), need, constraint)
            return
        if need.marker is None or need.marker.evaluate(self.problem.target.markers):
            yield from _split(need, constraint)

    def _edges_of(self, candidate: Candidate) -> tuple[Edge, ...]:
        release = candidate.chosen
        if candidate.package.kind is not PackageKind.PROJECT or not isinstance(release, Release):
            return ()
        try:
            edges = tuple(self._of_lines(candidate, release))
        except _UnusableRelease as error:
            rejection = self.rejections[candidate] = Rejection(release.file.filename, *error.args)
            edges = (_unusable(candidate.package, rejection),)
        if not candidate.package.extra:
            edges += (
                *self._of_facts(candidate, release),
                *self._of_extra_bounds(candidate, release),
            )
        absent = self.excluded_projects
        dropped = dict.fromkeys(
            edge
            for edge in edges
            if edge.package.kind is PackageKind.PROJECT and edge.package.name in absent
        )
        if dropped:
            edges = tuple(edge for edge in edges if edge not in dropped)
            self._overrides[candidate] = tuple(
                Override(
                    package=candidate.package.name,
                    version=str(release.version),
                    name=edge.package.name,
                    dropped=getattr(edge.constraint, "text", str(edge.package)),
                    fact=absent[text.name(edge.package.name)],
                )
                for edge in dropped
            )
        return edges

    def _requirement_lines(self, candidate: Candidate) -> ReleaseRequirements:
        """The lines of a release, read once for all of its extras; raises _UnusableRelease."""
        release = candidate.release
        if release not in self._lines:
            try:
                self._lines[release] = self._read(candidate)
            except _UnusableRelease as error:
                self._lines[release] = error
        lines = self._lines[release]
        if isinstance(lines, _UnusableRelease):
            raise lines.with_traceback(None)
        return lines

    def _read(self, candidate: Candidate) -> ReleaseRequirements:
        release, filename = candidate.release, candidate.release.file.filename
        metadata = self._facts_about(candidate, facts.Metadata)
        dynamic = self._dynamic.setdefault(candidate.package.name, [])
        if len(dynamic) >= _IN_VAIN and not (
            metadata or release.builds or release.source or release.file.is_wheel
        ):
            self.fixable_errors[filename] = dynamic[0]
            raise _UnusableRelease(RejectionReason.UNOPENED, RejectionReason.UNOPENED.value)
        try:
            lines = requirement_lines(self.catalog, release, metadata)
        except UnusableFile as error:
            raise _UnusableRelease(RejectionReason.METADATA, str(error)) from None
        except DynamicArchiveError as error:
            # another release may do; the whole lock fails only if none does
            self.fixable_errors[filename] = error
            dynamic.append(error)
            raise _UnusableRelease(RejectionReason.DYNAMIC, DYNAMIC) from None
        except WrongRelease as error:
            self.fixable_errors[filename] = error
            raise _UnusableRelease(RejectionReason.METADATA, error.message) from None
        if (refusal := self._compatibility.python_refusal(lines.requires_python)) is not None:
            raise _UnusableRelease(*refusal)
        return lines

    def _of_lines(self, candidate: Candidate, release: Release) -> Iterator[Edge]:
        """What a release's lines require; raises _UnusableRelease if one of them cannot be followed."""
        lines, package = self._requirement_lines(candidate), candidate.package
        filename = release.file.filename
        if package.extra:
            yield Edge(package.base, ReleaseMask(1 << release.position), None)
        dropped = {
            name for fact in self._facts_about(candidate, facts.Replaces) for name in fact.drop
        }
        recipe: facts.Fact | None = release.builds
        if release.source is not None:
            recipe = release.source.fact
        stated_by = recipe
        if stated_by is None and not release.file.is_wheel:
            stated_by = next(iter(self._facts_about(candidate, facts.Metadata)), None)
        source = RequirementSource.METADATA if stated_by is None else RequirementSource.FACT
        requires = self._markers.lines_for(filename, lines.requires, package.extra)
        of_torch = []
        for requirement in self._applying(requires, package.extra, dropped, "metadata", "it needs"):
            if requirement.name == package.name and not requirement.extras:
                if not requirement.specifier.contains(release.version, prereleases=True):
                    raise _UnusableRelease(
                        RejectionReason.METADATA, f"it needs `{requirement}` of itself"
                    )
                continue
            if requirement.name == TORCH:
                of_torch.append(requirement.specifier)
            need = requirement.without_marker()
            yield from _split(requirement, Requires(package, need, source, stated_by))
        tools = lines.build_requires if not package.extra and is_built_here(release) else ()
        for requirement in self._applying(
            tools, "", {package.name}, "build-system.requires", "its build needs"
        ):
            need = requirement.without_marker()
            yield from _split(requirement, Requires(package, need, RequirementSource.BUILD, recipe))
        if not package.extra:
            yield from self._of_binaries(candidate, of_torch)

    def _of_binaries(
        self, candidate: Candidate, of_torch: Sequence[SpecifierSet]
    ) -> Iterator[Edge]:
        """Yield what the binaries of a release require.

        Raises _UnusableRelease if they cannot be loaded.

        `of_torch` is what its metadata requires of torch.
        """
        try:
            assumed = self.linked.get(text.name(candidate.package.name))
            yield from self.linkage.edges(candidate, of_torch, assumed)
        except UnloadableError as error:
            raise _UnusableRelease(*error.args) from None

    def _applying(
        self, lines: Iterable[str], extra: str, dropped: Collection[str], where: str, who: str
    ) -> Iterator[Requirement]:
        """The requirements of lines that apply, except those on `dropped` projects.

        Raises _UnusableRelease for one that cannot be read, or names an address.
        """
        for line in lines:
            try:
                requirement = self._markers.evaluate(line, extra)
            except InvalidRequirement:
                raise _UnusableRelease(
                    RejectionReason.METADATA, f"`{line}` in its {where} is not a requirement"
                ) from None
            if requirement is None or requirement.name in dropped:
                continue
            if requirement.url:
                raise _UnusableRelease(
                    RejectionReason.DIRECT,
                    f"{who} `{requirement}`, and addresses are not supported",
                )
            yield requirement

    def _of_facts(self, candidate: Candidate, release: Release) -> Iterator[Edge]:
        """What facts say a release requires and owns, which applies whether or not its file can be read."""
        package, about = candidate.package, self._facts_about(candidate, facts.Fact)
        replacing = [fact for fact in about if isinstance(fact, facts.Replaces)]
        # what facts add comes before what stands in for metadata
        about.sort(key=lambda fact: isinstance(fact, facts.Replaces))
        for fact in about:
            for need in facts.needs_kept(fact, fact.needs_for(release), replacing):
                stated = Requires(package, str(need), RequirementSource.FACT, fact)
                yield from self._of_need(need, stated)
        for fact in about:
            for bound in fact.bounds_for(release):
                if bound.marker is None or bound.marker.evaluate(self.problem.target.markers):
                    bounded = Package(bound.name, "", PackageKind.VERSION)
                    stated = Requires(package, str(bound), RequirementSource.FACT, fact)
                    yield Edge(bounded, bound.specifier, stated)
        if package.name in self.bounded_projects:
            version = Package(package.name, "", PackageKind.VERSION)
            yield Edge(version, Installed(release.version), None)
        yield from self.module_edges(candidate)

    def _of_extra_bounds(self, candidate: Candidate, release: Release) -> Iterator[Edge]:
        """Yield the bounds in force that the extras of a release put on other projects."""
        name = text.name(candidate.package.name)
        for bound in sorted(self._extra_bounds):
            if bound.project != name:
                continue
            package = Package(bound.other, "", PackageKind.VERSION)
            allowed = [
                need.specifier for need in self.extra_requirements(name, release, bound.other)
            ]
            if bound.since and release.version < Version(bound.since):
                allowed.append(SpecifierSet(bound.upper))
            for specifiers in allowed:
                line = f"{bound.other}{specifiers}"
                stated = Requires(candidate.package, line, RequirementSource.METADATA)
                yield Edge(package, specifiers, stated)

    def module_edges(self, candidate: Candidate) -> Iterator[Edge]:
        """Yield an edge for each module that a release owns together with another project; reads no metadata."""
        name = candidate.package.name
        for collision in self.collisions(text.name(name), candidate.version):
            module = Package(collision.module, "", PackageKind.MODULE)
            yield Edge(module, ModuleOwner(name), Exclusive(collision))

    def _facts_about(
        self, candidate: Candidate, kind: type[facts.FactKind]
    ) -> list[facts.FactKind]:
        return self.project(text.name(candidate.package.name)).facts_about(
            candidate.release.position, kind
        )


def _is_range(specifiers: SpecifierSet) -> bool:
    """Return whether specifiers bound a version, and none of them names one release."""
    return bool(str(specifiers)) and not any(map(text.is_exact, specifiers))


def _unusable(package: Package, rejection: Rejection) -> Edge:
    """Return the edge of a candidate whose file cannot be used."""
    # files that were not opened are reported together with those that were
    is_unopened = rejection.reason is RejectionReason.UNOPENED
    reason = RejectionReason.DYNAMIC if is_unopened else rejection.reason
    nothing = Package(rejection.filename, "", PackageKind.UNAVAILABLE)
    return Edge(nothing, ReleaseMask(0), Unavailable(str(package), reason))


def _split(requirement: Requirement, constraint: Constraint) -> Iterator[Edge]:
    """Yield the edges of a requirement: on its project, and on each of its extras."""
    yield Edge(Package(requirement.name), requirement.specifier, constraint)
    for extra in requirement.extras:
        yield Edge(Package(requirement.name, extra), requirement.specifier, constraint)
