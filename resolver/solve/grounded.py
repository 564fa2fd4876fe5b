"""A SAT solver whose clauses stand on grounds.

Every clause but the plainly logical ones has a selector for the ground that it stands on, so that an unsatisfiable
answer comes with grounds that clash, and a ground can be left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import islice

from pysat.card import CardEnc, EncType
from pysat.solvers import Cadical153

from resolver.solve.ground import Ground

_PAIRWISE = 5


class Grounded:
    """Clauses, and the grounds that they stand on. Those that stand on `relaxed` grounds do not count.

    Unless `reading` is set, no guard holds: a guard stands for things that may be so, and that nobody looked at yet.
    """

    def __init__(self) -> None:
        self.relaxed: frozenset[Ground] = frozenset()
        self.reading = False
        self._solver = Cadical153()
        self._top = 1
        self._all_hold = 1  # implies every selector
        self._selectors: dict[Ground, int] = {}
        self._grounds: dict[int, Ground] = {}
        self._guards: list[int] = []
        self._holding: frozenset[Ground] = frozenset()  # what is relaxed where `_holds` holds
        self._holds = self._held = 0

    def close(self) -> None:
        """Give the solver's memory back; nothing can be asked afterwards."""
        self._solver.delete()

    @property
    def known(self) -> Collection[Ground]:
        """Every ground so far, in the order in which they became known."""
        return self._selectors.keys()

    def imply(self, clause: Sequence[int]) -> None:
        """Add a clause that holds whatever is relaxed."""
        self._solver.add_clause(clause)

    def guard(self, variables: Sequence[int]) -> int:
        """A variable that stands for one of the variables: see `reading`."""
        guard = self.fresh()
        self._guards.append(guard)
        self._solver.add_clause([-guard, *variables])
        return guard

    # --- answers

    def satisfiable(
        self,
        assumed: Iterable[int] = (),
        among: Collection[Ground] | None = None,
        any_of: Collection[Ground] = (),
    ) -> bool:
        """Whether what is known can hold, with variables assumed; of the grounds only those `among`, if given.

        With `any_of` at least one of those holds besides.
        """
        if among is None and not self.relaxed:
            selectors = [self._all_hold]
        elif among is None:
            selectors = [self._all_but_relaxed()]
        else:
            selectors = [self._selectors[ground] for ground in among if ground not in self.relaxed]
        if any_of:
            name = self.fresh()
            self._solver.add_clause([-name, *(self._selectors[ground] for ground in any_of)])
            selectors.append(name)
        guards = () if self.reading else [-guard for guard in self._guards]
        return bool(self._solver.solve(assumptions=[*assumed, *selectors, *guards]))

    def _all_but_relaxed(self) -> int:
        """A variable that implies every selector but those that are relaxed, and that those do not hold.

        To assume it is faster by far than to assume hundreds of them.
        """
        if self._holding != self.relaxed:
            self._holding, self._holds, self._held = self.relaxed, self.fresh(), 0
        left_out = {self._selectors[ground] for ground in self.relaxed if ground in self._selectors}
        for name in islice(self._grounds, self._held, None):
            self._solver.add_clause([-self._holds, -name if name in left_out else name])
        self._held = len(self._grounds)
        return self._holds

    def broken(self) -> set[Ground]:
        """Grounds with a clause that the last satisfiable answer does not meet."""
        model: Sequence[int] = self._solver.get_model() or ()  # the literal of variable n at n - 1
        return {ground for ground, name in self._selectors.items() if not (name <= len(model) and model[name - 1] > 0)}

    def core(self) -> list[Ground]:
        """The grounds that the last unsatisfiable answer rests on; not made minimal."""
        names = sorted(literal for literal in self._solver.get_core() or () if literal in self._grounds)
        return [self._grounds[name] for name in names]

    def minimal(self, assumed: Iterable[int] = (), among: Collection[Ground] | None = None) -> list[Ground]:
        """The grounds that clash, made minimal by leaving out one after the other, what became known last at first."""
        assumed = list(assumed)
        self.satisfiable(assumed, list(self.known) if among is None else among)
        core = self.core()
        for ground in reversed(core):
            if ground in core:
                rest = [other for other in core if other != ground]
                if not self.satisfiable(assumed, rest):
                    core = self.core()
        return core

    # --- clauses

    def rule(self, because: Iterable[Ground], clause: Iterable[int]) -> None:
        """Add a clause that stands on grounds."""
        self._solver.add_clause([*(-self.selector(ground) for ground in because), *clause])

    def selector(self, ground: Ground) -> int:
        """The variable that says that a ground holds."""
        selector = self._selectors.get(ground)
        if selector is None:
            selector = self._selectors[ground] = self.fresh()
            self._grounds[selector] = ground
            self._solver.set_phases([selector])
            self._solver.add_clause([-self._all_hold, selector])
        return selector

    def at_most_one(self, variables: list[int]) -> None:
        """At most one of the variables is true."""
        if len(variables) < 2:
            return
        encoding = EncType.pairwise if len(variables) <= _PAIRWISE else EncType.seqcounter
        coded = CardEnc.atmost(variables, 1, top_id=self._top, encoding=encoding)
        self._top = max(self._top, coded.nv)
        for clause in coded.clauses:
            self._solver.add_clause(clause)

    def fresh(self) -> int:
        """A new variable."""
        self._top += 1
        return self._top
