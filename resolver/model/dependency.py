"""Candidates for packages, and edges: their requirements on other packages."""

from __future__ import annotations

from typing import Final

import msgspec
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from resolver.model.component import Value
from resolver.model.constraint import Constraint
from resolver.model.package import Package
from resolver.model.release import Release
from resolver.model.requirement import ComponentRequirement


class Candidate(msgspec.Struct, frozen=True, eq=False):
    """A candidate for a package.

    There is one object for each candidate, so that two are equal only if they are identical.
    """

    package: Package
    # The release of a project, the value of a component, or the name of the distribution that has a
    # module. For `PackageKind.VERSION` the version of the project, or NOT_INSTALLED.
    chosen: Release | Value

    @property
    def release(self) -> Release:
        """Return the release of a project's candidate; other candidates have none."""
        assert isinstance(self.chosen, Release)  # noqa: S101  only asked of projects
        return self.chosen

    @property
    def version(self) -> Version:
        """Return the version of a project's candidate."""
        return self.release.version

    def satisfies(self, allows: Allows) -> bool:
        """Return whether a requirement on a component, module or version admits it."""
        match allows:
            case ComponentRequirement():
                return not isinstance(self.chosen, Release) and allows.allows(self.chosen)
            case ModuleOwner():
                return self.chosen == allows.name
            case Installed():
                return self.chosen == allows.version
            case SpecifierSet():
                if isinstance(self.chosen, Version):
                    return allows.contains(self.chosen, prereleases=True)
                return self.chosen == NOT_INSTALLED
            case _:
                return False

    def __str__(self) -> str:
        chosen = self.chosen.version if isinstance(self.chosen, Release) else self.chosen
        return f"{self.package} {chosen}"


class ModuleOwner(msgspec.Struct, frozen=True):
    """A requirement that a module is from this distribution."""

    # The name of the distribution.
    name: str


class ReleaseMask(msgspec.Struct, frozen=True):
    """A requirement that admits some releases of a project, by their positions."""

    # A bit mask: bit n is set if the release at position n is admitted (see `resolve/project.py`).
    positions: int


class Installed(msgspec.Struct, frozen=True):
    """A requirement of a release on the `PackageKind.VERSION` of its project: its own version."""

    version: Version


# The candidate for a `PackageKind.VERSION` if the project is not installed. It meets all bounds.
NOT_INSTALLED: Final = "not installed"

# What a requirement admits.
Allows = SpecifierSet | ReleaseMask | ComponentRequirement | ModuleOwner | Installed


class Edge(msgspec.Struct, frozen=True, eq=False):
    """A requirement on a package."""

    package: Package
    # The candidates that meet it.
    allows: Allows
    # The constraint that it is from. None for what always holds, such as that `project[extra]`
    # requires the same release of `project`.
    constraint: Constraint | None

    def __str__(self) -> str:
        return f"{self.package} {self.allows}" if self.constraint is None else str(self.constraint)
