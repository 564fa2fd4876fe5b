"""Changes of one refuted stack, the cheapest first, each one locked before it counts.

What may change are grounds: a line's version or extra, a component, a fact
that is not enforced, a requirement in metadata. Every core contains some of
them, and a set of changes can only help if it meets every core. So the
cheapest set that meets the cores known so far is tried. Either it clashes
again, which gives a new core, or it is a minimal correction set, and releases
for it are looked for and locked. This is the duality of `smallest`, over costs.

Another Python or glibc changes which files there are, about which the clauses know nothing.
So it is proposed and solved, and if it does not help by itself, the changed stack
gets repairs of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import islice, takewhile
from typing import NamedTuple

import msgspec

from resolver.explain.alternatives import Alternatives
from resolver.explain.changes import Changed, Changes
from resolver.explain.corrections import Corrections, complete
from resolver.explain.costs import UNLISTED, UNLISTED_LAST, Costs, risky, useless_without, years_older
from resolver.explain.edit import StackText
from resolver.explain.noting import rests_on_notes
from resolver.explain.proposals import Proposals, first_day, is_unstated
from resolver.explain.rest import Rest, clash_of_rest, told_of
from resolver.explain.trial import Trials, Undecided
from resolver.explain.wishes import wish_of
from resolver.lock.build import applied
from resolver.model.dependency import Candidate
from resolver.model.explanation import Attempt, Change, ChangeKind, Contradiction, Outcome
from resolver.model.resolution import Lack, Resolution, Statement
from resolver.resolve.clauses import Clauses
from resolver.resolve.core_statements import tell
from resolver.resolve.grounded import Component, Ground, Lacking, Line
from resolver.resolve.solver import Refutation

WHOLE = 2  # fixes that go against nothing, after which dropping lines is no longer considered
_SETS = 24  # sets of changes for which releases are looked for
_ROUNDS = 96  # sets in all: most are refuted at once
_DAYS = 12  # days tried for one cut-off
_PROPOSED = 4  # Pythons, or glibcs, proposed for one core
_LOOKS = 800  # candidates, or several in a row, looked at for one set and one direction
_NEEDED = 8  # facts about archives that are left out one by one, to see whether they are needed
_READABLE = 24  # statements of a further contradiction: a longer one does not help the reader
_FURTHER = 3  # further contradictions
_MARGIN = 100  # how much dearer than the cheapest fix another Python or glibc may be, with what goes with it
_SMALL = 310  # up to which price that is so: another Python or glibc with another version or CANN
_TRIES = 3  # releases locked for one set and one direction, until one works


class Found(msgspec.Struct):
    """The results of a search for fixes.

    `seen` says of every stack that was tried, with or without notes, whether it locks. `unstated` is set if a core
    was about an archive without static metadata, `unstated_in_wish` if it was a core of the original stack.
    `further` contradictions were found on the way. `late` are stacks that take long and may be tried
    again. `useless` are stacks that lock, but something in them does not work without a line that was dropped.
    `tell` is called with the first fix that goes against nothing, as soon as it is found.
    """

    fixes: list[tuple[Changed, Resolution]] = msgspec.field(default_factory=list)
    useless: list[tuple[Changed, Resolution]] = msgspec.field(default_factory=list)
    attempts: list[Attempt] = msgspec.field(default_factory=list)
    seen: dict[tuple[str, bool], bool] = msgspec.field(default_factory=dict)
    unstated: bool = False
    unstated_in_wish: bool = False
    further: list[tuple[Sequence[Ground], Contradiction]] = msgspec.field(default_factory=list)
    late: list[Late] = msgspec.field(default_factory=list)
    tell: Callable[[Changed], None] | None = None

    def add(self, changed: Changed, resolution: Resolution) -> None:
        """One more fix."""
        if self.tell is not None and not changed.risky and not self.safe:
            self.tell(changed)
        self.fixes.append((changed, resolution))

    def next_late(self) -> Late | None:
        """The cheapest of those, as long as it costs less than what was found."""
        most = self.cheapest
        cheaper = [one for one in self.late if one.changed.price < most]
        return min(cheaper, key=lambda one: one.changed.price, default=None)

    def end(self) -> None:
        """Note as attempts what was left undecided."""
        for one in self.late:
            one.tried.append(_attempt(one.changed, Undecided()))
        self.late.clear()

    @property
    def safe(self) -> int:
        """How many fixes go against nothing."""
        return sum(not changed.risky for changed, _ in self.fixes)

    @property
    def cheapest(self) -> float:
        """The price of the cheapest fix that goes against nothing; infinite if there is none."""
        return min((changed.price for changed, _ in self.fixes if not changed.risky), default=float("inf"))


class Late(NamedTuple):
    """A changed stack that was not decided in a short time, whose repairs it is of, and where attempts are noted.

    Where it `goes_on`, and is refuted, there is something that can be changed with it.
    """

    repairs: Repairs
    changed: Changed
    tried: list[Attempt]
    goes_on: bool


class _Tried(NamedTuple):
    """The outcome of a set of changes: if it does not help, a `core` of which one more ground must change.

    This is certain if the `given` grounds change. `is_unknown` says that something unrelated was in the way.
    """

    core: Sequence[Ground] | None = None
    given: Sequence[Ground] = ()
    is_unknown: bool = False


class Repairs:
    """The changes to one refuted stack. `before` is what turned the wish into it; empty for the wish itself."""

    def __init__(
        self,
        clauses: Clauses,
        cores: Sequence[Sequence[Ground]],
        trials: Trials,
        found: Found,
        before: Changed | None = None,
    ) -> None:
        self._clauses = clauses
        self._trials = trials
        self._found = found
        self._is_wish = before is None
        self._before = before or Changed((), trials.text, 0, risky=False)
        own_cutoff = trials.inputs.stack.content.policy.exclude_newer is not None
        self._prices = Costs(clauses, trials.problem, own_cutoff=own_cutoff)
        self._offers = Alternatives(clauses, trials.problem)
        self._changes = Changes(clauses, trials, self._prices, self._offers)
        self.proposals = Proposals(clauses, trials, self._changes)
        self._corrections = Corrections()
        self._proposed: list[Changed] = []
        self._next: list[Ground] | None = None
        self._left, self._rounds = _SETS, _ROUNDS
        self._unlisted: list[frozenset[Ground]] = []  # sets that only unlisted releases meet
        self._unreadable: set[Candidate] = set()  # releases whose file cannot be fetched: trying them again is useless
        self._reasons: set[Ground] = set()  # of known contradictions, without the wishes
        for core in cores:
            if not self._demand(core):
                self._left = 0

    def close(self) -> None:
        """Free the memory of the solver for sets of changes."""
        self._corrections.close()

    # --- what comes next

    def price(self) -> int | None:
        """The price of the next step, including earlier changes; None if there is no step left."""
        cheapest = self._found.cheapest
        most = max(cheapest, min(cheapest + _MARGIN, _SMALL))
        self._proposed = [changed for changed in self._proposed if changed.price < most]
        wanted = self._wanted()
        prices = [changed.price for changed in self._proposed[:1]]
        if wanted is not None and (self._is_wish or self._priced(wanted) < most):
            prices.append(self._priced(wanted))
        return min(prices, default=None)

    def step(self) -> Repairs | None:
        """Try the cheapest step that is left. If it is a proposal that is not enough, return its repairs."""
        wanted = self._wanted()
        if self._proposed and (wanted is None or self._proposed[0].price <= self._priced(wanted)):
            return self.propose(self._proposed.pop(0), [])
        if wanted is not None:
            self._next = None
            self._rounds -= 1
            return self._correct(wanted)
        return None

    def propose(self, changed: Changed, tried: list[Attempt]) -> Repairs | None:
        """Lock a change to what can be used at all. If it is refuted, return its repairs."""
        if self._seen(changed) is not None:
            return None
        answer = self._lock(changed, tried, briefly=not changed.practices)  # nothing else is as near the wish
        if isinstance(answer, Undecided) and answer.is_late:
            self._found.late.append(Late(self, changed, tried, goes_on=True))
        return self._further(changed, answer)

    def try_again(self, late: Late) -> Repairs | None:
        """Lock what was not decided in a short time; gives what can be changed with it."""
        answer = self._lock(late.changed, late.tried)
        if isinstance(answer, Undecided) and answer.is_late:
            late.tried.append(_attempt(late.changed, answer))
        return self._further(late.changed, answer) if late.goes_on else None

    def _further(self, changed: Changed, answer: Refutation | Undecided | None) -> Repairs | None:
        if not isinstance(answer, Refutation):
            return None
        clauses = answer.engine.clauses
        trials = self._trials.after(changed.text, clauses.universe)
        return Repairs(clauses, [answer.core], trials, self._found, changed)

    def _wanted(self) -> list[Ground] | None:
        """The cheapest set of changes that meets every demand so far."""
        if self._next is None and min(self._left, self._rounds) > 0:
            if self._found.safe >= WHOLE:
                self._corrections.keep_lines()
            self._next = self._corrections.cheapest()
            if self._next is None:
                self._left = 0
        return self._next

    def _priced(self, wanted: Sequence[Ground]) -> int:
        return self._before.price + sum(self._prices.of(ground) or 0 for ground in wanted)

    # --- sets of changes

    def _correct(self, wanted: Sequence[Ground]) -> Repairs | None:
        """Try a set of changes that meets every demand so far: a fix, or one more demand.

        The clauses do not know what is newer than the cut-off: without it, changes are up to that stack's repairs.
        """
        clauses, corrections = self._clauses, self._corrections
        for ground in filter(_is_cutoff, wanted):
            corrections.refuse([ground])
            self._left -= 1
            return self.propose(self._before.then(self._changes.apply([ground], {})), self._found.attempts)
        clauses.relaxed = frozenset(other for ground in wanted for other in self._prices.same(ground))
        try:
            if not clauses.satisfiable():
                if not self._demand(clauses.minimal()):
                    self._left = 0
                return None
            if not self._prices.keeps_a_line(wanted):
                corrections.refuse(wanted)
                return None
            self._left -= 1
            answer = self._try(wanted)
        finally:
            clauses.relaxed = frozenset()
        if answer.core is None or not self._demand(answer.core, answer.given):
            corrections.refuse(wanted, exactly=answer.is_unknown)
        return None

    def _demand(self, core: Sequence[Ground], given: Sequence[Ground] = ()) -> bool:
        """Demand that one of a core's grounds changes (where the `given` ones change); False where none may."""
        if any(map(is_unstated, core)):
            self._found.unstated = True
            self._found.unstated_in_wish |= self._is_wish and not given
        self._reasons.update(ground for ground in core if wish_of(ground) is None)
        # a core does not include releases that a line could become if there were files for the target
        self._propose([*core, *(lack for one in given if (lack := self._offers.lacking(one)) is not None)])
        changing = dict.fromkeys(self._prices.same(ground)[0] for ground in core)
        prices = {
            ground: price
            for ground in changing
            if not _is_proposed(ground) and (price := self._prices.of(ground)) is not None
        }
        if prices:
            self._corrections.demand(prices, given)
        return bool(prices)

    def _propose(self, core: Sequence[Ground]) -> None:
        """Make the proposals that a core suggests; no component changes twice."""
        done = {change.subject for change in self._before.changes}
        for component, several in (("python", self.proposals.pythons), ("glibc", self.proposals.glibcs)):
            if component not in done:
                self._proposed += map(self._before.then, islice(several([core]), _PROPOSED))
        if not self._is_wish:  # the practices for all cores of the wish are proposed together
            self._proposed += map(self._before.then, self.proposals.practices([core]))
        self._proposed += map(self._before.then, self.proposals.left_out(core))
        self._proposed.sort(key=lambda changed: changed.price)

    def _try(self, wanted: Sequence[Ground]) -> _Tried:
        """Lock the stacks to which a set of changes may lead."""
        clauses = self._clauses
        tried: list[Attempt] = []
        hit = hit_listed = failed = False
        for newest in (False,) if any(map(risky, wanted)) else (False, True):
            for choice in islice(self._choices(wanted, newest=newest), _TRIES):
                changed = self._changes.apply(wanted, choice)
                if self._trials.clock.expired():
                    return _Tried()
                if (locks := self._seen(changed)) is not None:
                    hit |= locks
                    hit_listed |= locks and not self._offers.count_unlisted(choice)
                    failed |= not locks  # for reasons that the clauses do not know
                    break
                changed = self._before.then(changed)
                answer = self._lock(changed, tried, briefly=True)
                if answer is None:
                    hit = True
                    hit_listed |= not self._offers.count_unlisted(choice)
                    break
                if isinstance(answer, Refutation):
                    clauses.learn(answer.engine.clauses)
                    rest = clash_of_rest(answer, self._trials.problem, clauses, wanted)
                    if rest is not None:
                        self._tell(rest, wanted)
                        return _Tried(rest.core)
                else:
                    failed = True
                    if answer.is_late:
                        attempts = self._found.attempts if self._is_wish else []
                        self._found.late.append(Late(self, changed, attempts, goes_on=False))
                    self._unreadable.update(one for one in choice.values() if not clauses.universe.opened(one))
        if hit_listed:
            return _Tried()
        if hit:
            self._unlisted.append(frozenset(wanted))
        free = _free(wanted)
        offered = [clauses.any_of(options) for options in self._options(wanted, newest=False).values()]
        if not clauses.satisfiable(offered):  # what was learned from the attempts
            core = clauses.minimal(offered)
            return _Tried([ground for ground in core if not (hit and risky(ground))], free)
        if hit:
            return _Tried()
        if self._is_wish:
            self._found.attempts += tried[:1]
        return _Tried(is_unknown=failed)

    def _tell(self, rest: Rest, wanted: Sequence[Ground]) -> None:
        """Record a contradiction that only showed once the stack was changed, as another one had hidden it."""
        reasons = [ground for ground in rest.core if wish_of(ground) is None]
        if not self._is_wish or not self._reasons.isdisjoint(reasons) or len(self._found.further) == _FURTHER:
            return
        told = told_of(rest, self._clauses, wanted, self._trials.clock.expired)
        if told is not None and len(told.statements) <= _READABLE:
            self._found.further.append((rest.core, told))

    def _try_days(self, changed: Changed) -> None:
        """For a stack that locks without its cut-off, find the first day with which, as its cut-off, it also does.

        A clash under one cut-off persists until one of the releases that it excludes may be used, so
        no earlier day is missed.
        """
        wish, stack = StackText(self._trials.wish), StackText(changed.text)
        later = stack.with_cutoff(wish)
        day = None
        for _ in range(_DAYS):
            answer = self._trials.lock(later.text, strictly=True)
            if isinstance(answer, Resolution) and day is not None:
                self._found.add(changed.until(day, later.text), answer)
            if not isinstance(answer, Refutation) or self._trials.clock.expired():
                return
            day = first_day(answer.engine.clauses, answer.core)
            if day is None:
                return
            later = stack.with_cutoff(wish, day)

    def _lock(self, changed: Changed, tried: list[Attempt], *, briefly: bool = False) -> Refutation | Undecided | None:
        """Lock a changed stack: the result is a fix, or an attempt and why it failed (unless it was late)."""
        key = changed.text, self._trials.notes is not None
        answer = self._trials.lock(changed.text, briefly=briefly)
        if isinstance(answer, Resolution):
            changed, answer = self._stated(changed, answer)
        if isinstance(answer, Resolution):
            changed, answer = self._practised(changed, answer)
        self._found.seen[key] = isinstance(answer, Resolution)
        if isinstance(answer, Resolution):
            self._found.seen[changed.text, False] = True  # notes do not matter any more
            if _is_useless(changed, answer):
                self._found.useless.append((changed, answer))
            elif not self._is_needless(changed) and not self._is_lesser(changed, answer):
                self._found.add(self._priced_as(changed, answer), answer)
                if changed.lifted is not None:
                    self._try_days(changed)
            return None
        if isinstance(answer, Refutation):
            self._found.unstated |= any(map(is_unstated, answer.core))
        if not (isinstance(answer, Undecided) and answer.is_late):
            tried.append(_attempt(changed, answer))
        return answer

    def _priced_as(self, changed: Changed, found: Resolution) -> Changed:
        """The same, with surcharges for doubtful and old releases that a change brings in and no line names."""
        named = {change.subject for change in changed.changes if change.kind is ChangeKind.VERSION}
        unlisted = sum(name not in named for name in self._offers.unlisted(found))
        surcharge = changed.surcharge + UNLISTED_LAST * unlisted + years_older(self._offers.years_behind(found))
        return msgspec.structs.replace(changed, price=changed.price + UNLISTED * unlisted, surcharge=surcharge)

    def _seen(self, changed: Changed) -> bool | None:
        """Whether a stack that was tried before locks; None if it was not tried."""
        return self._found.seen.get((changed.text, self._trials.notes is not None))

    def _stated(self, changed: Changed, found: Resolution) -> tuple[Changed, Resolution | Refutation | Undecided]:
        """A changed stack with a minimal set of the facts that the result rests on, and its lock."""
        notes = self._trials.notes
        needed = [] if notes is None else list(rests_on_notes(found, notes))
        if not needed:
            return changed, found
        stated = self.proposals.stating(changed, needed)
        answer = self._trials.lock(stated.text, strictly=True)
        for one in needed[:_NEEDED] if isinstance(answer, Resolution) else ():
            rest = [other for other in needed if other is not one]
            if not rest or not self._trials.clock.is_early():
                break
            fewer = self.proposals.stating(changed, rest)
            if isinstance(without := self._trials.lock(fewer.text, strictly=True), Resolution):
                needed, stated, answer = rest, fewer, without
        return stated, answer

    def _practised(self, changed: Changed, found: Resolution) -> tuple[Changed, Resolution | Refutation | Undecided]:
        """A changed stack with no more practices turned on than its lock rests on, and its lock."""
        used = {practice.id for practice in found.practices}
        idle = [name for name in changed.practices if name not in used]
        if not idle:
            return changed, found
        fewer = changed.without_practices(idle)
        return fewer, self._trials.lock(fewer.text, strictly=True)

    def _is_needless(self, changed: Changed) -> bool:
        """Whether some of the earlier and present changes are enough."""
        if self._is_wish:
            return False
        what = _subjects(changed)
        if any(_subjects(fix) <= what for fix, _ in self._found.fixes):
            return True
        return any(self._holds_without(change, changed) for change in self._before.changes)

    def _is_lesser(self, changed: Changed, found: Resolution) -> bool:
        """Whether a dropped line's project is installed all the same, and another fix only changes its version."""
        dropped = {one.subject for one in changed.changes if one.kind is ChangeKind.DROP and found.pin(one.subject)}
        if not dropped:
            return False
        kept = {_as_version(change, dropped) for change in changed.changes}
        return any(
            _subjects(fix) <= kept and any((ChangeKind.VERSION, name) in _subjects(fix) for name in dropped)
            for fix, _ in self._found.fixes
        )

    def _holds_without(self, change: Change, changed: Changed) -> bool:
        """Whether a fix also works without one of its earlier changes."""
        if change.kind is ChangeKind.COMPONENT:
            _, stack = self._changes.component(StackText(changed.text), change.subject, change.before)
            apart = stack.apart(self._trials.at, self._trials.others)
            return isinstance(self._trials.lock(apart.text), Resolution)
        if change is changed.lifted:
            stack = StackText(changed.text).with_cutoff(StackText(self._trials.wish))
            return isinstance(self._trials.lock(stack.text, strictly=True), Resolution)
        # a renamed project is needed as long as its line exists
        return change.kind is ChangeKind.VERSION and (change.kind, change.subject) not in _subjects(changed)

    def _choices(self, wanted: Sequence[Ground], *, newest: bool) -> Iterator[dict[Ground, Candidate]]:
        """Releases and values for what may change, in order of preference, that are not known to clash.

        What is learned while one choice is tried applies to the next. Whatever has the fewest candidates is chosen
        first; the number of looks is limited. Before each choice comes the same one with the components that
        have the fewest objections to its releases.
        """
        looks = takewhile(lambda _: not self._trials.clock.expired(), range(_LOOKS))
        options = self._options(wanted, newest=newest)
        free = sorted(options, key=lambda ground: len(options[ground]))
        before: list[dict[Ground, Candidate]] = []
        for choice in complete(self._clauses, options, free, {}, looks):
            for better in (*islice(self._on_its_machine(choice, options, looks), 1), choice):
                if better not in before and self._unreadable.isdisjoint(better.values()):
                    before.append(better)
                    yield better

    def _options(self, wanted: Sequence[Ground], *, newest: bool) -> dict[Ground, list[Candidate]]:
        """What each of a set of changes may become.

        If a subset is met by an unlisted release, only listed releases: with more changes than that, another unlisted
        one would be nothing new.
        """
        changing = _free(wanted)
        options = {
            ground: [
                one
                for one in self._offers.candidates(ground, newest=newest, among=changing)
                if one not in self._unreadable
            ]
            for ground in changing
        }
        if any(met.issubset(wanted) for met in self._unlisted):
            for ground, rows in options.items():
                options[ground] = [one for one in rows if not self._offers.count_unlisted({ground: one})]
        return options

    def _on_its_machine(
        self, choice: Mapping[Ground, Candidate], options: Mapping[Ground, Sequence[Candidate]], looks: Iterator[int]
    ) -> Iterator[dict[Ground, Candidate]]:
        """The releases of a choice with other values for its components, those with the fewest objections first."""
        free: list[Ground] = [ground for ground in choice if isinstance(ground, Component)]
        releases = {ground: candidate for ground, candidate in choice.items() if ground not in free}
        if not free or not releases or not self._offers.doubt(choice):
            return

        def doubts(ground: Ground) -> Callable[[Candidate], int]:
            return lambda value: self._offers.doubt({**choice, ground: value})

        values = {ground: sorted(options[ground], key=doubts(ground)) for ground in free}
        yield from complete(self._clauses, values, free, releases, looks)


