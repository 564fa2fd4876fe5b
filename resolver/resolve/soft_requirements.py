"""Requirements that are preferred, and given up where they cannot be met: a lock then says so.

There are two kinds.

- What an extra says of a project that is there anyway, such as `torch>=2.6; extra == "torch"` of
  transformers. The extra is seldom asked for, as the project is there for other reasons, but what
  the bound says is true all the same. `Universe.extra_requirements` says which of them count. If
  the other project is too new for the bound, an older release of the project with the extra is no
  better, although its metadata has no upper bound: it was written before there was anything to
  exclude. So the upper bound holds for older releases as well.
- That the binaries of a wheel can be loaded, if they may be linked with torch (see
  `pinned_binaries`) and no fact speaks of them. What they need is read from the wheel, and may be
  needed by a part only that nobody uses: so it is no requirement. With a `links` fact it is one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from msgspec.structs import replace
from packaging.specifiers import Specifier
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.errors import IndexFailure
from resolver.model import text
from resolver.model.linkage import TORCH
from resolver.model.resolution import Pin, Resolution, UnloadablePin, UnmetBound
from resolver.resolve.pinned_binaries import PinnedBinaries
from resolver.resolve.universe import ExtraBound, Universe

# Soft requirements that are tried one by one; further ones are left unmet.
_ATTEMPTS: Final = 12

Search = Callable[[Universe], Resolution | None]


class SoftPair(NamedTuple):
    """A project with a soft requirement, and the project that it is about."""

    project: NormalizedName
    other: NormalizedName


class _JudgedBound(NamedTuple):
    """A bound in an extra of a pin, on another pin."""

    pair: SoftPair
    bound: UnmetBound
    is_met: bool


class _JudgedWheel(NamedTuple):
    """A pin with binaries that may be linked with torch."""

    pair: SoftPair
    pin: UnloadablePin
    # the libraries in the wheels of what the pin requires
    there: frozenset[str]
    is_met: bool


_Judged = _JudgedBound | _JudgedWheel


def with_soft_requirements(
    universe: Universe, resolution: Resolution, search: Search
) -> Resolution:
    """Return a resolution that meets more of the soft requirements, and none less.

    If `search` finds none, it is the one given. Those that it does not meet are its `unmet_bounds`
    and `unloadable_pins`. A resolution that meets all of them is returned as it is, which costs a
    look at the metadata of its pins. If an index fails in a search, or offline lacks what that asks
    for, the requirement is given up as well, and `universe` is marked: with the index, there may be
    another answer.
    """
    asked = universe
    best = resolution

    def search_or_none(wider: Universe) -> Resolution | None:
        try:
            return search(wider)
        except IndexFailure:
            asked.is_answer_final = False
            return None

    given_up: set[SoftPair] = set()
    broken = _broken(universe, best)
    while broken:
        improved = _improved(universe, best, broken, search_or_none)
        if improved is not None:
            universe, best = improved
        else:  # one by one
            for number, judged in enumerate(broken):
                improved = None
                if number < _ATTEMPTS:
                    improved = _improved(universe, best, [judged], search_or_none)
                if improved is None:
                    given_up.add(judged.pair)
                else:
                    universe, best = improved
        broken = [judged for judged in _broken(universe, best) if judged.pair not in given_up]
    left = _broken(universe, best)
    binaries = PinnedBinaries(universe)
    unread = [pin.name for pin in best.pins if binaries.is_left_unread(pin)]
    return replace(
        best,
        unread_pins=tuple(unread) if best.pin(TORCH) is not None else (),
        unmet_bounds=tuple(judged.bound for judged in left if isinstance(judged, _JudgedBound)),
        unloadable_pins=tuple(judged.pin for judged in left if isinstance(judged, _JudgedWheel)),
    )


def _improved(
    universe: Universe, best: Resolution, broken: list[_Judged], search: Search
) -> tuple[Universe, Resolution] | None:
    """Search with broken requirements, and the met ones about the same projects.

    Return the universe with these, and what is found in it; None unless that is an improvement.
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
            linked[judged.pair.project] = judged.there
    for judged in broken:
        if isinstance(judged, _JudgedBound):
            bounds.append(_in_general(judged))
        else:
            linked[judged.pair.project] = judged.there
    wider = universe.with_soft_requirements(bounds, linked)
    better = search(wider)
    if better is None or not broken_pairs(wider, better) < broken_pairs(universe, best):
        return None
    return wider, better


def _in_general(broken: _JudgedBound) -> ExtraBound:
    """Return a broken bound in the form that holds for all releases of its project."""
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
        since=broken.bound.version if exceeded else "",
    )


def _upper(clause: Specifier) -> str:
    """Return the upper bound of a clause as a specifier; empty if it has none."""
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
    """Return the projects between which a resolution does not meet a soft requirement."""
    return {judged.pair for judged in _broken(universe, resolution)}


def _broken(universe: Universe, resolution: Resolution) -> list[_Judged]:
    """Return the soft requirements of the pins that are not met."""
    return [judged for judged in _judged(universe, resolution) if not judged.is_met]


def _judged(universe: Universe, resolution: Resolution) -> Iterator[_Judged]:
    """Yield each soft requirement of the pins, and whether it is met."""
    pins = {pin.name: pin for pin in resolution.pins}
    torch = pins.get(TORCH)
    binaries = PinnedBinaries(universe)
    for pin in resolution.pins:
        for name in universe.extras_of(pin.name, pin.release):
            other = pins.get(name)
            if other is not None and other is not pin and name not in pin.extras:
                yield from _judged_bounds(universe, pin, other)
        if torch is not None and pin is not torch and binaries.may_be_linked(pin):
            required = [pins[name] for name in pin.needs if name in pins and name != TORCH]
            yield _judged_wheel(binaries, pin, torch, required)


def _judged_bounds(universe: Universe, pin: Pin, other: Pin) -> Iterator[_JudgedBound]:
    """Yield each bound in an extra of a pin on the pin that has the name of the extra."""
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


def _judged_wheel(
    binaries: PinnedBinaries, pin: Pin, torch: Pin, required: Iterable[Pin]
) -> _JudgedWheel:
    """Return whether the binaries of a pin can be loaded with the pinned torch.

    What they need may also be in the wheels of the pins that it requires. If one of these was not
    read, nobody knows.
    """
    there: frozenset[str] = frozenset()
    why = binaries.fault(pin, torch.version, there)
    if why:
        for other in required:
            libraries = binaries.libraries_of(other)
            if libraries is None:
                why = ""
                break
            there |= libraries
    if why:
        why = binaries.fault(pin, torch.version, there)
    unloadable = UnloadablePin(project=pin.name, version=str(pin.version), why=why)
    return _JudgedWheel(SoftPair(pin.name, TORCH), unloadable, there, not why)
