"""What can be chosen for one problem, and what each choice needs, according to its file and to facts.

It is lazy: metadata is requested when a release is first chosen (`edges`). The search and the complete engine are both
built on it; the independent check is not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from copy import copy
from functools import cached_property

from msgspec.structs import replace
from packaging.markers import UndefinedComparison, UndefinedEnvironmentName
from packaging.requirements import InvalidRequirement
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.errors import InputError, ResolverError, WrongRelease
from resolver.index.protocol import Catalog, UnusableFile
from resolver.model import fact as facts
from resolver.model import text
from resolver.model.dependency import (
    Candidate,
    Edge,
    ModuleOwner,
    NeedLine,
    NeedSource,
    Origin,
    Package,
    PackageKind,
    ReleaseMask,
    SameRelease,
    StackLine,
    Unusable,
)
from resolver.model.lock import Override
from resolver.model.problem import Problem, RootRequirement
from resolver.model.release import RejectionReason, Release
from resolver.model.requirement import ComponentRequirement, Requirement
from resolver.resolve.candidates import Candidates
from resolver.resolve.needs import (
    DYNAMIC,
    DynamicArchiveError,
    MarkerEvaluator,
    ReleaseRequirements,
    is_built_here,
    requirement_lines,
)

# How many of a project's archives without static metadata are opened before older ones are given up.
_IN_VAIN = 3


class _Unfit(Exception):
    """A release cannot be used; the arguments are those of `Unusable`, without the file's name."""


