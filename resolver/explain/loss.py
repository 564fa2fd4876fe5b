"""What a way out loses: the order in which ways out are listed."""

from __future__ import annotations

import msgspec

from resolver.explain.costs import keeps_intent, no_longer_needed
from resolver.model.explanation import Change, ChangeKind, Fix
from resolver.model.fact import Warns, component_requirements

# changes of lines
_LINES = (ChangeKind.VERSION, ChangeKind.EXTRA, ChangeKind.DROP)


class Loss(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """What a way out loses, compared field by field: the smallest comes first.

    docs/explaining.md has the same order as a sentence.
    """

    # whether it goes against a fact or metadata
    against_facts: bool
    # whether it needs another machine, for one target or for several
    other_hardware: bool
    # Lines that are dropped, changes after which something required only by an extra, a fact or
    # metadata that is gone is no longer installed, and full years by which releases are older. A
    # year counts like a line.
    lost: int
    # full years by which releases are older than requested
    years_older: int
    # Releases of which nobody recorded that they work: those that the tables of their projects do
    # not list, and archives that are built although other machines have wheels.
    unproven: int
    # whether kernels in it are built for another machine, according to a warning
    other_kernels: bool
    # whether the lines are locked in two environments
    divided: bool
    # how many changes there are, and one more if a warning asks for another machine or project
    changes: int
    # how many of them are about neither a line nor glibc
    beyond_lines: int
    # extras that lines lose, or that their releases do not have
    extras: int
    # the releases by which lines ask for older ones
    releases_older: int
    # the price of the changes in the search
    price: int
    # the releases between what lines ask for and what they get
    releases_away: int


def loss_of(fix: Fix, *, years_older: int = 0, unproven: int = 0, price: int = 0) -> Loss:
    """Return what a fix loses.

    `years_older` are those of releases that no change names. The numbers that a fix does not tell
    are 0 for two environments.
    """
    environments = fix.environments
    warnings = [fact for environment in environments for fact in environment.warnings]
    gone = [name for environment in environments for name in environment.gone]
    changes = [change for change in fix.changes if _counts(change)]
    kinds = [change.kind for change in changes]
    missing_extras = [name for name in gone if "[" in name]
    stranded = [change for change in changes if not set(gone).isdisjoint(no_longer_needed(change))]
    if len(gone) > len(missing_extras):
        stranded += [change for change in changes if change.kind is ChangeKind.EXTRA]
    years_older += sum(max(-change.years, 0) for change in changes)
    is_warned = any(fact.unless for fact in warnings)
    return Loss(
        against_facts=fix.risky,
        other_hardware=any(change.is_other_machine for change in changes),
        lost=kinds.count(ChangeKind.DROP) + len(stranded) + years_older,
        years_older=years_older,
        unproven=unproven,
        other_kernels=any(_is_about_machines(fact) for fact in warnings),
        divided=len(environments) > 1,
        changes=len(changes) + is_warned,
        beyond_lines=sum(_is_beyond_lines(change) for change in changes),
        extras=kinds.count(ChangeKind.EXTRA) + len(missing_extras),
        releases_older=sum(max(-change.steps, 0) for change in changes),
        price=price,
        releases_away=sum(abs(change.steps) for change in changes),
    )


def _counts(change: Change) -> bool:
    """Return whether a change takes something from what the stack asks for.

    Facts that state what archives require take nothing, and two environments count apart.
    """
    return not keeps_intent(change) and change.kind not in (
        ChangeKind.STATE,
        ChangeKind.SOURCE,
        ChangeKind.SPLIT,
    )


def _is_about(change: Change, component: str) -> bool:
    return change.kind is ChangeKind.COMPONENT and change.subject == component


def _is_about_machines(warning: Warns) -> bool:
    return any(need.names_machines for need in component_requirements(warning.unless))


def _is_beyond_lines(change: Change) -> bool:
    """Return whether a change is about neither a line nor glibc.

    Most machines of today have a newer glibc than a target assumes.
    """
    return change.kind not in _LINES and not _is_about(change, "glibc")
