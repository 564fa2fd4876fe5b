"""A changed stack: the original one with the changes that the search for fixes made."""

from __future__ import annotations

from collections.abc import Collection
from itertools import chain

import msgspec
from msgspec.structs import replace

from resolver.explain import costs
from resolver.model.change import (
    ArchiveStated,
    Change,
    ChangeKind,
    ComponentChanged,
    ExtrasRemoved,
    LineAdded,
    LineDropped,
    PracticesOn,
    VersionChanged,
    subjects_of,
)
from resolver.model.edit import Edit, Edits, place_of
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
        return tuple(change.edit for change in self.changes)

    @property
    def key(self) -> EditSet:
        """Return what identifies this changed stack: its edits, in no order."""
        return frozenset(self.edits)

    @property
    def reported(self) -> tuple[Change, ...]:
        """Return the changes, with all practices that are turned on merged into one change."""
        practices = [change for change in self.changes if isinstance(change, PracticesOn)]
        if not practices:
            return self.changes
        names = sorted(chain.from_iterable(change.names for change in practices))
        others = [change for change in self.changes if change not in practices]
        return (replace(practices[0], names=tuple(names)), *others)

    @property
    def subjects(self) -> set[tuple[ChangeKind, str, str]]:
        """Return the kind, the subject and the other target of each change."""
        return subjects_of(self.changes)

    @property
    def dropped(self) -> set[str]:
        """Return the projects and components whose lines are dropped."""
        return {change.subject for change in self.changes if isinstance(change, LineDropped)}

    def without(self, changes: Collection[Change]) -> ChangedStack:
        """Return this changed stack without some of its changes. The price stays as it is."""
        kept = tuple(change for change in self.changes if change not in changes)
        return replace(self, changes=kept)

    def idle(self, resolution: Resolution) -> list[Change]:
        """Return the changes about archives that a lock does not contain.

        Such a change states what an archive without static metadata requires.
        """
        idle: list[Change] = []
        for change in self.changes:
            if isinstance(change, ArchiveStated):
                pin = resolution.pin(change.project)
                if pin is None or pin.release.file.filename != change.archive:
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
            if isinstance(change, VersionChanged)
        }
        return any(
            isinstance(change, VersionChanged) and abs(change.steps) < steps.get(change.subject, 0)
            for change in self.changes
        )

    def then(self, other: ChangedStack) -> ChangedStack:
        """Return these changes followed by the changes of another stack.

        What both change is reported once, and is paid for once. If the second change restores the
        original value, neither is reported.
        """
        changes = {place_of(change.edit): change for change in self.changes}
        price = self.price + other.price
        for later in other.changes:
            place = place_of(later.edit)
            earlier = changes.get(place)
            if earlier is None:
                changes[place] = later
                continue
            price -= costs.saved_price(earlier)
            if _restores(later, earlier):
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


def _restores(later: Change, earlier: Change) -> bool:
    """Return whether a change of what another one changed restores what the stack had first."""
    if later.edit == earlier.edit:
        return False
    match earlier, later:
        case LineAdded(), LineDropped():
            return True
        case VersionChanged() | ExtrasRemoved(), VersionChanged() | ExtrasRemoved():
            # The line may be spelled in another way: `torch_npu` for `torch-npu`.
            return earlier.before.need == later.after
        case ComponentChanged(), ComponentChanged():
            return earlier.before == later.after
        case _:
            return False


def _joined(earlier: Change, later: Change) -> Change:
    """Return two successive changes of the same line or component as one change."""
    match earlier, later:
        case LineAdded(), VersionChanged() | ExtrasRemoved():
            joined: Change = LineAdded(
                need=later.after,
                absent=earlier.absent,
                where=later.where,
                number=earlier.number,
                group=earlier.group,
            )
        case VersionChanged(), ExtrasRemoved():
            joined = VersionChanged(before=earlier.before, after=later.after, where=later.where)
        case VersionChanged() | ExtrasRemoved(), VersionChanged() | ExtrasRemoved() | LineDropped():
            joined = replace(later, before=earlier.before)
        case ComponentChanged(), ComponentChanged():
            joined = replace(later, before=earlier.before)
        case _:
            # The same edit, made twice.
            return later
    return replace(
        joined,
        steps=earlier.steps + later.steps,
        years=earlier.years + later.years,
        days=earlier.days + later.days,
    )
