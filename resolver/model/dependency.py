"""Candidates for packages, and the edges between them, each with the constraint that it is from."""

from __future__ import annotations

from typing import Final

import msgspec
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from resolver.model.constraint import Constraint
from resolver.model.package import Package
from resolver.model.release import Release
from resolver.model.requirement import ComponentRequirement, Value


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
    # None for what always holds: a package with an extra requires its project at the same release
    constraint: Constraint | None

    def __str__(self) -> str:
        return f"{self.package} {self.allows}" if self.constraint is None else str(self.constraint)
