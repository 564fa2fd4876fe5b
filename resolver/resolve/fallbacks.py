"""Releases of long ago that a search took, as newer ones clash with what it decided before.

An old release often has no upper bounds, as what it would have to exclude did not exist. So a
search that has taken the newest fsspec, which no recent datasets admits, ends with a datasets of
three years before. It is valid, nothing in it could simply be newer, and it is seldom what anybody
wants: a slightly older fsspec goes with the newest datasets. Here such projects are decided before
all others, and the result is taken if they gain more than any other project loses.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from typing import Final, NamedTuple, Protocol

from packaging.utils import NormalizedName

from resolver.errors import IndexFailure
from resolver.model import text
from resolver.model.release import Release
from resolver.model.resolution import Pin, Resolution
from resolver.resolve.project import Project
from resolver.resolve.universe import Universe

# The time between a release and the newest one that its requirements admit.
_LONG: Final = dt.timedelta(days=365)


class Search(Protocol):
    """Searches for a resolution of a universe in the order of another one."""

    def __call__(self, universe: Universe, *, among: Universe) -> Resolution | None:
        """Return the resolution, None if none is found; `among` has the order.

        Raises IndexFailure.
        """


class _Fallback(NamedTuple):
    """A project of which a far newer release is admitted by all that is required of it."""

    # the time between the pin and that release
    age: dt.timedelta
    project: NormalizedName


def without_fallbacks(universe: Universe, resolution: Resolution, search: Search) -> Resolution:
    """Return a resolution with fewer releases of long ago; the one given if `search` finds none.

    All such projects are tried at once, then the one that fell back the furthest. An index that
    fails in a search ends the attempt, and `universe` is marked: with the index, there may be
    another answer.
    """
    fallbacks = [fallback.project for fallback in _fallbacks(universe, resolution)]
    pins = {pin.name: pin.version for pin in resolution.pins}
    attempts = [fallbacks] if fallbacks else []
    if len(fallbacks) > 1:
        attempts.append(fallbacks[:1])
    for attempt in attempts:
        try:
            found = search(universe, among=universe.deciding_first(attempt, pins))
        except IndexFailure:
            universe.is_answer_final = False
            break
        if found is not None and _is_better(universe, resolution, found, attempt):
            return found
    return resolution


def _fallbacks(universe: Universe, resolution: Resolution) -> list[_Fallback]:
    """Return the projects that fell back, the oldest first."""
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
    """Return the position of the most preferred release that all requirements on a project admit.

    None if none does.
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
    """Return whether the projects of these names gain more time than any other project loses."""
    # by how many days each project moves
    moved = {}
    for pin in after.pins:
        old = before.pin(pin.name)
        if old is not None:
            moved[pin.name] = _day(universe, pin) - _day(universe, old)
    gained = [moved.get(name, 0) for name in names]
    lost = [0, *(-days for days in moved.values())]
    return max(gained) > max(lost)


def _day(universe: Universe, pin: Pin) -> int:
    """Return the day on which a pin was uploaded, as a number; 0 if no index says."""
    if pin.release.source is not None:
        return 0
    uploaded = universe.project(pin.name).uploaded(pin.release.position)
    return uploaded.toordinal() if uploaded is not None else 0
