"""Solving: search first, check the result, and let the complete engine decide if the search fails.

The isolated build environments of source archives are further small problems.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec.structs import replace
from packaging.requirements import InvalidRequirement
from packaging.utils import NormalizedName
from packaging.version import Version
from resolvelib.resolvers import Resolution as Search
from resolvelib.resolvers import ResolutionImpossible, ResolutionTooDeep

from resolver.errors import InputError, ResolverError, UndecidedError
from resolver.index.protocol import Catalog
from resolver.model import fact as facts
from resolver.model import text
from resolver.model.as_of import NEWEST
from resolver.model.constraint import BuildLine, Constraint, StackLine, Unavailable
from resolver.model.problem import Checks, Problem, RootRequirement
from resolver.model.reason import Reason
from resolver.model.release import Release
from resolver.model.requirement import Requirement
from resolver.model.resolution import Resolution
from resolver.phrase import cause, literal, phrase
from resolver.redaction import without_secrets
from resolver.resolve.check_refutation import check_refutation
from resolver.resolve.fallbacks import without_fallbacks
from resolver.resolve.gather import Choices, InvalidChoiceError, gather, upgrade
from resolver.resolve.independent_check import check
from resolver.resolve.needs import DynamicArchiveError, is_built_here, requirement_lines
from resolver.resolve.provider import Provider, Tick
from resolver.resolve.soft_requirements import with_soft_requirements
from resolver.resolve.universe import Universe

if TYPE_CHECKING:
    from resolver.resolve.clauses import Clauses

# resolvelib jumps back over several decisions at once in the first tenth of the rounds that it may
# take, which is far better than one at a time.
_ROUNDS = 20_000
# The releases that a search in another order may reject. Those of a first search are mostly
# preferred in it, so with more it is about to fall back elsewhere.
_MOST_REJECTED_AMONG = 20

Archives = tuple[NormalizedName, ...]
BuildPreferences = Mapping[Archives, Mapping[NormalizedName, Version]]

# Stands for all archives of a lock, in one environment.
ALL_ARCHIVES: Archives = ()


class Refutation(msgspec.Struct, frozen=True):
    """A proof that a problem has no solution."""

    # all that the engine learned
    clauses: Clauses
    # constraints that clash
    core: tuple[Constraint, ...]

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """Return the core as reports have it."""
        # PySAT is loaded only where it is needed
        from resolver.resolve.reasons import described

        return tuple(dict.fromkeys(described(self.clauses, self.core).values()))


def solve(
    problem: Problem,
    catalog: Catalog,
    *,
    preferred: Mapping[NormalizedName, Version] | None = None,
    tick: Tick | None = None,
) -> Resolution | Refutation:
    """Find a resolution that passes the independent check, or a refutation.

    A refutation is certain, with two exceptions. If more than 400 releases were not read, none of
    them is assumed to require a pre-release that the policy rules out, or a yanked release
    (docs/solving.md). And after three archives of a project without static metadata, the project's
    remaining ones count as unusable, and its reasons say so.

    `preferred` are releases to keep as long as they fit. `tick` is called with the numbers of
    rounds and decided packages, and before each further release that is tried. Raises
    UndecidedError if neither can be shown; IndexFailure and InputError come from the catalog and
    the facts.
    """
    return decide(Universe(problem, catalog, preferred), tick=tick)


def decide(
    universe: Universe,
    *,
    hints: Iterable[NormalizedName] = (),
    among: Universe | None = None,
    tick: Tick | None = None,
) -> Resolution | Refutation:
    """Solve a given universe, as `solve` does.

    `hints` are projects that will probably be needed, whose pages are requested at once. `among` is
    the same universe with preferences that a search which fails without them will probably do with.
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
    tick: Tick | None = None,
) -> Resolution | Refutation:
    """Solve a given universe, as `decide` does, without regard to releases of long ago.

    Soft requirements do not count, either.
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
    """Return what resolvelib finds and the check confirms; None if that is nothing valid.

    None proves nothing. `among` is the same universe with another order of decisions or
    preferences. The search takes place in it, and soon gives up; what is found is upgraded in
    `universe`.

    On cyclic graphs resolvelib is known to fail, with an invalid result or a wrong "impossible"
    (its issue 206).
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
    result = _finished(universe, choices, "search", provider.rounds, tick)
    return result if isinstance(result, Resolution) else None


