"""Constraints: what the stack, the target, metadata, facts and indexes demand.

A constraint is what an edge carries, what the complete engine selects clauses by, what a core
consists of, and what a `Reason` in a report is about. It holds for all releases alike: which
releases it concerns is in the edges, and in the reasons of one core.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

import msgspec
from packaging.utils import NormalizedName

from resolver.model import text
from resolver.model.fact import Absent, Collides, Excludes, Fact, Metadata, Names
from resolver.model.package import Package
from resolver.model.release import RejectionReason

# "version", for the versions that a line admits, or "extra NAME", for an extra that it asks for
LinePart = str
VERSION_PART: Final = "version"


def extra_part(extra: str) -> LinePart:
    """Return the part of a line that asks for an extra."""
    return f"extra {extra}"


class StackLine(msgspec.Struct, frozen=True, cache_hash=True):
    """A line of the stack, or one part of it."""

    # as it is written
    text: str
    # file:line, or the option (`--package`) that adds the line
    where: str
    # empty for the line itself: its project is installed. A part holds only together with it.
    part: LinePart = ""

    @property
    def whole(self) -> StackLine:
        """Return the line itself."""
        return msgspec.structs.replace(self, part="") if self.part else self

    def __str__(self) -> str:
        return f"the stack asks for {self.text}"


class BuildLine(msgspec.Struct, frozen=True, cache_hash=True):
    """A requirement of a build: a line of the stack that the build's own environment is.

    It is from the release's archive, or from a fact about it.
    """

    # as it is written
    text: str
    # the release that is built
    package: str
    version: str
    # its archive
    filename: str
    fact: Fact | None = None
    # as in a `StackLine`
    part: LinePart = ""

    @property
    def where(self) -> str:
        """Return file:line of the fact, or the archive."""
        return self.fact.where if self.fact else f"build-system.requires of {self.filename}"

    @property
    def whole(self) -> BuildLine:
        """Return the line itself."""
        return msgspec.structs.replace(self, part="") if self.part else self

    def __str__(self) -> str:
        return f"building {self.package} {self.version} needs {self.text}"


Line = StackLine | BuildLine


class ComponentValue(msgspec.Struct, frozen=True, cache_hash=True):
    """The target has this value of a component."""

    component: str
    value: str
    # file:line
    where: str


class RequirementSource(Enum):
    """Where a requirement of a release is from."""

    # the metadata of its file
    METADATA = "metadata"
    # a fact, which may stand in for the metadata of an archive
    FACT = "fact"
    # build-system.requires of its archive, or a fact about its build
    BUILD = "build"
    # the binaries in its file
    LINKAGE = "linkage"


class Requires(msgspec.Struct, frozen=True, cache_hash=True):
    """Releases of a package require `text`, each of them in the same words."""

    package: Package
    text: str
    source: RequirementSource
    # the fact that states it, if one does
    fact: Fact | None = None

    @property
    def is_metadata(self) -> bool:
        """Return whether it is core metadata: of the file, or stated by a `metadata` fact for it."""
        return self.source is RequirementSource.METADATA or isinstance(self.fact, Metadata)

    @property
    def is_by_user(self) -> bool:
        """Return whether a fact decides: its pins admit what the policies exclude."""
        return self.source is RequirementSource.FACT and not isinstance(self.fact, Metadata)

    def __str__(self) -> str:
        building = "building " if self.source is RequirementSource.BUILD else ""
        return f"{building}{self.package} needs {self.text}"


class Excluded(msgspec.Struct, frozen=True, cache_hash=True):
    """A fact excludes releases of a project, or says that they belong to another one."""

    project: NormalizedName
    fact: Excludes | Names


class Exclusive(msgspec.Struct, frozen=True, cache_hash=True):
    """A fact says that at most one of two distributions can be installed."""

    fact: Collides | Absent


class NoCandidate(Enum):
    """Why a project has no candidate, whatever its files are like."""

    # no index bound to the project has it
    PROJECT = "project"
    # no release is in the specifier
    RELEASE = "release"
    # the releases have no file that the target can use
    FILE = "file"
    # pre-releases, which the policy excludes
    PRERELEASE = "prerelease"
    # pre-releases, which the policy admits only if no final release meets the requirements
    NEEDLESS = "needless"
    # the stack names a commit, which is of another version
    COMMIT = "source"
    # an index that might have one could not be reached
    UNREACHABLE = "unreachable"


WhyNot = NoCandidate | RejectionReason


class Unavailable(msgspec.Struct, frozen=True, cache_hash=True):
    """Releases of a project, or of one of its extras, cannot be used.

    With a `RejectionReason` other than YANKED and NEWER their files proved unusable when they were
    opened; UNOPENED files count to those of DYNAMIC, for which they were given up.
    """

    # `project` or `project[extra]`
    subject: str
    why: WhyNot
    # the specifier that nothing meets; empty for any release
    wanted: str = ""

    @property
    def project(self) -> NormalizedName:
        """Return the project's name, without an extra."""
        return text.name(self.subject.partition("[")[0])

    @property
    def is_unusable(self) -> bool:
        """Return whether files proved unusable when they were opened."""
        return isinstance(self.why, RejectionReason) and self.why not in _POLICIES


# Reasons that are known from an index's page.
_POLICIES = (RejectionReason.YANKED, RejectionReason.NEWER)

Constraint = StackLine | BuildLine | ComponentValue | Requires | Excluded | Exclusive | Unavailable
