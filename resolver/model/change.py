"""Changes of a stack: what a way out does to it, and what that means to the stack's author.

Each kind of change is a type with its own data. `report/explanation/fixes` makes the words.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from enum import Enum
from typing import ClassVar, Final

import msgspec
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.model.component import Component, are_of_one_line
from resolver.model.edit import (
    AddRows,
    AllowPrereleases,
    DropConstraint,
    DropCutoff,
    Edit,
    SetAside,
    SetComponent,
    SetLine,
    TurnOnPractice,
    UseFacts,
)
from resolver.model.problem import RootRequirement
from resolver.model.reason import Reason
from resolver.model.requirement import Requirement, name_of
from resolver.model.system import SystemVersion

# The reason that is written into the stack for a fact that is set aside.
_TO_CONFIRM = "To be confirmed: say why this fact does not hold here."


class ChangeKind(Enum):
    """The kinds of changes, as JSON names them."""

    # Practices are turned on.
    PRACTICE = "practice"
    # A line is added.
    LINE = "line"
    # A line of the stack gets another specifier.
    VERSION = "version"
    # A line of the stack loses an extra.
    EXTRA = "extra"
    # A line of the stack is removed.
    DROP = "drop"
    # A component of the target gets another value, such as another Python or driver.
    COMPONENT = "component"
    # The stack gets another policy.
    POLICY = "policy"
    # The stack uses one more file of facts.
    FACTS = "facts"
    # A fact that contradicts metadata is added to the stack. This is a risk.
    ADD = "add"
    # A fact is added that states what a source archive without static metadata requires.
    STATE = "state"
    # Lines and facts of a shipped stack are added.
    SOURCE = "source"
    # A fact is set aside. This is a risk.
    RELAX = "relax"
    # The lines are divided between two environments.
    SPLIT = "split"


class _Change(msgspec.Struct, frozen=True, kw_only=True):
    """What all changes have.

    Two changes of the same kind are about the same if they have the same `subject` and `target`.
    Each kind has an `edit`, one of the types of `model/edit`: what it does to the stack.
    """

    # file:line of what changes.
    where: str = ""
    # The number of releases from the requested version to the new one; negative if the new one is
    # older.
    steps: int = 0
    # The full years between the uploads of these two releases, with the same sign; 0 if unknown.
    years: int = 0
    # The days between these uploads, with the same sign; 0 if unknown.
    days: int = 0
    # The name of the target whose component changes; empty for the target that is explained.
    target: str = ""
    # Whether a line that others of the stack depend on goes back by years while the others stay.
    left_behind: bool = False
    # Whether an older release is taken of what requires another line of its contradiction, and that
    # line stays as it is.
    is_older_requirer: bool = False
    # The projects that extras which a line loses required, and that the lock does not have.
    no_longer_installed: tuple[str, ...] = ()
    # Whether a line takes a pre-release since tables pair no final release with the machine.
    has_no_final: bool = False
    # The requirement because of which a line or component changes, if no contradiction is about it;
    # None if there is none, or if it is unknown.
    cause: Reason | None = None
    # The shipped stack that the new line is from, or that must not have the project of a dropped
    # line; empty for other changes.
    shipped: str = ""


class PracticesOn(_Change, frozen=True, kw_only=True):
    """Practices are turned on."""

    kind: ClassVar[ChangeKind] = ChangeKind.PRACTICE
    # The ids of the practices.
    names: tuple[str, ...]

    @property
    def subject(self) -> str:
        """Return the ids of the practices, separated by commas."""
        return ", ".join(self.names)

    @property
    def edit(self) -> Edit:
        """Return the edit that turns the practice on. Raises ValueError if there are several."""
        (name,) = self.names
        return TurnOnPractice(name)


class LineAdded(_Change, frozen=True, kw_only=True):
    """A line about another project is added."""

    kind: ClassVar[ChangeKind] = ChangeKind.LINE
    # What the line asks for.
    need: Requirement
    # The number of the line in the file, after all lines that were read (see `SetLine`).
    number: int = 0
    # The group that the line belongs to; empty for a line of every group.
    group: str = ""
    # The project that must be absent if a line names the added one, as a fact says; empty if the
    # line is added for another reason.
    absent: str = ""

    @property
    def subject(self) -> str:
        """Return the project that the line is about."""
        return self.need.name

    @property
    def edit(self) -> Edit:
        """Return the edit that adds the line."""
        return SetLine(self.number, str(self.need), self.group)


class _LineChanged(_Change, frozen=True, kw_only=True):
    """A line about a project asks for something else."""

    # The line before the change.
    before: RootRequirement
    # What the line asks for after the change.
    after: Requirement

    @property
    def asked(self) -> Requirement:
        """Return what the line asked for before the change."""
        # A line about a component is only ever dropped.
        assert isinstance(self.before.need, Requirement)  # noqa: S101
        return self.before.need

    @property
    def lost_extras(self) -> list[NormalizedName]:
        """Return the extras that the line asked for before the change alone, sorted."""
        return sorted({*self.asked.extras} - {*self.after.extras})

    @property
    def subject(self) -> str:
        """Return the project that the line is about after the change."""
        return self.after.name

    @property
    def edit(self) -> Edit:
        """Return the edit that gives the line its new text."""
        return SetLine(self.before.number, str(self.after))


class VersionChanged(_LineChanged, frozen=True, kw_only=True):
    """A line gets another specifier. It may lose extras as well, or get the name of a project."""

    kind: ClassVar[ChangeKind] = ChangeKind.VERSION

    @property
    def is_renaming(self) -> bool:
        """Return whether the line names another project after the change."""
        return self.asked.name != self.after.name


class ExtrasRemoved(_LineChanged, frozen=True, kw_only=True):
    """A line loses extras, and nothing else."""

    kind: ClassVar[ChangeKind] = ChangeKind.EXTRA


class LineDropped(_Change, frozen=True, kw_only=True):
    """A line about a project or a component is removed."""

    kind: ClassVar[ChangeKind] = ChangeKind.DROP
    # The line before the change.
    before: RootRequirement

    @property
    def subject(self) -> str:
        """Return the project or component that the line was about."""
        return name_of(self.before.need)

    @property
    def edit(self) -> Edit:
        """Return the edit that drops the line."""
        return SetLine(self.before.number, "")


class ComponentChanged(_Change, frozen=True, kw_only=True):
    """A component of a target gets another value."""

    kind: ClassVar[ChangeKind] = ChangeKind.COMPONENT
    # The component.
    component: Component
    # The value before the change, as the stack states it.
    before: str
    # The new value.
    after: str
    # The number of the target in the file, from 0.
    target_number: int = 0

    @property
    def subject(self) -> str:
        """Return the name of the component."""
        return self.component.name

    @property
    def edit(self) -> Edit:
        """Return the edit that gives the component its new value."""
        return SetComponent(self.target_number, self.component.name, self.after)

    @property
    def is_other_machine(self) -> bool:
        """Return whether the change means another machine.

        It does if the values of the component have no order, as the names of chips.
        """
        return not self.component.grammar.is_ordered

    @property
    def is_within_line(self) -> bool:
        """Return whether the new value is of the same release line as the old one.

        False for a component of which releases of one line are no substitutes, see `Component`.
        """
        component = self.component
        if not component.by_line:
            return False
        return are_of_one_line(component.parse(self.before), component.parse(self.after))

    @property
    def is_to_older_line(self) -> bool:
        """Return whether the new value is of an older release line, as CANN 8.2.RC1 for 8.5.0.

        False for a component whose values are not in release lines.
        """
        component = self.component
        if not component.by_line:
            return False
        before, after = component.parse(self.before), component.parse(self.after)
        match before, after:
            case SystemVersion(line=line), SystemVersion(line=other):
                return other < line
            case Version(), Version():
                return after.release[:2] < before.release[:2]
            case _:
                return False


class ConstraintDropped(_Change, frozen=True, kw_only=True):
    """A line of the stack's `constraints` is removed."""

    kind: ClassVar[ChangeKind] = ChangeKind.POLICY
    # The line before the change.
    before: RootRequirement

    @property
    def subject(self) -> str:
        """Return the project that the line was about."""
        return name_of(self.before.need)

    @property
    def edit(self) -> Edit:
        """Return the edit that drops the line."""
        return DropConstraint(self.before.origin.text)


