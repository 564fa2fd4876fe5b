"""A refutation: the answer of the complete engine for a problem that has no solution."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from resolver.model.constraint import Constraint
from resolver.model.reason import Reason

if TYPE_CHECKING:
    from resolver.resolve.clauses import Clauses


class Refutation(msgspec.Struct, frozen=True):
    """A proof that a problem has no solution: constraints that contradict each other."""

    # The clauses that the engine knew.
    clauses: Clauses
    # A core: constraints that cannot all hold.
    core: tuple[Constraint, ...]

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """Return the reasons of the core as reports show them."""
        # PySAT is loaded only if it is needed.
        from resolver.resolve.reasons import described

        return tuple(dict.fromkeys(described(self.clauses, self.core).values()))
