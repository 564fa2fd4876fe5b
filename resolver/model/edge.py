"""One requirement as the solver sees it: which package, which of its candidates, and why."""

from __future__ import annotations

from dataclasses import dataclass

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from resolver.model.component import ComponentRequirement
from resolver.model.origin import Origin
from resolver.model.package import Package


@dataclass(frozen=True, slots=True)
class Exactly:
    """One single release, local version included: what an extra asks of its project."""

    version: Version


@dataclass(frozen=True, slots=True)
class Owner:
    """The module must belong to this distribution."""

    name: str


@dataclass(frozen=True, slots=True)
class Nothing:
    """No candidate will do: the parent cannot be used."""


Allows = SpecifierSet | Exactly | ComponentRequirement | Owner | Nothing


@dataclass(frozen=True, slots=True, eq=False)
class Edge:
    """`origin` needs a candidate of `package` that `allows` admits."""

    package: Package
    allows: Allows
    origin: Origin
