"""The provider that answers resolvelib from a universe: the next package, its candidates and their dependencies.

Requirements are edges, candidates are `Candidate`s, identifiers are packages. docs/solving.md
explains the order. Meanwhile `Prefetch` guesses what will be needed next and has the catalog
request it: a wrong guess costs a request, a right one saves the search a round trip.
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
from resolver.model.dependency import Candidate, Edge
from resolver.model.package import Package, PackageKind
from resolver.model.release import CoreMetadata, File, Release
from resolver.resolve.candidates import ANYTHING, Demand
from resolver.resolve.universe import Universe

_PROMOTE_AFTER = 5  # conflicts that a package took part in, after which it is decided early
_MOST_CONFLICTS = 100  # stacks of 200 projects have up to 40
_ROUNDS_AT_LEAST, _ROUNDS_A_PACKAGE = 500, 10  # chains take two a package

Information = RequirementInformation[Edge, Candidate]
Tick = Callable[[int, int], None]


class Provider(AbstractProvider[Edge, Candidate, Package], BaseReporter[Edge, Candidate, Package]):
    """The provider and the reporter of one resolution.

    `resolution` must be set before it begins: the current demand on a package is read from its
    state. `tick` is called with the numbers of rounds and decided packages, after each round and
    each release tried in vain. Raises ResolutionTooDeep after too many conflicts, and where a
    search goes in circles: on cyclic graphs resolvelib can take back and decide the same for ever,
    without a conflict.
    """

    resolution: Resolution[Edge, Candidate, Package]

    def __init__(self, universe: Universe, tick: Tick | None) -> None:
        self._universe = universe
        self.prefetch = Prefetch(universe, self._demand)
        self._tick = tick
        self._is_admitted = cache(universe.is_admitted)  # resolvelib asks the same in every round
        self._conflicts: Counter[Package] = Counter()  # that each package took part in
        self._first_required: dict[Package, int] = {}  # the place of each in this order
        self._rejected: dict[Package, set[Candidate]] = {}
        self.rounds = self._decided = self._conflicts_met = 0

    # --- the provider

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
        """Return a sort key.

        1. Components and modules come first.
        2. Then the projects that the universe wants to be decided first.
        3. Then packages that keep clashing.
        4. The rest is as `Demand.decision_key` has it.
        """
        comes_first = identifier.name in self._universe.decided_first
        keeps_clashing = self._conflicts[identifier] >= _PROMOTE_AFTER
        key = self._demand(identifier).decision_key(self._first_required[identifier])
        return identifier.kind, not comes_first, not keeps_clashing, *key, identifier

    def find_matches(
        self,
        identifier: Package,
        requirements: Mapping[Package, Iterator[Edge]],
        incompatibilities: Mapping[Package, Iterator[Candidate]],
    ) -> Matches[Candidate]:
        """What the requirements and the policies admit, most preferred first, determined as far as it is looked at."""
        self._first_required.setdefault(identifier, len(self._first_required))
        if identifier.kind is PackageKind.VERSION:
            return list(self._universe.version_candidates(identifier, requirements[identifier]))
        demand = self._universe.demand(*requirements[identifier])
        banned = list(incompatibilities[identifier])
        if identifier.extra:
            return _Uncached(partial(self._of_extra, identifier, demand, banned))
        pin = self.resolution.state.mapping.get(identifier)
        # before a final release gives way to a pre-release, what rules it out is reconsidered
        stable = (
            pin is not None and isinstance(pin.chosen, Release) and not pin.version.is_prerelease
        )
        find = partial(self._universe.candidates, identifier, demand, banned, stable=stable)
        if (
            identifier.kind is PackageKind.PROJECT
            and identifier.name in self._universe.bounded_projects
        ):
            return _Uncached(partial(self._within_bounds, identifier, find))
        return find

    def is_satisfied_by(self, requirement: Edge, candidate: Candidate) -> bool:
        """Whether an edge admits a candidate, leaving policies aside."""
        return self._is_admitted(candidate, requirement)

    def get_dependencies(self, candidate: Candidate) -> Sequence[Edge]:
        """The edges of a candidate. Reads its metadata, and prefetches what that leads to."""
        edges = self._universe.edges(candidate)
        self.prefetch.prefetch(edges)
        return edges

    # --- the reporter

    def rejecting_candidate(
        self, criterion: Criterion[Edge, Candidate], candidate: Candidate
    ) -> None:
        """Prefetch those that come after it, more and more at once: reading each may take long."""
        self._report()
        rejected = self._rejected.setdefault(candidate.package, set())
        rejected.add(candidate)
        count = len(rejected)
        if candidate.package.kind is PackageKind.PROJECT and (
            count in (1, 5, 13) or count % 32 == 29
        ):
            # so that each is prefetched once: 4, 8, 16, and 32 at a time
            following = iter(self._universe.candidates(candidate.package, ANYTHING))
            if candidate in following:  # which moves on to it
                self.prefetch.prefetch_releases(islice(following, min(count + 3, 32)))

    def resolving_conflicts(self, causes: Iterable[Information]) -> None:
        """Count the conflict for each package that took part."""
        self._conflicts.update(
            package for package in _packages(causes) if package.kind is PackageKind.PROJECT
        )
        self._conflicts_met += 1
        if self._conflicts_met > _MOST_CONFLICTS:
            raise ResolutionTooDeep(self.rounds)

    def ending_round(self, index: int, state: State[Edge, Candidate, Package]) -> None:
        """Count the round."""
        self.rounds += 1
        if index > max(_ROUNDS_AT_LEAST, _ROUNDS_A_PACKAGE * len(state.criteria)):
            raise ResolutionTooDeep(index)
        self._decided = len(state.mapping)
        self._report()

    def _report(self) -> None:
        if self._tick is not None:
            self._tick(self.rounds, self._decided)

    # --- the state

    def _demand(self, package: Package) -> Demand:
        """The current demand on a package. May be called from any thread."""
        state = getattr(self.resolution, "state", None)
        criterion = state.criteria.get(package) if state is not None else None
        return (
            self._universe.demand(*criterion.iter_requirement())
            if criterion is not None
            else ANYTHING
        )

    def _of_extra(
        self, package: Package, demand: Demand, banned: Sequence[Candidate]
    ) -> Iterator[Candidate]:
        """Candidates of an extra that the current demand on its project admits, too.

        If none is left, one that clashes, so that resolvelib sees the clash.
        """
        candidate = None
        for candidate in self._universe.candidates(
            package, demand & self._demand(package.base), banned
        ):
            yield candidate
        if candidate is None:
            yield from islice(self._universe.candidates(package, demand, banned), 1)

    def _within_bounds(
        self, package: Package, find: Callable[[], Iterator[Candidate]]
    ) -> Iterator[Candidate]:
        """Yield the candidates of a project that the current bounds on its version admit.

        If none is left, one that clashes, so that resolvelib sees the clash.
        """
        criterion = self.resolution.state.criteria.get(
            Package(package.name, "", PackageKind.VERSION)
        )
        edges = criterion.iter_requirement() if criterion is not None else ()
        bounds = [edge.allows for edge in edges if isinstance(edge.allows, SpecifierSet)]
        clashing = None
        is_any_admitted = False
        for candidate in find():
            if all(bound.contains(candidate.version, prereleases=True) for bound in bounds):
                is_any_admitted = True
                yield candidate
            else:
                clashing = clashing or candidate
        if clashing is not None and not is_any_admitted:
            yield clashing


class _Uncached(list[Candidate]):
    """Candidates that are determined each time they are looked at, as the demand on a project changes."""

    def __init__(self, find: Callable[[], Iterator[Candidate]]) -> None:
        self._find = find

    def __iter__(self) -> Iterator[Candidate]:
        return self._find()

    def __bool__(self) -> bool:
        return next(self._find(), None) is not None


def _packages(information: Iterable[Information]) -> set[Package]:
    """The packages that requirements are on, and those that they come from."""
    parents = {row.parent.package for row in information if row.parent is not None}
    return {row.requirement.package for row in information} | parents


# --- prefetching


class Prefetch:
    """The catalog's `LookAhead` over a universe, from likely release to likely release; called from its thread.

    `demand` returns the search's current demand on a package.
    """

    def __init__(
        self, universe: Universe, demand: Callable[[Package], Demand] = lambda _: ANYTHING
    ) -> None:
        self._universe = universe
        self._demand = demand
        _ = universe.as_of  # known before anything is looked ahead for
        self.target: Hashable = universe.problem.target, universe.problem.wheels_only
        self._requested: set[tuple[str, str]] = set()  # projects and specifiers
        self._guessed: dict[
            str, dict[str, Edge]
        ] = {}  # demands of the likely releases of other projects, by project
        self._read: dict[NormalizedName, CoreMetadata] = {}  # of the release picked last
        self._extras: dict[NormalizedName, dict[str, None]] = {}  # required ones of a project
        self._followed: set[tuple[str, str, str]] = set()

    def prefetch(self, edges: Iterable[Edge]) -> None:
        """Prefetch the projects that these edges name."""
        rows: dict[
            NormalizedName, SpecifierSet
        ] = {}  # one per project is enough: `likely_file` knows the others
        for edge in edges:
            if edge.package.kind is PackageKind.PROJECT and isinstance(edge.allows, SpecifierSet):
                name = text.name(edge.package.name)
                if edge.package.extra:
                    rows.update(self._follow(self._add_extras(name, (edge.package.extra,))))
                rows[name] = edge.allows
        self._request(rows.items())

    def prefetch_projects(self, names: Iterable[NormalizedName]) -> None:
        """Prefetch the projects of the previous lock."""
        preferred = self._universe.preferred
        self._request(
            (name, SpecifierSet(f"=={preferred[name]}" if name in preferred else ""))
            for name in names
        )

    def prefetch_releases(self, candidates: Iterable[Candidate]) -> None:
        """Prefetch the releases that the search will try if this one fails, too."""
        releases = (
            candidate.chosen for candidate in candidates if isinstance(candidate.chosen, Release)
        )
        self._universe.catalog.prefetch_metadata(
            release.file for release in releases if release.file.is_wheel
        )

    def likely_file(
        self, project: NormalizedName, lookup: Lookup, specifier: SpecifierSet
    ) -> File | None:
        """The file of the release that the search would take now."""
        if not lookup.pages:
            return None
        try:
            self._universe.project(project, lookup)
        except ResolverError:
            return None  # reported when the search itself gets there
        # the search's current demand applies; earlier ones may have been withdrawn
        certain = self._universe.demand(_edge(project, specifier)) & self._demand(Package(project))
        # the search may add to them meanwhile
        guessed = self._universe.demand(*tuple(self._guessed.get(project, {}).values()))
        for demand in (certain & guessed, certain):
            for candidate in self._universe.candidates(Package(project), demand):
                return candidate.release.file
        return None

    def next_requirements(
        self, project: NormalizedName, metadata: CoreMetadata
    ) -> Iterator[tuple[NormalizedName, SpecifierSet]]:
        """The projects required by this metadata on the target with the required extras; empty the second time."""
        self._read[project] = metadata
        return self._follow([(project, extra) for extra in ("", *self._extras.get(project, ()))])

    def _request(self, rows: Iterable[tuple[NormalizedName, SpecifierSet]]) -> None:
        new = [
            (name, specifier)
            for name, specifier in rows
            if name not in self._universe.sources and (name, str(specifier)) not in self._requested
        ]
        self._requested.update((name, str(specifier)) for name, specifier in new)
        if new:
            self._universe.catalog.prefetch(new, self)

    def _add_extras(
        self, project: NormalizedName, extras: Iterable[str]
    ) -> list[tuple[NormalizedName, str]]:
        """Remember required extras of a project.

        Returns the new ones if its metadata has been read already.
        """
        seen = self._extras.setdefault(project, {})
        new = [extra for extra in extras if extra not in seen]
        seen.update(dict.fromkeys(new))
        return [(project, extra) for extra in new if project in self._read]

    def _follow(
        self, waiting: list[tuple[NormalizedName, str]]
    ) -> Iterator[tuple[NormalizedName, SpecifierSet]]:
        """What the lines of projects that were read lead to, each for an extra or none."""
        while waiting:
            project, extra = waiting.pop()
            metadata = self._read[project]
            key = project, metadata.version, extra
            if key in self._followed:
                continue
            self._followed.add(key)
            lines = metadata.requires_dist
            for requirement in self._universe.requirements(
                f"{project} {metadata.version}", lines, extra
            ):
                if requirement.url:
                    continue
                waiting += self._add_extras(requirement.name, requirement.extras)
                if requirement.name != project and requirement.name not in self._universe.sources:
                    guessed = self._guessed.setdefault(requirement.name, {})
                    guessed[project] = _edge(requirement.name, requirement.specifier)
                    yield requirement.name, requirement.specifier


def _edge(project: NormalizedName, specifier: SpecifierSet) -> Edge:
    return Edge(Package(project), specifier, None)
