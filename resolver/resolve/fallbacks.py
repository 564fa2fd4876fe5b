"""Fallbacks: very old releases that a search chose because newer ones clash with its decisions.

An old release often has no upper bounds, since the versions to exclude did not exist yet. An
example: a search has chosen the newest fsspec, which no recent release of datasets admits. Then it
chooses a datasets of three years before. The resolution is valid, and no project in it can be newer
while the others stay. But hardly anybody wants it: a slightly older fsspec goes with the newest
datasets. So such projects are decided first in a second search. Its result is taken if one of them
gains more time than any project loses.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from typing import Final, NamedTuple, Protocol

from packaging.utils import NormalizedName

from resolver.model import text
from resolver.model.release import Release
from resolver.model.resolution import Pin, Resolution
from resolver.resolve.project import Project
from resolver.resolve.universe import Universe

# A pin is a fallback if it is so much older than the newest release that its requirements admit.
_LONG: Final = dt.timedelta(days=365)


class Search(Protocol):
    """A function that searches for a resolution with other preferences (see `solver.search`)."""

    def __call__(self, universe: Universe, *, among: Universe) -> Resolution | None:
        """Return a resolution of `universe`, or None if none is found.

        `among` is the same universe with the preferences of the search. Raises IndexFailure.
        """


class _Fallback(NamedTuple):
    """A project whose pin is a fallback: all requirements on it admit a far newer release."""

    # The time between the pin and the newest admitted release.
    age: dt.timedelta
    # The project.
    project: NormalizedName


def without_fallbacks(universe: Universe, resolution: Resolution, search: Search) -> Resolution:
    """Return a resolution with fewer fallbacks; the given one if no better one is found.

    First all projects with fallbacks are decided first in a search, and then only the project with
    the oldest fallback. A search in which an index fails finds nothing (see `OptionalReads`).
    """
    fallbacks = [fallback.project for fallback in _fallbacks(universe, resolution)]
    pins = {pin.name: pin.version for pin in resolution.pins}
    attempts = [fallbacks] if fallbacks else []
    if len(fallbacks) > 1:
        attempts.append(fallbacks[:1])
    for attempt in attempts:
        other = None
        with universe.optional_reads.allowing_failure():
            other = search(universe, among=universe.deciding_first(attempt, pins))
        if other is not None and _is_better(universe, resolution, other, attempt):
            return other
    return resolution


def _fallbacks(universe: Universe, resolution: Resolution) -> list[_Fallback]:
    """Return the fallbacks of a resolution, the oldest first.

    Preferred versions and commits are no fallbacks.
    """
    fallbacks = []
    for pin in resolution.pins:
        if pin.release.source is not None or universe.preferred.get(pin.name) == pin.version:
            continue
        project = universe.project(pin.name)
        newest = _newest_admitted(universe, project, pin)
        if newest is None:
            continue
        late = project.uploaded(newest)
        early = project.uploaded(pin.release.position)
        if late is not None and early is not None and late - early > _LONG:
            fallbacks.append(_Fallback(late - early, pin.name))
    return sorted(fallbacks, reverse=True)


def _newest_admitted(universe: Universe, project: Project, pin: Pin) -> int | None:
    """Return the position of the most preferred final release that all requirements admit.

    The requirements are requirements on the pin's project. None if there is no usable one.
    """
    mask = project.stable
    for constraint in pin.because:
        need = text.requirement(constraint.text)
        if need.name == pin.name:
            mask &= project.mask(need.specifier)
    for position in project.by_preference(mask, universe.as_of.day):
        release = project.release(position)
        if isinstance(release, Release) and not release.yanked:
            return position
    return None


def _is_better(
    universe: Universe, before: Resolution, after: Resolution, names: Iterable[NormalizedName]
) -> bool:
    """Return whether one of these projects gains more time than any project loses.

    `before` and `after` are the two resolutions.
    """
    # The number of days by which each project gets newer.
    moved = {}
    for pin in after.pins:
        old = before.pin(pin.name)
        if old is not None:
            moved[pin.name] = _day(universe, pin) - _day(universe, old)
    gained = [moved.get(name, 0) for name in names]
    lost = [0, *(-days for days in moved.values())]
    return max(gained) > max(lost)


def _day(universe: Universe, pin: Pin) -> int:
    """Return the day on which a pin was uploaded, as an ordinal number; 0 if it is not known."""
    if pin.release.source is not None:
        return 0
    uploaded = universe.project(pin.name).uploaded(pin.release.position)
    return uploaded.toordinal() if uploaded is not None else 0
