"""Look for sets of changes after which one refuted stack locks.

A set of changes is a list of constraints that no longer hold as they are: a line may get another
version or be dropped, a component may get another value, a fact may be set aside. A set can only
help if it has a constraint of every core. So the search takes the cheapest set that does so for all
known cores. If the rest of the stack still clashes, that is a new core. If not, the search looks
for releases and values for the set, and solves the changed stack with them. Only a changed stack
that has a solution is a fix (docs/explaining.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, islice
from typing import NamedTuple

from resolver.errors import UndecidedError
from resolver.explain import costs
from resolver.explain.alternatives import Replacements, free_of
from resolver.explain.candidate_fixes import CandidateFixes, Refuted
from resolver.explain.changed_stack import ChangedStack
from resolver.explain.changes import Changes, is_cutoff
from resolver.explain.contradiction import hidden_contradiction
from resolver.explain.proposals import Proposals
from resolver.explain.search_results import FixSearchResults
from resolver.explain.trials import Answer, Trials, Undecided
from resolver.explain.unreachable_indexes import depends_on_unreachable_index
from resolver.explain.user_constraints import user_constraint_of
from resolver.model.change import ArchiveStated
from resolver.model.constraint import ComponentValue, Constraint
from resolver.model.resolution import Resolution
from resolver.resolve.clauses import Clauses
from resolver.resolve.refutation import Refutation

# After this many fixes that contradict no fact and no metadata, no line is dropped any more, and
# sets of changes that cost `_DEAR` or more are not tried.
_WHOLE = 2
# A price, such as that of setting aside two facts.
_DEAR = 2 * min(costs.RELAX.values())
# For at most this many sets of changes of one stack, releases are looked for.
_SETS = 24
# At most this many sets of changes of one stack are tried in all. Most are refuted at once.
_ROUNDS = 96
# At most this many proposals of one kind are tried for one core, or for all cores of the original
# stack together.
EACH = 4
# At most this many stacks are solved for one set of changes and one order of releases.
_TRIES = 3
# At most this many further contradictions are reported, each with at most `_READABLE` reasons: a
# longer one does not help the reader.
_FURTHER = 3
_READABLE = 24
# Components that the clauses cannot change: files were chosen for their values already.
_ONLY_PROPOSED = ("python", "glibc")


class Step(NamedTuple):
    """One step of the search: a proposed stack, or a set of changes, that can be tried."""

    # The price of the changes that the step tries, with those made to the stack before.
    price: float
    # Takes the step.
    take: Callable[[], None]


class _Try(NamedTuple):
    """What happened when replacements for a set of changes were tried."""

    # The changed stack.
    changed: ChangedStack
    # Whether it has a solution.
    is_solved: bool
    # Whether it has one with releases that are all in the compatibility tables of their projects.
    is_listed: bool = False
    # Why it has none; None if it has one, or if it was known before that it has none.
    answer: Refutation | Undecided | None = None
    # A core that holds whichever releases are chosen, and that another conflict had hidden; None if
    # none was found.
    hidden: list[Constraint] | None = None
    # Whether the next replacements in the same order are worth a try.
    is_next_worth: bool = True

    @property
    def has_failed(self) -> bool:
        """Return whether the stack failed for a reason that the clauses do not contain."""
        return not self.is_solved and not isinstance(self.answer, Refutation)


class Repairs:
    """The search for sets of changes that make one refuted stack lock.

    What `heuristics` needs of it is public.
    """

    def __init__(
        self,
        clauses: Clauses,
        cores: Sequence[Sequence[Constraint]],
        trials: Trials,
        results: FixSearchResults,
        queue: list[Repairs],
        before: ChangedStack | None = None,
        known: Clauses | None = None,
    ) -> None:
        """Begin with the cores of a refuted stack.

        `before` has the changes that made this stack from the original one; None if it is the
        original one. Found fixes go into `results`. The repairs of changed stacks are added to
        `queue`. `known` are the clauses of a similar stack: before the first set of changes is
        tried, the releases that they have opened are opened here, too.
        """
        self.clauses = clauses
        self.trials = trials
        self.results = results
        self.cores = cores
        # The changes that made this stack from the original one.
        self.before = before or ChangedStack((), 0, risky=False)
        self.changes = Changes(clauses, trials)
        self.proposals = Proposals(clauses, trials, self.changes)
        self._alternatives = self.changes.alternatives
        # The changed stacks that may be fixes.
        self._candidates = CandidateFixes(trials, results, self._alternatives, before)
        # The repairs that the search takes steps of; these may be among them.
        self.queue = queue
        self._known_elsewhere = known
        self._is_original = before is None
        # Whether the stack still asks for the same: practices, added lines and corrected names of
        # projects do not change that.
        self._keeps_intent = all(map(costs.keeps_intent, self.before.changes))
        self._corrections = costs.Corrections()
        self._proposed: list[ChangedStack] = []
        # The proposed stacks that are reported as attempts if they have no solution.
        self._suggested: list[ChangedStack] = []
        # The cheapest set of changes that was not tried yet; None before it is looked for.
        self._next: list[Constraint] | None = None
        self._sets_left = _SETS
        self._rounds_left = _ROUNDS
        # The constraints of all known cores, without user constraints.
        self._reasons: set[Constraint] = set()
        for core in cores:
            self._add_core(core)

    # --- the next step

    def suggest(self, constraints: Sequence[Constraint]) -> None:
        """Collect changed stacks for all cores of the original stack, at most `EACH` of each kind.

        `constraints` are those of the cores. The kinds are similar names of projects, other
        Pythons, other glibcs and builds from source. They are tried by their price, as later steps.
        """
        proposals = self.proposals
        kinds = [
            proposals.renamed_projects(constraints),
            proposals.other_pythons(constraints),
            proposals.other_glibcs(constraints),
        ]
        kinds += map(proposals.builds_from_source, self.cores)
        for stacks in kinds:
            self._suggested += islice(stacks, EACH)
        self._proposed += self._suggested

    def next_steps(self) -> Iterator[Step]:
        """Yield the proposed stacks that are cheap enough, and the cheapest set of changes.

        For a stack that still asks for the same, the set is yielded at any price. It is looked for
        first, which may rule out other sets.
        """
        limit = self._limit()
        for changed in self._proposed:
            if changed.price < limit:
                yield Step(changed.price, partial(self._try_proposed, changed))
        changing = self._cheapest_correction()
        if changing is not None:
            price = self.before.price + self.changes.total_price(changing)
            if self._keeps_intent or price < limit:
                yield Step(price, partial(self._correct, changing))

    def _limit(self) -> float:
        """Return the price which further changes of a changed stack must stay below.

        That is the price of the cheapest fix plus the price of one other version of a line;
        infinite if there is no fix yet.
        """
        return self.results.cheapest + costs.VERSION

    def _cheapest_correction(self) -> list[Constraint] | None:
        """Return the cheapest set of changes that is worth a try; None if none is left."""
        while self._next is None and self._sets_left > 0 and self._rounds_left > 0:
            try:
                changing = self._corrections.cheapest()
            except UndecidedError:
                # The question was too hard for the solver. Other kinds of steps may still find a
                # fix.
                self.trials.clock.limited = True
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
        return self.results.safe >= _WHOLE and self.changes.total_price(changing) >= _DEAR

    def _is_outdone(self, changing: Sequence[Constraint]) -> bool:
        """Return whether a set contradicts a fact, while a fix without such a risk changes less.

        Neither this set nor a larger one would be listed as a fix beside it.
        """
        if not any(map(costs.risky, changing)):
            return False
        changed = costs.changed_constraints(self.before.changes)
        changed |= self.changes.changed_by(changing)
        return any(
            costs.is_within(fix.changes, changed) for fix, _ in self.results.fixes if not fix.risky
        )

    def _is_unwanted(self, constraint: Constraint) -> bool:
        """Return whether a constraint is not changed, because the fixes found so far lose less.

        A requirement from a compatibility table is not set aside if any fix contradicts nothing. No
        line is dropped if `_WHOLE` fixes contradict nothing.
        """
        if self.results.safe and costs.is_pairing(constraint):
            return True
        return self.results.safe >= _WHOLE and costs.drops(constraint)

    # --- changed stacks

    def propose(
        self, changed: ChangedStack, near: Resolution | None = None, *, is_reported: bool = True
    ) -> None:
        """Solve a changed stack, unless it was tried before. If it is refuted, repair it later.

        `near` is the lock of a similar stack. A failure is reported as an attempt if `is_reported`.
        """
        if self.is_known(changed):
            return
        answer = self.solve(changed, near)
        if is_reported:
            self.results.add_attempt(changed, answer)
        if isinstance(answer, Refutation):
            self.repair_later(Refuted(changed, answer, self.trials))

    def is_known(self, changed: ChangedStack) -> bool:
        """Return whether it is known if a changed stack has a solution."""
        return self._candidates.outcome(changed) is not None

    def solve(self, changed: ChangedStack, near: Resolution | None = None) -> Answer:
        """Solve a changed stack, and return the answer for the target of these repairs.

        A fix is added to the results. A stack that only another target refutes is repaired later;
        whether one is worth repairs that this target refutes, the caller decides. `near` is the
        lock of a similar stack.
        """
        tried = self._candidates.solve(changed, near)
        if tried.elsewhere is not None:
            self.repair_later(tried.elsewhere)
        return tried.answer

    def repair_later(self, refuted: Refuted) -> None:
        """Let the search repair a changed stack."""
        self.queue.append(self.repairs_of(refuted))

    def repairs_of(self, refuted: Refuted) -> Repairs:
        """Return the repairs of a changed stack. The search takes steps of those in its `queue`."""
        changed, refutation, trials = refuted
        return Repairs(
            refutation.clauses,
            [refutation.core],
            trials.after(changed.edits, refutation.clauses.universe),
            self.results,
            self.queue,
            changed,
            self.clauses,
        )

    def _try_proposed(self, changed: ChangedStack) -> None:
        """Solve a proposed stack, unless a fix changes the same lines and components."""
        self._proposed.remove(changed)
        if all(fix.subjects != changed.subjects for fix, _ in self.results.fixes):
            self.propose(changed, is_reported=changed in self._suggested)

    def learned_clauses(self) -> Clauses:
        """Return the clauses, with the releases open that those of a similar stack have opened."""
        if self._known_elsewhere is not None:
            self.clauses.learn_from(self._known_elsewhere)
            self._known_elsewhere = None
        return self.clauses

    # --- sets of changes

    def _correct(self, changing: Sequence[Constraint]) -> None:
        """Try a set of changes that has a constraint of each known core.

        The result is a fix, a further core, or that the set is excluded. If the set removes the
        cut-off by date, only that is changed: the clauses do not know newer releases, so the
        repairs of that changed stack find the other changes.
        """
        clauses, corrections, changes = self.learned_clauses(), self._corrections, self.changes
        self._next = None
        self._rounds_left -= 1
        cutoff = [constraint for constraint in changing if is_cutoff(constraint)]
        if cutoff:
            corrections.exclude(cutoff)
            self._sets_left -= 1
            self.propose(self.before.then(changes.apply(cutoff, {})))
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
            if depends_on_unreachable_index(constraint, self.clauses):
                project = self.clauses.universe.project(constraint.project)
                self.results.unreachable_projects[constraint.project] = project.unreachable
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
            first, *_ = self.changes.changed_together(constraint)
            price = self.changes.price(first)
            if price is not None and not _is_only_proposed(first):
                prices[first] = price
        return prices

    def _collect_proposals(self, core: Sequence[Constraint], given: Sequence[Constraint]) -> None:
        """Collect the changed stacks that a core suggests.

        With `given`, all of these constraints change in the sets that the core is for. No
        component, and no archive of a project, is changed a second time.
        """
        proposals, target, earlier = self.proposals, self.trials.target, self.before.changes
        changed = {change.subject for change in earlier if change.target == target}
        archives = {change.project for change in earlier if isinstance(change, ArchiveStated)}
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
            proposed += islice(proposals.other_pythons(constraints), EACH)
        if "glibc" not in changed:
            proposed += islice(proposals.other_glibcs(constraints), EACH)
        # For the original stack, `try_practices` has done this before.
        if target or (self._keeps_intent and not self._is_original):
            proposed += proposals.enabled_practices()
        if target:
            proposed += proposals.builds_from_source(core)
        self._proposed += map(self.before.then, proposed)

    # --- the releases for a set of changes

    def _try(self, changing: Sequence[Constraint]) -> bool:
        """Solve the stacks that a set of changes gives, nearest releases first, then newest ones.

        Newest releases are not tried for a set that contradicts a fact or metadata. Return False if
        neither the set nor a larger one is of any use, or if time is up.
        """
        tries: list[_Try] = []
        directions = (False,) if any(map(costs.risky, changing)) else (False, True)
        for newest in directions:
            for replacements in islice(self._alternatives.all_of(changing, newest=newest), _TRIES):
                if self.trials.clock.expired():
                    return False
                changed = self.before.then(self.changes.apply(changing, replacements))
                tried = self._try_replacements(changed, replacements)
                if tried.hidden is not None:
                    self._report(tried.hidden)
                    return self._add_core(tried.hidden)
                tries.append(tried)
                if not tried.is_next_worth:
                    break
        return self._conclude(changing, tries)

    def _try_replacements(self, changed: ChangedStack, replacements: Replacements) -> _Try:
        """Solve a changed stack, whose lines and components become what `replacements` says."""
        is_solved = self._candidates.outcome(changed)
        if is_solved is None:
            answer = self.solve(changed)
            if isinstance(answer, Undecided):
                return self._undecided(changed, replacements, answer)
            if isinstance(answer, Refutation):
                hidden = self._hidden_by(answer)
                return _Try(changed, is_solved=False, answer=answer, hidden=hidden)
            is_solved = True
        return _Try(
            changed,
            is_solved=is_solved,
            is_listed=is_solved and not self._alternatives.count_unlisted(replacements),
            is_next_worth=changed.key in self.results.refused,
        )

    def _undecided(
        self, changed: ChangedStack, replacements: Replacements, answer: Undecided
    ) -> _Try:
        """Return what happened if it is unknown whether a changed stack has a solution.

        Replacements that could not be opened are not chosen again.
        """
        is_opened = self.clauses.universe.opened
        unread = [candidate for candidate in replacements.values() if not is_opened(candidate)]
        self._alternatives.unreadable.update(unread)
        # Without a reason time was up, and another release may take as long.
        return _Try(changed, is_solved=False, answer=answer, is_next_worth=bool(answer.why))

    def _hidden_by(self, refutation: Refutation) -> list[Constraint] | None:
        """Return a core that holds whichever releases are chosen; None if there is none.

        What the refutation of a changed stack has read is added to the clauses.
        """
        clauses = self.clauses
        excludes = clauses.learn_from(refutation.clauses)
        return None if clauses.satisfiable([excludes]) else clauses.minimal([excludes])

    def _conclude(self, changing: Sequence[Constraint], tries: Sequence[_Try]) -> bool:
        """Draw the conclusion from the tries for a set of changes.

        Either more changes are demanded together with the set, or the set is excluded. Return False
        if neither the set nor a larger one is of any use.
        """
        clauses, free = self.clauses, free_of(changing)
        if any(tried.is_listed for tried in tries):
            return False
        is_solved = any(tried.is_solved for tried in tries)
        if is_solved:
            self._alternatives.met_unlisted.append(frozenset(changing))
        options = self._alternatives.options(changing, newest=False)
        offered = [clauses.any_of(candidates) for candidates in options.values()]
        if not clauses.satisfiable(offered):
            # By what the tries added to the clauses, no release or value on offer works.
            core = clauses.minimal(offered)
            if is_solved:
                core = [constraint for constraint in core if not costs.risky(constraint)]
            return self._add_core(core, free)
        if not is_solved and self._demand_more(tries, free):
            return True
        has_failed = any(tried.has_failed for tried in tries)
        self._corrections.exclude(changing, exactly=has_failed and not is_solved)
        return True

    def _demand_more(self, tries: Sequence[_Try], free: Sequence[Constraint]) -> bool:
        """Demand that more changes than the releases that were tried without a solution.

        `free` are the constraints that change. Return False if nothing more can be demanded. For
        the original stack, the first of the tries is reported as an attempt.
        """
        answers = [(tried.changed, tried.answer) for tried in tries if tried.answer is not None]
        if self._is_original:
            for changed, answer in answers[:1]:
                self.results.add_attempt(changed, answer)
        refutations = [answer for _, answer in answers if isinstance(answer, Refutation)]
        return bool(refutations) and self._add_core(self._known(refutations[-1].core), free)

    def _known(self, core: Iterable[Constraint]) -> list[Constraint]:
        """Return the constraints of a changed stack's core that the stack repaired here has, too.

        The value of a component counts as the value that this stack has of it.
        """
        problem = self.clauses.universe.problem
        translated: list[Constraint] = [
            problem.component_value(constraint.component)
            if isinstance(constraint, ComponentValue)
            else constraint
            for constraint in core
        ]
        return [constraint for constraint in translated if constraint in self.clauses.known]

    def _report(self, hidden: Sequence[Constraint]) -> None:
        """Record a contradiction of the original stack that another one had hidden.

        It is left out if it shares a constraint with a known core, apart from user constraints, if
        it has too many reasons, or if enough were recorded.
        """
        further = self.results.further
        if not self._is_original or len(further) == _FURTHER:
            return
        reasons = {constraint for constraint in hidden if user_constraint_of(constraint) is None}
        if reasons & self._reasons:
            return
        found = hidden_contradiction(hidden, self.clauses, self.trials.clock.expired)
        if found is not None and len(found.reasons) <= _READABLE:
            further.append((hidden, found))


def _is_only_proposed(constraint: Constraint) -> bool:
    """Return whether a constraint is Python or glibc, which only proposals change."""
    return isinstance(constraint, ComponentValue) and constraint.component in _ONLY_PROPOSED
