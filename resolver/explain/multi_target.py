"""Ways out of one target's conflict that are ways out for the whole stack, which then locks for all of its targets.

A fix for the explained target may be refuted for another one. The changed stack then has a refutation of its
own there, and changes that solve it: these are added, and the combination is tried for all targets again, the cheapest
first. If something safe works for all of them as it is, nothing is added to more expensive fixes.
Every fix is first tried as it is on all targets, since looking for further changes takes the most time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from heapq import heapify, heappop, heappush
from typing import NamedTuple, Protocol, TypeVar

from msgspec.structs import replace

from resolver.config import schema
from resolver.config.compile import compile_problems
from resolver.config.load import Inputs, read_text, with_stack
from resolver.errors import ResolverError
from resolver.explain.changes import Changed
from resolver.explain.cores import cores
from resolver.explain.costs import cost, saved
from resolver.explain.edit import StackText
from resolver.explain.explain import fix_of, what_matters
from resolver.explain.repairs import find
from resolver.explain.trial import Clock, Expired, Trials
from resolver.model.explanation import Attempt, Change, ChangeKind, Explanation, Fix, Outcome
from resolver.model.problem import Problem
from resolver.model.resolution import Resolution
from resolver.resolve.solver import Refutation

_FIXES = 6  # after which no further changes for other targets are looked for
_CONTINUED = 6  # changed stacks to which changes are added
_SHARE = 1 / 2  # of the time, at most, for each of them

_Result = TypeVar("_Result")


class Ask(Protocol):
    """Solves a problem of the target at this place; returns the result of `use`, called while its catalog is open."""

    def __call__(self, at: int, problem: Problem, use: Callable[[Resolution | Refutation], _Result]) -> _Result:
        """Raises ResolverError, and Expired past the limit of time."""


class _Way(NamedTuple):
    """Changes of the stack. A fix without environments was not locked yet.

    Every way is first tried as it is on all targets, which is one solve each. To find out what else it needs takes a
    search, and comes later (`goes_on`).
    """

    goes_on: bool
    rank: tuple[bool, int]
    number: int
    fix: Fix


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
        self._locked: set[tuple[int, str]] = set()  # places of targets, and stacks that lock for them

    def explained(self) -> Explanation:
        """The explanation with the ways out that lock for all targets; the others become attempts."""
        found: list[Fix] = []
        safe: list[tuple[tuple[bool, int], int]] = []  # ways that lock for all targets and go against nothing
        attempts: list[Attempt] = []
        own = count = len(self._explanation.fixes)
        waiting = [_Way(False, _rank(fix), number, fix) for number, fix in enumerate(self._explanation.fixes)]
        heapify(waiting)
        while waiting:
            way = heappop(waiting)
            is_own = way.number < own
            if not is_own and (len(found) >= _FIXES or any(_subjects(fix) <= _subjects(way.fix) for fix in found)):
                continue
            if way.goes_on and any(
                (rank, number) < (way.rank, way.number) for rank, number in safe if number < own or not is_own
            ):
                continue
            further: list[Fix] = []
            answer = self._tried(way.fix, further if way.goes_on else None)
            if isinstance(answer, Fix):
                shorter = None if is_own else self._shorter(answer)
                if shorter is not None:
                    further.append(shorter)
                else:
                    found.append(answer)
                    safe += [] if answer.risky else [(way.rank, way.number)]
            elif not way.goes_on:
                attempts += [answer] if is_own else []
                if not way.fix.risky:
                    heappush(waiting, way._replace(goes_on=True))
            for fix in further:
                heappush(waiting, _Way(False, _rank(fix), count, fix))
                count += 1
        return replace(
            self._explanation,
            fixes=tuple(found),
            attempts=(*attempts, *self._explanation.attempts),
            limited=self._explanation.limited or self._clock.limited,
        )

    def _tried(self, fix: Fix, further: list[Fix] | None = None) -> Fix | Attempt:
        """A way out of the whole stack; or why it is not. Those with more changes that might be become `further`."""
        for at in sorted(range(len(self._names)), key=lambda at: at == self._home):
            if at == self._home and fix.environments:
                continue
            for _, text in fix.files:
                if at != self._home and (at, text) in self._locked:
                    continue
                answer = self._lock(at, fix, text, further)
                if isinstance(answer, Attempt):
                    return answer
                self._locked.add((at, text))
                if at == self._home:
                    changed = [change.subject for change in fix.changes if change.kind is ChangeKind.VERSION]
                    matter = list(dict.fromkeys([*what_matters(self._explanation.contradictions), *changed]))
                    fix = fix_of(self._explanation.problem, _changed(fix), answer, matter)
        return fix

    def _lock(self, at: int, fix: Fix, text: str, further: list[Fix] | None) -> Resolution | Attempt:
        """The result of a changed stack for the target at this place."""
        attempt = Attempt(changes=fix.changes, outcome=Outcome.ELSEWHERE, target=self._names[at])

        def use(answer: Resolution | Refutation) -> Resolution | Attempt:
            if isinstance(answer, Resolution):
                return answer
            if further is not None and len(fix.files) == 1 and self._continued < _CONTINUED:
                self._continued += 1
                further.extend(self._further(at, fix, changed, answer))
            return attempt

        try:
            changed = with_stack(self._inputs, read_text(text, schema.StackFile, self._inputs.stack.name))
            sources = self._explanation.problem.sources
            problems = compile_problems(changed, exclude_newer=self._cutoff, sources=sources)
            return self._ask(at, problems[at], use)
        except Expired:
            return replace(attempt, outcome=Outcome.UNDECIDED)
        except ResolverError as error:
            return replace(attempt, outcome=Outcome.FAILED, why=error.message)

    def _shorter(self, fix: Fix) -> Fix | None:
        """The same without a change made needless by those added for another target."""
        ((name, text),) = fix.files
        for change in fix.changes:
            at = self._names.index(change.target) if change.target else self._home
            fewer = StackText(text).undone(change, at, {*self._names[:at], *self._names[at + 1 :]}).text
            rest = replace(
                fix,
                changes=tuple(one for one in fix.changes if one is not change),
                environments=(),
                files=((name, fewer),),
                price=fix.price - saved(change),
            )
            if fewer != text and isinstance(self._tried(rest), Fix):
                return rest
        return None

    def _further(self, at: int, fix: Fix, inputs: Inputs, refutation: Refutation) -> Iterator[Fix]:
        """The changes of a stack, `inputs`, combined with others that make it lock for the target at `at`, too."""
        clauses = refutation.engine.clauses
        clock = self._clock.within(self._clock.seconds * _SHARE)
        trials = Trials(inputs, clauses.universe, clock, self._cutoff)
        found = find(clauses, list(cores(clauses, clock.expired)) or [refutation.core], trials)
        for changed, _ in found.fixes:
            target = self._names[at] if at != self._home else ""
            added = tuple(
                replace(change, target=target) if change.kind is ChangeKind.COMPONENT else change
                for change in changed.changes
            )
            both = _changed(fix).then(replace(changed, changes=added))
            changes = tuple(_once(both.changes))
            if both.risky or not changes:  # what is undone again for the other target gives the original stack
                continue
            self._locked.add((at, both.text))
            spared = sum(map(saved, (*fix.changes, *added))) - sum(map(saved, changes))
            files = ((fix.files[0][0], both.text),)
            yield replace(
                fix, changes=changes, environments=(), files=files, price=both.price + both.surcharge - spared
            )


def _rank(fix: Fix) -> tuple[bool, int]:
    return fix.risky, cost(fix)


def _changed(fix: Fix) -> Changed:
    return Changed(fix.changes, fix.files[0][1], fix.price, fix.risky)


def _once(changes: Iterable[Change]) -> Iterator[Change]:
    """The changes that were not undone again, each component once."""
    by_subject: dict[object, Change] = {}
    for change in changes:
        key = (change.subject, change.target) if change.kind is ChangeKind.COMPONENT else change
        by_subject[key] = replace(change, before=by_subject[key].before) if key in by_subject else change
    return (change for change in by_subject.values() if change.before != change.after)


def _subjects(fix: Fix) -> set[tuple[ChangeKind, str, str]]:
    return {(change.kind, change.subject, change.target) for change in fix.changes}
