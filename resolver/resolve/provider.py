"""The search: a provider and reporter for resolvelib, over a universe.

For resolvelib, requirements are edges, candidates are `Candidate`s, and identifiers are packages.
docs/solving.md explains the order of decisions. `Prefetch` guesses which pages and metadata will be
needed next, and lets the catalog request them. A wrong guess costs a request. A right guess saves
the search from waiting.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import islice
from typing import Any, Final

from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName
from resolvelib import AbstractProvider, BaseReporter
from resolvelib.resolvers import Criterion, RequirementInformation, Resolution, ResolutionTooDeep
from resolvelib.structs import Matches, State

from resolver.errors import ResolverError
from resolver.index.protocol import Lookup
from resolver.model import text
from resolver.model.dependency import Candidate, Edge
from resolver.model.package import Package, PackageKind
from resolver.model.release import CoreMetadata, File, Release
from resolver.resolve.candidates import ANYTHING, Demand
from resolver.resolve.universe import Universe

# A package that took part in so many conflicts is decided early.
_PROMOTE_AFTER: Final = 5
# The search gives up after so many conflicts. Stacks of 200 projects have up to 40.
_MOST_CONFLICTS: Final = 100
# The search gives up after so many rounds, or after the rounds for each package below, if these are
# more.
_LEAST_ROUNDS: Final = 500
# The rounds for each package. A chain of packages takes two for each.
_ROUNDS_A_PACKAGE: Final = 10

# A requirement and the candidate that has it, as resolvelib passes them.
Information = RequirementInformation[Edge, Candidate]
# A function that is called with the number of rounds and the number of decided packages.
Tick = Callable[[int, int], None]


class Provider(AbstractProvider[Edge, Candidate, Package], BaseReporter[Edge, Candidate, Package]):
    """The provider and the reporter of one search.

    Its methods raise ResolutionTooDeep after too many conflicts or rounds. On cyclic graphs,
    resolvelib can undo and repeat the same decisions forever, without a conflict.
    """

    # The search. It must be set before the search begins, since the current demand on a package is
    # read from its state.
    resolution: Resolution[Edge, Candidate, Package]

    def __init__(
        self, universe: Universe, tick: Tick | None, most_rejected: int | None = None
    ) -> None:
        """Take the universe to search in.

        `tick` is called after each round, and after each release that was rejected. The search
        gives up after rejecting more than `most_rejected` releases; None for no limit.
        """
        self._universe = universe
        self._most_rejected = most_rejected
        self._rejections = 0
        self.prefetch = Prefetch(universe, self._demand)
        self._tick = tick
        # A cache, since resolvelib asks the same questions in every round.
        self._is_admitted = cache(universe.is_admitted)
        # The number of conflicts that each package took part in.
        self._conflicts: Counter[Package] = Counter()
        # The position of each package in the order in which they were first required.
        self._first_required: dict[Package, int] = {}
        # The candidates of each package that were rejected.
        self._rejected: dict[Package, set[Candidate]] = {}
        self.rounds = 0
        self._decided = 0
        self._conflicts_met = 0

    # --- the provider

    def identify(self, requirement_or_candidate: Edge | Candidate) -> Package:
        """Return the package of an edge or a candidate."""
        return requirement_or_candidate.package

    def narrow_requirement_selection(
        self,
        identifiers: Iterable[Package],
        resolutions: Mapping[Package, Candidate],
        candidates: Mapping[Package, Iterator[Candidate]],
        information: Mapping[Package, Iterator[Information]],
        backtrack_causes: Sequence[Information],
    ) -> Iterable[Package]:
        """Return the undecided packages that took part in the last conflict, or that an edge pins.

        Return all undecided packages if none took part in the last conflict.
        """
        undecided = list(identifiers)
        causes = _packages(backtrack_causes)
        if causes.isdisjoint(undecided):
            return undecided
        return [package for package in undecided if package in causes or self._demand(package).pin]

    def get_preference(
        self,
        identifier: Package,
        resolutions: Mapping[Package, Candidate],
        candidates: Mapping[Package, Iterator[Candidate]],
        information: Mapping[Package, Iterator[Information]],
        backtrack_causes: Sequence[Information],
    ) -> tuple[Any, ...]:
        """Return a sort key for the order in which packages are decided.

        1. Components and modules come first.
        2. The projects in `decided_first` of the universe come next.
        3. Packages that an edge pins come next: their requirements rule out other candidates early.
        4. Packages that took part in many conflicts come next.
        5. All others are sorted by `Demand.decision_key`.
        """
        comes_first = identifier.name in self._universe.decided_first
        keeps_clashing = self._conflicts[identifier] >= _PROMOTE_AFTER
        key = self._demand(identifier).decision_key(self._first_required[identifier])
        is_unpinned, *others = key
        return (
            identifier.kind,
            not comes_first,
            is_unpinned,
            not keeps_clashing,
            *others,
            identifier,
        )

    def find_matches(
        self,
        identifier: Package,
        requirements: Mapping[Package, Iterator[Edge]],
        incompatibilities: Mapping[Package, Iterator[Candidate]],
    ) -> Matches[Candidate]:
        """Return the candidates that the requirements and the policy admit.

        The most preferred candidate comes first. Candidates are computed only when resolvelib looks
        at them.
        """
        self._first_required.setdefault(identifier, len(self._first_required))
        if identifier.kind is PackageKind.VERSION:
            return list(self._universe.version_candidates(identifier, requirements[identifier]))
        demand = self._universe.demand(*requirements[identifier])
        banned = list(incompatibilities[identifier])
        if identifier.extra:
            return _Uncached(partial(self._of_extra, identifier, demand, banned))
        # If a final release is decided, the requirement that rules it out is reconsidered before a
        # pre-release takes its place.
        stable = self._is_at_final(identifier)
        find = partial(self._universe.candidates, identifier, demand, banned, stable=stable)
        is_project = identifier.kind is PackageKind.PROJECT
        if is_project and identifier.name in self._universe.bounded_projects:
            return _Uncached(partial(self._within_bounds, identifier, find))
        return find

    def is_satisfied_by(self, requirement: Edge, candidate: Candidate) -> bool:
        """Return whether an edge admits a candidate, whatever the policy says."""
        return self._is_admitted(candidate, requirement)

    def get_dependencies(self, candidate: Candidate) -> Sequence[Edge]:
        """Return the edges of a candidate. Its metadata is read, and their projects prefetched."""
        edges = self._universe.edges(candidate)
        self.prefetch.prefetch(edges)
        return edges

    # --- the reporter

    def rejecting_candidate(
        self, criterion: Criterion[Edge, Candidate], candidate: Candidate
    ) -> None:
        """Prefetch the candidates that come next, more and more at once.

        Raises ResolutionTooDeep after too many rejected releases.
        """
        self._report()
        self._rejections += 1
        if self._most_rejected is not None and self._rejections > self._most_rejected:
            raise ResolutionTooDeep(self.rounds)
        rejected = self._rejected.setdefault(candidate.package, set())
        rejected.add(candidate)
        count = len(rejected)
        # 4, 8, 16 and then always 32 candidates are prefetched, so that each is prefetched once.
        is_due = count in (1, 5, 13) or count % 32 == 29
        if is_due and candidate.package.kind is PackageKind.PROJECT:
            following = iter(self._universe.candidates(candidate.package, ANYTHING))
            if candidate in following:  # this advances the iterator to the candidate
                self.prefetch.prefetch_releases(islice(following, min(count + 3, 32)))

    def resolving_conflicts(self, causes: Iterable[Information]) -> None:
        """Count a conflict for each project that took part in it.

        Raises ResolutionTooDeep after too many conflicts.
        """
        for package in _packages(causes):
            if package.kind is PackageKind.PROJECT:
                self._conflicts[package] += 1
        self._conflicts_met += 1
        if self._conflicts_met > _MOST_CONFLICTS:
            raise ResolutionTooDeep(self.rounds)

    def ending_round(self, index: int, state: State[Edge, Candidate, Package]) -> None:
        """Count a round. Raises ResolutionTooDeep after too many rounds."""
        self.rounds += 1
        if index > max(_LEAST_ROUNDS, _ROUNDS_A_PACKAGE * len(state.criteria)):
            raise ResolutionTooDeep(index)
        self._decided = len(state.mapping)
        self._report()

    def _report(self) -> None:
        if self._tick is not None:
            self._tick(self.rounds, self._decided)

    # --- the state

    def _is_at_final(self, package: Package) -> bool:
        """Return whether the present decision for a project is a final release."""
        decided = self.resolution.state.mapping.get(package)
        if decided is None or not isinstance(decided.chosen, Release):
            return False
        return not decided.version.is_prerelease

    def _demand(self, package: Package) -> Demand:
        """Return the present demand on a package. The method may be called from any thread."""
        state = getattr(self.resolution, "state", None)
        criterion = state.criteria.get(package) if state is not None else None
        if criterion is None:
            return ANYTHING
        return self._universe.demand(*criterion.iter_requirement())

    def _of_extra(
        self, package: Package, demand: Demand, banned: Sequence[Candidate]
    ) -> Iterator[Candidate]:
        """Yield the candidates of an extra that the present demand on its project admits, too.

        If there are none, yield one candidate that it does not admit, so that resolvelib finds the
        conflict.
        """
        possible = demand & self._demand(package.base)
        is_any_admitted = False
        for candidate in self._universe.candidates(package, possible, banned):
            is_any_admitted = True
            yield candidate
        if not is_any_admitted:
            yield from islice(self._universe.candidates(package, demand, banned), 1)

    def _within_bounds(
        self, package: Package, find: Callable[[], Iterator[Candidate]]
    ) -> Iterator[Candidate]:
        """Yield the candidates of a project that the present bounds on its version admit.

        If there are none, yield one candidate that they do not admit, so that resolvelib finds the
        conflict. `find` returns the candidates without regard to bounds.
        """
        version = Package(package.name, "", PackageKind.VERSION)
        criterion = self.resolution.state.criteria.get(version)
        edges = criterion.iter_requirement() if criterion is not None else ()
        bounds = [edge.allows for edge in edges if isinstance(edge.allows, SpecifierSet)]
        clashing = None
        is_any_admitted = False
        for candidate in find():
            if all(bound.contains(candidate.version, prereleases=True) for bound in bounds):
                is_any_admitted = True
                yield candidate
            elif clashing is None:
                clashing = candidate
        if clashing is not None and not is_any_admitted:
            yield clashing


class _Uncached(list[Candidate]):
    """Candidates that are computed each time they are looked at, since demands change.

    It is a list, since resolvelib would cache other iterables.
    """

    def __init__(self, find: Callable[[], Iterator[Candidate]]) -> None:
        self._find = find

    def __iter__(self) -> Iterator[Candidate]:
        return self._find()

    def __bool__(self) -> bool:
        return next(self._find(), None) is not None


def _packages(causes: Iterable[Information]) -> set[Package]:
    """Return the packages that are required in a conflict, and the packages that require them."""
    packages = set()
    for requirement, parent in causes:
        packages.add(requirement.package)
        if parent is not None:
            packages.add(parent.package)
    return packages


# --- prefetching


class Prefetch:
    """Guesses which pages and metadata will be needed, and lets the catalog request them.

    It is the catalog's `LookAhead`: when a page or metadata has arrived, the catalog calls
    `likely_file` and `next_requirements` from its own thread to learn what to request next.
    """

    def __init__(
        self, universe: Universe, demand: Callable[[Package], Demand] = lambda _: ANYTHING
    ) -> None:
        """Take a universe. `demand` returns the present demand of the search on a package."""
        self._universe = universe
        self._demand = demand
        _ = universe.as_of  # must be known before anything is prefetched
        self.target: Hashable = universe.problem.target, universe.problem.wheels_only
        # The projects and specifiers that were requested.
        self._requested: set[tuple[str, str]] = set()
        # For each project, the requirements on it by the likely releases of other projects, by the
        # names of those.
        self._guessed: dict[str, dict[str, Edge]] = {}
        # The metadata of the release of each project that was guessed last.
        self._read: dict[NormalizedName, CoreMetadata] = {}
        # The required extras of each project, in the order in which they became known.
        self._extras: dict[NormalizedName, dict[str, None]] = {}
        # The projects, versions and extras whose requirements were followed.
        self._followed: set[tuple[str, str, str]] = set()

    def prefetch(self, edges: Iterable[Edge]) -> None:
        """Prefetch the projects that these edges require."""
        # One specifier for each project is enough, since `likely_file` knows the others.
        specifiers: dict[NormalizedName, SpecifierSet] = {}
        for edge in edges:
            package = edge.package
            if package.kind is PackageKind.PROJECT and isinstance(edge.allows, SpecifierSet):
                name = text.name(package.name)
                if package.extra:
                    specifiers.update(self._follow(self._add_extras(name, (package.extra,))))
                specifiers[name] = edge.allows
        self._request(specifiers.items())

    def prefetch_projects(self, names: Iterable[NormalizedName]) -> None:
        """Prefetch projects, at the preferred versions if there are any."""
        requests = []
        for name in names:
            version = self._universe.preferred.get(name)
            specifier = SpecifierSet("" if version is None else f"=={version}")
            requests.append((name, specifier))
        self._request(requests)

    def prefetch_releases(self, candidates: Iterable[Candidate]) -> None:
        """Prefetch the metadata of releases that the search will try next."""
        files = [
            candidate.chosen.file
            for candidate in candidates
            if isinstance(candidate.chosen, Release)
        ]
        self._universe.catalog.prefetch_metadata(file for file in files if file.is_wheel)

    def likely_file(
        self, project: NormalizedName, lookup: Lookup, specifier: SpecifierSet
    ) -> File | None:
        """Return the file of the release of a project that the search would choose now.

        `lookup` is the catalog's answer for the project, and `specifier` the one with which it was
        requested. None if no release is admitted, or the project cannot be used.
        """
        if not lookup.pages:
            return None
        try:
            self._universe.project(project, lookup)
        except ResolverError:
            return None  # the search reports the error when it needs the project
        package = Package(project)
        # The search may have withdrawn the demands that guesses were made of. So the file is looked
        # for with them first, and then without.
        certain = self._universe.demand(_edge(project, specifier)) & self._demand(package)
        # The tuple is a copy, since the search may add guesses meanwhile.
        guesses = tuple(self._guessed.get(project, {}).values())
        for demand in (certain & self._universe.demand(*guesses), certain):
            for candidate in self._universe.candidates(package, demand):
                return candidate.release.file
        return None

    def next_requirements(
        self, project: NormalizedName, metadata: CoreMetadata
    ) -> Iterator[tuple[NormalizedName, SpecifierSet]]:
        """Return the projects that metadata requires, with specifiers, for the required extras.

        Requirements that were returned before are not returned again.
        """
        self._read[project] = metadata
        extras = ("", *self._extras.get(project, ()))
        return self._follow([(project, extra) for extra in extras])

    def _request(self, requests: Iterable[tuple[NormalizedName, SpecifierSet]]) -> None:
        """Let the catalog request projects that were not requested with the same specifier."""
        new = []
        for name, specifier in requests:
            key = name, str(specifier)
            if name not in self._universe.sources and key not in self._requested:
                self._requested.add(key)
                new.append((name, specifier))
        if new:
            self._universe.catalog.prefetch(new, self)

    def _add_extras(
        self, project: NormalizedName, extras: Iterable[str]
    ) -> list[tuple[NormalizedName, str]]:
        """Record required extras of a project.

        Return the project with each new extra, if its metadata was read already.
        """
        seen = self._extras.setdefault(project, {})
        new = [extra for extra in extras if extra not in seen]
        seen.update(dict.fromkeys(new))
        return [(project, extra) for extra in new] if project in self._read else []

    def _follow(
        self, waiting: list[tuple[NormalizedName, str]]
    ) -> Iterator[tuple[NormalizedName, SpecifierSet]]:
        """Yield the requirements of projects whose metadata was read, as name and specifier.

        `waiting` has the projects, each with an extra; empty for no extra.
        """
        while waiting:
            project, extra = waiting.pop()
            metadata = self._read[project]
            key = project, metadata.version, extra
            if key in self._followed:
                continue
            self._followed.add(key)
            release = f"{project} {metadata.version}"
            needs = self._universe.markers.requirements(release, metadata.requires_dist, extra)
            for requirement in needs:
                if requirement.url:
                    continue
                name = requirement.name
                waiting += self._add_extras(name, requirement.extras)
                if name != project and name not in self._universe.sources:
                    guessed = self._guessed.setdefault(name, {})
                    guessed[project] = _edge(name, requirement.specifier)
                    yield name, requirement.specifier


def _edge(project: NormalizedName, specifier: SpecifierSet) -> Edge:
    """Return an edge for a guessed requirement, which has no constraint."""
    return Edge(Package(project), specifier, None)
