"""Say what changes cost in the search for fixes, and find the cheapest sets of changes.

Prices have no unit: only their sums are compared. docs/explaining.md has them as a table.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from packaging.utils import NormalizedName
from pysat.examples.rc2 import RC2
from pysat.formula import WCNF

from resolver.errors import UndecidedError
from resolver.index.protocol import poll_once
from resolver.model.change import (
    Change,
    ChangeKind,
    ComponentChanged,
    ExtrasRemoved,
    FactSetAside,
    LineAdded,
    LineDropped,
    PracticesOn,
    PrereleasesAdmitted,
    RequirementRemoved,
    VersionChanged,
)
from resolver.model.component import Component
from resolver.model.constraint import BuildLine, Constraint, Excluded, ReleaseRequires, StackLine
from resolver.model.fact import Fact, Requires, Strength, Warns, component_requirements, projects_of
from resolver.phrase import phrase
from resolver.resolve.candidates import names_prerelease

# --- what a release costs besides the change of its line

# A warning says that the release fails, or may fail, on this target.
UNSURE = 100
# The release was made for another release of the same release line of a component, such as CANN.
NEARBY = 10
# The compatibility tables of the project do not list the release: nobody recorded what it works
# with.
UNLISTED = 250

# --- what a change costs

# A change with which nothing is lost: a practice is turned on, as images of the vendor do; a fact
# repeats the requirements that an archive notes; a line is added for a project that is installed
# anyway, so that another project must be absent; or a line names a known project, in place of a
# similar name that no index has.
FREE = 10
# A fact repeats the requirements that an archive notes, although its release has wheels for other
# machines. To change to such a machine, or to another release, is a smaller change.
BUILD = 1000
# An existing file of facts that the stack leaves out is used.
ADD = 120
# A line asks for another version.
VERSION = 100
# An extra is removed from a line, or its release does not have the extra.
EXTRA = 130
# The cut-off by upload date is removed, or pre-releases of a project are admitted.
POLICY = 180
# A line is dropped. That is less than going against facts, which would otherwise end the search.
DROP = 600
# Another value of a component. Most machines of today have a newer glibc than a target assumes.
GLIBC = 90
TOOLKIT = 140
# A component of which newer releases also serve, such as the driver. An administrator renews it.
DRIVER = 150
PYTHON = 160
# A component whose values have no order, such as the SoC: another value is another machine.
MACHINE = 800
# A fact is set aside. An `enforced` fact cannot be.
RELAX = {Strength.OBSERVED: 650, Strength.DOCUMENTED: 750, Strength.VENDOR: 850}
# A requirement is removed from metadata.
OVERRIDE = 900

# A question for the cheapest set of changes may take so many conflicts of the solver before the
# clock is looked at, and so many such rounds.
_CONFLICTS_AT_ONCE = 2_000
_CHUNKS = 10

# Changes of these kinds change no line, component or policy that the stack has.
_NOT_CONSTRAINTS = (
    ChangeKind.PRACTICE,
    ChangeKind.LINE,
    ChangeKind.FACTS,
    ChangeKind.ADD,
    ChangeKind.STATE,
    ChangeKind.SOURCE,
    ChangeKind.RELAX,
)


# A line, component or policy that changes: its name, the name of the target (empty for the
# explained one), and whether this is its second entry, which says that a line is dropped.
ChangedConstraint = tuple[str, str, bool]


class _BoundedRC2(RC2):  # type: ignore[misc]  # pysat has no types
    """RC2, which also ends when time is up, and gives up on a question that is too hard."""

    def _call_oracle(self, assumptions: Sequence[int] = (), **_: object) -> bool:
        """Return whether the clauses are satisfiable.

        Raise UndecidedError after too many conflicts, and whatever the `polling` callback raises.
        """
        for _chunk in range(_CHUNKS):
            poll_once()
            self.oracle.conf_budget(_CONFLICTS_AT_ONCE)
            is_satisfiable = self.oracle.solve_limited(assumptions=list(assumptions))
            if is_satisfiable is not None:
                return bool(is_satisfiable)
        raise UndecidedError(
            phrase("no cheapest set of changes was found within the search limits")
        )


class Corrections:
    """Finds the cheapest set of changes that has a constraint of each core.

    This is a minimum-cost hitting set; RC2 finds it (Ignatiev et al. 2019).
    """

    def __init__(self) -> None:
        # The variable of each constraint that may change.
        self._variables: dict[Constraint, int] = {}
        self._solver = _BoundedRC2(WCNF())

    def add_core(
        self, prices: Mapping[Constraint, int], only_with: Collection[Constraint] = ()
    ) -> None:
        """Demand that one of these constraints changes. The mapping has the price of each.

        If `only_with` is not empty, the demand holds only for sets that have all of these
        constraints.
        """
        for constraint, price in prices.items():
            if constraint not in self._variables:
                variable = len(self._variables) + 1
                self._variables[constraint] = variable
                self._solver.add_clause([-variable], weight=price)
        unless = [-self._variables[constraint] for constraint in only_with]
        changed = [self._variables[constraint] for constraint in prices]
        self._solver.add_clause(unless + changed)

    def exclude(self, tried: Collection[Constraint], *, exactly: bool = False) -> None:
        """Exclude a set of changes and all larger sets with these changes.

        With `exactly`, larger sets stay possible if they add a constraint that is known now.
        """
        clause = [-self._variables[constraint] for constraint in tried]
        if exactly:
            clause += [
                variable
                for constraint, variable in self._variables.items()
                if constraint not in tried
            ]
        self._solver.add_clause(clause)

    def cheapest(self) -> list[Constraint] | None:
        """Return the cheapest set of changes that meets all demands; None if there is none.

        Raise UndecidedError if the question is too hard, and whatever the `polling` callback
        raises.
        """
        model: Sequence[int] | None = self._solver.compute()
        if model is None:
            return None
        changed = {literal for literal in model if literal > 0}
        return [
            constraint for constraint, variable in self._variables.items() if variable in changed
        ]


def broken_without(projects: Collection[str], facts: Iterable[Fact]) -> Iterator[Warns]:
    """Yield the grave `warns` facts that one of these projects averts.

    Such a fact names the project in its `unless`: without it, the fact's own project does not work.
    """
    for fact in facts:
        if not isinstance(fact, Warns) or not fact.grave:
            continue
        if not set(projects).isdisjoint(_others_needed(fact)):
            yield fact


def partners(facts: Iterable[Fact]) -> set[NormalizedName]:
    """Return the projects without which other projects do not work, according to grave warnings."""
    names: set[NormalizedName] = set()
    for fact in facts:
        if isinstance(fact, Warns) and fact.grave:
            names.update(_others_needed(fact))
    return names


def _others_needed(fact: Warns) -> set[NormalizedName]:
    """Return the projects that avert a warning, without the one that it is about.

    That one is named for an extra of it.
    """
    return {name for name in projects_of(fact.unless) if name != fact.package}


def component_price(component: Component) -> int:
    """Return the price of another value of a component."""
    if component.name == "glibc":
        return GLIBC
    if component.name == "python":
        return PYTHON
    if not component.grammar.is_ordered:
        return MACHINE
    return DRIVER if component.minimum else TOOLKIT


def saved_price(change: Change) -> int:
    """Return what is saved if a change of a line or component is undone; 0 for other changes.

    It is 0, too, if the line names another project, or a commit from a shipped stack.
    """
    match change:
        case ComponentChanged():
            return component_price(change.component)
        case VersionChanged() if not (change.is_renaming or change.after.url):
            return VERSION
        case ExtrasRemoved():
            return EXTRA
        case _:
            return 0


def keeps_intent(change: Change) -> bool:
    """Return whether the stack asks for the same after a change.

    That is so for a practice, for a line about something that is installed anyway, and for the
    corrected name of a project.
    """
    if isinstance(change, VersionChanged):
        return change.is_renaming
    return isinstance(change, (PracticesOn, LineAdded))


def takes_prerelease(change: Change) -> bool:
    """Return whether a change admits a pre-release that the stack did not admit before.

    A line asks for one and did not before, or the policy admits those of a project. One does not
    count if tables pair no final release with the machine.
    """
    if change.has_no_final:
        return False
    if isinstance(change, PrereleasesAdmitted):
        return True
    if not isinstance(change, VersionChanged):
        return False
    asked_before = names_prerelease(change.asked.specifier)
    return not asked_before and names_prerelease(change.after.specifier)


def changes_less(changes: Sequence[Change], others: Sequence[Change]) -> bool:
    """Return whether `changes` change nothing of the stack that `others` do not change, too.

    False if the `others` change nothing of the stack, unless all `changes` are practices.
    """
    return is_within(changes, changed_constraints(others))


def is_within(changes: Sequence[Change], changed: Collection[ChangedConstraint]) -> bool:
    """Return whether `changed` has all lines, components and policies that changes concern.

    An empty `changed` has only those of practices, which change nothing that the stack asks for.
    """
    is_practice = all(isinstance(change, PracticesOn) for change in changes)
    return (bool(changed) or is_practice) and changed_constraints(changes) <= set(changed)


def changed_constraints(changes: Sequence[Change]) -> set[ChangedConstraint]:
    """Return the lines, components and policies that changes concern.

    A dropped line has two entries, so that changing it is less than dropping it.
    """
    changed: set[ChangedConstraint] = set()
    for change in changes:
        if change.kind not in _NOT_CONSTRAINTS:
            changed.add((change.subject, change.target, False))
            if isinstance(change, LineDropped):
                changed.add((change.subject, change.target, True))
    return changed


def no_longer_needed(change: Change) -> str | None:
    """Return the project that another one no longer requires after a change; None without one."""
    return change.removed if isinstance(change, (FactSetAside, RequirementRemoved)) else None


def risky(constraint: Constraint) -> bool:
    """Return whether changing a constraint contradicts a fact or upstream's metadata."""
    return isinstance(constraint, (ReleaseRequires, Excluded))


def is_pairing(constraint: Constraint) -> bool:
    """Return whether a constraint is from a compatibility table.

    That is a `requires` fact that says with which values of a component a release works.
    """
    if not isinstance(constraint, ReleaseRequires) or not isinstance(constraint.fact, Requires):
        return False
    return bool(component_requirements(constraint.fact.needs))


def drops(constraint: Constraint) -> bool:
    """Return whether changing a constraint means to drop its line of the stack.

    A line of `constraints` can be removed as well, but nothing that it asks for is lost.
    """
    if isinstance(constraint, StackLine) and constraint.key == "constraints":
        return False
    return isinstance(constraint, (StackLine, BuildLine)) and not constraint.part
