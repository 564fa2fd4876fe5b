"""A SAT solver whose clauses have grounds (see `grounds`), and can be left out with them.

Every clause except purely logical ones has a selector for its ground, so that an unsatisfiable
answer names the grounds that clash, and a ground can be left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from pysat.card import CardEnc, EncType
from pysat.solvers import Cadical153

from resolver.errors import UndecidedError
from resolver.index.protocol import poll_once
from resolver.resolve.grounds import Ground

_PAIRWISE = 5
_CONFLICTS_AT_ONCE = 2_000  # a few hundredths of a second
MOST_CONFLICTS: Final = 50_000  # of one question; those of real stacks have a few hundred


class Grounded:
    """Clauses and their grounds. Clauses with `relaxed` grounds do not count.

    Unless `reading` is set, guards are false: a guard stands for possibilities that nobody has
    looked at yet.
    """

    def __init__(self) -> None:
        self.relaxed: frozenset[Ground] = frozenset()
        self.reading = False
        self._solver = Cadical153()
        self._top = 0
        self._selectors: dict[Ground, int] = {}
        self._grounds: dict[int, Ground] = {}
        self._guards: list[int] = []

    def close(self) -> None:
        """Free the solver's memory; nothing can be asked afterwards."""
        self._solver.delete()

    @property
    def known(self) -> Collection[Ground]:
        """Every ground so far, in the order in which they became known."""
        return self._selectors.keys()

    def add_clause(self, clause: Sequence[int]) -> None:
        """Add a clause that holds regardless of what is relaxed."""
        self._solver.add_clause(clause)

    @contextmanager
    def without(self, relaxed: Iterable[Ground] = ()) -> Iterator[None]:
        """Meanwhile relax these grounds and no others."""
        previous, self.relaxed = self.relaxed, frozenset(relaxed)
        try:
            yield
        finally:
            self.relaxed = previous

    # --- answers

    def satisfiable(
        self, assumed: Iterable[int] = (), among: Collection[Ground] | None = None
    ) -> bool:
        """Return whether the clauses are satisfiable with variables assumed; if given, only with the grounds `among`.

        After False, `core` has the reasons. Raises UndecidedError after too many conflicts, and
        what `polling` raises.
        """
        if among is not None:
            selectors = [self._selectors[ground] for ground in among if ground not in self.relaxed]
        else:
            items = self._selectors.items()
            selectors = [
                -selector if ground in self.relaxed else selector for ground, selector in items
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

    def broken(self) -> set[Ground]:
        """Grounds with a clause that the last satisfying answer does not meet."""
        model: Sequence[int] = self._solver.get_model() or ()  # the literal of variable n at n - 1
        rows = self._selectors.items()
        return {
            ground for ground, selector in rows if selector > len(model) or model[selector - 1] < 0
        }

    def core(self) -> list[Ground]:
        """The grounds that the last unsatisfiable answer rests on; not made minimal."""
        selectors = sorted(
            literal for literal in self._solver.get_core() or () if literal in self._grounds
        )
        return [self._grounds[selector] for selector in selectors]

    def minimal(
        self, assumed: Iterable[int] = (), among: Collection[Ground] | None = None
    ) -> list[Ground]:
        """The grounds that clash, made minimal by leaving them out one by one, the latest known first."""
        assumed = list(assumed)
        self.satisfiable(assumed, list(self.known) if among is None else among)
        core = self.core()
        for ground in reversed(core):
            if ground in core and not self.satisfiable(
                assumed, [other for other in core if other != ground]
            ):
                core = self.core()
        return core

    def preferred(self, assumed: Sequence[int], order: Sequence[Ground]) -> list[Ground]:
        """A minimal core of these grounds, with the first ones in this order wherever possible (QuickXplain).

        It depends on the clauses alone, and neither on the solver nor on the order in which they
        became known.
        """

        def needed(
            background: list[Ground], has_grown: bool, among: Sequence[Ground]
        ) -> list[Ground]:
            if has_grown and not self.satisfiable(assumed, background):
                return []
            if len(among) == 1:
                return list(among)
            first, last = among[: len(among) // 2], among[len(among) // 2 :]
            of_last = needed([*background, *first], True, last)
            return [*needed([*background, *of_last], bool(of_last), first), *of_last]

        return needed([], True, order)

    # --- clauses

    def rule(self, because: Iterable[Ground], clause: Iterable[int]) -> None:
        """Add a clause with grounds."""
        self.add_clause([*(-self.selector(ground) for ground in because), *clause])

    def selector(self, ground: Ground) -> int:
        """The variable that says that a ground holds."""
        selector = self._selectors.get(ground)
        if selector is None:
            selector = self._selectors[ground] = self.new_variable()
            self._grounds[selector] = ground
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
