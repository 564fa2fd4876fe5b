"""Changed stacks: locking them for real, within a limit of time, and the results."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from functools import cached_property
from math import inf
from typing import NamedTuple

import msgspec
from msgspec.structs import replace
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.config.compile import StackCompiler
from resolver.config.load import Document, Inputs
from resolver.config.schema import StackFile
from resolver.config.stack_lines import stack_lines
from resolver.errors import ResolverError, UndecidedError
from resolver.explain import costs
from resolver.explain.stack_text import StackText
from resolver.index.protocol import Catalog, polling, waited
from resolver.index.sources import with_sources_of_facts
from resolver.model.constraint import Constraint
from resolver.model.edit import Edit, Edits, place_of
from resolver.model.explanation import Attempt, AttemptOutcome, Change, ChangeKind, Contradiction
from resolver.model.problem import PolicyOptions, Problem
from resolver.model.resolution import Resolution
from resolver.phrase import EMPTY, Phrase
from resolver.resolve.solver import (
    Refutation,
    decide,
    first_answer,
    refuted_alike,
    solve_builds,
)
from resolver.resolve.universe import Universe

# seconds for one of CPU time
_PATIENCE = 3
# of the time for all, at most, for one changed stack
SHARE = 1 / 4
# likewise, for a row of the tables: many are tried, and what takes long is seldom near
SHARE_OF_ROW = 1 / 12
# refutations that are tried for further variants
_PROOFS = 6
# fixes after which no more are looked for
_FIXES = 6
# likewise fixes that go against a fact or metadata
_AGAINST = 1


class Expired(Exception):
    """The limit of time is reached."""


class Clock:
    """A limit of CPU time, so that what is found does not depend on what else the machine does.

    Indexes that do not answer are waited for no longer than a multiple of it.
    """

    def __init__(
        self, seconds: float, report: Callable[[int, int], None] = lambda *_: None
    ) -> None:
        self.seconds = seconds
        # whether anything was cut short
        self.limited = False
        self._cpu_end = time.process_time() + seconds
        self._wait_end = waited() + _PATIENCE * seconds
        # is called with the progress
        self._report = report

    def expired(self) -> bool:
        """Return whether time is up; something is then cut short."""
        is_late = time.process_time() > self._cpu_end or waited() > self._wait_end
        self.limited |= is_late
        return is_late

    def within(self, seconds: float) -> Clock:
        """Return a limit that ends with this one, or after so many seconds if that is earlier.

        Its `limited` is its own.
        """
        return Clock(min(seconds, self._cpu_end - time.process_time()), self._report)

    def tick(self, rounds: int, packages: int) -> None:
        """Report the progress of a search. Raise Expired if time is up."""
        self._report(rounds, packages)
        self.look()

    def look(self) -> None:
        """Raise Expired if time is up."""
        if self.expired():
            raise Expired

    @contextmanager
    def limiting(self) -> Iterator[None]:
        """End the block, and set `limited`, when time is up or the engine gives up.

        Requests to indexes are waited for no longer than that.
        """
        try:
            with polling(self.look):
                yield
        except (Expired, UndecidedError):
            self.limited = True


# what tells a changed stack from others
EditSet = frozenset[Edit]


class Undecided(NamedTuple):
    """A changed stack could not be decided."""

    # what failed; empty if time was up
    why: Phrase = EMPTY


Answer = Resolution | Refutation | Undecided


class Trials:
    """Locks variants of a stack for one of its targets, and for the others.

    Variants are known by their edits of the stack as it was read. They are locked with the policy's
    `options` that replaced parts of the stack's policy.
    """

    def __init__(
        self,
        compiler: StackCompiler,
        universe: Universe,
        clock: Clock,
        options: PolicyOptions,
        catalog_of: Callable[[Problem], Catalog],
        read_shipped: Callable[[], Sequence[Document[StackFile]]] = tuple,
    ) -> None:
        """Begin with the target of a universe, whose problem is the compiler's.

        `catalog_of` gives the catalog for the problem of another target, and `read_shipped` the
        stacks that ship.
        """
        self._read_shipped = read_shipped
        self.clock = clock
        self._compiler = compiler
        self._options = options
        self._sources = universe.problem.sources
        self._problems = compiler.problems(options=options, sources=self._sources)
        self._names = [problem.target.name for problem in self._problems]
        # the place in the stack of the target that is explained, and of the one that is tried
        self._explained = self._names.index(universe.problem.target.name)
        self.current_target = self._explained
        # of the original stack, by target
        self._universes = {self.current_target: universe}
        # by target and edits
        self._locked: dict[tuple[int, EditSet], Resolution] = {}
        # likewise, those that the lock of a similar stack may have helped to find
        self._helped: set[tuple[int, EditSet]] = set()
        # for each target, by edits
        self._compiled: dict[Edits, Sequence[Problem]] = {}
        self._catalog_of = catalog_of
        # what refuted variants, shared by all trials: another one may be refuted in the same way
        self._proofs: list[Refutation] = []
        self._stand_at((), universe)

    def learn(self, refutation: Refutation) -> None:
        """Remember what refuted a variant, or the stack."""
        self._proofs.append(refutation)

    def _stand_at(self, edits: Edits, universe: Universe) -> None:
        """Take another stack, for the current target, as the one that variants are made of."""
        self._edits = edits
        self.problem = universe.problem
        self.catalog = universe.catalog
        self._universe = universe

    def after(self, edits: Edits, universe: Universe) -> Trials:
        """Return trials for variants of a changed stack, with its universe."""
        trials = copy(self)
        trials._stand_at(edits, universe)
        return trials

    @property
    def files(self) -> Inputs:
        """Return the files of the original stack."""
        return self._compiler.inputs

    @cached_property
    def shipped(self) -> Sequence[Document[StackFile]]:
        """Return the stacks that ship."""
        return self._read_shipped()

    @property
    def name(self) -> str:
        """Return the name of the target in the original stack."""
        return self._names[self.current_target]

    @property
    def target(self) -> str:
        """Return the name of the target; empty for the one that is explained."""
        return "" if self.current_target == self._explained else self.name

    @property
    def next_number(self) -> int:
        """Return the number of a line that is added."""
        edited = self._compiler.edited(self._edits)
        return max(len(edited.of_file), *(number + 1 for number in edited.numbers))

    def lines(self, edits: Iterable[Edit]) -> tuple[str, ...]:
        """Return the lines of the stack that variants are made of, with further edits."""
        content = self._compiler.edited((*self._edits, *edits)).content
        lines = stack_lines(content)
        group = self.problem.stack.group
        if group:
            lines = tuple(line for line in lines if line.group in ("", group))
        return tuple(line.text for line in lines)

    def text(self, edits: Edits) -> str:
        """Return the text of the stack's file with edits."""
        names = self._compiler.edited(edits).names
        return StackText(self.files.stack.text).with_edits(edits, names).text

    def lock(self, edits: Edits, near: Resolution | None = None) -> Answer:
        """Solve a changed stack, including its builds.

        What is `near` is the lock of a similar one, with whose releases a search may do that fails
        without them.
        """
        key = self.current_target, frozenset(edits)
        if key in self._locked:
            return self._locked[key]
        clock = self.clock.within(self.clock.seconds * SHARE)
        try:
            answer = self._solve(edits, clock, near)
        except Expired:
            self.clock.limited = True
            return Undecided()
        except ResolverError as error:
            return Undecided(error.phrases["message"])
        if isinstance(answer, Resolution):
            self._locked[key] = answer
            if near is not None:
                self._helped.add(key)
        return answer

    def exact(self, edits: Edits, locked: Resolution) -> Resolution:
        """Return the lock for the explained target that a run of its own would give.

        If that takes too long, it is `locked`, which a similar one may have helped to find.
        """
        key = self._explained, frozenset(edits)
        if key not in self._helped:
            return locked
        self._helped.discard(key)
        del self._locked[key]
        answer = self.lock(edits)
        return answer if isinstance(answer, Resolution) else locked

    def nearest(
        self,
        edits: Edits,
        preferred: Mapping[NormalizedName, Version],
        share: float = SHARE_OF_ROW,
    ) -> Answer:
        """Solve a changed stack without its builds, near preferred releases.

        Nothing but the releases of these projects is of use. At most a `share` of the time for all
        is taken.
        """
        clock = self.clock.within(self.clock.seconds * share)
        problem = self._compile((*self._edits, *edits))[self.current_target]
        universe = self._universe.variant(problem, preferred)
        universe.takes_nearest = True
        try:
            with polling(clock.look):
                return first_answer(universe, tick=clock.tick)
        except Expired:
            return Undecided()
        except ResolverError as error:
            return Undecided(error.phrases["message"])

    def _solve(
        self, edits: Edits, clock: Clock, near: Resolution | None
    ) -> Resolution | Refutation:
        problem = self._compile(edits)[self.current_target]
        universe = self._universe.variant(problem)
        among: Universe | None = None
        if near is not None:
            preferred = {pin.name: pin.version for pin in near.pins}
            among = self._universe.variant(problem, preferred)
        with polling(clock.look):
            alike = refuted_alike(universe, self._proofs[-_PROOFS:])
            if alike is not None:
                return alike
            answer = decide(universe, among=among, tick=clock.tick)
            if isinstance(answer, Resolution):
                solve_builds(answer, universe.catalog, tick=clock.tick)
            else:
                self.learn(answer)
        return answer

    def _compile(self, edits: Edits) -> Sequence[Problem]:
        """Return the problems of a changed stack, one for each target."""
        if edits not in self._compiled:
            problems = self._compiler.problems(
                self._compiler.edited(edits), options=self._options, sources=self._sources
            )
            self._compiled[edits] = list(map(with_sources_of_facts, problems))
        return self._compiled[edits]

    def elsewhere(self, edits: Edits) -> tuple[Trials, Refutation | Undecided] | None:
        """Return the first other target for which a changed stack does not lock, and why.

        None if it locks for all of them.
        """
        for target in range(len(self._problems)):
            if target == self.current_target:
                continue
            trials = self._for_target(target)
            answer = trials.lock(edits)
            if not isinstance(answer, Resolution):
                return trials, answer
        return None

    def lock_all(self, edits: Edits) -> Answer:
        """Solve a changed stack for all targets.

        Return the lock for this one, or why there is none for the first without.
        """
        answer = self.lock(edits)
        if not isinstance(answer, Resolution):
            return answer
        failure = self.elsewhere(edits)
        return answer if failure is None else failure[1]

    def explained(self, edits: Edits) -> Resolution:
        """Return the lock for the explained target of a changed stack that locks for all."""
        return self._locked[self._explained, frozenset(edits)]

    def _for_target(self, target: int) -> Trials:
        """Return trials for variants of the same stack for another target."""
        if target not in self._universes:
            problem = self._problems[target]
            self._universes[target] = Universe(problem, self._catalog_of(problem))
        trials = copy(self)
        trials.current_target = target
        trials._stand_at(self._edits, self._universes[target])
        return trials


