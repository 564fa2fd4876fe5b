"""Guesses what the search will need next, and tells the catalog in advance.

The guess follows likely releases from requirement to requirement. A wrong guess costs a request; a right one saves
the search a round trip.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import cached_property

from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName

from resolver.errors import ResolverError
from resolver.index.protocol import Lookup
from resolver.model import text
from resolver.model.dependency import Candidate, Edge, Kind, MetadataLine, Package
from resolver.model.release import File, Metadata, Release
from resolver.resolve.demand import ANYTHING, Demand
from resolver.resolve.universe import Universe

Wanted = list[tuple[NormalizedName, SpecifierSet]]


class Prefetch:
    """Implements the catalog's `Follow` over a universe; called from the catalog's thread.

    `asked` returns the search's current demand on a package, if set; None for nothing. `wheels`: a lock will be made
    from the result, which needs all wheels of a release.
    """

    def __init__(self, universe: Universe, *, wheels: bool = False) -> None:
        self._universe = universe
        self._wheels = wheels
        self.target: Hashable = universe.problem.target
        self.asked: Callable[[Package], Demand | None] = lambda _: None
        self._asked: dict[str, dict[str, Edge]] = {}  # of a project: the search's certain demands so far, by their text
        self._guessed: dict[str, dict[str, Edge]] = {}  # those of the likely releases of other projects, by project
        self._read: dict[NormalizedName, Metadata] = {}  # of the release picked last
        self._extras: dict[NormalizedName, dict[str, None]] = {}  # wanted extras of a project
        self._followed: set[tuple[str, str, str]] = set()
        self._picked: set[Release] = set()  # releases with further wheels
        self._built: set[Candidate] = set()
        self._lock: Prefetch | None = None  # if this one is for build environments, that of the lock

    @cached_property
    def _tools(self) -> Prefetch:
        """For build environments: wheels, preferring the lock's own releases if they will do."""
        tools = Prefetch(self._universe, wheels=self._wheels)
        tools.target = self.target, "tools"
        tools.asked = lambda package: tools._together(tools._asked, package.name)
        tools._lock = self
        return tools

    def expect(self, edges: Iterable[Edge]) -> None:
        """Tell the catalog of the projects that these edges name."""
        wanted: dict[NormalizedName, SpecifierSet] = {}  # one per project is enough: `pick` knows the others
        for edge in edges:
            if edge.package.kind is Kind.PROJECT and isinstance(edge.allows, SpecifierSet):
                if edge.package.extra:
                    wanted.update(self._follow(self._want(text.name(edge.package.name), (edge.package.extra,))))
                wanted.update(self._ask(text.name(edge.package.name), edge.allows))
        if wanted:
            self._universe.catalog.expect(wanted.items(), self)

    def expect_projects(self, names: Iterable[NormalizedName]) -> None:
        """Tell the catalog about projects needed last time."""
        preferred = self._universe.preferred
        wanted = [
            (name, SpecifierSet(f"=={preferred[name]}") if name in preferred else SpecifierSet())
            for name in names
            if name not in self._universe.sources
        ]
        if wanted:
            self._universe.catalog.expect(wanted, self)

    def expect_tools(self, candidate: Candidate) -> None:
        """Tell the catalog what an archive's isolated build requires, which is solved last and would have to wait."""
        lines = self._universe.tools(candidate)
        if lines and candidate not in self._built:
            self._built.add(candidate)
            self._tools.expect_lines(f"{candidate} apart", lines)

    def expect_lines(self, filename: str, lines: Sequence[str]) -> None:
        """Tell the catalog of the projects that the lines of a file name."""
        wanted: dict[NormalizedName, SpecifierSet] = {}
        for requirement in self._universe.requirements(filename, lines, ""):
            if not requirement.url:
                self._want(requirement.name, requirement.extras)
                wanted.update(self._ask(requirement.name, requirement.specifier))
        if wanted:
            self._universe.catalog.expect(wanted.items(), self)

    def expect_releases(self, candidates: Iterable[Candidate]) -> None:
        """Tell the catalog which releases the search will try if this one fails, too."""
        self._universe.catalog.expect_metadata(
            one.chosen.file
            for one in candidates
            if isinstance(one.chosen, Release) and one.chosen.file.is_wheel and not self._universe.is_given_up(one)
        )

    def pick(self, project: NormalizedName, lookup: Lookup, specifier: SpecifierSet) -> File | None:
        """The file of the release that the search would take now."""
        if not lookup.pages:
            return None
        try:
            self._universe.project(project, lookup)
        except ResolverError:
            return None  # reported when the search itself gets there

        # the search's current demand applies; earlier ones may have been withdrawn
        own = self._universe.demand(_edge(project, specifier)) & (self.asked(Package(project)) or ANYTHING)
        asked = own & self._together(self._asked, project)
        if self._lock is not None:
            asked &= self._lock._together(self._lock._asked, project)
        for demand in (asked & self._together(self._guessed, project), asked, own):
            for one in self._universe.candidates(Package(project), demand):
                release = one.chosen
                if not isinstance(release, Release) or (self._lock is not None and not release.file.is_wheel):
                    continue
                if self._wheels and release.others and release not in self._picked:
                    self._picked.add(release)
                    self._universe.catalog.expect_metadata(release.others)
                return release.file
        return None

    def then(self, project: NormalizedName, metadata: Metadata) -> Iterator[tuple[NormalizedName, SpecifierSet]]:
        """The projects required by this metadata on the target with the wanted extras; empty the second time."""
        self._read[project] = metadata
        return self._follow([(project, extra) for extra in ("", *self._extras.get(project, ()))])

    def built(self, project: NormalizedName, lines: Sequence[str]) -> None:
        """Tell the catalog what an archive is built with, unless a fact says otherwise, before it is tried."""
        if not self._universe.is_stated(project):
            self._tools.expect_lines(f"{project} apart", lines)

    def _ask(self, project: NormalizedName, specifier: SpecifierSet) -> Wanted:
        """Remember a certain demand on a project. Returns what to tell the catalog."""
        known = self._asked.setdefault(project, {})
        if str(specifier) in known or project in self._universe.sources:
            return []
        known[str(specifier)] = _edge(project, specifier)
        return [(project, specifier)]

    def _together(self, edges: dict[str, dict[str, Edge]], project: str) -> Demand:
        """The combined demand on a project. The search may add to it meanwhile."""
        return self._universe.demand(*tuple(edges.get(project, {}).values()))

    def _want(self, project: NormalizedName, extras: Iterable[str]) -> list[tuple[NormalizedName, str]]:
        """Remember wanted extras of a project. Returns the new ones if its metadata has been read already."""
        known = self._extras.setdefault(project, {})
        new = [extra for extra in extras if extra not in known]
        known.update(dict.fromkeys(new))
        return [(project, extra) for extra in new if project in self._read]

    def _follow(self, waiting: list[tuple[NormalizedName, str]]) -> Iterator[tuple[NormalizedName, SpecifierSet]]:
        """What the lines of projects that were read lead to, each for an extra or none."""
        while waiting:
            project, extra = waiting.pop()
            metadata = self._read[project]
            key = project, metadata.version, extra
            if key in self._followed:
                continue
            self._followed.add(key)
            lines = metadata.requires_dist
            for requirement in self._universe.requirements(f"{project} {metadata.version}", lines, extra):
                if requirement.url:
                    continue
                waiting += self._want(requirement.name, requirement.extras)
                if requirement.name != project and requirement.name not in self._universe.sources:
                    guessed = self._guessed.setdefault(requirement.name, {})
                    guessed[project] = _edge(requirement.name, requirement.specifier)
                    yield requirement.name, requirement.specifier


def _edge(project: NormalizedName, specifier: SpecifierSet) -> Edge:
    return Edge(Package(project), specifier, MetadataLine("", "", ""))
