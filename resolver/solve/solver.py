"""Solving: search first, prove what it says, and let the complete engine decide where it fails."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

import msgspec
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.catalog.protocol import Catalog
from resolver.errors import ResolverError, UndecidedError
from resolver.model.conflict import Conflict
from resolver.model.origin import Unusable
from resolver.model.problem import Problem
from resolver.model.release import Reason
from resolver.model.resolution import Resolution
from resolver.profile import counts
from resolver.solve.check import check
from resolver.solve.gather import InvalidChoiceError, gather
from resolver.solve.ground import Ground, Line
from resolver.solve.lookahead import Lookahead
from resolver.solve.needs import DynamicArchiveError
from resolver.solve.provider import Provider
from resolver.solve.search import ROUNDS, DeadEnd, Search
from resolver.solve.universe import Universe

if TYPE_CHECKING:
    from resolver.solve.clauses import Clauses
    from resolver.solve.complete import CompleteEngine

Tick = Callable[[int, int], None]


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
    """Find a resolution that passed the independent check, or a conflict.

    A conflict is certain, but for two things: where more than 400 releases were not read, none of them is taken to ask
    for a pre-release that the policy rules out, or for a yanked one (docs/solving.md); and after three archives of a
    project without static metadata, or three files with that of other releases, the rest of it counts as unusable,
    which the conflict says.
    `preferred` are releases to keep where they still fit; `hints` are projects
    that will probably be needed, so that their pages are asked for at once. `tick` is called with
    rounds and packages decided, and before each further release that is tried. Raises UndecidedError where neither
    can be shown, IndexFailure and InputError as the catalog and the facts do.
    """
    answer = decide(Universe(problem, catalog, preferred), hints=hints, tick=tick)
    if isinstance(answer, Resolution):
        return answer
    from resolver.solve.tell import tell

    statements = dict.fromkeys(tell(answer.engine.clauses, answer.core).values())
    return Conflict(problem=problem, statements=tuple(statements))


def decide(
    universe: Universe,
    *,
    hints: Iterable[NormalizedName] = (),
    tick: Tick | None = None,
    wheels: bool = False,
) -> Resolution | Refutation:
    """The same over a universe that is there already; a conflict comes with its proof.

    With `wheels` all wheels of what is found will be asked for, as a lock tells of them: they come while this works.
    """
    lookahead = Lookahead(universe, wheels=wheels)
    lookahead.expect(universe.roots())
    lookahead.expect_projects(hints)
    found = _search(universe, lookahead, tick, ROUNDS)
    if found is not None:
        if wheels:
            universe.catalog.expect_metadata(other for pin in found.pins for other in pin.release.others)
        if _holds(universe, found):
            return found
    return prove(universe, tick)


def search(
    universe: Universe, lookahead: Lookahead, tick: Tick | None = None, *, max_rounds: int = ROUNDS
) -> Resolution | None:
    """What the search finds and the check confirms; None where it finds nothing or nonsense, which proves nothing.

    On cyclic graphs it is known to fail, by an invalid result or a wrong "impossible" (resolvelib issue 206).
    """
    found = _search(universe, lookahead, tick, max_rounds)
    return found if found is not None and _holds(universe, found) else None


@counts("solving")
def _search(universe: Universe, lookahead: Lookahead, tick: Tick | None, max_rounds: int) -> Resolution | None:
    run = Search(Provider(universe, lookahead), tick, most=max_rounds)
    try:
        chosen = run.run(universe.roots())
        return gather(universe, chosen, engine="search", rounds=run.rounds)
    except (DeadEnd, InvalidChoiceError):
        return None


def _holds(universe: Universe, found: Resolution) -> bool:
    return not check(universe.problem, found, universe.catalog)


@counts("solving")
def prove(universe: Universe, tick: Tick | None = None) -> Resolution | Refutation:
    """What the complete engine finds."""
    from resolver.solve.complete import CompleteEngine, Unsatisfiable  # PySAT is loaded only where it is needed

    engine = CompleteEngine(universe, tick=tick)
    try:
        chosen = engine.solve()
    except Unsatisfiable as answer:
        return Refutation(engine, _certain(engine.clauses, universe, answer.core))
    try:
        resolution = gather(universe, chosen, engine="complete", rounds=engine.rounds)
        violations = check(universe.problem, resolution, universe.catalog)
    except InvalidChoiceError as error:
        violations = [str(error)]
    if violations:
        raise UndecidedError(
            "the resolution does not pass the independent check, so no lock is written",
            why="; ".join(violations[:3]),
            hint="please report this together with the stack file",
        )
    return resolution


def _certain(clauses: Clauses, universe: Universe, core: tuple[Ground, ...]) -> tuple[Ground, ...]:
    """A core that does not rest on files which a fact could make usable, if there is one.

    Raises what is wrong with a file of another release where nothing else is in the way, or where some were not
    even read. An archive without static metadata is a conflict that a fact solves.
    """
    refused: dict[Ground, ResolverError] = {}
    unread: set[Ground] = set()
    for ground in clauses.known:
        for _, edge in clauses.edges.get(ground, ()):
            if isinstance(edge.origin, Unusable) and edge.origin.filename in universe.refused:
                refused.setdefault(ground, universe.refused[edge.origin.filename])  # the newest is opened first
                if edge.origin.reason is Reason.UNREAD:
                    unread.add(ground)
    if refused.keys().isdisjoint(core):
        return core
    rest = [ground for ground in clauses.known if ground not in refused]
    if not clauses.satisfiable(among=rest):
        return tuple(clauses.minimal(among=rest))
    plain = all(ground in refused or isinstance(ground, Line) for ground in core)
    for ground in core:
        error = refused.get(ground)
        if error is not None and not isinstance(error, DynamicArchiveError) and (plain or ground in unread):
            raise error
    return core
