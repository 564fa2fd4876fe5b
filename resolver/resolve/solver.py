"""The entry of the solver: search, check the result, and use the complete engine if that fails.

`cli/answers` and the explanations (`explain`) call it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from packaging.utils import NormalizedName
from packaging.version import Version
from resolvelib.resolvers import Resolution as Search
from resolvelib.resolvers import ResolutionImpossible, ResolutionTooDeep

from resolver.errors import ResolverError, UndecidedError
from resolver.index.protocol import Catalog
from resolver.model.constraint import BuildLine, Constraint, StackLine, Unavailable
from resolver.model.problem import Problem
from resolver.model.resolution import Resolution
from resolver.phrase import literal, phrase
from resolver.resolve.check_refutation import check_refutation
from resolver.resolve.fallbacks import without_fallbacks
from resolver.resolve.gather import Choices, InvalidChoiceError, gather, upgrade
from resolver.resolve.independent_check import check
from resolver.resolve.needs import DynamicArchiveError
from resolver.resolve.premises import premises
from resolver.resolve.provider import Provider, Tick
from resolver.resolve.refutation import Refutation
from resolver.resolve.soft_requirements import with_soft_requirements
from resolver.resolve.universe import Universe

if TYPE_CHECKING:
    from resolver.resolve.clauses import Clauses

# The most rounds of resolvelib. In the first tenth of these, it jumps back over several decisions
# at once, which is far better than one at a time. So this limit is high, and `Provider` has its
# own.
_ROUNDS = 20_000
# The most releases that a search with other preferences may reject. It prefers the releases of a
# first search, so with more rejections it would only find other old releases.
_MOST_REJECTED_AMONG = 20


def solve(
    problem: Problem,
    catalog: Catalog,
    *,
    preferred: Mapping[NormalizedName, Version] | None = None,
    tick: Tick | None = None,
) -> Resolution | Refutation:
    """Solve a problem: return a resolution that passes the independent check, or a refutation.

    A refutation is certain, with two exceptions. If more than 400 releases were not read, it is
    assumed that none of them requires a pre-release that the policy rules out, or a yanked release
    (docs/solving.md). If three archives of a project have no static metadata, all others of the
    project count as unusable, and the reasons say so.

    `preferred` are versions to keep as far as possible, by project. `tick` is called with the
    numbers of rounds and of decided packages. Raises UndecidedError if no answer is found within
    the limits, IndexFailure if an index fails, and InputError for a mistake in a fact.
    """
    return decide(Universe(problem, catalog, preferred), tick=tick)


def decide(
    universe: Universe,
    *,
    hints: Iterable[NormalizedName] = (),
    among: Universe | None = None,
    tick: Tick | None = None,
) -> Resolution | Refutation:
    """Solve a universe as `solve` does.

    `hints` are projects that will probably be needed. Their pages are requested at once. `among` is
    the same universe with other preferences. It is used for a second search if the first one fails.
    """
    answer = first_answer(universe, hints=hints, among=among, tick=tick)
    if isinstance(answer, Refutation):
        return answer
    search_again = partial(search, tick=tick)
    answer = without_fallbacks(universe, answer, search_again)
    return with_soft_requirements(universe, answer, search_again)


def first_answer(
    universe: Universe,
    *,
    hints: Iterable[NormalizedName] = (),
    among: Universe | None = None,
    tick: Tick | None,
) -> Resolution | Refutation:
    """Solve a universe as `decide` does, but do not improve the resolution.

    Very old releases are not replaced (`fallbacks`), and soft requirements are ignored
    (`soft_requirements`).
    """
    answer = search(universe, hints=hints, tick=tick)
    if answer is None and among is not None:
        answer = search(universe, among=among, tick=tick)
    return answer or prove(universe, tick)


def search(
    universe: Universe,
    *,
    hints: Iterable[NormalizedName] = (),
    among: Universe | None = None,
    tick: Tick | None = None,
) -> Resolution | None:
    """Search with resolvelib. Return a resolution that passes the independent check, or None.

    None proves nothing: on cyclic graphs, resolvelib is known to return an invalid result or a
    wrong "impossible" (its issue 206). `among` is the same universe with another order of decisions
    or other preferences. If it is given, the search takes place in it and gives up early. What it
    finds is upgraded in `universe`.
    """
    most_rejected = None if among is None else _MOST_REJECTED_AMONG
    provider = Provider(among or universe, tick, most_rejected)
    provider.resolution = Search(provider, provider)
    provider.prefetch.prefetch(universe.roots())
    provider.prefetch.prefetch_projects(hints)
    try:
        choices = provider.resolution.resolve(universe.roots(), max_rounds=_ROUNDS).mapping
    except (ResolutionTooDeep, ResolutionImpossible):
        return None
    result = _finished(universe, choices, tick)
    return result if isinstance(result, Resolution) else None


def refuted_alike(universe: Universe, earlier: Iterable[Refutation]) -> Refutation | None:
    """Return a refutation with the reasons of earlier refutations of similar problems.

    None if these reasons do not refute this problem; it may have no solution all the same. Only
    releases that the earlier refutations are about are read. Raises UndecidedError if the new
    refutation fails the check.
    """
    # PySAT is loaded only if it is needed.
    from resolver.resolve.clauses import Clauses

    clauses = Clauses(universe)
    for refutation in earlier:
        clauses.open_concerned(refutation.clauses, refutation.core)
    if clauses.satisfiable():
        return None
    core = tuple(clauses.minimal())
    return _checked(Refutation(clauses, _without_fixable_files(clauses, universe, core)))


def prove(universe: Universe, tick: Tick | None = None) -> Resolution | Refutation:
    """Solve a universe with the complete engine.

    Raises UndecidedError if a limit is reached, or if the answer fails its check.
    """
    answer = _complete_answer(universe, tick)
    if isinstance(answer, Refutation):
        return answer
    result = _finished(universe, answer, tick)
    if not isinstance(result, Resolution):
        raise UndecidedError(
            phrase("the resolution does not pass the independent check, so no lock is written"),
            why=literal("; ".join(result[:3])),
            hint=phrase("please report this together with the stack file"),
        )
    return result


def choices_without(
    universe: Universe, projects: Iterable[NormalizedName], tick: Tick | None
) -> Choices | Refutation:
    """Solve a universe in which nothing requires some projects, with the complete engine.

    A refutation holds for the universe itself, whatever releases these projects have. Choices prove
    nothing. Raises what `prove` raises.
    """
    return _complete_answer(universe.without(projects), tick)


def _complete_answer(universe: Universe, tick: Tick | None) -> Choices | Refutation:
    """Return the choices of the complete engine, or a checked refutation."""
    # PySAT is loaded only if it is needed.
    from resolver.resolve.complete import CompleteEngine, Unsatisfiable

    engine = CompleteEngine(universe, tick=tick)
    try:
        return engine.solve()
    except Unsatisfiable as answer:
        core = _without_fixable_files(engine.clauses, universe, answer.core)
        return _checked(Refutation(engine.clauses, core))


def _finished(universe: Universe, choices: Choices, tick: Tick | None) -> Resolution | list[str]:
    """Return the resolution of an engine's choices after upgrading them.

    If it fails the independent check, return its faults as sentences.
    """
    try:
        choices = upgrade(universe, choices, tick)
        resolution = gather(universe, choices)
    except InvalidChoiceError as error:
        return [str(error)]
    return check(universe.problem, resolution, universe.catalog) or resolution


def faults_of_core(clauses: Clauses, core: Sequence[Constraint]) -> list[str]:
    """Return the faults of a core as sentences (see `check_refutation`); none if it is a proof."""
    universe = clauses.universe
    return check_refutation(universe.problem, premises(clauses, core), universe.catalog)


def _checked(refutation: Refutation) -> Refutation:
    """Return a refutation unchanged. Raises UndecidedError if it fails `check_refutation`."""
    faults = faults_of_core(refutation.clauses, refutation.core)
    if faults:
        raise UndecidedError(
            phrase(
                "no solution was found, and the proof that there is none does not pass the check"
            ),
            why=literal("; ".join(faults[:3])),
            hint=phrase("please report this together with the stack file"),
        )
    return refutation


def _without_fixable_files(
    clauses: Clauses, universe: Universe, core: tuple[Constraint, ...]
) -> tuple[Constraint, ...]:
    """Return a core without files that a fact could make usable, if there is one.

    Otherwise return the given core. If that has only lines of the stack and such files, and a file
    has the metadata of another release, raise the error of the file instead. An archive without
    static metadata is a reason like any other: a fact about it is a way out.
    """
    errors = _fixable_errors(clauses, universe)
    if errors.keys().isdisjoint(core):
        return core
    others = [constraint for constraint in clauses.known if constraint not in errors]
    if not clauses.satisfiable(among=others):
        return tuple(clauses.minimal(among=others))
    for constraint in core:
        if constraint not in errors and not isinstance(constraint, (StackLine, BuildLine)):
            return core
    for constraint in core:
        error = errors.get(constraint)
        if error is not None and not isinstance(error, DynamicArchiveError):
            raise error
    return core


def _fixable_errors(clauses: Clauses, universe: Universe) -> dict[Constraint, ResolverError]:
    """Return the constraints about files that a fact could make usable.

    Each has the error of the first such file that was opened.
    """
    errors: dict[Constraint, ResolverError] = {}
    for constraint in clauses.known:
        if not isinstance(constraint, Unavailable):
            continue
        for candidate, _ in clauses.edges.get(constraint, ()):
            if candidate is None:
                continue
            error = universe.lines.fixable_errors.get(candidate.release.file.filename)
            if error is not None:
                # The newest release is opened first.
                errors.setdefault(constraint, error)
    return errors
