"""A problem that has no solution, and what clashes in it."""

from __future__ import annotations

import msgspec

from resolver.model.problem import Problem
from resolver.model.statement import Statement


class Conflict(msgspec.Struct, frozen=True, kw_only=True):
    """Statements that a complete engine has shown to be unsatisfiable together."""

    problem: Problem
    statements: tuple[Statement, ...]
