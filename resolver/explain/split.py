"""Two environments instead of one: which lines go where, with both locked."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import combinations

from resolver.explain.edit import StackText, with_suffix
from resolver.explain.trial import Trials
from resolver.explain.wishes import Wish
from resolver.model.origin import StackLine
from resolver.model.resolution import Resolution

_TRIES = 4


def split(clashes: Sequence[Collection[Wish]], trials: Trials) -> tuple[tuple[str, Resolution], ...]:
    """The texts and resolutions of two stacks; empty if no split helps.

    `clashes` are sets of wishes that cannot be in one environment. Lines that are
    in none of them go to both.
    """
    order = {ask.origin: at for at, ask in enumerate(trials.problem.stack.asks)}
    sets = [{order[wish] for wish in clash if isinstance(wish, StackLine)} for clash in clashes]
    if any(len(one) < 2 for one in sets):
        return ()  # something clashes with the target, or with itself
    for number, (here, there) in enumerate(_sides(sets, trials.clock.expired)):
        if number >= _TRIES or trials.clock.expired():
            return ()
        answers = []
        for without, suffix in ((there, "1"), (here, "2")):
            text = (
                StackText(trials.text)
                .renamed(with_suffix(trials.problem.stack.name, f"-{suffix}"))
                .without_lines(without)
                .text
            )
            answer = trials.lock(text)
            if not isinstance(answer, Resolution):
                break
            answers.append((text, answer))
        else:
            return tuple(answers)
    return ()


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
