"""What a resolution promises: that nothing could simply be newer.

The search decides one package after the other, and what it decided first may have kept something out that would fit
in the end. So after it, two things are made true, whichever engine found the choices:

- no other project can be newer with all others as they are (`settled`);
- no project that the stack asks for can be newer by itself: without another one of those that it asks for getting
  older, whatever else moves (`raised`).

"Newer" is what comes first in the order of preference (`preference`): what the previous lock has comes before all.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Set
from contextlib import suppress
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from itertools import takewhile

from resolver.model import text
from resolver.model.dependency import Candidate, Edge, Kind, Package
from resolver.model.release import Release
from resolver.resolve.demand import ANYTHING, Demand
from resolver.resolve.gather import InvalidChoiceError
from resolver.resolve.universe import Universe

Choices = Mapping[Package, Candidate]
Solve = Callable[[Universe], Choices | None]


def newest(universe: Universe, choices: Choices, solve: Solve) -> Choices:
    """Choices that keep the promise, from valid ones; raises InvalidChoiceError if they are not valid.

    `solve` finds valid choices of a narrowed universe; None means that there are none.
    """
    choices = settled(universe, choices)
    while (better := raised(universe, choices, solve)) is not None:
        choices = settled(universe, better)
    return choices


# --- with all others as they are


def settled(universe: Universe, choices: Choices) -> Choices:
    """The choices that are needed, each project at the first of its releases that fits beside all others."""
    reached = _Reached(universe, choices)
    moved = True
    while moved:
        moved = False
        for package, candidate in list(reached.choices.items()):
            if package.kind is not Kind.PROJECT or package.extra or reached.choices.get(package) is not candidate:
                continue
            for newer in _before(candidate, universe.candidates(package, reached.demand(package))):
                if (fitting := reached.beside_all(newer)) is not None:
                    reached = fitting
                    moved = True
                    break
    return reached.choices


class _Reached:
    """The choices to which the stack leads, without following what `aside` needs.

    Raises InvalidChoiceError if something is not met.
    """

    def __init__(self, universe: Universe, choices: Choices, aside: Package | None = None) -> None:
        self._universe = universe
        self.choices: dict[Package, Candidate] = {}
        self._demands: dict[Package, Demand] = {}
        self._needs: dict[Package, set[Package]] = {}
        edges = [(edge, Package("")) for edge in universe.roots()]
        for edge, parent in edges:  # which grows
            candidate = choices.get(edge.package)
            own = universe.demand(edge)
            if candidate is None or not universe.is_admitted(candidate, own):
                raise InvalidChoiceError(f"{edge.origin} is not met")
            base = edge.package.base
            if parent != base:
                self._demands[base] = self._demands.get(base, ANYTHING) & own
                self._needs.setdefault(parent, set()).add(base)
            if edge.package not in self.choices:
                self.choices[edge.package] = candidate
                edges += [(one, base) for one in universe.edges(candidate)] if base != aside else []

    @cached_property
    def _circular(self) -> Set[Package]:
        """The packages that need themselves, and some of those between them."""
        needed_by: dict[Package, set[Package]] = {}
        for package, needs in self._needs.items():
            for one in needs:
                needed_by.setdefault(one, set()).add(package)
        return _after_circles(self._needs) & _after_circles(needed_by)

    def demand(self, package: Package) -> Demand:
        """What is demanded of a project by the stack and by what would be there without its own needs."""
        if package not in self._circular:
            return self._demands[package]
        return _Reached(self._universe, self.choices, package)._demands[package]

    def beside_all(self, newer: Candidate) -> _Reached | None:
        """The same with another release of a project; None unless all others can stay as they are."""
        universe = self._universe
        assert isinstance(newer.chosen, Release)  # noqa: S101  only projects have a newer one
        own = [package for package in self.choices if package.base == newer.package]
        moved = {package: universe.candidate(package, newer.chosen.position) for package in own}
        choices = self.choices | {package: one for package, one in moved.items() if one is not None}
        for package in own:
            for edge in universe.edges(choices[package]):
                demand = universe.demand(edge)
                if edge.package.kind in (Kind.SYSTEM, Kind.MODULE) and edge.package not in choices:
                    choices.update((edge.package, one) for one in universe.candidates(edge.package, demand))
                chosen = choices.get(edge.package)
                if chosen is None or not universe.is_admitted(chosen, demand):
                    return None  # found out before all the rest is looked at
        try:
            found = _Reached(universe, choices)
        except InvalidChoiceError:
            return None
        return found if all(map(found._is_permitted, found.choices.values())) else None

    def _is_permitted(self, candidate: Candidate) -> bool:
        """Whether the policies permit a release, which may have depended on who requires it."""
        release = candidate.chosen
        if not isinstance(release, Release) or not (release.yanked or release.version.is_prerelease):
            return True
        return candidate in self._universe.candidates(candidate.package, self._demands[candidate.package.base])


def _after_circles(needs: Mapping[Package, Collection[Package]]) -> Set[Package]:
    """What is in a circle, or needs something that is."""
    order = TopologicalSorter(needs)
    with suppress(CycleError):
        order.prepare()  # what no circle is in the way of is found all the same
    left = {*needs, *(package for those in needs.values() for package in those)}
    while ready := order.get_ready():
        left.difference_update(ready)
        order.done(*ready)
    return left


# --- whatever else moves


def raised(universe: Universe, choices: Choices, solve: Solve) -> Choices | None:
    """Choices with a newer release of something that the stack asks for, and none older; None if there are none."""
    asked: dict[Package, Demand] = {}
    for edge in universe.roots():
        if edge.package.kind is Kind.PROJECT:
            base = edge.package.base
            asked[base] = asked.get(base, ANYTHING) & universe.demand(edge)
    own = {package: _bit(choices[package]) for package in asked}
    wishes = {
        package: own[package] | sum(map(_bit, _before(choices[package], universe.candidates(package, demand))))
        for package, demand in asked.items()
    }
    if wishes == own:
        return None
    possible = _possible(universe, wishes)
    for package, wish in possible.items():
        if newer := wish & ~own[package]:
            better = solve(universe.narrowed({**possible, package: newer}, choices))
            if better is not None:
                return better
    return None


def _possible(universe: Universe, wishes: Mapping[Package, int]) -> Mapping[Package, int]:
    """The wishes without releases that visibly clash with what is needed whichever of the others are taken."""
    before: Mapping[Package, int] = {}
    while wishes != before:
        before, left = wishes, _needed(universe, wishes)
        wishes = {package: _without_clashes(universe, package, left) for package in before}
    return wishes


def _needed(universe: Universe, wishes: Mapping[Package, int]) -> dict[Package, int]:
    """The releases of each package that are left by the stack, the wishes, and releases without an alternative."""
    left = dict(wishes)
    edges = list(universe.roots())
    done = set()
    for edge in edges:  # which grows
        package = edge.package
        if package.kind is not Kind.PROJECT:
            continue
        left[package] = left.get(package, -1) & universe.mask(package, edge.allows)
        for one in (package, package.base):
            mask = _usable(universe, one) & left.get(one, -1) & left.get(one.base, -1)
            if one not in done and mask.bit_count() == 1:
                candidate = universe.candidate(one, mask.bit_length() - 1)
                if candidate is not None and universe.opened(candidate):
                    done.add(one)
                    edges += universe.edges(candidate)
    return left


def _without_clashes(universe: Universe, package: Package, left: Mapping[Package, int]) -> int:
    """The releases left of a package, without those known to require something of which nothing is left."""

    def leaves(edge: Edge) -> bool:
        if edge.package.kind is not Kind.PROJECT:
            return edge.package.kind is Kind.MODULE or bool(universe.mask(edge.package, edge.allows))
        mask = universe.mask(edge.package, edge.allows) & left.get(edge.package, -1)
        return bool(mask & _usable(universe, edge.package))

    kept = 0
    for position in universe.project(text.name(package.name)).positions(left[package]):
        candidate = universe.candidate(package, position)
        if candidate is not None and (not universe.opened(candidate) or all(map(leaves, universe.edges(candidate)))):
            kept |= _bit(candidate)
    return kept


def _usable(universe: Universe, package: Package) -> int:
    project = universe.project(text.name(package.name))
    return project.all & ~project.unusable


def _before(candidate: Candidate, order: Iterator[Candidate]) -> Iterator[Candidate]:
    """What comes before the release of a candidate."""
    return takewhile(lambda one: one.chosen is not candidate.chosen, order)


def _bit(candidate: Candidate) -> int:
    assert isinstance(candidate.chosen, Release)  # noqa: S101  only projects have wishes
    return 1 << candidate.chosen.position
