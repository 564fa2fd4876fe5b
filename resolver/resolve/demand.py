"""What a requirement admits, and the combined demand of those on one package, however many there are."""

from __future__ import annotations

from typing import NamedTuple

from packaging.specifiers import SpecifierSet

from resolver.model import text
from resolver.model.dependency import Allows, Among, Candidate, Edge, Exactly, FactLine, Nothing, Owner, StackLine
from resolver.model.release import Release
from resolver.model.requirement import ComponentRequirement


class Demand(NamedTuple):
    """The demand of edges on one package, and the kinds of edges among them.

    `a & b` is the demand of both, so another edge costs the same however many there are. Each edge is evaluated once
    (`of_edge`). `mask` are the candidates that all edges admit (see `Universe.mask`); the other fields tell whether any
    edge is of that kind.
    """

    mask: int = -1
    pin: bool = False  # names one release
    first: bool = False  # names one release, and is to be decided before anything else
    stacks: bool = False  # a line of the stack
    bounded: bool = False  # has bounds
    wished: bool = False  # a pin by the stack or a fact
    prerelease: bool = False  # names a pre-release

    def __and__(self, other: Demand) -> Demand:
        return Demand(
            self.mask & other.mask,
            self.pin or other.pin,
            self.first or other.first,
            self.stacks or other.stacks,
            self.bounded or other.bounded,
            self.wished or other.wished,
            self.prerelease or other.prerelease,
        )


ANYTHING = Demand()


def of_edge(edge: Edge, mask: int) -> Demand:
    """The demand of one edge, which admits the candidates in `mask`."""
    bounds = str(edge.allows)
    pin = pins(edge.allows)
    return Demand(
        mask,
        pin,
        isinstance(edge.allows, Exactly) or (bounds.startswith("==") and "*" not in bounds),
        isinstance(edge.origin, StackLine),
        bool(bounds),
        pins_yanked(edge),
        names_prerelease(edge.allows),
    )


def pins_yanked(edge: Edge) -> bool:
    """Whether a requirement permits a yanked release: the stack or a fact pins it."""
    return isinstance(edge.origin, (StackLine, FactLine)) and pins(edge.allows)


def satisfies(candidate: Candidate, allows: Allows) -> bool:
    """Whether a requirement admits a candidate, regardless of the pre-release policy."""
    match allows:
        case SpecifierSet():
            return allows.contains(candidate.version, prereleases=True)
        case Exactly():
            return candidate.version == allows.version
        case Among():
            return isinstance(candidate.chosen, Release) and bool(allows.positions >> candidate.chosen.position & 1)
        case ComponentRequirement():
            return not isinstance(candidate.chosen, Release) and allows.allows(candidate.chosen)
        case Owner():
            return candidate.chosen == allows.name
        case Nothing():
            return False


def names_prerelease(allows: Allows) -> bool:
    """Whether a requirement names a pre-release and so allows them (PEP 440)."""
    match allows:
        case SpecifierSet():
            return any(_is_prerelease(one.version) for one in allows if one.operator != "!=")
        case _:  # the link between an extra and its project's release permits nothing
            return False


def _is_prerelease(version_text: str) -> bool:
    version = text.version(version_text.removesuffix(".*"))
    return version is not None and version.is_prerelease


def pins(allows: Allows) -> bool:
    """Whether a requirement names one release and no other (PEP 440 `==` without a wildcard, `===`)."""
    match allows:
        case SpecifierSet():
            return any(
                one.operator == "===" or (one.operator == "==" and not one.version.endswith(".*")) for one in allows
            )
        case Exactly():
            return True
        case _:
            return False
