"""Ways out of one target's conflict that are ways out for the whole stack, which then locks for all of its targets.

A fix for the explained target may be refuted for another one. The changed stack then has a refutation of its
own there, and changes that solve it: these are added, and the combination is tried for all targets again, the cheapest
first. If something safe works for all of them as it is, nothing is added to more expensive fixes.
Every fix is first tried as it is on all targets, since looking for further changes takes the most time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from heapq import heapify, heappop, heappush
from typing import NamedTuple, Protocol, TypeVar

from msgspec.structs import replace

from resolver.config import schema
from resolver.config.compile import compile_problems
from resolver.config.load import Inputs, read_text, with_stack
from resolver.errors import ResolverError
from resolver.explain.changes import Changed
from resolver.explain.contradictions import cores
from resolver.explain.costs import cost, saved
from resolver.explain.edit import StackText
from resolver.explain.explain import fix_of, what_matters
from resolver.explain.fixes import find
from resolver.explain.trial import Clock, Expired, Trials
from resolver.model.explanation import Attempt, Change, ChangeKind, Explanation, Fix, Outcome
from resolver.model.problem import Problem
from resolver.model.resolution import Resolution
from resolver.resolve.solver import Refutation

_FIXES = 6  # after which no further changes for other targets are looked for
_CONTINUED = 6  # changed stacks to which changes are added
_SHARE = 1 / 2  # of the time, at most, for each of them

_Told = TypeVar("_Told")


class Ask(Protocol):
    """Solves a problem of the target at this place; returns the result of `use`, called while its catalog is open."""

    def __call__(self, at: int, problem: Problem, use: Callable[[Resolution | Refutation], _Told]) -> _Told:
        """Raises ResolverError, and Expired past the limit of time."""


class _Way(NamedTuple):
    """Changes of the stack that lock for the targets at these places. A fix without environments was not locked yet.

    Every way is first tried on all targets (`goes_on` is false), which is one solve per target. Finding out what
    else it needs is a search, and comes later.
    """

    goes_on: bool
    rank: tuple[bool, int]
    number: int
    fix: Fix
    locks: frozenset[int]


class _Refused(NamedTuple):
    """A way that does not lock for the target at a place: the attempt to report, and further changes to try there.

    `locks` are the places where it does.
    """

    attempt: Attempt
    at: int
    further: Sequence[Fix] = ()
    locks: frozenset[int] = frozenset()


class Everywhere:
    """The ways out of an explanation, as returned by `draft`, for all targets of its stack."""

    def __init__(
        self, inputs: Inputs, explanation: Explanation, ask: Ask, clock: Clock, cutoff: datetime | None = None
    ) -> None:
        self._inputs = inputs
        self._explanation = explanation
        self._ask = ask
        self._clock = clock
        self._cutoff = cutoff
        self._names = [one.target.name for one in compile_problems(inputs, exclude_newer=cutoff)]
        self._home = self._names.index(explanation.problem.target.name)
        self._continued = 0

    def explained(self) -> Explanation:
        """The explanation with the ways out that lock for all targets; the others become attempts."""
        found: list[Fix] = []
        safe: list[tuple[tuple[bool, int], int]] = []  # ways that lock for all targets and go against nothing
        attempts: list[Attempt] = []
        own = len(self._explanation.fixes)
        waiting = [
            _Way(False, _rank(fix), number, fix, frozenset((self._home,)))
            for number, fix in enumerate(self._explanation.fixes)
        ]
        heapify(waiting)
        count = len(waiting)
        while waiting:
            way = heappop(waiting)
            is_own = way.number < own
            if not is_own and (len(found) >= _FIXES or any(_subjects(fix) <= _subjects(way.fix) for fix in found)):
                continue
            if way.goes_on and any(
                (rank, number) < (way.rank, way.number) for rank, number in safe if number < own or not is_own
            ):
                continue
            answer = self._tried(way)
            locks = frozenset[int]()
            if isinstance(answer, Fix):
                shorter = None if is_own else self._shorter(answer)
                if shorter is None:
                    found.append(answer)
                    safe += [] if answer.risky else [(way.rank, way.number)]
                    continue
                further: Sequence[Fix] = [shorter]
            else:
                further, locks = answer.further, frozenset((answer.at,))
                if not way.goes_on:
                    attempts += [answer.attempt] if is_own else []
                    if not way.fix.risky:
                        heappush(waiting, way._replace(goes_on=True, locks=answer.locks))
            for fix in further:
                heappush(waiting, _Way(False, _rank(fix), count, fix, locks))
                count += 1
        return replace(
            self._explanation,
            fixes=tuple(found),
            attempts=(*attempts, *self._explanation.attempts),
            limited=self._explanation.limited or self._clock.limited,
        )

    def _tried(self, way: _Way) -> Fix | _Refused:
        """A way out of the whole stack; or why it is not, and with which further changes it might be."""
        fix, locks = way.fix, way.locks
        order = sorted(range(len(self._names)), key=lambda at: at == self._home)
        unsure = [at for at in order if at not in way.locks or (at == self._home and not fix.environments)]
        for at in unsure:
            for _, text in fix.files:
                answer = self._answer(at, fix, text, goes_on=way.goes_on)
                if not isinstance(answer, Resolution):
                    return answer._replace(locks=locks)
                if at == self._home:
                    changed = [change.subject for change in fix.changes if change.kind is ChangeKind.VERSION]
                    matter = list(dict.fromkeys([*what_matters(self._explanation.contradictions), *changed]))
                    fix = fix_of(self._explanation.problem, _changed(fix), answer, matter)
            locks |= {at}
        return fix

    def _answer(self, at: int, fix: Fix, text: str, *, goes_on: bool) -> Resolution | _Refused:
        """The result of a changed stack for a target."""
        attempt = Attempt(changes=fix.changes, outcome=Outcome.ELSEWHERE, target=self._names[at])

        def use(answer: Resolution | Refutation) -> Resolution | _Refused:
            if isinstance(answer, Resolution):
                return answer
            if not goes_on or len(fix.files) > 1 or self._continued >= _CONTINUED:
                return _Refused(attempt, at)
            self._continued += 1
            return _Refused(attempt, at, list(self._further(at, fix, changed, answer)))

        try:
            changed = with_stack(self._inputs, read_text(text, schema.StackFile, self._inputs.stack.name))
            sources = self._explanation.problem.sources
            problems = compile_problems(changed, exclude_newer=self._cutoff, sources=sources)
            return self._ask(at, problems[at], use)
        except Expired:
            return _Refused(replace(attempt, outcome=Outcome.UNDECIDED), at)
        except ResolverError as error:
            return _Refused(replace(attempt, outcome=Outcome.FAILED, why=error.message), at)

    def _shorter(self, fix: Fix) -> Fix | None:
        """The same without a change made needless by those added for another target."""
        for change in fix.changes:
            stack = StackText(fix.files[0][1])
            if change.kind is ChangeKind.COMPONENT:
                at = self._names.index(change.target) if change.target else self._home
                others = {name for place, name in enumerate(self._names) if place != at}
                stack = stack.with_component(at, change.subject, change.before).apart(at, others)
            elif change.kind in (ChangeKind.VERSION, ChangeKind.EXTRA):
                for place in stack.places_of(change.after):
                    stack = stack.with_line(place, change.before)
            rest = replace(
                fix,
                changes=tuple(one for one in fix.changes if one is not change),
                environments=(),
                files=((fix.files[0][0], stack.text),),
                price=fix.price - saved(change),
            )
            if stack.text != fix.files[0][1] and isinstance(
                self._tried(_Way(False, _rank(rest), 0, rest, frozenset())), Fix
            ):
                return rest
        return None

    def _further(self, at: int, fix: Fix, inputs: Inputs, refutation: Refutation) -> Iterator[Fix]:
        """The changes of a stack, `inputs`, combined with others that make it lock for the target at `at`, too."""
        clauses = refutation.engine.clauses
        clock = self._clock.within(self._clock.seconds * _SHARE)
        trials = Trials(inputs, clauses.universe.problem, clauses.universe, clock, self._cutoff)
        found = find(clauses, list(cores(clauses, clock.expired)) or [refutation.core], trials)
        for changed, _ in found.fixes:
            added = tuple(self._named(change, at) for change in changed.changes)
            both = _changed(fix).then(replace(changed, changes=added))
            if both.risky:
                continue
            changes = tuple(_once(both.changes))
            if not changes:  # the change for one target is undone for the other, giving the original stack
                continue
            spared = sum(map(saved, (*fix.changes, *added))) - sum(map(saved, changes))
            files = ((fix.files[0][0], both.text),)
            yield replace(
                fix, changes=changes, environments=(), files=files, price=both.price + both.surcharge - spared
            )

    def _named(self, change: Change, at: int) -> Change:
        """A change with its target, if that is not the explained one."""
        own = at == self._home or change.kind is not ChangeKind.COMPONENT
        return change if own else replace(change, target=self._names[at])


def _rank(fix: Fix) -> tuple[bool, int]:
    return fix.risky, cost(fix)


def _changed(fix: Fix) -> Changed:
    return Changed(fix.changes, fix.files[0][1], fix.price, fix.risky)


def _once(changes: Iterable[Change]) -> Iterator[Change]:
    """The changes that were not undone again, each component once."""
    told: dict[object, Change] = {}
    for change in changes:
        key = (change.subject, change.target) if change.kind is ChangeKind.COMPONENT else change
        told[key] = replace(change, before=told[key].before) if key in told else change
    return (change for change in told.values() if change.before != change.after)


def _subjects(fix: Fix) -> set[tuple[ChangeKind, str, str]]:
    return {(change.kind, change.subject, change.target) for change in fix.changes}
