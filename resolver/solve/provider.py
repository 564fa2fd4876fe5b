"""How the search queries the universe, and what it decides first.

One habit, shared with pip, keeps it from thrashing: a package that keeps causing conflicts is decided early.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import dropwhile, islice
from typing import Any

from resolver.model.candidate import Candidate, Release
from resolver.model.edge import Edge
from resolver.model.package import Kind, Package
from resolver.solve.clashes import Clash, Clashes
from resolver.solve.demand import ANYTHING, Demand
from resolver.solve.lookahead import Lookahead
from resolver.solve.universe import Universe

_PROMOTE_AFTER = 5
_LARGEST = 32  # releases that are asked for at once; the first time four, and twice as many each time


class Provider:
    """Answers the search from a universe. `conflicts` counts how many conflicts a package has caused.

    `learned` is the clash that the last conflict taught, or None. `asked` and `pinned` are set by the search: what is
    demanded of a package in the current round, and the candidate that it is decided for; None for neither.
    """

    def __init__(self, universe: Universe, lookahead: Lookahead) -> None:
        self._universe = universe
        self._lookahead = lookahead
        lookahead.asked = lambda package: self.asked(package)
        self.asked: Callable[[Package], Demand | None] = lambda _: None
        self.pinned: Callable[[Package], Candidate | None] = lambda _: None
        self._tried: dict[Package, dict[Candidate, None]] = {}
        self._in_vain: Counter[Package] = Counter()
        self._batches: dict[Package, tuple[int, int]] = {}  # at which try in vain the next is told, and how many
        self._following: dict[Package, tuple[object, Iterator[Candidate], Candidate | None]] = {}
        self._wanted: dict[Package, tuple[Demand, Collection[Candidate]]] = {}
        self._ahead: set[Package] = set()
        self._met: dict[Package, int] = {}  # the packages in the order in which they were first asked for
        self.conflicts: Counter[Package] = Counter()
        self.learned: Clash | None = None
        self._clashes = Clashes(universe, lambda package: self.asked(package), self._wanted.__contains__)

    def demand(self, *edges: Edge) -> Demand:
        """The combined demand of edges on one package."""
        return self._universe.demand(*edges)

    def preference(self, package: Package, demand: Demand) -> tuple[Any, ...]:
        """A sort key: system first, then what keeps clashing, pins, what the stack names, what has bounds, the rest.

        Among equals, packages that were put ahead go first, then those required earliest: so most of what requires a
        package is decided before it, and its demand is complete. What the stack names goes by name.
        """
        if package.kind is not Kind.PROJECT:
            return (package.kind.value, False, False, False, False, False, 0, package)
        promoted = self.conflicts[package] >= _PROMOTE_AFTER
        ahead = package in self._ahead
        met = 0 if demand.stacks else self._met.get(package, 0)
        return (
            Kind.PROJECT.value,
            not promoted,
            not demand.first,
            not demand.stacks,
            not demand.bounded,
            not ahead,
            met,
            package,
        )

    def matches(self, package: Package, demand: Demand, banned: Collection[Candidate]) -> Matches:
        """Candidates in order of preference, evaluated only as far as the search goes."""
        self._wanted[package] = demand, banned
        self._met.setdefault(package, len(self._met))
        return Matches(self, package, demand, banned)

    def candidates(self, package: Package, demand: Demand, banned: Collection[Candidate]) -> Iterator[Candidate]:
        """The candidates of a package that a demand admits now."""
        if package.extra:
            return self._of_extra(package, demand, banned)
        return self._universe.candidates(package, demand, banned, stable=self._is_stable(self.pinned(package)))

    def _is_stable(self, pin: Candidate | None) -> bool:
        """Whether a package is pinned to a final release: before a pre-release, what rules that out is reconsidered."""
        return pin is not None and isinstance(pin.chosen, Release) and not pin.version.is_prerelease

    def _of_extra(self, package: Package, demand: Demand, banned: Collection[Candidate]) -> Iterator[Candidate]:
        """Candidates of an extra that the current requirements on its project admit.

        If none is left, one that clashes is returned, so that the search sees the clash.
        """
        of_project = self.asked(package.base)
        found = False
        both = demand if of_project is None else demand & of_project
        for candidate in self._universe.candidates(package, both, banned):
            found = True
            yield candidate
        if not found:
            yield from islice(self._universe.candidates(package, demand, banned), 1)

    def is_admitted(self, candidate: Candidate, demand: Demand | None) -> bool:
        """Whether a demand on its package admits a candidate."""
        return demand is None or self._universe.is_admitted(candidate, demand)

    def dependencies(self, candidate: Candidate) -> Sequence[Edge]:
        """The candidate's edges."""
        return self._universe.edges(candidate)

    def decide(self, candidate: Candidate) -> Sequence[Edge]:
        """The edges of a candidate that is tried; the catalog is told what they will require."""
        self._look_back(candidate)
        edges = self._universe.edges(candidate)
        self._lookahead.expect(edges)
        self._lookahead.expect_tools(candidate)
        return edges

    def learn(self, package: Package) -> None:
        """Learn why releases of a package were tried in vain."""
        self.learned = self._clashes.learn(package)

    def still_clashes(self) -> bool:
        """Whether the clash learned last also rules out the current demands."""
        return self.learned is not None and self._clashes.is_met(self.learned)

    def in_the_way(self, candidate: Candidate) -> Clash | None:
        """What other packages still allowed when releases of a package were tried in vain.

        `candidate` is the next one to be tried. None if its metadata has been read, as trying it then costs nothing.
        """
        package = candidate.package
        clash = None if self._universe.opened(candidate) or package in self._ahead else self._clashes.learn(package)
        return None if clash is None else {one: left for one, left in clash.items() if one != package}

    def still_met(self, clash: Clash) -> bool:
        """Whether the current demands meet a clash."""
        return self._clashes.is_met(clash)

    def gives_way(self, package: Package, to: Package, clash: Clash) -> bool:
        """Whether a package is better decided after another one, for which `clash` leaves nothing beside it.

        Only if nothing but the order of first requirement puts it first, and its oldest release leaves room.
        The other one is put ahead of it from then on.
        """
        mine, other = (self.preference(one, self.asked(one) or ANYTHING) for one in (package, to))
        if mine[:-2] != other[:-2]:
            return False
        oldest = self._oldest(package)
        if oldest is None or self._clashes.is_met(clash, oldest):
            return False
        self._ahead.add(to)
        return True

    def _oldest(self, package: Package) -> Candidate | None:
        """The oldest wheel that is admitted now; archives are too large to fetch on a guess."""
        wheels = [
            one
            for one in self._universe.candidates(package, self.asked(package) or ANYTHING)
            if isinstance(one.chosen, Release) and one.chosen.file.is_wheel
        ]
        return min(wheels, key=lambda one: one.version) if wheels else None

    def passed_over(self, candidate: Candidate) -> Clash | None:
        """A learned clash that rules a candidate out whatever it requires."""
        return next(self._clashes.by_itself(candidate), None)

    def doomed(self, candidate: Candidate) -> Clash | None:
        """A learned clash that rules a candidate out together with its requirements."""
        clash = next(self._clashes.with_needs(candidate), None)
        if clash is None or self.taken_back(candidate):
            return None  # what a decision asks for that is taken back does not count
        return clash

    def taken_back(self, candidate: Candidate) -> frozenset[Package]:
        """The packages of which an opened candidate does not admit what they are decided for."""
        if not self._universe.opened(candidate):
            return frozenset()
        pins = ((edge, self.pinned(edge.package)) for edge in self._universe.edges(candidate))
        return frozenset(
            edge.package for edge, pin in pins if pin is not None and not self.is_admitted(pin, self.demand(edge))
        )

    def blame(self, packages: Iterable[Package]) -> None:
        """Remember who caused a conflict."""
        self.conflicts.update(package for package in packages if package.kind is Kind.PROJECT)

    def _look_back(self, candidate: Candidate) -> None:
        """Where releases are tried in vain one after the other: tell the catalog of those that come next.

        What was given up because it is not admitted any more was not tried in vain, and who steps back pins most
        packages again to what they were: neither is a sign that older releases are needed.
        """
        package = candidate.package
        tried = self._tried.setdefault(package, {})
        if candidate in tried:
            return
        before = next(reversed(tried), None)
        tried[candidate] = None
        if before is None or not self.is_admitted(before, self.asked(package)):
            return
        self._in_vain[package] += 1
        at, ahead = self._batches.get(package, (1, 4))
        if self._in_vain[package] >= at and package.kind is Kind.PROJECT and package in self._wanted:
            older = self._older(candidate, ahead)
            if older:  # what is admitted may go no further yet
                self._batches[package] = self._in_vain[package] + len(older), min(2 * ahead, _LARGEST)
                self._lookahead.expect_releases(older)

    def _older(self, candidate: Candidate, count: int) -> list[Candidate]:
        """The candidates that come right after one; if it is the last of those told before, from where that ended."""
        package = candidate.package
        wanted = self._wanted[package]
        known, following, last = self._following.get(package, (None, iter(()), None))
        if known is not wanted or last is not candidate:
            following = self._universe.candidates(package, *wanted)
            next(dropwhile(lambda one: one is not candidate, following), None)
        older = list(islice(following, count))
        self._following[package] = wanted, following, older[-1] if older else None
        return older


class Matches:
    """The candidates of a package, found anew each time they are gone through.

    What was found when a requirement was added must not be kept for an extra, which is not told of what its project
    must meet since: the search would try the releases of an extra one by one, with the metadata of each.
    """

    __slots__ = ("_arguments", "_provider")

    def __init__(self, provider: Provider, package: Package, demand: Demand, banned: Collection[Candidate]) -> None:
        self._provider = provider
        self._arguments = (package, demand, banned)

    def __iter__(self) -> Iterator[Candidate]:
        return self._provider.candidates(*self._arguments)

    def __bool__(self) -> bool:
        return next(iter(self), None) is not None
