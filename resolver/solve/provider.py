"""How the search asks the universe, and what it decides first.

A habit that pip has, too, keeps it from thrashing: a package that keeps causing
conflicts is decided early from then on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import dropwhile, islice
from typing import Any

from resolver.model.candidate import Candidate
from resolver.model.edge import Edge, Exactly
from resolver.model.origin import StackLine
from resolver.model.package import Kind, Package
from resolver.solve.admits import satisfies
from resolver.solve.lookahead import Lookahead
from resolver.solve.universe import Universe

_PROMOTE_AFTER = 5
# At which release of a package how many further ones are asked for at once.
_BATCHES = {2: 4, 5: 8}
_LARGE = 16  # from the twelfth try on, when all but one of those before were tried


class Provider:
    """Answers the search from a universe. `conflicts` counts how often a package caused one.

    `asked` tells what is asked of a package in the round that is on.
    """

    def __init__(self, universe: Universe, lookahead: Lookahead) -> None:
        self._universe = universe
        self._lookahead = lookahead
        self.asked: Callable[[Package], Sequence[Edge]] = lambda _: ()
        self._satisfied: dict[tuple[Edge, Candidate], bool] = {}
        self._traits: dict[Edge, tuple[bool, bool, bool]] = {}  # a pin, the stack's, has any bounds
        self._tried: dict[Package, set[Candidate]] = {}
        self._wanted: dict[Package, tuple[list[Edge], Collection[Candidate]]] = {}
        self.conflicts: Counter[Package] = Counter()

    def preference(self, package: Package, edges: Iterable[Edge]) -> tuple[Any, ...]:
        """System first, then packages that keep clashing, pins, what the stack names, the rest; by name."""
        if package.kind is not Kind.PROJECT:
            return (package.kind.value, False, False, False, False, package)
        pinned = asked = bounded = False
        for edge in edges:
            traits = self._traits.get(edge)
            if traits is None:
                traits = _is_pin(edge), isinstance(edge.origin, StackLine), bool(str(edge.allows))
                self._traits[edge] = traits
            pinned |= traits[0]
            asked |= traits[1]
            bounded |= traits[2]
        promoted = self.conflicts[package] >= _PROMOTE_AFTER
        return (Kind.PROJECT.value, not promoted, not pinned, not asked, not bounded, package)

    def matches(self, package: Package, edges: list[Edge], banned: Collection[Candidate]) -> Matches:
        """Candidates in order of preference, looked at only as far as the search goes."""
        self._wanted[package] = edges, banned
        return Matches(self, package, edges, banned)

    def candidates(self, package: Package, edges: list[Edge], banned: Collection[Candidate]) -> Iterator[Candidate]:
        """What edges admit of a package now."""
        if package.extra:
            return self._of_extra(package, edges, banned)
        return self._universe.candidates(package, edges, banned)

    def _of_extra(self, package: Package, edges: list[Edge], banned: Collection[Candidate]) -> Iterator[Candidate]:
        """Candidates of an extra that its project's requirements admit, as they are in this round.

        Where none is left, one that clashes is given, so that the clash is seen.
        """
        of_project = self.asked(package.base)
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

    def dependencies(self, candidate: Candidate) -> Sequence[Edge]:
        """The candidate's edges."""
        return self._universe.edges(candidate)

    def decide(self, candidate: Candidate) -> Sequence[Edge]:
        """The edges of a candidate that is tried, and a hint to the catalog of what they will ask for."""
        self._look_back(candidate)
        edges = self._universe.edges(candidate)
        self._lookahead.expect(edges)
        return edges

    def blame(self, packages: Iterable[Package]) -> None:
        """Remember who caused a conflict."""
        self.conflicts.update(package for package in packages if package.kind is Kind.PROJECT)

    def _look_back(self, candidate: Candidate) -> None:
        """After a package's second release: tell the catalog of those that the search will try next.

        Who steps back pins most packages again to what they were: that is no sign that older releases are needed.
        """
        package = candidate.package
        tried = self._tried.setdefault(package, set())
        if candidate in tried:
            return
        tried.add(candidate)
        tries = len(tried)
        ahead = _LARGE if tries >= 12 and (tries - 12) % (_LARGE - 1) == 0 else _BATCHES.get(tries, 0)
        if ahead and package.kind is Kind.PROJECT and package in self._wanted:
            following = self._universe.candidates(package, *self._wanted[package])
            older = dropwhile(lambda one: one is not candidate, following)
            self._lookahead.expect_releases(islice(older, 1, 1 + ahead))


class Matches:
    """The candidates of a package, found anew each time they are gone through.

    What was found when a requirement was added must not be kept for an extra, which is not told of what its project
    must meet since: the search would try the releases of an extra one by one, with the metadata of each.
    """

    __slots__ = ("_arguments", "_provider")

    def __init__(self, provider: Provider, package: Package, edges: list[Edge], banned: Collection[Candidate]) -> None:
        self._provider = provider
        self._arguments = (package, edges, banned)

    def __iter__(self) -> Iterator[Candidate]:
        return self._provider.candidates(*self._arguments)

    def __bool__(self) -> bool:
        return next(iter(self), None) is not None


def _is_pin(edge: Edge) -> bool:
    if isinstance(edge.allows, Exactly):
        return True
    text = str(edge.allows)
    return text.startswith("==") and "*" not in text
