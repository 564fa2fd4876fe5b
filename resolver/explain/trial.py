"""Lock changed stacks within a limit of time, and keep the results of the search for fixes."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace as replace_target
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

# For each second of CPU time that is allowed, indexes are waited for so many seconds.
_PATIENCE = 3
# The largest share of the whole time that one changed stack may take.
SHARE = 1 / 4
# The same for a row of a compatibility table (see `rows`). Many rows are tried, and one that takes
# long seldom leads to a lock.
SHARE_OF_ROW = 1 / 12
# How many of the last refutations are tried on a further changed stack.
_PROOFS = 6
# With so many fixes, the search ends.
_FIXES = 6
# With so many fixes that contradict a fact or metadata, the search ends.
_AGAINST = 1


class Expired(Exception):
    """The limit of time is reached."""


class Clock:
    """A limit of CPU time, so that the results do not depend on what else the machine does.

    The time for which indexes are waited for is limited to a multiple of it.
    """

    def __init__(
        self, seconds: float, report: Callable[[int, int], None] = lambda *_: None
    ) -> None:
        """Start the clock, which ends after so many seconds of CPU time.

        `report` is called with the progress of each search, see `tick`.
        """
        self.seconds = seconds
        # Whether time was up when somebody asked, so that something was cut short.
        self.limited = False
        self._cpu_end = time.process_time() + seconds
        self._wait_end = waited() + _PATIENCE * seconds
        self._report = report

    def expired(self) -> bool:
        """Return whether time is up, and remember in `limited` that it was."""
        is_late = time.process_time() > self._cpu_end or waited() > self._wait_end
        self.limited |= is_late
        return is_late

    def within(self, seconds: float) -> Clock:
        """Return a clock that ends with this one, or after so many seconds if that is earlier.

        The new clock has a `limited` of its own.
        """
        return Clock(min(seconds, self._cpu_end - time.process_time()), self._report)

    def tick(self, rounds: int, packages: int) -> None:
        """Report the progress of a search. Raise Expired if time is up.

        `rounds` and `packages` are the rounds of the search and the packages known so far.
        """
        self._report(rounds, packages)
        self.look()

    def look(self) -> None:
        """Raise Expired if time is up."""
        if self.expired():
            raise Expired

    @contextmanager
    def limiting(self) -> Iterator[None]:
        """End the `with` block, and set `limited`, when time is up or the solver gives up.

        Requests to indexes that are made in the block are not waited for longer than that.
        """
        try:
            with polling(self.look):
                yield
        except (Expired, UndecidedError):
            self.limited = True


# Identifies a changed stack: two with the same edits are the same.
EditSet = frozenset[Edit]


class Undecided(NamedTuple):
    """The answer for a changed stack if it is unknown whether it has a solution."""

    # The error that stopped the solver, such as that of an index; empty if time was up.
    why: Phrase = EMPTY


# The answer to the question whether a stack has a solution.
Answer = Resolution | Refutation | Undecided


class Trials:
    """Locks changed stacks for one target of the original stack, and for its other targets.

    A changed stack is given by its edits of the original stack. All are locked with the same
    `options`, which replace parts of the stack's policy.
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
        """Begin with the target of `universe`, whose problem is one of the compiler's.

        `catalog_of` returns the catalog for the problem of another target, and `read_shipped` the
        stacks that ship with this program. The search ends when the clock does.
        """
        self._read_shipped = read_shipped
        self.clock = clock
        self._compiler = compiler
        self._options = options
        self._sources = universe.problem.sources
        self._problems = compiler.problems(options=options, sources=self._sources)
        self._names = [problem.target.name for problem in self._problems]
        # The numbers, in the stack's file, of the target that is explained and of the target that
        # these trials lock for.
        self._explained = self._names.index(universe.problem.target.name)
        self.current_target = self._explained
        # The universe of the original stack, by the number of its target.
        self._universes = {self.current_target: universe}
        # The locks so far, by the number of the target and the edits.
        self._locked: dict[tuple[int, EditSet], Resolution] = {}
        # The keys of the locks that may depend on the lock of a similar stack.
        self._helped: set[tuple[int, EditSet]] = set()
        # The problems of changed stacks, one for each target, by edits.
        self._compiled: dict[Edits, Sequence[Problem]] = {}
        self._catalog_of = catalog_of
        # Earlier refutations, shared by all trials: another changed stack may be refuted for the
        # same reasons.
        self._proofs: list[Refutation] = []
        self._stand_at((), universe)

    def learn(self, refutation: Refutation) -> None:
        """Remember a refutation: another changed stack may be refuted for the same reasons."""
        self._proofs.append(refutation)

    def _stand_at(self, edits: Edits, universe: Universe) -> None:
        """Use a stack as the one that further edits start from, for the current target."""
        self._edits = edits
        self.problem = universe.problem
        self.catalog = universe.catalog
        self._universe = universe

    def after(self, edits: Edits, universe: Universe) -> Trials:
        """Return trials whose further edits start from a changed stack, which has this universe."""
        trials = copy(self)
        trials._stand_at(edits, universe)
        return trials

    @property
    def files(self) -> Inputs:
        """Return the files of the original stack."""
        return self._compiler.inputs

    @cached_property
    def shipped(self) -> Sequence[Document[StackFile]]:
        """Return the stacks that ship with this program."""
        return self._read_shipped()

    @property
    def name(self) -> str:
        """Return the name that the current target has in the original stack."""
        return self._names[self.current_target]

    @property
    def target(self) -> str:
        """Return the name of the current target; empty if it is the one that is explained."""
        return "" if self.current_target == self._explained else self.name

    @property
    def next_number(self) -> int:
        """Return the number of a line that an edit adds to the stack, counted from 0."""
        edited = self._compiler.edited(self._edits)
        return max(len(edited.of_file), *(number + 1 for number in edited.numbers))

    def lines(self, edits: Iterable[Edit]) -> tuple[str, ...]:
        """Return the stack's requirements, after the edits of these trials and further ones."""
        content = self._compiler.edited((*self._edits, *edits)).content
        lines = stack_lines(content)
        group = self.problem.stack.group
        if group:
            lines = tuple(line for line in lines if line.group in ("", group))
        return tuple(line.text for line in lines)

    def text(self, edits: Edits) -> str:
        """Return the TOML text of the original stack's file with edits applied."""
        names = self._compiler.edited(edits).names
        return StackText(self.files.stack.text).with_edits(edits, names).text

    def lock(self, edits: Edits, near: Resolution | None = None) -> Answer:
        """Solve the original stack with edits, for the current target, and its builds from source.

        `near` is the lock of a similar stack: if the search finds nothing, it is repeated among the
        releases of that lock. Locks are kept, so the same edits are solved only once. An answer is
        Undecided, instead of an error, if an index fails or time is up.
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
        """Return the lock that a changed stack gets for the explained target if it is locked alone.

        If solving it takes too long, the result is `locked`, which the lock of a similar stack may
        have influenced.
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
        """Solve the stack with further edits, but not its builds from source.

        Releases near the `preferred` ones are taken. Only the releases of these projects are of use
        in the answer: soft requirements are not considered. At most this `share` of the whole time
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
        """Solve a changed stack, as `lock` does, and remember a refutation.

        Raise Expired if time is up, and ResolverError as the solver does.
        """
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
        """Return trials for the first other target for which edits do not lock, and the answer.

        None if the edited stack locks for all other targets.
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

        Return the lock for the current target; or the first answer that is no lock.
        """
        answer = self.lock(edits)
        if not isinstance(answer, Resolution):
            return answer
        failure = self.elsewhere(edits)
        return answer if failure is None else failure[1]

    def explained(self, edits: Edits) -> Resolution:
        """Return the lock that a changed stack has for the explained target.

        Raise KeyError if `lock` has not locked it for that target.
        """
        return self._locked[self._explained, frozenset(edits)]

    def twin(self, edits: Edits) -> str:
        """Return the name of the target that the explained target equals after edits.

        It must be another target of the original stack; empty if it equals none.
        """
        changed = self._compile(edits)[self._explained].target
        for name, problem in zip(self._names, self._problems, strict=True):
            same_name = replace_target(changed, name=problem.target.name)
            if name != self._names[self._explained] and same_name == problem.target:
                return name
        return ""

    def _for_target(self, target: int) -> Trials:
        """Return trials whose current target is the one with this number in the stack's file."""
        if target not in self._universes:
            problem = self._problems[target]
            self._universes[target] = Universe(problem, self._catalog_of(problem))
        trials = copy(self)
        trials.current_target = target
        trials._stand_at(self._edits, self._universes[target])
        return trials


