"""What changes cost: the prices of the search, and the cheapest sets of changes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from packaging.requirements import InvalidRequirement
from pysat.examples.rc2 import RC2
from pysat.formula import WCNF

from resolver.errors import UndecidedError
from resolver.index.protocol import poll_once
from resolver.model import text
from resolver.model.component import Component
from resolver.model.constraint import BuildLine, Constraint, Excluded, Requires, StackLine
from resolver.model.explanation import Change, ChangeKind
from resolver.model.fact import Fact, Strength, Warns, component_requirements, projects_of
from resolver.model.fact import Requires as RequiresFact
from resolver.phrase import phrase

# --- what a release costs besides the change of its line

# a release that fails, or may fail on this target, according to a warning
UNSURE = 100
# one made for another release of a release line of the target, such as that of its driver
NEARBY = 10
# a release that is not in its project's tables: nobody recorded what it works with
UNLISTED = 250

# --- what a change costs

# Nothing of the stack is lost: a practice is turned on, as images of the vendor do, a fact repeats
# an archive's own notes, a line is added for what is installed anyway, so that another project must
# be absent, or a line names a known project instead of one with a similar name that no index has.
FREE = 10
# A fact repeats the notes of an archive although its release has wheels for other machines: one of
# those, or another release, is nearer.
BUILD = 1000
# an existing fact that the stack leaves out is used
ADD = 120
# a line asks for another version
VERSION = 100
# an extra is removed from a line, or missing from its release
EXTRA = 130
# releases are no longer cut off by their date, or pre-releases of a project are allowed
POLICY = 180
# A line is dropped. That is less than going against facts, which would otherwise end the search.
DROP = 600
# Another value of a component. Most machines of today have a newer glibc than a target assumes.
GLIBC = 90
TOOLKIT = 140
# what all machines have in common, such as a driver, is renewed by an administrator
DRIVER = 150
PYTHON = 160
# values without an order are other machines
MACHINE = 800
# a fact is set aside
RELAX = {Strength.OBSERVED: 650, Strength.DOCUMENTED: 750, Strength.VENDOR: 850}
# a requirement is removed from metadata
OVERRIDE = 900

# conflicts of a question about the cheapest changes, between two looks at the clock, and how often
_CONFLICTS_AT_ONCE = 2_000
_CHUNKS = 10

# changes to no line, component or policy that the stack has
_NOT_CONSTRAINTS = (
    ChangeKind.PRACTICE,
    ChangeKind.LINE,
    ChangeKind.FACTS,
    ChangeKind.ADD,
    ChangeKind.STATE,
    ChangeKind.SOURCE,
    ChangeKind.RELAX,
)


# a line, component or policy that changes: its subject, the target, and whether it is dropped
ChangedConstraint = tuple[str, str, bool]


class _BoundedRC2(RC2):  # type: ignore[misc]  # pysat has no types
    """RC2 that ends when time is up, and gives up on a question that is too hard."""

    def _call_oracle(self, assumptions: Sequence[int] = (), **_: object) -> bool:
        """Return whether the clauses are satisfiable.

        Raises UndecidedError after too many conflicts, and what `polling` raises.
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
    """The cheapest sets of changes that meet demands (minimum-cost hitting sets)."""

    def __init__(self) -> None:
        # the constraints that may change
        self._variables: dict[Constraint, int] = {}
        self._solver = _BoundedRC2(WCNF())

    def add_core(
        self, prices: Mapping[Constraint, int], only_with: Collection[Constraint] = ()
    ) -> None:
        """Demand that one of these constraints changes, at its price.

        With `only_with`, the demand holds only for sets in which all of those change.
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
        """Exclude this set of changes and its supersets.

        With `exactly`, supersets by constraints that are known already stay.
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
        """Return the cheapest set of changes that meets every demand; None if none is left.

        Raises UndecidedError if that is too hard, and what `polling` raises.
        """
        model: Sequence[int] | None = self._solver.compute()
        if model is None:
            return None
        changed = {literal for literal in model if literal > 0}
        return [
            constraint for constraint, variable in self._variables.items() if variable in changed
        ]


