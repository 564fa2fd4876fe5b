"""Grounds: the constraints that could be removed, and the clauses with them."""

from __future__ import annotations

from typing import NamedTuple

from packaging.utils import NormalizedName

from resolver.model import text
from resolver.model.dependency import (
    Edge,
    ModuleOwner,
    NeedLine,
    NeedSource,
    Package,
    SameRelease,
    StackLine,
    Unusable,
)
from resolver.model.release import RejectionReason
from resolver.model.resolution import Lack


class LineGround(NamedTuple):
    """A line of the stack (or a build requirement).

    `aspect` is "" (the project), "version", or "extra x".
    """

    origin: StackLine | NeedLine
    aspect: str


class ComponentGround(NamedTuple):
    """The value that the target states for a component."""

    name: str


class RequirementGround(NamedTuple):
    """Releases of a package require `text`: one ground for all releases that say the same, whatever the source."""

    package: Package
    source: NeedSource
    text: str
    fact: str  # its id; empty for metadata


class CollisionGround(NamedTuple):
    """A fact says that two distributions install the same module."""

    fact: str


class ExclusionGround(NamedTuple):
    """A fact rules releases of a project out."""

    project: str
    fact: str


class LackGround(NamedTuple):
    """A project (or an extra) has nothing usable.

    `detail` is a specifier, or the name of a `RejectionReason`.
    """

    project: str
    lack: Lack
    detail: str

    @property
    def name(self) -> NormalizedName:
        """The project's name, without an extra."""
        return text.name(self.project.partition("[")[0])


Ground = (
    LineGround
    | ComponentGround
    | RequirementGround
    | CollisionGround
    | ExclusionGround
    | LackGround
)


def grounds(parent: Package | None, edge: Edge) -> tuple[tuple[tuple[Ground, ...], bool], ...]:
    """The grounds, all of which must hold, of each clause that an edge makes.

    The flag tells whether the clause is about the edge's bounds, or only about its existence.
    """
    origin = edge.origin
    match origin:
        case SameRelease():
            return ()
        case StackLine() | NeedLine() if (
            parent is None
        ):  # as a line of a build environment, in its stack
            line = LineGround(origin, "")
            if edge.package.extra:  # it has the version of the project
                return (((line, LineGround(origin, f"extra {edge.package.extra}")), False),)
            exists = (((line,), False),)
            return (
                (*exists, ((line, LineGround(origin, "version")), True))
                if str(edge.allows)
                else exists
            )
        case Unusable():
            # those that were not opened are reported together with those that were
            reason = (
                RejectionReason.DYNAMIC
                if origin.reason is RejectionReason.UNOPENED
                else origin.reason
            )
            return (((LackGround(str(parent), Lack.UNUSABLE, reason.name),), True),)
        case NeedLine():
            assert parent is not None  # noqa: S101  only the stack's own lines have no parent
            fact = origin.fact.id if origin.fact else ""
            if isinstance(edge.allows, ModuleOwner):
                return (((CollisionGround(fact),), True),)
            source = (
                NeedSource.FACT if fact and origin.source is NeedSource.METADATA else origin.source
            )
            return (((RequirementGround(parent, source, origin.text, fact),), True),)
        case StackLine():
            raise AssertionError(edge)
