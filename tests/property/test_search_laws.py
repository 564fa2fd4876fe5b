"""The search decides as resolvelib does with the same provider and rule: same choices, rounds and dead ends."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from random import Random
from typing import Any

from hypothesis import event, given
from resolvelib import AbstractProvider, BaseReporter
from resolvelib.resolvers import (
    RequirementInformation,
    RequirementsConflicted,
    ResolutionImpossible,
    ResolutionTooDeep,
)
from resolvelib.resolvers.criterion import Criterion
from resolvelib.resolvers.resolution import Resolution

from resolver.model.candidate import Candidate
from resolver.model.edge import Edge
from resolver.model.package import Package
from resolver.solve.gather import InvalidChoiceError, gather
from resolver.solve.lookahead import Lookahead
from resolver.solve.provider import Matches, Provider
from resolver.solve.search import ROUNDS, DeadEnd, Search
from resolver.solve.universe import Universe
from tests.datacatalog import DataCatalog
from tests.problems import problem
from tests.property.worlds import World, worlds

Information = RequirementInformation[Edge, Candidate]
Found = tuple[int, Any]


class Fresh(Sequence[Candidate]):
    """Matches as a sequence: resolvelib would keep what a function gave the first time."""

    def __init__(self, matches: Matches) -> None:
        self.matches = matches

    def __iter__(self) -> Iterator[Candidate]:
        return iter(self.matches)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __getitem__(self, index: Any) -> Any:
        return list(self)[index]


class Asked(AbstractProvider[Edge, Candidate, Package]):
    """The project's provider, as resolvelib wants to ask it."""

    def __init__(self, provider: Provider) -> None:
        self.provider = provider

    def identify(self, requirement_or_candidate: Edge | Candidate) -> Package:
        return requirement_or_candidate.package

    def narrow_requirement_selection(
        self,
        identifiers: Iterable[Package],
        resolutions: Mapping[Package, Candidate],
        candidates: Mapping[Package, Iterator[Candidate]],
        information: Mapping[Package, Iterator[Information]],
        backtrack_causes: Sequence[Information],
    ) -> Iterable[Package]:
        undecided = list(identifiers)
        causes = {cause.requirement.package for cause in backtrack_causes}
        causes |= {cause.parent.package for cause in backtrack_causes if cause.parent is not None}
        return [package for package in undecided if package in causes] or undecided

    def get_preference(
        self,
        identifier: Package,
        resolutions: Mapping[Package, Candidate],
        candidates: Mapping[Package, Iterator[Candidate]],
        information: Mapping[Package, Iterator[Information]],
        backtrack_causes: Sequence[Information],
    ) -> Any:
        return self.provider.preference(identifier, map(attrgetter("requirement"), information[identifier]))

    def find_matches(
        self,
        identifier: Package,
        requirements: Mapping[Package, Iterator[Edge]],
        incompatibilities: Mapping[Package, Iterator[Candidate]],
    ) -> Fresh:
        return Fresh(
            self.provider.matches(identifier, list(requirements[identifier]), list(incompatibilities[identifier]))
        )

    def is_satisfied_by(self, requirement: Edge, candidate: Candidate) -> bool:
        return self.provider.is_satisfied_by(requirement, candidate)

    def get_dependencies(self, candidate: Candidate) -> Iterable[Edge]:
        return self.provider.dependencies(candidate)


class Watched(BaseReporter[Edge, Candidate, Package]):
    """Counts rounds and conflicts for the provider."""

    rounds = 0

    def __init__(self, provider: Provider) -> None:
        self.provider = provider

    def ending_round(self, index: int, state: Any) -> None:
        self.rounds = index + 1

    def resolving_conflicts(self, causes: Iterable[Information]) -> None:
        rows = list(causes)
        packages = {row.requirement.package for row in rows}
        self.provider.blame(packages | {row.parent.package for row in rows if row.parent is not None})


