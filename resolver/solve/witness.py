"""An assignment that meets every clause so far.

The solver's last answer often answers the next question, too. Checking that is much cheaper than asking again, as the
solver starts over with all assumptions each time.
"""

from __future__ import annotations

from collections.abc import Iterable


class Witness:
    """The last model of a solver, as long as it meets the clauses added since.

    Later variables are false, except those for which `hold` was called.
    """

    def __init__(self) -> None:
        self._true: set[int] | None = None

    def take(self, model: Iterable[int]) -> None:
        """Use the literals of this model from now on."""
        self._true = {literal for literal in model if literal > 0}

    def hold(self, variable: int) -> None:
        """Make a new variable true."""
        if self._true is not None:
            self._true.add(variable)

    def add(self, clause: Iterable[int]) -> None:
        """Add a clause that must be met."""
        true = self._true
        if true is not None and not any((literal > 0) == (abs(literal) in true) for literal in clause):
            self._true = None

    def meets(self, true: Iterable[int], false: Iterable[int]) -> bool:
        """Whether these variables are true and those false. False if no model is known."""
        return self._true is not None and self._true.issuperset(true) and self._true.isdisjoint(false)

    def true(self) -> Iterable[int]:
        """The true variables in ascending order."""
        return sorted(self._true or ())