# --- their results


class ChangedStack(msgspec.Struct, frozen=True):
    """The original stack with some changes."""

    # The changes, in the order in which they were made.
    changes: tuple[Change, ...]
    # The sum of what the changes cost, see `costs`.
    price: int
    # Whether a change contradicts a fact or metadata.
    risky: bool
    # How many releases in its lock are in no compatibility table, plus how many archives are built
    # although other machines have wheels.
    unproven: int = 0
    # Full years, added up, by which releases in its lock that no change names are older than the
    # newest ones that lines admit.
    years_older: int = 0

    @property
    def edits(self) -> Edits:
        """Return the edits that make this stack from the original one."""
        return tuple(map(edit_of, self.changes))

    @property
    def key(self) -> EditSet:
        """Return what identifies this changed stack: its edits, in no order."""
        return frozenset(self.edits)

    @property
    def reported(self) -> tuple[Change, ...]:
        """Return the changes, with all practices that are turned on merged into one change."""
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
        """Return the kind, the subject and the other target of each change."""
        return {(change.kind, change.subject, change.target) for change in self.changes}

    @property
    def dropped(self) -> set[str]:
        """Return the projects and components whose lines are dropped."""
        return {change.subject for change in self.changes if change.kind is ChangeKind.DROP}

    def without(self, changes: Collection[Change]) -> ChangedStack:
        """Return this changed stack without some of its changes. The price stays as it is."""
        kept = tuple(change for change in self.changes if change not in changes)
        return replace(self, changes=kept)

    def idle(self, resolution: Resolution) -> list[Change]:
        """Return the changes about archives that a lock does not contain.

        Such a change states what an archive without static metadata requires.
        """
        idle = []
        for change in self.changes:
            if change.kind is ChangeKind.STATE:
                pin = resolution.pin(change.subject)
                if pin is None or pin.release.file.filename != change.before:
                    idle.append(change)
        return idle

    def includes(self, other: ChangedStack) -> bool:
        """Return whether this stack changes everything that another one changes.

        False if a line gets a release here that is nearer to the original one than in the other
        stack.
        """
        return other.subjects <= self.subjects and not self._is_nearer(other)

    def _is_nearer(self, other: ChangedStack) -> bool:
        """Return whether a line gets a release nearer to the original one than in another stack."""
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
        """Return these changes followed by the changes of another stack.

        What both change is reported once, and is paid for once. If the second change restores the
        original value, neither is reported.
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
    """Return the edit that a change makes in a stack.

    A change of kind SPLIT has no edit, and must not be passed.
    """
    assert change.edit is not None  # noqa: S101
    return change.edit


def _joined(change: Change, later: Change) -> Change:
    """Return two successive changes of the same line or component as one change."""
    is_extra = change.kind is ChangeKind.EXTRA or later.kind is ChangeKind.DROP
    return replace(
        later,
        kind=later.kind if is_extra else change.kind,
        before=change.before,
        steps=change.steps + later.steps,
        years=change.years + later.years,
    )


class FixSearchResults(msgspec.Struct):
    """What a search for fixes has found so far."""

    # Is called with the changes of the first fix that contradicts no fact and no metadata.
    report: Callable[[tuple[Change, ...]], None]
    # The fixes, each with its lock for the explained target, in the order in which they were found.
    fixes: list[tuple[ChangedStack, Resolution]] = msgspec.field(default_factory=list)
    # Changed stacks that lock, but in which something does not work without a dropped line,
    # according to a grave warning.
    useless: dict[EditSet, tuple[ChangedStack, Resolution]] = msgspec.field(default_factory=dict)
    # The changed stacks that did not lock, and why.
    attempts: list[Attempt] = msgspec.field(default_factory=list)
    # Whether a changed stack locks, by the number of the target and the edits.
    seen: dict[tuple[int, EditSet], bool] = msgspec.field(default_factory=dict)
    # The changed stacks that lock for one target, and not for another.
    refused: set[EditSet] = msgspec.field(default_factory=set)
    # Further contradictions of the original stack that the search found, each after its core.
    further: list[tuple[Sequence[Constraint], Contradiction]] = msgspec.field(default_factory=list)
    # The indexes that could not be reached, by the project of which they might have releases for
    # further fixes.
    unreached: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)

    def add(self, changed: ChangedStack, resolution: Resolution) -> None:
        """Add a fix and its lock, and remove the fixes that change the same and more.

        A fix stays if the new one has more releases that are not known to work.
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
        """Return how many fixes contradict no fact and no metadata."""
        return sum(not changed.risky for changed, _ in self.fixes)

    @property
    def cheapest(self) -> float:
        """Return the price of the cheapest fix that contradicts no fact and no metadata.

        It is infinite if there is none.
        """
        return min((changed.price for changed, _ in self.fixes if not changed.risky), default=inf)

    def is_enough(self) -> bool:
        """Return whether enough fixes were found for the search to end."""
        return len(self.fixes) >= _FIXES or len(self.fixes) - self.safe >= _AGAINST

    def is_lesser(self, changed: ChangedStack, resolution: Resolution) -> bool:
        """Return whether a changed stack drops a line in vain, and an existing fix does not.

        A line is dropped in vain if its project is installed all the same. The existing fix changes
        the version of that project instead, and nothing else that this stack does not change.
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
    """Return the report of a changed stack that did not lock.

    `answer` says why it did not. `target` is the name of the target for which it did not lock;
    empty for the explained one.
    """
    changes = changed.reported
    if isinstance(answer, Undecided):
        outcome = AttemptOutcome.FAILED if answer.why else AttemptOutcome.UNDECIDED
        return Attempt(changes=changes, outcome=outcome, why=answer.why, target=target)
    if target:
        return Attempt(changes=changes, outcome=AttemptOutcome.ELSEWHERE, target=target)
    return Attempt(changes=changes, outcome=AttemptOutcome.CONFLICT, because=answer.reasons)


def as_list(names: Iterable[str]) -> str:
    """Return names as a TOML array of strings on one line.

    The names must need no escaping: they are names of facts.
    """
    quoted = ", ".join(f'"{name}"' for name in names)
    return f"[{quoted}]"
