"""The ground of a clause: the constraint that could be removed, and the clause with it.

Grounds are the solver's names for what a report calls statements. A line of the stack has several aspects (that the
project is required at all, its extras, its version), so that a fix can relax one and keep the others. That an extra
is of the same release as its project has no ground: it follows from what extras are.
"""

from __future__ import annotations

from typing import NamedTuple

from resolver.model.edge import Edge, Nothing, Owner
from resolver.model.origin import BuildLine, FactLine, MetadataLine, Origin, SameRelease, StackLine, Unusable
from resolver.model.package import Package
from resolver.model.statement import Lack, Source


class Line(NamedTuple):
    """A line of the stack (or a build requirement). `aspect` is "" (the project), "version", or "extra x"."""

    origin: StackLine | BuildLine
    aspect: str


class Component(NamedTuple):
    """The value that the target states for a component."""

    name: str


class Said(NamedTuple):
    """Releases of a package require `text`: one ground for all releases that say the same, whatever the source."""

    package: Package
    source: Source
    text: str
    fact: str  # its id; empty for metadata


class Module(NamedTuple):
    """A fact says that two distributions install the same module."""

    fact: str


class Taken(NamedTuple):
    """A fact rules releases of a project out."""

    project: str
    fact: str


class Lacking(NamedTuple):
    """A project (or an extra) has nothing usable. `detail` is a specifier, or the kind of unusable files."""

    project: str
    lack: Lack
    detail: str


Ground = Line | Component | Said | Module | Taken | Lacking


def grounds(parent: Package | None, edge: Edge) -> tuple[tuple[tuple[Ground, ...], bool], ...]:
    """The grounds, all of which must hold, of each clause that an edge makes.

    The flag tells whether the clause is about the edge's bounds, or only about its existence.
    """
    origin = edge.origin
    match origin:
        case SameRelease():
            return ()
        case StackLine() | BuildLine() if parent is None:
            line = Line(origin, "")
            if edge.package.extra:  # it has the version of the project
                return (((line, Line(origin, f"extra {edge.package.extra}")), False),)
            there = (((line,), False),)
            return (*there, ((line, Line(origin, "version")), True)) if str(edge.allows) else there
        case _:
            assert parent is not None  # noqa: S101  only the stack's own lines have no parent
            return (((_of_candidate(parent, edge, origin),), True),)


def _of_candidate(parent: Package, edge: Edge, origin: Origin) -> Ground:
    match origin:
        case FactLine():
            if isinstance(edge.allows, Owner):
                return Module(origin.fact.id)
            return Said(parent, Source.FACT, origin.text, origin.fact.id)
        case BuildLine():
            return Said(parent, Source.BUILD, origin.text, origin.fact.id if origin.fact else "")
        case MetadataLine() if origin.fact is not None:
            return Said(parent, Source.FACT, origin.text, origin.fact.id)
        case MetadataLine():
            return Said(parent, Source.METADATA, origin.text, "")
        case _:
            assert isinstance(edge.allows, Nothing)  # noqa: S101  an unusable file is all that is left
            assert isinstance(origin, Unusable)  # noqa: S101  and nothing else asks for nothing
            return Lacking(str(parent), Lack.UNUSABLE, origin.sort)
