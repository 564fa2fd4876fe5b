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
from resolver.phrase import phrase

# The most variables of which at most one is true by a clause for each two.
_PAIRWISE: Final = 5
# They take a few hundredths of a second.
_CONFLICTS_AT_ONCE: Final = 2_000
# Conflicts of one question; a question about a real stack has a few hundred.
MOST_CONFLICTS: Final = 50_000


class SatSolver:
    """Clauses and their constraints."""

    def __init__(self) -> None:
        # the constraints whose clauses do not count
        self.relaxed: frozenset[Constraint] = frozenset()
        # whether what nobody has looked at yet is taken to be possible
        self.reading = False
        self._solver = Cadical153()
        # the last variable
        self._top = 0
        self._selectors: dict[Constraint, int] = {}
        # the constraint of each selector
        self._constraints: dict[int, Constraint] = {}
        # variables for possibilities that nobody has looked at: false unless `reading` is set
        self._guards: list[int] = []

    def close(self) -> None:
        """Free the solver's memory; nothing can be asked afterwards."""
        self._solver.delete()

    @property
    def known(self) -> Collection[Constraint]:
        """Return every constraint so far, in the order in which they became known."""
        return self._selectors.keys()

    def add_clause(self, clause: Sequence[int]) -> None:
        """Add a clause that holds regardless of what is relaxed."""
        self._solver.add_clause(clause)

    @contextmanager
    def without(
        self, relaxed: Iterable[Constraint] = (), *, reading: bool | None = None
    ) -> Iterator[None]:
        """Relax these constraints and no others in a `with` block, and set `reading` if given."""
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
        """Return whether the clauses are satisfiable with these literals assumed.

        With `among`, only the clauses of these constraints count. After False, `core` has the
        reasons. Raises UndecidedError after too many conflicts, and what `polling` raises.
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
            poll_once()  # and between two calls, Python handles signals
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
        """Return the constraints with a clause that the last satisfying answer does not meet."""
        # the literal of variable n is at n - 1
        model: Sequence[int] = self._solver.get_model() or ()
        return {
            constraint
            for constraint, selector in self._selectors.items()
            if selector > len(model) or model[selector - 1] < 0
        }

    def core(self) -> list[Constraint]:
        """Return the constraints that the last unsatisfiable answer rests on; not made minimal."""
        literals = sorted(self._solver.get_core() or ())
        return [self._constraints[literal] for literal in literals if literal in self._constraints]

    def minimal(
        self, assumed: Iterable[int] = (), among: Collection[Constraint] | None = None
    ) -> list[Constraint]:
        """Return constraints that clash, of which each is needed.

        They are made minimal by leaving them out one by one, the latest known first. The clauses
        must be unsatisfiable with the literals assumed.
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
        """Return a minimal core with the first of these constraints in this order, if possible.

        The algorithm is QuickXplain. The core depends on the clauses alone, and neither on the
        solver nor on the order in which they became known.
        """

        def needed(
            background: list[Constraint], has_grown: bool, among: Sequence[Constraint]
        ) -> list[Constraint]:
            """Return which of `among` clash with the background, which may have grown since."""
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
        """Add a clause that belongs to constraints."""
        selectors = [-self.selector(constraint) for constraint in because]
        self.add_clause([*selectors, *clause])

    def selector(self, constraint: Constraint) -> int:
        """Return the variable that says that a constraint holds."""
        selector = self._selectors.get(constraint)
        if selector is None:
            selector = self._selectors[constraint] = self.new_variable()
            self._constraints[selector] = constraint
            self._solver.set_phases([selector])
        return selector

    def at_most_one(self, variables: list[int]) -> None:
        """Add that at most one of the variables is true."""
        if len(variables) < 2:
            return
        encoding = EncType.pairwise if len(variables) <= _PAIRWISE else EncType.seqcounter
        coded = CardEnc.atmost(variables, 1, top_id=self._top, encoding=encoding)
        self._top = max(self._top, coded.nv)
        for clause in coded.clauses:
            self.add_clause(clause)

    def new_variable(self) -> int:
        """Return a new variable."""
        self._top += 1
        return self._top
