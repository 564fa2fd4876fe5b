"""What can be chosen at most once: a project, an extra of it, a part of the system, a module."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Kind(Enum):
    """What sort of thing a package is; the order is the order of decisions."""

    SYSTEM = 0  # a component of the target: cann, hdk, soc, glibc, python
    MODULE = 1  # an importable module that several distributions want to own
    PROJECT = 2  # a project on an index, with or without one of its extras
    NONE = 3  # stands for what cannot be had; it has no candidates

    def __lt__(self, other: Kind) -> bool:
        return self.value < other.value

    __hash__ = object.__hash__  # Enum's own is written in Python, and every look-up of a package calls it


class Package(NamedTuple):
    """The identity under which the solver decides.

    `project[extra]` is a package of its own that needs exactly the same
    release of `project`. A stack line with two extras is two packages.
    """

    name: str
    extra: str = ""
    kind: Kind = Kind.PROJECT

    def __str__(self) -> str:
        match self.kind:
            case Kind.MODULE:
                return f"module {self.name}"
            case _:
                return f"{self.name}[{self.extra}]" if self.extra else self.name

    @property
    def base(self) -> Package:
        """The package without its extra."""
        return Package(self.name, "", self.kind) if self.extra else self
