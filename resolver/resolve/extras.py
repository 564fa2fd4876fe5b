"""Extras that lines of the stack ask for and the releases that were taken do not have, though others do.

pip takes a release without the extra as well, years old where need be, and so does the engine: an extra that is not
there asks for nothing. What is told here hangs on what the lines of the stack admit, and not on what was read.
"""

from __future__ import annotations

from itertools import islice

from packaging.version import Version

from resolver.errors import ResolverError
from resolver.model.dependency import Package
from resolver.model.requirement import Requirement
from resolver.model.resolution import LostExtra, Pin, Resolution
from resolver.resolve.universe import Universe

_LOOKED_AT = 3  # releases, the most wanted first: each may be a file to read


def lost_extras(universe: Universe, resolution: Resolution) -> tuple[LostExtra, ...]:
    """Each such extra, with the release that would be taken first of those which have it, if one is seen."""
    return tuple(
        LostExtra(project=pin.name, extra=extra, version=_with(universe, pin, extra))
        for pin in resolution.pins
        for extra in pin.unknown_extras
        if any(
            isinstance(ask.need, Requirement) and extra in ask.need.extras for ask in resolution.problem.asked(pin.name)
        )
    )


def _with(universe: Universe, pin: Pin, extra: str) -> Version | None:
    package = Package(pin.name)
    asked = universe.demand(*(edge for edge in universe.roots() if edge.package.base == package))
    for candidate in islice(universe.candidates(package, asked), _LOOKED_AT):
        try:
            universe.edges(candidate)
        except ResolverError:
            continue  # not to be had here: the warning does not name it
        if universe.provides(candidate, extra):
            return candidate.version
    return None
