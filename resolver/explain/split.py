"""Two environments instead of one: which lines go where, with both locked."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import combinations

from resolver.explain.costs import useless_without
from resolver.explain.edit import StackText, with_suffix
from resolver.explain.trial import Trials
from resolver.explain.wishes import Wish
from resolver.lock.build import applied
from resolver.model.dependency import StackLine
from resolver.model.requirement import Requirement
from resolver.model.resolution import Resolution

_TRIES = 4


def split(clashes: Sequence[Collection[Wish]], trials: Trials) -> tuple[tuple[str, Resolution], ...]:
    """The texts and resolutions of two stacks; empty if no split helps.

    `clashes` are sets of wishes that cannot be in one environment. Lines that are
    in none of them go to both, but for those that do not work without a line of the other one.
    """
    order = {ask.origin: at for at, ask in enumerate(trials.problem.stack.asks)}
    sets = [{order[wish] for wish in clash if isinstance(wish, StackLine)} for clash in clashes]
    if any(len(one) < 2 for one in sets):
        return ()  # something clashes with the target, or with itself
    for number, (here, there) in enumerate(_sides(sets, trials.clock.expired)):
        if number >= _TRIES or trials.clock.expired():
            return ()
        answers = tuple(
            answer
            for without, other, suffix in ((there, here, "1"), (here, there, "2"))
            if (answer := _side(trials, without, other, suffix)) is not None
        )
        if len(answers) == 2:
            return answers
    return ()


def _side(trials: Trials, without: list[int], other: list[int], suffix: str) -> tuple[str, Resolution] | None:
    """One of the two stacks; None if it does not lock, or has something that does not work without the lines that go.

    What has a line of its own goes with them, if it is not among the `other` lines, which only this stack has.
    """
    stack = StackText(trials.text).renamed(with_suffix(trials.problem.stack.name, f"-{suffix}"))
    needs = [ask.need for ask in trials.problem.stack.asks]
    gone = {need.name for at in without if isinstance(need := needs[at], Requirement)}
    while True:
        text = stack.without_lines(without).text
        answer = trials.lock(text)
        if not isinstance(answer, Resolution):
            return None
        idle = set(useless_without(gone, applied(answer)))
        if not idle:
            return text, answer
        lines = [at for at, need in enumerate(needs) if isinstance(need, Requirement) and need.name in idle]
        further = [at for at in lines if at not in without and at not in other]
        if not further:
            return None
        without = sorted([*without, *further])


def _sides(sets: Sequence[set[int]], expired: Callable[[], bool]) -> Iterator[tuple[list[int], list[int]]]:
    """Every division of the lines concerned that separates each clash, those with few lines in the second first."""
    lines = sorted(set().union(*sets)) if sets else []
    for size in range(1, len(lines) // 2 + 1):
        for apart in combinations(reversed(lines), size):
            if expired():
                return
            second = set(apart)
            if all(one & second and one - second for one in sets):
                yield [line for line in lines if line not in second], sorted(second)