def refuted_alike(universe: Universe, proofs: Iterable[Refutation]) -> Refutation | None:
    """Return a refutation for the reasons of earlier ones, of similar problems.

    None if they do not hold here, which says nothing. No release is read but those that the
    earlier ones are about.
    """
    # PySAT is loaded only where it is needed
    from resolver.resolve.clauses import Clauses

    clauses = Clauses(universe)
    for proof in proofs:
        clauses.open_concerned(proof.clauses, proof.core)
    if clauses.satisfiable():
        return None
    core = tuple(clauses.minimal())
    return _checked(Refutation(clauses, _certain(clauses, universe, core)))


def prove(universe: Universe, tick: Tick | None = None) -> Resolution | Refutation:
    """Decide with the complete engine. Raises UndecidedError if its resolution fails the check."""
    # PySAT is loaded only where it is needed
    from resolver.resolve.complete import CompleteEngine, Unsatisfiable

    engine = CompleteEngine(universe, tick=tick)
    try:
        choices = engine.solve()
    except Unsatisfiable as answer:
        return _checked(Refutation(engine.clauses, _certain(engine.clauses, universe, answer.core)))
    result = _finished(universe, choices, "complete", engine.rounds, tick)
    if not isinstance(result, Resolution):
        raise UndecidedError(
            phrase("the resolution does not pass the independent check, so no lock is written"),
            why=literal("; ".join(result[:3])),
            hint=phrase("please report this together with the stack file"),
        )
    return result


def _finished(
    universe: Universe, choices: Choices, engine: str, rounds: int, tick: Tick | None
) -> Resolution | list[str]:
    """Return the resolution that choices lead to once they are upgraded, or its faults."""
    try:
        choices = upgrade(universe, choices, tick)
        resolution = gather(universe, choices, engine=engine, rounds=rounds)
    except InvalidChoiceError as error:
        return [str(error)]
    return check(universe.problem, resolution, universe.catalog) or resolution


def faults_of_core(clauses: Clauses, core: Sequence[Constraint]) -> list[str]:
    """Return what the independent check finds wrong with a core: nothing if it is a proof."""
    universe = clauses.universe
    return check_refutation(universe.problem, clauses.reasons(core), universe.catalog)


def _checked(refutation: Refutation) -> Refutation:
    """Return a refutation that passes the check. Raises UndecidedError for another one."""
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


