"""What the search will ask for next, told to the catalog before it asks.

The guess follows newest releases from requirement to requirement. A wrong
guess costs a request; a right one saves a round trip in which the search
would wait.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

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
from resolver.solve.universe import Universe


class Lookahead:
    """Implements the catalog's `Follow` over a universe; called from the catalog's thread."""

    def __init__(self, universe: Universe) -> None:
        self._universe = universe
        self.target = universe.problem.target
        self._told: set[tuple[str, str]] = set()
        self._asked: dict[str, dict[str, SpecifierSet]] = {}  # by the search: what is certain of a project so far
        self._guessed: dict[str, dict[str, SpecifierSet]] = {}  # by the likely release of each other project
        self._followed: set[tuple[str, str]] = set()

    def expect(self, edges: Iterable[Edge]) -> None:
        """Tell the catalog of the projects that these edges name."""
        wanted = []
        for edge in edges:
            if edge.package.kind is Kind.PROJECT and isinstance(edge.allows, SpecifierSet):
                key = (edge.package.name, str(edge.allows))
                if key not in self._told and edge.package.name not in self._universe.sources:
                    self._told.add(key)
                    self._asked.setdefault(key[0], {})[key[1]] = edge.allows
                    wanted.append((text.name(edge.package.name), edge.allows))
        if wanted:
            self._universe.catalog.expect(wanted, self)

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
            if isinstance(one.chosen, Release) and one.chosen.source is None
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
        package = Package(project)
        asked = [_guess(package, one) for one in list(self._asked.get(project, {}).values())]
        own = _guess(package, specifier)
        guessed = [_guess(package, one) for one in list(self._guessed.get(project, {}).values())]
        guess = None
        for edges in ((own, *asked, *guessed), (own, *asked), (own,)):
            guess = next(self._universe.candidates(package, edges), None)
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
                self._guessed.setdefault(requirement.name, {})[project] = requirement.specifier
                yield requirement.name, requirement.specifier


class _Alone:
    """A look-ahead that ends at the release's own metadata."""

    def __init__(self, lookahead: Lookahead) -> None:
        self.target = lookahead.target
        self.pick = lookahead.pick

    def then(self, project: NormalizedName, metadata: Metadata) -> Iterator[tuple[NormalizedName, SpecifierSet]]:  # noqa: ARG002
        """Nothing."""
        return iter(())


def _guess(package: Package, specifier: SpecifierSet) -> Edge:
    return Edge(package, specifier, MetadataLine("", "", ""))
