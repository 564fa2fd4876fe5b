"""Everything that can be chosen for one problem, and what each choice needs.

This is the one place where metadata and facts meet. It is lazy: a page is
asked for when a project is first needed, metadata when a release is first
chosen. The search and the complete engine both stand on it; the independent
check does not.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property
from operator import itemgetter

from packaging.markers import UndefinedComparison, UndefinedEnvironmentName
from packaging.requirements import InvalidRequirement
from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

from resolver.catalog.protocol import Catalog, Lookup, UnusableFile
from resolver.catalog.screen import Screen
from resolver.errors import FactError, InputError, ResolverError, WrongRelease
from resolver.model import fact as facts
from resolver.model import text
from resolver.model.candidate import Candidate, Release
from resolver.model.component import ComponentRequirement
from resolver.model.edge import Edge, Exactly, Nothing, Owner
from resolver.model.origin import BuildLine, FactLine, MetadataLine, Origin, SameRelease, StackLine, Unusable
from resolver.model.package import Kind, Package
from resolver.model.problem import Ask, Problem
from resolver.model.requirement import Requirement
from resolver.model.resolution import LeftOut
from resolver.model.source import Source
from resolver.solve.absent import kept_out
from resolver.solve.admits import names_prerelease, pins, satisfies
from resolver.solve.needs import DYNAMIC, DynamicArchiveError, requirement_lines
from resolver.solve.ordered import Ordered
from resolver.solve.project import Project, of_source

# A marker that is a row of `and` with a last member `extra == "x"`.
_EXTRA = re.compile(r""";(?!.*\bor\b)(?:[^;]*\band)?\s*extra\s*==\s*["']([A-Za-z0-9._-]+)["']\s*$""")


_ARCHIVES = 3  # a project's archives without static metadata that are opened before the older ones are given up


class Universe:
    """The candidates of a problem and their edges.

    `preferred` names releases to be tried first: those of the lock before. `sources` are the projects
    that come from no index, each with the line of the stack that says so.
    """

    def __init__(
        self, problem: Problem, catalog: Catalog, preferred: Mapping[NormalizedName, Version] | None = None
    ) -> None:
        self.problem = problem
        self.catalog = catalog
        self.preferred = dict(preferred or {})
        self.sources = dict(_named(problem))
        self._screen = Screen(problem.target, problem.policy.exclude_newer)
        self._facts: dict[NormalizedName, list[facts.Fact]] = {}
        for fact in problem.facts:
            self._facts.setdefault(fact.package, []).append(fact)
        self._collisions: dict[NormalizedName, list[facts.Collides | facts.Absent]] = {}
        for fact in problem.facts:
            if isinstance(fact, (facts.Collides, facts.Absent)):
                self._collisions.setdefault(fact.package, []).append(fact)
                self._collisions.setdefault(fact.other, []).append(fact)
        self._projects: dict[NormalizedName, Project] = {}
        self._ordered: dict[NormalizedName, Ordered] = {}  # of all variants
        self._candidates: dict[tuple[Package, object], Candidate] = {}
        self._edges: dict[Candidate, tuple[Edge, ...]] = {}
        self._relevant: dict[tuple[str, str], Requirement | None] = {}
        self.refused: dict[str, ResolverError] = {}
        self._dynamic: dict[str, list[tuple[Version, DynamicArchiveError]]] = {}
        self._extras: dict[Release, tuple[str, ...]] = {}
        self._left_out: dict[Candidate, tuple[LeftOut, ...]] = {}
        # by file: lines that no single extra asks for, those of them whose marker names an extra, and lines by extra
        self._by_extra: dict[str, tuple[list[str], list[str], dict[str, list[str]]]] = {}
        self._lock = threading.RLock()  # look-ahead asks from the catalog's thread

    def variant(self, problem: Problem) -> Universe:
        """The universe of another problem; what is known is shared where only the stack's lines differ."""
        before = self.problem
        same = (
            problem.facts == before.facts
            and problem.target == before.target
            and problem.policy == before.policy
            and problem.indexes == before.indexes
            and problem.wheels_only == before.wheels_only
        )
        fresh = Universe(problem, self.catalog)
        fresh._ordered = self._ordered
        if not same or _sources(fresh) != _sources(self) or fresh.absent.keys() != self.absent.keys():
            return fresh
        other = copy(self)
        other.problem = problem
        other.sources = fresh.sources
        other.preferred = {}
        return other

    # --- what is wanted

    def roots(self) -> tuple[Edge, ...]:
        """What the stack asks for, the components of the target apart."""
        edges: list[Edge] = []
        for ask in self.problem.stack.asks:
            edges += self._edges_of(ask.need, ask.origin)
        return tuple(edges)

    @cached_property
    def absent(self) -> Mapping[NormalizedName, str]:
        """What must not be there, and the row that says so: requirements on it do not count."""
        return kept_out(self.problem, self.project)

    # --- what there is

    def project(self, name: NormalizedName, lookup: Lookup | None = None) -> Project:
        """A project with all its releases; asks the catalog the first time, unless given its answer."""
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
                    tuple(self._facts.get(name, ())),
                    wheels_only=self.problem.wheels_only,
                    source=source,
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
        """Whether the project was looked up already."""
        return name in self._projects

    def candidates(
        self, package: Package, edges: Sequence[Edge], excluded: Iterable[Candidate] = (), *, stable: bool = False
    ) -> Iterator[Candidate]:
        """The candidates that all `edges` admit, in the order of preference.

        The preferred release first, then newest first. Pre-releases by the
        policy: with "if-necessary" where a requirement names one, or nothing
        else fits and `stable` does not say that something will. Yanked releases
        only where the stack or a fact pins them: PEP 592 leaves a pin in metadata open, and uv refuses it, too.
        """
        banned = set(excluded)
        match package.kind:
            case Kind.PROJECT:
                project = self.project(text.name(package.name))
                mask = project.all
                for edge in edges:
                    mask &= project.mask(edge.allows)
                for position in self._order(project, mask, edges, stable=stable):
                    candidate = self.candidate(package, position)
                    if candidate is not None and candidate not in banned:
                        yield candidate
            case Kind.SYSTEM:
                value = self.problem.target.system.get(package.name)
                if value is not None:
                    candidate = self._candidate(package, value)
                    if candidate not in banned and all(satisfies(candidate, edge.allows) for edge in edges):
                        yield candidate
            case Kind.MODULE:
                for name in sorted({edge.allows.name for edge in edges if isinstance(edge.allows, Owner)}):
                    candidate = self._candidate(package, name)
                    if candidate not in banned and all(satisfies(candidate, edge.allows) for edge in edges):
                        yield candidate
            case Kind.NONE:
                return

    def every(self, package: Package) -> Iterator[Candidate]:
        """All candidates of a project that any requirements could admit, the least wanted last.

        Pre-releases and yanked releases are among them, unless the policy refuses them.
        """
        project = self.project(text.name(package.name))
        policy = self.problem.policy.prereleases_for(project.name)
        stable = project.all if policy == "allow" else project.stable
        late: list[Candidate] = []
        for among in (stable, 0 if policy == "never" else project.all & ~stable):
            preferred = self.preferred.get(project.name)
            first = project.position(preferred) if preferred is not None else None
            order = list(project.positions(among))
            if first in order:
                order.sort(key=lambda position: position != first)
            for position in order:
                candidate = self.candidate(package, position)
                if candidate is None:
                    continue
                if isinstance(candidate.chosen, Release) and candidate.chosen.yanked:
                    late.append(candidate)
                else:
                    yield candidate
        yield from late

    def values(self, package: Package) -> Iterator[Candidate]:
        """The target's value of a component, then all others that are known or that a fact names."""
        own = self.problem.target.system.get(package.name)
        if own is None:
            return
        yield self._candidate(package, own)
        for value in self.problem.values.get(package.name, ()):
            if value != own:
                yield self._candidate(package, value)

    def taken_by(self, name: NormalizedName, version: Version) -> facts.Excludes | facts.Names | None:
        """The fact that takes a release out."""
        for fact in self._facts.get(name, ()):
            if isinstance(fact, (facts.Excludes, facts.Names)) and fact.speaks_of(version):
                return fact
        return None

    def collisions(self, name: NormalizedName, version: Version) -> Iterator[facts.Collides | facts.Absent]:
        """The facts by which a release owns a module together with another project."""
        for collision in self._collisions.get(name, ()):
            if name == collision.other or collision.speaks_of(version):
                yield collision

    def owner(self, package: Package, name: str) -> Candidate:
        """The candidate of a module that stands for its owner."""
        return self._candidate(package, name)

    def candidate(self, package: Package, position: int) -> Candidate | None:
        """The candidate for a project's release; None where the target cannot use the release."""
        release = self.project(text.name(package.name)).release(position)
        return self._candidate(package, release) if isinstance(release, Release) else None

    def _candidate(self, package: Package, chosen: object) -> Candidate:
        key = (package, chosen)
        with self._lock:
            if key not in self._candidates:
                self._candidates[key] = Candidate(package, chosen)  # type: ignore[arg-type]
            return self._candidates[key]

    def _order(self, project: Project, mask: int, edges: Sequence[Edge], *, stable: bool) -> Iterator[int]:
        pinned = any(isinstance(edge.origin, (StackLine, FactLine)) and pins(edge.allows) for edge in edges)

        def usable(among: int) -> Iterator[int]:
            preferred = self.preferred.get(project.name)
            first = project.position(preferred) if preferred is not None else None
            if first is not None and among >> first & 1:
                among ^= 1 << first
                if self._takes(project, first, pinned):
                    yield first
            for position in project.positions(among):
                if self._takes(project, position, pinned):
                    yield position

        match self.problem.policy.prereleases_for(project.name):
            case "allow":
                yield from usable(mask)
            case "never":
                yield from usable(mask & project.stable)
            case "if-necessary":
                if any(names_prerelease(edge.allows) for edge in edges):
                    yield from usable(mask)
                    return
                found = False
                for position in usable(mask & project.stable):
                    found = True
                    yield position
                if not found and not stable:
                    yield from usable(mask & ~project.stable)

    def _takes(self, project: Project, position: int, pinned: bool) -> bool:
        release = project.release(position)
        return isinstance(release, Release) and (pinned or not release.yanked)

    def _check_facts(self, project: Project) -> None:
        """A fact that no release matches is a mistake, unless part of the indexes was out of reach."""
        if not project.found or project.source or project.unreachable or self.problem.indexes.own:
            return
        for fact in self._facts.get(project.name, ()):
            if isinstance(fact, facts.Sources):
                continue
            for versions in fact.versions:
                if not any(versions.contains(version, prereleases=True) for version in project.versions):
                    raise FactError(
                        f"the fact `{fact.id}` speaks of {project.name} {versions}, and there is no such release",
                        where=fact.where,
                        hint="correct `versions`, or remove what is no longer on the index",
                    )

    # --- what a choice needs

    def edges(self, candidate: Candidate) -> tuple[Edge, ...]:
        """What a candidate needs. Asks for its metadata the first time."""
        known = self._edges.get(candidate)
        if known is None:
            known = self._edges[candidate] = self._look(candidate)
        return known

    def opened(self, candidate: Candidate) -> bool:
        """Whether the candidate's edges are known already."""
        return candidate in self._edges

    def provides(self, candidate: Candidate, extra: str) -> bool:
        """Whether an opened candidate's metadata has the extra (Provides-Extra)."""
        known = self._extras.get(candidate.chosen, ()) if isinstance(candidate.chosen, Release) else ()
        return any(text.name(name) == extra for name in known)

    def left_out(self, candidate: Candidate) -> tuple[LeftOut, ...]:
        """What an opened candidate needs that is not followed, as it must be absent."""
        return self._left_out.get(candidate, ())

    def _look(self, candidate: Candidate) -> tuple[Edge, ...]:
        release = candidate.chosen
        if candidate.package.kind is not Kind.PROJECT or not isinstance(release, Release):
            return ()
        edges = (*self._needs(candidate, release), *self._stated(candidate), *self._owns(candidate, release))
        if not self.absent:
            return edges
        gone = [edge for edge in edges if edge.package.kind is Kind.PROJECT and edge.package.name in self.absent]
        self._left_out[candidate] = tuple(
            LeftOut(
                package=text.name(candidate.package.name),
                version=release.version,
                name=text.name(edge.package.name),
                requirement=getattr(edge.origin, "text", str(edge.package)),
                because=self.absent[text.name(edge.package.name)],
            )
            for edge in gone
        )
        return tuple(edge for edge in edges if edge not in gone)

    def _owns(self, candidate: Candidate, release: Release) -> Iterator[Edge]:
        """The modules that a release owns together with another project."""
        if candidate.package.extra:
            return
        for collision in self.collisions(text.name(candidate.package.name), release.version):
            yield Edge(
                Package(collision.module, "", Kind.MODULE),
                Owner(candidate.package.name),
                FactLine(collision, str(candidate), f"the module `{collision.module}` for itself"),
            )

    def _needs(self, candidate: Candidate, release: Release) -> tuple[Edge, ...]:
        parent = str(candidate)
        stated = self._about(candidate, facts.Metadata)
        dynamic = self._dynamic.setdefault(candidate.package.name, [])
        if len(dynamic) >= _ARCHIVES and not (stated or release.builds or release.file.is_wheel):
            self.refused[release.file.filename] = dynamic[0][1]
            return (_nothing(release, parent, "newer archives have no static metadata, so its own was not opened"),)
        try:
            lines = requirement_lines(self.catalog, release, stated)
        except UnusableFile as error:
            return (_nothing(release, parent, str(error)),)
        except DynamicArchiveError as error:
            # not fatal yet: another release may do; fatal where the whole lock fails for it
            self.refused[release.file.filename] = error
            dynamic.append((candidate.version, error))
            return (_nothing(release, parent, DYNAMIC),)  # the same text for all, so that a proof names them together
        except WrongRelease as error:
            self.refused[release.file.filename] = error
            return (_nothing(release, parent, error.message),)
        if refusal := self._screen.python_refusal(lines.requires_python):
            return (_nothing(release, parent, refusal),)
        self._extras[release] = lines.extras
        extra = candidate.package.extra
        edges: list[Edge] = []
        if extra:
            base = candidate.package.base
            edges.append(Edge(base, Exactly(release.version), SameRelease(parent, f"{base} {release.version}")))
        dropped = {name for fact in self._about(candidate, facts.Replaces) for name in fact.drop}
        fact: facts.Fact | None = release.source.fact if release.source is not None else release.builds
        for line in self._lines_for(release.file.filename, lines.requires, extra):
            try:
                requirement = self.relevant(line, extra)
            except InvalidRequirement:
                return (_nothing(release, parent, f"`{line}` in its metadata is not a requirement"),)
            if requirement is None or requirement.name in dropped:
                continue
            if requirement.url:
                return (_nothing(release, parent, f"it needs `{requirement}`, and addresses are not followed"),)
            if requirement.name == candidate.package.name and not requirement.extras:
                if not requirement.specifier.contains(release.version, prereleases=True):
                    return (_nothing(release, parent, f"it needs `{requirement}` of itself"),)
                continue
            origin: Origin = MetadataLine(release.file.filename, parent, requirement.without_marker())
            if fact is not None:
                origin = FactLine(fact, parent, requirement.without_marker())
            edges += _split(requirement, origin)
        if not extra:
            edges += self._build_edges(candidate, release, parent, lines.build_requires)
        return tuple(edges)

    def passed_over(self, pins: Mapping[str, Version]) -> tuple[DynamicArchiveError, ...]:
        """Why the newest source archive of each project was not used where the pins have none as new.

        A release that needs such a project was passed over as well.
        """
        newest = {name: max(rows, key=itemgetter(0)) for name, rows in self._dynamic.items() if rows}
        return tuple(
            error for name, (version, error) in sorted(newest.items()) if name not in pins or pins[name] < version
        )

    def _stated(self, candidate: Candidate) -> Iterator[Edge]:
        """What facts say that a release needs: they hold whether its file can be read or not."""
        if candidate.package.extra:
            return
        stated: list[tuple[facts.Fact, tuple[facts.Need, ...]]]
        stated = [(fact, fact.needs) for fact in self._about(candidate, facts.Requires)]
        stated += [(fact, fact.add) for fact in self._about(candidate, facts.Replaces)]
        for fact, needs in stated:
            for need in needs:
                yield from self._edges_of(need, FactLine(fact, str(candidate), str(need)))

    def _build_edges(
        self, candidate: Candidate, release: Release, parent: str, build_requires: tuple[str, ...]
    ) -> Iterator[Edge]:
        fact: facts.Fact | None = release.builds
        here = release.builds is not None and not release.builds.isolation
        if release.source is not None:
            fact, here = release.source.fact, not release.source.recipe.isolation
        if here:
            for line in build_requires:
                try:
                    requirement = self.relevant(line, "")
                except InvalidRequirement:
                    yield _nothing(release, parent, f"`{line}` in its build-system.requires is not a requirement")
                    continue
                if requirement is not None and requirement.url:
                    yield _nothing(release, parent, f"its build needs `{requirement}`, and addresses are not followed")
                elif requirement is not None and requirement.name != candidate.package.name:
                    what = requirement.without_marker()
                    yield from _split(requirement, BuildLine(release.file.filename, parent, what, fact))

    def _about(self, candidate: Candidate, kind: type[facts.FactKind]) -> list[facts.FactKind]:
        return [
            fact
            for fact in self._facts.get(text.name(candidate.package.name), ())
            if isinstance(fact, kind) and fact.speaks_of(candidate.version)
        ]

    def _edges_of(self, need: facts.Need, origin: Origin) -> Iterator[Edge]:
        match need:
            case ComponentRequirement():
                # a component that the target does not state is not held against it; the lock warns
                if need.component in self.problem.target.system:
                    yield Edge(Package(need.component, "", Kind.SYSTEM), need, origin)
            case Requirement():
                try:
                    counts = need.marker is None or need.marker.evaluate(self.problem.target.markers)
                except (UndefinedComparison, UndefinedEnvironmentName) as error:
                    raise InputError(
                        f"the marker of `{need}` cannot be told", where=origin.where, why=str(error)
                    ) from None
                if counts:
                    yield from _split(need, origin)

    def _lines_for(self, filename: str, lines: Sequence[str], extra: str) -> Sequence[str]:
        """The lines of a file that may count for an extra, or for none: a file may have thousands of either."""
        if filename not in self._by_extra:
            common: list[str] = []
            those: dict[str, list[str]] = {}
            for line in lines:
                other = _EXTRA.search(line)
                (common if other is None else those.setdefault(canonicalize_name(other[1]), [])).append(line)
            self._by_extra[filename] = common, [line for line in common if "extra" in line], those
        common, unsure, those = self._by_extra[filename]
        return [*unsure, *those.get(extra, ())] if extra else common

    def relevant(self, line: str, extra: str) -> Requirement | None:
        """The requirement of a line where the target and `extra` make it count, else None.

        With an extra, only what the extra adds. Raises InvalidRequirement.
        """
        key = (line, extra)
        if key not in self._relevant:
            # Most lines are for an extra that nobody asks for: those need not be parsed.
            other = _EXTRA.search(line)
            if other is not None and canonicalize_name(other[1]) != extra:
                self._relevant[key] = None
            else:
                self._relevant[key] = self._hold(text.requirement(line), extra)
        return self._relevant[key]

    def _hold(self, requirement: Requirement, extra: str) -> Requirement | None:
        if requirement.marker is None:
            return None if extra else requirement
        environment = self.problem.target.markers
        try:
            without = requirement.marker.evaluate(environment)
            if not extra:
                return requirement if without else None
            counts = not without and requirement.marker.evaluate({**environment, "extra": extra})
        except (UndefinedComparison, UndefinedEnvironmentName) as error:
            raise InvalidRequirement(f"the marker of `{requirement}` cannot be told: {error}") from None
        return requirement if counts else None


def _named(problem: Problem) -> Iterator[tuple[NormalizedName, tuple[Ask, Source]]]:
    for ask in problem.stack.asks:
        if isinstance(ask.need, Requirement) and ask.need.url:
            found = problem.source(ask.need.name)
            if found is not None:
                yield ask.need.name, found


def _sources(universe: Universe) -> dict[NormalizedName, Source]:
    return {name: source for name, (_, source) in universe.sources.items()}


def _split(requirement: Requirement, origin: Origin) -> Iterator[Edge]:
    """An edge for the project, and one for each extra."""
    yield Edge(Package(requirement.name), requirement.specifier, origin)
    for extra in requirement.extras:
        yield Edge(Package(requirement.name, extra), requirement.specifier, origin)


def _nothing(release: Release, parent: str, why: str) -> Edge:
    return Edge(Package(release.file.filename, "", Kind.NONE), Nothing(), Unusable(release.file.filename, parent, why))
