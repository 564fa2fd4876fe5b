"""Joint choices for several lines and components, without combinations known to clash."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from resolver.errors import ResolverError
from resolver.model.candidate import Candidate
from resolver.resolve.clauses import Clauses
from resolver.resolve.ground import Ground

_AHEAD = {0: 4, 4: 12, 16: 16, 32: 16, 48: 16}  # after so many candidates -> how many are requested at once


def complete(
    clauses: Clauses,
    options: Mapping[Ground, Sequence[Candidate]],
    free: Sequence[Ground],
    choice: dict[Ground, Candidate],
    looks: Iterator[int],
) -> Iterator[dict[Ground, Candidate]]:
    """Every way to complete a choice, as long as there are looks left."""
    if not free:
        yield dict(choice)
        return
    ground, rest = free[0], free[1:]
    chosen = [clauses.variable(one) for one in choice.values()]
    for opened, at in enumerate(_possible(clauses, options[ground], range(len(options[ground])), chosen, looks)):
        candidate = options[ground][at]
        assumed = [*chosen, clauses.variable(candidate)]
        if opened in _AHEAD:  # most candidates ruled out without being opened are never read
            clauses.expect(options[ground][at : at + _AHEAD[opened]])
        _open(clauses, candidate)
        if clauses.satisfiable(assumed):
            yield from complete(clauses, options, rest, {**choice, ground: candidate}, looks)
        if not clauses.satisfiable(chosen):
            return  # no option for this one can work any more


def _possible(
    clauses: Clauses, options: Sequence[Candidate], places: range, chosen: Sequence[int], looks: Iterator[int]
) -> Iterator[int]:
    """Where the options are that do not clash with what was chosen, in order.

    A project may have a thousand releases of which a few in a row will do, so those in a row are looked at together.
    """
    several = options[places.start : places.stop]
    if not several or next(looks, None) is None:
        return
    name = clauses.variable(several[0]) if len(several) == 1 else clauses.any_of(several)
    if not clauses.satisfiable([*chosen, name]):
        return
    if len(several) == 1:
        yield places.start
        return
    middle = places.start + len(several) // 2
    yield from _possible(clauses, options, range(places.start, middle), chosen, looks)
    yield from _possible(clauses, options, range(middle, places.stop), chosen, looks)


def _open(clauses: Clauses, candidate: Candidate) -> None:
    """Open a release with those of its extras that matter and are available."""
    for package, known in list(clauses.packages.items()):
        if package.name == candidate.package.name and package.kind is candidate.package.kind:
            for other in known:
                if other.chosen is candidate.chosen:
                    with suppress(ResolverError):  # it stays unknown; locking will tell
                        clauses.open(other)
