"""Packages, their candidates and the requirements between them, each with the origin that a report cites."""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import Final, NamedTuple

import msgspec
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from resolver.model.fact import Fact
from resolver.model.release import RejectionReason, Release
from resolver.model.requirement import ComponentRequirement, Value


class PackageKind(IntEnum):
    """The kinds of packages, in the order in which they are decided."""

    COMPONENT = 0  # a component of the target: cann, hdk, soc, glibc, python
    MODULE = 1  # an importable module that several distributions have
    PROJECT = 2  # a project, with or without one of its extras
    VERSION = 3  # the version of a project, if that is installed: what bounds on it are about
    UNAVAILABLE = 4  # has no candidates: required by what cannot be used


class Package(NamedTuple):
    """What the solver chooses a candidate for.

    `project[extra]` is a package of its own that requires the same release of `project`. A line
    with two extras is two packages.
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
    """A candidate for a package. There is one object for each, so that identity is equality.

    `chosen` is a project's release, a component's value, or the name of the distribution that has a
    module. For `PackageKind.VERSION` it is the version of the project's release, or NOT_INSTALLED.
    """

    package: Package
    chosen: Release | Value

    @property
    def release(self) -> Release:
        """The release of a project's candidate; other candidates have none."""
        assert isinstance(self.chosen, Release)  # noqa: S101  only asked of projects
        return self.chosen

    @property
    def version(self) -> Version:
        """The version of a project's candidate."""
        return self.release.version

    def satisfies(self, allows: Allows) -> bool:
        """Whether a requirement on a component, module or version admits it."""
        match allows:
            case ComponentRequirement():
                return not isinstance(self.chosen, Release) and allows.allows(self.chosen)
            case ModuleOwner():
                return self.chosen == allows.name
            case Installed():
                return self.chosen == allows.version
            case SpecifierSet():
                return self.chosen == NOT_INSTALLED or (
                    isinstance(self.chosen, Version)
                    and allows.contains(self.chosen, prereleases=True)
                )
            case _:
                return False

    def __str__(self) -> str:
        return f"{self.package} {self.chosen.version if isinstance(self.chosen, Release) else self.chosen}"


class StackLine(msgspec.Struct, frozen=True):
    """A line of the stack. `where` is file:line."""

    text: str
    where: str

    def __str__(self) -> str:
        return f"the stack asks for {self.text}"


class NeedSource(Enum):
    """Where a requirement of a release is from."""

    METADATA = "metadata"  # the metadata of its file
    FACT = "fact"
    BUILD = "build"  # build-system.requires of its archive, or a fact about the build
    LINKAGE = "linkage"  # the binaries in its file


# Where in a file a requirement is, if not in its metadata.
_PARTS = {NeedSource.BUILD: "build-system.requires", NeedSource.LINKAGE: "binaries"}


class NeedLine(msgspec.Struct, frozen=True):
    """A requirement of `parent`, from a file or a `fact`; METADATA with a fact: that replaces the file's metadata."""

    source: NeedSource
    parent: str
    text: str
    filename: str = ""
    fact: Fact | None = None

    @property
    def where(self) -> str:
        """file:line of the fact, or the file that has the line."""
        part = _PARTS.get(self.source, "metadata")
        return self.fact.where if self.fact else f"{part} of {self.filename}"

    def __str__(self) -> str:
        return f"{'building ' if self.source is NeedSource.BUILD else ''}{self.parent} needs {self.text}"


class SameRelease(msgspec.Struct, frozen=True):
    """An extra requires the same release of its project (PEP 508)."""

    parent: str
    text: str


class Unusable(msgspec.Struct, frozen=True):
    """A file that proved unusable when it was opened, or was not opened because similar ones had; `text` says why."""

    filename: str
    reason: RejectionReason
    text: str


RequirementOrigin = StackLine | NeedLine | SameRelease | Unusable


class ModuleOwner(msgspec.Struct, frozen=True):
    """The module must be that of this distribution."""

    name: str


class ReleaseMask(msgspec.Struct, frozen=True):
    """The releases at these positions, a bit mask (see `resolve/project.py`)."""

    positions: int


class Installed(msgspec.Struct, frozen=True):
    """The project is installed at this version: what each of its releases says of its `PackageKind.VERSION`."""

    version: Version


NOT_INSTALLED: Final = "not installed"

Allows = SpecifierSet | ReleaseMask | ComponentRequirement | ModuleOwner | Installed


class Edge(msgspec.Struct, frozen=True, eq=False):
    """A requirement on `package`: a candidate that `allows` admits."""

    package: Package
    allows: Allows
    origin: RequirementOrigin