def _certain(
    clauses: Clauses, universe: Universe, core: tuple[Constraint, ...]
) -> tuple[Constraint, ...]:
    """Return a core that does not rest on files that a fact could make usable, if there is one.

    Raises the error of a file with the metadata of another release if nothing else is in the way.
    An archive without static metadata is a conflict like any other, which a fact solves.
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
    """Return the constraints about files that a fact could make usable, each with an error."""
    errors: dict[Constraint, ResolverError] = {}
    for constraint in clauses.known:
        if not isinstance(constraint, Unavailable):
            continue
        for candidate, _ in clauses.edges.get(constraint, ()):
            if candidate is None:
                continue
            error = universe.fixable_errors.get(candidate.release.file.filename)
            if error is not None:
                # the newest is opened first
                errors.setdefault(constraint, error)
    return errors


# --- isolated builds


class BuildEnvironment(NamedTuple):
    """An environment in which archives are built."""

    # ALL_ARCHIVES if it is the only one
    archives: Archives
    # what is installed in it, or why it cannot be made
    answer: Resolution | Refutation


def solve_builds(
    resolution: Resolution,
    catalog: Catalog,
    *,
    preferred: BuildPreferences | None = None,
    tick: Tick | None = None,
) -> tuple[BuildEnvironment, ...]:
    """Return the environments in which a resolution's source archives are built.

    There are none if it needs none. pip's hash mode does not cover what an isolated build
    downloads, so a lock pins that, too. All archives are built in one such environment if their
    tools are compatible. If not, they share environments as far as possible, in the order of their
    names. The `preferred` releases of an environment are tried first, then those that the
    resolution itself pins. Build tools must have wheels: they are not built themselves.
    """
    archives = tuple(
        pin.name
        for pin in resolution.pins
        if (pin.release.source or not pin.release.file.is_wheel) and not is_built_here(pin.release)
    )
    pinned = {pin.name: pin.version for pin in resolution.pins}

    def solve_for(names: Archives, key: Archives) -> Resolution | Refutation | None:
        problem = build_problem(resolution, catalog, names)
        if problem is None:
            return None
        previous = (preferred or {}).get(key, {})
        return solve(problem, catalog, preferred={**pinned, **previous}, tick=tick)

    together = solve_for(archives, ALL_ARCHIVES)
    if together is None:
        return ()
    if isinstance(together, Resolution) or len(archives) == 1:
        return (BuildEnvironment(ALL_ARCHIVES, together),)
    environments: list[BuildEnvironment] = []
    # those that require nothing come last: they fit into any environment
    for name in sorted(
        archives, key=lambda name: build_problem(resolution, catalog, (name,)) is None
    ):
        for number, environment in enumerate(environments):
            if not isinstance(environment.answer, Resolution):
                continue
            wider = (*environment.archives, name)
            answer = solve_for(wider, wider)
            if isinstance(answer, Resolution):
                environments[number] = BuildEnvironment(wider, answer)
                break
        else:
            alone = solve_for((name,), (name,))
            if alone is not None:
                environments.append(BuildEnvironment((name,), alone))
    return tuple(environments)


def build_problem(resolution: Resolution, catalog: Catalog, archives: Archives) -> Problem | None:
    """Return the problem of what builds of these archives require; None if that is nothing."""
    requirements: list[RootRequirement] = []
    for pin in resolution.pins:
        if pin.name not in archives:
            continue
        metadata = [
            fact
            for fact in resolution.problem.facts
            if isinstance(fact, facts.Metadata) and fact.is_about(pin.name, pin.version)
        ]
        lines = requirement_lines(catalog, pin.release, metadata).build_requires
        for requirement in lines:
            line = BuildLine(
                text=requirement,
                package=pin.name,
                version=str(pin.version),
                filename=pin.release.file.filename,
                fact=_build_fact(pin.release, metadata, requirement),
            )
            need = _build_need(line, resolution.problem.target.markers)
            requirements.append(RootRequirement(need=need, origin=line))
    if not requirements:
        return None
    stack = replace(
        resolution.problem.stack,
        requirements=tuple(requirements),
        checks=Checks(),
        departures=(),
        absent=(),
    )
    # tools are of the same day
    policy = replace(resolution.problem.policy, as_of=resolution.as_of.day or NEWEST)
    return replace(resolution.problem, stack=stack, policy=policy, wheels_only=True, sources={})


def _build_fact(
    release: Release, metadata: Sequence[facts.Metadata], line: str
) -> facts.Fact | None:
    """Return the fact that states a line of what a build requires; None if the archive does.

    As in `requirement_lines`, a `builds` fact adds to what the archive states, and the first
    `metadata` fact may replace it.
    """
    if release.source is not None:
        return release.source.fact
    if release.builds is not None:
        return release.builds if line in map(str, release.builds.build_add) else None
    if metadata and metadata[0].build_requires is not None:
        return metadata[0]
    return None


def _build_need(line: BuildLine, markers: Mapping[str, str]) -> Requirement:
    """Return what a line requires. Raises InputError for an address or an invalid line."""
    why = phrase("addresses are not supported")
    try:
        need = text.requirement(line.text)
        need.applies(markers)  # which raises for a marker that cannot be evaluated
        if not need.url:
            return need
    except InvalidRequirement as error:
        why = cause(error)
    raise InputError(
        phrase(
            "{package} {version} cannot be built: it needs `{need}`",
            package=line.package,
            version=line.version,
            need=without_secrets(line.text),
        ),
        where=line.where,
        why=why,
        hint=phrase("state what its build needs in a `metadata` or `builds` fact"),
    )