def _subjects(changed: Changed) -> set[tuple[ChangeKind, str]]:
    practices = {(ChangeKind.PRACTICE, name) for name in changed.practices}
    return practices | {(one.kind, one.subject) for one in changed.changes if one.kind is not ChangeKind.PRACTICE}


def _as_version(change: Change, dropped: Collection[str]) -> tuple[ChangeKind, str]:
    """The subject of a change, with another version in place of a line dropped."""
    return (ChangeKind.VERSION if change.subject in dropped else change.kind, change.subject)


def _is_useless(changed: Changed, found: Resolution) -> bool:
    """Whether something does not work without a line that was dropped."""
    dropped = {change.subject for change in changed.changes if change.kind is ChangeKind.DROP}
    return any(useless_without(dropped, applied(found))) if dropped else False


def _is_cutoff(ground: Ground) -> bool:
    return isinstance(ground, Lacking) and ground.lack is Lack.CUTOFF


def _is_proposed(ground: Ground) -> bool:
    """Whether changing a ground is left to proposals, as the clauses do not know what it would bring."""
    return isinstance(ground, Component) and ground.name in ("python", "glibc")


def _free(wanted: Sequence[Ground]) -> list[Ground]:
    """The components and lines that become something else."""
    free: list[Ground] = [ground for ground in wanted if isinstance(ground, Component)]
    return free + [ground for ground in wanted if isinstance(ground, Line) and ground.aspect == "version"]


def _attempt(changed: Changed, answer: Refutation | Undecided) -> Attempt:
    match answer:
        case Undecided(why=""):
            return Attempt(changes=changed.changes, outcome=Outcome.UNDECIDED)
        case Undecided():
            return Attempt(changes=changed.changes, outcome=Outcome.FAILED, why=answer.why)
        case Refutation():
            statements: dict[Statement, None] = dict.fromkeys(tell(answer.engine.clauses, answer.core).values())
            return Attempt(changes=changed.changes, outcome=Outcome.CONFLICT, because=tuple(statements))
