"""Minimal changes that give a stack a solution, each one locked before it is shown.

What may change are grounds: a line's version or extra, a component, a fact
that is not enforced, a requirement of metadata. Every core names some of
them, and a set of changes that is to help must meet every core. So the
cheapest set that meets the cores known so far is tried: either it clashes
again, which gives a new core, or it is a minimal correction set, and releases
for it are looked for and locked. The same duality as in `smallest`, over costs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from pysat.examples.hitman import Hitman

from resolver.explain.changes import Changed, Changes
from resolver.explain.trial import Trials
from resolver.model.candidate import Candidate
from resolver.model.explanation import Attempt, Outcome
from resolver.model.resolution import Resolution
from resolver.model.statement import Statement
from resolver.solve.clauses import Clauses
from resolver.solve.ground import Component, Ground, Line
from resolver.solve.solver import Refutation
from resolver.solve.tell import tell

_FIXES = 6
_RISKY = 2  # of them, such as go against a fact or against metadata
_SETS = 24  # sets of changes that are looked at
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
    with Hitman(solver="m22", htype="sorted") as hitman:
        for core in cores:
            if not _hit(hitman, changes, core):
                return found
        for _ in range(_SETS):
            against = sum(1 for changed, _ in found.fixes if changed.risky)
            if len(found.fixes) >= _FIXES or against >= _RISKY or trials.clock.expired():
                break
            wanted: list[Ground] | None = hitman.get()
            if wanted is None:
                break
            clauses.relaxed = frozenset(wanted)
            try:
                if not clauses.satisfiable():
                    if not _hit(hitman, changes, clauses.minimal()):
                        break
                    continue
                proof = _try(clauses, changes, trials, wanted, found, seen)
            finally:
                clauses.relaxed = frozenset()
            if proof is None:
                hitman.block(wanted)
            elif not _hit(hitman, changes, proof):
                break
    return found


def _hit(hitman: Hitman, changes: Changes, core: Sequence[Ground]) -> bool:
    """Demand that one of a core's grounds changes; False where none may."""
    prices = {ground: price for ground in core if (price := changes.price(ground)) is not None}
    if prices:
        hitman.hit(list(prices), weights=prices)
    return bool(prices)


def _try(
    clauses: Clauses, changes: Changes, trials: Trials, wanted: Sequence[Ground], found: Found, seen: set[str]
) -> list[Ground] | None:
    """Lock what a set of changes may come to. Gives a core if it proves that the set does not help."""
    tried: list[Attempt] = []
    hit = False
    risky = any(changes.risky(ground) for ground in wanted)
    for newest in (False,) if risky else (False, True):
        for choice in islice(_choices(clauses, changes, wanted, newest=newest), _TRIES):
            changed = changes.apply(wanted, choice)
            if changed is None:
                break
            if changed.text in seen:
                hit = True
                break
            if trials.clock.expired():
                break
            answer = trials.lock(changed.text)
            if isinstance(answer, Resolution):
                seen.add(changed.text)
                found.fixes.append((changed, answer))
                hit = True
                break
            tried.append(_attempt(changed, answer))
            if isinstance(answer, Refutation):
                clauses.learn(answer.engine.clauses)
                answer.engine.clauses.close()
    if hit:
        return None
    if not clauses.satisfiable():  # what was learned from the attempts
        return clauses.minimal()
    found.attempts += tried[:1]
    return None


def _choices(
    clauses: Clauses, changes: Changes, wanted: Sequence[Ground], *, newest: bool
) -> Iterator[dict[Ground, Candidate]]:
    """Releases and values for what may change, in the order of preference, that what is known does not rule out."""
    free: list[Ground] = [ground for ground in wanted if isinstance(ground, Component)]
    free += [ground for ground in wanted if isinstance(ground, Line) and ground.aspect == "version"]
    refused: set[tuple[Candidate, ...]] = set()
    while True:
        choice: dict[Ground, Candidate] = {}
        for ground in free:
            for candidate in changes.candidates(ground, newest=newest):
                if (*choice.values(), candidate) in refused:
                    continue
                assumed = [clauses.variable(one) for one in (*choice.values(), candidate)]
                if clauses.satisfiable(assumed):
                    _open(clauses, candidate)
                    if clauses.satisfiable(assumed):
                        choice[ground] = candidate
                        break
            if ground not in choice:
                return
        yield choice
        if not free:
            return
        refused.add(tuple(choice.values()))


def _open(clauses: Clauses, candidate: Candidate) -> None:
    """Open a release together with its extras, as far as they are in question."""
    for package, known in list(clauses.packages.items()):
        if package.name == candidate.package.name and package.kind is candidate.package.kind:
            for other in known:
                if other.chosen is candidate.chosen:
                    clauses.open(other)


def _attempt(changed: Changed, answer: Refutation | None) -> Attempt:
    if answer is None:
        return Attempt(changes=changed.changes, outcome=Outcome.UNDECIDED)
    statements: dict[Statement, None] = dict.fromkeys(tell(answer.engine.clauses, answer.core).values())
    return Attempt(changes=changed.changes, outcome=Outcome.CONFLICT, because=tuple(statements))
