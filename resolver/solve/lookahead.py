"""What the search will ask for next, told to the catalog before it asks.

The guess follows newest releases from requirement to requirement. A wrong
guess costs a request; a right one saves a round trip in which the search
would wait.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from packaging.requirements import InvalidRequirement
from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName

from resolver.catalog.protocol import Lookup
from resolver.errors import ResolverError
from resolver.model import text
from resolver.model.candidate import Candidate, Release
from resolver.model.edge import Edge
from resolver.model.origin import MetadataLine
from resolver.model.package import Kind, Package
from resolver.model.release import File, Metadata
from resolver.solve.demand import ANYTHING, Demand, of_edge
from resolver.solve.universe import Universe


class Lookahead:
    """Implements the catalog's `Follow` over a universe; called from the catalog's thread."""

    def __init__(self, universe: Universe) -> None:
        self._universe = universe
        self.target = universe.problem.target
        self._told: set[tuple[str, str]] = set()
        self._asked: dict[str, _Ranges] = {}  # by the search: what is certain of a project so far
        self._guessed: dict[str, _Ranges] = {}  # by the likely release of each other project
        self._followed: set[tuple[str, str]] = set()

    def expect(self, edges: Iterable[Edge]) -> None:
        """Tell the catalog of the projects that these edges name."""
        wanted: dict[NormalizedName, SpecifierSet] = {}  # one of each project will do: `pick` knows the others
        for edge in edges:
            if edge.package.kind is Kind.PROJECT and isinstance(edge.allows, SpecifierSet):
                key = (edge.package.name, str(edge.allows))
                if key not in self._told and edge.package.name not in self._universe.sources:
                    self._told.add(key)
                    self._asked.setdefault(key[0], _Ranges()).add(key[1], edge.allows)
                    wanted[text.name(edge.package.name)] = edge.allows
        if wanted:
            self._universe.catalog.expect(wanted.items(), self)

    def expect_projects(self, names: Iterable[NormalizedName]) -> None:
        """Tell the catalog of projects that were needed the last time."""
        preferred = self._universe.preferred
        wanted = [
            (name, SpecifierSet(f"=={preferred[name]}") if name in preferred else SpecifierSet())
            for name in names
            if name not in self._universe.sources
        ]
        if wanted:
            self._universe.catalog.expect(wanted, self)

    def expect_releases(self, candidates: Iterable[Candidate]) -> None:
        """Tell the catalog of releases that the search will try if this one fails, too."""
        wanted = [
            (text.name(one.package.name), SpecifierSet(f"=={one.version}"))
            for one in candidates
            if isinstance(one.chosen, Release) and one.chosen.source is None and not self._universe.is_given_up(one)
        ]
        if wanted:
            self._universe.catalog.expect(wanted, _Alone(self))

    def pick(self, project: NormalizedName, lookup: Lookup, specifier: SpecifierSet) -> File | None:
        """The file of the release that the search would take now."""
        if not lookup.pages:
            return None
        try:
            self._universe.project(project, lookup)
        except ResolverError:
            return None  # told when the search itself gets there

        def read(one: SpecifierSet) -> Demand:
            return of_edge(Edge(package, one, MetadataLine("", "", "")), self._universe.mask(package, one))

        package = Package(project)
        asked, guessed = (
            rows[project].together(read) if project in rows else ANYTHING for rows in (self._asked, self._guessed)
        )
        own = read(specifier)
        guess = None
        for demand in (own & asked & guessed, own & asked, own):
            guess = next(self._universe.candidates(package, demand), None)
            if guess is not None:
                break
        if guess is None or not isinstance(guess.chosen, Release):
            return None
        return guess.chosen.file

    def then(self, project: NormalizedName, metadata: Metadata) -> Iterator[tuple[NormalizedName, SpecifierSet]]:
        """The projects that this metadata names for the target; none the second time."""
        key = project, metadata.version
        if key in self._followed:
            return
        self._followed.add(key)
        for line in metadata.requires_dist:
            try:
                requirement = self._universe.relevant(line, "")
            except InvalidRequirement:
                continue
            if requirement is None or requirement.name == project or requirement.url:
                continue
            if requirement.name not in self._universe.sources:
                self._guessed.setdefault(requirement.name, _Ranges()).add(project, requirement.specifier)
                yield requirement.name, requirement.specifier


class _Alone:
    """A look-ahead that ends at the release's own metadata."""

    def __init__(self, lookahead: Lookahead) -> None:
        self.target = lookahead.target
        self.pick = lookahead.pick

    def then(self, project: NormalizedName, metadata: Metadata) -> Iterator[tuple[NormalizedName, SpecifierSet]]:  # noqa: ARG002
        """Nothing."""
        return iter(())


class _Ranges:
    """What is asked of a project, by who asks. One thread may add while another reads."""

    def __init__(self) -> None:
        self._ranges: list[SpecifierSet] = []
        self._places: dict[str, int] = {}
        self._known = ANYTHING, 0  # what the first so many ask together

    def add(self, who: str, specifier: SpecifierSet) -> None:
        """Say what somebody asks, in place of what they asked before."""
        place = self._places.setdefault(who, len(self._ranges))
        if place == len(self._ranges):
            self._ranges.append(specifier)
        elif self._ranges[place] != specifier:
            self._ranges[place] = specifier
            self._known = ANYTHING, 0

    def together(self, read: Callable[[SpecifierSet], Demand]) -> Demand:
        """What all ask together; what each asks is read once, unless somebody changed it."""
        demand, count = self._known
        rest = self._ranges[count:]
        for specifier in rest:
            demand &= read(specifier)
        self._known = demand, count + len(rest)
        return demand
