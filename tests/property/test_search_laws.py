"""The search decides as resolvelib does with the same provider and rules: same choices, rounds and dead ends.

And what it learns on the way is true.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice, product
from operator import attrgetter
from random import Random
from typing import Any, NoReturn

from hypothesis import event, given
from packaging.utils import canonicalize_name
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
from resolver.solve.clashes import Clash
from resolver.solve.demand import Demand
from resolver.solve.gather import InvalidChoiceError, gather
from resolver.solve.lookahead import Lookahead
from resolver.solve.provider import Matches, Provider
from resolver.solve.search import LONG_RUN, ROUNDS, DeadEnd, Search
from resolver.solve.universe import Universe
from tests.datacatalog import DataCatalog
from tests.problems import problem
from tests.property.bruteforce import BruteForce
from tests.property.worlds import Version, World, worlds

Information = RequirementInformation[Edge, Candidate]
Found = tuple[int, Any]


class Fresh(Sequence[Candidate]):
    """Matches as a sequence, as resolvelib would keep a function's first result."""

    def __init__(self, matches: Matches) -> None:
        self.matches = matches

    def __iter__(self) -> Iterator[Candidate]:
        return iter(self.matches)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __getitem__(self, index: Any) -> Any:
        return list(self)[index]


class Asked(AbstractProvider[Edge, Candidate, Package]):
    """The project's provider with resolvelib's interface."""

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
        edges = map(attrgetter("requirement"), information[identifier])
        return self.provider.preference(identifier, self.provider.demand(*edges))

    def find_matches(
        self,
        identifier: Package,
        requirements: Mapping[Package, Iterator[Edge]],
        incompatibilities: Mapping[Package, Iterator[Candidate]],
    ) -> Fresh:
        demand = self.provider.demand(*requirements[identifier])
        return Fresh(self.provider.matches(identifier, demand, list(incompatibilities[identifier])))

    def is_satisfied_by(self, requirement: Edge, candidate: Candidate) -> bool:
        return self.provider.is_admitted(candidate, self.provider.demand(requirement))

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
    """resolvelib's algorithm, with the provider informed of what happens, plus the search's additional rules.

    A decision is not taken back by its own consequences. When a decision is taken back, its requirements are forgotten
    along with what was decided because of them, also where they only kept another project's release out, and they
    exclude no candidate preferred to the one that takes it back. A candidate that would meet a learned clash is
    skipped, and decisions made since the clash was met are undone before backtracking. If nothing is left of an extra,
    the requirements on its project are among the causes. The point to which optimistic jumps return has a state of its
    own.
    """

    def __init__(self, provider: Asked, reporter: Watched) -> None:
        super().__init__(provider, reporter)
        self._p: Asked
        self._tried = 0
        self._in_vain: list[Candidate] = []
        self._seen: set[Candidate] = set()  # candidates whose metadata was read
        self._back: set[Package] = set()
        self._undone: dict[int, set[Package]] = {}
        self._clashed: list[Criterion[Edge, Candidate]] = []
        self._kept_out: dict[Package, set[Package]] = {}
        provider.provider.asked = self.asked
        provider.provider.pinned = lambda package: self.state.mapping.get(package) if self._states else None

    def _add_to_criteria(
        self,
        criteria: dict[Package, Criterion[Edge, Candidate]],
        requirement: Edge,
        parent: Candidate | None,
    ) -> None:
        try:
            super()._add_to_criteria(criteria, requirement, parent)
        except RequirementsConflicted as error:
            if not self._leaves_without_those_that_go_back(requirement.package, error.criterion):
                raise
            criteria[requirement.package] = error.criterion
        pin = self.state.mapping.get(requirement.package) if self._states else None
        if parent is None or pin is None or self._p.is_satisfied_by(requirement, pin):
            return
        if not self._reaches(parent.package, frozenset((requirement.package,))):
            raise RequirementsConflicted(criteria[requirement.package])

    def _leaves_without_those_that_go_back(self, name: Package, criterion: Criterion[Edge, Candidate]) -> bool:
        rows = [row for row in criterion.information if row.parent is None or row.parent.package not in self._back]
        banned = list(criterion.incompatibilities)
        demand = self._asks(Criterion((), rows, banned))
        return bool(self._back) and bool(self._p.provider.matches(name, demand, banned))

    def _attempt_to_pin_criterion(self, name: Package) -> list[Criterion[Edge, Candidate]]:
        self._tried = 0
        self._in_vain = []
        self._clashed = []
        known, pinned = self.state.criteria.copy(), dict(self.state.mapping)
        causes = super()._attempt_to_pin_criterion(name)
        if not causes:
            self._take_sooner(name, known, pinned)
            self.undone.discard(name)
            rows = [row for criterion in self._clashed for row in criterion.information]
            parents = {row.parent.package for row in rows if row.parent is not None}
            for other in ({row.requirement.package for row in rows} | parents) - {name}:
                self._kept_out.setdefault(other, set()).add(name)
        if causes or self._tried > LONG_RUN:  # learned from what was known before
            after = self.state.criteria.copy()
            self.state.criteria.clear()
            self.state.criteria.update(known)
            self._p.provider.learn(name)
            self.state.criteria.clear()
            self.state.criteria.update(after)
        base = known.get(name.base) if causes and name.extra else None
        if base is not None and self._asks(known[name]).mask & ~self._asks(base).mask:
            causes.append(base)
        return causes

    def _take_sooner(
        self,
        name: Package,
        known: Mapping[Package, Criterion[Edge, Candidate]],
        pinned: Mapping[Package, Candidate],
    ) -> None:
        """Replace the pin by the first candidate that was only excluded by decisions that it takes back as well."""
        *in_vain, taken = self._in_vain
        after = self.state.criteria.copy()

        def restore(criteria: Mapping[Package, Criterion[Edge, Candidate]]) -> None:
            self.state.criteria.clear()
            self.state.criteria.update(criteria)

        def goes_back(candidate: Candidate) -> set[Package]:
            edges = self._p.provider.dependencies(candidate) if candidate in self._seen else ()
            rows = [(edge, pinned[edge.package]) for edge in edges if edge.package in pinned]
            return {edge.package for edge, pin in rows if not self._p.is_satisfied_by(edge, pin)}

        back = goes_back(taken)
        own = self.state.mapping.pop(name)
        self.state.mapping.update({name: pinned[name]} if name in pinned else {})
        restore(known)
        for candidate in in_vain:
            self._back = back & goes_back(candidate)
            try:
                criteria = super()._get_updated_criteria(candidate) if self._back else None
            except RequirementsConflicted:
                continue
            finally:
                self._back = set()
            if criteria is not None:
                self.state.criteria.update(criteria)
                own = candidate
                break
        else:
            restore(after)
        self.state.mapping.pop(name, None)
        self.state.mapping[name] = own

    @property
    def undone(self) -> set[Package]:
        """The packages of this state whose pins no longer count."""
        return self._undone.setdefault(id(self.state.mapping), set())

    def _push_new_state(self) -> None:
        undone = set(self.undone)
        super()._push_new_state()
        self._undone[id(self.state.mapping)] = undone

    def _save_state(self) -> None:
        if self._save_states is None:
            super()._save_state()
            for state, copied in zip(self._states, self._save_states or (), strict=True):
                self._undone[id(copied.mapping)] = set(self._undone.get(id(state.mapping), ()))

    def _is_current_pin_satisfying(self, name: Package, criterion: Criterion[Edge, Candidate]) -> bool:
        if not criterion.information:
            return True
        return name not in self.undone and super()._is_current_pin_satisfying(name, criterion)

    def _remove_information_from_criteria(
        self, criteria: dict[Package, Criterion[Edge, Candidate]], parents: Collection[Package]
    ) -> None:
        waiting = list(parents)
        by = next(reversed(self.state.mapping))
        let_in: set[Package] = set()
        while waiting:
            parent = waiting.pop()
            self.undone.add(parent)
            fewer = []
            for name, criterion in list(criteria.items()):
                rows = [row for row in criterion.information if row.parent is None or row.parent.package != parent]
                if len(rows) == len(criterion.information):
                    continue
                banned = list(criterion.incompatibilities)
                demand = self._asks(Criterion((), rows, banned))
                criteria[name] = Criterion(Fresh(self._p.provider.matches(name, demand, banned)), rows, banned)
                fewer.append(name)
            waiting += [name for name in sorted(fewer) if name not in (by, *self.undone) and not self._is_first(name)]
            let_in |= self._kept_out.get(parent, set())
            if not waiting:
                waiting += [name for name in sorted(let_in - {by, *self.undone}) if self._is_let_in(name)][:1]

    def _is_let_in(self, name: Package) -> bool:
        """Whether a package is decided, and a candidate before its own leaves some choice by now."""
        pin, criterion = self.state.mapping.get(name), self.state.criteria.get(name)
        if pin is None or criterion is None or not criterion.information:
            return False
        for candidate in islice(criterion.candidates, LONG_RUN):
            if candidate == pin:
                break
            self._back = {name}
            try:
                super()._get_updated_criteria(candidate)
            except RequirementsConflicted:
                continue
            finally:
                self._back = set()
            return True
        return False

    def _is_first(self, name: Package) -> bool:
        """Whether a package, if decided, would be decided the same way."""
        pin = self.state.mapping.get(name)
        criterion = self.state.criteria[name]
        return pin is None or (bool(criterion.information) and next(iter(criterion.candidates), None) == pin)

    def _asks(self, criterion: Criterion[Edge, Candidate]) -> Demand:
        return self._p.provider.demand(*criterion.iter_requirement())

    def _rollback_states(self) -> None:
        super()._rollback_states()
        self._push_new_state()

    def _get_updated_criteria(self, candidate: Candidate) -> dict[Package, Criterion[Edge, Candidate]]:
        provider = self._p.provider
        self._in_vain.append(candidate)
        try:
            clash = provider.passed_over(candidate)
            if clash is not None:
                self._conflict(self.state.criteria, clash)
            self._tried += 1
            self._seen.add(candidate)
            criteria = super()._get_updated_criteria(candidate)
            clash = provider.doomed(candidate)
            if clash is not None:
                self._conflict(criteria, clash)
        except RequirementsConflicted as error:
            self._clashed.append(error.criterion)
            raise
        return criteria

    def _conflict(self, criteria: Mapping[Package, Criterion[Edge, Candidate]], clash: Iterable[Package]) -> NoReturn:
        rows = [row for package in clash for row in criteria[package].information]
        raise RequirementsConflicted(Criterion([], rows, []))

    def _backjump(self, causes: list[Information]) -> bool:
        while len(self._states) >= 3:
            last, before = self._states.pop(), self._states.pop()
            clashes = self._p.provider.still_clashes()
            self._states.append(before)
            if not clashes:
                self._states.append(last)
                break
        return super()._backjump(causes)

    def _reaches(self, package: Package, without: frozenset[Package]) -> bool:
        """Whether the stack leads to a package without passing through others."""
        rows = self.state.criteria[package].information
        if any(row.parent is None for row in rows):
            return True
        parents = {row.parent.package for row in rows if row.parent is not None}
        return any(self._reaches(parent, without | {package}) for parent in parents - without - {package})

    def asked(self, package: Package) -> Demand | None:
        criterion = self.state.criteria.get(package)
        edges = () if criterion is None else tuple(criterion.iter_requirement())
        return self._p.provider.demand(*edges) if edges else None


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
def test_it_does_so_in_circles(world: World) -> None:
    agree(world)


