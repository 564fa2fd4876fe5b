"""Divide the lines of a refuted stack between two environments.

That is a fix if every contradiction is between lines that can be separated, and both environments
lock. `explain` calls it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import chain, combinations, islice

from resolver.explain.costs import broken_without
from resolver.explain.fixes import environment_of
from resolver.explain.trials import Trials
from resolver.lock.applied_facts import applied_facts
from resolver.model.change import LinesDivided
from resolver.model.constraint import Constraint, StackLine
from resolver.model.edit import Edits, SetLine
from resolver.model.explanation import Fix
from resolver.model.requirement import Requirement
from resolver.model.resolution import Resolution

# How many divisions of the lines are tried.
_DIVISIONS = 4

# The edits that remove the lines of the other environment, and the lock.
_Side = tuple[Edits, Resolution]


def split(
    trials: Trials, cores: Iterable[Sequence[Constraint]], concerned: Sequence[str]
) -> list[Fix]:
    """Return the fix with two environments, as a list of one; empty if none was found.

    Each environment lacks a line of each of these cores. Lines that are in no core go to both
    environments, unless they do not work without a line that only one has. A stack with groups has
    its environments already, so it is not divided. `concerned` are the projects that the
    contradictions are about.
    """
    if any(root.group for root in trials.problem.stack.requirements):
        return []
    order = {root.origin: number for number, root in enumerate(trials.problem.stack.requirements)}
    clashes = []
    for core in cores:
        lines = [line.whole for line in core if isinstance(line, StackLine)]
        # Lines of `constraints` hold in both environments.
        clash = {order[line] for line in lines if line in order}
        if len(clash) < 2:
            # A line clashes with the target or with itself: that cannot be separated.
            return []
        clashes.append(clash)
    for first, second in islice(_divisions(clashes, trials.clock.expired), _DIVISIONS):
        side = _side(trials, second, first)
        other_side = _side(trials, first, second) if side is not None else None
        if side is not None and other_side is not None:
            return [_fix(trials, (side, other_side), concerned)]
    return []


def _fix(trials: Trials, sides: tuple[_Side, _Side], concerned: Sequence[str]) -> Fix:
    """Return the fix that divides the stack between two environments.

    `sides` has the edits and the lock of each. Pins of the projects in `concerned`, which the
    contradictions are about, are shown.
    """
    problem = trials.problem
    stack = problem.stack
    environments = [environment_of(lock, problem, concerned) for _, lock in sides]
    first, second = (environment.requires for environment in environments)
    changes = []
    for lines, others in ((first, second), (second, first)):
        only_here = tuple(line for line in lines if line not in others)
        changes.append(LinesDivided(environment=stack.name, lines=only_here, where=stack.where))
    return Fix(
        name="",
        changes=tuple(changes),
        environments=tuple(environments),
        files=tuple((stack.name, trials.text(edits)) for edits, _ in sides),
        risky=False,
    )


def _divisions(
    clashes: Sequence[set[int]], expired: Callable[[], bool]
) -> Iterator[tuple[list[int], list[int]]]:
    """Yield each division of the lines in the clashes such that no part has a whole clash.

    Lines are given by their position in the stack. Divisions whose second part has few lines come
    first. The iterator ends once `expired` returns True.
    """
    lines = sorted(set(chain.from_iterable(clashes)))
    for size in range(1, len(lines) // 2 + 1):
        for apart in combinations(reversed(lines), size):
            if expired():
                return
            second = set(apart)
            if all(clash & second and clash - second for clash in clashes):
                yield [line for line in lines if line not in second], sorted(second)


def _side(trials: Trials, without: Collection[int], only: Collection[int]) -> _Side | None:
    """Return the edits and the lock of one environment; None if it does not lock.

    `without` are the positions of the lines that this environment lacks, and `only` the positions
    of the lines that the other one lacks. A line that does not work without a removed line,
    according to a grave warning, is removed as well. None if that is one of `only`, or is required
    by something else.
    """
    requirements = trials.problem.stack.requirements
    projects = {
        number: root.need.name
        for number, root in enumerate(requirements)
        if isinstance(root.need, Requirement)
    }
    while True:
        removed = {projects[number] for number in without if number in projects}
        edits = tuple(SetLine(requirements[number].number, "") for number in without)
        answer = trials.solve_all(edits)
        if not isinstance(answer, Resolution):
            return None
        broken = {fact.package for fact in broken_without(removed, applied_facts(answer))}
        if not broken:
            return edits, answer
        further = [
            number
            for number, project in projects.items()
            if project in broken and number not in without and number not in only
        ]
        if not further:
            return None
        without = [*without, *further]
