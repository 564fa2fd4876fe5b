"""A problem that has no solution, and what clashes in it."""

from __future__ import annotations

from dataclasses import dataclass

from resolver.model.problem import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Clash:
    """One of the statements that cannot all hold.

    `text` is a sentence, `where` its origin (file:line, a file's metadata, an
    index), `evidence` the source of a fact, `strength` that of a fact.
    """

    text: str
    where: str
    evidence: str = ""
    strength: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Statements that a complete search has shown to be unsatisfiable together."""

    problem: Problem
    clashes: tuple[Clash, ...]
