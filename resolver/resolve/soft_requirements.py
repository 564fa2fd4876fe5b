"""Soft requirements: requirements that are met if possible. If not, the lock warns.

There are two kinds.

- The bound of an extra on a project that is installed anyway, such as
  `torch>=2.6; extra == "torch"` of transformers. Few stacks ask for such an extra, since the
  project is installed for other reasons. The bound is true all the same.
  `Universe.extra_requirements` says which bounds count. If the other project is too new for the
  bound, an older release of the project with the extra does not help, although its metadata has no
  upper bound: it was written when there was nothing to exclude. So the upper bound holds for older
  releases as well. For the same reason, a pin without an upper bound has that of the next release
  with one, if the other pin was uploaded after it, and the stack names both projects.
- The binaries of a wheel can be loaded, if they may be linked with torch (see `pinned_binaries`)
  and no fact is about them. Perhaps only a part of the wheel that nobody uses needs the libraries.
  So this is no hard requirement. With a `links` fact it is one (see `linkage`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Final, NamedTuple

from msgspec.structs import replace
from packaging.specifiers import Specifier, SpecifierSet
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.model import text
from resolver.model.dependency import Candidate
from resolver.model.linkage import TORCH
from resolver.model.package import Package
from resolver.model.requirement import Requirement
from resolver.model.resolution import Pin, Resolution, UnloadablePin, UnmetBound
from resolver.resolve.pinned_binaries import PinnedBinaries
from resolver.resolve.universe import ExtraBound, Universe

# The most soft requirements that are tried one by one. All others are given up.
_ATTEMPTS: Final = 12

# The most later releases of a project in which an upper bound is looked for. For each, a file may
# have to be read.
_LATER: Final = 20

# A function that searches for a resolution of a universe; None if it finds none.
Search = Callable[[Universe], Resolution | None]


class SoftPair(NamedTuple):
    """The two projects of a soft requirement."""

    # The project that has the requirement.
    project: NormalizedName
    # The project that the requirement is about.
    other: NormalizedName


class _JudgedBound(NamedTuple):
    """A bound in an extra of a pin on another pin, and whether it is met."""

    # The two projects.
    pair: SoftPair
    # The bound, in the form for a resolution.
    bound: UnmetBound
    # Whether it is met.
    is_met: bool


class _JudgedWheel(NamedTuple):
    """A pin whose wheel may be linked with torch, and whether it loads with the pinned torch."""

    # The project of the pin, and torch.
    pair: SoftPair
    # The pin, in the form for a resolution.
    pin: UnloadablePin
    # The names of the libraries in the wheels of the pins that it requires.
    present_libraries: frozenset[str]
    # Whether the binaries can be loaded.
    is_met: bool


_Judged = _JudgedBound | _JudgedWheel


def with_soft_requirements(
    universe: Universe, resolution: Resolution, search: Search
) -> Resolution:
    """Return a resolution that meets more soft requirements than the given one, if there is one.

    It meets all soft requirements that the given resolution meets. If `search` finds no better
    resolution, the given one is returned. Requirements that are not met are in `unmet_bounds` and
    `unloadable_pins` of the result, except for bounds between projects that the stack does not
    name. A search in which an index fails finds nothing (see `OptionalReads`).
    """
    best = resolution
    given_up: set[SoftPair] = set()
    broken = _broken(universe, best)
    while broken:
        improved = _improved(universe, best, broken, search)
        if improved is not None:
            universe, best = improved
        else:  # try them one by one
            for number, judged in enumerate(broken):
                improved = None
                if number < _ATTEMPTS:
                    improved = _improved(universe, best, [judged], search)
                if improved is None:
                    given_up.add(judged.pair)
                else:
                    universe, best = improved
        broken = [judged for judged in _broken(universe, best) if judged.pair not in given_up]
    unmet = _broken(universe, best)
    binaries = PinnedBinaries(universe)
    unread = [pin.name for pin in best.pins if binaries.is_left_unread(pin)]
    return replace(
        best,
        unread_pins=tuple(unread) if best.pin(TORCH) is not None else (),
        unmet_bounds=tuple(
            judged.bound
            for judged in unmet
            if isinstance(judged, _JudgedBound) and _is_named(universe, judged.pair)
        ),
        unloadable_pins=tuple(judged.pin for judged in unmet if isinstance(judged, _JudgedWheel)),
    )


def _is_named(universe: Universe, pair: SoftPair) -> bool:
    """Return whether a line of the stack is about one of two projects.

    A bound between others is that of an extra for which nobody asks, in projects that other
    projects brought: it is met if possible, and not told.
    """
    return any(map(universe.problem.requirements_on, pair))


def _improved(
    universe: Universe, best: Resolution, broken: list[_Judged], search: Search
) -> tuple[Universe, Resolution] | None:
    """Search for a resolution that meets some broken soft requirements.

    Requirements about the same projects that `best` meets are put in force as well. Return the
    universe with these requirements and the resolution. None if there is no resolution, if it
    breaks a requirement that `best` meets, or if it breaks as many as `best`.
    """
    concerned = {judged.pair.other for judged in broken}
    bounds = []
    linked = {}
    for judged in _judged(universe, best):
        if not judged.is_met or judged.pair.other not in concerned:
            continue
        if isinstance(judged, _JudgedBound):
            bounds.append(ExtraBound(judged.pair.project, judged.pair.other))
        else:
            linked[judged.pair.project] = judged.present_libraries
    for judged in broken:
        if isinstance(judged, _JudgedBound):
            bounds.append(_in_general(judged))
        else:
            linked[judged.pair.project] = judged.present_libraries
    stricter = universe.with_soft_requirements(bounds, linked)
    better = None
    with universe.optional_reads.allowing_failure():
        better = search(stricter)
    if better is None or not broken_pairs(stricter, better) < broken_pairs(universe, best):
        return None
    return stricter, better


def _in_general(broken: _JudgedBound) -> ExtraBound:
    """Return a broken bound in a form that also holds for older releases of its project.

    If the other project is too new, its upper bound is extended to older releases.
    """
    version = Version(broken.bound.other_version)
    exceeded = []
    for clause in text.requirement(broken.bound.bound).specifier:
        upper = _upper(clause)
        if upper and not Specifier(upper).contains(version, prereleases=True):
            exceeded.append(upper)
    return ExtraBound(
        project=broken.pair.project,
        other=broken.pair.other,
        upper=",".join(sorted(exceeded)),
        since=(broken.bound.stated_by or broken.bound.version) if exceeded else "",
    )


def _upper(clause: Specifier) -> str:
    """Return the upper bound in a comparison as a specifier; empty if it has none.

    `~=2.5.1` and `==2.5.*` have the upper bound `<2.6`.
    """
    if clause.operator in ("<", "<="):
        return str(clause)
    is_wildcard = clause.operator == "==" and clause.version.endswith(".*")
    if not is_wildcard and clause.operator != "~=":
        return ""
    version = Version(clause.version.removesuffix(".*"))
    *line, last = version.release if is_wildcard else version.release[:-1]
    following = ".".join(map(str, [*line, last + 1]))
    return f"<{version.epoch}!{following}"


def broken_pairs(universe: Universe, resolution: Resolution) -> set[SoftPair]:
    """Return the pairs of projects with a soft requirement that a resolution does not meet."""
    return {judged.pair for judged in _broken(universe, resolution)}


def _broken(universe: Universe, resolution: Resolution) -> list[_Judged]:
    """Return the soft requirements of the pins of a resolution that are not met."""
    return [judged for judged in _judged(universe, resolution) if not judged.is_met]


def _judged(universe: Universe, resolution: Resolution) -> Iterator[_Judged]:
    """Yield all soft requirements of the pins of a resolution, met or not.

    The bounds of an extra that something requires are edges, and no soft requirements.
    """
    pins = {pin.name: pin for pin in resolution.pins}
    torch = pins.get(TORCH)
    binaries = PinnedBinaries(universe)
    for pin in resolution.pins:
        for name in universe.extras_of(pin.name, pin.release):
            other = pins.get(name)
            if other is None or other is pin:
                continue
            if name not in pin.extras:
                yield from _judged_bounds(universe, pin, other)
            with universe.optional_reads.allowing_failure():
                yield from _judged_by_later_release(universe, pin, other)
        if torch is not None and pin is not torch and binaries.may_be_linked(pin):
            required = [pins[name] for name in pin.needs if name in pins and name != TORCH]
            yield _judged_wheel(binaries, pin, torch, required)


def _judged_bounds(universe: Universe, pin: Pin, other: Pin) -> Iterator[_JudgedBound]:
    """Yield the bounds in an extra of a pin on another pin, whose name the extra has."""
    for need in universe.extra_requirements(pin.name, pin.release, other.name):
        bound = UnmetBound(
            project=pin.name,
            version=str(pin.version),
            bound=need.without_marker(),
            other=other.name,
            other_version=str(other.version),
        )
        is_met = need.specifier.contains(other.version, prereleases=True)
        yield _JudgedBound(SoftPair(pin.name, other.name), bound, is_met)


def _judged_by_later_release(universe: Universe, pin: Pin, other: Pin) -> Iterator[_JudgedBound]:
    """Yield the upper bound on another pin that a later release of a pin's project has.

    That is the next release which has one in the extra of that name, among the next `_LATER` ones.
    None if the pin has one itself, or if the other pin was not uploaded after it. None either if
    the stack does not name both projects: what else is in a lock was uploaded at about one time.
    """
    name = pin.name
    problem = universe.problem
    if not problem.requirements_on(name) or not problem.requirements_on(other.name):
        return
    own = universe.extra_requirements(name, pin.release, other.name)
    if any(map(_upper_bounds, own)) or not _is_uploaded_later(universe, other, pin):
        return
    project = universe.project(name)
    later = project.all & project.stable & ((1 << pin.release.position) - 1)
    positions = list(islice(reversed(list(project.positions(later))), _LATER))
    candidates = [universe.candidate(Package(name), position) for position in positions]
    releases = [candidate.release for candidate in candidates if candidate is not None]
    universe.catalog.prefetch_metadata(release.file for release in releases)
    for release in releases:
        for need in universe.extra_requirements(name, release, other.name):
            uppers = _upper_bounds(need)
            if not uppers:
                continue
            bound = UnmetBound(
                project=name,
                version=str(pin.version),
                bound=need.without_marker(),
                other=other.name,
                other_version=str(other.version),
                stated_by=str(release.version),
            )
            is_met = SpecifierSet(",".join(uppers)).contains(other.version, prereleases=True)
            yield _JudgedBound(SoftPair(name, other.name), bound, is_met)
            return


def releases_for(universe: Universe, unmet: UnmetBound) -> Iterator[Candidate]:
    """Yield later releases of a project that say that they go with the pin that exceeds a bound.

    They come after the release that states the bound, the oldest first, among the next `_LATER`
    ones. Pre-releases and yanked releases are left out.
    """
    project = universe.project(unmet.project)
    stated_by = Version(unmet.stated_by)
    later = [
        position
        for position in project.positions(project.all & project.stable)
        if project.versions[position] > stated_by
    ]
    for position in islice(reversed(later), _LATER):
        candidate = universe.candidate(Package(unmet.project), position)
        if candidate is None or candidate.release.yanked:
            continue
        needs = universe.extra_requirements(unmet.project, candidate.release, unmet.other)
        version = Version(unmet.other_version)
        if needs and all(need.specifier.contains(version, prereleases=True) for need in needs):
            yield candidate


def _upper_bounds(need: Requirement) -> list[str]:
    """Return the upper bounds of a requirement as specifiers."""
    return [upper for upper in map(_upper, need.specifier) if upper]


def _is_uploaded_later(universe: Universe, pin: Pin, than: Pin) -> bool:
    """Return whether a pin's release was uploaded after another's; False if that is not known."""
    times = []
    for each in (pin, than):
        if each.release.source is not None:
            return False
        times.append(universe.project(each.name).uploaded(each.release.position))
    time, earlier = times
    return time is not None and earlier is not None and time > earlier


def _judged_wheel(
    binaries: PinnedBinaries, pin: Pin, torch: Pin, required: Iterable[Pin]
) -> _JudgedWheel:
    """Return a pin with the verdict whether its binaries can be loaded with the pinned torch.

    The libraries that they need may also be in the wheels of the pins `required` by it. If such a
    wheel was not read, the binaries count as loadable.
    """
    present: frozenset[str] = frozenset()
    why = binaries.fault(pin, torch.version, present)
    if why:
        for other in required:
            libraries = binaries.libraries_of(other)
            if libraries is None:
                why = ""
                break
            present |= libraries
    if why:
        why = binaries.fault(pin, torch.version, present)
    unloadable = UnloadablePin(project=pin.name, version=str(pin.version), why=why)
    return _JudgedWheel(SoftPair(pin.name, TORCH), unloadable, present, not why)
