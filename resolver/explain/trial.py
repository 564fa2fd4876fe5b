"""Changed stacks: locking them for real, within a limit of time, and the results."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from math import inf
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from resolver.config import schema
from resolver.config.compile import compile_problems
from resolver.config.load import Inputs, read_text, with_stack
from resolver.errors import ResolverError
from resolver.explain import costs
from resolver.index.protocol import Catalog, polling
from resolver.model.constraint import Constraint
from resolver.model.explanation import Attempt, AttemptOutcome, Change, ChangeKind, Contradiction
from resolver.model.problem import PolicyOptions, Problem
from resolver.model.resolution import Resolution
from resolver.resolve.solver import Refutation, decide, solve_builds
from resolver.resolve.universe import Universe

_SHARE = 1 / 4  # of the time for all, at most, for one changed stack
_FIXES = 6
_AGAINST = 3  # fixes that go against a fact or metadata
CUTOFF = "exclude-newer"  # in [policy]


class Expired(Exception):
    """The limit of time is reached."""


class Clock:
    """A limit of time: `expired` once it is reached, `tick` raises then.

    `report` is called with the progress.
    """

    def __init__(
        self, seconds: float, report: Callable[[int, int], None] = lambda *_: None
    ) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds
        self._report = report
        self.limited = False  # whether anything was cut short

    def expired(self) -> bool:
        """Whether time is up; something is then cut short."""
        is_late = time.monotonic() > self._end
        self.limited |= is_late
        return is_late

    def within(self, seconds: float) -> Clock:
        """A limit that ends with this one, or after so many seconds; `limited` is its own."""
        return Clock(min(seconds, self._end - time.monotonic()), self._report)

    def tick(self, rounds: int, packages: int) -> None:
        """Report the progress of a search. Raises Expired."""
        self._report(rounds, packages)
        self.look()

    def look(self) -> None:
        """Raise Expired if time is up."""
        if self.expired():
            raise Expired


class Undecided(NamedTuple):
    """A changed stack could not be decided: in time, or for the reason given in `why`."""

    why: str = ""


Answer = Resolution | Refutation | Undecided


class Trials:
    """Locks variants of a stack for one of its targets, that of a universe, and for the others.

    `inputs` are the files that the universe's problem was made from, `options` replace parts of
    their policy. `catalog_of` gives the catalog for another target's problem.
    """

    def __init__(
        self,
        inputs: Inputs,
        universe: Universe,
        clock: Clock,
        options: PolicyOptions,
        catalog_of: Callable[[Problem], Catalog],
    ) -> None:
        self.clock = clock
        self._options = options
        self._problems = compile_problems(inputs, options=options, sources=universe.problem.sources)
        self._names = [problem.target.name for problem in self._problems]
        self.current_target = self._explained = self._names.index(universe.problem.target.name)
        self._universes = {self.current_target: universe}  # of the original stack, by target
        self._locked: dict[tuple[int, str], Resolution] = {}
        self._catalog_of = catalog_of
        self._stand_at(inputs, universe)

    def _stand_at(self, inputs: Inputs, universe: Universe) -> None:
        self.inputs = inputs
        self.text = inputs.stack.text
        self.problem = universe.problem
        self.catalog = universe.catalog
        self._universe = universe

    def after(self, text: str, universe: Universe) -> Trials:
        """Trials for variants of a changed stack, with its universe."""
        trials = copy(self)
        trials._stand_at(self._with(text), universe)
        return trials

    @property
    def name(self) -> str:
        """The name of the target in the original stack."""
        return self._names[self.current_target]

    @property
    def target(self) -> str:
        """The same; empty for the target that is explained."""
        return "" if self.current_target == self._explained else self.name

    def target_index(self, change: Change) -> int:
        """The place in the stack of the target that a change is about."""
        return self._names.index(change.target) if change.target else self._explained

    def lock(self, text: str) -> Answer:
        """Solve a changed stack, including its builds."""
        if (self.current_target, text) in self._locked:
            return self._locked[self.current_target, text]
        clock = self.clock.within(self.clock.seconds * _SHARE)
        try:
            problems = compile_problems(
                self._with(text), options=self._options, sources=self.problem.sources
            )
            universe = self._universe.variant(problems[self.current_target])
            with polling(clock.look):
                answer = decide(universe, tick=clock.tick)
                if isinstance(answer, Resolution):
                    solve_builds(answer, universe.catalog, tick=clock.tick)
        except Expired:
            self.clock.limited = True
            return Undecided()
        except ResolverError as error:
            return Undecided(error.message)
        if isinstance(answer, Resolution):
            self._locked[self.current_target, text] = answer
        return answer

    def elsewhere(self, text: str) -> tuple[Trials, Refutation | Undecided] | None:
        """The first other target for which a changed stack does not lock, and why; None if it locks for all."""
        for at in range(len(self._problems)):
            if at == self.current_target:
                continue
            trials = self._for_target(at)
            answer = trials.lock(text)
            if not isinstance(answer, Resolution):
                return trials, answer
        return None

    def lock_all(self, text: str) -> Answer:
        """Solve a changed stack for all targets: the lock for this one, or why there is none for the first without."""
        answer = self.lock(text)
        failure = self.elsewhere(text) if isinstance(answer, Resolution) else None
        return answer if failure is None else failure[1]

    def explained(self, text: str) -> Resolution:
        """The lock of a changed stack, which locks for all targets, for the one that is explained."""
        return self._locked[self._explained, text]

    def _for_target(self, target: int) -> Trials:
        trials = copy(self)
        trials.current_target = target
        if target not in self._universes:
            self._universes[target] = Universe(
                self._problems[target], self._catalog_of(self._problems[target])
            )
        trials._stand_at(self.inputs, self._universes[target])
        return trials

    def _with(self, text: str) -> Inputs:
        return with_stack(self.inputs, read_text(text, schema.StackFile, self.inputs.stack.name))


# --- their results


class ChangedStack(msgspec.Struct, frozen=True):
    """A changed stack: what changed, its text, the price, and whether it goes against a fact.

    `surcharge` is added to the price of one that locks when ways out are listed, and plays no part
    in the search.
    """

    changes: tuple[Change, ...]
    text: str
    price: int
    risky: bool
    surcharge: int = 0

    @property
    def reported(self) -> tuple[Change, ...]:
        """The changes with the practices that are turned on as one."""
        practices = [change for change in self.changes if change.kind is ChangeKind.PRACTICE]
        if not practices:
            return self.changes
        names = sorted(change.subject for change in practices)
        merged = replace(
            practices[0], subject=", ".join(names), after=f"practices = {as_list(names)}"
        )
        return (merged, *(change for change in self.changes if change not in practices))

    @property
    def subjects(self) -> set[tuple[ChangeKind, str, str]]:
        """What changes, and for which other target."""
        return {(change.kind, change.subject, change.target) for change in self.changes}

    def includes(self, other: ChangedStack) -> bool:
        """Whether this changes all that the other does, and no line to a release nearer to the original one."""
        steps = {
            change.subject: abs(change.steps)
            for change in other.changes
            if change.kind is ChangeKind.VERSION
        }
        versions = [change for change in self.changes if change.kind is ChangeKind.VERSION]
        is_nearer = any(abs(change.steps) < steps.get(change.subject, 0) for change in versions)
        return other.subjects <= self.subjects and not is_nearer

    @property
    def dropped(self) -> set[str]:
        """The projects whose lines are dropped."""
        return {change.subject for change in self.changes if change.kind is ChangeKind.DROP}

    def then(self, other: ChangedStack) -> ChangedStack:
        """These changes followed by those of the changed stack.

        What changes twice is reported, and costs, once.
        """
        changes, price = list(self.changes), self.price + other.price
        for change in other.changes:
            earlier = next((row for row in changes if _is_continued(row, change)), None)
            if earlier is None:
                changes.append(change)
                continue
            is_undone = earlier.before == change.after
            at = changes.index(earlier)
            changes[at : at + 1] = [] if is_undone else [_joined(earlier, change)]
            price -= costs.saved_price(earlier) + costs.saved_price(change) * is_undone
        return ChangedStack(tuple(changes), other.text, price, self.risky or other.risky)


def _is_continued(change: Change, later: Change) -> bool:
    """Whether a later change is one of the same line or of the same component."""
    if change.kind is later.kind is ChangeKind.COMPONENT:
        return (change.subject, change.target) == (later.subject, later.target)
    of_lines = {change.kind, later.kind} <= {ChangeKind.VERSION, ChangeKind.EXTRA}
    return of_lines and change.after == later.before


def _joined(change: Change, later: Change) -> Change:
    kind = later.kind if change.kind is ChangeKind.EXTRA else change.kind
    steps, years = change.steps + later.steps, change.years + later.years
    return replace(later, kind=kind, before=change.before, steps=steps, years=years)


class FixSearchResults(msgspec.Struct):
    """The results of a search for fixes.

    `report` is called with the first fix that goes against nothing. `seen` says of the changes that
    were tried for a target, in whatever order, whether they lock. `refused` are stacks that lock
    for one target, and not for another. `further` contradictions were found on the way. `useless`
    are stacks by their text that lock, but something in them does not work without a line that was
    dropped. `unreached` are the indexes, by project, that could not be reached and may have what
    further fixes need.
    """

    report: Callable[[tuple[Change, ...]], None]
    fixes: list[tuple[ChangedStack, Resolution]] = msgspec.field(default_factory=list)
    useless: dict[str, tuple[ChangedStack, Resolution]] = msgspec.field(default_factory=dict)
    attempts: list[Attempt] = msgspec.field(default_factory=list)
    seen: dict[tuple[int, frozenset[Change]], bool] = msgspec.field(default_factory=dict)
    refused: set[str] = msgspec.field(default_factory=set)
    further: list[tuple[Sequence[Constraint], Contradiction]] = msgspec.field(default_factory=list)
    unreached: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)

    def add(self, changed: ChangedStack, resolution: Resolution) -> None:
        """Add a fix, which replaces those that change the same and more."""
        if not changed.risky and not self.safe:
            self.report(changed.reported)
        self.fixes = [
            row
            for row in self.fixes
            if row[0].subjects == changed.subjects or not row[0].includes(changed)
        ]
        self.fixes.append((changed, resolution))

    @property
    def safe(self) -> int:
        """How many fixes go against nothing."""
        return sum(not changed.risky for changed, _ in self.fixes)

    @property
    def cheapest(self) -> float:
        """The price of the cheapest fix that goes against nothing; infinite if there is none."""
        return min((changed.price for changed, _ in self.fixes if not changed.risky), default=inf)

    def is_enough(self) -> bool:
        """Whether there are so many fixes that no more are looked for."""
        return len(self.fixes) >= _FIXES or len(self.fixes) - self.safe >= _AGAINST

    def is_lesser(self, changed: ChangedStack, resolution: Resolution) -> bool:
        """Whether a dropped line's project is installed all the same, and another fix only changes its version."""
        installed = {name for name in changed.dropped if resolution.pin(name)}
        subjects = {
            (
                ChangeKind.VERSION if change.subject in installed else change.kind,
                change.subject,
                change.target,
            )
            for change in changed.changes
        }
        return any(
            fix.subjects <= subjects
            and any((ChangeKind.VERSION, name, "") in fix.subjects for name in installed)
            for fix, _ in self.fixes
        )


def attempt(changed: ChangedStack, answer: Refutation | Undecided, target: str = "") -> Attempt:
    """Changes that gave no lock, for another `target` if there is one."""
    if isinstance(answer, Undecided):
        outcome = AttemptOutcome.FAILED if answer.why else AttemptOutcome.UNDECIDED
        return Attempt(changes=changed.reported, outcome=outcome, why=answer.why, target=target)
    if target:
        return Attempt(changes=changed.reported, outcome=AttemptOutcome.ELSEWHERE, target=target)
    return Attempt(
        changes=changed.reported, outcome=AttemptOutcome.CONFLICT, because=answer.reasons
    )


def as_list(names: Iterable[str]) -> str:
    """The names as a list in TOML, on one line."""
    return "[" + ", ".join(f'"{name}"' for name in names) + "]"
