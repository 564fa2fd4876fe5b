"""The combined demand on a package, however many edges there are."""

from __future__ import annotations

from typing import NamedTuple

from resolver.model.edge import Edge, Exactly
from resolver.model.origin import FactLine, StackLine
from resolver.solve.admits import names_prerelease, pins


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
