"""Extras that lines of the stack name and that the pinned releases do not have."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import Final

from packaging.version import Version

from resolver.errors import ResolverError
from resolver.model.package import Package
from resolver.model.requirement import Requirement
from resolver.model.resolution import MissingExtra, Pin, Resolution
from resolver.resolve.universe import Universe

# The most releases in which an extra is looked for. For each, a file may have to be read.
_LOOKED_AT: Final = 3


def missing_extras(universe: Universe, resolution: Resolution) -> tuple[MissingExtra, ...]:
    """Return the extras that lines of the stack name and that pins do not have.

    An extra that a release does not have requires nothing. So the solver may choose a release
    without it, even a very old one, as pip does. Each result names the most preferred release with
    the extra, if it is among the first three.
    """
    return tuple(
        MissingExtra(project=pin.name, extra=extra, version=_version_with(universe, pin, extra))
        for pin, extra in lost_extras(resolution)
    )


def lost_extras(resolution: Resolution) -> Iterator[tuple[Pin, str]]:
    """Yield each pin with each extra that a line of the stack names and the pin does not have."""
    for pin in resolution.pins:
        requested: set[str] = set()
        for root in resolution.problem.requirements_on(pin.name):
            if isinstance(root.need, Requirement):
                requested.update(root.need.extras)
        for extra in pin.unknown_extras:
            if extra in requested:
                yield pin, extra


def _version_with(universe: Universe, pin: Pin, extra: str) -> Version | None:
    """Return the version of the most preferred release that has an extra.

    Only the first three releases that the stack's lines admit are looked at. None if none has it.
    """
    package = Package(pin.name)
    edges = [edge for edge in universe.roots() if edge.package.base == package]
    candidates = universe.candidates(package, universe.demand(*edges))
    for candidate in islice(candidates, _LOOKED_AT):
        with suppress(ResolverError):  # a release that cannot be read is not named
            universe.edges(candidate)
        if universe.provides(candidate, extra):
            return candidate.version
    return None