class Told(Resolution[Edge, Candidate, Package]):
    """resolvelib's algorithm, with the provider told what is going on, and the rule that the search has more.

    A decision is not taken back by what it led to.
    """

    def __init__(self, provider: Asked, reporter: Watched) -> None:
        super().__init__(provider, reporter)
        provider.provider.asked = self.asked
        provider.provider.pinned = lambda package: self.state.mapping.get(package) if self._states else None

    def _add_to_criteria(
        self,
        criteria: dict[Package, Criterion[Edge, Candidate]],
        requirement: Edge,
        parent: Candidate | None,
    ) -> None:
        super()._add_to_criteria(criteria, requirement, parent)
        pin = self.state.mapping.get(requirement.package) if self._states else None
        if parent is None or pin is None or self._p.is_satisfied_by(requirement, pin):
            return
        if not self._reaches(parent.package, frozenset((requirement.package,))):
            raise RequirementsConflicted(criteria[requirement.package])

    def _reaches(self, package: Package, without: frozenset[Package]) -> bool:
        """Whether the stack leads to a package without passing through others."""
        rows = self.state.criteria[package].information
        if any(row.parent is None for row in rows):
            return True
        parents = {row.parent.package for row in rows if row.parent is not None}
        return any(self._reaches(parent, without | {package}) for parent in parents - without - {package})

    def asked(self, package: Package) -> list[Edge]:
        criterion = self.state.criteria.get(package)
        return [] if criterion is None else list(criterion.iter_requirement())


def gathered(universe: Universe, chosen: Mapping[Package, Candidate]) -> Any:
    try:
        return {pin.name: pin.version for pin in gather(universe, chosen, engine="", rounds=0).pins}
    except InvalidChoiceError as error:
        return str(error)


def by_resolvelib(universe: Universe) -> Found:
    provider = Provider(universe, Lookahead(universe))
    reporter = Watched(provider)
    try:
        state = Told(Asked(provider), reporter).resolve(universe.roots(), max_rounds=ROUNDS)
    except (ResolutionImpossible, ResolutionTooDeep):
        return reporter.rounds, None
    return reporter.rounds, gathered(universe, state.mapping)


def by_search(universe: Universe) -> Found:
    search = Search(Provider(universe, Lookahead(universe)))
    try:
        chosen = search.run(universe.roots())
    except DeadEnd:
        return search.rounds, None
    return search.rounds, gathered(universe, chosen)


def agree(world: World) -> None:
    theirs, ours = (by(Universe(world.problem(), world.catalog())) for by in (by_resolvelib, by_search))
    event("dead end" if ours[1] is None else "found")
    assert ours == theirs


@given(worlds())
def test_it_decides_as_resolvelib_does(world: World) -> None:
    agree(world)


@given(worlds(plain=True))
def test_it_does_so_where_projects_need_each_other_in_circles(world: World) -> None:
    agree(world)


def test_it_does_so_where_it_has_to_go_back_often() -> None:
    """Graphs without circles, of which one in twenty has no solution and some take a hundred rounds."""
    rounds = []
    for seed in range(60):
        random = Random(seed)
        names = [f"p{number}" for number in range(random.randrange(5, 25))]
        newest = random.randrange(2, 9)

        def needs(at: int, random: Random = random, names: list[str] = names, newest: int = newest) -> list[str]:
            others = names[at + 1 :]
            some = random.sample(others, min(len(others), random.randrange(4)))
            return [f"{one}{random.choice(['>=', '<', '<=', '=='])}{random.randint(1, newest)}" for one in some]

        catalog = DataCatalog(
            {name: {str(version): needs(at) for version in range(1, newest + 1)} for at, name in enumerate(names)}
        )
        stack = problem(*random.sample(names, 3))
        theirs, ours = (by(Universe(stack, catalog)) for by in (by_resolvelib, by_search))
        assert ours == theirs, seed
        rounds.append(ours[0])
    assert max(rounds) > 100