def test_it_does_so_where_it_has_to_go_back_often() -> None:
    """Graphs without circles, of which one in twenty has no solution and some take a hundred rounds."""
    rounds = []
    for seed in range(60):
        random = Random(seed)
        names = [f"p{number}" for number in range(random.randrange(5, 40))]
        newest = random.randrange(2, 15)

        def needs(at: int, random: Random = random, names: list[str] = names, newest: int = newest) -> list[str]:
            others = names[at + 1 :]
            some = random.sample(others, min(len(others), random.randrange(5)))
            return [f"{one}{random.choice(['>=', '<', '<=', '=='])}{random.randint(1, newest)}" for one in some]

        catalog = DataCatalog(
            {name: {str(version): needs(at) for version in range(1, newest + 1)} for at, name in enumerate(names)}
        )
        stack = problem(*random.sample(names, 3))
        theirs, ours = (by(Universe(stack, catalog)) for by in (by_resolvelib, by_search))
        assert ours == theirs, seed
        rounds.append(ours[0])
    assert max(rounds) > 100


class Noting(Provider):
    """Remembers everything learned."""

    def __init__(self, universe: Universe) -> None:
        super().__init__(universe, Lookahead(universe))
        self.noted: list[Clash] = []

    def learn(self, package: Package) -> None:
        super().learn(package)
        self.noted += [self.learned] if self.learned is not None else []


