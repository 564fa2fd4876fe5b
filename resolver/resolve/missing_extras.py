"""Extras that lines of the stack ask for and the pins do not have."""

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

# Releases, the most preferred first: each may be a file to read.
_LOOKED_AT: Final = 3


def missing_extras(universe: Universe, resolution: Resolution) -> tuple[MissingExtra, ...]:
    """Return each extra that a line asks for and its pin lacks.

    Each has the most preferred of the releases that have it, if it is among the first. pip takes a
    release without the extra as well, years old where need be, and so does the engine: an extra
    that a release does not have requires nothing.
    """
    return tuple(
        MissingExtra(project=pin.name, extra=extra, version=_version_with(universe, pin, extra))
        for pin, extra in lost_extras(resolution)
    )


def lost_extras(resolution: Resolution) -> Iterator[tuple[Pin, str]]:
    """Yield the extras that lines of the stack ask for and the pin of their project lacks."""
    for pin in resolution.pins:
        requested: set[str] = set()
        for root in resolution.problem.requirements_on(pin.name):
            if isinstance(root.need, Requirement):
                requested.update(root.need.extras)
        for extra in pin.unknown_extras:
            if extra in requested:
                yield pin, extra


def _version_with(universe: Universe, pin: Pin, extra: str) -> Version | None:
    """Return the first of the releases that the stack's lines want most that has an extra."""
    package = Package(pin.name)
    edges = [edge for edge in universe.roots() if edge.package.base == package]
    candidates = universe.candidates(package, universe.demand(*edges))
    for candidate in islice(candidates, _LOOKED_AT):
        with suppress(ResolverError):  # not to be had here: the warning does not name it
            universe.edges(candidate)
        if universe.provides(candidate, extra):
            return candidate.version
    return None
