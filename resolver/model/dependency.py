"""What a search decides: packages, their candidates, and the edges between them, each with its origin.

Every sentence of a report cites an origin.
"""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import NamedTuple

import msgspec
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from resolver.model.fact import Fact
from resolver.model.release import RejectionReason, Release
from resolver.model.requirement import ComponentRequirement, Value


class PackageKind(IntEnum):
    """What sort of thing a package is; the order is the order of decisions."""

    COMPONENT = 0  # a component of the target: cann, hdk, soc, glibc, python
    MODULE = 1  # an importable module that several distributions want to own
    PROJECT = 2  # a project on an index, with or without one of its extras
    UNAVAILABLE = 3  # stands for what cannot be had; it has no candidates


class Package(NamedTuple):
    """The identity under which the solver decides.

    `project[extra]` is a package of its own that needs exactly the same
    release of `project`. A stack line with two extras is two packages.
    """

    name: str
    extra: str = ""
    kind: PackageKind = PackageKind.PROJECT

    def __str__(self) -> str:
        name = f"{self.name}[{self.extra}]" if self.extra else self.name
        return f"module {self.name}" if self.kind is PackageKind.MODULE else name

    @property
    def base(self) -> Package:
        """The package without its extra."""
        return Package(self.name, "", self.kind) if self.extra else self


class Candidate(msgspec.Struct, frozen=True, eq=False):
    """One choice for a package. There is one object per choice, so identity is equality.

    `chosen` is a Release for a project, a component's value, or the owner of a module.
    """

    package: Package
    chosen: Release | Value

    @property
    def release(self) -> Release:
        """The release of a project's candidate; other candidates have none."""
        assert isinstance(self.chosen, Release)  # noqa: S101  the solver asks projects only
        return self.chosen

    @property
    def version(self) -> Version:
        """The version of a project's candidate."""
        return self.release.version

    def satisfies(self, allows: Allows) -> bool:
        """Whether a requirement on a component or module admits it."""
        if isinstance(allows, ComponentRequirement):
            return not isinstance(self.chosen, Release) and allows.allows(self.chosen)
        return isinstance(allows, ModuleOwner) and self.chosen == allows.name

    def __str__(self) -> str:
        return f"{self.package} {self.chosen.version if isinstance(self.chosen, Release) else self.chosen}"


class StackLine(msgspec.Struct, frozen=True):
    """A line of the stack. `where` is file:line."""

    text: str
    where: str

    def __str__(self) -> str:
        return f"the stack asks for {self.text}"


class NeedSource(Enum):
    """Who says that a release needs something."""

    METADATA = "metadata"  # the metadata of its file
    FACT = "fact"
    BUILD = "build"  # build-system.requires of its archive, or a fact about the build


class NeedLine(msgspec.Struct, frozen=True):
    """A requirement of `parent`: from a file, from a `fact`, or (METADATA with a fact) from one in the file's place."""

    source: NeedSource
    parent: str
    text: str
    filename: str = ""
    fact: Fact | None = None

    @property
    def where(self) -> str:
        """file:line of the fact, or the file that has the line."""
        what = "build-system.requires" if self.source is NeedSource.BUILD else "metadata"
        return self.fact.where if self.fact else f"{what} of {self.filename}"

    def __str__(self) -> str:
        return f"{'building ' if self.source is NeedSource.BUILD else ''}{self.parent} needs {self.text}"


class SameRelease(msgspec.Struct, frozen=True):
    """An extra requires the same release of its project (PEP 508)."""

    parent: str
    text: str


class Unusable(msgspec.Struct, frozen=True):
    """A file that proved unusable when it was opened, or was not opened because similar ones had.

    `text` gives the specifics.
    """

    filename: str
    reason: RejectionReason
    text: str


Origin = StackLine | NeedLine | SameRelease | Unusable


class ModuleOwner(msgspec.Struct, frozen=True):
    """The module must belong to this distribution."""

    name: str


class ReleaseMask(msgspec.Struct, frozen=True):
    """One of the releases at these positions, as a mask (see `resolve/project.py`); none where it is 0."""

    positions: int


Allows = SpecifierSet | ReleaseMask | ComponentRequirement | ModuleOwner


class Edge(msgspec.Struct, frozen=True, eq=False):
    """`origin` needs a candidate of `package` that `allows` admits."""

    package: Package
    allows: Allows
    origin: Origin
