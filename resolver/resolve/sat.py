"""A SAT solver whose clauses belong to constraints, and can be left out with them.

Every clause except purely logical ones has a selector for each constraint that it belongs to. So an
unsatisfiable answer names the constraints that clash, and each of them can be left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from pysat.card import CardEnc, EncType
from pysat.solvers import Cadical153

from resolver.errors import UndecidedError
from resolver.index.protocol import poll_once
from resolver.model.constraint import Constraint

_PAIRWISE = 5
_CONFLICTS_AT_ONCE = 2_000  # a few hundredths of a second
MOST_CONFLICTS: Final = 50_000  # of one question; those of real stacks have a few hundred


class SatSolver:
    """Clauses and their constraints. Clauses of `relaxed` constraints do not count.

    Unless `reading` is set, guards are false: a guard stands for possibilities that nobody has
    looked at yet.
    """

    def __init__(self) -> None:
        self.relaxed: frozenset[Constraint] = frozenset()
        self.reading = False
        self._solver = Cadical153()
        self._top = 0
        self._selectors: dict[Constraint, int] = {}
        self._constraints: dict[int, Constraint] = {}
        self._guards: list[int] = []

    def close(self) -> None:
        """Free the solver's memory; nothing can be asked afterwards."""
        self._solver.delete()

    @property
    def known(self) -> Collection[Constraint]:
        """Every constraint so far, in the order in which they became known."""
        return self._selectors.keys()

    def add_clause(self, clause: Sequence[int]) -> None:
        """Add a clause that holds regardless of what is relaxed."""
        self._solver.add_clause(clause)

    @contextmanager
    def without(self, relaxed: Iterable[Constraint] = ()) -> Iterator[None]:
        """Meanwhile relax these constraints and no others."""
        previous, self.relaxed = self.relaxed, frozenset(relaxed)
        try:
            yield
        finally:
            self.relaxed = previous

    # --- answers

    def satisfiable(
        self, assumed: Iterable[int] = (), among: Collection[Constraint] | None = None
    ) -> bool:
        """Return whether the clauses are satisfiable with variables assumed; if given, only with the constraints `among`.

        After False, `core` has the reasons. Raises UndecidedError after too many conflicts, and
        what `polling` raises.
        """
        if among is not None:
            selectors = [
                self._selectors[constraint]
                for constraint in among
                if constraint not in self.relaxed
            ]
        else:
            items = self._selectors.items()
            selectors = [
                -selector if constraint in self.relaxed else selector
                for constraint, selector in items
            ]
        guards = () if self.reading else (-guard for guard in self._guards)
        assumptions = [*assumed, *selectors, *guards]
        for _ in range(MOST_CONFLICTS // _CONFLICTS_AT_ONCE):
            self._solver.conf_budget(_CONFLICTS_AT_ONCE)
            is_satisfiable = self._solver.solve_limited(assumptions=assumptions)
            if is_satisfiable is not None:
                return bool(is_satisfiable)
            poll_once()  # and between two calls, Python handles signals
        raise UndecidedError(
            "no answer was found within the search limits",
            why=f"{MOST_CONFLICTS} conflicts in one question about {len(self._selectors)} statements",
            hint="pin some of the stack's requirements more tightly",
        )

    def broken(self) -> set[Constraint]:
        """Return the constraints with a clause that the last satisfying answer does not meet."""
        model: Sequence[int] = self._solver.get_model() or ()  # the literal of variable n at n - 1
        rows = self._selectors.items()
        return {
            constraint
            for constraint, selector in rows
            if selector > len(model) or model[selector - 1] < 0
        }

    def core(self) -> list[Constraint]:
        """The constraints that the last unsatisfiable answer rests on; not made minimal."""
        selectors = sorted(
            literal for literal in self._solver.get_core() or () if literal in self._constraints
        )
        return [self._constraints[selector] for selector in selectors]

    def minimal(
        self, assumed: Iterable[int] = (), among: Collection[Constraint] | None = None
    ) -> list[Constraint]:
        """The constraints that clash, made minimal by leaving them out one by one, the latest known first."""
        assumed = list(assumed)
        self.satisfiable(assumed, list(self.known) if among is None else among)
        core = self.core()
        for constraint in reversed(core):
            if constraint in core and not self.satisfiable(
                assumed, [other for other in core if other != constraint]
            ):
                core = self.core()
        return core

    def preferred(self, assumed: Sequence[int], order: Sequence[Constraint]) -> list[Constraint]:
        """A minimal core of these constraints, with the first ones in this order wherever possible (QuickXplain).

        It depends on the clauses alone, and neither on the solver nor on the order in which they
        became known.
        """

        def needed(
            background: list[Constraint], has_grown: bool, among: Sequence[Constraint]
        ) -> list[Constraint]:
            if has_grown and not self.satisfiable(assumed, background):
                return []
            if len(among) == 1:
                return list(among)
            first, last = among[: len(among) // 2], among[len(among) // 2 :]
            of_last = needed([*background, *first], True, last)
            return [*needed([*background, *of_last], bool(of_last), first), *of_last]

        return needed([], True, order)

    # --- clauses

    def rule(self, because: Iterable[Constraint], clause: Iterable[int]) -> None:
        """Add a clause with constraints."""
        self.add_clause([*(-self.selector(constraint) for constraint in because), *clause])

    def selector(self, constraint: Constraint) -> int:
        """The variable that says that a constraint holds."""
        selector = self._selectors.get(constraint)
        if selector is None:
            selector = self._selectors[constraint] = self.new_variable()
            self._constraints[selector] = constraint
            self._solver.set_phases([selector])
        return selector

    def at_most_one(self, variables: list[int]) -> None:
        """At most one of the variables is true."""
        if len(variables) < 2:
            return
        encoding = EncType.pairwise if len(variables) <= _PAIRWISE else EncType.seqcounter
        coded = CardEnc.atmost(variables, 1, top_id=self._top, encoding=encoding)
        self._top = max(self._top, coded.nv)
        for clause in coded.clauses:
            self.add_clause(clause)

    def new_variable(self) -> int:
        """A new variable."""
        self._top += 1
        return self._top
