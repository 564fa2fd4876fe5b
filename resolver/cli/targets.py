"""Which of a stack's targets a run is about."""

from __future__ import annotations

from collections.abc import Sequence

from resolver.errors import InputError
from resolver.model.problem import Problem


def chosen(problems: Sequence[Problem], targets: frozenset[str]) -> Sequence[Problem]:
    """The named targets, which must exist; all without a name. Raises InputError."""
    known = [problem.target.name for problem in problems]
    for unknown in sorted(targets.difference(known)):
        raise InputError(
            f"{problems[0].stack.name} has no target `{unknown}`", hint=f"its targets are {', '.join(known)}"
        )
    return [problem for problem in problems if not targets or problem.target.name in targets]
