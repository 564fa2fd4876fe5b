"""Solving: search first, check the result, and let the complete engine decide if the search fails."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import msgspec
from packaging.utils import NormalizedName
from packaging.version import Version
from resolvelib.resolvers import Resolution as Search
from resolvelib.resolvers import ResolutionImpossible, ResolutionTooDeep

from resolver.errors import ResolverError, UndecidedError
from resolver.index.protocol import Catalog
from resolver.model.dependency import Unusable
from resolver.model.problem import Problem
from resolver.model.resolution import Conflict, Resolution
from resolver.resolve.check import check
from resolver.resolve.gather import Choices, InvalidChoiceError, gather, newest
from resolver.resolve.grounded import Ground, Line
from resolver.resolve.needs import DynamicArchiveError
from resolver.resolve.prefetch import Prefetch
from resolver.resolve.provider import Provider, Reporter, Tick
from resolver.resolve.universe import Universe

if TYPE_CHECKING:
    from resolver.resolve.clauses import Clauses
    from resolver.resolve.complete import CompleteEngine

# resolvelib jumps back over several decisions at once in the first tenth of the rounds that it may take, which is far
# better than one at a time.
_ROUNDS = 20_000


class Refutation(msgspec.Struct, frozen=True):
    """A proof that a problem has no solution: the engine that found it, and grounds that clash."""

    engine: CompleteEngine
    core: tuple[Ground, ...]


def solve(
    problem: Problem,
    catalog: Catalog,
    *,
    preferred: Mapping[NormalizedName, Version] | None = None,
    hints: Iterable[NormalizedName] = (),
    tick: Tick | None = None,
) -> Resolution | Conflict:
    """Find a resolution that passes the independent check, or a conflict.

    A conflict is certain, with two exceptions. If more than 400 releases were not read, none of them is assumed to
    require a pre-release that the policy rules out, or a yanked release (docs/solving.md). And after three archives of
    a project without static metadata, the project's remaining ones count as unusable, and the conflict says so.

    `preferred` are releases to keep as long as they fit; `hints` are projects that will probably be needed, whose
    pages are requested at once. `tick` is called with the numbers of rounds and decided packages, and before each
    further release that is tried. Raises UndecidedError if neither can be shown; IndexFailure and InputError come from
    the catalog and the facts.
    """
    answer = decide(Universe(problem, catalog, preferred), hints=hints, tick=tick)
    if isinstance(answer, Resolution):
        return answer
    from resolver.resolve.core_statements import tell

    statements = dict.fromkeys(tell(answer.engine.clauses, answer.core).values())
    return Conflict(problem=problem, statements=tuple(statements))


def decide(
    universe: Universe,
    *,
    hints: Iterable[NormalizedName] = (),
    tick: Tick | None = None,
    wheels: bool = False,
) -> Resolution | Refutation:
    """Solve a given universe; like `solve`, but a conflict comes as its proof.

    With `wheels`, the metadata of all wheels of the pins is requested meanwhile, as a lock will need it.
    """
    prefetch = Prefetch(universe, wheels=wheels)
    prefetch.expect(universe.roots())
    prefetch.expect_projects(hints)
    found = search(universe, prefetch, tick)
    if found is None:
        return prove(universe, tick)
    if wheels:
        universe.catalog.expect_metadata(other for pin in found.pins for other in pin.release.others)
    return found


def search(universe: Universe, prefetch: Prefetch, tick: Tick | None = None) -> Resolution | None:
    """What resolvelib finds and the check confirms; None, which proves nothing, if that is nothing valid.

    On cyclic graphs it is known to fail, with an invalid result or a wrong "impossible" (resolvelib issue 206).
    """
    provider = Provider(universe, prefetch)
    reporter = Reporter(provider, tick)
    provider.resolution = Search(provider, reporter)
    try:
        choices = provider.resolution.resolve(universe.roots(), max_rounds=_ROUNDS).mapping
    except (ResolutionTooDeep, ResolutionImpossible):
        return None
    found = _finished(universe, choices, "search", reporter.rounds, tick)
    return found if isinstance(found, Resolution) else None


def prove(universe: Universe, tick: Tick | None = None) -> Resolution | Refutation:
    """Decide with the complete engine. Raises UndecidedError if its resolution fails the check."""
    from resolver.resolve.complete import CompleteEngine, Unsatisfiable  # PySAT is loaded only where it is needed

    engine = CompleteEngine(universe, tick=tick)
    try:
        choices = engine.solve()
    except Unsatisfiable as answer:
        return Refutation(engine, _certain(engine.clauses, universe, answer.core))
    found = _finished(universe, choices, "complete", engine.rounds, tick)
    if not isinstance(found, Resolution):
        raise UndecidedError(
            "the resolution does not pass the independent check, so no lock is written",
            why="; ".join(found[:3]),
            hint="please report this together with the stack file",
        )
    return found


def _finished(
    universe: Universe, choices: Choices, engine: str, rounds: int, tick: Tick | None
) -> Resolution | list[str]:
    """The resolution that choices lead to, its promise kept (see `newest`); what is wrong with it, if anything."""
    try:
        choices = newest(universe, choices, tick)
        found = gather(universe, choices, engine=engine, rounds=rounds)
    except InvalidChoiceError as error:
        return [str(error)]
    return check(universe.problem, found, universe.catalog) or found


def _certain(clauses: Clauses, universe: Universe, core: tuple[Ground, ...]) -> tuple[Ground, ...]:
    """A core that does not rest on files that a fact could make usable, if there is one.

    Raises the error of a file with the metadata of another release if nothing else is in the way. An archive without
    static metadata is a conflict like any other, which a fact solves.
    """
    refused: dict[Ground, ResolverError] = {}
    for ground in clauses.known:
        for _, edge in clauses.edges.get(ground, ()):
            if isinstance(edge.origin, Unusable) and edge.origin.filename in universe.refused:
                refused.setdefault(ground, universe.refused[edge.origin.filename])  # the newest is opened first
    if refused.keys().isdisjoint(core):
        return core
    rest = [ground for ground in clauses.known if ground not in refused]
    if not clauses.satisfiable(among=rest):
        return tuple(clauses.minimal(among=rest))
    errors = [refused[ground] for ground in core if ground in refused]
    if all(ground in refused or isinstance(ground, Line) for ground in core):
        for error in errors:
            if not isinstance(error, DynamicArchiveError):
                raise error
    return core
