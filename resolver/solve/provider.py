"""The resolvelib provider: how the search asks the universe, and what it decides first.

Two habits keep it from thrashing (pip has them, too): while a conflict is
being resolved only the packages that caused it are up for decision; and a
package that keeps causing conflicts is decided early from then on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import dropwhile, islice
from typing import Any

from resolvelib import AbstractProvider, BaseReporter
from resolvelib.resolvers import RequirementInformation

from resolver.model.candidate import Candidate
from resolver.model.edge import Edge, Exactly
from resolver.model.origin import StackLine
from resolver.model.package import Kind, Package
from resolver.solve.admits import satisfies
from resolver.solve.lookahead import Lookahead
from resolver.solve.universe import Universe

_PROMOTE_AFTER = 5
# At which try of a package how many further releases are asked for at once.
_BATCHES = {2: 4, 5: 8, 12: 16, 27: 16, 42: 16, 57: 16, 72: 16, 87: 16}

_Information = RequirementInformation[Edge, Candidate]


class Provider(AbstractProvider[Edge, Candidate, Package]):
    """Answers resolvelib from a universe. `conflicts` counts how often a package caused one."""

    def __init__(self, universe: Universe, lookahead: Lookahead) -> None:
        self._universe = universe
        self._lookahead = lookahead
        self._information: Mapping[Package, Iterable[_Information]] = {}  # of the round that is on
        self._satisfied: dict[tuple[Edge, Candidate], bool] = {}
        self._traits: dict[Edge, tuple[bool, bool, bool]] = {}  # a pin, the stack's, has any bounds
        self._tries: Counter[Package] = Counter()
        self._wanted: dict[Package, tuple[list[Edge], list[Candidate]]] = {}
        self.conflicts: Counter[Package] = Counter()

    def identify(self, requirement_or_candidate: Edge | Candidate) -> Package:
        """Both carry their package."""
        return requirement_or_candidate.package

    def narrow_requirement_selection(
        self,
        identifiers: Iterable[Package],
        resolutions: Mapping[Package, Candidate],  # noqa: ARG002
        candidates: Mapping[Package, Iterator[Candidate]],  # noqa: ARG002
        information: Mapping[Package, Iterator[_Information]],
        backtrack_causes: Sequence[_Information],
    ) -> Iterable[Package]:
        """Only the packages of the last conflict, as long as one of them is undecided."""
        self._information = information
        open_packages = list(identifiers)
        causes = {cause.requirement.package for cause in backtrack_causes}
        causes.update(cause.parent.package for cause in backtrack_causes if cause.parent is not None)
        return [package for package in open_packages if package in causes] or open_packages

    def get_preference(
        self,
        identifier: Package,
        resolutions: Mapping[Package, Candidate],  # noqa: ARG002
        candidates: Mapping[Package, Iterator[Candidate]],  # noqa: ARG002
        information: Mapping[Package, Iterator[_Information]],
        backtrack_causes: Sequence[_Information],  # noqa: ARG002
    ) -> tuple[Any, ...]:
        """System first, then packages that keep clashing, pins, what the stack names, the rest; by name."""
        if identifier.kind is not Kind.PROJECT:
            return (identifier.kind.value, 0, 0, 0, identifier)
        pinned = asked = bounded = False
        for row in information[identifier]:
            edge = row.requirement
            traits = self._traits.get(edge)
            if traits is None:
                traits = _is_pin(edge), isinstance(edge.origin, StackLine), bool(str(edge.allows))
                self._traits[edge] = traits
            pinned |= traits[0]
            asked |= traits[1]
            bounded |= traits[2]
        promoted = self.conflicts[identifier] >= _PROMOTE_AFTER
        return (Kind.PROJECT.value, not promoted, not pinned, not asked, not bounded, identifier)

    def find_matches(
        self,
        identifier: Package,
        requirements: Mapping[Package, Iterator[Edge]],
        incompatibilities: Mapping[Package, Iterator[Candidate]],
    ) -> Sequence[Candidate] | Callable[[], Iterator[Candidate]]:
        """Candidates in order of preference, looked at only as far as the search goes."""
        edges = list(requirements[identifier])
        banned = list(incompatibilities[identifier])
        self._wanted[identifier] = edges, banned
        if identifier.extra:
            return _OfExtra(self, identifier, edges, banned)
        return lambda: self._universe.candidates(identifier, edges, banned)

    def of_extra(self, package: Package, edges: Sequence[Edge], banned: Sequence[Candidate]) -> Iterator[Candidate]:
        """Candidates of an extra that its project's requirements admit, as they are in this round.

        Where none is left, one that clashes is given, so that the clash is seen.
        """
        of_project = [row.requirement for row in self._information.get(package.base, ())]
        found = False
        for candidate in self._universe.candidates(package, [*edges, *of_project], banned):
            found = True
            yield candidate
        if not found:
            yield from islice(self._universe.candidates(package, edges, banned), 1)

    def is_satisfied_by(self, requirement: Edge, candidate: Candidate) -> bool:
        """Whether the edge admits the candidate."""
        # resolvelib asks the same of every pin in every round
        key = (requirement, candidate)
        known = self._satisfied.get(key)
        if known is None:
            known = self._satisfied[key] = satisfies(candidate, requirement.allows)
        return known

    def get_dependencies(self, candidate: Candidate) -> Iterable[Edge]:
        """The candidate's edges, and a hint to the catalog of what they will ask for."""
        self._look_back(candidate)
        edges = self._universe.edges(candidate)
        self._lookahead.expect(edges)
        return edges

    def _look_back(self, candidate: Candidate) -> None:
        """After a package's second try: tell the catalog of the releases that the search will try next."""
        package = candidate.package
        self._tries[package] += 1
        ahead = _BATCHES.get(self._tries[package], 0)
        if ahead and package.kind is Kind.PROJECT and package in self._wanted:
            following = self._universe.candidates(package, *self._wanted[package])
            older = dropwhile(lambda one: one is not candidate, following)
            self._lookahead.expect_releases(islice(older, 1, 1 + ahead))


