"""Search for fixes: changes after which a refuted stack locks. `explain/explain` calls it.

A set of changes is a list of constraints that no longer hold as they are: a line may get another
version or be dropped, a component may get another value, a fact may be set aside. A set can only
help if it has a constraint of every core. So the search takes the cheapest set that does so for all
known cores. If the rest of the stack still clashes, that is a new core. If not, the search looks
for releases and values for the set, and locks the changed stack with them. Only a changed stack
that locks is a fix (docs/explaining.md).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
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
from resolver.explain.shipped import ShippedStacks, lacking_projects
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

# After this many fixes that contradict no fact and no metadata, no line is dropped any more, and
# sets of changes that cost `_DEAR` or more are not tried.
_WHOLE = 2
# A price, such as that of setting aside two facts.
_DEAR = 2 * min(costs.RELAX.values())
# At least this many lines that are impossible by themselves are dropped together.
_SEVERAL = 2
# For at most this many sets of changes of one stack, releases are looked for.
_SETS = 24
# At most this many sets of changes of one stack are tried in all. Most are refuted at once.
_ROUNDS = 96
# At most this many steps are taken in one search for fixes.
_STEPS = 240
# At most this many proposals of one kind are tried for one core, or for all cores of the original
# stack together.
_EACH = 4
# At most this many stacks are locked for one set of changes and one order of releases.
_TRIES = 3
# At most this many further contradictions are reported, each with at most `_READABLE` reasons: a
# longer one does not help the reader.
_FURTHER = 3
_READABLE = 24
# Components that the clauses cannot change: files were chosen for their values already.
_ONLY_PROPOSED = ("python", "glibc")


def find_fixes(
    clauses: Clauses,
    cores: Sequence[Sequence[Constraint]],
    trials: Trials,
    report: Callable[[tuple[Change, ...]], None],
) -> FixSearchResults:
    """Return the fixes of a refuted stack in the order found, and the attempts that failed.

    `cores` are the contradictions of the stack. `report` is called with the changes of the first
    fix that contradicts no fact and no metadata. A changed stack that is refuted is repaired as
    well: the cheapest step of all these repairs is always taken next. When time is up, the results
    are incomplete, and `trials.clock.limited` is set.
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
        if any(map(first.is_about_python, cores)):
            # One other Python may mend several conflicts. Otherwise all that follows is tried
            # with a Python that a line of the stack cannot have.
            first.try_pythons(constraints)
        # With practices turned on, releases nearer to the stack's lines may be enough.
        for repairs in reversed(with_practices):
            repairs.try_rows()
        if len(cores) >= _SEVERAL and all(fix.dropped for fix, _ in results.fixes):
            first.try_loosening()
        first.collect_proposals(cores, constraints)
        for _ in range(_STEPS):
            if results.is_enough() or trials.clock.expired():
                break
            steps: list[_Step] = []
            for repairs in search:
                steps += repairs.next_steps()
            if not steps:
                break
            cheapest = min(steps, key=lambda step: step.price)
            cheapest.take()
        if not results.fixes and len(cores) < _SEVERAL:
            first.try_loosening()
        if not results.fixes:
            # If many lines are pinned, there are more sets of changes than can be tried.
            first.try_dropping(constraints)
    return results


class _Step(NamedTuple):
    """One step of the search: a proposed stack, or a set of changes, that can be tried."""

    # The price of the changes that the step tries, with those made to the stack before.
    price: float
    # Takes the step.
    take: Callable[[], None]


@dataclass
class _Tries:
    """What happened when releases for one set of changes were tried."""

    # The changed stacks that did not lock.
    attempts: list[Attempt] = field(default_factory=list)
    # Whether the stack locked with some choice of releases.
    locks: bool = False
    # Whether it locked with releases that are all in the compatibility tables of their projects.
    locks_listed: bool = False
    # Whether a stack failed for a reason that the clauses do not contain.
    failed: bool = False
    # The refutation of the changed stack that was refuted last; None if none was.
    refuted: Refutation | None = None
    # A core that holds whichever releases are chosen, and that another conflict had hidden; None if
    # none was found.
    hidden: list[Constraint] | None = None


