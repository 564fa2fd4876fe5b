"""Packages: what the solver chooses a candidate for."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


class PackageKind(IntEnum):
    """The kinds of packages, in the order in which they are decided."""

    # A component of the target, such as `cann` or `python`.
    COMPONENT = 0
    # An importable module that several distributions have.
    MODULE = 1
    # A project, with or without one of its extras.
    PROJECT = 2
    # The version of a project if it is installed, for bounds that do not require the project.
    VERSION = 3
    # A package without candidates, which unusable releases require.
    UNAVAILABLE = 4


class Package(NamedTuple):
    """What the solver chooses a candidate for.

    `project[extra]` is a package of its own that requires the same release of `project`. A line
    with two extras is two packages.
    """

    # The name of a project, a component or a module.
    name: str
    # Empty for the project itself.
    extra: str = ""
    kind: PackageKind = PackageKind.PROJECT

    def __str__(self) -> str:
        if self.kind is PackageKind.MODULE:
            return f"module {self.name}"
        return f"{self.name}[{self.extra}]" if self.extra else self.name

    @property
    def base(self) -> Package:
        """Return the package without its extra."""
        return Package(self.name, "", self.kind) if self.extra else self