# --- their results


class ChangedStack(msgspec.Struct, frozen=True):
    """A changed stack."""

    changes: tuple[Change, ...]
    # the price of the changes
    price: int
    # whether it goes against a fact or metadata
    risky: bool
    # releases of which nobody recorded that they work
    unproven: int = 0
    # full years by which releases in its lock are older that no change names
    years_older: int = 0

    @property
    def edits(self) -> Edits:
        """Return what the changes do to the original stack."""
        return tuple(map(edit_of, self.changes))

    @property
    def key(self) -> EditSet:
        """Return what tells it from other changed stacks."""
        return frozenset(self.edits)

    @property
    def reported(self) -> tuple[Change, ...]:
        """Return the changes, with the practices that are turned on as one."""
        practices = [change for change in self.changes if change.kind is ChangeKind.PRACTICE]
        if not practices:
            return self.changes
        names = sorted(change.subject for change in practices)
        merged = replace(
            practices[0], subject=", ".join(names), after=f"practices = {as_list(names)}"
        )
        others = [change for change in self.changes if change not in practices]
        return (merged, *others)

    @property
    def subjects(self) -> set[tuple[ChangeKind, str, str]]:
        """Return what changes, and for which other target."""
        return {(change.kind, change.subject, change.target) for change in self.changes}

    @property
    def dropped(self) -> set[str]:
        """Return the projects whose lines are dropped."""
        return {change.subject for change in self.changes if change.kind is ChangeKind.DROP}

    def without(self, changes: Collection[Change]) -> ChangedStack:
        """Return this without some of its changes."""
        kept = tuple(change for change in self.changes if change not in changes)
        return replace(self, changes=kept)

    def idle(self, resolution: Resolution) -> list[Change]:
        """Return the changes that state what archives need which a lock does not take."""
        idle = []
        for change in self.changes:
            if change.kind is ChangeKind.STATE:
                pin = resolution.pin(change.subject)
                if pin is None or pin.release.file.filename != change.before:
                    idle.append(change)
        return idle

    def includes(self, other: ChangedStack) -> bool:
        """Return whether this changes all that the other does.

        It does not if a line changes to a release nearer to the original one here.
        """
        return other.subjects <= self.subjects and not self._is_nearer(other)

    def _is_nearer(self, other: ChangedStack) -> bool:
        """Return whether a line changes to a release nearer to the original one than there."""
        steps = {
            change.subject: abs(change.steps)
            for change in other.changes
            if change.kind is ChangeKind.VERSION
        }
        return any(
            change.kind is ChangeKind.VERSION and abs(change.steps) < steps.get(change.subject, 0)
            for change in self.changes
        )

    def then(self, other: ChangedStack) -> ChangedStack:
        """Return these changes followed by those of the other.

        What changes twice is reported, and costs, once. What is changed back is no change.
        """
        changes = {place_of(edit_of(change)): change for change in self.changes}
        price = self.price + other.price
        for later in other.changes:
            place = place_of(edit_of(later))
            earlier = changes.get(place)
            if earlier is None:
                changes[place] = later
                continue
            price -= costs.saved_price(earlier)
            if earlier.edit != later.edit and earlier.before == later.after:
                price -= costs.saved_price(later)
                del changes[place]
            else:
                changes[place] = _joined(earlier, later)
        return ChangedStack(
            changes=tuple(changes.values()),
            price=price,
            risky=self.risky or other.risky,
            unproven=self.unproven + other.unproven,
        )


