"""Two environments instead of one, if every contradiction can be cut between its lines."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import chain, combinations, islice

from resolver.explain.costs import broken_without
from resolver.explain.fixes import environment_of
from resolver.explain.trial import Trials
from resolver.lock.applied_facts import applied_facts
from resolver.model.constraint import Constraint, StackLine
from resolver.model.edit import Edits, SetLine
from resolver.model.explanation import Change, ChangeKind, Fix
from resolver.model.requirement import Requirement
from resolver.model.resolution import Resolution

# divisions of the lines that are tried
_DIVISIONS = 4

# a stack's edits, and its lock
_Side = tuple[Edits, Resolution]


def split(
    trials: Trials, found_cores: Iterable[Sequence[Constraint]], concerned: Sequence[str]
) -> list[Fix]:
    """Return the fix with two environments, both of them locked, if there is one.

    It solves all of these cores. Lines that are in none of them go to both environments, unless
    they do not work without a line of the other one. A stack with groups has its environments
    already.
    """
    if any(root.group for root in trials.problem.stack.requirements):
        return []
    order = {root.origin: place for place, root in enumerate(trials.problem.stack.requirements)}
    clashes = []
    for core in found_cores:
        lines = [line.whole for line in core if isinstance(line, StackLine)]
        # both environments have the constraints of the stack
        clash = {order[line] for line in lines if line in order}
        if len(clash) < 2:
            # something clashes with the target, or with itself
            return []
        clashes.append(clash)
    for first, second in islice(_divisions(clashes, trials.clock.expired), _DIVISIONS):
        side = _side(trials, second, first)
        other_side = _side(trials, first, second) if side is not None else None
        if side is not None and other_side is not None:
            return [_fix(trials, (side, other_side), concerned)]
    return []


def _fix(trials: Trials, sides: tuple[_Side, _Side], concerned: Sequence[str]) -> Fix:
    problem = trials.problem
    stack = problem.stack
    environments = [environment_of(lock, problem, concerned) for _, lock in sides]
    first, second = (environment.requires for environment in environments)
    changes = []
    for lines, others in ((first, second), (second, first)):
        own = ", ".join(line for line in lines if line not in others)
        changes.append(Change(ChangeKind.SPLIT, stack.name, after=own, where=stack.where))
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
    """Yield every division of the lines concerned that separates each clash.

    Those with few lines in the second part come first.
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
    """Return one of the two stacks.

    Lines that do not work without the removed ones are removed as well, unless they are among
    those that `only` this stack has. None if the stack does not lock, or something else in it does
    not work without the removed lines.
    """
    requirements = trials.problem.stack.requirements
    projects = {
        place: root.need.name
        for place, root in enumerate(requirements)
        if isinstance(root.need, Requirement)
    }
    while True:
        removed = {projects[place] for place in without if place in projects}
        edits = tuple(SetLine(requirements[place].number, "") for place in without)
        answer = trials.lock_all(edits)
        if not isinstance(answer, Resolution):
            return None
        broken = set(broken_without(removed, applied_facts(answer)))
        if not broken:
            return edits, answer
        further = [
            place
            for place, project in projects.items()
            if project in broken and place not in without and place not in only
        ]
        if not further:
            return None
        without = [*without, *further]
