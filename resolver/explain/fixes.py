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
from resolver.explain.trial import Trials
from resolver.model.candidate import Candidate
from resolver.model.explanation import Attempt, Outcome
from resolver.model.resolution import Resolution
from resolver.model.statement import Lack, Statement
from resolver.solve.clauses import Clauses
from resolver.solve.ground import Component, Ground, Lacking, Line
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
    """What a search for fixes came to. `limited` where its bounds ended it."""

    fixes: list[tuple[Changed, Resolution]] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)


def find(clauses: Clauses, cores: Sequence[Sequence[Ground]], trials: Trials) -> Found:
    """Fixes in the order of their price, and what was tried in vain."""
    found = Found()
    changes = Changes(clauses, trials)
    seen: set[str] = set()
    if any(_hangs_on_python(ground) for core in cores for ground in core):
        _try_each(changes.other_pythons(), trials, found)
    for core in cores:
        _try_each(changes.builds(core), trials, found)
    with Corrections() as corrections:
        for core in cores:
            if not _demand(corrections, changes, core):
                return found
        for _ in range(_SETS):
            if _enough(found) or trials.clock.expired():
                break
            wanted = corrections.cheapest()
            if wanted is None:
                break
            clauses.relaxed = frozenset(other for ground in wanted for other in changes.same(ground))
            try:
                if not clauses.satisfiable():
                    if not _demand(corrections, changes, clauses.minimal()):
                        break
                    continue
                if not changes.keeps_a_line(wanted):
                    corrections.refuse(wanted)
                    continue
                given, proof = _try(clauses, changes, trials, wanted, found, seen)
            finally:
                clauses.relaxed = frozenset()
            if len(found.fixes) >= _WHOLE:
                corrections.keep_lines()
            if proof is None or not _demand(corrections, changes, proof, given):
                corrections.refuse(wanted)
    return found


def _try_each(several: Iterator[Changed], trials: Trials, found: Found) -> None:
    """Changes of what can be used at all, of which the clauses know nothing: each is locked until one holds."""
    for changed in islice(several, _EACH):
        if trials.clock.expired() or any(changed.text == other.text for other, _ in found.fixes):
            return
        answer = trials.lock(changed.text)
        if isinstance(answer, Resolution):
            found.fixes.append((changed, answer))
            return
        found.attempts.append(_attempt(changed, answer))


def _hangs_on_python(ground: Ground) -> bool:
    return ground == Component("python") or (isinstance(ground, Lacking) and ground.lack is Lack.FILE)


def _enough(found: Found) -> bool:
    against = sum(1 for changed, _ in found.fixes if changed.risky)
    return len(found.fixes) >= _FIXES or against >= _RISKY


def _demand(corrections: Corrections, changes: Changes, core: Sequence[Ground], given: Sequence[Ground] = ()) -> bool:
    """Demand that one of a core's grounds changes (where the `given` ones change); False where none may."""
    changing = dict.fromkeys(changes.same(ground)[0] for ground in core)
    prices = {ground: price for ground in changing if (price := changes.price(ground)) is not None}
    if prices:
        corrections.demand(prices, given)
    return bool(prices)


def _try(
    clauses: Clauses, changes: Changes, trials: Trials, wanted: Sequence[Ground], found: Found, seen: set[str]
) -> tuple[list[Ground], list[Ground] | None]:
    """Lock what a set of changes may come to.

    Where that proves that no release on offer helps, gives the grounds whose
    releases were offered, and a core under which they clash.
    """
    tried: list[Attempt] = []
    hit = False
    for newest in (False,) if any(map(changes.risky, wanted)) else (False, True):
        for choice in islice(_choices(clauses, changes, wanted, newest=newest), _TRIES):
            changed = changes.apply(wanted, choice)
            if changed.text in seen or trials.clock.expired():
                hit = True
                break
            seen.add(changed.text)
            answer = trials.lock(changed.text)
            if isinstance(answer, Resolution):
                found.fixes.append((changed, answer))
                hit = True
                break
            tried.append(_attempt(changed, answer))
            if isinstance(answer, Refutation):
                clauses.learn(answer.engine.clauses)
                answer.engine.clauses.close()
    free = _free(wanted)
    if not hit:
        offered = [_any_of(clauses, changes, ground) for ground in free]
        if not clauses.satisfiable(offered):  # what was learned from the attempts
            return free, clauses.minimal(offered)
        found.attempts += tried[:1]
    return free, None


def _any_of(clauses: Clauses, changes: Changes, ground: Ground) -> int:
    """A variable that stands for any of what a line or a component may become."""
    return clauses.any_of(changes.candidates(ground, newest=True))


def _choices(
    clauses: Clauses, changes: Changes, wanted: Sequence[Ground], *, newest: bool
) -> Iterator[dict[Ground, Candidate]]:
    """Releases and values for what may change, in the order of preference, that what is known does not rule out.

    What is learned while a choice is tried counts for the next. Those with the
    fewest candidates are chosen first; after so many looks it is given up.
    """
    options = {ground: list(changes.candidates(ground, newest=newest)) for ground in _free(wanted)}
    free = sorted(options, key=lambda ground: len(options[ground]))
    yield from _complete(clauses, options, free, {}, iter(range(_LOOKS)))


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


def _attempt(changed: Changed, answer: Refutation | None) -> Attempt:
    if answer is None:
        return Attempt(changes=changed.changes, outcome=Outcome.UNDECIDED)
    statements: dict[Statement, None] = dict.fromkeys(tell(answer.engine.clauses, answer.core).values())
    return Attempt(changes=changed.changes, outcome=Outcome.CONFLICT, because=tuple(statements))
