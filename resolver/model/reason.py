"""Reasons: constraints of one core, with the releases that they concern there, and the evidence.

Reasons are data, of which reports make sentences in English and in Chinese.
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
    """`count` consecutive releases of a project on the indexes."""

    oldest: str
    newest: str
    count: int


class ConcernedRelease(NamedTuple):
    """A release for which a constraint of a core has a clause."""

    project: NormalizedName
    version: Version
    # the extra that has the requirement; empty for none
    extra: str = ""
    # the release as the target would take it; None if it cannot
    release: Release | None = None
    # why its file cannot be used, if the constraint says so
    rejection: RejectionReason | None = None


class RejectedRelease(msgspec.Struct, frozen=True, kw_only=True):
    """A release that cannot be used, and why each of its files was rejected, the nearest to the target first.

    A file that proved unusable when it was opened is the first; wheels that the target cannot use
    follow.
    """

    version: str
    files: tuple[Rejection, ...]


class UnparsedFiles(msgspec.Struct, frozen=True):
    """`count` files of a page that belong to no release for the same reason, and the name of the first."""

    reason: RejectionReason
    count: int
    filename: str


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """What the indexes have of a project instead of what is unavailable."""

    # how many releases are in question
    count: int = 0
    # the newest release on the indexes, or the version of the commit; empty for none
    newest: str = ""
    # the releases just before and after those that are wanted, if there is one after them
    nearest: tuple[str, ...] = ()
    # the newest of the releases in question
    refusals: tuple[RejectedRelease, ...] = ()
    # indexes that could not be reached and may have one
    unreachable: tuple[str, ...] = ()
    # a known project of a similar name, or a component, if no index has this one
    meant: str = ""
    # what the target has of what wheels are built for (`tag_values`), if wheels were rejected
    machine: tuple[tuple[str, str], ...] = ()
    # the policy's cut-off: a day that counts to its end, or a moment
    cutoff: str = ""
    # the files of a project without any release, by reason, the most frequent first
    unread: tuple[UnparsedFiles, ...] = ()
    # indexes that matrices/indexes.toml names for the project, and that the stack's own leave out
    left_out: tuple[str, ...] = ()


NO_EVIDENCE = Evidence()


class Reason(msgspec.Struct, frozen=True, kw_only=True):
    """A constraint of a core.

    The solver gives the releases that it concerns, which are checked. What people are told is added
    where it is needed (`resolve/reasons`): of these releases only those that the other constraints
    of the core leave possible matter to them.
    """

    constraint: Constraint
    # the releases for which the core has clauses: with the requirement, or ruled out
    releases: tuple[ConcernedRelease, ...] = ()
    # the releases that permit those which are ruled out
    permitting: tuple[ConcernedRelease, ...] = ()
    # the releases that matter, as ranges, newest first
    versions: tuple[ReleaseRange, ...] = ()
    # file:line, the file with the metadata of the newest of these releases, or the indexes asked
    where: str = ""
    evidence: Evidence = NO_EVIDENCE

    @property
    def subject(self) -> str:
        """Return the project, or one of its extras, whose releases it is about; empty for none."""
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
        """Return the fact that states it; None if none does."""
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
    constraint = reason.constraint
    return constraint.text if isinstance(constraint, (Requires, BuildLine)) else None
