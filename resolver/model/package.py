"""What the solver chooses candidates for."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


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
