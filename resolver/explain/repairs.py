"""Changes of refuted stacks, the cheapest first, each one locked before it counts.

A set of changes can only help if it meets every core. So the cheapest set that meets the cores known so far is tried:
either it clashes again, which gives a new core, or releases for it are looked for and locked (docs/explaining.md).
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
from resolver.explain.changes import Changes
from resolver.explain.contradictions import constraint_of, hidden_contradiction, is_open
from resolver.explain.proposals import Proposals
from resolver.explain.stack_text import StackText
from resolver.explain.trial import Answer, ChangedStack, Expired, FixSearchResults, Trials, Undecided, attempt
from resolver.model.explanation import Attempt, Change, ChangeKind
from resolver.model.resolution import Lack, Resolution
from resolver.resolve.clauses import Clauses
from resolver.resolve.grounded import ComponentGround, Ground, LackGround
from resolver.resolve.solver import Refutation

_WHOLE = 2  # fixes that go against nothing, after which dropping lines is no longer considered, nor what is dear
_DEAR = 2 * min(costs.RELAX.values())  # such as going against two facts
_SETS = 24  # sets of changes for which releases are looked for
_ROUNDS = 96  # sets in all: most are refuted at once
_STEPS = 240  # of all repairs
_EACH = 4  # proposals of a kind for one core, or for all of the stack's until one works
_READABLE = 24  # statements of a further contradiction: a longer one does not help the reader
_FURTHER = 3  # further contradictions
_MARGIN = 100  # how much dearer than the cheapest fix the changes of a changed stack may be, with those before them
_SMALL = 310  # up to which price that is so for the same target: another Python or glibc with another version or CANN
_PROPOSED = (
    ComponentGround("python"),
    ComponentGround("glibc"),
)  # the clauses do not know what another one would bring
_TRIES = 3  # releases locked for one set and one direction, until one works


def find_fixes(
    clauses: Clauses,
    cores: Sequence[Sequence[Ground]],
    trials: Trials,
    report: Callable[[tuple[Change, ...]], None],
) -> FixSearchResults:
    """Fixes of a stack with these cores in the order in which they were found, and attempts that failed.

    Repairs of the stack itself and of changed ones are searched side by side, always the cheapest step next.
    """
    found, search = FixSearchResults(report), list[Repairs]()
    first = Repairs(clauses, cores, trials, found, search)
    search.append(first)
    proposals, grounds = first.proposals, list(chain.from_iterable(cores))
    usable = proposals.names(grounds), proposals.pythons(grounds), proposals.glibcs(grounds)
    with suppress(Expired):
        for changed in proposals.practices():
            first.propose(changed, [])  # that all of them are no way out tells nobody anything
        for several in (*usable, *map(proposals.builds, cores)):
            before = len(found.fixes)
            for changed in islice(several, _EACH):
                if len(found.fixes) > before or trials.clock.expired():
                    break
                first.propose(changed, found.attempts)
        for _ in range(_STEPS):
            if found.is_enough() or trials.clock.expired():
                break
            steps = [step for one in search if (step := one.next_step()) is not None]
            if not steps:
                break
            min(steps, key=itemgetter(0))[1]()
        if not found.fixes:  # of many pinned lines there are more sets than can be tried
            for ground in dict.fromkeys(grounds):
                if costs.drops(ground) and first.changes.keeps_a_line([ground]):
                    first.propose(first.changes.apply([ground], {}), found.attempts)
    return found


class Repairs:
    """The changes to one refuted stack. `before` is what turned the wish into it; None for the wish itself.

    The repairs of changed stacks that are refuted join the `search`.
    """

    def __init__(
        self,
        clauses: Clauses,
        cores: Sequence[Sequence[Ground]],
        trials: Trials,
        found: FixSearchResults,
        search: list[Repairs],
        before: ChangedStack | None = None,
    ) -> None:
        self._clauses = clauses
        self._trials = trials
        self._found = found
        self._search = search
        self._is_original = before is None
        # neither practices nor another spelling change anything of the wish
        self._keeps_intent = before is None or all(map(costs.keeps_intent, before.changes))
        self._before = before or ChangedStack((), trials.text, 0, risky=False)
        self.changes = Changes(clauses, trials)
        self._alternatives = self.changes.alternatives
        self.proposals = Proposals(clauses, trials, self.changes)
        self._corrections = costs.Corrections()
        self._proposed: list[ChangedStack] = []
        self._next: list[Ground] | None = None
        self._sets_left, self._rounds_left = _SETS, _ROUNDS
        self._reasons: set[Ground] = set()  # of known contradictions, without the wishes
        for core in cores:
            self._demand(core)

    # --- what comes next

    def next_step(self) -> tuple[float, Callable[[], None]] | None:
        """The cheapest step that is left, with its price, earlier changes included."""
        cheapest = self._found.cheapest
        most = cheapest + _MARGIN if self._trials.target else max(cheapest, min(cheapest + _MARGIN, _SMALL))
        steps: list[tuple[float, Callable[[], None]]] = [
            (one.price, partial(self._try_proposed, one)) for one in self._proposed if one.price < most
        ]
        wanted = self._wanted()
        if wanted is not None:
            price = self._before.price + self._price(wanted)
            if self._keeps_intent or price < most:
                steps.append((price, partial(self._correct, wanted)))
        return min(steps, key=itemgetter(0), default=None)

    def _wanted(self) -> list[Ground] | None:
        """The cheapest set of changes that meets every demand so far."""
        while self._next is None and min(self._sets_left, self._rounds_left) > 0:
            self._next = self._corrections.cheapest()
            if self._next is None:
                self._sets_left = 0
            elif self._found.safe >= _WHOLE and self._price(self._next) >= _DEAR:
                self._next, self._sets_left = None, 0
            elif self._found.safe >= _WHOLE and any(map(costs.drops, self._next)):
                self._corrections.refuse(list(filter(costs.drops, self._next))[:1])
                self._next = None
        return self._next

    def _price(self, changing: Sequence[Ground]) -> int:
        return sum(self.changes.price(ground) or 0 for ground in changing)

    # --- changed stacks

    def propose(self, changed: ChangedStack, tried: list[Attempt]) -> None:
        """Lock a change to what can be used at all, unless that was tried before."""
        if self._seen(changed) is None:
            self._go_on(changed, self._lock(changed, tried))

    def _try_proposed(self, changed: ChangedStack) -> None:
        self._proposed.remove(changed)
        self.propose(changed, [])

    def _go_on(self, changed: ChangedStack, answer: Answer, trials: Trials | None = None) -> None:
        """Look for what can be changed with a change that is refuted by itself, perhaps for another target."""
        if isinstance(answer, Refutation):
            clauses = answer.clauses
            trials = (trials or self._trials).after(changed.text, clauses.universe)
            self._search.append(Repairs(clauses, [answer.core], trials, self._found, self._search, changed))

    # --- sets of changes

    def _correct(self, wanted: Sequence[Ground]) -> None:
        """Try a set of changes that meets every demand so far: a fix, or one more demand.

        The clauses do not know what is newer than the cut-off: without it, changes are up to that stack's repairs.
        """
        clauses, corrections = self._clauses, self._corrections
        self._next = None
        self._rounds_left -= 1
        cutoff = next((one for one in wanted if isinstance(one, LackGround) and one.lack is Lack.CUTOFF), None)
        if cutoff is not None:
            corrections.refuse([cutoff])
            self._sets_left -= 1
            self.propose(self._before.then(self.changes.apply([cutoff], {})), self._found.attempts)
            return
        with clauses.without(other for ground in wanted for other in self.changes.same(ground)):
            if not clauses.satisfiable():
                self._demand(clauses.minimal())
            elif not self.changes.keeps_a_line(wanted):
                corrections.refuse(wanted)
            else:
                self._sets_left -= 1
                if not self._try(wanted):
                    corrections.refuse(wanted)

    def _demand(self, core: Sequence[Ground], given: Sequence[Ground] = ()) -> bool:
        """Demand that one of a core's grounds changes (where the `given` ones change); False where none may."""
        self._reasons.update(ground for ground in core if constraint_of(ground) is None)
        missing = [ground.name for ground in core if is_open(ground, self._clauses)]
        self._found.unreached.update({name: self._clauses.universe.project(name).unreachable for name in missing})
        # a core does not include releases that a line could become if there were files for the target
        self._propose(core, [lack for one in given if (lack := self._alternatives.lacking(one)) is not None])
        changing = dict.fromkeys(self.changes.same(ground)[0] for ground in core)
        prices = {
            ground: price
            for ground in changing
            if ground not in _PROPOSED and (price := self.changes.price(ground)) is not None
        }
        if prices:
            self._corrections.demand(prices, given)
        elif not given:
            self._sets_left = 0
        return bool(prices)

    def _propose(self, core: Sequence[Ground], lacks: Sequence[Ground] = ()) -> None:
        """Make the proposals that a core suggests; no component and no archive of a project a second time."""
        done = {change.subject for change in self._before.changes if change.target == self._trials.target}
        stated = {change.subject for change in self._before.changes if change.kind is ChangeKind.STATE}
        proposed = [one for one in self.proposals.stated(core) if one.changes[0].subject not in stated]
        proposed += self.proposals.lines(core)
        for component, several in (("python", self.proposals.pythons), ("glibc", self.proposals.glibcs)):
            if component not in done:
                proposed += islice(several([*core, *lacks]), _EACH)
        if self._trials.target or (self._keeps_intent and not self._is_original):  # to the wish they are proposed first
            proposed += self.proposals.practices()
        if self._trials.target:
            proposed += self.proposals.builds(core)
        self._proposed += map(self._before.then, proposed)

    def _try(self, wanted: Sequence[Ground]) -> bool:
        """Lock the stacks to which a set of changes may lead; False if neither it nor more changes are of any use."""
        clauses, alternatives = self._clauses, self._alternatives
        tried: list[Attempt] = []
        hit = hit_listed = failed = False
        refuted: Refutation | None = None
        for newest in (False,) if any(map(costs.risky, wanted)) else (False, True):
            for choice in islice(alternatives.choices(wanted, newest=newest), _TRIES):
                changed = self._before.then(self.changes.apply(wanted, choice))
                if self._trials.clock.expired():
                    return False
                locks = self._seen(changed)
                if locks is None:
                    answer = self._lock(changed, tried)
                    if isinstance(answer, Undecided):
                        failed = True
                        alternatives.unreadable.update(
                            one for one in choice.values() if not clauses.universe.opened(one)
                        )
                        if answer.why:
                            continue
                        break  # another release may take as long
                    if isinstance(answer, Refutation):
                        refuted = answer
                        excludes = clauses.learn(answer.clauses)
                        if clauses.satisfiable([excludes]):
                            continue
                        hidden = clauses.minimal([excludes])
                        self._report(hidden)
                        return self._demand(hidden)
                    locks = True
                hit |= locks
                hit_listed |= locks and not alternatives.count_unlisted(choice)
                failed |= not locks  # for reasons that the clauses do not know
                if changed.text not in self._found.refused:
                    break
        if hit_listed:
            return False
        if hit:
            alternatives.met_unlisted.append(frozenset(wanted))
        offered = [clauses.any_of(options) for options in alternatives.options(wanted, newest=False).values()]
        if not clauses.satisfiable(offered):  # what was learned from the attempts
            core = [ground for ground in clauses.minimal(offered) if not (hit and costs.risky(ground))]
            return self._demand(core, free_of(wanted))
        if self._is_original and not hit:
            self._found.attempts += tried[:1]
        if refuted is not None and not hit:  # more than these releases stand in the way, though others may be left
            core = [ground for ground in refuted.core if ground in clauses.known]
            if self._demand(core, free_of(wanted)):
                return True
        self._corrections.refuse(wanted, exactly=failed and not hit)
        return True

    def _report(self, hidden: Sequence[Ground]) -> None:
        """Record a contradiction that only showed once the stack was changed, as another one had hidden it."""
        reasons = [ground for ground in hidden if constraint_of(ground) is None]
        if not self._is_original or not self._reasons.isdisjoint(reasons) or len(self._found.further) == _FURTHER:
            return
        further = hidden_contradiction(hidden, self._clauses, self._trials.clock.expired)
        if further is not None and len(further.statements) <= _READABLE:
            self._found.further.append((hidden, further))

    # --- locking

    def _seen(self, changed: ChangedStack) -> bool | None:
        """Whether a stack locks, if it was tried before, or includes changes that are known to lock; else None."""
        if self._has_fix_within(changed) or self._is_as_useless(changed):
            return True
        return self._found.seen.get((self._trials.at, frozenset(changed.changes)))

    def _lock(self, changed: ChangedStack, tried: list[Attempt]) -> Answer:
        """Lock a changed stack: the result is a fix, or an attempt and why it failed."""
        found, key = self._found, (self._trials.at, frozenset(changed.changes))
        answer = self._trials.lock(changed.text)
        if isinstance(answer, Resolution):
            changed, answer = self._practised(changed, answer)
        found.seen[key] = isinstance(answer, Resolution)
        if not isinstance(answer, Resolution):
            tried.append(attempt(changed, answer))
            return answer
        if any(_is_idle(change, answer) for change in changed.changes):
            return answer
        if self._is_needless(changed) or found.is_lesser(changed, answer) or not self._locks_elsewhere(changed):
            return answer
        explained = self._trials.explained(changed.text) if self._trials.target else answer
        changed = self._priced_as(changed, answer)
        if changed.is_useless_in(explained):
            found.useless[changed.text] = changed, explained
            return answer
        found.add(changed, explained)
        return answer

    def _locks_elsewhere(self, changed: ChangedStack) -> bool:
        """Whether a changed stack locks for the other targets, too; where one refutes it, more is changed for that."""
        refused = self._trials.elsewhere(changed.text)
        if refused is None:
            return True
        trials, answer = refused
        self._found.refused.add(changed.text)
        if not self._trials.target:
            self._found.attempts.append(attempt(changed, answer, trials.name))
        if not changed.risky:
            self._go_on(changed, answer, trials)
        return False

    def _priced_as(self, changed: ChangedStack, found: Resolution) -> ChangedStack:
        """The same, with surcharges for doubtful and old releases that a change brings in and no line names."""
        named = {change.subject for change in changed.changes if change.kind is ChangeKind.VERSION}
        unlisted = list(self._alternatives.unlisted(found))
        unnamed = [name for name in unlisted if name not in named]
        surcharge = costs.UNLISTED_LAST * len(unlisted) + costs.years_older(self._alternatives.years_behind(found))
        return replace(changed, price=changed.price + costs.UNLISTED * len(unnamed), surcharge=surcharge)

    def _practised(self, changed: ChangedStack, found: Resolution) -> tuple[ChangedStack, Answer]:
        """A changed stack with no more practices turned on than it needs to lock, and its lock."""
        on = [one for one in changed.changes if one.kind is ChangeKind.PRACTICE]
        used = {practice.id for practice in found.practices}
        changed = _without_practices(changed, [one for one in on if one.subject not in used])
        answer = self._trials.lock(changed.text)
        for one in [one for one in on if one.subject in used]:
            fewer = _without_practices(changed, [one])
            if isinstance(without := self._trials.lock(fewer.text), Resolution):
                changed, answer = fewer, without
        needed = sum(one in changed.changes for one in on)
        return replace(changed, price=changed.price + costs.PRACTICE * (needed - bool(on))), answer

    def _is_needless(self, changed: ChangedStack) -> bool:
        """Whether some of the earlier and present changes are enough."""
        if self._has_fix_within(changed):
            return True
        earlier = self._before.subjects
        return any(
            self._holds_without(change, changed)
            for change in changed.changes
            if costs.saved_price(change) and (change.kind, change.subject, change.target) in earlier
        )

    def _has_fix_within(self, changed: ChangedStack) -> bool:
        """Whether a fix changes nothing but what this changes, too, and this is no change of the wish itself."""
        return not self._is_original and any(changed.includes(fix) for fix, _ in self._found.fixes)

    def _is_as_useless(self, changed: ChangedStack) -> bool:
        """Whether what locks without the same lines is known to be of no use."""
        return not self._is_original and any(
            one.dropped == changed.dropped and changed.includes(one) for one, _ in self._found.useless.values()
        )

    def _holds_without(self, change: Change, changed: ChangedStack) -> bool:
        """Whether a fix also works without one of its earlier changes."""
        trials = self._trials
        text = StackText(changed.text).undone(change, trials.target_index(change)).text
        return isinstance(trials.lock_all(text), Resolution)


def _is_idle(change: Change, found: Resolution) -> bool:
    """Whether a change states what an archive needs that the solution does not take."""
    pin = found.pin(change.subject)
    return change.kind is ChangeKind.STATE and (pin is None or pin.release.file.filename != change.before)


def _without_practices(changed: ChangedStack, gone: Sequence[Change]) -> ChangedStack:
    """A changed stack with some of its practices turned off."""
    stack = reduce(StackText.without_practice, (one.subject for one in gone), StackText(changed.text))
    return replace(changed, changes=tuple(one for one in changed.changes if one not in gone), text=stack.text)
