"""The price of changes: few and small ones first, those against facts last; and the cheapest sets of changes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from packaging.requirements import InvalidRequirement
from pysat.examples.rc2 import RC2
from pysat.formula import WCNF

from resolver.model import text
from resolver.model.constraint import BuildLine, Constraint, Excluded, Requires, StackLine
from resolver.model.explanation import Change, ChangeKind, Fix
from resolver.model.fact import Fact, Strength, Warns
from resolver.model.requirement import Requirement

UNSURE = 100  # a release that fails, or may fail on this target, according to a warning
NEARBY = 10  # one made for another release of the target's CANN line
UNLISTED = 250  # a release not in its project's tables: nobody recorded what it works with
UNLISTED_LAST = (
    550  # added for it when fixes are ranked: after all with releases that the tables list
)
# each year by which a release is older than before: more than a line dropped, less than other
# hardware
_YEAR = 1500
_OLDER, _MUCH_OLDER = 5, 100  # each release by which it is older, at most: the nearest comes first
PRACTICE = (
    10  # each that is turned on: images of the vendor do so, and nothing of the stack is lost
)
RENAME = 50  # from a project that no index has to one with a similar name
LINE = 20  # for what is installed anyway, so that another project must be absent
# a fact that repeats an archive's own notes: nothing of the stack is lost, however many there are
NOTE = 10
# the same of a release with wheels for other machines: one of those, or another release, is nearer
BUILD = 1000
ADD = 120  # an existing fact that the stack leaves out
SPLIT = 700  # two environments: more than two other versions with all surcharges
OVERRIDE = 900
VERSION = 100
EXTRA = 130  # an extra removed from a line, or missing from its release
WITHOUT_CUTOFF = 170
PRERELEASES = 180
DROP = 600  # during the search: less than going against facts, which would otherwise end the search
_LOST = 400  # added when fixes are ranked: without a line it is a different stack
_MACHINE = 2000  # added for other hardware: whatever works on the present machine comes first
# added if what is left does not work without a line that was dropped: more than another machine
_USELESS = 3000
_WARNED = (
    100  # added for an environment with a warning about the machine, or about something missing
)
_OTHER_KERNELS = 500  # the same for a warning about the SoC: it will not work
# most machines of today have a newer glibc than a target assumes; another SoC is another machine
COMPONENT = {"glibc": 90, "cann": 140, "hdk": 150, "python": 160, "soc": 800}
RELAX = {Strength.OBSERVED: 650, Strength.DOCUMENTED: 750, Strength.VENDOR: 850}

# Changes to no line, component or policy that the stack has.
_NOT_CONSTRAINTS = {
    *(
        ChangeKind.PRACTICE,
        ChangeKind.LINE,
        ChangeKind.FACTS,
        ChangeKind.ADD,
        ChangeKind.STATE,
        ChangeKind.RELAX,
    )
}


class Corrections:
    """Constraints that may change, with their prices, and the demands on a set of changes (minimum-cost hitting sets)."""

    def __init__(self) -> None:
        self._variables: dict[Constraint, int] = {}
        self._solver = RC2(WCNF())

    def add_core(
        self, prices: Mapping[Constraint, int], only_with: Collection[Constraint] = ()
    ) -> None:
        """One of these constraints must change, at its price; with `only_with`, only if all of those change."""
        for constraint, price in prices.items():
            if constraint not in self._variables:
                self._variables[constraint] = len(self._variables) + 1
                self._solver.add_clause([-self._variables[constraint]], weight=price)
        unless = [-self._variables[constraint] for constraint in only_with]
        self._solver.add_clause([*unless, *(self._variables[constraint] for constraint in prices)])

    def exclude(self, tried: Collection[Constraint], *, exactly: bool = False) -> None:
        """Exclude this set of changes and its supersets; with `exactly`, only the set itself."""
        unchanged = [
            variable
            for constraint, variable in self._variables.items()
            if exactly and constraint not in tried
        ]
        self._solver.add_clause(
            [*(-self._variables[constraint] for constraint in tried), *unchanged]
        )

    def cheapest(self) -> list[Constraint] | None:
        """The cheapest set of changes that meets every demand so far; None if none is left."""
        model: Sequence[int] | None = self._solver.compute()
        if model is None:
            return None
        true = {literal for literal in model if literal > 0}
        return [constraint for constraint, variable in self._variables.items() if variable in true]


def cost(fix: Fix) -> int:
    """The cost of a fix for ranking: the price of its changes, what is lost, what may not work on the machine."""
    gone = [name for environment in fix.environments for name in environment.gone]
    warnings = [fact for environment in fix.environments for fact in environment.warnings]
    dropped = [change.subject for change in fix.changes if change.kind is ChangeKind.DROP]
    total = fix.price + _LOST * len(dropped)
    for change in fix.changes:
        total += years_older(-change.years) + min(_OLDER * max(-change.steps, 0), _MUCH_OLDER)
    total += sum(
        _LOST for change in fix.changes if any(name in gone for name in no_longer_needed(change))
    )
    total += sum(EXTRA for name in gone if "[" in name)
    if any(
        (change.kind, change.subject) == (ChangeKind.COMPONENT, "soc") for change in fix.changes
    ):
        total += _MACHINE  # once: other hardware for one target is other hardware
    if any(broken_without(dropped, warnings)):
        total += _USELESS
    if any("soc" in fact.components for fact in warnings):
        return total + _OTHER_KERNELS
    return total + (_WARNED if any(fact.unless for fact in warnings) else 0)


def broken_without(projects: Collection[str], facts: Iterable[Fact]) -> Iterator[str]:
    """What does not work, according to a warning, where one of these projects is missing."""
    for fact in facts:
        if isinstance(fact, Warns) and fact.grave:
            missing = any(
                isinstance(need, Requirement) and need.name in projects for need in fact.unless
            )
            yield from (fact.package,) if missing else ()


def years_older(years: int) -> int:
    """The surcharge for a release that is so many full years older than the newest that its line admits."""
    return _YEAR * max(years, 0)


def saved_price(change: Change) -> int:
    """The price saved if a line or a component does not change this way; a renamed line still does."""
    match change.kind:
        case ChangeKind.COMPONENT:
            return COMPONENT.get(change.subject, 0)
        case ChangeKind.VERSION if project_of(change.before) == change.subject:
            return VERSION
        case ChangeKind.EXTRA:
            return EXTRA
        case _:
            return 0


def keeps_intent(change: Change) -> bool:
    """Whether a change alters nothing that the stack asks for: a practice, a line for what is installed, a spelling."""
    is_renamed = change.kind is ChangeKind.VERSION and project_of(change.before) != change.subject
    return change.kind in (ChangeKind.PRACTICE, ChangeKind.LINE) or is_renamed


def changes_less(changes: Sequence[Change], others: Sequence[Change]) -> bool:
    """Whether the `others` change something that the stack asks for, and at least all that `changes` do.

    Practices change nothing of that and have their evidence: alone they are less than any others.
    """
    changed = _changed_constraints(others)
    practices = all(change.kind is ChangeKind.PRACTICE for change in changes)
    return (bool(changed) or practices) and _changed_constraints(changes) <= changed


def _changed_constraints(changes: Sequence[Change]) -> set[tuple[str, str, bool]]:
    """The lines, components and policies that change, and which of them are dropped."""
    constraints = [change for change in changes if change.kind not in _NOT_CONSTRAINTS]
    dropped = {
        (change.subject, change.target, True)
        for change in constraints
        if change.kind is ChangeKind.DROP
    }
    return dropped | {(change.subject, change.target, False) for change in constraints}


def no_longer_needed(change: Change) -> list[str]:
    """The projects that a change removes from another one's requirements."""
    if change.kind not in (ChangeKind.RELAX, ChangeKind.ADD):
        return []
    return [name for need in change.before.split(", ") if (name := project_of(need))]


def project_of(need: str) -> str:
    """The project that a requirement is about; empty if it is about a component or is not a requirement."""
    try:
        return text.requirement(need).name
    except InvalidRequirement:
        return ""


def risky(constraint: Constraint) -> bool:
    """Whether changing a constraint goes against a fact or upstream's own metadata."""
    return isinstance(constraint, (Requires, Excluded))


def drops(constraint: Constraint) -> bool:
    """Whether changing a constraint drops its line."""
    return isinstance(constraint, (StackLine, BuildLine)) and not constraint.part
