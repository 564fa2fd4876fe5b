"""What each candidate requires: the one place where metadata and facts meet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from packaging.markers import UndefinedComparison, UndefinedEnvironmentName
from packaging.requirements import InvalidRequirement
from packaging.utils import NormalizedName

from resolver.errors import InputError, ResolverError, WrongRelease
from resolver.index.parse.compatibility import Compatibility
from resolver.index.protocol import Catalog, UnusableFile
from resolver.model import fact as facts
from resolver.model import text
from resolver.model.dependency import (
    BuildLine,
    Candidate,
    Edge,
    Exactly,
    FactLine,
    Kind,
    MetadataLine,
    Nothing,
    Origin,
    Owner,
    Package,
    SameRelease,
    Unusable,
)
from resolver.model.release import Reason, Release
from resolver.model.requirement import ComponentRequirement, Requirement
from resolver.model.resolution import LeftOut
from resolver.model.target import Target
from resolver.resolve.fact_index import About
from resolver.resolve.needs import DYNAMIC, DynamicArchiveError, Relevance, requirement_lines
from resolver.resolve.project import Project

# How many of a project's archives without static metadata, or files with metadata of other releases, are opened
# before older ones are given up.
_IN_VAIN = 3
_UNREADABLE = "its metadata cannot be read"
_ADDRESS = "it requires something from an address"
_ITSELF = "it needs another release of itself"
_MIXED_UP = "its metadata is for a different release"


class Edges:
    """Reads a candidate's metadata when first asked about it.

    `absent` is what must not be installed. `refused` has the errors of files that a fact
    could make usable.
    """

    def __init__(
        self,
        target: Target,
        catalog: Catalog,
        screen: Compatibility,
        about: About,
        project: Callable[[NormalizedName], Project],
        absent: Callable[[], Mapping[NormalizedName, str]],
    ) -> None:
        self._target = target
        self._catalog = catalog
        self._screen = screen
        self._facts = about
        self._project = project
        self._absent = absent
        self.relevant = Relevance(target.markers)
        self.refused: dict[str, ResolverError] = {}
        self._known: dict[Candidate, tuple[Edge, ...]] = {}
        self._dynamic: dict[str, dict[str, DynamicArchiveError]] = {}
        self._mixed_up: dict[str, dict[str, WrongRelease]] = {}  # by project and file
        self._extras: dict[Release, frozenset[str]] = {}
        self._left_out: dict[Candidate, tuple[LeftOut, ...]] = {}
        self._tools: dict[Release, tuple[str, ...]] = {}

    def of(self, candidate: Candidate) -> tuple[Edge, ...]:
        """What a candidate requires. The first call reads its metadata."""
        known = self._known.get(candidate)
        if known is None:
            known = self._known[candidate] = self._look(candidate)
        return known

    def are_known(self, candidate: Candidate) -> bool:
        """Whether a candidate's metadata was read."""
        return candidate in self._known

    def provides(self, candidate: Candidate, extra: str) -> bool:
        """Whether the metadata of a candidate whose edges are known has the extra (Provides-Extra)."""
        return isinstance(candidate.chosen, Release) and extra in self._extras.get(candidate.chosen, ())

    def tools(self, candidate: Candidate) -> Sequence[str]:
        """The build-system.requires of a candidate with known edges that is built in isolation."""
        return self._tools.get(candidate.chosen, ()) if isinstance(candidate.chosen, Release) else ()

    def is_given_up(self, candidate: Candidate) -> bool:
        """Whether a candidate's file is not read, because files of its project had other releases' metadata."""
        release = candidate.chosen
        if candidate.package.kind is not Kind.PROJECT or not isinstance(release, Release) or release.source is not None:
            return False
        mixed_up = self._mixed_up.get(candidate.package.name, {})
        if len(mixed_up) < _IN_VAIN or release.file.filename in mixed_up:
            return False
        return release not in self._extras and not (release.builds or self._about(candidate, facts.Metadata))

    def left_out(self, candidate: Candidate) -> tuple[LeftOut, ...]:
        """The requirements of a candidate with known edges that are not followed, as the project must be absent."""
        return self._left_out.get(candidate, ())

    def read(self) -> Iterable[Candidate]:
        """The candidates whose metadata was read."""
        return self._known.keys()

    def of_need(self, need: facts.Need, origin: Origin) -> Iterator[Edge]:
        """The edges of a line of the stack or a fact."""
        match need:
            case ComponentRequirement():
                # a component that the target does not state cannot fail; the lock warns
                if need.component in self._target.system:
                    yield Edge(Package(need.component, "", Kind.SYSTEM), need, origin)
            case Requirement():
                if text.hangs_on_kernel(text.marker_text(need.marker)):
                    raise InputError(
                        f"the marker of `{need}` cannot be evaluated",
                        where=origin.where,
                        why="It depends on the machine's kernel, which is unknown when locking.",
                        hint="leave `platform_release` and `platform_version` out of the marker",
                    )
                try:
                    counts = need.marker is None or need.marker.evaluate(self._target.markers)
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
        if candidate.package.kind is not Kind.PROJECT or not isinstance(release, Release):
            return ()
        edges = (*self._needs(candidate, release), *self._stated(candidate), *self._owns(candidate, release))
        absent = self._absent()
        if not absent:
            return edges

        def is_gone(edge: Edge) -> bool:
            return edge.package.kind is Kind.PROJECT and edge.package.name in absent

        self._left_out[candidate] = tuple(
            LeftOut(
                package=text.name(candidate.package.name),
                version=release.version,
                name=text.name(edge.package.name),
                requirement=getattr(edge.origin, "text", str(edge.package)),
                because=absent[text.name(edge.package.name)],
            )
            for edge in edges
            if is_gone(edge)
        )
        return tuple(edge for edge in edges if not is_gone(edge))

    def _owns(self, candidate: Candidate, release: Release) -> Iterator[Edge]:
        """The modules that a release has in common with another project."""
        if candidate.package.extra:
            return
        for collision in self._facts.collisions(text.name(candidate.package.name), release.version):
            yield Edge(
                Package(collision.module, "", Kind.MODULE),
                Owner(candidate.package.name),
                FactLine(collision, str(candidate), f"the module `{collision.module}` for itself"),
            )

    def _needs(self, candidate: Candidate, release: Release) -> tuple[Edge, ...]:
        parent = str(candidate)
        stated = self._about(candidate, facts.Metadata)
        dynamic = self._dynamic.setdefault(candidate.package.name, {})
        mixed_up = self._mixed_up.setdefault(candidate.package.name, {})
        known = release.file.filename in dynamic or release in self._extras  # read for its project or another extra
        if len(dynamic) >= _IN_VAIN and not (known or stated or release.builds or release.file.is_wheel):
            self.refused[release.file.filename] = next(iter(dynamic.values()))
            # of one kind, so that a core names them together
            return (_nothing(release, parent, Reason.UNOPENED.value, DYNAMIC, Reason.UNOPENED),)
        if self.is_given_up(candidate):
            told = _given_up(candidate.package.name, list(mixed_up.values()))
            self.refused.update(dict.fromkeys((*mixed_up, release.file.filename), told))
            return (_nothing(release, parent, Reason.UNREAD.value, _MIXED_UP, Reason.UNREAD),)
        try:
            lines = requirement_lines(self._catalog, release, stated)
        except UnusableFile as error:
            return (_nothing(release, parent, str(error), _UNREADABLE),)
        except DynamicArchiveError as error:
            # not fatal yet, as another release may do; fatal if the whole lock fails because of it
            self.refused[release.file.filename] = error
            dynamic.setdefault(release.file.filename, error)
            return (_nothing(release, parent, DYNAMIC, DYNAMIC, Reason.DYNAMIC),)
        except WrongRelease as error:
            self.refused[release.file.filename] = error
            mixed_up[release.file.filename] = error
            return (_nothing(release, parent, error.message, _MIXED_UP),)
        if (refusal := self._screen.python_refusal(lines.requires_python)) is not None:
            reason, why = refusal
            return (_nothing(release, parent, why, why, reason),)
        if release not in self._extras:
            self._extras[release] = frozenset(map(text.name, lines.extras))
        extra = candidate.package.extra
        edges: list[Edge] = []
        if extra:
            base = candidate.package.base
            edges.append(Edge(base, Exactly(release.version), SameRelease(parent, f"{base} {release.version}")))
        dropped = {name for fact in self._about(candidate, facts.Replaces) for name in fact.drop}
        fact: facts.Fact | None = release.source.fact if release.source is not None else release.builds
        spoken_by = stated[0] if stated and not release.file.is_wheel else None
        for line in self.relevant.of(release.file.filename, lines.requires, extra):
            try:
                requirement = self.relevant(line, extra)
            except InvalidRequirement:
                return (_nothing(release, parent, f"`{line}` in its metadata is not a requirement", _UNREADABLE),)
            if requirement is None or requirement.name in dropped:
                continue
            if requirement.url:
                why = f"it needs `{requirement}`, and addresses are not supported"
                return (_nothing(release, parent, why, _ADDRESS, Reason.DIRECT),)
            if requirement.name == candidate.package.name and not requirement.extras:
                if not requirement.specifier.contains(release.version, prereleases=True):
                    return (_nothing(release, parent, f"it needs `{requirement}` of itself", _ITSELF),)
                continue
            origin: Origin = MetadataLine(release.file.filename, parent, requirement.without_marker(), spoken_by)
            if fact is not None:
                origin = FactLine(fact, parent, requirement.without_marker())
            edges += _split(requirement, origin)
        if not extra:
            edges += self._build_edges(candidate, release, parent, lines.build_requires)
        return tuple(edges)

    def _stated(self, candidate: Candidate) -> Iterator[Edge]:
        """What facts say a release requires, which applies whether or not its file can be read."""
        release = candidate.chosen
        if candidate.package.extra or not isinstance(release, Release):
            return
        stated: list[tuple[facts.Fact, tuple[facts.Need, ...]]]
        required, replaced = self._about(candidate, facts.Requires), self._about(candidate, facts.Replaces)
        counting = [fact for fact in required if release.file.is_wheel or not fact.wheels]
        stated = [(fact, facts.kept_of(fact, replaced)) for fact in counting]
        stated += [(fact, fact.add) for fact in replaced]
        for fact, needs in stated:
            for need in needs:
                yield from self.of_need(need, FactLine(fact, str(candidate), str(need)))

    def _build_edges(
        self, candidate: Candidate, release: Release, parent: str, build_requires: tuple[str, ...]
    ) -> Iterator[Edge]:
        fact: facts.Fact | None = release.builds
        here = release.builds is not None and not release.builds.isolation
        if release.source is not None:
            fact, here = release.source.fact, not release.source.recipe.isolation
        if not here:
            self._tools[release] = build_requires
        else:
            for line in build_requires:
                try:
                    requirement = self.relevant(line, "")
                except InvalidRequirement:
                    why = f"`{line}` in its build-system.requires is not a requirement"
                    yield _nothing(release, parent, why, _UNREADABLE)
                    continue
                if requirement is not None and requirement.url:
                    why = f"its build needs `{requirement}`, and addresses are not supported"
                    yield _nothing(release, parent, why, _ADDRESS, Reason.DIRECT)
                elif requirement is not None and requirement.name != candidate.package.name:
                    what = requirement.without_marker()
                    yield from _split(requirement, BuildLine(release.file.filename, parent, what, fact))

    def _about(self, candidate: Candidate, kind: type[facts.FactKind]) -> list[facts.FactKind]:
        assert isinstance(candidate.chosen, Release)  # noqa: S101  only releases are looked at
        return self._project(text.name(candidate.package.name)).about(candidate.chosen.position, kind)


def _split(requirement: Requirement, origin: Origin) -> Iterator[Edge]:
    """An edge for the project, and one for each extra."""
    yield Edge(Package(requirement.name), requirement.specifier, origin)
    for extra in requirement.extras:
        yield Edge(Package(requirement.name, extra), requirement.specifier, origin)


def _nothing(release: Release, parent: str, why: str, sort: str, reason: Reason = Reason.METADATA) -> Edge:
    filename = release.file.filename
    origin = Unusable(filename, parent, why, sort, reason)
    return Edge(Package(filename, "", Kind.NONE), Nothing(), origin)


def _given_up(project: str, errors: Sequence[WrongRelease]) -> WrongRelease:
    """The error of files that were not read because those read are of other releases than their names say."""
    first = errors[0]
    return WrongRelease(
        first.message,
        where=first.where,
        why=f"{first.why} This happened with {len(errors)} files of {project}; the rest were not read.",
        hint=first.hint,
    )
