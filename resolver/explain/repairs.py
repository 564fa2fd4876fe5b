"""Changes of refuted stacks, the cheapest first, each one locked before it counts.

A set of changes can only help if it meets every core. So the cheapest set that meets the cores
known so far is tried: either it clashes again, which gives a new core, or releases for it are
looked for and locked (docs/explaining.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from typing import NamedTuple

from msgspec.structs import replace

from resolver.errors import UndecidedError
from resolver.explain import costs
from resolver.explain.alternatives import Choice, free_of
from resolver.explain.changes import Changes, is_cutoff
from resolver.explain.contradictions import hidden_contradiction, is_open, user_constraint_of
from resolver.explain.loosening import Loosening
from resolver.explain.proposals import Proposals
from resolver.explain.rows import Rows
from resolver.explain.shipped import ShippedStacks
from resolver.explain.trial import (
    Answer,
    ChangedStack,
    EditSet,
    FixSearchResults,
    Trials,
    Undecided,
    attempt,
)
from resolver.lock.applied_facts import applied_facts
from resolver.model.constraint import ComponentValue, Constraint, Line
from resolver.model.explanation import Attempt, Change, ChangeKind
from resolver.model.resolution import Resolution
from resolver.resolve.clauses import Clauses
from resolver.resolve.solver import Refutation

# fixes that go against nothing, after which dropping lines is no longer considered, nor what is
# dear
_WHOLE = 2
# such as going against two facts
_DEAR = 2 * min(costs.RELAX.values())
# lines that are impossible by themselves, which are dropped together
_SEVERAL = 2
# sets of changes for which releases are looked for
_SETS = 24
# sets in all: most are refuted at once
_ROUNDS = 96
# of all repairs
_STEPS = 240
# proposals of a kind for one core, or for all cores of the stack until one locks
_EACH = 4
# releases locked for one set and one direction, until one works
_TRIES = 3
# further contradictions, and the most reasons of one: a longer one does not help the reader
_FURTHER = 3
_READABLE = 24
# components of which the clauses do not know what another value would bring
_ONLY_PROPOSED = ("python", "glibc")


def find_fixes(
    clauses: Clauses,
    cores: Sequence[Sequence[Constraint]],
    trials: Trials,
    report: Callable[[tuple[Change, ...]], None],
) -> FixSearchResults:
    """Return fixes of a stack with these cores, as they were found, and attempts that failed.

    Repairs of the stack itself and of changed ones are searched side by side, always the cheapest
    step next.
    """
    results = FixSearchResults(report)
    search: list[Repairs] = []
    first = Repairs(clauses, cores, trials, results, search)
    search.append(first)
    constraints = list(chain.from_iterable(cores))
    with trials.clock.limiting():
        first.try_practices()
        with_practices = search.copy()
        first.try_shipped(constraints)
        first.try_dropping_together(cores)
        # with practices a nearer row may do
        for repairs in reversed(with_practices):
            repairs.try_rows()
        if len(cores) >= _SEVERAL and all(fix.dropped for fix, _ in results.fixes):
            first.try_loosening()
        first.collect_proposals(cores, constraints)
        for _ in range(_STEPS):
            if results.is_enough() or trials.clock.expired():
                break
            steps = [step for repairs in search for step in repairs.next_steps()]
            if not steps:
                break
            cheapest = min(steps, key=lambda step: step.price)
            cheapest.take()
        if not results.fixes and len(cores) < _SEVERAL:
            first.try_loosening()
        if not results.fixes:
            # of many pinned lines there are more sets than can be tried
            first.try_dropping(constraints)
    return results


class _Step(NamedTuple):
    """A step of the search."""

    # of the changes that are tried, earlier ones included
    price: float
    take: Callable[[], None]


@dataclass
class _Tries:
    """How trying the releases for a set of changes went."""

    # changes that gave no lock
    attempts: list[Attempt] = field(default_factory=list)
    # whether it locked for some releases, and for some that their projects' tables list
    locks: bool = False
    locks_listed: bool = False
    # whether something failed for reasons that the clauses do not know
    failed: bool = False
    # the refutation of the last changed stack that was refuted
    refuted: Refutation | None = None
    # what clashes whatever the releases are, which another conflict had hidden
    hidden: list[Constraint] | None = None


class Repairs:
    """The changes to one refuted stack."""

    def __init__(
        self,
        clauses: Clauses,
        cores: Sequence[Sequence[Constraint]],
        trials: Trials,
        results: FixSearchResults,
        search: list[Repairs],
        before: ChangedStack | None = None,
        known: Clauses | None = None,
    ) -> None:
        """Begin with the cores of a stack.

        `before` is what turned the original stack into it; None for that itself. The repairs of
        changed stacks that are refuted join the `search`. What the `known` clauses of a similar
        stack have read is read here, too, once changes of this one are tried.
        """
        self._clauses = clauses
        self._trials = trials
        self._results = results
        self._search = search
        self._cores = cores
        self._known_elsewhere = known
        self._is_original = before is None
        self._before = before or ChangedStack((), 0, risky=False)
        # practices, added lines and another spelling change nothing that the stack asks for
        self._keeps_intent = all(map(costs.keeps_intent, self._before.changes))
        self._changes = Changes(clauses, trials)
        self._alternatives = self._changes.alternatives
        self._proposals = Proposals(clauses, trials, self._changes)
        self._corrections = costs.Corrections()
        self._proposed: list[ChangedStack] = []
        # those of them that are reported as attempts if they do not lock
        self._suggested: list[ChangedStack] = []
        # the cheapest set of changes, until it is tried
        self._next: list[Constraint] | None = None
        self._sets_left = _SETS
        self._rounds_left = _ROUNDS
        # of known contradictions, without user constraints
        self._reasons: set[Constraint] = set()
        for core in cores:
            self._add_core(core)

    # --- what comes first, next and last

    def try_practices(self) -> None:
        """Lock the stack with the practices about projects that it may need."""
        for changed in self._proposals.enabled_practices():
            # as an attempt it would say nothing
            self._propose(changed, [])

    def try_rows(self) -> None:
        """Lock the stack with the releases of a row of the tables, until one locks."""
        self._learn()
        rows = Rows(self._clauses, self._trials, self._changes, self._proposals)
        if not any(map(rows.concerns, self._cores)):
            return
        known = len(self._results.fixes)
        for row in rows.solved():
            changed = self._before.then(row.changed)
            unused = [
                change
                for change in changed.changes
                if change.kind is ChangeKind.PRACTICE and change.subject not in row.practices
            ]
            # the lock may choose other releases than the row, which take more practices
            for stack in (changed.without(unused), changed):
                fewest = self._with_fewest_lines(stack, row.solution)
                self._propose(fewest, self._results.attempts, row.solution)
                if len(self._results.fixes) > known:
                    return

    def _with_fewest_lines(self, changed: ChangedStack, near: Resolution) -> ChangedStack:
        """Return a changed stack without changes of lines that it locks without."""
        for change in changed.changes:
            if change.kind is ChangeKind.VERSION:
                fewer = changed.without([change])
                if not fewer.changes:
                    continue
                if isinstance(self._trials.lock(fewer.edits, near), Resolution):
                    changed = replace(fewer, price=fewer.price - costs.VERSION)
        return changed

    def try_shipped(self, constraints: Sequence[Constraint]) -> None:
        """Lock the stack with what shipped stacks have instead of projects that no index has.

        One that locks is enough: the others take more from there.
        """
        known = len(self._results.fixes)
        shipped = ShippedStacks(self._trials, self._changes, self._proposals)
        for changed in shipped.stacks(constraints):
            self._propose(changed, self._results.attempts)
            if len(self._results.fixes) > known:
                return

    def try_dropping_together(self, cores: Sequence[Sequence[Constraint]]) -> None:
        """Lock the stack without all lines that are impossible by themselves, if several are.

        What clashes then loses its last line, until the rest locks.
        """
        dropping: dict[Line, None] = {}
        for core in cores:
            lines = self._changes.lines_of(core)
            if len(lines) == 1 and not any(isinstance(each, ComponentValue) for each in core):
                dropping[lines[0]] = None
        if len(dropping) < _SEVERAL:
            return
        while self._changes.keeps_a_line(list(dropping)):
            changed = self._changes.apply(list(dropping), {})
            answer = self._lock(changed, self._results.attempts)
            if not isinstance(answer, Refutation):
                return
            others = [line for line in self._changes.lines_of(answer.core) if line not in dropping]
            if not others:
                return
            dropping[others[-1]] = None

    def try_loosening(self) -> None:
        """Lock the stack with other versions of all lines that clash."""
        if self._trials.clock.expired():
            return
        changed = Loosening(self._clauses, self._trials, self._changes).changed_stack()
        if changed is not None:
            self._propose(changed, self._results.attempts)

    def collect_proposals(
        self, cores: Sequence[Sequence[Constraint]], constraints: Sequence[Constraint]
    ) -> None:
        """Collect what cores of the original stack suggest, a few of each kind."""
        proposals = self._proposals
        kinds = [
            proposals.renamed_projects(constraints),
            proposals.other_pythons(constraints),
            proposals.other_glibcs(constraints),
        ]
        kinds += map(proposals.builds_from_source, cores)
        for stacks in kinds:
            self._suggested += islice(stacks, _EACH)
        self._proposed += self._suggested

    def try_dropping(self, constraints: Iterable[Constraint]) -> None:
        """Lock the stack without each line of some constraints by itself."""
        for constraint in dict.fromkeys(constraints):
            if costs.drops(constraint) and self._changes.keeps_a_line([constraint]):
                changed = self._changes.apply([constraint], {})
                self._propose(changed, self._results.attempts)

    def next_steps(self) -> Iterator[_Step]:
        """Yield the steps that are left and not too dear."""
        limit = self._limit()
        for changed in self._proposed:
            if changed.price < limit:
                yield _Step(changed.price, partial(self._try_proposed, changed))
        changing = self._cheapest_correction()
        if changing is not None:
            price = self._before.price + self._changes.total_price(changing)
            if self._keeps_intent or price < limit:
                yield _Step(price, partial(self._correct, changing))

    def _limit(self) -> float:
        """Return the price that further changes of a changed stack must not reach.

        They may cost another version of a line more than the cheapest fix.
        """
        return self._results.cheapest + costs.VERSION

    def _cheapest_correction(self) -> list[Constraint] | None:
        """Return the cheapest set of changes that is worth a try; None if none is left."""
        while self._next is None and self._sets_left > 0 and self._rounds_left > 0:
            try:
                changing = self._corrections.cheapest()
            except UndecidedError:
                # others may still be found
                self._trials.clock.limited = True
                changing = None
            if changing is None or self._is_too_dear(changing):
                self._sets_left = 0
                continue
            unwanted = [constraint for constraint in changing if self._is_unwanted(constraint)]
            if unwanted:
                self._corrections.exclude(unwanted[:1])
            elif self._is_outdone(changing):
                self._corrections.exclude(changing)
            else:
                self._next = changing
        return self._next

    def _is_too_dear(self, changing: Sequence[Constraint]) -> bool:
        """Return whether a set of changes costs too much beside the fixes that were found."""
        return self._results.safe >= _WHOLE and self._changes.total_price(changing) >= _DEAR

    def _is_outdone(self, changing: Sequence[Constraint]) -> bool:
        """Return whether a set of changes goes against a fact, and a fix changes less without that.

        The set would not be listed, and neither would one with more changes.
        """
        if not any(map(costs.risky, changing)):
            return False
        changed = costs.changed_constraints(self._before.changes)
        changed |= self._changes.changed_by(changing)
        return any(
            costs.is_less(fix.changes, changed) for fix, _ in self._results.fixes if not fix.risky
        )

    def _is_unwanted(self, constraint: Constraint) -> bool:
        """Return whether a change is not considered, as there are fixes that lose less.

        What a table pairs is not set aside if anything else helps, and no line is dropped if
        several fixes keep all of them.
        """
        if self._results.safe and costs.is_pairing(constraint):
            return True
        return self._results.safe >= _WHOLE and costs.drops(constraint)

    # --- changed stacks

    def _propose(
        self, changed: ChangedStack, attempts: list[Attempt], near: Resolution | None = None
    ) -> None:
        """Lock a changed stack, unless it was tried before; `near` is the lock of a similar one."""
        if self._seen(changed) is None:
            self._repair(changed, self._lock(changed, attempts, near), self._trials)

    def _try_proposed(self, changed: ChangedStack) -> None:
        """Lock a proposed stack, unless a fix changes the same, such as another Python."""
        self._proposed.remove(changed)
        if all(fix.subjects != changed.subjects for fix, _ in self._results.fixes):
            is_told = changed in self._suggested
            self._propose(changed, self._results.attempts if is_told else [])

    def _repair(self, changed: ChangedStack, answer: Answer, trials: Trials) -> None:
        """Search for more changes to a stack that is refuted, perhaps for another target."""
        if isinstance(answer, Refutation):
            clauses = answer.clauses
            trials = trials.after(changed.edits, clauses.universe)
            self._search.append(
                Repairs(
                    clauses,
                    [answer.core],
                    trials,
                    self._results,
                    self._search,
                    changed,
                    self._clauses,
                )
            )

    def _learn(self) -> None:
        """Read what the clauses of a similar stack have read, once."""
        if self._known_elsewhere is not None:
            self._clauses.import_clauses(self._known_elsewhere)
            self._known_elsewhere = None

    # --- sets of changes

    def _correct(self, changing: Sequence[Constraint]) -> None:
        """Try a set of changes that meets every demand: the result is a fix, or one more demand.

        The clauses do not know what is newer than the cut-off: without it, changes are up to that
        stack's repairs.
        """
        clauses, corrections, changes = self._clauses, self._corrections, self._changes
        self._learn()
        self._next = None
        self._rounds_left -= 1
        cutoff = [constraint for constraint in changing if is_cutoff(constraint)]
        if cutoff:
            corrections.exclude(cutoff)
            self._sets_left -= 1
            self._propose(self._before.then(changes.apply(cutoff, {})), self._results.attempts)
            return
        relaxed = chain.from_iterable(map(changes.changed_together, changing))
        with clauses.without(relaxed):
            if not clauses.satisfiable():
                self._add_core(clauses.minimal())
            elif not changes.keeps_a_line(changing):
                corrections.exclude(changing)
            else:
                self._sets_left -= 1
                if not self._try(changing):
                    corrections.exclude(changing)

    def _add_core(self, core: Sequence[Constraint], given: Sequence[Constraint] = ()) -> bool:
        """Demand that one of a core's constraints changes, where all the `given` ones change.

        Return False if none of them may change.
        """
        for constraint in core:
            if user_constraint_of(constraint) is None:
                self._reasons.add(constraint)
            if is_open(constraint, self._clauses):
                project = self._clauses.universe.project(constraint.project)
                self._results.unreached[constraint.project] = project.unreachable
        self._collect_proposals(core, given)
        prices = self._prices(core)
        if prices:
            self._corrections.add_core(prices, given)
        elif not given:
            self._sets_left = 0
        return bool(prices)

    def _prices(self, core: Sequence[Constraint]) -> dict[Constraint, int]:
        """Return the prices of what may change in a core, apart from what is only proposed."""
        prices = {}
        for constraint in core:
            first, *_ = self._changes.changed_together(constraint)
            price = self._changes.price(first)
            if price is not None and not _is_only_proposed(first):
                prices[first] = price
        return prices

    def _collect_proposals(self, core: Sequence[Constraint], given: Sequence[Constraint]) -> None:
        """Collect the changed stacks that a core suggests, where all the `given` ones change.

        No component and no archive of a project changes a second time.
        """
        proposals, target, earlier = self._proposals, self._trials.target, self._before.changes
        changed = {change.subject for change in earlier if change.target == target}
        archives = {change.subject for change in earlier if change.kind is ChangeKind.STATE}
        # a core does not include releases that a line could become if there were files for the
        # target
        constraints = [*core, *self._alternatives.without_file(given)]
        proposed = [
            stack
            for stack in proposals.facts_for_archives(core)
            if stack.changes[0].subject not in archives
        ]
        proposed += proposals.added_lines(core)
        if "python" not in changed:
            proposed += islice(proposals.other_pythons(constraints), _EACH)
        if "glibc" not in changed:
            proposed += islice(proposals.other_glibcs(constraints), _EACH)
        # those of the original stack are tried before all else
        if target or (self._keeps_intent and not self._is_original):
            proposed += proposals.enabled_practices()
        if target:
            proposed += proposals.builds_from_source(core)
        self._proposed += map(self._before.then, proposed)

    # --- the releases for a set of changes

    def _try(self, changing: Sequence[Constraint]) -> bool:
        """Lock the stacks to which a set of changes may lead.

        Return False if neither the set nor more changes are of any use.
        """
        tries = _Tries()
        directions = (False,) if any(map(costs.risky, changing)) else (False, True)
        for newest in directions:
            for choice in islice(self._alternatives.choices(changing, newest=newest), _TRIES):
                if self._trials.clock.expired():
                    return False
                changed = self._before.then(self._changes.apply(changing, choice))
                is_worth_more = self._try_choice(changed, choice, tries)
                if tries.hidden is not None:
                    self._report(tries.hidden)
                    return self._add_core(tries.hidden)
                if not is_worth_more:
                    break
        return self._conclude(changing, tries)

    def _try_choice(self, changed: ChangedStack, choice: Choice, tries: _Tries) -> bool:
        """Lock the stack with a choice of releases.

        Return whether further releases in the same direction are worth a try.
        """
        clauses = self._clauses
        locks = self._seen(changed)
        if locks is None:
            answer = self._lock(changed, tries.attempts)
            if isinstance(answer, Undecided):
                tries.failed = True
                self._alternatives.unreadable.update(
                    candidate
                    for candidate in choice.values()
                    if not clauses.universe.opened(candidate)
                )
                # without a reason time was up, and another release may take as long
                return bool(answer.why)
            if isinstance(answer, Refutation):
                tries.refuted = answer
                excludes = clauses.import_clauses(answer.clauses)
                if not clauses.satisfiable([excludes]):
                    tries.hidden = clauses.minimal([excludes])
                return True
            locks = True
        if locks:
            tries.locks = True
            tries.locks_listed |= not self._alternatives.count_unlisted(choice)
        else:
            tries.failed = True
        return changed.key in self._results.refused

    def _conclude(self, changing: Sequence[Constraint], tries: _Tries) -> bool:
        """Demand that more changes with a set, or exclude it, after what its releases showed.

        Return False if neither the set nor more changes are of any use.
        """
        clauses, free = self._clauses, free_of(changing)
        if tries.locks_listed:
            return False
        if tries.locks:
            self._alternatives.met_unlisted.append(frozenset(changing))
        options = self._alternatives.options(changing, newest=False)
        offered = [clauses.any_of(candidates) for candidates in options.values()]
        if not clauses.satisfiable(offered):
            # as was learned from the tries
            core = clauses.minimal(offered)
            if tries.locks:
                core = [constraint for constraint in core if not costs.risky(constraint)]
            return self._add_core(core, free)
        if not tries.locks:
            if self._is_original:
                self._results.attempts += tries.attempts[:1]
            # more is in the way than the releases that were tried
            if tries.refuted is not None and self._add_core(self._known(tries.refuted.core), free):
                return True
        self._corrections.exclude(changing, exactly=tries.failed and not tries.locks)
        return True

    def _known(self, core: Iterable[Constraint]) -> list[Constraint]:
        """Return the constraints of a changed stack that the stack has which is repaired."""
        problem = self._clauses.universe.problem
        translated: list[Constraint] = [
            problem.component_value(constraint.component)
            if isinstance(constraint, ComponentValue)
            else constraint
            for constraint in core
        ]
        return [constraint for constraint in translated if constraint in self._clauses.known]

    def _report(self, hidden: Sequence[Constraint]) -> None:
        """Record a contradiction that another one had hidden until the stack was changed."""
        further = self._results.further
        if not self._is_original or len(further) == _FURTHER:
            return
        reasons = {constraint for constraint in hidden if user_constraint_of(constraint) is None}
        if reasons & self._reasons:
            return
        found = hidden_contradiction(hidden, self._clauses, self._trials.clock.expired)
        if found is not None and len(found.reasons) <= _READABLE:
            further.append((hidden, found))

    # --- locking

    def _seen(self, changed: ChangedStack) -> bool | None:
        """Return whether a stack locks, if it was tried before; None if it was not.

        One that includes changes which are known to lock counts as one that locks.
        """
        if self._has_fix_within(changed):
            return True
        for useless, _ in self._results.useless.values():
            is_within = not self._is_original and changed.includes(useless)
            if is_within and useless.dropped == changed.dropped:
                return True
        return self._results.seen.get(self._key(changed))

    def _key(self, changed: ChangedStack) -> tuple[int, EditSet]:
        return self._trials.current_target, changed.key

    def _lock(
        self, changed: ChangedStack, attempts: list[Attempt], near: Resolution | None = None
    ) -> Answer:
        """Lock a changed stack: the result is a fix, or an attempt and why it failed."""
        results, key = self._results, self._key(changed)
        answer = self._trials.lock(changed.edits, near)
        results.seen[key] = isinstance(answer, Resolution)
        if not isinstance(answer, Resolution):
            attempts.append(attempt(changed, answer))
            return answer
        changed, answer = self._with_fewest_practices(changed, answer)
        if changed.idle(answer) or self._is_needless(changed) or results.is_lesser(changed, answer):
            return answer
        if self._locks_elsewhere(changed):
            explained = self._trials.explained(changed.edits)
            changed = self._with_doubts(changed, answer)
            if any(costs.broken_without(changed.dropped, applied_facts(explained))):
                results.useless[changed.key] = changed, explained
            else:
                results.add(changed, explained)
        return answer

    def _locks_elsewhere(self, changed: ChangedStack) -> bool:
        """Return whether a changed stack locks for the other targets, too.

        If it is refuted for one of them, more is changed for that one.
        """
        failure = self._trials.elsewhere(changed.edits)
        if failure is None:
            return True
        trials, answer = failure
        self._results.refused.add(changed.key)
        if not self._trials.target:
            self._results.attempts.append(attempt(changed, answer, trials.name))
        if not changed.risky:
            self._repair(changed, answer, trials)
        return False

    def _with_doubts(self, changed: ChangedStack, resolution: Resolution) -> ChangedStack:
        """Add what shows when a changed stack is locked: unlisted releases, and old ones.

        Releases of a shipped stack are old on purpose.
        """
        alternatives = self._alternatives
        lines = {change.subject for change in changed.changes if change.kind is ChangeKind.VERSION}
        unlisted = alternatives.unlisted(resolution)
        unnamed = [name for name in unlisted if name not in lines]
        is_shipped = any(change.kind is ChangeKind.SOURCE for change in changed.changes)
        return replace(
            changed,
            price=changed.price + costs.UNLISTED * len(unnamed),
            unproven=changed.unproven + len(unlisted),
            years_older=0 if is_shipped else alternatives.years_behind(resolution),
        )

    def _with_fewest_practices(
        self, changed: ChangedStack, resolution: Resolution
    ) -> tuple[ChangedStack, Resolution]:
        """Return a changed stack with no more practices than it needs to lock, and its lock."""
        practices = [change for change in changed.changes if change.kind is ChangeKind.PRACTICE]
        if not practices:
            return changed, resolution
        used = {practice.id for practice in resolution.used_practices}
        unused = [practice for practice in practices if practice.subject not in used]
        for removed in (unused, *([practice] for practice in practices if practice not in unused)):
            fewer = changed.without(removed)
            answer = self._trials.lock(fewer.edits, resolution)
            if isinstance(answer, Resolution):
                changed, resolution = fewer, answer
        needed = [practice for practice in practices if practice in changed.changes]
        price = changed.price + costs.FREE * (len(needed) - 1)
        return replace(changed, price=price), resolution

    def _is_needless(self, changed: ChangedStack) -> bool:
        """Return whether a changed stack locks without one of its earlier changes."""
        if self._has_fix_within(changed):
            return True
        earlier = self._before.subjects
        for change in changed.changes:
            subject = change.kind, change.subject, change.target
            if subject in earlier and costs.saved_price(change):
                undone = changed.without([change])
                if isinstance(self._trials.lock_all(undone.edits), Resolution):
                    return True
        return False

    def _has_fix_within(self, changed: ChangedStack) -> bool:
        """Return whether a fix changes nothing but what this changes, too.

        Changes of the original stack are not compared.
        """
        if self._is_original:
            return False
        return any(changed.includes(fix) for fix, _ in self._results.fixes)


def _is_only_proposed(constraint: Constraint) -> bool:
    """Return whether another value is tried only where something in a core suggests it."""
    return isinstance(constraint, ComponentValue) and constraint.component in _ONLY_PROPOSED