class CutoffDropped(_Change, frozen=True, kw_only=True):
    """The cut-off by upload date is removed from the policy."""

    kind: ClassVar[ChangeKind] = ChangeKind.POLICY
    # The cut-off before the change.
    cutoff: datetime

    @property
    def subject(self) -> str:
        """Return the key of the cut-off in the policy."""
        return CUTOFF

    @property
    def edit(self) -> Edit:
        """Return the edit that drops the cut-off."""
        return DropCutoff()


class PrereleasesAdmitted(_Change, frozen=True, kw_only=True):
    """The policy admits all pre-releases of a project."""

    kind: ClassVar[ChangeKind] = ChangeKind.POLICY
    # The project.
    project: str

    @property
    def subject(self) -> str:
        """Return the project."""
        return self.project

    @property
    def edit(self) -> Edit:
        """Return the edit that admits pre-releases of the project."""
        return AllowPrereleases(self.project)


class FactsUsed(_Change, frozen=True, kw_only=True):
    """The stack uses a file of facts that it left out."""

    kind: ClassVar[ChangeKind] = ChangeKind.FACTS
    # The project that gives the file its name.
    project: str
    # The name of the file.
    file: str

    @property
    def subject(self) -> str:
        """Return the project."""
        return self.project

    @property
    def edit(self) -> Edit:
        """Return the edit that makes the stack use the file."""
        return UseFacts(self.project)