class _OfExtra(Sequence[Candidate]):
    """The candidates of an extra, found anew each time they are gone through.

    resolvelib keeps what was found when a requirement was added, and an extra is
    not told of what its project must meet since. Kept, the search would try
    the releases of an extra one by one, with the metadata of each.
    """

    def __init__(
        self, provider: Provider, package: Package, edges: Sequence[Edge], banned: Sequence[Candidate]
    ) -> None:
        self._provider = provider
        self._arguments = (package, edges, banned)

    def __iter__(self) -> Iterator[Candidate]:
        return self._provider.of_extra(*self._arguments)

    def __bool__(self) -> bool:
        return next(iter(self), None) is not None

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __getitem__(self, index: Any) -> Any:
        return list(self)[index]


class Reporter(BaseReporter[Edge, Candidate, Package]):
    """Counts conflicts for the provider, and rounds for people."""

    def __init__(self, provider: Provider, tick: Callable[[int, int], None] | None = None) -> None:
        self._provider = provider
        self._tick = tick
        self.rounds = 0

    def ending_round(self, index: int, state: Any) -> None:
        """Remember and tell how far the search is."""
        self.rounds = index + 1
        if self._tick is not None:
            self._tick(self.rounds, len(state.mapping))

    def resolving_conflicts(self, causes: Iterable[_Information]) -> None:
        """Remember who caused the conflict."""
        packages = {cause.requirement.package for cause in causes}
        packages.update(cause.parent.package for cause in causes if cause.parent is not None)
        self._provider.conflicts.update(package for package in packages if package.kind is Kind.PROJECT)


def _is_pin(edge: Edge) -> bool:
    if isinstance(edge.allows, Exactly):
        return True
    text = str(edge.allows)
    return text.startswith("==") and "*" not in text
