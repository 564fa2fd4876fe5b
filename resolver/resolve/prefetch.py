"""Guesses what the search will need next, and tells the catalog in advance.

The guess follows likely releases from requirement to requirement. A wrong guess costs a request; a right one saves
the search a round trip.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator

from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName

from resolver.errors import ResolverError
from resolver.index.protocol import Lookup
from resolver.model import text
from resolver.model.dependency import Candidate, Edge, Kind, NeedLine, NeedSource, Package
from resolver.model.release import File, Metadata, Release
from resolver.resolve.candidates import ANYTHING, Demand
from resolver.resolve.universe import Universe


class Prefetch:
    """Implements the catalog's `Follow` over a universe; called from the catalog's thread.

    `demanded` returns the search's current demand on a package.
    """

    def __init__(self, universe: Universe) -> None:
        self._universe = universe
        self.target: Hashable = universe.problem.target, universe.problem.wheels_only
        self.demanded: Callable[[Package], Demand] = lambda _: ANYTHING
        self._told: set[tuple[str, str]] = set()  # projects and specifiers
        self._guessed: dict[str, dict[str, Edge]] = {}  # demands of the likely releases of other projects, by project
        self._read: dict[NormalizedName, Metadata] = {}  # of the release picked last
        self._extras: dict[NormalizedName, dict[str, None]] = {}  # wanted extras of a project
        self._followed: set[tuple[str, str, str]] = set()

    def expect(self, edges: Iterable[Edge]) -> None:
        """Tell the catalog of the projects that these edges name."""
        wanted: dict[NormalizedName, SpecifierSet] = {}  # one per project is enough: `pick` knows the others
        for edge in edges:
            if edge.package.kind is Kind.PROJECT and isinstance(edge.allows, SpecifierSet):
                name = text.name(edge.package.name)
                if edge.package.extra:
                    wanted.update(self._follow(self._want(name, (edge.package.extra,))))
                wanted[name] = edge.allows
        self._tell(wanted.items())

    def expect_projects(self, names: Iterable[NormalizedName]) -> None:
        """Tell the catalog about projects needed last time."""
        preferred = self._universe.preferred
        self._tell((name, SpecifierSet(f"=={preferred[name]}" if name in preferred else "")) for name in names)

    def expect_releases(self, candidates: Iterable[Candidate]) -> None:
        """Tell the catalog which releases the search will try if this one fails, too."""
        self._universe.catalog.expect_metadata(
            one.chosen.file for one in candidates if isinstance(one.chosen, Release) and one.chosen.file.is_wheel
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
        certain = self._universe.demand(_edge(project, specifier)) & self.demanded(Package(project))
        # the search may add to them meanwhile
        guessed = self._universe.demand(*tuple(self._guessed.get(project, {}).values()))
        for demand in (certain & guessed, certain):
            for one in self._universe.candidates(Package(project), demand):
                return one.release.file
        return None

    def then(self, project: NormalizedName, metadata: Metadata) -> Iterator[tuple[NormalizedName, SpecifierSet]]:
        """The projects required by this metadata on the target with the wanted extras; empty the second time."""
        self._read[project] = metadata
        return self._follow([(project, extra) for extra in ("", *self._extras.get(project, ()))])

    def _tell(self, wanted: Iterable[tuple[NormalizedName, SpecifierSet]]) -> None:
        new = [
            (name, specifier)
            for name, specifier in wanted
            if name not in self._universe.sources and (name, str(specifier)) not in self._told
        ]
        self._told.update((name, str(specifier)) for name, specifier in new)
        if new:
            self._universe.catalog.expect(new, self)

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
    return Edge(Package(project), specifier, NeedLine(NeedSource.METADATA, "", ""))
