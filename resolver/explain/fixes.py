"""Minimal changes that give a stack a solution, each one locked before it is shown.

What may change are grounds: a line's version or extra, a component, a fact
that is not enforced, a requirement of metadata. Every core names some of
them, and a set of changes that is to help must meet every core. So the
cheapest set that meets the cores known so far is tried: either it clashes
again, which gives a new core, or it is a minimal correction set, and releases
for it are looked for and locked. The same duality as in `smallest`, over costs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice

from resolver.errors import ResolverError
from resolver.explain.changes import Changed, Changes
from resolver.explain.corrections import Corrections
from resolver.explain.offers import Offers
from resolver.explain.prices import Prices, risky
from resolver.explain.proposals import Proposals
from resolver.explain.trial import Failure, Trials
from resolver.model.candidate import Candidate
from resolver.model.explanation import Attempt, Outcome
from resolver.model.resolution import Resolution
from resolver.model.statement import Statement
from resolver.solve.clauses import Clauses
from resolver.solve.ground import Component, Ground, Line
from resolver.solve.solver import Refutation
from resolver.solve.tell import tell

_FIXES = 6
_WHOLE = 2  # fixes after which none is looked for that drops a line
_RISKY = 2  # of them, such as go against a fact or against metadata
_SETS = 24  # sets of changes that are looked at
_EACH = 4
_LOOKS = 400  # candidates that are looked at for one set and one direction
_AHEAD = {0: 4, 4: 12, 16: 16, 32: 16, 48: 16}  # how many candidates are asked for at once, from which on
_TRIES = 3  # releases that are locked for one set and one direction, until one holds


@dataclass
class Found:
    """What a search for fixes came to."""

    fixes: list[tuple[Changed, Resolution]] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)


def find(clauses: Clauses, cores: Sequence[Sequence[Ground]], trials: Trials) -> Found:
    """Fixes in the order of their price, and what was tried in vain."""
    return _Search(clauses, trials).run(cores)


class _Search:
    def __init__(self, clauses: Clauses, trials: Trials) -> None:
        self._clauses = clauses
        self._trials = trials
        own_cutoff = trials.inputs.stack.content.policy.exclude_newer is not None
        self._prices = Prices(clauses, trials.problem, own_cutoff=own_cutoff)
        self._offers = Offers(clauses, trials.problem)
        self._changes = Changes(clauses, trials, self._prices, self._offers)
        self._found = Found()
        self._seen: set[str] = set()

    def run(self, cores: Sequence[Sequence[Ground]]) -> Found:
        proposals = Proposals(self._clauses, self._trials, self._changes)
        for several in (proposals.names(cores), proposals.pythons(cores), proposals.glibcs(cores)):
            self._try_each(several)
        for core in cores:
            self._try_each(proposals.builds(core))
        with Corrections() as corrections:
            if all(self._demand(corrections, core) for core in cores):
                self._correct(corrections)
        return self._found

    def _try_each(self, several: Iterator[Changed]) -> None:
        """Changes of what can be used at all: each is locked until one holds."""
        for changed in islice(several, _EACH):
            if self._trials.clock.expired() or any(changed.text == other.text for other, _ in self._found.fixes):
                return
            if self._lock(changed, self._found.attempts) is None:
                return

    def _lock(self, changed: Changed, tried: list[Attempt]) -> Refutation | Failure | None:
        """Lock a changed stack: a fix, or one more attempt, and why it is none."""
        answer = self._trials.lock(changed.text)
        if isinstance(answer, Resolution):
            self._found.fixes.append((changed, answer))
            return None
        tried.append(_attempt(changed, answer))
        return answer

    def _correct(self, corrections: Corrections) -> None:
        """Try the cheapest sets of changes that meet every demand, one after the other."""
        clauses = self._clauses
        for _ in range(_SETS):
            if self._enough() or self._trials.clock.expired():
                return
            wanted = corrections.cheapest()
            if wanted is None:
                return
            clauses.relaxed = frozenset(other for ground in wanted for other in self._prices.same(ground))
            try:
                if not clauses.satisfiable():
                    if not self._demand(corrections, clauses.minimal()):
                        return
                    continue
                if not self._prices.keeps_a_line(wanted):
                    corrections.refuse(wanted)
                    continue
                proof, failed = self._try(wanted)
            finally:
                clauses.relaxed = frozenset()
            if len(self._found.fixes) >= _WHOLE:
                corrections.keep_lines()
            if proof is None or not self._demand(corrections, proof, _free(wanted)):
                corrections.refuse(wanted, exactly=failed)

    def _enough(self) -> bool:
        against = sum(1 for changed, _ in self._found.fixes if changed.risky)
        return len(self._found.fixes) >= _FIXES or against >= _RISKY

    def _demand(self, corrections: Corrections, core: Sequence[Ground], given: Sequence[Ground] = ()) -> bool:
        """Demand that one of a core's grounds changes (where the `given` ones change); False where none may."""
        changing = dict.fromkeys(self._prices.same(ground)[0] for ground in core)
        prices = {ground: price for ground in changing if (price := self._prices.of(ground)) is not None}
        if prices:
            corrections.demand(prices, given)
        return bool(prices)

    def _try(self, wanted: Sequence[Ground]) -> tuple[list[Ground] | None, bool]:
        """Lock what a set of changes may come to.

        Where that proves that no release on offer helps, gives a core under which those offered clash.
        The flag tells that it is not known whether the set helps: something else was in the way.
        """
        clauses = self._clauses
        tried: list[Attempt] = []
        hit = failed = False
        for newest in (False,) if any(map(risky, wanted)) else (False, True):
            for choice in islice(self._choices(wanted, newest=newest), _TRIES):
                changed = self._changes.apply(wanted, choice)
                if changed.text in self._seen or self._trials.clock.expired():
                    hit = True
                    break
                self._seen.add(changed.text)
                answer = self._lock(changed, tried)
                if answer is None:
                    hit = True
                    break
                if isinstance(answer, Refutation):
                    clauses.learn(answer.engine.clauses)
                else:
                    failed = True
        if hit:
            return None, False
        offered = [clauses.any_of(self._offers.candidates(ground, newest=True)) for ground in _free(wanted)]
        if not clauses.satisfiable(offered):  # what was learned from the attempts
            return clauses.minimal(offered), False
        self._found.attempts += tried[:1]
        return None, failed

    def _choices(self, wanted: Sequence[Ground], *, newest: bool) -> Iterator[dict[Ground, Candidate]]:
        """Releases and values for what may change, in the order of preference, that what is known does not rule out.

        What is learned while a choice is tried counts for the next. Those with the
        fewest candidates are chosen first; after so many looks it is given up.
        """
        options = {ground: list(self._offers.candidates(ground, newest=newest)) for ground in _free(wanted)}
        free = sorted(options, key=lambda ground: len(options[ground]))
        yield from _complete(self._clauses, options, free, {}, iter(range(_LOOKS)))


