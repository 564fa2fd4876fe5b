"""Reasons: the constraints of one core, with the releases that they concern, and evidence.

Reports make sentences of reasons, in every language.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.model.constraint import (
    BuildLine,
    ComponentValue,
    Constraint,
    Excluded,
    Exclusive,
    Requires,
    StackLine,
    Unavailable,
)
from resolver.model.fact import Fact
from resolver.model.release import Rejection, RejectionReason, Release


class ReleaseRange(msgspec.Struct, frozen=True):
    """Consecutive releases of a project on the indexes."""

    # The oldest and the newest version.
    oldest: str
    newest: str
    # How many releases the range has.
    count: int


class ConcernedRelease(NamedTuple):
    """A release for which a constraint of a core has a clause."""

    project: NormalizedName
    version: Version
    # The extra that has the requirement; empty for none.
    extra: str = ""
    # The release with the files that the target would take; None if the target can use no file.
    release: Release | None = None
    # Why its file cannot be used; None if the constraint is about something else.
    rejection: RejectionReason | None = None


class RejectedRelease(msgspec.Struct, frozen=True, kw_only=True):
    """A release that cannot be used, with its files."""

    version: str
    # A file that proved unusable when it was opened, if there is one, and then the wheels that the
    # target cannot use, the nearest to the target first.
    files: tuple[Rejection, ...]


class UnparsedFiles(msgspec.Struct, frozen=True):
    """Files of a page that belong to no release, all for the same reason."""

    reason: RejectionReason
    # How many there are.
    count: int
    # The name of the first one.
    filename: str


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """What the indexes have of a project that is unavailable.

    Fields that do not apply to the constraint keep their default.
    """

    # How many releases cannot be used.
    count: int = 0
    # The newest release on the indexes, or the version of the commit; empty if there is none.
    newest: str = ""
    # The releases just before and after the versions that the requirement admits. Empty if no
    # release is after them.
    nearest: tuple[str, ...] = ()
    # Some of the releases that cannot be used, newest first.
    refusals: tuple[RejectedRelease, ...] = ()
    # The indexes that may have the project and could not be reached.
    unreachable: tuple[str, ...] = ()
    # A project of a similar name, or a component, if no index has the project.
    meant: str = ""
    # What the target has of what wheels are built for (see `target.tag_values`), if wheels were
    # rejected.
    machine: tuple[tuple[str, str], ...] = ()
    # The policy's cut-off: a day that counts to its end, or a moment.
    cutoff: str = ""
    # The files of a project without any release, by reason, the most frequent first.
    unread: tuple[UnparsedFiles, ...] = ()
    # The indexes that matrices/indexes.toml names for the project, and that the stack's own binding
    # leaves out.
    left_out: tuple[str, ...] = ()


NO_EVIDENCE = Evidence()


class Reason(msgspec.Struct, frozen=True, kw_only=True):
    """A constraint of a core.

    The solver fills in `releases` and `permitting`, which `check_refutation` checks. The other
    fields are for people, and are filled in only for a report (see `resolve/reasons`). They are
    about the releases that matter: the ones that the other constraints of the core leave possible.
    """

    constraint: Constraint
    # The releases for which the core has clauses: they have the requirement, or are ruled out.
    releases: tuple[ConcernedRelease, ...] = ()
    # The releases with a requirement that admits what is ruled out.
    permitting: tuple[ConcernedRelease, ...] = ()
    # The releases that matter, newest first.
    versions: tuple[ReleaseRange, ...] = ()
    # file:line, the file with the metadata of the newest release that matters, or the indexes that
    # were asked.
    where: str = ""
    evidence: Evidence = NO_EVIDENCE

    @property
    def subject(self) -> str:
        """Return the project, or `project[extra]`, that it is about; empty if it is about none."""
        match self.constraint:
            case Requires(package=package):
                return str(package)
            case BuildLine(package=name):
                return name
            case Excluded(project=project):
                return project
            case Unavailable(subject=subject):
                return subject
            case StackLine() | ComponentValue() | Exclusive():
                return ""

    @property
    def fact(self) -> Fact | None:
        """Return the fact that the constraint is from; None if it is from elsewhere."""
        match self.constraint:
            case Requires(fact=fact) | BuildLine(fact=fact):
                return fact
            case Excluded(fact=excluding):
                return excluding
            case Exclusive(fact=exclusive):
                return exclusive
            case StackLine() | ComponentValue() | Unavailable():
                return None


def requirement_of(reason: Reason) -> str | None:
    """Return what the releases of a reason require; None if it is about something else."""
    match reason.constraint:
        case Requires(text=text) | BuildLine(text=text):
            return text
        case _:
            return None
