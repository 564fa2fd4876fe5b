"""What an extra says of a project that is there anyway: a bound that is preferred, and given up where it cannot be met.

Metadata bounds other projects in extras of their names, such as `torch>=2.6; extra == "torch"` of transformers. The
extra is seldom asked for, as the project is there for other reasons, but what the bound says is true all the same.
Facts go before it: if one speaks of both projects, such a bound does not count. Neither does a pin (`vllm==0.10.1`): it
says what was tried, not what works.

If the other project is too new for the bound, an older release of the project with the extra is no better, although its
metadata has no upper bound: it was written before there was anything to exclude. So the upper bound holds for older
releases as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec.structs import replace
from packaging.specifiers import Specifier
from packaging.version import Version

from resolver.model import fact as facts
from resolver.model import text
from resolver.model.resolution import Pin, Resolution, UnmetBound
from resolver.resolve.project import is_pin
from resolver.resolve.universe import ExtraBound, Universe

_ATTEMPTS = 12  # bounds that are tried one by one; further ones are left unmet

Search = Callable[[Universe], Resolution | None]


def with_extra_bounds(universe: Universe, resolution: Resolution, search: Search) -> Resolution:
    """Return a resolution that meets as many of these bounds as can be had.

    Those that no resolution found by `search` meets are its `unmet_bounds`. A resolution that meets all of them is
    returned as it is, which costs a look at the metadata of its pins.
    """
    best = resolution
    given_up: set[ExtraBound] = set()
    while broken := [bound for bound in _bounds(universe, best) if bound not in given_up]:
        wider = universe.with_extra_bounds(broken)
        better = search(wider)
        if better is not None:
            best, universe = better, wider
            continue
        for number, bound in enumerate(broken):
            one_more = universe.with_extra_bounds([bound])
            better = search(one_more) if number < _ATTEMPTS else None
            if better is None:
                given_up.add(bound)
            else:
                best, universe = better, one_more
    return replace(best, unmet_bounds=tuple(_broken(universe, best)))


def _bounds(universe: Universe, resolution: Resolution) -> list[ExtraBound]:
    """Return the bounds that a resolution does not meet, in a form that holds for all releases, each once."""
    bounds: dict[ExtraBound, None] = {}
    for row in _broken(universe, resolution):
        specifiers = text.requirement(row.bound).specifier
        version = Version(row.other_version)
        too_new = [clause for clause in specifiers if _is_above(version, clause)]
        upper = ",".join(sorted(str(clause) for clause in too_new))
        bounds[ExtraBound(row.project, row.other, upper, row.version if upper else "")] = None
    return list(bounds)


def _is_above(version: Version, clause: Specifier) -> bool:
    """Whether a version is newer than everything that a clause admits."""
    if clause.contains(version, prereleases=True):
        return False
    return clause.operator in ("<", "<=") or (
        clause.operator in ("==", "~=") and version > Version(clause.version.removesuffix(".*"))
    )


def _broken(universe: Universe, resolution: Resolution) -> Iterator[UnmetBound]:
    """Yield each bound in an extra of a pin that the pin of the extra's name does not meet."""
    pins = {pin.name: pin for pin in resolution.pins}
    for pin in resolution.pins:
        for name in universe.extras_of(pin.name, pin.release):
            other = pins.get(name)
            if other is None or other is pin or name in pin.extras or _is_spoken_of(universe, pin, other):
                continue
            for need in universe.extra_requirements(pin.name, pin.release, name):
                if any(map(is_pin, need.specifier)):
                    continue
                if not need.specifier.contains(other.version, prereleases=True):
                    yield UnmetBound(
                        project=pin.name,
                        version=str(pin.version),
                        bound=str(need.without_marker()),
                        other=other.name,
                        other_version=str(other.version),
                    )


def _is_spoken_of(universe: Universe, pin: Pin, other: Pin) -> bool:
    """Whether a fact about one of two pins names the project of the other."""
    for fact in universe.problem.facts:
        if fact.is_about(pin.name, pin.version) and other.name in facts.projects_named_by(fact):
            return True
        if fact.is_about(other.name, other.version) and pin.name in facts.projects_named_by(fact):
            return True
    return False