def _free(wanted: Sequence[Ground]) -> list[Ground]:
    """The components and lines that become something else."""
    free: list[Ground] = [ground for ground in wanted if isinstance(ground, Component)]
    return free + [ground for ground in wanted if isinstance(ground, Line) and ground.aspect == "version"]


def _complete(
    clauses: Clauses,
    options: Mapping[Ground, Sequence[Candidate]],
    free: Sequence[Ground],
    choice: dict[Ground, Candidate],
    looks: Iterator[int],
) -> Iterator[dict[Ground, Candidate]]:
    """Every way to complete a choice, as long as there are looks left."""
    if not free:
        yield dict(choice)
        return
    ground, rest = free[0], free[1:]
    for at, candidate in enumerate(options[ground]):
        if next(looks, None) is None:
            return
        if at in _AHEAD:
            clauses.expect(options[ground][at : at + _AHEAD[at]])
        assumed = [clauses.variable(one) for one in (*choice.values(), candidate)]
        if not clauses.satisfiable(assumed):
            continue
        _open(clauses, candidate)
        if clauses.satisfiable(assumed):
            yield from _complete(clauses, options, rest, {**choice, ground: candidate}, looks)
        if not clauses.satisfiable([clauses.variable(one) for one in choice.values()]):
            return  # nothing for this one can be right any more


def _open(clauses: Clauses, candidate: Candidate) -> None:
    """Open a release together with its extras, as far as they are in question and can be had."""
    for package, known in list(clauses.packages.items()):
        if package.name == candidate.package.name and package.kind is candidate.package.kind:
            for other in known:
                if other.chosen is candidate.chosen:
                    with suppress(ResolverError):  # it stays unknown; to lock it for real tells
                        clauses.open(other)


def _attempt(changed: Changed, answer: Refutation | Failure) -> Attempt:
    match answer:
        case Failure(why=""):
            return Attempt(changes=changed.changes, outcome=Outcome.UNDECIDED)
        case Failure():
            return Attempt(changes=changed.changes, outcome=Outcome.FAILED, why=answer.why)
        case Refutation():
            statements: dict[Statement, None] = dict.fromkeys(tell(answer.engine.clauses, answer.core).values())
            return Attempt(changes=changed.changes, outcome=Outcome.CONFLICT, because=tuple(statements))
