"""A changed stack: the original one with the changes that the search for fixes made."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import msgspec
from msgspec.structs import replace

from resolver.explain import costs
from resolver.model.edit import Edit, Edits, place_of
from resolver.model.explanation import Change, ChangeKind
from resolver.model.resolution import Resolution

# Identifies a changed stack: two with the same edits are the same.
EditSet = frozenset[Edit]


class ChangedStack(msgspec.Struct, frozen=True):
    """The original stack with some changes."""

    # The changes, in the order in which they were made.
    changes: tuple[Change, ...]
    # The sum of what the changes cost, see `costs`.
    price: int
    # Whether a change contradicts a fact or metadata.
    risky: bool
    # How many releases in its lock are in no compatibility table, plus how many archives are built
    # although other machines have wheels.
    unproven: int = 0
    # Full years by which releases in its lock that no change names are older than the newest ones
    # of its day that lines admit: of the projects that tables pair, added up.
    years_older: int = 0
    # The same of all other projects, for the one that is oldest.
    others_older: int = 0

    @property
    def edits(self) -> Edits:
        """Return the edits that make this stack from the original one."""
        return tuple(map(edit_of, self.changes))

    @property
    def key(self) -> EditSet:
        """Return what identifies this changed stack: its edits, in no order."""
        return frozenset(self.edits)

    @property
    def reported(self) -> tuple[Change, ...]:
        """Return the changes, with all practices that are turned on merged into one change."""
        practices = [change for change in self.changes if change.kind is ChangeKind.PRACTICE]
        if not practices:
            return self.changes
        names = sorted(change.subject for change in practices)
        merged = replace(
            practices[0], subject=", ".join(names), after=f"practices = {as_list(names)}"
        )
        others = [change for change in self.changes if change not in practices]
        return (merged, *others)

    @property
    def subjects(self) -> set[tuple[ChangeKind, str, str]]:
        """Return the kind, the subject and the other target of each change."""
        return {(change.kind, change.subject, change.target) for change in self.changes}

    @property
    def dropped(self) -> set[str]:
        """Return the projects and components whose lines are dropped."""
        return {change.subject for change in self.changes if change.kind is ChangeKind.DROP}

    def without(self, changes: Collection[Change]) -> ChangedStack:
        """Return this changed stack without some of its changes. The price stays as it is."""
        kept = tuple(change for change in self.changes if change not in changes)
        return replace(self, changes=kept)

    def idle(self, resolution: Resolution) -> list[Change]:
        """Return the changes about archives that a lock does not contain.

        Such a change states what an archive without static metadata requires.
        """
        idle = []
        for change in self.changes:
            if change.kind is ChangeKind.STATE:
                pin = resolution.pin(change.subject)
                if pin is None or pin.release.file.filename != change.before:
                    idle.append(change)
        return idle

    def includes(self, other: ChangedStack) -> bool:
        """Return whether this stack changes everything that another one changes.

        False if a line gets a release here that is nearer to the original one than in the other
        stack.
        """
        return other.subjects <= self.subjects and not self._is_nearer(other)

    def _is_nearer(self, other: ChangedStack) -> bool:
        """Return whether a line gets a release nearer to the original one than in another stack."""
        steps = {
            change.subject: abs(change.steps)
            for change in other.changes
            if change.kind is ChangeKind.VERSION
        }
        return any(
            change.kind is ChangeKind.VERSION and abs(change.steps) < steps.get(change.subject, 0)
            for change in self.changes
        )

    def then(self, other: ChangedStack) -> ChangedStack:
        """Return these changes followed by the changes of another stack.

        What both change is reported once, and is paid for once. If the second change restores the
        original value, neither is reported.
        """
        changes = {place_of(edit_of(change)): change for change in self.changes}
        price = self.price + other.price
        for later in other.changes:
            place = place_of(edit_of(later))
            earlier = changes.get(place)
            if earlier is None:
                changes[place] = later
                continue
            price -= costs.saved_price(earlier)
            if earlier.edit != later.edit and earlier.before == later.after:
                price -= costs.saved_price(later)
                del changes[place]
            else:
                changes[place] = _joined(earlier, later)
        return ChangedStack(
            changes=tuple(changes.values()),
            price=price,
            risky=self.risky or other.risky,
            unproven=self.unproven + other.unproven,
        )


def edit_of(change: Change) -> Edit:
    """Return the edit that a change makes in a stack.

    A change of kind SPLIT has no edit, and must not be passed.
    """
    assert change.edit is not None  # noqa: S101
    return change.edit


def _joined(change: Change, later: Change) -> Change:
    """Return two successive changes of the same line or component as one change."""
    is_extra = change.kind is ChangeKind.EXTRA or later.kind is ChangeKind.DROP
    return replace(
        later,
        kind=later.kind if is_extra else change.kind,
        before=change.before,
        steps=change.steps + later.steps,
        years=change.years + later.years,
        days=change.days + later.days,
    )


def as_list(names: Iterable[str]) -> str:
    """Return names as a TOML array of strings on one line.

    The names must need no escaping: they are names of facts.
    """
    quoted = ", ".join(f'"{name}"' for name in names)
    return f"[{quoted}]"
