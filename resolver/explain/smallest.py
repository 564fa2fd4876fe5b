"""The smallest core: the fewest grounds that clash, among all known ones.

By the duality of cores and correction sets (Ignatiev, Previti, Liffiton,
Marques-Silva 2015): every core meets every correction set, so a smallest set
that meets all correction sets found so far is a smallest core as soon as it clashes.
PySAT's OptUx does the same over a fixed formula; this works on the existing clauses, stops in time, and knows when a
core cannot shrink. Its limit is a number of questions to the solver, which is the same on every machine: conflicts
that people had take fifty, and one of thirty statements over a thousand grounds never ends.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from pysat.examples.hitman import Hitman

from resolver.resolve.clauses import Clauses
from resolver.resolve.ground import Ground

_QUESTIONS = 300
_IN_VAIN = 4  # grounds in a row that cannot be restored: perhaps none of the rest can


def smallest(
    clauses: Clauses,
    core: Sequence[Ground],
    *,
    hard: Collection[Ground] = (),
    soft: Collection[Ground] | None = None,
    expired: Callable[[], bool] = lambda: False,
) -> tuple[Ground, ...]:
    """A core with the fewest grounds, or `core`, which must be minimal, if none has fewer.

    `hard` grounds are part of it, needed or not; the others come from `soft`, all known ones if not given.
    Past the limits the result is `core`: minimal, but perhaps not smallest.
    """
    softs = [ground for ground in (clauses.known if soft is None else soft) if ground not in set(hard)]
    fixed = [ground for ground in core if ground in set(hard)]
    size = len(core) - len(fixed)
    asked = _Asked(clauses, expired)
    if size <= 1 or (size == 2 and not _clashes_alone(asked, hard, softs)):
        return tuple(core)
    with Hitman(solver="m22", htype="sorted") as hitman:
        while not asked.is_over():
            hit: list[Ground] | None = hitman.get()
            if hit is None or len(hit) >= size:
                return tuple(core)
            if not asked.satisfiable(among=[*hard, *hit]):
                return (*hard, *hit)
            hitman.hit(_correction(asked, [*hard, *hit], softs))
    return tuple(core)


class _Asked:
    """Clauses, and whether they have been asked often enough."""

    def __init__(self, clauses: Clauses, expired: Callable[[], bool]) -> None:
        self._clauses = clauses
        self._expired = expired
        self._left = _QUESTIONS
        self.broken = clauses.broken

    def satisfiable(self, *, among: Collection[Ground], any_of: Collection[Ground] = ()) -> bool:
        """See `Clauses`."""
        self._left -= 1
        return self._clauses.satisfiable(among=among, any_of=any_of)

    def is_over(self) -> bool:
        """Whether the limit is reached, or time is up."""
        return self._left <= 0 or self._expired()


def _clashes_alone(clauses: _Asked, hard: Collection[Ground], softs: Sequence[Ground]) -> bool:
    """Whether one ground alone clashes with the hard ones. Then it is in every correction set."""
    one, other = (_correction(clauses, list(hard), order) for order in (softs, softs[::-1]))
    both = set(one) & set(other)
    return any(not clauses.satisfiable(among=[*hard, ground]) for ground in softs if ground in both)


def _correction(clauses: _Asked, kept: list[Ground], softs: Sequence[Ground]) -> list[Ground]:
    """Soft grounds without which the others can hold, reduced by restoring as many as possible within the limits."""
    broken = clauses.broken()
    held = [*kept, *(ground for ground in softs if ground not in broken)]
    out = [ground for ground in softs if ground in broken]
    correction: list[Ground] = []
    in_vain = 0
    while out and not clauses.is_over():
        if in_vain >= _IN_VAIN:
            if not clauses.satisfiable(among=held, any_of=out):
                return [*correction, *out]
            in_vain = -len(out)  # one of them can be restored: ask again once it was found, not for each
        ground = out.pop(0)
        if clauses.satisfiable(among=[*held, ground]):
            broken = clauses.broken()
            held += [ground, *(other for other in out if other not in broken)]
            out = [other for other in out if other in broken]
            in_vain = 0
        else:
            correction.append(ground)
            in_vain += 1
    return [*correction, *out]
