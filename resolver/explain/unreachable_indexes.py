"""Find out whether the refutation of a stack depends on an index that could not be reached.

`explain/explain` calls `awaited_by`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TypeGuard

from packaging.utils import NormalizedName
from pysat.examples.hitman import Hitman

from resolver.errors import ResolverError
from resolver.explain.clock import Clock
from resolver.explain.nearby_releases import RequiredEdge, open_nearby_releases
from resolver.model.constraint import (
    BuildLine,
    Constraint,
    NoCandidate,
    ReleaseRequires,
    StackLine,
    Unavailable,
)
from resolver.model.explanation import Awaited
from resolver.resolve.clauses import Clauses
from resolver.resolve.gather import Choices
from resolver.resolve.refutation import Refutation
from resolver.resolve.solver import choices_without

# What the stack itself rules out, whatever an index has.
_RULED_OUT_BY_STACK = (NoCandidate.COMMIT, NoCandidate.PRERELEASE, NoCandidate.NEEDLESS)


def awaited_by(refutation: Refutation, clock: Clock) -> tuple[Awaited, ...]:
    """Return the projects on which the answer depends, as an index could not be reached.

    Empty if the stack has no solution whatever these indexes have. Otherwise they are the fewest
    projects such that the stack has one if nothing is required of them, with what that solution
    requires of them. If time is up before that is known, they are the fewest that the cores found
    so far allow, with all that these cores require of them.
    """
    clauses = refutation.clauses
    if not _projects_of_unreachable_indexes(refutation.core, clauses):
        return ()
    needs: list[RequiredEdge] = []
    cores: list[Sequence[Constraint]] = [refutation.core]
    wanted: list[NormalizedName] = []
    # An index that fails now leaves open what is not known yet.
    with suppress(ResolverError), clock.limiting(), Hitman(solver="m22", htype="sorted") as hitman:
        open_nearby_releases(clauses, clock.expired)
        for core in cores:
            # Every core must be met by a project, as in `cores.smallest`.
            hitman.hit(_projects_of_unreachable_indexes(core, clauses))
            wanted = hitman.get()
            answer = _answer_without(wanted, clauses, clock)
            if not isinstance(answer, tuple):
                needs = list(_needs_of_choices(answer, wanted, clauses))
            elif not answer:
                break
            elif _projects_of_unreachable_indexes(answer, clauses):
                cores.append(answer)
            else:
                return ()
    if not needs:
        projects = set(wanted) or _projects_of_unreachable_indexes(refutation.core, clauses)
        for core in cores:
            needs += _needs_in_core(core, projects, clauses)
    return tuple(_by_project(needs, clauses))


def depends_on_unreachable_index(
    constraint: Constraint, clauses: Clauses
) -> TypeGuard[Unavailable]:
    """Return whether something is unavailable only because an index could not be reached.

    False for what the stack itself rules out: no index could change that.
    """
    if not isinstance(constraint, Unavailable) or constraint.why in _RULED_OUT_BY_STACK:
        return False
    return bool(clauses.universe.project(constraint.project).unreachable)


def _projects_of_unreachable_indexes(
    core: Iterable[Constraint], clauses: Clauses
) -> list[NormalizedName]:
    """Return the projects that are unavailable in a core only because of an unreachable index.

    Each is listed once, in the order of the core.
    """
    projects = [
        constraint.project
        for constraint in core
        if depends_on_unreachable_index(constraint, clauses)
    ]
    return list(dict.fromkeys(projects))


def _answer_without(
    projects: Collection[NormalizedName], clauses: Clauses, clock: Clock
) -> Choices | tuple[Constraint, ...]:
    """Solve the stack as if nothing required `projects`. Return the choices, or else a core.

    `clauses` learn what was read for that. The core is made of them; it is empty if the stack is
    refuted, but these clauses do not say why.
    """
    if core := _core_without(projects, clauses):
        return core
    answer = choices_without(clauses.universe, projects, clock.tick)
    if not isinstance(answer, Refutation):
        return answer
    clauses.add_clause([clauses.learn_from(answer.clauses)])
    return _core_without(projects, clauses)


def _core_without(projects: Collection[NormalizedName], clauses: Clauses) -> tuple[Constraint, ...]:
    """Return a core that does not rest on the lack of releases of some projects.

    Empty if there is none in what is known.
    """
    among = [
        constraint
        for constraint in clauses.known
        if not depends_on_unreachable_index(constraint, clauses)
        or constraint.project not in projects
    ]
    return () if clauses.satisfiable(among=among) else tuple(clauses.minimal(among=among))


def _needs_of_choices(
    choices: Choices, projects: Collection[NormalizedName], clauses: Clauses
) -> Iterator[RequiredEdge]:
    """Yield what the stack and the chosen releases require of some projects.

    Requirements that a known release meets are left out, if there are others.
    """
    universe = clauses.universe
    needs: list[RequiredEdge] = [(None, edge) for edge in universe.roots()]
    for candidate in choices.values():
        needs += ((candidate, edge) for edge in universe.edges(candidate))
    needs = [(parent, edge) for parent, edge in needs if edge.package.name in projects]
    unmet = [
        (parent, edge)
        for parent, edge in needs
        if next(universe.candidates(edge.package, universe.demand(edge)), None) is None
    ]
    yield from unmet or needs


def _needs_in_core(
    core: Iterable[Constraint], projects: Collection[NormalizedName], clauses: Clauses
) -> Iterator[RequiredEdge]:
    """Yield what a core requires of some projects, each with the first release that has it."""
    for constraint in core:
        for parent, edge in clauses.edges.get(constraint, ())[:1]:
            if edge.package.name in projects:
                yield parent, edge


def _by_project(needs: Iterable[RequiredEdge], clauses: Clauses) -> Iterator[Awaited]:
    """Yield each project with the requirements on it and the releases that have them."""
    texts: dict[NormalizedName, dict[str, None]] = {}
    requirers: dict[NormalizedName, dict[str, None]] = {}
    for parent, edge in needs:
        name = NormalizedName(edge.package.name)
        match edge.constraint:
            case StackLine() as line:
                texts.setdefault(name, {})[line.text] = None
            case BuildLine() as line:
                texts.setdefault(name, {})[line.text] = None
                requirers.setdefault(name, {})[f"{line.project} {line.version}"] = None
            case ReleaseRequires() as required:
                texts.setdefault(name, {})[required.text] = None
                requirers.setdefault(name, {})[str(parent)] = None
            case _:
                # Constraints of other kinds require nothing.
                pass
    for name, of_project in texts.items():
        yield Awaited(
            indexes=clauses.universe.project(name).unreachable,
            project=name,
            needs=tuple(of_project),
            by=tuple(requirers.get(name, ())),
        )
