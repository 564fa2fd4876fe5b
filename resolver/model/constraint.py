"""Constraints: the demands of the stack, the target, metadata, facts and indexes.

A constraint is the origin of an edge of the dependency graph (`model/dependency`). The complete
engine can leave each constraint out, by not assuming the selector of its clauses (`resolve/sat`). A
core is a set of constraints that cannot all hold. A `Reason` in a report is about one constraint of
a core.

A constraint does not say which releases it concerns. The edges do, and so do the reasons of a core.
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

# A part of a line of the stack that can be given up while the line stays: VERSION_PART for its
# specifier, or the result of `extra_part` for one of its extras.
LinePart = str
VERSION_PART: Final = "version"

# The place of a line that is not in the stack's file: the argument of the command `why`, which is
# solved like a line of the stack. Other lines have file:line.
SUPPOSED: Final = "NAME==V"


def extra_part(extra: str) -> LinePart:
    """Return the name of the part of a line that asks for this extra."""
    return f"extra {extra}"


# The keys of the table `stack` of a stack's file that are lists of requirements.
StackKey = Literal["requires", "constraints", "overrides"]


class StackLine(msgspec.Struct, frozen=True, cache_hash=True):
    """A line of the stack, or a part of a line.

    The line itself demands that its project is installed. Its parts demand the versions and the
    extras. A part counts only together with the line itself.
    """

    # The line as written.
    text: str
    # file:line, or SUPPOSED.
    where: str
    # The part; empty for the line itself.
    part: LinePart = ""
    # The list of the stack that has the line. A line of `constraints` bounds the versions of its
    # project, and does not demand that the project is installed.
    key: StackKey = "requires"

    @property
    def whole(self) -> StackLine:
        """Return the line that this is a part of; the line itself is returned unchanged."""
        return msgspec.structs.replace(self, part="") if self.part else self

    def __str__(self) -> str:
        if self.key == "constraints":
            return f"the stack allows only {self.text}"
        return f"the stack asks for {self.text}"


class BuildLine(msgspec.Struct, frozen=True, cache_hash=True):
    """A requirement of a build (PEP 518), or a part of such a requirement.

    An isolated build environment is solved like a stack whose lines are the build's requirements.
    """

    # The requirement as written.
    text: str
    # The project that is built.
    project: str
    # The version that is built.
    version: str
    # The name of the source archive.
    filename: str
    # The fact that states the requirement; None if the archive states it.
    fact: Fact | None = None
    # The part, as in a `StackLine`; empty for the requirement itself.
    part: LinePart = ""

    @property
    def where(self) -> str:
        """Return file:line of the fact; without a fact, the table and the name of the archive."""
        if self.fact is not None:
            return self.fact.where
        return f"build-system.requires of {self.filename}"

    @property
    def whole(self) -> BuildLine:
        """Return the requirement that this is a part of, or the requirement itself unchanged."""
        return msgspec.structs.replace(self, part="") if self.part else self

    def __str__(self) -> str:
        return f"building {self.project} {self.version} needs {self.text}"


Line = StackLine | BuildLine


class ComponentValue(msgspec.Struct, frozen=True, cache_hash=True):
    """The demand of the target that a component has a certain value."""

    # The name of the component, such as `python`.
    component: str
    # The value, such as `3.11`.
    value: str
    # file:line of the value in the stack's file.
    where: str
    # The title of the component in reports; None to show the name.
    label: Message | None = None


class RequirementSource(Enum):
    """Where a requirement of a release comes from, such as its metadata or a fact."""

    # The core metadata of the release's file.
    METADATA = "metadata"
    # A fact. A `metadata` fact stands for the core metadata of an archive that has none.
    FACT = "fact"
    # `build-system.requires` of the release's archive, or a fact about its build.
    BUILD = "build"
    # The binaries in the release's wheel: they need the libraries of another project.
    LINKAGE = "linkage"
    # A line of the stack's `overrides`, which replaces a requirement of the release or of a fact.
    OVERRIDE = "override"


class ReleaseRequires(msgspec.Struct, frozen=True, cache_hash=True):
    """A requirement that releases of a package have.

    All releases of the package with the same text from the same source share one constraint.
    """

    # The package whose releases have the requirement.
    package: Package
    # The requirement as written.
    text: str
    # Where the requirement is from.
    source: RequirementSource
    # The fact that states it; None if none does.
    fact: Fact | None = None
    # The line of the stack's `overrides` that states it; None if none does.
    override: StackLine | None = None

    @property
    def is_metadata(self) -> bool:
        """Return whether the requirement is from core metadata, or from a `metadata` fact."""
        return self.source is RequirementSource.METADATA or isinstance(self.fact, Metadata)

    @property
    def is_by_user(self) -> bool:
        """Return whether the requirement counts like a line that the user wrote.

        That is so for the stack's `overrides` and for all facts except `metadata` facts. If such a
        requirement pins a version, the version is admitted even if a policy excludes it.
        """
        if self.source is RequirementSource.OVERRIDE:
            return True
        return self.source is RequirementSource.FACT and not isinstance(self.fact, Metadata)

    def __str__(self) -> str:
        building = "building " if self.source is RequirementSource.BUILD else ""
        return f"{building}{self.package} needs {self.text}"


class Excluded(msgspec.Struct, frozen=True, cache_hash=True):
    """A fact's demand that certain releases of a project are not used."""

    project: NormalizedName
    # An `excludes` fact, or a `names` fact: on that index, another project has the name.
    fact: Excludes | Names


