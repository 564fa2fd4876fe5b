"""The cheapest sets of changes that meet every demand so far (minimum-cost hitting sets), and joint choices."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress

from pysat.examples.rc2 import RC2
from pysat.formula import WCNF

from resolver.errors import ResolverError
from resolver.model.dependency import Candidate
from resolver.resolve.clauses import Clauses
from resolver.resolve.grounded import Ground, Line


class Corrections:
    """Grounds that may change, with their prices, and the demands on a set of changes."""

    def __init__(self) -> None:
        self._variables: dict[Ground, int] = {}
        self._solver = RC2(WCNF())
        self._keeps_lines = False
        self._whole: dict[object, list[Ground]] = {}  # aspects of a line; they exclude dropping it

    def close(self) -> None:
        """Free the solver's memory; nothing can be asked afterwards."""
        self._solver.delete()

    def demand(self, prices: Mapping[Ground, int], given: Collection[Ground] = ()) -> None:
        """One of these grounds must change, at its price; with `given`, only if all of those change."""
        clause = [self._variable(ground, price) for ground, price in prices.items()]
        self._solver.add_clause([*(-self._variables[ground] for ground in given), *clause])

    def keep_lines(self) -> None:
        """Drop no lines from now on."""
        if self._keeps_lines:
            return
        self._keeps_lines = True
        for ground, variable in self._variables.items():
            if isinstance(ground, Line) and not ground.aspect:
                self._solver.add_clause([-variable])

    def refuse(self, tried: Collection[Ground], *, exactly: bool = False) -> None:
        """Exclude this set of changes and its supersets; with `exactly`, only the set itself."""
        others = [variable for ground, variable in self._variables.items() if exactly and ground not in tried]
        self._solver.add_clause([*(-self._variables[ground] for ground in tried), *others])

    def cheapest(self) -> list[Ground] | None:
        """The cheapest set of changes; None if none is left."""
        model: Sequence[int] | None = self._solver.compute()
        if model is None:
            return None
        true = {literal for literal in model if literal > 0}
        return [ground for ground, variable in self._variables.items() if variable in true]

    def _variable(self, ground: Ground, price: int) -> int:
        known = self._variables.get(ground)
        if known is not None:
            return known
        variable = self._variables[ground] = len(self._variables) + 1
        self._solver.add_clause([-variable], weight=price)
        if self._keeps_lines and isinstance(ground, Line) and not ground.aspect:
            self._solver.add_clause([-variable])
        for other in self._exclude(ground):
            self._solver.add_clause([-variable, -self._variables[other]])
        return variable

    def _exclude(self, ground: Ground) -> Iterator[Ground]:
        """A line that is dropped is not changed otherwise."""
        if isinstance(ground, Line):
            rows = self._whole.setdefault(ground.origin, [])
            yield from [other for other in rows if isinstance(other, Line) and not (other.aspect and ground.aspect)]
            rows.append(ground)


_AHEAD = {0: 4, 4: 12, 16: 16, 32: 16, 48: 16}  # after so many candidates -> how many are requested at once


def complete(
    clauses: Clauses,
    options: Mapping[Ground, Sequence[Candidate]],
    free: Sequence[Ground],
    choice: dict[Ground, Candidate],
    looks: Iterator[int],
) -> Iterator[dict[Ground, Candidate]]:
    """Every way to complete a choice, as long as there are looks left."""
    if not free:
        yield dict(choice)
        return
    ground, rest = free[0], free[1:]
    chosen = [clauses.variable(one) for one in choice.values()]
    for opened, at in enumerate(_possible(clauses, options[ground], range(len(options[ground])), chosen, looks)):
        candidate = options[ground][at]
        assumed = [*chosen, clauses.variable(candidate)]
        if opened in _AHEAD:  # most candidates ruled out without being opened are never read
            clauses.expect(options[ground][at : at + _AHEAD[opened]])
        _open(clauses, candidate)
        if clauses.satisfiable(assumed):
            yield from complete(clauses, options, rest, {**choice, ground: candidate}, looks)
        if not clauses.satisfiable(chosen):
            return  # no option for this one can work any more


def _possible(
    clauses: Clauses, options: Sequence[Candidate], places: range, chosen: Sequence[int], looks: Iterator[int]
) -> Iterator[int]:
    """Where the options are that do not clash with what was chosen, in order.

    A project may have a thousand releases of which a few in a row will do, so those in a row are looked at together.
    """
    several = options[places.start : places.stop]
    if not several or next(looks, None) is None:
        return
    name = clauses.variable(several[0]) if len(several) == 1 else clauses.any_of(several)
    if not clauses.satisfiable([*chosen, name]):
        return
    if len(several) == 1:
        yield places.start
        return
    middle = places.start + len(several) // 2
    yield from _possible(clauses, options, range(places.start, middle), chosen, looks)
    yield from _possible(clauses, options, range(middle, places.stop), chosen, looks)


def _open(clauses: Clauses, candidate: Candidate) -> None:
    """Open a release with those of its extras that matter and are available."""
    for package, known in list(clauses.packages.items()):
        if package.name == candidate.package.name and package.kind is candidate.package.kind:
            for other in known:
                if other.chosen is candidate.chosen:
                    with suppress(ResolverError):  # it stays unknown; locking will tell
                        clauses.open(other)
