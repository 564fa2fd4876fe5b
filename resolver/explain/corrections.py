"""The cheapest sets of changes that meet every demand so far: minimum-cost hitting sets over conditional cores."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from pysat.examples.rc2 import RC2
from pysat.formula import WCNF

from resolver.resolve.ground import Ground, Line


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
