"""A SAT solver whose clauses belong to constraints.

A clause has a selector for each constraint that it belongs to: a variable that says that the
constraint holds. The solver is called with the selectors as assumptions. So an unsatisfiable answer
names constraints that cannot all hold, and a constraint is left out (relaxed) by not assuming its
selector. Clauses that only express logic belong to no constraint.
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
from resolver.phrase import phrase

# The most variables for which "at most one is true" is written as a clause for each pair. For more
# variables, an encoding with fewer clauses is used.
_PAIRWISE: Final = 5
# The conflicts of the solver between two polls. They take a few hundredths of a second.
_CONFLICTS_AT_ONCE: Final = 2_000
# The most conflicts in one call. A call for a real stack has a few hundred.
MOST_CONFLICTS: Final = 50_000


class SatSolver:
    """A SAT solver with clauses that belong to constraints.

    Variables are positive numbers. A literal is a variable, or its negative for "not".
    """

    def __init__(self) -> None:
        # The constraints that are left out.
        self.relaxed: frozenset[Constraint] = frozenset()
        # Whether releases that were not read may permit releases which the policy rules out (see
        # `Clauses`).
        self.reading = False
        self._solver = Cadical153()
        # The highest variable.
        self._top = 0
        # The selector of each constraint, in the order in which they became known.
        self._selectors: dict[Constraint, int] = {}
        # The constraint of each selector.
        self._constraints: dict[int, Constraint] = {}
        # Variables that are false unless `reading` is set.
        self._guards: list[int] = []

    def close(self) -> None:
        """Free the memory of the solver, which cannot be used afterwards."""
        self._solver.delete()

    @property
    def known(self) -> Collection[Constraint]:
        """Return all constraints with a selector, in the order in which they became known."""
        return self._selectors.keys()

    def add_clause(self, clause: Sequence[int]) -> None:
        """Add a clause that belongs to no constraint, and so always counts."""
        self._solver.add_clause(clause)

    @contextmanager
    def without(
        self, relaxed: Iterable[Constraint] = (), *, reading: bool | None = None
    ) -> Iterator[None]:
        """Relax these constraints and no others in a `with` block. Set `reading` if it is given.

        Both get their previous values at the end.
        """
        previous = self.relaxed, self.reading
        self.relaxed = frozenset(relaxed)
        if reading is not None:
            self.reading = reading
        try:
            yield
        finally:
            self.relaxed, self.reading = previous

    # --- answers

    def satisfiable(
        self, assumed: Iterable[int] = (), among: Collection[Constraint] | None = None
    ) -> bool:
        """Return whether the clauses are satisfiable if some literals are assumed.

        Relaxed constraints are left out. With `among`, all constraints except these are left out.
        After the result False, `core` returns constraints that cannot all hold. Raises
        UndecidedError after too many conflicts, and what `poll_once` raises.
        """
        if among is None:
            selectors = [
                -selector if constraint in self.relaxed else selector
                for constraint, selector in self._selectors.items()
            ]
        else:
            selectors = [
                self._selectors[constraint]
                for constraint in among
                if constraint not in self.relaxed
            ]
        assumptions = [*assumed, *selectors]
        if not self.reading:
            assumptions += [-guard for guard in self._guards]
        for _ in range(MOST_CONFLICTS // _CONFLICTS_AT_ONCE):
            self._solver.conf_budget(_CONFLICTS_AT_ONCE)
            is_satisfiable = self._solver.solve_limited(assumptions=assumptions)
            if is_satisfiable is not None:
                return bool(is_satisfiable)
            # Between two calls, Python also handles signals.
            poll_once()
        raise UndecidedError(
            phrase("no answer was found within the search limits"),
            why=phrase(
                "{conflicts} conflicts in one question about {statements} statements",
                conflicts=MOST_CONFLICTS,
                statements=len(self._selectors),
            ),
            hint=phrase("pin some of the stack's requirements more tightly"),
        )

    def broken(self) -> set[Constraint]:
        """Return the constraints whose selectors are false in the last satisfying answer.

        Only constraints that were left out can be among them. They may have a clause that is not
        met.
        """
        # The literal of the variable n is at the position n - 1.
        model: Sequence[int] = self._solver.get_model() or ()
        return {
            constraint
            for constraint, selector in self._selectors.items()
            if selector > len(model) or model[selector - 1] < 0
        }

    def core(self) -> list[Constraint]:
        """Return constraints that made the last answer unsatisfiable. Not all may be needed."""
        literals = sorted(self._solver.get_core() or ())
        return [self._constraints[literal] for literal in literals if literal in self._constraints]

    def minimal(
        self, assumed: Iterable[int] = (), among: Collection[Constraint] | None = None
    ) -> list[Constraint]:
        """Return a minimal core: constraints that cannot all hold, though all but any one can.

        It is found by leaving out constraints of a core one by one, beginning with
        the constraint that became known last. With `among`, only these constraints count. The
        clauses must be unsatisfiable with the literals `assumed`.
        """
        assumed = list(assumed)
        self.satisfiable(assumed, self.known if among is None else among)
        core = self.core()
        for constraint in reversed(core):
            if constraint not in core:
                continue
            others = [other for other in core if other != constraint]
            if not self.satisfiable(assumed, others):
                core = self.core()
        return core

    def preferred(self, assumed: Sequence[int], order: Sequence[Constraint]) -> list[Constraint]:
        """Return a minimal core that prefers constraints which come first in `order`.

        The clauses of these constraints must be unsatisfiable with the literals `assumed`. The
        algorithm is QuickXplain. The core depends only on the clauses and the order, and not on
        the solver.
        """

        def needed(
            background: list[Constraint], has_grown: bool, among: Sequence[Constraint]
        ) -> list[Constraint]:
            """Return the constraints of `among` that clash with the background.

            `has_grown` says whether the background has more constraints than in the call before.
            """
            if has_grown and not self.satisfiable(assumed, background):
                return []
            if len(among) == 1:
                return list(among)
            half = len(among) // 2
            first = among[:half]
            of_last = needed([*background, *first], True, among[half:])
            of_first = needed([*background, *of_last], bool(of_last), first)
            return of_first + of_last

        return needed([], True, order)

    # --- clauses

    def rule(self, because: Iterable[Constraint], clause: Iterable[int]) -> None:
        """Add a clause that belongs to the constraints `because`."""
        selectors = [-self.selector(constraint) for constraint in because]
        self.add_clause([*selectors, *clause])

    def selector(self, constraint: Constraint) -> int:
        """Return the selector of a constraint. The first call makes it."""
        selector = self._selectors.get(constraint)
        if selector is None:
            selector = self._selectors[constraint] = self.new_variable()
            self._constraints[selector] = constraint
            self._solver.set_phases([selector])
        return selector

    def at_most_one(self, variables: list[int]) -> None:
        """Add clauses which say that at most one of the variables is true."""
        if len(variables) < 2:
            return
        encoding = EncType.pairwise if len(variables) <= _PAIRWISE else EncType.seqcounter
        coded = CardEnc.atmost(variables, 1, top_id=self._top, encoding=encoding)
        self._top = max(self._top, coded.nv)
        for clause in coded.clauses:
            self.add_clause(clause)

    def new_guard(self) -> int:
        """Return a new variable that is false unless `reading` is set."""
        guard = self.new_variable()
        self._guards.append(guard)
        return guard

    def new_variable(self) -> int:
        """Return a variable that was not used before, as a positive number."""
        self._top += 1
        return self._top
