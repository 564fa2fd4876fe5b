"""Changes of refuted stacks, the cheapest first, each one locked before it counts.

A set of changes can only help if it meets every core. So the cheapest set that meets the cores
known so far is tried: either it clashes again, which gives a new core, or releases for it are
looked for and locked (docs/explaining.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial, reduce
from itertools import chain, islice
from operator import itemgetter

from msgspec.structs import replace

from resolver.explain import costs
from resolver.explain.alternatives import free_of
from resolver.explain.changes import Changes, is_cutoff
from resolver.explain.contradictions import hidden_contradiction, is_open, user_constraint_of
from resolver.explain.proposals import Proposals
from resolver.explain.stack_text import StackText
from resolver.explain.trial import (
    Answer,
    ChangedStack,
    Expired,
    FixSearchResults,
    Trials,
    Undecided,
    attempt,
)
from resolver.lock.applied_facts import applied_facts
from resolver.model.constraint import ComponentValue, Constraint
from resolver.model.explanation import Attempt, Change, ChangeKind
from resolver.model.resolution import Resolution
from resolver.resolve.clauses import Clauses
from resolver.resolve.solver import Refutation

# fixes that go against nothing, after which dropping lines is no longer considered, nor what is
# dear
_WHOLE = 2
_DEAR = 2 * min(costs.RELAX.values())  # such as going against two facts
_SETS = 24  # sets of changes for which releases are looked for
_ROUNDS = 96  # sets in all: most are refuted at once
_STEPS = 240  # of all repairs
_EACH = 4  # proposals of a kind for one core, or for all cores of the stack until one locks
_READABLE = 24  # statements of a further contradiction: a longer one does not help the reader
_FURTHER = 3  # further contradictions
# how much dearer than the cheapest fix the changes of a changed stack may be, with those before
# them
_MARGIN = 100
# up to which price that is so for the same target: another Python or glibc with another version or
# CANN
_SMALL = 310
# components of which the clauses do not know what another value would bring
_ONLY_PROPOSED = ("python", "glibc")
_TRIES = 3  # releases locked for one set and one direction, until one works


def find_fixes(
    clauses: Clauses,
    cores: Sequence[Sequence[Constraint]],
    trials: Trials,
    report: Callable[[tuple[Change, ...]], None],
) -> FixSearchResults:
    """Fixes of a stack with these cores in the order in which they were found, and attempts that failed.

    Repairs of the stack itself and of changed ones are searched side by side, always the cheapest
    step next.
    """
    results, search = FixSearchResults(report), list[Repairs]()
    first = Repairs(clauses, cores, trials, results, search)
    search.append(first)
    proposals, constraints = first.proposals, list(chain.from_iterable(cores))
    kinds = (
        proposals.renamed_projects(constraints),
        proposals.other_pythons(constraints),
        proposals.other_glibcs(constraints),
    )
    with suppress(Expired):
        for changed in proposals.enabled_practices():
            first.propose(changed, [])  # as an attempt it would say nothing
        for stacks in (*kinds, *map(proposals.builds_from_source, cores)):
            before = len(results.fixes)
            for changed in islice(stacks, _EACH):
                if len(results.fixes) > before or trials.clock.expired():
                    break
                first.propose(changed, results.attempts)
        for _ in range(_STEPS):
            if results.is_enough() or trials.clock.expired():
                break
            steps = [step for repairs in search if (step := repairs.next_step()) is not None]
            if not steps:
                break
            min(steps, key=itemgetter(0))[1]()
        if not results.fixes:  # of many pinned lines there are more sets than can be tried
            for constraint in dict.fromkeys(constraints):
                if costs.drops(constraint) and first.changes.keeps_a_line([constraint]):
                    first.propose(first.changes.apply([constraint], {}), results.attempts)
    return results


class Repairs:
    """The changes to one refuted stack.

    `before` is what turned the original stack into it; None for that itself.

    The repairs of changed stacks that are refuted join the `search`.
    """

    def __init__(
        self,
        clauses: Clauses,
        cores: Sequence[Sequence[Constraint]],
        trials: Trials,
        results: FixSearchResults,
        search: list[Repairs],
        before: ChangedStack | None = None,
    ) -> None:
        self._clauses = clauses
        self._trials = trials
        self._results = results
        self._search = search
        self._is_original = before is None
        # practices, added lines and another spelling change nothing that the stack asks for
        self._keeps_intent = before is None or all(map(costs.keeps_intent, before.changes))
        self._before = before or ChangedStack((), trials.text, 0, risky=False)
        self.changes = Changes(clauses, trials)
        self._alternatives = self.changes.alternatives
        self.proposals = Proposals(clauses, trials, self.changes)
        self._corrections = costs.Corrections()
        self._proposed: list[ChangedStack] = []
        self._next: list[Constraint] | None = None
        self._sets_left, self._rounds_left = _SETS, _ROUNDS
        self._reasons: set[Constraint] = set()  # of known contradictions, without user constraints
        for core in cores:
            self._add_core(core)

    # --- what comes next

    def next_step(self) -> tuple[float, Callable[[], None]] | None:
        """The cheapest step that is left, with its price, earlier changes included."""
        cheapest = self._results.cheapest
        limit = (
            cheapest + _MARGIN
            if self._trials.target
            else max(cheapest, min(cheapest + _MARGIN, _SMALL))
        )
        steps: list[tuple[float, Callable[[], None]]] = [
            (changed.price, partial(self._try_proposed, changed))
            for changed in self._proposed
            if changed.price < limit
        ]
        changing = self._cheapest_correction()
        if changing is not None:
            price = self._before.price + self._price(changing)
            if self._keeps_intent or price < limit:
                steps.append((price, partial(self._correct, changing)))
        return min(steps, key=itemgetter(0), default=None)

    def _cheapest_correction(self) -> list[Constraint] | None:
        while self._next is None and min(self._sets_left, self._rounds_left) > 0:
            self._next = self._corrections.cheapest()
            if self._next is None:
                self._sets_left = 0
            elif self._results.safe >= _WHOLE and self._price(self._next) >= _DEAR:
                self._next, self._sets_left = None, 0
            elif self._results.safe >= _WHOLE and (drops := list(filter(costs.drops, self._next))):
                self._corrections.exclude(drops[:1])
                self._next = None
        return self._next

    def _price(self, changing: Sequence[Constraint]) -> int:
        return sum(self.changes.price(constraint) or 0 for constraint in changing)

    # --- changed stacks

    def propose(self, changed: ChangedStack, attempts: list[Attempt]) -> None:
        """Lock a changed stack, unless it was tried before."""
        if self._seen(changed) is None:
            self._repair(changed, self._lock(changed, attempts), self._trials)

    def _try_proposed(self, changed: ChangedStack) -> None:
        self._proposed.remove(changed)
        self.propose(changed, [])

    def _repair(self, changed: ChangedStack, answer: Answer, trials: Trials) -> None:
        """Search for further changes to a changed stack that is refuted, perhaps for another target."""
        if isinstance(answer, Refutation):
            clauses = answer.clauses
            trials = trials.after(changed.text, clauses.universe)
            self._search.append(
                Repairs(clauses, [answer.core], trials, self._results, self._search, changed)
            )

    # --- sets of changes

    def _correct(self, changing: Sequence[Constraint]) -> None:
        """Try a set of changes that meets every demand so far: the result is a fix, or one more demand.

        The clauses do not know what is newer than the cut-off: without it, changes are up to that
        stack's repairs.
        """
        clauses, corrections = self._clauses, self._corrections
        self._next = None
        self._rounds_left -= 1
        cutoff = [constraint for constraint in changing if is_cutoff(constraint)]
        if cutoff:
            corrections.exclude(cutoff)
            self._sets_left -= 1
            self.propose(self._before.then(self.changes.apply(cutoff, {})), self._results.attempts)
            return
        with clauses.without(
            same for constraint in changing for same in self.changes.changed_together(constraint)
        ):
            if not clauses.satisfiable():
                self._add_core(clauses.minimal())
            elif not self.changes.keeps_a_line(changing):
                corrections.exclude(changing)
            else:
                self._sets_left -= 1
                if not self._try(changing):
                    corrections.exclude(changing)

    def _add_core(self, core: Sequence[Constraint], given: Sequence[Constraint] = ()) -> bool:
        """Demand that one of a core's constraints changes (where the `given` ones change); False where none may."""
        self._reasons.update(
            constraint for constraint in core if user_constraint_of(constraint) is None
        )
        missing = [constraint.project for constraint in core if is_open(constraint, self._clauses)]
        self._results.unreached.update(
            {name: self._clauses.universe.project(name).unreachable for name in missing}
        )
        # a core does not include releases that a line could become if there were files for the
        # target
        self._propose(
            core,
            [
                lack
                for constraint in given
                if (lack := self._alternatives.lacking(constraint)) is not None
            ],
        )
        changing = dict.fromkeys(
            self.changes.changed_together(constraint)[0] for constraint in core
        )
        prices = {}
        for constraint in changing:
            price = self.changes.price(constraint)
            if price is not None and not _is_only_proposed(constraint):
                prices[constraint] = price
        if prices:
            self._corrections.add_core(prices, given)
        elif not given:
            self._sets_left = 0
        return bool(prices)

    def _propose(self, core: Sequence[Constraint], lacks: Sequence[Constraint] = ()) -> None:
        """Make the proposals that a core suggests; no component and no archive of a project a second time."""
        done = {
            change.subject
            for change in self._before.changes
            if change.target == self._trials.target
        }
        archives = {
            change.subject for change in self._before.changes if change.kind is ChangeKind.STATE
        }
        proposals = self.proposals
        proposed = [
            one
            for one in proposals.facts_for_archives(core)
            if one.changes[0].subject not in archives
        ]
        proposed += proposals.added_lines(core)
        for component, values in (
            ("python", proposals.other_pythons),
            ("glibc", proposals.other_glibcs),
        ):
            if component not in done:
                proposed += islice(values([*core, *lacks]), _EACH)
        if self._trials.target or (
            self._keeps_intent and not self._is_original
        ):  # `find_fixes` begins with them
            proposed += proposals.enabled_practices()
        if self._trials.target:
            proposed += proposals.builds_from_source(core)
        self._proposed += map(self._before.then, proposed)

    def _try(self, changing: Sequence[Constraint]) -> bool:
        """Lock the stacks to which a set of changes may lead; False if neither it nor more changes are of any use."""
        clauses, alternatives = self._clauses, self._alternatives
        attempts: list[Attempt] = []
        locks_somewhere = locks_listed = failed = False
        refuted: Refutation | None = None
        for newest in (False,) if any(map(costs.risky, changing)) else (False, True):
            for choice in islice(alternatives.choices(changing, newest=newest), _TRIES):
                changed = self._before.then(self.changes.apply(changing, choice))
                if self._trials.clock.expired():
                    return False
                locks = self._seen(changed)
                if locks is None:
                    answer = self._lock(changed, attempts)
                    if isinstance(answer, Undecided):
                        failed = True
                        alternatives.unreadable.update(
                            candidate
                            for candidate in choice.values()
                            if not clauses.universe.opened(candidate)
                        )
                        if answer.why:
                            continue
                        break  # another release may take as long
                    if isinstance(answer, Refutation):
                        refuted = answer
                        excludes = clauses.import_clauses(answer.clauses)
                        if clauses.satisfiable([excludes]):
                            continue
                        hidden = clauses.minimal([excludes])
                        self._report(hidden)
                        return self._add_core(hidden)
                    locks = True
                locks_somewhere |= locks
                locks_listed |= locks and not alternatives.count_unlisted(choice)
                failed |= not locks  # for reasons that the clauses do not know
                if changed.text not in self._results.refused:
                    break
        if locks_listed:
            return False
        if locks_somewhere:
            alternatives.met_unlisted.append(frozenset(changing))
        offered = [
            clauses.any_of(options)
            for options in alternatives.options(changing, newest=False).values()
        ]
        if not clauses.satisfiable(offered):  # what was learned from the attempts
            core = [
                constraint
                for constraint in clauses.minimal(offered)
                if not (locks_somewhere and costs.risky(constraint))
            ]
            return self._add_core(core, free_of(changing))
        if self._is_original and not locks_somewhere:
            self._results.attempts += attempts[:1]
        if refuted is not None and not locks_somewhere:  # more than these releases is in the way
            core = [
                constraint
                for constraint in map(self._of_original, refuted.core)
                if constraint in clauses.known
            ]
            if self._add_core(core, free_of(changing)):
                return True
        self._corrections.exclude(changing, exactly=failed and not locks_somewhere)
        return True

    def _of_original(self, constraint: Constraint) -> Constraint:
        """Return a constraint of a changed stack as one of the stack that is repaired."""
        if isinstance(constraint, ComponentValue):
            return self._clauses.universe.problem.component_value(constraint.component)
        return constraint

    def _report(self, hidden: Sequence[Constraint]) -> None:
        """Record a contradiction that another one had hidden until the stack was changed."""
        reasons = [constraint for constraint in hidden if user_constraint_of(constraint) is None]
        if (
            not self._is_original
            or not self._reasons.isdisjoint(reasons)
            or len(self._results.further) == _FURTHER
        ):
            return
        further = hidden_contradiction(hidden, self._clauses, self._trials.clock.expired)
        if further is not None and len(further.reasons) <= _READABLE:
            self._results.further.append((hidden, further))

    # --- locking

    def _seen(self, changed: ChangedStack) -> bool | None:
        """Whether a stack locks, if it was tried before, or includes changes that are known to lock; else None."""
        useless = [
            stack for stack, _ in self._results.useless.values() if stack.dropped == changed.dropped
        ]
        if self._has_fix_within(changed) or (
            not self._is_original and any(map(changed.includes, useless))
        ):
            return True
        return self._results.seen.get((self._trials.current_target, frozenset(changed.changes)))

    def _lock(self, changed: ChangedStack, attempts: list[Attempt]) -> Answer:
        """Lock a changed stack: the result is a fix, or an attempt and why it failed."""
        results, key = self._results, (self._trials.current_target, frozenset(changed.changes))
        answer = self._trials.lock(changed.text)
        if isinstance(answer, Resolution):
            changed, answer = self._with_fewest_practices(changed, answer)
        results.seen[key] = isinstance(answer, Resolution)
        if not isinstance(answer, Resolution):
            attempts.append(attempt(changed, answer))
            return answer
        is_idle = any(_is_idle(change, answer) for change in changed.changes)
        if is_idle or self._is_needless(changed) or results.is_lesser(changed, answer):
            return answer
        if self._locks_elsewhere(changed):
            explained = self._trials.explained(changed.text)
            changed = self._with_surcharges(changed, answer)
            if any(costs.broken_without(changed.dropped, applied_facts(explained))):
                results.useless[changed.text] = changed, explained
            else:
                results.add(changed, explained)
        return answer

    def _locks_elsewhere(self, changed: ChangedStack) -> bool:
        """Whether a changed stack locks for the other targets, too; where one refutes it, more is changed for that."""
        failure = self._trials.elsewhere(changed.text)
        if failure is None:
            return True
        trials, answer = failure
        self._results.refused.add(changed.text)
        if not self._trials.target:
            self._results.attempts.append(attempt(changed, answer, trials.name))
        if not changed.risky:
            self._repair(changed, answer, trials)
        return False

    def _with_surcharges(self, changed: ChangedStack, resolution: Resolution) -> ChangedStack:
        """The same, with surcharges for doubtful and old releases that a change brings in and no line names."""
        alternatives = self._alternatives
        lines = {change.subject for change in changed.changes if change.kind is ChangeKind.VERSION}
        unlisted = list(alternatives.unlisted(resolution))
        surcharge = costs.UNLISTED_LAST * len(unlisted) + costs.years_older(
            alternatives.years_behind(resolution)
        )
        price = changed.price + costs.UNLISTED * sum(name not in lines for name in unlisted)
        return replace(changed, price=price, surcharge=surcharge)

    def _with_fewest_practices(
        self, changed: ChangedStack, resolution: Resolution
    ) -> tuple[ChangedStack, Answer]:
        """A changed stack with no more practices turned on than it needs to lock, and its lock."""
        practices = [change for change in changed.changes if change.kind is ChangeKind.PRACTICE]
        used = {practice.id for practice in resolution.used_practices}
        changed = _without_practices(
            changed, [practice for practice in practices if practice.subject not in used]
        )
        answer = self._trials.lock(changed.text)
        for practice in (practice for practice in practices if practice.subject in used):
            fewer = _without_practices(changed, [practice])
            if isinstance(answer_with_fewer := self._trials.lock(fewer.text), Resolution):
                changed, answer = fewer, answer_with_fewer
        needed = sum(practice in changed.changes for practice in practices)
        return replace(
            changed, price=changed.price + costs.PRACTICE * (needed - bool(practices))
        ), answer

    def _is_needless(self, changed: ChangedStack) -> bool:
        if self._has_fix_within(changed):
            return True
        trials, stack, earlier = self._trials, StackText(changed.text), self._before.subjects
        return any(
            isinstance(
                trials.lock_all(stack.undone(change, trials.target_index(change)).text), Resolution
            )
            for change in changed.changes
            if costs.saved_price(change) and (change.kind, change.subject, change.target) in earlier
        )

    def _has_fix_within(self, changed: ChangedStack) -> bool:
        """Whether a fix changes nothing but what this changes, too, and this is no change of the original stack."""
        return not self._is_original and any(
            changed.includes(fix) for fix, _ in self._results.fixes
        )


def _is_idle(change: Change, resolution: Resolution) -> bool:
    """Whether a change states what an archive needs that the solution does not take."""
    pin = resolution.pin(change.subject)
    return change.kind is ChangeKind.STATE and (
        pin is None or pin.release.file.filename != change.before
    )


def _without_practices(changed: ChangedStack, practices: Sequence[Change]) -> ChangedStack:
    stack = reduce(
        StackText.without_practice,
        (change.subject for change in practices),
        StackText(changed.text),
    )
    changes = tuple(change for change in changed.changes if change not in practices)
    return replace(changed, changes=changes, text=stack.text)


def _is_only_proposed(constraint: Constraint) -> bool:
    """Return whether another value is tried only where something in a core suggests it."""
    return isinstance(constraint, ComponentValue) and constraint.component in _ONLY_PROPOSED
