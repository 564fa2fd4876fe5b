"""An assignment that meets every clause so far.

The solver's last answer is often an answer to the next question, too. To look is cheaper by far than to ask again,
as the solver begins with all that is assumed each time.
"""

from __future__ import annotations

from collections.abc import Iterable


class Witness:
    """The last model of a solver, as long as it meets the clauses that were added since.

    Variables that came after it are false, but for those that `hold` was called for.
    """

    def __init__(self) -> None:
        self._true: set[int] | None = None

    def take(self, model: Iterable[int]) -> None:
        """From now on the literals of this model."""
        self._true = {literal for literal in model if literal > 0}

    def hold(self, variable: int) -> None:
        """A variable that is new is true."""
        if self._true is not None:
            self._true.add(variable)

    def add(self, clause: Iterable[int]) -> None:
        """Another clause has to be met."""
        true = self._true
        if true is not None and not any((literal > 0) == (abs(literal) in true) for literal in clause):
            self._true = None

    def meets(self, true: Iterable[int], false: Iterable[int]) -> bool:
        """Whether variables are true and others false; not where no model is known."""
        return self._true is not None and self._true.issuperset(true) and self._true.isdisjoint(false)

    def true(self) -> Iterable[int]:
        """The variables that are true, the first first."""
        return sorted(self._true or ())
