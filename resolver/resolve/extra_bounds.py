"""What an extra says of a project that is there anyway: a bound that is preferred, and given up where it cannot be met.

Metadata bounds other projects in extras of their names, such as `torch>=2.6; extra == "torch"` of transformers. The
extra is seldom asked for, as the project is there for other reasons, but what the bound says is true all the same.
`Universe.extra_requirements` says which of them count.

If the other project is too new for the bound, an older release of the project with the extra is no better, although its
metadata has no upper bound: it was written before there was anything to exclude. So the upper bound holds for older
releases as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from msgspec.structs import replace
from packaging.specifiers import Specifier
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.errors import IndexFailure
from resolver.model import text
from resolver.model.resolution import Resolution, UnmetBound
from resolver.resolve.universe import ExtraBound, Universe

_ATTEMPTS = 12  # bounds that are tried one by one; further ones are left unmet

Search = Callable[[Universe], Resolution | None]


class _Pair(NamedTuple):
    """A project with an extra, and the project that has the name of the extra."""

    project: NormalizedName
    other: NormalizedName


class _Judged(NamedTuple):
    """A bound between two pins."""

    pair: _Pair
    bound: UnmetBound
    is_met: bool


def with_extra_bounds(universe: Universe, resolution: Resolution, search: Search) -> Resolution:
    """Return a resolution that meets more of these bounds, and none less, if `search` finds one.

    Those that it does not meet are its `unmet_bounds`. A resolution that meets all of them is returned as it is, which
    costs a look at the metadata of its pins. If an index fails in a search, or offline lacks what that asks for, the
    bound is given up as well, and `universe` is marked: with the index, there may be another answer.
    """
    asked = universe
    best = resolution

    def search_or_none(wider: Universe) -> Resolution | None:
        try:
            return search(wider)
        except IndexFailure:
            asked.is_answer_final = False
            return None

    given_up: set[_Pair] = set()
    while broken := [row for row in _judged(universe, best) if not row.is_met and row.pair not in given_up]:
        wider, better = _searched(universe, best, broken, search_or_none)
        if better is not None:
            best, universe = better, wider
            continue
        for number, row in enumerate(broken):
            wider, better = universe, None
            if number < _ATTEMPTS:
                wider, better = _searched(universe, best, [row], search_or_none)
            if better is None:
                given_up.add(row.pair)
            else:
                best, universe = better, wider
    return replace(best, unmet_bounds=tuple(row.bound for row in _judged(universe, best) if not row.is_met))


def _searched(
    universe: Universe, best: Resolution, broken: list[_Judged], search: Search
) -> tuple[Universe, Resolution | None]:
    """Search with bounds that are broken, and those met on the same projects; None unless that is an improvement."""
    bounded = {row.pair.other for row in broken}
    held = [ExtraBound(*row.pair) for row in _judged(universe, best) if row.is_met and row.pair.other in bounded]
    wider = universe.with_extra_bounds([*held, *(_in_general(row) for row in broken)])
    better = search(wider)
    if better is None:
        return universe, None
    before = {row.pair for row in _judged(universe, best) if not row.is_met}
    after = {row.pair for row in _judged(wider, better) if not row.is_met}
    return (wider, better) if after < before else (universe, None)


def _in_general(broken: _Judged) -> ExtraBound:
    """Return a broken bound in the form that holds for all releases of its project."""
    version = Version(broken.bound.other_version)
    uppers = [_upper(clause) for clause in text.requirement(broken.bound.bound).specifier]
    exceeded = sorted(upper for upper in uppers if upper and not Specifier(upper).contains(version, prereleases=True))
    since = broken.bound.version if exceeded else ""
    return ExtraBound(*broken.pair, ",".join(exceeded), since)


def _upper(clause: Specifier) -> str:
    """Return the upper bound of a clause as a specifier; empty if it has none."""
    if clause.operator in ("<", "<="):
        return str(clause)
    is_wildcard = clause.operator == "==" and clause.version.endswith(".*")
    if not is_wildcard and clause.operator != "~=":
        return ""
    version = Version(clause.version.removesuffix(".*"))
    line = version.release if is_wildcard else version.release[:-1]
    following = ".".join(map(str, (*line[:-1], line[-1] + 1)))
    return f"<{version.epoch}!{following}"


def _judged(universe: Universe, resolution: Resolution) -> Iterator[_Judged]:
    """Yield each bound in an extra of a pin on the pin that has the name of the extra."""
    pins = {pin.name: pin for pin in resolution.pins}
    for pin in resolution.pins:
        for name in universe.extras_of(pin.name, pin.release):
            other = pins.get(name)
            if other is None or other is pin or name in pin.extras:
                continue
            for need in universe.extra_requirements(pin.name, pin.release, name):
                bound = UnmetBound(
                    project=pin.name,
                    version=str(pin.version),
                    bound=need.without_marker(),
                    other=other.name,
                    other_version=str(other.version),
                )
                is_met = need.specifier.contains(other.version, prereleases=True)
                yield _Judged(_Pair(pin.name, other.name), bound, is_met)