def edit_of(change: Change) -> Edit:
    """Return what a change does to a stack. A split is none of one stack."""
    assert change.edit is not None  # noqa: S101
    return change.edit


def _joined(change: Change, later: Change) -> Change:
    """Return two changes of the same line or component as one."""
    is_extra = change.kind is ChangeKind.EXTRA or later.kind is ChangeKind.DROP
    return replace(
        later,
        kind=later.kind if is_extra else change.kind,
        before=change.before,
        steps=change.steps + later.steps,
        years=change.years + later.years,
    )


class FixSearchResults(msgspec.Struct):
    """The results of a search for fixes."""

    # is called with the first fix that goes against nothing
    report: Callable[[tuple[Change, ...]], None]
    # in the order in which they were found
    fixes: list[tuple[ChangedStack, Resolution]] = msgspec.field(default_factory=list)
    # Stacks that lock though something in them does not work without a dropped line.
    useless: dict[EditSet, tuple[ChangedStack, Resolution]] = msgspec.field(default_factory=dict)
    # changes that gave no lock
    attempts: list[Attempt] = msgspec.field(default_factory=list)
    # whether the changes that were tried for a target, in whatever order, lock
    seen: dict[tuple[int, EditSet], bool] = msgspec.field(default_factory=dict)
    # stacks that lock for one target, and not for another
    refused: set[EditSet] = msgspec.field(default_factory=set)
    # contradictions that were found on the way, with their cores
    further: list[tuple[Sequence[Constraint], Contradiction]] = msgspec.field(default_factory=list)
    # the indexes, by project, that could not be reached and may have what further fixes need
    unreached: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)

    def add(self, changed: ChangedStack, resolution: Resolution) -> None:
        """Add a fix, which replaces those that change the same and more.

        It replaces none whose releases are proven while its own are not.
        """
        if not changed.risky and not self.safe:
            self.report(changed.reported)
        self.fixes = [
            (fix, lock)
            for fix, lock in self.fixes
            if fix.subjects == changed.subjects
            or changed.unproven > fix.unproven
            or not fix.includes(changed)
        ]
        self.fixes.append((changed, resolution))

    @property
    def safe(self) -> int:
        """Return how many fixes go against nothing."""
        return sum(not changed.risky for changed, _ in self.fixes)

    @property
    def cheapest(self) -> float:
        """Return the price of the cheapest fix that goes against nothing; infinite without one."""
        return min((changed.price for changed, _ in self.fixes if not changed.risky), default=inf)

    def is_enough(self) -> bool:
        """Return whether there are so many fixes that no more are looked for."""
        return len(self.fixes) >= _FIXES or len(self.fixes) - self.safe >= _AGAINST

    def is_lesser(self, changed: ChangedStack, resolution: Resolution) -> bool:
        """Return whether another fix only changes the version of what is dropped in vain.

        That is a project whose line is dropped, and which is installed all the same.
        """
        installed = {name for name in changed.dropped if resolution.pin(name)}
        subjects = {
            (ChangeKind.VERSION if subject in installed else kind, subject, target)
            for kind, subject, target in changed.subjects
        }
        versions = {(ChangeKind.VERSION, name, "") for name in installed}
        return any(
            fix.subjects <= subjects and not versions.isdisjoint(fix.subjects)
            for fix, _ in self.fixes
        )


def attempt(changed: ChangedStack, answer: Refutation | Undecided, target: str = "") -> Attempt:
    """Return changes that gave no lock, for another `target` if one is named, and why."""
    changes = changed.reported
    if isinstance(answer, Undecided):
        outcome = AttemptOutcome.FAILED if answer.why else AttemptOutcome.UNDECIDED
        return Attempt(changes=changes, outcome=outcome, why=answer.why, target=target)
    if target:
        return Attempt(changes=changes, outcome=AttemptOutcome.ELSEWHERE, target=target)
    return Attempt(changes=changes, outcome=AttemptOutcome.CONFLICT, because=answer.reasons)


def as_list(names: Iterable[str]) -> str:
    """Return names as a list in TOML, on one line."""
    quoted = ", ".join(f'"{name}"' for name in names)
    return f"[{quoted}]"