class Universe(Candidates):
    """The candidates of a problem and their edges. `refused` has the errors of files that a fact could make usable."""

    def __init__(
        self, problem: Problem, catalog: Catalog, preferred: Mapping[NormalizedName, Version] | None = None
    ) -> None:
        super().__init__(problem, catalog, preferred)
        self._relevant = MarkerEvaluator(problem.target.markers)
        self.requirements = self._relevant.among
        self.fixable_errors: dict[str, ResolverError] = {}
        self._known: dict[Candidate, tuple[Edge, ...]] = {}
        self._read: dict[Release, ReleaseRequirements | _Unfit] = {}
        self._dynamic: dict[str, list[DynamicArchiveError]] = {}  # by project
        self._left_out: dict[Candidate, tuple[Override, ...]] = {}
        self._narrow: tuple[Edge, ...] = ()

    def variant(self, problem: Problem, preferred: Mapping[NormalizedName, Version] | None = None) -> Universe:
        """The universe of another problem, over the same catalog.

        If only the stack's lines differ, all that is known is shared: an attribute that depends on them, or on what is
        preferred, must be replaced below.
        """
        fresh = Universe(problem, self.catalog, preferred)
        fresh._ordered, fresh._made = self._ordered, self._made
        here, there = (
            [(name, source) for name, (_, source) in one.sources.items()] + sorted(one.absent) for one in (self, fresh)
        )
        of_this_stack = replace(
            problem, stack=self.problem.stack, digest=self.problem.digest, sources=self.problem.sources
        )
        if of_this_stack != self.problem or here != there:
            return fresh
        other = copy(self)
        other.problem = problem
        other.sources = fresh.sources
        other.preferred = fresh.preferred
        return other

    def with_line(self, line: str, where: str, preferred: Mapping[NormalizedName, Version] | None = None) -> Universe:
        """The universe of the stack with one more line."""
        stack = self.problem.stack
        root = RootRequirement(need=text.requirement(line), origin=StackLine(line, where))
        stack = replace(stack, requirements=(*stack.requirements, root))
        return self.variant(replace(self.problem, stack=stack), preferred)

    def narrowed(self, releases: Mapping[Package, int], choices: Mapping[Package, Candidate]) -> Universe:
        """The same universe for a stack that asks for certain releases, as masks, of projects that it asks for.

        `choices` are preferred.
        """
        other = copy(self)
        origins = {edge.package.base: edge.origin for edge in self.roots()}
        other._narrow = tuple(Edge(package, ReleaseMask(mask), origins[package]) for package, mask in releases.items())
        other.preferred = {
            text.name(package.name): one.version
            for package, one in choices.items()
            if package.kind is PackageKind.PROJECT
        }
        return other

    # --- what is wanted

    def roots(self) -> tuple[Edge, ...]:
        """The edges of the stack's lines; components of the target are not among them."""
        asked = [edge for root in self.problem.stack.requirements for edge in self._of_need(root.need, root.origin)]
        return (*asked, *self._narrow)

    @cached_property
    def absent(self) -> Mapping[NormalizedName, str]:
        """The projects on which requirements do not count, each with a fact's id or the file:line of the stack's row.

        A fact applies if the stack itself names its project, the fact is about every release that those lines admit,
        and the stack does not require the other project: so this is known before anything is chosen.
        """
        found = {row.package: row.where for row in self.problem.stack.absent}
        for fact in self.problem.facts:
            if not isinstance(fact, facts.Absent) or self.problem.requirements_on(fact.other):
                continue
            if asked := [edge for edge in self.roots() if edge.package.base == Package(fact.package)]:
                project = self.project(fact.package)
                admitted = [project.versions[at] for at in project.positions(self.demand(*asked).mask)]
                if admitted and all(map(fact.applies_to, admitted)):
                    found.setdefault(fact.other, fact.id)
        return found

    # --- what a choice needs, and what is known of that

    def edges(self, candidate: Candidate) -> tuple[Edge, ...]:
        """What a candidate requires. The first call reads its metadata."""
        if candidate not in self._known:
            self._known[candidate] = self._look(candidate)
        return self._known[candidate]

    def opened(self, candidate: Candidate) -> bool:
        """Whether a candidate's metadata was read."""
        return candidate in self._known

    def provides(self, candidate: Candidate, extra: str) -> bool:
        """Whether the metadata of a candidate whose edges are known has the extra (Provides-Extra)."""
        lines = self._read.get(candidate.release)
        return isinstance(lines, ReleaseRequirements) and extra in {text.name(one) for one in lines.extras}

    def overrides_of(self, candidate: Candidate) -> tuple[Override, ...]:
        """The requirements of a candidate with known edges that are not followed, as the project must be absent."""
        return self._left_out.get(candidate, ())

    def opened_candidates(self) -> Iterable[Candidate]:
        """The candidates whose metadata was read."""
        return self._known.keys()

    def _of_need(self, need: facts.Need, origin: StackLine | NeedLine) -> Iterator[Edge]:
        """The edges of a line of the stack or a fact."""
        match need:
            case ComponentRequirement():
                # a component that the target does not state cannot fail; the lock warns
                if need.component in self.problem.target.system:
                    yield Edge(Package(need.component, "", PackageKind.COMPONENT), need, origin)
            case Requirement():
                if text.depends_on_kernel(str(need.marker)):
                    raise InputError(
                        f"the marker of `{need}` cannot be evaluated",
                        where=origin.where,
                        why="It depends on the machine's kernel, which is unknown when locking.",
                        hint="leave `platform_release` and `platform_version` out of the marker",
                    )
                try:
                    counts = need.marker is None or need.marker.evaluate(self.problem.target.markers)
                except (UndefinedComparison, UndefinedEnvironmentName) as error:
                    raise InputError(
                        f"the marker of `{need}` cannot be evaluated",
                        where=origin.where,
                        why=str(error),
                        hint="a marker compares a variable of PEP 508 with a text, such as `python_version < '3.12'`",
                    ) from None
                if counts:
                    yield from _split(need, origin)

    def _look(self, candidate: Candidate) -> tuple[Edge, ...]:
        release = candidate.chosen
        if candidate.package.kind is not PackageKind.PROJECT or not isinstance(release, Release):
            return ()
        try:
            needs = tuple(self._needs(candidate, release))
        except _Unfit as error:
            origin = Unusable(release.file.filename, *error.args)
            needs = (Edge(Package(origin.filename, "", PackageKind.UNAVAILABLE), ReleaseMask(0), origin),)
        edges = needs if candidate.package.extra else (*needs, *self._stated(candidate, release))
        absent = self.absent
        kept = tuple(
            edge for edge in edges if edge.package.kind is not PackageKind.PROJECT or edge.package.name not in absent
        )
        if len(kept) < len(edges):
            gone = set(edges).difference(kept)
            self._left_out[candidate] = tuple(
                Override(
                    package=candidate.package.name,
                    version=str(release.version),
                    name=edge.package.name,
                    dropped=getattr(edge.origin, "text", str(edge.package)),
                    fact=absent[text.name(edge.package.name)],
                )
                for edge in edges
                if edge in gone
            )
        return kept

    def _lines(self, candidate: Candidate) -> ReleaseRequirements:
        """The lines of a release, read once for all of its extras; raises _Unfit."""
        if candidate.release not in self._read:
            try:
                self._read[candidate.release] = self._open(candidate)
            except _Unfit as error:
                self._read[candidate.release] = error
        known = self._read[candidate.release]
        if isinstance(known, _Unfit):
            raise known.with_traceback(None)
        return known

    def _open(self, candidate: Candidate) -> ReleaseRequirements:
        release, filename = candidate.release, candidate.release.file.filename
        stated = self._facts_about(candidate, facts.Metadata)
        dynamic = self._dynamic.setdefault(candidate.package.name, [])
        if len(dynamic) >= _IN_VAIN and not (stated or release.builds or release.source or release.file.is_wheel):
            self.fixable_errors[filename] = dynamic[0]
            raise _Unfit(RejectionReason.UNOPENED, RejectionReason.UNOPENED.value)
        try:
            lines = requirement_lines(self.catalog, release, stated)
        except UnusableFile as error:
            raise _Unfit(RejectionReason.METADATA, str(error)) from None
        except DynamicArchiveError as error:
            # not fatal yet, as another release may do; fatal if the whole lock fails because of it
            self.fixable_errors[filename] = error
            dynamic.append(error)
            raise _Unfit(RejectionReason.DYNAMIC, DYNAMIC) from None
        except WrongRelease as error:
            self.fixable_errors[filename] = error
            raise _Unfit(RejectionReason.METADATA, error.message) from None
        if (refusal := self._compatibility.python_refusal(lines.requires_python)) is not None:
            raise _Unfit(*refusal)
        return lines

    def _needs(self, candidate: Candidate, release: Release) -> Iterator[Edge]:
        """What a release's lines require; raises _Unfit if one of them cannot be followed."""
        lines, parent, package = self._lines(candidate), str(candidate), candidate.package
        if package.extra:
            own = SameRelease(parent, f"{package.base} {release.version}")
            yield Edge(package.base, ReleaseMask(1 << release.position), own)
        dropped = {name for fact in self._facts_about(candidate, facts.Replaces) for name in fact.drop}
        fact: facts.Fact | None = release.source.fact if release.source is not None else release.builds
        stated = self._facts_about(candidate, facts.Metadata)
        spoken_by = stated[0] if stated and not release.file.is_wheel else None
        of_file = self._relevant.of(release.file.filename, lines.requires, package.extra)
        for requirement in self._followed(of_file, package.extra, dropped, "metadata", "it needs"):
            if requirement.name == package.name and not requirement.extras:
                if not requirement.specifier.contains(release.version, prereleases=True):
                    raise _Unfit(RejectionReason.METADATA, f"it needs `{requirement}` of itself")
                continue
            what = requirement.without_marker()
            origin = NeedLine(NeedSource.METADATA, parent, what, release.file.filename, spoken_by)
            if fact is not None:
                origin = NeedLine(NeedSource.FACT, parent, what, fact=fact)
            yield from _split(requirement, origin)
        tools = lines.build_requires if not package.extra and is_built_here(release) else ()
        itself = {package.name}
        for requirement in self._followed(tools, "", itself, "build-system.requires", "its build needs"):
            what = requirement.without_marker()
            yield from _split(requirement, NeedLine(NeedSource.BUILD, parent, what, release.file.filename, fact))

    def _followed(
        self, lines: Iterable[str], extra: str, overrides_of: Collection[str], where: str, who: str
    ) -> Iterator[Requirement]:
        """The requirements of lines that apply, on other projects than those that are `overrides_of`.

        Raises _Unfit for one that cannot be read, or names an address.
        """
        for line in lines:
            try:
                requirement = self._relevant(line, extra)
            except InvalidRequirement:
                raise _Unfit(RejectionReason.METADATA, f"`{line}` in its {where} is not a requirement") from None
            if requirement is None or requirement.name in overrides_of:
                continue
            if requirement.url:
                raise _Unfit(RejectionReason.DIRECT, f"{who} `{requirement}`, and addresses are not supported")
            yield requirement

    def _stated(self, candidate: Candidate, release: Release) -> Iterator[Edge]:
        """What facts say a release requires and owns, which applies whether or not its file can be read."""
        parent, replaced = str(candidate), self._facts_about(candidate, facts.Replaces)
        stated: list[tuple[facts.Fact, tuple[facts.Need, ...]]] = [
            (fact, facts.needs_kept(fact, replaced))
            for fact in self._facts_about(candidate, facts.Requires)
            if release.file.is_wheel or not fact.wheels
        ]
        for fact, needs in (*stated, *((fact, fact.add) for fact in replaced)):
            for need in needs:
                yield from self._of_need(need, NeedLine(NeedSource.FACT, parent, str(need), fact=fact))
        for collision in self.collisions(text.name(candidate.package.name), release.version):
            origin = NeedLine(NeedSource.FACT, parent, f"the module `{collision.module}` for itself", fact=collision)
            yield Edge(Package(collision.module, "", PackageKind.MODULE), ModuleOwner(candidate.package.name), origin)

    def _facts_about(self, candidate: Candidate, kind: type[facts.FactKind]) -> list[facts.FactKind]:
        return self.project(text.name(candidate.package.name)).facts_about(candidate.release.position, kind)


def _split(requirement: Requirement, origin: Origin) -> Iterator[Edge]:
    """An edge for the project, and one for each extra."""
    yield Edge(Package(requirement.name), requirement.specifier, origin)
    for extra in requirement.extras:
        yield Edge(Package(requirement.name, extra), requirement.specifier, origin)