class RequirementRemoved(_Change, frozen=True, kw_only=True):
    """A new fact removes the requirement of one project on another from metadata: a risk."""

    kind: ClassVar[ChangeKind] = ChangeKind.ADD
    # The project that has the requirement, with the extra that has it in brackets.
    package: str
    # The project that is no longer required.
    removed: NormalizedName
    # The requirements on it that are removed, as metadata has them, sorted.
    needs: tuple[str, ...]
    # The fact as TOML.
    rows: str

    @property
    def subject(self) -> str:
        """Return the project that has the requirement."""
        return self.package

    @property
    def edit(self) -> Edit:
        """Return the edit that adds the fact."""
        return AddRows(self.rows)


class ArchiveStated(_Change, frozen=True, kw_only=True):
    """A new fact states what a source archive without static metadata requires."""

    kind: ClassVar[ChangeKind] = ChangeKind.STATE
    # The project of the archive.
    project: NormalizedName
    # The name of the archive.
    archive: str
    # The fact as TOML.
    rows: str

    @property
    def subject(self) -> str:
        """Return the project of the archive."""
        return self.project

    @property
    def edit(self) -> Edit:
        """Return the edit that adds the fact."""
        return AddRows(self.rows)


class ShippedTaken(_Change, frozen=True, kw_only=True):
    """Facts of a shipped stack are added, beside the lines that other changes take from it."""

    kind: ClassVar[ChangeKind] = ChangeKind.SOURCE
    # The name of the shipped stack.
    stack: str
    # The projects that are taken from it, sorted.
    names: tuple[str, ...]
    # The facts as TOML.
    rows: str

    @property
    def subject(self) -> str:
        """Return the projects, separated by commas."""
        return ", ".join(self.names)

    @property
    def edit(self) -> Edit:
        """Return the edit that adds the facts."""
        return AddRows(self.rows)


class FactSetAside(_Change, frozen=True, kw_only=True):
    """A fact, or one requirement that it states, no longer counts: a risk."""

    kind: ClassVar[ChangeKind] = ChangeKind.RELAX
    # The id of the fact.
    fact: str
    # The requirement that no longer counts, as the fact has it; empty for the whole fact.
    need: str = ""
    # The project that is no longer required; None if the fact requires none.
    removed: NormalizedName | None = None

    @property
    def subject(self) -> str:
        """Return the id of the fact."""
        return self.fact

    @property
    def edit(self) -> Edit:
        """Return the edit that sets the fact or the requirement aside."""
        return SetAside(self.fact, self.need, _TO_CONFIRM)


class LinesDivided(_Change, frozen=True, kw_only=True):
    """The lines are divided between two environments: this is one of them."""

    kind: ClassVar[ChangeKind] = ChangeKind.SPLIT
    # The name of the environment.
    environment: str
    # The lines that only this environment has.
    lines: tuple[str, ...]

    @property
    def subject(self) -> str:
        """Return the name of the environment."""
        return self.environment

    @property
    def edit(self) -> Edit:
        """Raise TypeError: a division makes two stacks, so it is not one edit."""
        raise TypeError(self.subject)


# The key in [policy] of the cut-off by upload date.
CUTOFF: Final = "exclude-newer"

# A change of what a line about a project asks for.
LineChanged = VersionChanged | ExtrasRemoved
# One change of a stack.
Change = (
    PracticesOn
    | LineAdded
    | VersionChanged
    | ExtrasRemoved
    | LineDropped
    | ComponentChanged
    | ConstraintDropped
    | CutoffDropped
    | PrereleasesAdmitted
    | FactsUsed
    | RequirementRemoved
    | ArchiveStated
    | ShippedTaken
    | FactSetAside
    | LinesDivided
)


def subjects_of(changes: Iterable[Change]) -> set[tuple[ChangeKind, str, str]]:
    """Return the kind, the subject and the other target of each change."""
    return {(change.kind, change.subject, change.target) for change in changes}