class Repairs:
    """The search for changes that make one refuted stack lock."""

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
        """Begin with the cores of a refuted stack.

        `before` has the changes that made this stack from the original one; None if it is the
        original one. Found fixes go into `results`. If a changed stack is refuted, its own
        `Repairs` is added to `search`. `known` are the clauses of a similar stack: before the first
        set of changes is tried, the releases that they have opened are opened here, too.
        """
        self._clauses = clauses
        self._trials = trials
        self._results = results
        self._search = search
        self._cores = cores
        self._known_elsewhere = known
        self._is_original = before is None
        self._before = before or ChangedStack((), 0, risky=False)
        # Whether the stack still asks for the same: practices, added lines and corrected names of
        # projects do not change that.
        self._keeps_intent = all(map(costs.keeps_intent, self._before.changes))
        self._changes = Changes(clauses, trials)
        self._alternatives = self._changes.alternatives
        self._proposals = Proposals(clauses, trials, self._changes)
        self._corrections = costs.Corrections()
        self._proposed: list[ChangedStack] = []
        # The proposed stacks that are reported as attempts if they do not lock.
        self._suggested: list[ChangedStack] = []
        # The cheapest set of changes that was not tried yet; None before it is looked for.
        self._next: list[Constraint] | None = None
        self._sets_left = _SETS
        self._rounds_left = _ROUNDS
        # The constraints of all known cores, without user constraints.
        self._reasons: set[Constraint] = set()
        for core in cores:
            self._add_core(core)

    # --- what comes first, next and last

    def try_practices(self) -> None:
        """Lock the stack with every practice that is about a project which the stack may need.

        A practice is a fact that a stack can turn on, see docs/concepts.md.
        """
        for changed in self._proposals.enabled_practices():
            # A failed attempt with practices would tell the reader nothing.
            self._propose(changed, [])

    def try_rows(self) -> None:
        """Lock the stack with releases that compatibility tables list together, until one locks.

        Does nothing if no core is about a line of these projects. See `rows`.
        """
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
            # First with only the practices that the row needs. The lock may choose other releases
            # than the row has, for which more practices are needed.
            for stack in (changed.without(unused), changed):
                fewest = self._with_fewest_lines(stack, row.solution)
                self._propose(fewest, self._results.attempts, row.solution)
                if len(self._results.fixes) > known:
                    return

    def _with_fewest_lines(self, changed: ChangedStack, near: Resolution) -> ChangedStack:
        """Return a changed stack without those new versions of lines that it does not need to lock.

        `near` is a lock of the changed stack: its releases are preferred.
        """
        for change in changed.changes:
            if change.kind is ChangeKind.VERSION:
                fewer = changed.without([change])
                if not fewer.changes:
                    continue
                if isinstance(self._trials.lock(fewer.edits, near), Resolution):
                    changed = replace(fewer, price=fewer.price - costs.VERSION)
        return changed

    def try_shipped(self, constraints: Sequence[Constraint]) -> None:
        """Lock the stack with lines of a shipped stack, until one changed stack locks.

        A shipped stack may have a commit for a project that no index has. One fix is enough: the
        stacks that come later take more lines from the shipped stack. If none locks, the one that
        took most from a shipped stack gets other versions of what clashes with that.
        """
        known = len(self._results.fixes)
        shipped = ShippedStacks(self._trials, self._changes, self._proposals)
        last: tuple[ChangedStack, Refutation] | None = None
        for changed in shipped.stacks(constraints):
            answer = self._lock(changed, self._results.attempts)
            if len(self._results.fixes) > known:
                return
            self._repair(changed, answer, self._trials)
            if isinstance(answer, Refutation):
                last = changed, answer
        if last is not None and not self._trials.clock.expired():
            self._loosen_beside(*last, kept=lacking_projects(constraints))

    def _loosen_beside(
        self, changed: ChangedStack, refutation: Refutation, *, kept: Collection[str]
    ) -> None:
        """Lock a refuted changed stack with other versions of the lines in its conflicts.

        Lines about the projects in `kept` stay as they are. Changes of components that are not
        needed then are undone.
        """
        clauses = refutation.clauses
        trials = self._trials.after(changed.edits, clauses.universe)
        changes = Changes(clauses, trials)
        loosened = Loosening(clauses, trials, changes, kept=kept).changed_stack()
        if loosened is None:
            return
        changed = changed.then(loosened)
        for change in changed.changes:
            if change.kind is ChangeKind.COMPONENT:
                fewer = changed.without([change])
                if isinstance(self._trials.lock(fewer.edits), Resolution):
                    changed = replace(fewer, price=fewer.price - costs.saved_price(change))
        self._propose(changed, self._results.attempts)

    def try_dropping_together(self, cores: Sequence[Sequence[Constraint]]) -> None:
        """Drop all lines that are impossible by themselves, if there are several; lock the rest.

        As long as the rest is refuted, the last remaining line of its core is dropped as well.
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

    def is_about_python(self, core: Sequence[Constraint]) -> bool:
        """Return whether a core says that one line of the stack needs another Python."""
        lines = self._changes.lines_of(core)
        return len(lines) == 1 and any(self._proposals.other_pythons(core))

    def try_pythons(self, constraints: Sequence[Constraint]) -> None:
        """Lock the stack for another Python, the nearest first, until one locks.

        All practices are turned on for it; those that are not needed are turned off again. If none
        locks, other versions of lines are looked for with the first Python that is no part of its
        conflict.
        """
        known = len(self._results.fixes)
        practices = next(self._proposals.enabled_practices(), None)
        suitable: Repairs | None = None
        for changed in islice(self._proposals.other_pythons(constraints), _EACH):
            if self._trials.clock.expired():
                return
            stack = changed if practices is None else changed.then(practices)
            if self._seen(stack) is not None:
                continue
            # A failed attempt with practices would tell the reader nothing.
            answer = self._lock(stack, [])
            if len(self._results.fixes) > known:
                return
            if isinstance(answer, Refutation):
                repairs = self._repairs_of(stack, answer, self._trials)
                self._search.append(repairs)
                is_suitable = not any(repairs._proposals.other_pythons(answer.core))
                if is_suitable and suitable is None:
                    suitable = repairs
        if suitable is not None:
            suitable.try_rows()
            if len(self._results.fixes) == known:
                suitable.try_loosening()

    def try_loosening(self) -> None:
        """Lock the stack with other versions of all lines in its conflicts, see `loosening`."""
        if self._trials.clock.expired():
            return
        changed = Loosening(self._clauses, self._trials, self._changes).changed_stack()
        if changed is not None:
            self._propose(self._before.then(changed), self._results.attempts)

    def collect_proposals(
        self, cores: Sequence[Sequence[Constraint]], constraints: Sequence[Constraint]
    ) -> None:
        """Collect changed stacks for the cores of the original stack, at most `_EACH` of each kind.

        The kinds are similar names of projects, other Pythons, other glibcs and builds from source.
        They are tried by their price, as later steps.
        """
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
        """Lock the stack without one line, for each line among the constraints."""
        for constraint in dict.fromkeys(constraints):
            if costs.drops(constraint) and self._changes.keeps_a_line([constraint]):
                changed = self._changes.apply([constraint], {})
                self._propose(changed, self._results.attempts)

    def next_steps(self) -> Iterator[_Step]:
        """Yield the steps that can be taken next. Steps that cost too much are left out."""
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
        """Return the price which further changes of a changed stack must stay below.

        That is the price of the cheapest fix plus the price of one other version of a line;
        infinite if there is no fix yet.
        """
        return self._results.cheapest + costs.VERSION

    def _cheapest_correction(self) -> list[Constraint] | None:
        """Return the cheapest set of changes that is worth a try; None if none is left."""
        while self._next is None and self._sets_left > 0 and self._rounds_left > 0:
            try:
                changing = self._corrections.cheapest()
            except UndecidedError:
                # The question was too hard for the solver. Other kinds of steps may still find a
                # fix.
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
        """Return whether a set of changes costs too much, given the fixes that were found."""
        return self._results.safe >= _WHOLE and self._changes.total_price(changing) >= _DEAR

    def _is_outdone(self, changing: Sequence[Constraint]) -> bool:
        """Return whether a set contradicts a fact, while a fix without such a risk changes less.

        Neither this set nor a larger one would be listed as a fix beside it.
        """
        if not any(map(costs.risky, changing)):
            return False
        changed = costs.changed_constraints(self._before.changes)
        changed |= self._changes.changed_by(changing)
        return any(
            costs.is_less(fix.changes, changed) for fix, _ in self._results.fixes if not fix.risky
        )

    def _is_unwanted(self, constraint: Constraint) -> bool:
        """Return whether a constraint is not changed, because the fixes found so far lose less.

        A requirement from a compatibility table is not set aside if any fix contradicts nothing. No
        line is dropped if `_WHOLE` fixes contradict nothing.
        """
        if self._results.safe and costs.is_pairing(constraint):
            return True
        return self._results.safe >= _WHOLE and costs.drops(constraint)

    # --- changed stacks

    def _propose(
        self, changed: ChangedStack, attempts: list[Attempt], near: Resolution | None = None
    ) -> None:
        """Lock a changed stack, unless it was tried before. If it is refuted, repair it later.

        `near` is the lock of a similar stack. A failure is added to `attempts`.
        """
        if self._seen(changed) is None:
            self._repair(changed, self._lock(changed, attempts, near), self._trials)

    def _try_proposed(self, changed: ChangedStack) -> None:
        """Lock a proposed stack, unless a fix changes the same lines and components."""
        self._proposed.remove(changed)
        if all(fix.subjects != changed.subjects for fix, _ in self._results.fixes):
            is_reported = changed in self._suggested
            self._propose(changed, self._results.attempts if is_reported else [])

    def _repair(self, changed: ChangedStack, answer: Answer, trials: Trials) -> None:
        """Add the repairs of a changed stack to the search if `answer` is its refutation.

        `trials` belong to the target for which it was refuted.
        """
        if isinstance(answer, Refutation):
            self._search.append(self._repairs_of(changed, answer, trials))

    def _repairs_of(self, changed: ChangedStack, refutation: Refutation, trials: Trials) -> Repairs:
        """Return the repairs of a changed stack that was refuted.

        `trials` belong to the target for which it was refuted.
        """
        clauses = refutation.clauses
        return Repairs(
            clauses,
            [refutation.core],
            trials.after(changed.edits, clauses.universe),
            self._results,
            self._search,
            changed,
            self._clauses,
        )

    def _learn(self) -> None:
        """Open the releases that the clauses of a similar stack have opened, if not done before."""
        if self._known_elsewhere is not None:
            self._clauses.import_clauses(self._known_elsewhere)
            self._known_elsewhere = None

    # --- sets of changes

    def _correct(self, changing: Sequence[Constraint]) -> None:
        """Try a set of changes that has a constraint of each known core.

        The result is a fix, a further core, or that the set is excluded. If the set removes the
        cut-off by date, only that is changed: the clauses do not know newer releases, so the
        repairs of that changed stack find the other changes.
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
        """Demand that a set of changes has one constraint of this core.

        With `given`, the demand holds only for sets that have all of these constraints. Return
        False if no constraint of the core can be changed.
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
        """Return the price of each constraint of a core that can be changed.

        Python and glibc are left out: other values of them come from proposals only. Of constraints
        that change together, only the first is returned.
        """
        prices = {}
        for constraint in core:
            first, *_ = self._changes.changed_together(constraint)
            price = self._changes.price(first)
            if price is not None and not _is_only_proposed(first):
                prices[first] = price
        return prices

    def _collect_proposals(self, core: Sequence[Constraint], given: Sequence[Constraint]) -> None:
        """Collect the changed stacks that a core suggests.

        With `given`, all of these constraints change in the sets that the core is for. No
        component, and no archive of a project, is changed a second time.
        """
        proposals, target, earlier = self._proposals, self._trials.target, self._before.changes
        changed = {change.subject for change in earlier if change.target == target}
        archives = {change.subject for change in earlier if change.kind is ChangeKind.STATE}
        # Releases without a file for the target are in no core, although a line could ask for them
        # if they had one.
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
        # For the original stack, `try_practices` has done this before.
        if target or (self._keeps_intent and not self._is_original):
            proposed += proposals.enabled_practices()
        if target:
            proposed += proposals.builds_from_source(core)
        self._proposed += map(self._before.then, proposed)

    # --- the releases for a set of changes

    def _try(self, changing: Sequence[Constraint]) -> bool:
        """Lock the stacks that a set of changes leads to, nearest releases first, then newest ones.

        Newest releases are not tried for a set that contradicts a fact or metadata. Return False if
        neither the set nor a larger one is of any use, or if time is up.
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
        """Lock a changed stack, whose lines and components become what `choice` says.

        What happens is recorded in `tries`. Return whether the next choice in the same order is
        worth a try.
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
                # Without a reason time was up, and another release may take as long.
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
        """Draw the conclusion from the `tries` for a set of changes.

        Either more changes are demanded together with the set, or the set is excluded. Return False
        if neither the set nor a larger one is of any use.
        """
        clauses, free = self._clauses, free_of(changing)
        if tries.locks_listed:
            return False
        if tries.locks:
            self._alternatives.met_unlisted.append(frozenset(changing))
        options = self._alternatives.options(changing, newest=False)
        offered = [clauses.any_of(candidates) for candidates in options.values()]
        if not clauses.satisfiable(offered):
            # By what the tries added to the clauses, no release or value on offer works.
            core = clauses.minimal(offered)
            if tries.locks:
                core = [constraint for constraint in core if not costs.risky(constraint)]
            return self._add_core(core, free)
        if not tries.locks:
            if self._is_original:
                self._results.attempts += tries.attempts[:1]
            # More than the releases that were tried must change.
            if tries.refuted is not None and self._add_core(self._known(tries.refuted.core), free):
                return True
        self._corrections.exclude(changing, exactly=tries.failed and not tries.locks)
        return True

    def _known(self, core: Iterable[Constraint]) -> list[Constraint]:
        """Return the constraints of a changed stack's core that the stack repaired here has, too.

        The value of a component counts as the value that this stack has of it.
        """
        problem = self._clauses.universe.problem
        translated: list[Constraint] = [
            problem.component_value(constraint.component)
            if isinstance(constraint, ComponentValue)
            else constraint
            for constraint in core
        ]
        return [constraint for constraint in translated if constraint in self._clauses.known]

    def _report(self, hidden: Sequence[Constraint]) -> None:
        """Record a contradiction of the original stack that another one had hidden.

        It is left out if it shares a constraint with a known core, apart from user constraints, if
        it has too many reasons, or if enough were recorded.
        """
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
        """Return whether a changed stack locks, if that is known; None if it was not tried.

        A stack that includes all changes of a fix counts as one that locks.
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
        """Lock a changed stack and return the answer.

        If it locks for every target, and no fix makes it needless, it is added to the fixes. If it
        does not lock, it is added to `attempts`. `near` is the lock of a similar stack.
        """
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
        """Return whether a changed stack locks for the stack's other targets as well.

        If it is refuted for one of them, and contradicts no fact or metadata, repairs for that
        target are added to the search.
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
        """Return a changed stack with the doubts about its lock: unlisted releases, and old ones.

        Releases from a shipped stack are old on purpose, so their age does not count.
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
        """Return whether a fix has some of the same changes, or one earlier change can be undone.

        Earlier changes are the changes that this stack was made with. An undone change is one
        without which the changed stack locks for all targets.
        """
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
        """Return whether a changed stack includes all changes of a fix.

        Always False for the repairs of the original stack.
        """
        if self._is_original:
            return False
        return any(changed.includes(fix) for fix, _ in self._results.fixes)


def _is_only_proposed(constraint: Constraint) -> bool:
    """Return whether a constraint is Python or glibc, which only proposals change."""
    return isinstance(constraint, ComponentValue) and constraint.component in _ONLY_PROPOSED
