"""What an extra says of a project that is there anyway: a bound that is preferred, and given up where it cannot be met.

Metadata bounds other projects in extras of their names, such as `torch>=2.6; extra == "torch"` of transformers. The
extra is seldom asked for, as the project is there for other reasons, but what the bound says is true all the same.
Facts go before it: if one speaks of both projects, such a bound does not count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from resolver.model import fact as facts
from resolver.model.resolution import Pin, Resolution, UnmetBound
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
    while broken := [bound for bound in dict.fromkeys(_bounds_of(_broken(universe, best))) if bound not in given_up]:
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


def _bounds_of(unmet: Iterator[UnmetBound]) -> Iterator[ExtraBound]:
    return (ExtraBound(row.project, row.other) for row in unmet)


def _broken(universe: Universe, resolution: Resolution) -> Iterator[UnmetBound]:
    """Yield each bound in an extra of a pin that the pin of the extra's name does not meet."""
    pins = {pin.name: pin for pin in resolution.pins}
    for pin in resolution.pins:
        for name in universe.extras_of(pin.name, pin.release):
            other = pins.get(name)
            if other is None or other is pin or name in pin.extras or _is_spoken_of(universe, pin, other):
                continue
            for need in universe.extra_requirements(pin.name, pin.release, name):
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
