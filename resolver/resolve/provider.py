"""The provider that answers resolvelib from a universe.

Requirements are edges, candidates are `Candidate`s, identifiers are packages. docs/solving.md
explains the order. Meanwhile `Prefetch` guesses what will be needed next and has the catalog
request it: a wrong guess costs a request, a right one saves the search a round trip.
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

# Conflicts that a package took part in, after which it is decided early.
_PROMOTE_AFTER: Final = 5
# Stacks of 200 projects have up to 40.
_MOST_CONFLICTS: Final = 100
_LEAST_ROUNDS: Final = 500
# Chains take two.
_ROUNDS_A_PACKAGE: Final = 10

Information = RequirementInformation[Edge, Candidate]
Tick = Callable[[int, int], None]


class Provider(AbstractProvider[Edge, Candidate, Package], BaseReporter[Edge, Candidate, Package]):
    """The provider and the reporter of one resolution.

    `tick` is called with the numbers of rounds and decided packages, after each round and each
    release tried in vain. Raises ResolutionTooDeep after too many conflicts, and where a search
    goes in circles: on cyclic graphs resolvelib can take back and decide the same for ever, without
    a conflict.
    """

    # It must be set before it begins: the current demand on a package is read from its state.
    resolution: Resolution[Edge, Candidate, Package]

    def __init__(
        self, universe: Universe, tick: Tick | None, most_rejected: int | None = None
    ) -> None:
        """Answer from a universe; give up after rejecting so many releases, if given."""
        self._universe = universe
        self._most_rejected = most_rejected
        self._rejections = 0
        self.prefetch = Prefetch(universe, self._demand)
        self._tick = tick
        # resolvelib asks the same in every round
        self._is_admitted = cache(universe.is_admitted)
        # the conflicts that each package took part in
        self._conflicts: Counter[Package] = Counter()
        # the place of each package in the order in which they were required
        self._first_required: dict[Package, int] = {}
        self._rejected: dict[Package, set[Candidate]] = {}
        self.rounds = 0
        self._decided = 0
        self._conflicts_met = 0

    # --- the provider

    def identify(self, requirement_or_candidate: Edge | Candidate) -> Package:
        """Return the package that an edge or a candidate is of."""
        return requirement_or_candidate.package

    def narrow_requirement_selection(
        self,
        identifiers: Iterable[Package],
        resolutions: Mapping[Package, Candidate],
        candidates: Mapping[Package, Iterator[Candidate]],
        information: Mapping[Package, Iterator[Information]],
        backtrack_causes: Sequence[Information],
    ) -> Iterable[Package]:
        """Return the undecided packages of the last conflict, and those that something pins.

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
        """Return a sort key.

        1. Components and modules come first.
        2. Then the projects that the universe wants to be decided first.
        3. Then packages that something pins, which says at once what is left of others.
        4. Then packages that keep clashing.
        5. The rest is as `Demand.decision_key` has it.
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
        """Return what the requirements and the policies admit, most preferred first.

        Candidates are determined as far as they are looked at.
        """
        self._first_required.setdefault(identifier, len(self._first_required))
        if identifier.kind is PackageKind.VERSION:
            return list(self._universe.version_candidates(identifier, requirements[identifier]))
        demand = self._universe.demand(*requirements[identifier])
        banned = list(incompatibilities[identifier])
        if identifier.extra:
            return _Uncached(partial(self._of_extra, identifier, demand, banned))
        # before a final release gives way to a pre-release, what rules it out is reconsidered
        stable = self._is_at_final(identifier)
        find = partial(self._universe.candidates, identifier, demand, banned, stable=stable)
        is_project = identifier.kind is PackageKind.PROJECT
        if is_project and identifier.name in self._universe.bounded_projects:
            return _Uncached(partial(self._within_bounds, identifier, find))
        return find

    def is_satisfied_by(self, requirement: Edge, candidate: Candidate) -> bool:
        """Return whether an edge admits a candidate, leaving policies aside."""
        return self._is_admitted(candidate, requirement)

    def get_dependencies(self, candidate: Candidate) -> Sequence[Edge]:
        """Return the edges of a candidate. Reads its metadata, and prefetches what follows."""
        edges = self._universe.edges(candidate)
        self.prefetch.prefetch(edges)
        return edges

    # --- the reporter

    def rejecting_candidate(
        self, criterion: Criterion[Edge, Candidate], candidate: Candidate
    ) -> None:
        """Prefetch the candidates that come next, more and more at once: reading may take long."""
        self._report()
        self._rejections += 1
        if self._most_rejected is not None and self._rejections > self._most_rejected:
            raise ResolutionTooDeep(self.rounds)
        rejected = self._rejected.setdefault(candidate.package, set())
        rejected.add(candidate)
        count = len(rejected)
        # so that each is prefetched once: 4, 8, 16, and 32 at a time
        is_due = count in (1, 5, 13) or count % 32 == 29
        if is_due and candidate.package.kind is PackageKind.PROJECT:
            following = iter(self._universe.candidates(candidate.package, ANYTHING))
            if candidate in following:  # which moves on to it
                self.prefetch.prefetch_releases(islice(following, min(count + 3, 32)))

    def resolving_conflicts(self, causes: Iterable[Information]) -> None:
        """Count the conflict for each project that took part."""
        for package in _packages(causes):
            if package.kind is PackageKind.PROJECT:
                self._conflicts[package] += 1
        self._conflicts_met += 1
        if self._conflicts_met > _MOST_CONFLICTS:
            raise ResolutionTooDeep(self.rounds)

    def ending_round(self, index: int, state: State[Edge, Candidate, Package]) -> None:
        """Count the round."""
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
        """Return whether a final release of a project is decided."""
        decided = self.resolution.state.mapping.get(package)
        if decided is None or not isinstance(decided.chosen, Release):
            return False
        return not decided.version.is_prerelease

    def _demand(self, package: Package) -> Demand:
        """Return the current demand on a package. May be called from any thread."""
        state = getattr(self.resolution, "state", None)
        criterion = state.criteria.get(package) if state is not None else None
        if criterion is None:
            return ANYTHING
        return self._universe.demand(*criterion.iter_requirement())

    def _of_extra(
        self, package: Package, demand: Demand, banned: Sequence[Candidate]
    ) -> Iterator[Candidate]:
        """Yield candidates of an extra that the current demand on its project admits, too.

        If none is left, yield one that clashes, so that resolvelib sees the clash.
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
        """Yield the candidates of a project that the current bounds on its version admit.

        If none is left, yield one that clashes, so that resolvelib sees the clash.
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
    """Candidates that are determined each time they are looked at.

    The demand on a project changes meanwhile.
    """

    def __init__(self, find: Callable[[], Iterator[Candidate]]) -> None:
        self._find = find

    def __iter__(self) -> Iterator[Candidate]:
        return self._find()

    def __bool__(self) -> bool:
        return next(self._find(), None) is not None


def _packages(causes: Iterable[Information]) -> set[Package]:
    """Return the packages that requirements are on, and those that they come from."""
    packages = set()
    for requirement, parent in causes:
        packages.add(requirement.package)
        if parent is not None:
            packages.add(parent.package)
    return packages


# --- prefetching


class Prefetch:
    """The catalog's `LookAhead` over a universe, from likely release to likely release.

    It is called from the catalog's thread. `demand` returns the search's current demand on a
    package.
    """

    def __init__(
        self, universe: Universe, demand: Callable[[Package], Demand] = lambda _: ANYTHING
    ) -> None:
        self._universe = universe
        self._demand = demand
        _ = universe.as_of  # known before anything is looked ahead for
        self.target: Hashable = universe.problem.target, universe.problem.wheels_only
        # the projects and specifiers that were requested
        self._requested: set[tuple[str, str]] = set()
        # by project: what the likely releases of other projects, by name, require of it
        self._guessed: dict[str, dict[str, Edge]] = {}
        # the metadata of the release of each project that was picked last
        self._read: dict[NormalizedName, CoreMetadata] = {}
        # the required extras of each project, in order
        self._extras: dict[NormalizedName, dict[str, None]] = {}
        # the projects, versions and extras whose requirements were followed
        self._followed: set[tuple[str, str, str]] = set()

    def prefetch(self, edges: Iterable[Edge]) -> None:
        """Prefetch the projects that these edges name."""
        # one specifier a project is enough: `likely_file` knows the others
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
        """Prefetch projects, at the releases of the previous lock if it has them."""
        requests = []
        for name in names:
            version = self._universe.preferred.get(name)
            specifier = SpecifierSet("" if version is None else f"=={version}")
            requests.append((name, specifier))
        self._request(requests)

    def prefetch_releases(self, candidates: Iterable[Candidate]) -> None:
        """Prefetch the releases that the search will try if the present one fails, too."""
        files = [
            candidate.chosen.file
            for candidate in candidates
            if isinstance(candidate.chosen, Release)
        ]
        self._universe.catalog.prefetch_metadata(file for file in files if file.is_wheel)

    def likely_file(
        self, project: NormalizedName, lookup: Lookup, specifier: SpecifierSet
    ) -> File | None:
        """Return the file of the release that the search would take now."""
        if not lookup.pages:
            return None
        try:
            self._universe.project(project, lookup)
        except ResolverError:
            return None  # reported when the search itself gets there
        package = Package(project)
        # the search's current demand applies; earlier ones may have been withdrawn
        certain = self._universe.demand(_edge(project, specifier)) & self._demand(package)
        # the search may add to them meanwhile
        guesses = tuple(self._guessed.get(project, {}).values())
        for demand in (certain & self._universe.demand(*guesses), certain):
            for candidate in self._universe.candidates(package, demand):
                return candidate.release.file
        return None

    def next_requirements(
        self, project: NormalizedName, metadata: CoreMetadata
    ) -> Iterator[tuple[NormalizedName, SpecifierSet]]:
        """Return the projects that this metadata requires with the required extras.

        Nothing is returned the second time.
        """
        self._read[project] = metadata
        extras = ("", *self._extras.get(project, ()))
        return self._follow([(project, extra) for extra in extras])

    def _request(self, requests: Iterable[tuple[NormalizedName, SpecifierSet]]) -> None:
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
        """Remember required extras of a project.

        Return the new ones if its metadata has been read already.
        """
        seen = self._extras.setdefault(project, {})
        new = [extra for extra in extras if extra not in seen]
        seen.update(dict.fromkeys(new))
        return [(project, extra) for extra in new] if project in self._read else []

    def _follow(
        self, waiting: list[tuple[NormalizedName, str]]
    ) -> Iterator[tuple[NormalizedName, SpecifierSet]]:
        """Yield what projects that were read require, each for an extra or none."""
        while waiting:
            project, extra = waiting.pop()
            metadata = self._read[project]
            key = project, metadata.version, extra
            if key in self._followed:
                continue
            self._followed.add(key)
            release = f"{project} {metadata.version}"
            needs = self._universe.requirements(release, metadata.requires_dist, extra)
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
    return Edge(Package(project), specifier, None)
