"""What the user wrote: the lines of the stack and the components of the target, and which of them clash."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from pysat.solvers import Minisat22

from resolver.errors import ResolverError
from resolver.model.dependency import BuildLine, Candidate, Edge, Kind, Package, StackLine
from resolver.resolve.clauses import Clauses
from resolver.resolve.grounded import Component, Ground, Line
from resolver.resolve.universe import Universe

Wish = StackLine | BuildLine | Component


def wish_of(ground: Ground) -> Wish | None:
    """The wish that a ground belongs to; None if it belongs to none."""
    match ground:
        case Line():
            return ground.origin
        case Component():
            return ground
        case _:
            return None


def wishes(clauses: Clauses) -> dict[Wish, list[Ground]]:
    """Every wish with its grounds: the lines in the order of the stack, then the target's components."""
    found: dict[Wish, list[Ground]] = {ask.origin: [] for ask in clauses.universe.problem.stack.asks}
    for ground in clauses.known:
        wish = wish_of(ground)
        if wish is not None:
            found.setdefault(wish, []).append(ground)
    return {wish: grounds for wish, grounds in found.items() if grounds}


def clashing(
    clauses: Clauses, given: Sequence[Ground], expired: Callable[[], bool] = lambda: False
) -> Iterator[tuple[Wish, ...]]:
    """Every minimal set of wishes that is unsatisfiable with the given grounds (MARCO, Liffiton et al. 2016)."""
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
    """A minimal unsatisfiable subset of a seed."""
    core = {wish_of(ground) for ground in clauses.core()}
    kept = [wish for wish in seed if wish in core]
    for wish in list(reversed(kept)):
        rest = [other for other in kept if other != wish]
        if not holds(rest):
            kept = rest
    return tuple(kept)


_DEPTH = 3
_LOOKED_AT = 600


def explore(clauses: Clauses, expired: Callable[[], bool]) -> None:
    """Open releases near the stack that clash: with unmet requirements, another machine or unusable files.

    Each line of the stack is followed on its own, always to the release that it would get, skipping unusable files.
    """
    universe = clauses.universe
    level: list[tuple[Candidate | None, Edge]] = [(None, edge) for edge in universe.roots()]
    asked: dict[Package, list[tuple[Candidate | None, Edge]]] = {}
    parents: dict[Candidate, set[Candidate]] = {}
    unusable: list[Candidate] = []
    for _ in range(_DEPTH):
        following: list[tuple[Candidate | None, Edge]] = []
        clauses.expect_edges(edge for _, edge in level)
        for parent, edge in level:
            if parent is not None and _is_unmet(universe, edge):
                unusable.append(parent)
            if edge.package.kind is not Kind.PROJECT:
                continue
            asked.setdefault(edge.package.base, []).append((parent, edge))
            for candidate in universe.candidates(edge.package, universe.demand(edge)):
                fresh = candidate not in parents
                if expired() or (fresh and len(parents) >= _LOOKED_AT):
                    break
                parents.setdefault(candidate, set()).update([] if parent is None else [parent])
                try:
                    edges = universe.edges(candidate)
                except ResolverError:
                    break  # the conflict is certain without it
                following += [(candidate, one) for one in edges] if fresh else []
                if not any(one.package.kind is Kind.NONE for one in edges):
                    break
        level = following
    _open_ways(clauses, parents, unusable)
    for package, rows in asked.items():
        if next(universe.candidates(package, universe.demand(*(edge for _, edge in rows))), None) is None:
            _open_ways(clauses, parents, [parent for parent, _ in rows if parent is not None])


def _is_unmet(universe: Universe, edge: Edge) -> bool:
    """Whether a requirement makes a release useless: it has no usable file, or needs another machine."""
    if edge.package.kind is Kind.SYSTEM:
        return next(universe.candidates(edge.package, universe.demand(edge)), None) is None
    return edge.package.kind is Kind.NONE


def _open_ways(clauses: Clauses, parents: Mapping[Candidate, set[Candidate]], candidates: list[Candidate]) -> None:
    """Open candidates and all that led to them."""
    while candidates:
        candidate = candidates.pop()
        if not clauses.opened(candidate):
            clauses.open(candidate)
            candidates += sorted(parents[candidate], key=str)
