"""One requirement as the solver sees it: which package, which of its candidates, and why."""

from __future__ import annotations

import msgspec
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from resolver.model.component import ComponentRequirement
from resolver.model.origin import Origin
from resolver.model.package import Package


class Exactly(msgspec.Struct, frozen=True):
    """Exactly this version, including the local part: what an extra requires of its project."""

    version: Version


class Owner(msgspec.Struct, frozen=True):
    """The module must belong to this distribution."""

    name: str


class Among(msgspec.Struct, frozen=True):
    """One of the releases at these positions, as a mask (see `resolve/project.py`)."""

    positions: int


class Nothing(msgspec.Struct, frozen=True):
    """No candidate is admitted: the parent cannot be used."""


Allows = SpecifierSet | Exactly | Among | ComponentRequirement | Owner | Nothing


class Edge(msgspec.Struct, frozen=True, eq=False):
    """`origin` needs a candidate of `package` that `allows` admits."""

    package: Package
    allows: Allows
    origin: Origin
