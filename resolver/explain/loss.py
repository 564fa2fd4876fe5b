"""Compare what fixes lose, which decides the order in which they are listed."""

from __future__ import annotations

from typing import TypeGuard

import msgspec

from resolver.explain.causes import families
from resolver.explain.costs import keeps_intent, no_longer_needed, takes_prerelease
from resolver.model.change import (
    Change,
    ChangeKind,
    ComponentChanged,
    ExtrasRemoved,
    LineDropped,
    PracticesOn,
    VersionChanged,
)
from resolver.model.explanation import Fix
from resolver.model.fact import Warns, component_requirements
from resolver.model.target import DEFAULT_GLIBC

# The kinds of changes that are about a line.
_LINES = (ChangeKind.VERSION, ChangeKind.EXTRA, ChangeKind.DROP)


class Loss(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """What a fix loses. Losses are compared field by field; the smallest is listed first.

    docs/explaining.md has the fields as a table.
    """

    # Whether a grave warning says that something does not work, as something is missing.
    broken: bool
    # Whether the changed target is another target of the stack: the fix is to drop this one.
    doubled: bool
    # Whether the fix contradicts a fact or metadata.
    against_facts: bool
    # Whether it needs another machine, such as another SoC, for any number of targets.
    other_hardware: bool
    # How many lines that others depend on go back by years while the others stay.
    left_behind: int
    # A sum of what is lost, in halves of a line. What counts 2:
    # - a line that is dropped, unless a shipped stack must not have it;
    # - a line that the changed target switches off by a marker;
    # - a change after which what an extra or a removed requirement asked for is not installed;
    # - a full year by which a changed line, or a release that tables pair, is older.
    # What counts 1:
    # - a release or an archive of `unproven`;
    # - a full year by which the oldest release is older that no change and no table names.
    lost: int
    # Releases that the compatibility tables of their projects do not list, plus archives that are
    # built although other machines have wheels.
    unproven: int
    # The full years that are in `lost`.
    years_older: int
    # Whether a warning says that kernels in a wheel were built for another machine.
    other_kernels: bool
    # Whether the lines are divided between two environments.
    divided: bool
    # Whether a glibc changes that the target states: it is part of the operating system.
    other_glibc: bool
    # How many changes admit pre-releases that the stack did not admit.
    prereleases: int
    # How many changes take something from the stack, plus one if a warning would not apply on
    # another machine or with another project. A line that changes because of another one counts
    # once with it (`families`). A component that goes back to an older release line, such as CANN
    # 8.2 after 8.5, counts twice.
    changes: int
    # How many of all changes are about neither a line, nor a glibc that was only assumed, nor
    # another release of the same release line, such as CANN 8.5.1 instead of 8.5.0.
    beyond_lines: int
    # Extras that lines lose, or that their releases do not have.
    extras: int
    # How many lines go back to an older release although another line, which they require, could
    # change instead.
    older_requirers: int
    # The days between the uploads of what lines asked for and of older releases that they get. Of
    # lines that change together, it is the longest time.
    days_older: int
    # The number of releases between what lines asked for and older ones that they get, also if the
    # name of a line is corrected besides.
    releases_older: int
    # How many practices are turned on. Each of them has a risk.
    practices: int
    # The price of the changes in the search, see `costs`.
    price: int
    # The number of releases between what lines asked for and what they get, in both directions.
    releases_away: int


def loss_of(
    fix: Fix, *, years_older: int = 0, others_older: int = 0, unproven: int = 0, price: int = 0
) -> Loss:
    """Return what a fix loses. Its changes must have their marks (`causes.with_marks`).

    `years_older` and `others_older` are the years by which releases that no change names are older.
    The years of the changes are added here. `unproven` and `price` are as in `ChangedStack`. All
    four are 0 for a fix with two environments.
    """
    environments = fix.environments
    warnings: list[Warns] = []
    gone: list[str] = []
    off: list[str] = []
    for environment in environments:
        warnings += environment.warnings
        gone += environment.gone
        off += environment.off
    changes = [change for change in fix.changes if _counts(change)]
    extras = [change for change in changes if _loses_extra(change)]
    practices = [change for change in fix.changes if isinstance(change, PracticesOn)]
    missing_extras = [name for name in gone if "[" in name]
    stranded = [
        change
        for change in changes
        if change.no_longer_installed or no_longer_needed(change) in gone
    ]
    change_families = families(changes)
    days_older = 0
    for family in change_families:
        days_older += max(max(-change.days, 0) for change in family)
        years_older += max(max(-change.years, 0) for change in family)
    lines_lost = sum(map(_drops, changes)) + len(off) + len(stranded)
    is_warned = any(fact.unless for fact in warnings)
    return Loss(
        broken=any(fact.grave and fact.unless for fact in warnings),
        doubled=bool(fix.twin),
        against_facts=fix.risky,
        other_hardware=any(map(_is_other_machine, changes)),
        left_behind=sum(change.left_behind for change in changes),
        lost=2 * (lines_lost + years_older) + others_older + unproven,
        unproven=unproven,
        years_older=years_older + others_older,
        other_kernels=any(_is_about_machines(fact) for fact in warnings),
        divided=len(environments) > 1,
        other_glibc=any(_is_about_glibc(change) and not _is_assumed(change) for change in changes),
        prereleases=sum(map(takes_prerelease, changes)),
        changes=len(change_families) + sum(map(_is_to_older_line, changes)) + is_warned,
        beyond_lines=sum(_is_beyond_lines(change) for change in changes),
        extras=len(extras) + len(missing_extras),
        practices=sum(len(change.names) for change in practices),
        older_requirers=sum(change.is_older_requirer for change in changes),
        days_older=days_older,
        releases_older=sum(max(-change.steps, 0) for change in fix.changes),
        price=price,
        releases_away=sum(abs(change.steps) for change in changes),
    )


def _counts(change: Change) -> bool:
    """Return whether a change takes something from what the stack asks for.

    A fact that states what an archive requires takes nothing. Two environments are counted by the
    field `divided`.
    """
    return not keeps_intent(change) and change.kind not in (
        ChangeKind.STATE,
        ChangeKind.SOURCE,
        ChangeKind.SPLIT,
    )


def _loses_extra(change: Change) -> bool:
    """Return whether a change takes an extra away from a line."""
    return isinstance(change, (VersionChanged, ExtrasRemoved)) and bool(change.lost_extras)


def _drops(change: Change) -> bool:
    """Return whether a change drops a line, unless a shipped stack must not have its project."""
    return isinstance(change, LineDropped) and not change.shipped


def _is_to_older_line(change: Change) -> bool:
    """Return whether a component goes back to an older release line.

    The machine has more than that, and what is newer on it may need it.
    """
    return isinstance(change, ComponentChanged) and change.is_to_older_line


def _is_other_machine(change: Change) -> bool:
    """Return whether a change means another machine, such as another chip."""
    return isinstance(change, ComponentChanged) and change.is_other_machine


def _is_about_glibc(change: Change) -> TypeGuard[ComponentChanged]:
    """Return whether a change is about the glibc of a target."""
    return isinstance(change, ComponentChanged) and change.component.name == "glibc"


def _is_assumed(change: Change) -> bool:
    """Return whether a change is about the value of glibc that a target without one has.

    Most machines of today have a newer glibc than that.
    """
    return _is_about_glibc(change) and change.before == DEFAULT_GLIBC


def _is_beyond_lines(change: Change) -> bool:
    """Return whether a change is about more than a line and what is nearly the same machine.

    The latter are a glibc that was only assumed, and a release of the same release line.
    """
    if change.kind in _LINES or _is_assumed(change):
        return False
    return not isinstance(change, ComponentChanged) or not change.is_within_line


def _is_about_machines(warning: Warns) -> bool:
    """Return whether a warning depends on a component whose values are machines, as the SoC is."""
    return any(need.names_machines for need in component_requirements(warning.unless))
