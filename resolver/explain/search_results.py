"""Keep what a search for fixes has found, and say when that is enough."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf

import msgspec

from resolver.explain.changed_stack import ChangedStack, EditSet
from resolver.explain.trials import Answer, Undecided
from resolver.model.change import ChangeKind
from resolver.model.constraint import Constraint
from resolver.model.explanation import Attempt, AttemptOutcome, Contradiction
from resolver.model.message import Message
from resolver.model.resolution import Resolution
from resolver.resolve.refutation import Refutation

# With so many fixes, the search ends.
_FIXES = 6
# With so many fixes that contradict a fact or metadata, the search ends.
_AGAINST = 1


class FixSearchResults(msgspec.Struct):
    """What a search for fixes has found so far."""

    # Is called with each fix that contradicts no fact and no metadata, before it is added.
    report: Callable[[ChangedStack], None]
    # The fixes, each with its lock for the explained target, in the order in which they were found.
    fixes: list[tuple[ChangedStack, Resolution]] = msgspec.field(default_factory=list)
    # Changed stacks that lock, but in which something does not work, according to a warning. They
    # are no fixes.
    useless: list[ChangedStack] = msgspec.field(default_factory=list)
    # The changed stacks that did not lock, and why.
    attempts: list[Attempt] = msgspec.field(default_factory=list)
    # Whether a changed stack locks, by the number of the target and the edits.
    seen: dict[tuple[int, EditSet], bool] = msgspec.field(default_factory=dict)
    # The changed stacks that lock for one target, and not for another.
    refused: set[EditSet] = msgspec.field(default_factory=set)
    # Further contradictions of the original stack that the search found, each after its core.
    further: list[tuple[Sequence[Constraint], Contradiction]] = msgspec.field(default_factory=list)
    # The indexes that could not be reached, by the project of which they might have releases for
    # further fixes.
    unreachable_projects: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)

    def add(self, changed: ChangedStack, resolution: Resolution) -> None:
        """Add a fix and its lock, and remove the fixes that change the same and more.

        A fix stays if the new one has more releases that are not known to work.
        """
        if not changed.risky:
            self.report(changed)
        self.fixes = [
            (fix, lock)
            for fix, lock in self.fixes
            if fix.subjects == changed.subjects
            or changed.unproven > fix.unproven
            or not fix.includes(changed)
        ]
        self.fixes.append((changed, resolution))

    def add_useless(self, changed: ChangedStack, warning: Message) -> None:
        """Add a changed stack in which something does not work, according to a warning.

        It is reported as an attempt.
        """
        self.useless.append(changed)
        outcome = AttemptOutcome.USELESS
        self.attempts.append(Attempt(changes=changed.reported, outcome=outcome, warning=warning))

    def add_attempt(self, changed: ChangedStack, answer: Answer, target: str = "") -> None:
        """Add a changed stack that did not lock to the attempts; one that did is left out.

        `answer` is the answer for the target with the name `target`; for the explained target it is
        empty.
        """
        if not isinstance(answer, Resolution):
            self.attempts.append(_attempt(changed, answer, target))

    @property
    def safe(self) -> int:
        """Return how many fixes contradict no fact and no metadata."""
        return sum(not changed.risky for changed, _ in self.fixes)

    @property
    def cheapest(self) -> float:
        """Return the price of the cheapest fix that contradicts no fact and no metadata.

        It is infinite if there is none.
        """
        return min((changed.price for changed, _ in self.fixes if not changed.risky), default=inf)

    def is_enough(self) -> bool:
        """Return whether enough fixes were found for the search to end."""
        return len(self.fixes) >= _FIXES or len(self.fixes) - self.safe >= _AGAINST

    def is_lesser(self, changed: ChangedStack, resolution: Resolution) -> bool:
        """Return whether a changed stack drops a line in vain, and an existing fix does not.

        A line is dropped in vain if its project is installed all the same. The existing fix changes
        the version of that project instead, and nothing else that this stack does not change.
        """
        installed = {name for name in changed.dropped if resolution.pin(name)}
        subjects = {
            (ChangeKind.VERSION if subject in installed else kind, subject, target)
            for kind, subject, target in changed.subjects
        }
        versions = {(ChangeKind.VERSION, name, "") for name in installed}
        return any(
            fix.subjects <= subjects and not versions.isdisjoint(fix.subjects)
            for fix, _ in self.fixes
        )


def _attempt(changed: ChangedStack, answer: Refutation | Undecided, target: str) -> Attempt:
    """Return the report of a changed stack that did not lock.

    `answer` says why it did not. `target` is the name of the target for which it did not lock;
    empty for the explained one.
    """
    changes = changed.reported
    if isinstance(answer, Undecided):
        outcome = AttemptOutcome.FAILED if answer.why else AttemptOutcome.UNDECIDED
        return Attempt(changes=changes, outcome=outcome, why=answer.why, target=target)
    if target:
        return Attempt(changes=changes, outcome=AttemptOutcome.ELSEWHERE, target=target)
    return Attempt(changes=changes, outcome=AttemptOutcome.CONFLICT, because=answer.reasons)
