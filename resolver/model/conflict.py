"""A problem that has no solution, and what clashes in it."""

from __future__ import annotations

from dataclasses import dataclass

from resolver.model.problem import Problem
from resolver.model.statement import Statement


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Statements that a complete engine has shown to be unsatisfiable together."""

    problem: Problem
    statements: tuple[Statement, ...]
