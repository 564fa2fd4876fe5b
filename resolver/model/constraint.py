"""Constraints: what the stack, the target, metadata, facts and indexes demand.

Every edge carries the constraint that it is from. The complete engine turns constraints on and off
by selecting their clauses. A core is a set of constraints that cannot all hold, and a `Reason` in a
report is about one of them.

A constraint does not say which releases it concerns: the edges do, and the reasons of a core.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, Literal

import msgspec
from packaging.utils import NormalizedName

from resolver.model import text
from resolver.model.fact import Absent, Collides, Excludes, Fact, Metadata, Names
from resolver.model.message import Message
from resolver.model.package import Package
from resolver.model.release import RejectionReason

# A part of a line that can be given up alone: `VERSION_PART` for the versions that it admits, or an
# `extra_part` for an extra that it asks for.
LinePart = str
VERSION_PART: Final = "version"

# In place of file:line, for a line that the stack does not have: the argument of `why`.
SUPPOSED: Final = "NAME==V"


def extra_part(extra: str) -> LinePart:
    """Return the part of a line that asks for an extra."""
    return f"extra {extra}"


# The lists of lines in the table `stack` of a stack's file.
StackKey = Literal["requires", "constraints", "overrides"]


class StackLine(msgspec.Struct, frozen=True, cache_hash=True):
    """A line of the stack, or a part of one.

    The line itself says that its project is installed. A part holds only together with the line.
    """

    # The line as written.
    text: str
    # file:line, or `SUPPOSED`.
    where: str
    # Empty for the line itself.
    part: LinePart = ""
    # The list of the stack that has the line. One of `constraints` bounds its project, and does not
    # say that it is installed.
    key: StackKey = "requires"

    @property
    def whole(self) -> StackLine:
        """Return the line itself."""
        return msgspec.structs.replace(self, part="") if self.part else self

    def __str__(self) -> str:
        if self.key == "constraints":
            return f"the stack allows only {self.text}"
        return f"the stack asks for {self.text}"


class BuildLine(msgspec.Struct, frozen=True, cache_hash=True):
    """A requirement of a build (PEP 518), or a part of one.

    The environment of the build is solved like a stack with these lines.
    """

    # The requirement as written.
    text: str
    # The project that is built, and its version.
    package: str
    version: str
    # The archive that it is built from.
    filename: str
    # The fact that states the requirement; None if the archive does.
    fact: Fact | None = None
    # As in a `StackLine`.
    part: LinePart = ""

    @property
    def where(self) -> str:
        """Return file:line of the fact, or the table and name of the archive."""
        if self.fact is not None:
            return self.fact.where
        return f"build-system.requires of {self.filename}"

    @property
    def whole(self) -> BuildLine:
        """Return the line itself."""
        return msgspec.structs.replace(self, part="") if self.part else self

    def __str__(self) -> str:
        return f"building {self.package} {self.version} needs {self.text}"


Line = StackLine | BuildLine


class ComponentValue(msgspec.Struct, frozen=True, cache_hash=True):
    """The value that the target has of a component."""

    # The name of the component, such as `python`.
    component: str
    value: str
    # file:line of the target.
    where: str
    # What people call the component; None for its name.
    label: Message | None = None


class RequirementSource(Enum):
    """Where a requirement of a release is from."""

    # The core metadata of its file.
    METADATA = "metadata"
    # A fact, which may replace the metadata of an archive.
    FACT = "fact"
    # build-system.requires of its archive, or a fact about its build.
    BUILD = "build"
    # The binaries in its file.
    LINKAGE = "linkage"
    # A line of the stack's `overrides`, in place of what the release or a fact requires.
    OVERRIDE = "override"


class Requires(msgspec.Struct, frozen=True, cache_hash=True):
    """A requirement of releases of a package, which all have the same words."""

    package: Package
    # The requirement as written.
    text: str
    source: RequirementSource
    # The fact that states it; None if none does.
    fact: Fact | None = None
    # The line of the stack's `overrides` that states it; None if none does.
    override: StackLine | None = None

    @property
    def is_metadata(self) -> bool:
        """Return whether it is core metadata, of the file or of a `metadata` fact about it."""
        return self.source is RequirementSource.METADATA or isinstance(self.fact, Metadata)

    @property
    def is_by_user(self) -> bool:
        """Return whether it counts as a wish of the user.

        Such a requirement is from a fact, but not from a `metadata` fact, or from the stack's
        `overrides`. If it pins a version, it admits that version even if a policy excludes it.
        """
        if self.source is RequirementSource.OVERRIDE:
            return True
        return self.source is RequirementSource.FACT and not isinstance(self.fact, Metadata)

    def __str__(self) -> str:
        building = "building " if self.source is RequirementSource.BUILD else ""
        return f"{building}{self.package} needs {self.text}"


class Excluded(msgspec.Struct, frozen=True, cache_hash=True):
    """Releases of a project that a fact excludes: `excludes`, or `names` for another meaning."""

    project: NormalizedName
    fact: Excludes | Names


class Exclusive(msgspec.Struct, frozen=True, cache_hash=True):
    """Two distributions of which at most one can be installed, as a fact says."""

    fact: Collides | Absent


class NoCandidate(Enum):
    """Why releases of a project are no candidates, before any file is opened."""

    # No index bound to the project has it.
    PROJECT = "project"
    # No release meets the specifier.
    RELEASE = "release"
    # The releases have no file that the target can use.
    FILE = "file"
    # They are pre-releases, and the policy excludes these.
    PRERELEASE = "prerelease"
    # They are pre-releases, and the policy admits these only if no final release meets the
    # requirements.
    NEEDLESS = "needless"
    # The stack names a commit, which has another version.
    COMMIT = "source"
    # An index that may have the project could not be reached.
    UNREACHABLE = "unreachable"


# Why releases cannot be used. YANKED and NEWER are the only rejections here that are known from an
# index's page: all others are of files that were opened.
WhyNot = NoCandidate | RejectionReason


class Unavailable(msgspec.Struct, frozen=True, cache_hash=True):
    """Releases of a project, or of one of its extras, that cannot be used.

    Archives that were not opened (UNOPENED) count as DYNAMIC: other archives of the project gave
    reason to assume that they have no static metadata.
    """

    # `project` or `project[extra]`.
    subject: str
    why: WhyNot
    # The specifier that no release meets, for `NoCandidate.RELEASE` and COMMIT; empty for any
    # version.
    wanted: str = ""

    @property
    def project(self) -> NormalizedName:
        """Return the project's name, without an extra."""
        return text.name(self.subject.partition("[")[0])

    @property
    def is_unusable(self) -> bool:
        """Return whether files proved unusable when they were opened."""
        return isinstance(self.why, RejectionReason) and self.why not in _POLICIES


# Rejections by a policy, which an index's page is enough for.
_POLICIES = (RejectionReason.YANKED, RejectionReason.NEWER)

Constraint = StackLine | BuildLine | ComponentValue | Requires | Excluded | Exclusive | Unavailable