def broken_without(projects: Collection[str], facts: Iterable[Fact]) -> Iterator[str]:
    """Yield what does not work where one of the projects is missing, by a grave warning."""
    for fact in facts:
        if not isinstance(fact, Warns) or not fact.grave:
            continue
        if not set(projects).isdisjoint(projects_of(fact.unless)):
            yield fact.package


def partners(facts: Iterable[Fact]) -> set[str]:
    """Return the projects without which others do not work, by grave warnings."""
    names: set[str] = set()
    for fact in facts:
        if isinstance(fact, Warns) and fact.grave:
            names.update(projects_of(fact.unless))
    return names


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
    """Return what is saved if a line or component does not change.

    A line with another name, or a source from a shipped stack, still does.
    """
    match change.kind:
        case ChangeKind.COMPONENT:
            return component_price(change.component) if change.component is not None else 0
        case ChangeKind.VERSION if not (_is_renaming(change) or " @ " in change.after):
            return VERSION
        case ChangeKind.EXTRA:
            return EXTRA
        case _:
            return 0


def keeps_intent(change: Change) -> bool:
    """Return whether a change alters nothing that the stack asks for.

    Such changes are a practice, a line for what is installed anyway, and another spelling.
    """
    return change.kind in (ChangeKind.PRACTICE, ChangeKind.LINE) or _is_renaming(change)


def _is_renaming(change: Change) -> bool:
    """Return whether a line names another project."""
    return change.kind is ChangeKind.VERSION and project_of(change.before) != change.subject


def changes_less(changes: Sequence[Change], others: Sequence[Change]) -> bool:
    """Return whether the `others` change something of the stack, and at least what `changes` do.

    Practices change nothing that the stack asks for and have their evidence: alone they are less
    than any others.
    """
    return is_less(changes, changed_constraints(others))


def is_less(changes: Sequence[Change], changed: Collection[ChangedConstraint]) -> bool:
    """Return whether changes change something of the stack less than what is `changed` does."""
    is_practice = all(change.kind is ChangeKind.PRACTICE for change in changes)
    return (bool(changed) or is_practice) and changed_constraints(changes) <= set(changed)


def changed_constraints(changes: Sequence[Change]) -> set[ChangedConstraint]:
    """Return the lines, components and policies that change, and again those that are dropped."""
    changed: set[ChangedConstraint] = set()
    for change in changes:
        if change.kind not in _NOT_CONSTRAINTS:
            changed.add((change.subject, change.target, False))
            if change.kind is ChangeKind.DROP:
                changed.add((change.subject, change.target, True))
    return changed


def no_longer_needed(change: Change) -> list[str]:
    """Return the projects that a change removes from another one's requirements."""
    if change.kind not in (ChangeKind.RELAX, ChangeKind.ADD):
        return []
    projects = [project_of(need) for need in change.before.split(", ")]
    return [project for project in projects if project]


def project_of(need: str) -> str:
    """Return the project that a requirement is about; empty for a component or another text."""
    try:
        return text.requirement(need).name
    except InvalidRequirement:
        return ""


def risky(constraint: Constraint) -> bool:
    """Return whether changing a constraint goes against a fact or upstream's own metadata."""
    return isinstance(constraint, (Requires, Excluded))


def is_pairing(constraint: Constraint) -> bool:
    """Return whether a constraint is from a table of which releases go with a component."""
    if not isinstance(constraint, Requires) or not isinstance(constraint.fact, RequiresFact):
        return False
    return bool(component_requirements(constraint.fact.needs))


def drops(constraint: Constraint) -> bool:
    """Return whether changing a constraint drops its line, and with it what the line asks for."""
    if isinstance(constraint, StackLine) and constraint.key == "constraints":
        return False
    return isinstance(constraint, (StackLine, BuildLine)) and not constraint.part
