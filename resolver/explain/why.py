"""Explain why a project of a solved problem has its release, and what another one would break.

The command `why` calls it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from msgspec.structs import replace
from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.errors import IndexFailure, InputError, UndecidedError, did_you_mean
from resolver.explain.clock import Clock, Expired
from resolver.explain.contradiction import contradiction_of
from resolver.explain.cores import found_cores
from resolver.model import fact as facts
from resolver.model import text
from resolver.model.constraint import (
    SUPPOSED,
    Constraint,
    Excluded,
    Exclusive,
    Line,
    ReleaseRequires,
    RequirementSource,
)
from resolver.model.explanation import Contradiction, Why
from resolver.model.package import Package, PackageKind
from resolver.model.reason import Reason
from resolver.model.release import Release
from resolver.model.requirement import Requirement
from resolver.model.resolution import Pin, Resolution
from resolver.phrase import EMPTY, Phrase, phrase
from resolver.resolve.clauses import Clauses
from resolver.resolve.project import Project
from resolver.resolve.reasons import pinned_reason, release_ranges
from resolver.resolve.solver import decide
from resolver.resolve.universe import Universe

# The name of a project, its version before, and its version after.
_Move = tuple[str, str, str]
# A project, its version, and the project that this release requires.
_RequiredProject = tuple[NormalizedName, Version, NormalizedName]


def why(resolution: Resolution, universe: Universe, requirement: Requirement, clock: Clock) -> Why:
    """Return why a project has its version in a resolution.

    The release that the requirement names is tried instead, or else the newest one that the target
    can use. If it has a solution, the pins that change are returned, otherwise the contradictions.
    Raise InputError if the resolution does not have the project, or the project has no such
    release.
    """
    name = requirement.name
    pin = resolution.pin(name)
    if pin is None:
        names = [pin.name for pin in resolution.pins]
        raise InputError(
            phrase("`{name}` is not part of the stack's resolution", name=name),
            where=SUPPOSED,
            hint=did_you_mean(name, names, phrase("see lock.toml for its projects")),
        )
    project = universe.project(name)
    day = universe.as_of.day
    newer = tuple(_newer(project, pin.version))
    tried = _tried(project, requirement.specifier, newer)
    trial = _Trial()
    if tried:
        is_asked_for = bool(requirement.specifier)
        trial = _try(resolution, universe, name, tried, is_asked_for=is_asked_for, clock=clock)
    requirements, bound = _requirements(resolution, pin, newer)
    return Why(
        problem=resolution.problem,
        name=pin.name,
        version=str(pin.version),
        requirements=requirements,
        bound=bound,
        facts=tuple(_facts(resolution, project, pin)),
        newer=newer,
        tried=trial.decided,
        contradictions=trial.contradictions,
        moves=trial.moves,
        unreachable=tuple(project.unreachable),
        untried=trial.untried,
        limited=trial.limited,
        day=day,
        after_day=sum(_is_later(project, version, day) for version in newer),
        later=tuple(_later(project, pin, newer, day)),
        gave_way=trial.gave_way,
        practices=trial.practices,
    )


class _Trial(NamedTuple):
    """Whether another release of a project is possible. The fields are as in `Why`."""

    # The release that was tried; empty if it is not known whether it is possible.
    decided: str = ""
    # What speaks against it.
    contradictions: tuple[Contradiction, ...] = ()
    # The pins that change with it.
    moves: tuple[_Move, ...] = ()
    # The stack's lines that were ignored for it.
    gave_way: tuple[str, ...] = ()
    # The practices that would drop a requirement of the contradictions.
    practices: tuple[facts.Practice, ...] = ()
    # What failed.
    untried: Phrase = EMPTY
    # Whether time was up.
    limited: bool = False


def _try(
    resolution: Resolution,
    universe: Universe,
    name: NormalizedName,
    version: str,
    *,
    is_asked_for: bool,
    clock: Clock,
) -> _Trial:
    """Solve the stack with another release of a project. The parameters are as in `_supposing`."""
    supposed, gave_way = _supposing(resolution, universe, name, version, is_asked_for)
    try:
        answer = decide(supposed, tick=clock.tick)
        if isinstance(answer, Resolution):
            moves = tuple(_moves(resolution, answer))
            return _Trial(version, moves=moves, gave_way=gave_way)
        cores = found_cores(answer, clock)
        contradictions = [contradiction_of(answer.clauses, core, clock.expired) for core in cores]
        practices = tuple(_helpful_practices(answer.clauses, cores))
        return _Trial(version, tuple(contradictions), gave_way=gave_way, practices=practices)
    except Expired:
        return _Trial(gave_way=gave_way, limited=True)
    except (IndexFailure, UndecidedError) as error:
        return _Trial(gave_way=gave_way, untried=error.phrases["message"])


def _requirements(
    resolution: Resolution, pin: Pin, newer: Sequence[str]
) -> tuple[tuple[Reason, ...], tuple[Reason, ...]]:
    """Return the requirements on a pin, and which of them admit no newer release.

    `newer` are the newer releases. If there are none, nothing counts as a bound.
    """
    requirements: dict[Reason, None] = {}
    bound: dict[Reason, None] = {}
    for constraint in _merged(pin.because):
        reason = pinned_reason(constraint, resolution)
        requirements[reason] = None
        admitted = _admitted(constraint, pin.name)
        if newer and not any(admitted.contains(version, prereleases=True) for version in newer):
            bound[reason] = None
    return tuple(requirements), tuple(bound)


def _later(
    project: Project, pin: Pin, newer: tuple[str, ...], day: str
) -> Iterator[tuple[str, tuple[facts.Warns, ...]]]:
    """Yield the newer releases that a fact makes less preferred, with these facts.

    Releases that are less preferred for another reason are left out.
    """
    for version in newer:
        position = project.position(Version(version))
        if position is None or not project.is_preferred_to(pin.release.position, position, day):
            continue
        because = project.put_last(position)
        if because:
            yield version, tuple(because)


def _is_later(project: Project, version: str, day: str) -> bool:
    """Return whether a release was uploaded after a day (`YYYY-MM-DD`)."""
    position = project.position(Version(version))
    return position is not None and project.is_later(position, day)


def _newer(project: Project, version: Version) -> Iterator[str]:
    """Yield the newer releases that the target can use, newest first.

    Pre-releases and yanked releases are left out.
    """
    for position in project.positions(project.stable):
        release = project.release(position)
        if project.versions[position] <= version:
            return
        if isinstance(release, Release) and not release.yanked:
            yield str(release.version)


def _tried(project: Project, specifier: SpecifierSet, newer: tuple[str, ...]) -> str:
    """Return the release that is tried: the newest one that the specifier admits.

    Without a specifier it is the first of the `newer` releases; empty if there is none. Raise
    InputError if the specifier admits no release.
    """
    if not str(specifier):
        return newer[0] if newer else ""
    position = next(project.positions(project.mask(specifier)), None)
    if position is not None:
        return str(project.versions[position])
    source = project.source
    if source is not None:
        message = phrase(
            "the stack takes {name} from a commit, where its version is {version}",
            name=project.name,
            version=source.version,
        )
        hint = phrase(
            "see {where}; for another release change the stack's line", where=source.where
        )
    else:
        message = phrase(
            "no release of {name} matches `{specifier}`", name=project.name, specifier=specifier
        )
        hint = (
            phrase("the newest is {version}", version=project.versions[0])
            if project.versions
            else EMPTY
        )
    raise InputError(message, where=SUPPOSED, hint=hint)


def _supposing(
    resolution: Resolution,
    universe: Universe,
    name: NormalizedName,
    version: str,
    is_asked_for: bool,
) -> tuple[Universe, tuple[str, ...]]:
    """Return the universe in which the stack requires a release, and the lines that gave way.

    The other pins of the resolution are preferred. With `is_asked_for`, the user named the release:
    the stack's lines that do not admit it lose their versions, as the user would change them.
    """
    stack = universe.problem.stack
    roots = []
    gave_way = []
    for root in stack.requirements:
        need = root.need
        if not (is_asked_for and isinstance(need, Requirement) and need.name == name):
            roots.append(root)
            continue
        if _rules_out(need, version):
            gave_way.append(root.origin.text)
            unbound = replace(need, specifier=SpecifierSet())
            origin = replace(root.origin, text=str(unbound))
            root = replace(root, need=unbound, origin=origin)
        roots.append(root)
    preferred = {pin.name: pin.version for pin in resolution.pins if pin.name != name}
    if gave_way:
        problem = replace(universe.problem, stack=replace(stack, requirements=tuple(roots)))
        as_of = universe.as_of
        universe = universe.for_problem(problem)
        universe.as_of = as_of
    return universe.with_line(f"{name}=={version}", SUPPOSED, preferred), tuple(gave_way)


def _rules_out(need: Requirement, version: str) -> bool:
    """Return whether the specifier of a requirement does not admit a release."""
    return not need.url and not need.specifier.contains(version, prereleases=True)


def _helpful_practices(
    clauses: Clauses, found: Iterable[Iterable[Constraint]]
) -> Iterator[facts.Practice]:
    """Yield the practices that drop a requirement which is in one of these cores.

    It is not checked whether the stack has a solution with such a practice.
    """
    needs: list[_RequiredProject] = []
    for core in found:
        for constraint in core:
            if not isinstance(constraint, ReleaseRequires):
                continue
            for parent, edge in clauses.edges.get(constraint, ()):
                if parent is not None and edge.package.kind is PackageKind.PROJECT:
                    name, needed = text.name(parent.package.name), text.name(edge.package.name)
                    needs.append((name, parent.version, needed))
    for practice in clauses.universe.problem.available_practices:
        if not isinstance(practice, facts.Replaces):
            continue
        if any(_drops(practice, need) for need in needs):
            yield practice


def _drops(practice: facts.Replaces, need: _RequiredProject) -> bool:
    """Return whether a practice drops a requirement of a release on a project."""
    name, version, needed = need
    return practice.is_about(name, version) and needed in practice.drop


def _moves(before: Resolution, after: Resolution) -> Iterator[_Move]:
    """Yield the projects whose pins differ, by name. A missing pin has an empty version."""
    old = {pin.name: str(pin.version) for pin in before.pins}
    new = {pin.name: str(pin.version) for pin in after.pins}
    for name in sorted({*old, *new}):
        if old.get(name) != new.get(name):
            yield name, old.get(name, ""), new.get(name, "")


def _merged(because: Iterable[Line | ReleaseRequires]) -> Iterator[Line | ReleaseRequires]:
    """Yield requirements. Several requirements of one file on one project become one.

    Some files have a line for each version of Python. All of them hold, and a reader looks for what
    they admit together. The result is for display: no release has such a requirement.
    """
    merged: dict[Line | ReleaseRequires, list[Requirement]] = {}
    for constraint in because:
        if isinstance(constraint, ReleaseRequires) and constraint.is_metadata:
            need = text.requirement(constraint.text)
            unbounded = replace(need, specifier=SpecifierSet()).without_marker()
            merged.setdefault(replace(constraint, text=unbounded), []).append(need)
        else:
            merged.setdefault(constraint, [])
    for constraint, needs in merged.items():
        if needs:
            narrowed = replace(needs[0], specifier=_narrowed(needs)).without_marker()
            yield replace(constraint, text=narrowed)
        else:
            yield constraint


def _narrowed(needs: Sequence[Requirement]) -> SpecifierSet:
    """Return the specifier that admits what all of these requirements admit.

    Lower bounds below the highest one are left out.
    """
    parts = set(chain.from_iterable(need.specifier for need in needs))
    bounds = [part for part in parts if part.operator == ">="]
    implied = sorted(bounds, key=lambda part: Version(part.version))[:-1]
    return SpecifierSet(sorted(parts.difference(implied), key=str))


def _admitted(constraint: Line | ReleaseRequires, name: str) -> SpecifierSet:
    """Return the versions that a requirement admits; all, if it is not about this project."""
    need = text.requirement(constraint.text)
    return need.specifier if need.name == name else SpecifierSet()


def _facts(resolution: Resolution, project: Project, pin: Pin) -> Iterator[Reason]:
    """Yield what facts say about a pin, as reasons."""
    for fact in resolution.problem.facts:
        match fact:
            case facts.Excludes() | facts.Names() if fact.package == pin.name:
                excluded = [
                    position
                    for position, version in enumerate(project.versions)
                    if fact.applies_to(version)
                ]
                versions = release_ranges(project, excluded)
                excludes = Excluded(pin.name, fact)
                yield Reason(constraint=excludes, versions=versions, where=fact.where)
            case facts.Collides() | facts.Absent() if pin.name in (fact.package, fact.other):
                yield Reason(constraint=Exclusive(fact), where=fact.where)
            case _ if fact.is_about(pin.name, pin.version):
                yield from _stated(resolution, pin, fact)
            case _:
                # The fact is about another release.
                pass


def _stated(resolution: Resolution, pin: Pin, fact: facts.Fact) -> Iterator[Reason]:
    """Yield the requirements that a fact adds to a pin, and its bounds on other projects."""
    replaces = isinstance(fact, facts.Replaces)
    needs = () if replaces else fact.needs_for(pin.release)
    for need in (*needs, *fact.bounds_for(pin.release)):
        stated = ReleaseRequires(Package(pin.name), str(need), RequirementSource.FACT, fact)
        yield pinned_reason(stated, resolution)
