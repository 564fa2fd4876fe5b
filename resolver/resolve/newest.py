"""What a resolution promises: that nothing could simply be newer.

The search decides one package after the other, and what it decided first may have kept something out that would fit
in the end. So after it, two things are made true, whichever engine found the choices:

- no other project can be newer with all others as they are (`settled`);
- no project that the stack asks for can be newer by itself: without another one of those that it asks for getting
  older, whatever else moves (`raised`).

"Newer" is what comes first in the order of preference (`preference`): what the previous lock has comes before all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import takewhile

import networkx as nx

from resolver.errors import UndecidedError
from resolver.model.dependency import Candidate, Kind, Package
from resolver.resolve.gather import InvalidChoiceError, Reached
from resolver.resolve.preference import ANYTHING, Demand
from resolver.resolve.provider import Tick
from resolver.resolve.universe import Universe

Choices = Mapping[Package, Candidate]


def newest(universe: Universe, choices: Choices, tick: Tick | None) -> Choices:
    """Choices that keep the promise, from valid ones; raises InvalidChoiceError if they are not valid."""
    choices = settled(universe, choices)
    while (better := raised(universe, choices, tick)) is not None:
        choices = settled(universe, better)
    return choices


def settled(universe: Universe, choices: Choices) -> Choices:
    """The choices that are needed, each project at the first of its releases that fits beside all others."""
    reached = Reached(universe, choices)
    moved = True
    while moved:
        moved = False
        circular = _circular(reached)
        for package, candidate in list(reached.choices.items()):
            if package.kind is not Kind.PROJECT or package.extra or reached.choices.get(package) is not candidate:
                continue
            # what a project requires of itself by way of others would be gone together with it
            others = Reached(universe, reached.choices, without=package) if package in circular else reached
            for newer in _before(candidate, universe.candidates(package, others.demands[package])):
                if (fitting := _beside_all(universe, reached.choices, newer)) is not None:
                    reached, circular = fitting, _circular(fitting)
                    moved = True
                    break
    return reached.choices


def _circular(reached: Reached) -> set[Package]:
    """The projects that need themselves by way of others."""
    graph = nx.DiGraph((package, need) for package, needs in reached.needs.items() for need in needs)
    return {package for circle in nx.strongly_connected_components(graph) if len(circle) > 1 for package in circle}


def _beside_all(universe: Universe, choices: Choices, newer: Candidate) -> Reached | None:
    """What is reached with another release of a project; None unless all others can stay as they are."""
    own = [package for package in choices if package.base == newer.package]
    moved = {package: universe.candidate(package, newer.release.position) for package in own}
    choices = {**choices, **{package: one for package, one in moved.items() if one is not None}}
    for package in own:
        for edge in universe.edges(choices[package]):
            if edge.package.kind in (Kind.SYSTEM, Kind.MODULE) and edge.package not in choices:
                choices.update((edge.package, one) for one in universe.candidates(edge.package, universe.demand(edge)))
            if edge.package not in choices or not universe.is_admitted(choices[edge.package], edge):
                return None  # found out before all the rest is looked at
    try:
        found = Reached(universe, choices)
    except InvalidChoiceError:
        return None
    return found if next(found.unpermitted(), None) is None else None


def raised(universe: Universe, choices: Choices, tick: Tick | None) -> Choices | None:
    """Choices with a newer release of something that the stack asks for, and none older; None if there are none."""
    asked: dict[Package, Demand] = {}
    for edge in universe.roots():
        if edge.package.kind is Kind.PROJECT:
            base = edge.package.base
            asked[base] = asked.get(base, ANYTHING) & universe.demand(edge)
    wishes = {
        package: [choices[package], *_before(choices[package], universe.candidates(package, demand))]
        for package, demand in asked.items()
    }
    left = {package: sum(map(_bit, those)) for package, those in wishes.items()}  # releases, as masks

    def known(candidate: Candidate) -> Iterator[tuple[Package, int]]:
        for edge in universe.edges(candidate) if universe.opened(candidate) else ():
            if edge.package.kind is Kind.PROJECT:
                yield edge.package.base, universe.mask(edge.package, edge.allows)

    # releases are struck out that are known to require something of which nothing is left
    before: dict[Package, int] = {}
    while before != left:
        before = dict(left)
        for package, those in wishes.items():
            those[:] = [
                one
                for one in those
                if left[package] & _bit(one) and all(mask & left.get(other, -1) for other, mask in known(one))
            ]
            left[package] = sum(map(_bit, those))
            for other, mask in known(those[0]) if len(those) == 1 else ():
                left[other] = left.get(other, -1) & mask
    possible = {package: left[package] for package in asked}
    for package in asked:
        if newer := possible[package] & ~_bit(choices[package]):
            from resolver.resolve.complete import CompleteEngine, Unsatisfiable  # PySAT is loaded only if needed

            with suppress(Unsatisfiable, UndecidedError):
                return CompleteEngine(universe.narrowed({**possible, package: newer}, choices), tick=tick).solve()
    return None


def _bit(candidate: Candidate) -> int:
    return 1 << candidate.release.position


def _before(candidate: Candidate, order: Iterator[Candidate]) -> Iterator[Candidate]:
    """What comes before the release of a candidate."""
    return takewhile(lambda one: one.chosen is not candidate.chosen, order)