def true(world: World) -> None:
    """Whether no resolution has a release in each set of a clash, whatever else the stack requires."""
    universe = Universe(world.problem(), world.catalog())
    provider = Noting(universe)
    with suppress(DeadEnd):
        Search(provider).run(universe.roots())
    for clash in provider.noted:
        lines = []
        for package, clashing in clash.items():
            project = universe.project(canonicalize_name(package.name))
            lines.append([f"{package}=={project.versions[at]}" for at in project.positions(project.all & clashing)])
        for line in islice(product(*lines), 100):
            assert not BruteForce(world.asking(*line)).satisfiable(), (clash, line)


@given(worlds(prereleases=True))
def test_what_it_learns_is_true(world: World) -> None:
    true(world)


def test_it_is_true_where_it_has_to_go_back_often() -> None:
    """Eight projects that need each other in circles, in few releases: clashes of up to four packages."""
    for seed in range(70):
        random = Random(seed)
        names = [f"p{number}" for number in range(8)]

        def needs(random: Random = random, names: list[str] = names) -> tuple[str, ...]:
            some = random.sample(names, random.choice((1, 2, 2, 3)))
            return tuple(f"{one}{random.choice(['>=', '<', '<=', '=='])}{random.randint(1, 4)}" for one in some)

        projects = {name: {str(version): Version(needs()) for version in range(1, 5)} for name in names}
        true(World(projects=projects, asks=tuple(names[:3])))
