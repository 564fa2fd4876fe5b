"""Find the sets of lines and components that cannot be satisfied together.

A user constraint is one that somebody chose: a line of the stack, or a component of the target.
`cores` begins with the sets of them that clash.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain

from pysat.solvers import Minisat22

from resolver.model.constraint import BuildLine, ComponentValue, Constraint, Line, StackLine
from resolver.resolve.clauses import Clauses

UserConstraint = Line | ComponentValue


def user_constraint_of(constraint: Constraint) -> UserConstraint | None:
    """Return the line or the component that a constraint is, or is a part of; None for others."""
    match constraint:
        case StackLine() | BuildLine():
            return constraint.whole
        case ComponentValue():
            return constraint
        case _:
            return None


def user_constraints(clauses: Clauses) -> dict[UserConstraint, list[Constraint]]:
    """Return every user constraint with its parts, as far as the clauses have them.

    Lines come in the order of the stack, then the components of the target.
    """
    parts: dict[UserConstraint, list[Constraint]] = {
        root.origin: [] for root in clauses.universe.problem.stack.requirements
    }
    for constraint in clauses.known:
        user_constraint = user_constraint_of(constraint)
        if user_constraint is not None:
            parts.setdefault(user_constraint, []).append(constraint)
    return {user_constraint: known for user_constraint, known in parts.items() if known}


def clashing(
    clauses: Clauses, background: Sequence[Constraint], expired: Callable[[], bool]
) -> Iterator[tuple[UserConstraint, ...]]:
    """Yield each minimal set of user constraints that cannot be satisfied together.

    The constraints in `background` hold in addition. The algorithm is MARCO (Liffiton et al. 2016).
    The enumeration ends early once `expired` returns True.
    """
    parts = user_constraints(clauses)
    numbers = {user_constraint: number for number, user_constraint in enumerate(parts, 1)}

    def is_satisfiable(user_set: Iterable[UserConstraint]) -> bool:
        of_user = chain.from_iterable(parts[user_constraint] for user_constraint in user_set)
        return clauses.satisfiable(among=[*background, *of_user])

    with Minisat22() as seeds:
        seeds.set_phases(list(numbers.values()))
        for number in numbers.values():
            seeds.add_clause([number, -number])
        while seeds.solve() and not expired():
            model = set(seeds.get_model())
            seed = [
                user_constraint for user_constraint, number in numbers.items() if number in model
            ]
            if is_satisfiable(seed):
                largest = _grown(seed, parts, is_satisfiable)
                seeds.add_clause(
                    [
                        number
                        for user_constraint, number in numbers.items()
                        if user_constraint not in largest
                    ]
                )
            else:
                blamed = {user_constraint_of(constraint) for constraint in clauses.core()}
                clash = _shrunk(
                    [user_constraint for user_constraint in seed if user_constraint in blamed],
                    is_satisfiable,
                )
                yield tuple(clash)
                seeds.add_clause([-numbers[user_constraint] for user_constraint in clash])


def _grown(
    user_set: Sequence[UserConstraint],
    others: Iterable[UserConstraint],
    is_satisfiable: Callable[[Iterable[UserConstraint]], bool],
) -> list[UserConstraint]:
    """Return a maximal satisfiable set that contains `user_set`, which is satisfiable.

    `others` are the user constraints that may be added; they are tried in this order.
    """
    largest = list(user_set)
    for user_constraint in others:
        if user_constraint not in largest and is_satisfiable([*largest, user_constraint]):
            largest.append(user_constraint)
    return largest


def _shrunk(
    user_set: Sequence[UserConstraint], is_satisfiable: Callable[[Iterable[UserConstraint]], bool]
) -> list[UserConstraint]:
    """Return a minimal set that clashes, within a set that clashes."""
    clash = list(user_set)
    for user_constraint in reversed(user_set):
        fewer = [other for other in clash if other != user_constraint]
        if not is_satisfiable(fewer):
            clash = fewer
    return clash


def user_set_of(core: Iterable[Constraint]) -> set[UserConstraint]:
    """Return the user constraints of a core."""
    user_set = map(user_constraint_of, core)
    return {user_constraint for user_constraint in user_set if user_constraint is not None}


def without_user_constraints(constraints: Iterable[Constraint]) -> list[Constraint]:
    """Return the constraints that are neither user constraints nor parts of them."""
    return [constraint for constraint in constraints if user_constraint_of(constraint) is None]
