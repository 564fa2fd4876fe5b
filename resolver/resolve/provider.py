"""What resolvelib asks about a universe: which package comes next, what there is of it, and what that needs.

Requirements are edges, candidates are `Candidate`s, identifiers are packages. resolvelib decides; all that is
particular to this project is in the answers. docs/solving.md explains the order. Meanwhile `Prefetch` guesses what will
be needed next, and tells the catalog: a wrong guess costs a request, a right one saves the search a round trip.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import islice
from typing import Any

from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName
from resolvelib import AbstractProvider, BaseReporter
from resolvelib.resolvers import Criterion, RequirementInformation, Resolution, ResolutionTooDeep
from resolvelib.structs import Matches, State

from resolver.errors import ResolverError
from resolver.index.protocol import Lookup
from resolver.model import text
from resolver.model.dependency import Candidate, Edge, NeedLine, NeedSource, Package, PackageKind
from resolver.model.release import CoreMetadata, File, Release
from resolver.resolve.candidates import ANYTHING, Demand
from resolver.resolve.universe import Universe

_PROMOTE_AFTER = 5  # conflicts that a package took part in, after which it is decided early
_MOST_CONFLICTS = 100  # stacks of 200 projects have up to 40
_ROUNDS_AT_LEAST, _ROUNDS_A_PACKAGE = 500, 10  # chains take two a package

Information = RequirementInformation[Edge, Candidate]
Tick = Callable[[int, int], None]


class Provider(AbstractProvider[Edge, Candidate, Package], BaseReporter[Edge, Candidate, Package]):
    """Answers one resolution from a universe, hears what happens in it, and tells the catalog what will be needed.

    `resolution` must be set before it begins: what is demanded of a package *now* is read from its state. `tick` is
    called with the numbers of rounds and decided packages, after each round and each release tried in vain. Raises
    ResolutionTooDeep after too many conflicts, and where a search goes in circles: on cyclic graphs resolvelib can take
    back and decide the same for ever, without a conflict.
    """

    resolution: Resolution[Edge, Candidate, Package]

    def __init__(self, universe: Universe, tick: Tick | None) -> None:
        self._universe = universe
        self.prefetch = Prefetch(universe, self.demanded)
        self._tick = tick
        self._is_admitted = cache(universe.is_admitted)  # resolvelib asks the same in every round
        self._conflicts: Counter[Package] = Counter()  # in which each package took part
        self._order: dict[Package, int] = {}  # the packages in the order in which they were first required
        self._rejected: dict[Package, set[Candidate]] = {}
        self.rounds = self._decided = self._conflicts_met = 0

    # --- what resolvelib asks

    def identify(self, requirement_or_candidate: Edge | Candidate) -> Package:
        """The package that an edge or a candidate is of."""
        return requirement_or_candidate.package

    def narrow_requirement_selection(
        self,
        identifiers: Iterable[Package],
        resolutions: Mapping[Package, Candidate],
        candidates: Mapping[Package, Iterator[Candidate]],
        information: Mapping[Package, Iterator[Information]],
        backtrack_causes: Sequence[Information],
    ) -> Iterable[Package]:
        """The packages of the last conflict that are undecided; if there are none, all undecided packages."""
        undecided = list(identifiers)
        causes = _packages(backtrack_causes)
        return [package for package in undecided if package in causes] or undecided

    def get_preference(
        self,
        identifier: Package,
        resolutions: Mapping[Package, Candidate],
        candidates: Mapping[Package, Iterator[Candidate]],
        information: Mapping[Package, Iterator[Information]],
        backtrack_causes: Sequence[Information],
    ) -> tuple[Any, ...]:
        """A sort key: components and modules first, then what keeps clashing, then as `Demand.turn` has it."""
        keeps_clashing = self._conflicts[identifier] >= _PROMOTE_AFTER
        turn = self.demanded(identifier).decision_key(self._order[identifier])
        return identifier.kind, not keeps_clashing, *turn, identifier

    def find_matches(
        self,
        identifier: Package,
        requirements: Mapping[Package, Iterator[Edge]],
        incompatibilities: Mapping[Package, Iterator[Candidate]],
    ) -> Matches[Candidate]:
        """What the requirements and the policies admit, most preferred first, determined as far as it is looked at."""
        self._order.setdefault(identifier, len(self._order))
        demand = self._universe.demand(*requirements[identifier])
        banned = list(incompatibilities[identifier])
        if identifier.extra:
            return _Anew(partial(self._of_extra, identifier, demand, banned))
        pin = self.resolution.state.mapping.get(identifier)
        # before a final release gives way to a pre-release, what rules it out is reconsidered
        stable = pin is not None and isinstance(pin.chosen, Release) and not pin.version.is_prerelease
        return partial(self._universe.candidates, identifier, demand, banned, stable=stable)

    def is_satisfied_by(self, requirement: Edge, candidate: Candidate) -> bool:
        """Whether an edge admits a candidate, leaving policies aside."""
        return self._is_admitted(candidate, requirement)

    def get_dependencies(self, candidate: Candidate) -> Sequence[Edge]:
        """What a candidate needs. Reads its metadata, and tells the catalog of what that will lead to."""
        edges = self._universe.edges(candidate)
        self.prefetch.prefetch(edges)
        return edges

    # --- what resolvelib reports

    def rejecting_candidate(self, criterion: Criterion[Edge, Candidate], candidate: Candidate) -> None:
        """The catalog is told of those that come after it, more and more at once: reading each may take long."""
        self._report()
        rejected = self._rejected.setdefault(candidate.package, set())
        rejected.add(candidate)
        count = len(rejected)
        if candidate.package.kind is PackageKind.PROJECT and (count in (1, 5, 13) or count % 32 == 29):
            # so that each is told of once: 4, 8, 16, and 32 at a time
            following = iter(self._universe.candidates(candidate.package, ANYTHING))
            if candidate in following:  # which moves on to it
                self.prefetch.prefetch_releases(islice(following, min(count + 3, 32)))

    def resolving_conflicts(self, causes: Iterable[Information]) -> None:
        """Who took part is remembered."""
        self._conflicts.update(package for package in _packages(causes) if package.kind is PackageKind.PROJECT)
        self._conflicts_met += 1
        if self._conflicts_met > _MOST_CONFLICTS:
            raise ResolutionTooDeep(self.rounds)

    def ending_round(self, index: int, state: State[Edge, Candidate, Package]) -> None:
        """Another round is done."""
        self.rounds += 1
        if index > max(_ROUNDS_AT_LEAST, _ROUNDS_A_PACKAGE * len(state.criteria)):
            raise ResolutionTooDeep(index)
        self._decided = len(state.mapping)
        self._report()

    def _report(self) -> None:
        if self._tick is not None:
            self._tick(self.rounds, self._decided)

    # --- the state

    def demanded(self, package: Package) -> Demand:
        """What is demanded of a package now. May be called from any thread."""
        state = getattr(self.resolution, "state", None)
        criterion = state.criteria.get(package) if state is not None else None
        return self._universe.demand(*criterion.iter_requirement()) if criterion is not None else ANYTHING

    def _of_extra(self, package: Package, demand: Demand, banned: Sequence[Candidate]) -> Iterator[Candidate]:
        """Candidates of an extra that what is demanded of its project now admits, too.

        If none is left, one that clashes, so that resolvelib sees the clash.
        """
        found = False
        for candidate in self._universe.candidates(package, demand & self.demanded(package.base), banned):
            found = True
            yield candidate
        if not found:
            yield from islice(self._universe.candidates(package, demand, banned), 1)


class _Anew(list[Candidate]):
    """Candidates that are determined anew each time they are looked at, as what is demanded of a project changes."""

    def __init__(self, find: Callable[[], Iterator[Candidate]]) -> None:
        self._find = find

    def __iter__(self) -> Iterator[Candidate]:
        return self._find()

    def __bool__(self) -> bool:
        return next(self._find(), None) is not None


def _packages(rows: Iterable[Information]) -> set[Package]:
    """The packages that requirements are on, and those that they come from."""
    parents = {row.parent.package for row in rows if row.parent is not None}
    return {row.requirement.package for row in rows} | parents


# --- what the catalog is told of in advance


class Prefetch:
    """The catalog's `LookAhead` over a universe, from likely release to likely release; called from its thread.

    `demanded` returns the search's current demand on a package.
    """

    def __init__(self, universe: Universe, demanded: Callable[[Package], Demand] = lambda _: ANYTHING) -> None:
        self._universe = universe
        self._demanded = demanded
        self.target: Hashable = universe.problem.target, universe.problem.wheels_only
        self._told: set[tuple[str, str]] = set()  # projects and specifiers
        self._guessed: dict[str, dict[str, Edge]] = {}  # demands of the likely releases of other projects, by project
        self._read: dict[NormalizedName, CoreMetadata] = {}  # of the release picked last
        self._extras: dict[NormalizedName, dict[str, None]] = {}  # wanted extras of a project
        self._followed: set[tuple[str, str, str]] = set()

    def prefetch(self, edges: Iterable[Edge]) -> None:
        """Tell the catalog of the projects that these edges name."""
        wanted: dict[NormalizedName, SpecifierSet] = {}  # one per project is enough: `likely_file` knows the others
        for edge in edges:
            if edge.package.kind is PackageKind.PROJECT and isinstance(edge.allows, SpecifierSet):
                name = text.name(edge.package.name)
                if edge.package.extra:
                    wanted.update(self._follow(self._want(name, (edge.package.extra,))))
                wanted[name] = edge.allows
        self._tell(wanted.items())

    def prefetch_projects(self, names: Iterable[NormalizedName]) -> None:
        """Tell the catalog about projects needed last time."""
        preferred = self._universe.preferred
        self._tell((name, SpecifierSet(f"=={preferred[name]}" if name in preferred else "")) for name in names)

    def prefetch_releases(self, candidates: Iterable[Candidate]) -> None:
        """Tell the catalog which releases the search will try if this one fails, too."""
        self._universe.catalog.prefetch_metadata(
            one.chosen.file for one in candidates if isinstance(one.chosen, Release) and one.chosen.file.is_wheel
        )

    def likely_file(self, project: NormalizedName, lookup: Lookup, specifier: SpecifierSet) -> File | None:
        """The file of the release that the search would take now."""
        if not lookup.pages:
            return None
        try:
            self._universe.project(project, lookup)
        except ResolverError:
            return None  # reported when the search itself gets there
        # the search's current demand applies; earlier ones may have been withdrawn
        certain = self._universe.demand(_edge(project, specifier)) & self._demanded(Package(project))
        # the search may add to them meanwhile
        guessed = self._universe.demand(*tuple(self._guessed.get(project, {}).values()))
        for demand in (certain & guessed, certain):
            for one in self._universe.candidates(Package(project), demand):
                return one.release.file
        return None

    def next_requirements(
        self, project: NormalizedName, metadata: CoreMetadata
    ) -> Iterator[tuple[NormalizedName, SpecifierSet]]:
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
            self._universe.catalog.prefetch(new, self)

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
