"""What clashes in a changed stack regardless of the changes: the part that it shares with the previous stack."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from resolver.explain.contradictions import contradiction, readable
from resolver.explain.costs import drops
from resolver.explain.wishes import wish_of
from resolver.model.dependency import BuildLine, StackLine
from resolver.model.explanation import Contradiction
from resolver.model.problem import Problem
from resolver.resolve.clauses import Clauses
from resolver.resolve.complete import MOST_UNREAD
from resolver.resolve.grounded import Ground, Lacking, Line, Module, Said, Taken
from resolver.resolve.solver import Refutation

_Origins = Mapping[StackLine | BuildLine, StackLine | BuildLine]


class Rest(NamedTuple):
    """What clashes: a core of the previous stack, and the same in terms of the changed stack's `clauses`.

    It is not `certain` if one of a few unread releases might permit what the policy excludes.
    """

    core: Sequence[Ground]
    clauses: Clauses
    core_there: Sequence[Ground]
    certain: bool


def clash_of_rest(answer: Refutation, problem: Problem, clauses: Clauses, wanted: Collection[Ground]) -> Rest | None:
    """A core of `problem`, whose clauses these are, without anything that is `wanted` to change; None if there is none.

    `answer` refutes the stack with those changes. To help, a set of changes must change something in this core, too.
    """
    changed = answer.engine.clauses
    own = _origins(problem, changed.universe.problem, wanted)
    if own is None:
        return None
    lines = {ground.origin for ground in wanted if isinstance(ground, Line)}
    free = [ground for ground in changed.known if _told(ground, own) in wanted]
    with _asked(changed, free, reading=False):
        core = [] if changed.satisfiable() else changed.minimal()
    with _asked(changed, free, reading=True):
        certain = not changed.satisfiable(among=core) or changed.unread > MOST_UNREAD
    # a line's own version may permit what the policy otherwise excludes
    names = {name.partition("[")[0] for name in _names(problem, lines)}
    if any(isinstance(ground, Lacking) and ground.project.partition("[")[0] in names for ground in core):
        return None
    told = [_told(ground, own) for ground in core]
    return Rest(told, changed, core, certain) if told and all(_is_known(ground, clauses) for ground in told) else None


def told_of(
    rest: Rest, clauses: Clauses, wanted: Collection[Ground], expired: Callable[[], bool]
) -> Contradiction | None:
    """What clashes, for people: from the `clauses` of the previous stack or, for what they lack, from the others.

    None if lines of the changed stack would have to be mentioned.
    """
    with _asked(clauses, (), reading=clauses.reading):
        told = _contradiction(rest.core, clauses, expired)
    if told is not None:
        return told
    here, there = ({one.origin for one in core if isinstance(one, Line)} for core in (rest.core, rest.core_there))
    if not rest.certain or here != there or any(map(drops, wanted)):  # its lines differ, or are elsewhere
        return None
    return _contradiction(rest.core_there, rest.clauses, expired)


def _contradiction(core: Sequence[Ground], clauses: Clauses, expired: Callable[[], bool]) -> Contradiction | None:
    """A core for people: with whole lines, so that whatever their versions rule out is not a reason."""
    wishes = {wish for ground in core if (wish := wish_of(ground)) is not None}
    wished = [ground for ground in clauses.known if wish_of(ground) in wishes]
    reasons = [ground for ground in core if wish_of(ground) is None]
    known = all(ground in clauses.known for ground in reasons)
    if not known or clauses.satisfiable(among=[*wished, *reasons]):
        return None
    return contradiction(clauses, readable(clauses, wished, reasons, expired), expired)


@contextmanager
def _asked(clauses: Clauses, relaxed: Iterable[Ground], *, reading: bool) -> Iterator[None]:
    """Use clauses with other grounds relaxed, and with or without assumptions about unread releases."""
    before = clauses.relaxed, clauses.reading
    clauses.relaxed, clauses.reading = frozenset(relaxed), reading
    try:
        yield
    finally:
        clauses.relaxed, clauses.reading = before


def _origins(before: Problem, after: Problem, wanted: Iterable[Ground]) -> _Origins | None:
    """For each line of the changed stack, the line it was before; None if that cannot be determined."""
    gone = {ground.origin for ground in wanted if isinstance(ground, Line) and drops(ground)}
    left = [ask.origin for ask in before.stack.asks if ask.origin not in gone]
    now = [ask.origin for ask in after.stack.asks]
    return dict(zip(now, left, strict=True)) if len(now) == len(left) else None


def _names(problem: Problem, lines: Collection[object]) -> Sequence[str]:
    return [getattr(ask.need, "name", "") for ask in problem.stack.asks if ask.origin in lines]


def _told(ground: Ground, own: _Origins) -> Ground:
    return Line(own.get(ground.origin, ground.origin), ground.aspect) if isinstance(ground, Line) else ground


def _is_known(ground: Ground, clauses: Clauses) -> bool:
    """Whether the previous stack has a ground: a fact proposed with the changes is not one of its own."""
    return ground in clauses.known if isinstance(ground, (Said, Taken, Module)) else True
