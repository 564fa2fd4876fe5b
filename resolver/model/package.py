"""Packages: the solver chooses at most one candidate for each."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


class PackageKind(IntEnum):
    """The kinds of packages. The solver decides packages of a lower number first."""

    # A component of the target, such as `cann` or `python`.
    COMPONENT = 0
    # An importable module that several distributions install. Its candidates are the distributions,
    # so that at most one of them is chosen.
    MODULE = 1
    # A project, with or without one of its extras.
    PROJECT = 2
    # The version that a project has if it is installed. Bounds that do not require the project are
    # requirements on this package.
    VERSION = 3
    # A package without candidates. Releases that cannot be used require it.
    UNAVAILABLE = 4


class Package(NamedTuple):
    """A variable of the solver: a project, an extra of a project, a component or a module.

    `project[extra]` is a separate package that requires the same release of `project`. A
    requirement with two extras is about two packages.
    """

    # The name of a project, a component or a module.
    name: str
    # The extra; empty for the project itself.
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