class Exclusive(msgspec.Struct, frozen=True, cache_hash=True):
    """A fact's demand that at most one of two distributions is installed."""

    # A `collides` fact, or an `absent` fact that does not drop requirements (see `Absent`).
    fact: Collides | Absent


class NoCandidate(Enum):
    """Why releases of a project are no candidates, as far as the index's page tells."""

    # None of the indexes that the project is bound to has it.
    PROJECT = "project"
    # No release meets the specifier of a requirement.
    RELEASE = "release"
    # The releases have no file that the target can use.
    FILE = "file"
    # The releases are pre-releases, and the policy is `never`.
    PRERELEASE = "prerelease"
    # The releases are pre-releases, the policy is `if-necessary`, and a final release meets the
    # requirements.
    NEEDLESS = "needless"
    # The stack takes the project from a commit, and the commit has another version.
    COMMIT = "source"  # as conflict.json calls it
    # An index that may have the project could not be reached.
    UNREACHABLE = "unreachable"


# Why releases cannot be used. Of the rejections, only YANKED and NEWER follow from an index's page.
# All others were found when a file was opened.
WhyNot = NoCandidate | RejectionReason


class Unavailable(msgspec.Struct, frozen=True, cache_hash=True):
    """The demand that certain releases of a project are not used, since they cannot be used.

    Archives that were not opened (UNOPENED) have the reason DYNAMIC: other archives of the project
    have no static metadata, so these are assumed to have none either.
    """

    # The project, or one of its extras.
    package: Package
    # Why the releases cannot be used.
    why: WhyNot
    # For RELEASE and COMMIT of `NoCandidate`, the specifier that no release meets; empty for any
    # version.
    wanted: str = ""

    @property
    def project(self) -> NormalizedName:
        """Return the project of the package."""
        return text.name(self.package.name)

    @property
    def is_unusable(self) -> bool:
        """Return whether the reason was found when a file was opened."""
        return isinstance(self.why, RejectionReason) and self.why not in _POLICIES


# The rejections by the stack's policy, for which an index's page is enough.
_POLICIES = (RejectionReason.YANKED, RejectionReason.NEWER)

Constraint = (
    StackLine | BuildLine | ComponentValue | ReleaseRequires | Excluded | Exclusive | Unavailable
)
