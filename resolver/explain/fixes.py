"""What a search for ways out found: changed stacks that lock, attempts that failed, further contradictions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from math import inf

import msgspec

from resolver.explain.changes import Changed
from resolver.explain.costs import spares, useless_without
from resolver.explain.trial import Undecided
from resolver.lock.build import applied
from resolver.model.explanation import Attempt, Change, ChangeKind, Contradiction, Outcome
from resolver.model.resolution import Resolution
from resolver.resolve.core_statements import tell
from resolver.resolve.grounded import Ground
from resolver.resolve.solver import Refutation

_FIXES = 6
_RISKY = 2  # fixes that go against a fact or metadata and spare some of the wish
_AGAINST = 3  # fixes that go against a fact or metadata


class Found(msgspec.Struct):
    """The results of a search for fixes.

    `seen` says of every stack that was tried, with or without notes, whether it locks. `unstated` is set if a core
    was about an archive without static metadata, `unstated_in_wish` if it was a core of the original stack.
    `further` contradictions were found on the way. `useless` are stacks that lock, but something in them does not work
    without a line that was dropped. `report` is called with the first fix that goes against nothing.
    """

    report: Callable[[Changed], None] | None = None
    fixes: list[tuple[Changed, Resolution]] = msgspec.field(default_factory=list)
    useless: list[tuple[Changed, Resolution]] = msgspec.field(default_factory=list)
    attempts: list[Attempt] = msgspec.field(default_factory=list)
    seen: dict[tuple[str, bool], bool] = msgspec.field(default_factory=dict)
    unstated: bool = False
    unstated_in_wish: bool = False
    further: list[tuple[Sequence[Ground], Contradiction]] = msgspec.field(default_factory=list)

    def add(self, changed: Changed, resolution: Resolution) -> None:
        """One more fix."""
        if self.report is not None and not changed.risky and not self.safe:
            self.report(changed)
        self.fixes.append((changed, resolution))

    @property
    def safe(self) -> int:
        """How many fixes go against nothing."""
        return sum(not changed.risky for changed, _ in self.fixes)

    @property
    def cheapest(self) -> float:
        """The price of the cheapest fix that goes against nothing; infinite if there is none."""
        return min((changed.price for changed, _ in self.fixes if not changed.risky), default=inf)

    def is_enough(self) -> bool:
        """Whether there are so many fixes that no more are looked for."""
        rows = [changed for changed, _ in self.fixes]
        against = [one for one in rows if one.risky]
        sparing = [
            one
            for one in against
            if not any(spares(other.changes, one.changes) for other in rows if other.price < one.price)
        ]
        return len(rows) >= _FIXES or len(against) >= _AGAINST or len(sparing) >= _RISKY

    def has_part_of(self, changed: Changed) -> bool:
        """Whether some of these changes are a fix by themselves."""
        return any(subjects(fix) <= subjects(changed) for fix, _ in self.fixes)

    def is_lesser(self, changed: Changed, resolution: Resolution) -> bool:
        """Whether a dropped line's project is installed all the same, and another fix only changes its version."""
        dropped = {name for name in _dropped(changed) if resolution.pin(name)}
        kept = {_as_version(change, dropped) for change in changed.changes}
        return any(
            subjects(fix) <= kept and any((ChangeKind.VERSION, name) in subjects(fix) for name in dropped)
            for fix, _ in self.fixes
        )


def is_useless(changed: Changed, resolution: Resolution) -> bool:
    """Whether something does not work without a line that was dropped."""
    dropped = _dropped(changed)
    return any(useless_without(dropped, applied(resolution))) if dropped else False


def subjects(changed: Changed) -> set[tuple[ChangeKind, str]]:
    """What changes, practices one by one."""
    practices = {(ChangeKind.PRACTICE, name) for name in changed.practices}
    return practices | {(one.kind, one.subject) for one in changed.changes if one.kind is not ChangeKind.PRACTICE}


def _dropped(changed: Changed) -> set[str]:
    return {change.subject for change in changed.changes if change.kind is ChangeKind.DROP}


def _as_version(change: Change, dropped: Collection[str]) -> tuple[ChangeKind, str]:
    """The subject of a change, with another version in place of a line dropped."""
    return (ChangeKind.VERSION if change.subject in dropped else change.kind, change.subject)


def attempt(changed: Changed, answer: Refutation | Undecided) -> Attempt:
    """Changes that gave no lock."""
    match answer:
        case Undecided(why=""):
            return Attempt(changes=changed.changes, outcome=Outcome.UNDECIDED)
        case Undecided():
            return Attempt(changes=changed.changes, outcome=Outcome.FAILED, why=answer.why)
        case Refutation():
            statements = dict.fromkeys(tell(answer.engine.clauses, answer.core).values())
            return Attempt(changes=changed.changes, outcome=Outcome.CONFLICT, because=tuple(statements))
