"""Solving: search first, prove what it says, and let the complete engine decide where it fails."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from packaging.utils import NormalizedName
from packaging.version import Version
from resolvelib import Resolver
from resolvelib.resolvers import ResolutionImpossible, ResolutionTooDeep

from resolver.catalog.protocol import Catalog
from resolver.errors import UndecidedError
from resolver.model.conflict import Conflict
from resolver.model.origin import Unusable
from resolver.model.problem import Problem
from resolver.model.resolution import Resolution
from resolver.solve.check import check
from resolver.solve.clashes import clashes
from resolver.solve.gather import InvalidChoiceError, gather
from resolver.solve.lookahead import Lookahead
from resolver.solve.provider import Provider, Reporter
from resolver.solve.universe import Universe

_MAX_ROUNDS = 3_000  # more than ten times what a stack of 200 projects takes; past it the complete engine decides

Tick = Callable[[int, int], None]


def solve(
    problem: Problem,
    catalog: Catalog,
    *,
    preferred: Mapping[NormalizedName, Version] | None = None,
    hints: Iterable[NormalizedName] = (),
    tick: Tick | None = None,
) -> Resolution | Conflict:
    """Find a resolution that passed the independent check, or a conflict that is certain.

    `preferred` are releases to keep where they still fit; `hints` are projects
    that will probably be needed, so that their pages are asked for at once. `tick` is called with
    rounds and packages decided. Raises UndecidedError where neither can be
    shown, IndexFailure and InputError as the catalog and the facts do.
    """
    universe = Universe(problem, catalog, preferred)
    lookahead = Lookahead(universe)
    lookahead.expect(universe.roots())
    lookahead.expect_projects(hints)
    resolution = _search(universe, lookahead, tick)
    if resolution is not None and not check(problem, resolution, catalog):
        return resolution
    return _decide(universe, tick)


def _search(universe: Universe, lookahead: Lookahead, tick: Tick | None) -> Resolution | None:
    """What resolvelib finds; None where it finds nothing or nonsense, which is decided elsewhere.

    It is known to fail on cyclic graphs: by an invalid result, by a wrong
    "impossible", by RecursionError (resolvelib issue 206).
    """
    provider = Provider(universe, lookahead)
    reporter = Reporter(provider, tick)
    try:
        result = Resolver(provider, reporter).resolve(universe.roots(), max_rounds=_MAX_ROUNDS)
        return gather(universe, result.mapping, engine="search", rounds=reporter.rounds)
    except (ResolutionImpossible, ResolutionTooDeep, RecursionError, InvalidChoiceError, KeyError):
        return None


def _decide(universe: Universe, tick: Tick | None) -> Resolution | Conflict:
    from resolver.solve.complete import CompleteEngine, Unsatisfiable  # PySAT is loaded only where it is needed

    engine = CompleteEngine(universe, tick=tick)
    try:
        chosen = engine.solve()
    except Unsatisfiable as answer:
        for edge in answer.core:
            if isinstance(edge.origin, Unusable) and edge.origin.filename in universe.refused:
                raise universe.refused[edge.origin.filename] from None
        return Conflict(problem=universe.problem, clashes=clashes(universe, answer.core))
    try:
        resolution = gather(universe, chosen, engine="complete", rounds=engine.rounds)
        violations = check(universe.problem, resolution, universe.catalog)
    except InvalidChoiceError as error:
        violations = [str(error)]
    if violations:
        raise UndecidedError(
            "the resolution that was found does not pass its check, so no lock is written",
            why="; ".join(violations[:3]),
            hint="please report this together with the stack file",
        )
    return resolution
