"""Reasons: each is a constraint of a core, with the releases that it concerns, and evidence.

A core is a set of constraints that cannot all hold. `report/explanation/sentences` makes a sentence
of each reason, in every language.
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
    NoCandidate,
    ReleaseRequires,
    StackLine,
    Unavailable,
)
from resolver.model.fact import Fact, Names
from resolver.model.release import Rejection, RejectionReason, Release, Source


class ReleaseRange(msgspec.Struct, frozen=True):
    """A range of consecutive releases of a project on the indexes."""

    # The oldest version of the range.
    oldest: str
    # The newest version of the range.
    newest: str
    # How many releases the range has.
    count: int


class ConcernedRelease(NamedTuple):
    """A release that a constraint is about, as far as the proof of a core needs it."""

    # The project of the release.
    project: NormalizedName
    # The version of the release.
    version: Version
    # The extra of the release that has the requirement; empty if no extra is meant.
    extra: str = ""
    # The release with the files that the target would take; None if the target can use no file.
    release: Release | None = None
    # Why the file of the release cannot be used; None if the constraint is about something else.
    rejection: RejectionReason | None = None


class RejectedRelease(msgspec.Struct, frozen=True, kw_only=True):
    """A release that cannot be used, and why each of its files cannot be used."""

    # The version of the release.
    version: str
    # First the file that was opened and could not be used, if there is one. Then the wheels that
    # are not for the target, the nearest to the target first.
    files: tuple[Rejection, ...]


class UnparsedFiles(msgspec.Struct, frozen=True):
    """The files of an index page that were rejected for one reason and belong to no release."""

    # Why the files were rejected.
    reason: RejectionReason
    # How many files there are.
    count: int
    # The name of the first file.
    filename: str


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """What the indexes show about a project that an `Unavailable` constraint is about.

    Fields that do not apply to the constraint keep their default.
    """

    # How many releases cannot be used.
    count: int = 0
    # The newest release on the indexes, or the version of the commit; empty if there is none.
    newest: str = ""
    # The releases just before and just after the versions that the requirement admits. Empty if no
    # release is after them.
    nearest: tuple[str, ...] = ()
    # Some of the releases that cannot be used, newest first.
    refusals: tuple[RejectedRelease, ...] = ()
    # The names of the indexes that may have the project and could not be reached.
    unreachable: tuple[str, ...] = ()
    # If no index has the project: a known project with a similar name, or a component that people
    # call by this name; empty if there is none.
    meant: str = ""
    # If no index has the project: the fact that says where it is from; None if there is none.
    named: Names | None = None
    # If the stack takes the project from a commit of which nothing is known: the commit's release.
    at_commit: Source | None = None
    # If wheels were rejected: the processor, glibc and Python of the target, as pairs of name and
    # value (see `target.tag_values`).
    machine: tuple[tuple[str, str], ...] = ()
    # The policy's cut-off in ISO 8601: a day that counts to its end, or a moment.
    cutoff: str = ""
    # For a project without any release: its rejected files by reason, the most frequent first.
    unread: tuple[UnparsedFiles, ...] = ()
    # The names of the indexes that matrices/indexes.toml has for the project, and that are not
    # asked, since the stack binds the project to other indexes.
    left_out: tuple[str, ...] = ()


# The evidence of a reason that has none.
NO_EVIDENCE = Evidence()


class Premise(msgspec.Struct, frozen=True, kw_only=True):
    """A constraint of a core, with the releases that the proof of the core needs it for.

    `resolve/premises` makes it, and `resolve/check_refutation` checks it. What people read of the
    constraint is a `Reason`.
    """

    # The constraint of the core.
    constraint: Constraint
    # They have the requirement of the constraint, or the constraint rules them out.
    releases: tuple[ConcernedRelease, ...] = ()
    # If a policy rules releases out: the releases with a requirement that permits them nevertheless
    # (a pin on a yanked release, a requirement that names a pre-release).
    permitting: tuple[ConcernedRelease, ...] = ()


class Reason(msgspec.Struct, frozen=True, kw_only=True):
    """A constraint of a core, with what people are told about it (see `resolve/reasons`).

    The releases that matter are those that the other constraints of the core leave possible.
    """

    # The constraint of the core.
    constraint: Constraint
    # The releases that matter, newest first.
    versions: tuple[ReleaseRange, ...] = ()
    # Where the constraint can be looked up: file:line, the name of the file with the metadata of
    # the newest release that matters, or the names of the indexes that were asked.
    where: str = ""
    # What the indexes show about the project, if it is unavailable.
    evidence: Evidence = NO_EVIDENCE
    # If a page states several reasons in one sentence (`report/explanation/grouping`): all of them,
    # those about the newest releases first. The constraint is the first one's. Empty otherwise.
    members: tuple[Reason, ...] = ()

    @property
    def subject(self) -> str:
        """Return the project, or `project[extra]`, whose releases the constraint concerns.

        Empty if the constraint is about no project's releases: for a line of the stack, a value of
        the target, and two distributions that exclude each other.
        """
        match self.constraint:
            case ReleaseRequires(package=package) | Unavailable(package=package):
                return str(package)
            case BuildLine(project=name):
                return name
            case Excluded(project=project):
                return project
            case StackLine() | ComponentValue() | Exclusive():
                return ""

    @property
    def project(self) -> str:
        """Return the project of `subject`, without an extra; empty if there is none."""
        match self.constraint:
            case ReleaseRequires(package=package) | Unavailable(package=package):
                return package.name
            case _:
                return self.subject

    @property
    def is_unknown(self) -> bool:
        """Return whether it is that no index has a project of which nothing else is known.

        No fact says where it is from, the stack names no commit, and no other index may have it.
        """
        match self.constraint:
            case Unavailable(why=NoCandidate.PROJECT):
                evidence = self.evidence
                elsewhere = evidence.named or evidence.at_commit or evidence.unreachable
                return not (elsewhere or evidence.left_out)
            case _:
                return False

    @property
    def fact(self) -> Fact | None:
        """Return the fact that the constraint is from; None if it is not from a fact.

        For a project that no index has, it is the fact that says where it is from.
        """
        match self.constraint:
            case ReleaseRequires(fact=fact) | BuildLine(fact=fact):
                return fact
            case Excluded(fact=excluding):
                return excluding
            case Exclusive(fact=exclusive):
                return exclusive
            case Unavailable():
                return self.evidence.named
            case StackLine() | ComponentValue():
                return None


def requirement_of(reason: Reason) -> str | None:
    """Return the text of the requirement that a reason is about.

    None if its constraint is not a requirement of releases or of a build.
    """
    match reason.constraint:
        case ReleaseRequires(text=text) | BuildLine(text=text):
            return text
        case _:
            return None
