"""What the user wished: the lines of the stack and the components of the target, and which of them clash."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from pysat.solvers import Minisat22

from resolver.model.edge import Edge
from resolver.model.origin import BuildLine, StackLine
from resolver.solve.clauses import Clauses
from resolver.solve.ground import Component, Ground, Line

Wish = StackLine | BuildLine | Component


def wish_of(ground: Ground) -> Wish | None:
    """The wish that a ground belongs to; None for what nobody wished."""
    match ground:
        case Line():
            return ground.origin
        case Component():
            return ground
        case _:
            return None


def wishes(clauses: Clauses) -> dict[Wish, list[Ground]]:
    """Every wish with its grounds, in the order in which they became known."""
    found: dict[Wish, list[Ground]] = {}
    for ground in clauses.known:
        wish = wish_of(ground)
        if wish is not None:
            found.setdefault(wish, []).append(ground)
    return found


def clashing(
    clauses: Clauses, given: Sequence[Ground], expired: Callable[[], bool] = lambda: False
) -> Iterator[tuple[Wish, ...]]:
    """Every minimal set of wishes that what is given does not let hold together (MARCO, Liffiton et al. 2016)."""
    grounds = wishes(clauses)
    order = list(grounds)

    def holds(among: Iterable[Wish]) -> bool:
        return clauses.satisfiable(among=[*given, *(ground for wish in among for ground in grounds[wish])])

    with Minisat22() as seeds:
        seeds.set_phases(list(range(1, len(order) + 1)))
        for number in range(1, len(order) + 1):
            seeds.add_clause([number, -number])
        while seeds.solve() and not expired():
            model = {literal for literal in seeds.get_model() if literal > 0}
            seed = [wish for number, wish in enumerate(order, 1) if number in model]
            if holds(seed):
                for wish in order:
                    if wish not in seed and holds([*seed, wish]):
                        seed.append(wish)
                seeds.add_clause([number for number, wish in enumerate(order, 1) if wish not in seed])
            else:
                clash = _shrink(clauses, seed, holds)
                yield clash
                seeds.add_clause([-(order.index(wish) + 1) for wish in clash])


def _shrink(clauses: Clauses, seed: Sequence[Wish], holds: Callable[[Iterable[Wish]], bool]) -> tuple[Wish, ...]:
    """A minimal part of a seed that does not hold."""
    core = {wish_of(ground) for ground in clauses.core()}
    kept = [wish for wish in seed if wish in core]
    for wish in list(reversed(kept)):
        rest = [other for other in kept if other != wish]
        if not holds(rest):
            kept = rest
    return tuple(kept)


_DEPTH = 2
_OPENED = 400


def explore(clauses: Clauses) -> None:
    """Open what the stack's lines lead to, each taken alone, so that clashes a little way off become known, too."""
    universe = clauses.universe
    level = list(universe.roots())
    opened = 0
    seen: set[tuple[object, str]] = set()
    for _ in range(_DEPTH + 1):
        following: list[Edge] = []
        for edge in level:
            key = (edge.package, str(edge.allows))
            if key in seen or opened >= _OPENED:
                continue
            seen.add(key)
            for candidate in islice(universe.candidates(edge.package, [edge]), 1):
                if not clauses.opened(candidate):
                    opened += 1
                    clauses.open(candidate)
                following += universe.edges(candidate)
        level = following
