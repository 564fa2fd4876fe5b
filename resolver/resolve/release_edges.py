"""The edges of one release: by its file, by facts, and by what the stack overrides.

`universe` asks for them when a candidate is opened.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from packaging.requirements import InvalidRequirement
from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.model import fact as facts
from resolver.model import text
from resolver.model.constraint import (
    Constraint,
    Line,
    ReleaseRequires,
    RequirementSource,
    StackLine,
    Unavailable,
)
from resolver.model.dependency import Candidate, Edge, Installed, ReleaseMask
from resolver.model.linkage import TORCH
from resolver.model.lock import Override
from resolver.model.package import Package, PackageKind
from resolver.model.release import Rejection, RejectionReason, Release
from resolver.model.requirement import ComponentRequirement, Requirement
from resolver.model.target import Target
from resolver.redaction import without_secrets
from resolver.resolve.needs import UnusableReleaseError, is_built_here

if TYPE_CHECKING:
    from resolver.resolve.universe import Universe


class OpenedCandidate(NamedTuple):
    """What is known of a candidate once it was opened."""

    # Its edges. If its file cannot be used, one of them is met by nothing.
    edges: tuple[Edge, ...]
    # Its requirements that are ignored.
    overrides: tuple[Override, ...] = ()
    # Why its file cannot be used; None if it can.
    rejection: Rejection | None = None


def open_candidate(candidate: Candidate, universe: Universe) -> OpenedCandidate:
    """Read the metadata of a candidate, and return its edges.

    A component or a module has none. Raises IndexFailure if an index does not answer.
    """
    is_project = candidate.package.kind is PackageKind.PROJECT
    if not is_project or not isinstance(candidate.chosen, Release):
        return OpenedCandidate(())
    return _ReleaseEdges(candidate, universe).opened()


def need_edges(
    need: facts.Need, constraint: Line | ReleaseRequires, target: Target
) -> Iterator[Edge]:
    """Yield the edges of a requirement; none if its marker is false on the target."""
    if isinstance(need, ComponentRequirement):
        # If the target does not state the component, nothing can be compared. The lock warns.
        if need.component in target.system:
            yield Edge(Package(need.component, "", PackageKind.COMPONENT), need, constraint)
    elif need.applies(target.markers):
        yield from _edges_with_extras(need, constraint)


class _LineOrigin(NamedTuple):
    """Where requirement lines of a release stand, in the words of errors about them."""

    # The key that has the lines: `metadata`.
    place: str
    # Subject and verb of a sentence about one of them: `it needs`.
    it_needs: str


_METADATA: Final = _LineOrigin("metadata", "it needs")
_BUILD: Final = _LineOrigin("build-system.requires", "its build needs")


class _ReleaseEdges:
    """Finds the edges of one candidate of a project."""

    def __init__(self, candidate: Candidate, universe: Universe) -> None:
        self._candidate = candidate
        self._release = candidate.release
        self._package = candidate.package
        self._name = text.name(candidate.package.name)
        self._universe = universe
        self._target = universe.problem.target

    def opened(self) -> OpenedCandidate:
        """Return the edges by the file, by facts and by the stack's overrides."""
        edges: list[Edge] = []
        rejection = None
        try:
            edges.extend(self._file_edges())
        except UnusableReleaseError as error:
            rejection = Rejection(self._release.file.filename, error.reason, error.detail)
            edges = [_unusable(self._package, rejection)]
        if not self._package.extra:
            edges += self._fact_edges()
            edges += self._extra_bound_edges()
        kept, ignored = self._without_absent(edges)
        kept, overridden = self._with_overrides(kept)
        needed = tuple(self._universe.needed(kept))
        return OpenedCandidate(needed, (*ignored, *overridden), rejection)

    # --- what the stack ignores and overrides

    def _without_absent(self, edges: Iterable[Edge]) -> tuple[list[Edge], list[Override]]:
        """Return the edges except for edges to projects that must be absent.

        The second result has an override for each edge that is left out.
        """
        absent = self._universe.absent_projects
        kept = []
        overrides = []
        for edge in edges:
            if edge.package.kind is not PackageKind.PROJECT or edge.package.name not in absent:
                kept.append(edge)
                continue
            name = text.name(edge.package.name)
            overrides.append(self._override(edge, absent[name]))
        return kept, overrides

    def _with_overrides(self, edges: list[Edge]) -> tuple[list[Edge], list[Override]]:
        """Return the edges after applying the stack's `overrides`.

        Edges on an overridden project are replaced by the lines about it. Requirements of binaries
        are kept, and so are requirements of a release on its own project. The second result has an
        override for each edge that is replaced by something else.
        """
        if not self._universe.overrides:
            return edges, []
        kept = []
        overrides = []
        # The projects whose lines were added.
        replaced: set[NormalizedName] = set()
        for edge in edges:
            name = text.name(edge.package.name)
            if not self._is_overridden(edge):
                kept.append(edge)
                continue
            if not edge.package.extra and not self._says_the_same(edge, name):
                overrides.append(self._override(edge, self._line_of_override(name)))
            if name not in replaced:
                replaced.add(name)
                kept += self._overriding_edges(name)
        return kept, overrides

    def _is_overridden(self, edge: Edge) -> bool:
        """Return whether the stack overrides an edge."""
        constraint = edge.constraint
        if not isinstance(constraint, ReleaseRequires):
            return False
        if constraint.source is RequirementSource.LINKAGE:
            return False
        package = edge.package
        is_of_another = package.kind is PackageKind.PROJECT and package.name != self._package.name
        return is_of_another and package.name in self._universe.overrides

    def _says_the_same(self, edge: Edge, name: NormalizedName) -> bool:
        """Return whether the only line that overrides an edge has the same requirement."""
        constraint = edge.constraint
        lines = [root.need for root in self._universe.overrides[name]]
        texts = [need.without_marker() for need in lines if isinstance(need, Requirement)]
        return isinstance(constraint, ReleaseRequires) and texts == [constraint.text]

    def _overriding_edges(self, name: NormalizedName) -> Iterator[Edge]:
        """Yield the edges that replace the requirements on an overridden project."""
        for root in self._universe.overrides[name]:
            need, line = root.need, root.origin
            assert isinstance(need, Requirement)  # noqa: S101  of a project
            assert isinstance(line, StackLine)  # noqa: S101  and of the stack
            constraint = ReleaseRequires(
                self._package,
                need.without_marker(),
                RequirementSource.OVERRIDE,
                override=line,
            )
            yield from _edges_with_extras(need, constraint)

    def _line_of_override(self, name: NormalizedName) -> str:
        """Return file:line of the first line that overrides requirements on a project."""
        for root in self._universe.problem.stack.overrides:
            if isinstance(root.need, Requirement) and root.need.name == name:
                return root.origin.where
        raise KeyError(name)

    def _override(self, edge: Edge, where: str) -> Override:
        """Return an ignored edge as an override.

        `where` is the id of the fact, or file:line of the stack, that says that it is ignored.
        """
        constraint = edge.constraint
        dropped = constraint.text if isinstance(constraint, ReleaseRequires) else str(edge.package)
        return Override(
            package=self._package.name,
            version=str(self._candidate.version),
            name=edge.package.name,
            dropped=dropped,
            fact=where,
        )

    # --- what the file says

    def _file_edges(self) -> Iterator[Edge]:
        """Yield the edges of the release's file: from its metadata, its build and its binaries.

        Raises UnusableReleaseError if the file cannot be used, if a requirement in it is invalid or
        names an address, or if its binaries cannot be loaded.
        """
        lines = self._universe.lines.lines(self._candidate)
        package = self._package
        if package.extra:
            yield Edge(package.base, ReleaseMask(1 << self._release.position), None)
        fact = self._fact_for_metadata()
        source = RequirementSource.METADATA if fact is None else RequirementSource.FACT
        torch_specifiers = []
        for requirement in self._metadata_requirements(lines.requires):
            if requirement.name == TORCH:
                torch_specifiers.append(requirement.specifier)
            constraint = ReleaseRequires(package, requirement.without_marker(), source, fact)
            yield from _edges_with_extras(requirement, constraint)
        if package.extra:
            return
        yield from self._build_edges(lines.build_requires)
        assumed = self._universe.linked.get(self._name)
        yield from self._universe.linkage.edges(self._candidate, torch_specifiers, assumed)

    def _metadata_requirements(self, lines: Sequence[str]) -> Iterator[Requirement]:
        """Yield the requirements in the metadata that apply and that no fact drops.

        A requirement on its own project without extras is not yielded, since the version is already
        known. Raises UnusableReleaseError if the version does not meet it, or if a requirement is
        invalid or names an address.
        """
        package = self._package
        dropped: set[str] = set()
        for fact in self._universe.facts_about(self._candidate, facts.Replaces):
            dropped.update(fact.drop)
        filename = self._release.file.filename
        possible = self._universe.markers.lines_for(filename, lines, package.extra)
        for requirement in self._applying(possible, package.extra, dropped, _METADATA):
            if requirement.name != package.name or requirement.extras:
                yield requirement
            elif not requirement.specifier.contains(self._candidate.version, prereleases=True):
                why = f"it needs `{requirement}` of itself"
                raise UnusableReleaseError(RejectionReason.METADATA, why)

    def _fact_for_metadata(self) -> facts.Fact | None:
        """Return the fact that states the requirements instead of metadata; None if none does.

        It is a `sources`, `builds` or `metadata` fact.
        """
        release = self._release
        if release.source is not None or release.builds is not None:
            return _recipe(release)
        if release.file.is_wheel:
            return None
        return next(iter(self._universe.facts_about(self._candidate, facts.Metadata)), None)

    def _build_edges(self, lines: Iterable[str]) -> Iterator[Edge]:
        """Yield the edges of the release's build, if it is built in the target environment."""
        if not is_built_here(self._release):
            return
        recipe = _recipe(self._release)
        for requirement in self._applying(lines, "", {self._package.name}, _BUILD):
            line = requirement.without_marker()
            constraint = ReleaseRequires(self._package, line, RequirementSource.BUILD, recipe)
            yield from _edges_with_extras(requirement, constraint)

    def _applying(
        self, lines: Iterable[str], extra: str, dropped: Collection[str], origin: _LineOrigin
    ) -> Iterator[Requirement]:
        """Yield the requirements in lines that apply, and are not on `dropped` projects.

        `extra` is the extra whose requirements are wanted; empty for none. Raises
        UnusableReleaseError for a line that is no requirement, or that names an address.
        """
        for line in lines:
            try:
                requirement = self._universe.markers.evaluate(line, extra)
            except InvalidRequirement:
                why = f"`{without_secrets(line)}` in its {origin.place} is not a requirement"
                raise UnusableReleaseError(RejectionReason.METADATA, why) from None
            if requirement is None or requirement.name in dropped:
                continue
            if requirement.url:
                # The address may have a password.
                needed = f"`{requirement.name} @ …`"
                why = f"{origin.it_needs} {needed}, and addresses are not supported"
                raise UnusableReleaseError(RejectionReason.DIRECT, why)
            yield requirement

    # --- what facts say

    def _fact_edges(self) -> Iterator[Edge]:
        """Yield the edges that facts add to the release: requirements, bounds and modules.

        A release whose file cannot be used has them, too.
        """
        package = self._package
        about = self._universe.facts_about(self._candidate, facts.Fact)
        replacing = [fact for fact in about if isinstance(fact, facts.Replaces)]
        # Facts that add requirements come before facts that replace requirements of metadata.
        about.sort(key=lambda fact: isinstance(fact, facts.Replaces))
        for fact in about:
            needs = fact.needs_for(self._release)
            for need in facts.needs_kept(fact, needs, replacing):
                constraint = ReleaseRequires(package, str(need), RequirementSource.FACT, fact)
                yield from need_edges(need, constraint, self._target)
        for fact in about:
            for bound in fact.bounds_for(self._release):
                if bound.applies(self._target.markers):
                    version = Package(bound.name, "", PackageKind.VERSION)
                    constraint = ReleaseRequires(package, str(bound), RequirementSource.FACT, fact)
                    yield Edge(version, bound.specifier, constraint)
        if package.name in self._universe.bounded_projects:
            version = Package(package.name, "", PackageKind.VERSION)
            yield Edge(version, Installed(self._candidate.version), None)
        yield from self._universe.module_edges(self._candidate)

    def _extra_bound_edges(self) -> Iterator[Edge]:
        """Yield the edges of the bounds of the release's extras that are in force."""
        for bound in sorted(self._universe.extra_bounds):
            if bound.project != self._name:
                continue
            version = Package(bound.other, "", PackageKind.VERSION)
            needs = self._universe.extra_requirements(self._name, self._release, bound.other)
            allowed = [need.specifier for need in needs]
            if bound.since and self._candidate.version < Version(bound.since):
                allowed.append(SpecifierSet(bound.upper))
            for specifiers in allowed:
                line = f"{bound.other}{specifiers}"
                constraint = ReleaseRequires(self._package, line, RequirementSource.METADATA)
                yield Edge(version, specifiers, constraint)


def _recipe(release: Release) -> facts.Builds | facts.Sources | None:
    """Return the fact that says how a release is built; None if no fact does."""
    return release.builds if release.source is None else release.source.fact


def _unusable(package: Package, rejection: Rejection) -> Edge:
    """Return the edge of a candidate whose file cannot be used. No candidate meets this edge."""
    reason = rejection.reason
    # Archives that were not opened are reported together with archives that were.
    if reason is RejectionReason.UNOPENED:
        reason = RejectionReason.DYNAMIC
    nothing = Package(rejection.filename, "", PackageKind.UNAVAILABLE)
    return Edge(nothing, ReleaseMask(0), Unavailable(package, reason))


def _edges_with_extras(requirement: Requirement, constraint: Constraint) -> Iterator[Edge]:
    """Yield the edges of a requirement on a project: on the project, and on each of the extras."""
    for extra in ("", *requirement.extras):
        yield Edge(Package(requirement.name, extra), requirement.specifier, constraint)
