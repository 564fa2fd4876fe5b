"""The dependency graph: candidates for packages, and edges, which are their requirements."""

from __future__ import annotations

from typing import Final

import msgspec
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from resolver.model.component import Value
from resolver.model.constraint import Constraint, ReleaseRequires
from resolver.model.package import Package
from resolver.model.release import Release
from resolver.model.requirement import ComponentRequirement


class Candidate(msgspec.Struct, frozen=True, eq=False):
    """A choice for a package, such as a release of a project.

    There is one object for each candidate, so candidates are compared by identity.
    """

    # The package that the choice is for.
    package: Package
    # The choice, by the kind of the package. PROJECT: a release. COMPONENT: a value. MODULE: the
    # name of the distribution that installs the module. VERSION: the version of the project, or
    # NOT_INSTALLED.
    chosen: Release | Value

    @property
    def release(self) -> Release:
        """Return the release; only a candidate for a project has one."""
        assert isinstance(self.chosen, Release)  # noqa: S101  only asked of projects
        return self.chosen

    @property
    def version(self) -> Version:
        """Return the version of the release; only a candidate for a project has one."""
        return self.release.version

    def satisfies(self, allows: Allows) -> bool:
        """Return whether a requirement admits the candidate.

        `allows` is a requirement on a component, a module or a version. For a release of a project
        the result is False: `resolve/project.py` compares releases by their positions.
        """
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
    """A requirement on a module: it is installed by a certain distribution."""

    # The name of the distribution.
    name: str


class ReleaseMask(msgspec.Struct, frozen=True):
    """A requirement on a project: one of the releases in a bit mask is chosen."""

    # A bit mask: bit n is set if the release at position n is admitted (see `resolve/project.py`).
    positions: int


class Installed(msgspec.Struct, frozen=True):
    """A requirement on a `PackageKind.VERSION`: the project is installed at a certain version.

    Each release of the project has this requirement, with its own version.
    """

    version: Version


# The choice for a `PackageKind.VERSION` if the project is not installed. Every bound admits it.
NOT_INSTALLED: Final = "not installed"

# The candidates that an edge admits. A SpecifierSet is a bound on a `PackageKind.VERSION`.
Allows = SpecifierSet | ReleaseMask | ComponentRequirement | ModuleOwner | Installed


class Edge(msgspec.Struct, frozen=True, eq=False):
    """A requirement of a candidate, or of the stack, on a package."""

    # The package that is required.
    package: Package
    # The candidates that the requirement admits.
    allows: Allows
    # The constraint that the requirement is from. None for a rule that nobody can change, such as
    # that `project[extra]` requires the same release of `project`.
    constraint: Constraint | None

    @property
    def is_own(self) -> bool:
        """Return whether a release requires its own project, or an extra of it.

        Such an edge permits no pre-release and no yanked release: otherwise a release that must not
        be chosen could permit itself.
        """
        if isinstance(self.constraint, ReleaseRequires):
            return self.constraint.package.base == self.package.base
        # An extra requires the release that it is an extra of.
        return self.constraint is None and isinstance(self.allows, ReleaseMask)

    def __str__(self) -> str:
        return f"{self.package} {self.allows}" if self.constraint is None else str(self.constraint)
