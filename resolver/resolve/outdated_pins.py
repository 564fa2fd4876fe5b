"""Pins that are far behind what the stack's lines about their projects admit.

A line without an upper bound may get a release of long ago. A pin that another pin requires at
exactly this version is the right release for it, not an old one. All that is said of a pin depends
on the stack, the pages and what the search opened, not on a cache or the progress of a look-ahead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName

from resolver.errors import ResolverError
from resolver.model import fact as facts
from resolver.model.constraint import (
    BuildLine,
    ComponentValue,
    Constraint,
    Excluded,
    Exclusive,
    Requires,
    StackLine,
    Unavailable,
)
from resolver.model.dependency import Candidate
from resolver.model.package import Package
from resolver.model.problem import Problem
from resolver.model.reason import Reason
from resolver.model.release import Rejection, RejectionReason, Release
from resolver.model.requirement import Requirement
from resolver.model.resolution import OutdatedPin, Pin, Resolution
from resolver.resolve.project import Project
from resolver.resolve.universe import Universe

if TYPE_CHECKING:
    from resolver.resolve.clauses import Clauses

# Minor releases that a line may be behind without a word.
_MINORS: Final = 3
# How much older the pin of a line may be without a word.
_AGE: Final = timedelta(days=183)
# Stands for the stack's lines among the names of projects, of which none is like it.
_STACK: Final = "the stack"
# Operators by which a line itself keeps newer releases out.
_UPPER_BOUNDS: Final = ("==", "===", "~=", "<", "<=")


class _FarBehind(NamedTuple):
    """A pin that is far behind what the lines about its project admit."""

    pin: Pin
    # the newest final release that is preferred to it
    newest: str


def outdated_pins(universe: Universe, resolution: Resolution) -> tuple[OutdatedPin, ...]:
    """Return the pins that are far behind what the stack's lines about their projects admit.

    Projects that facts bind to a component come first, and of those the ones that none of the other
    pins needs. Only the first one says why: a core of the clauses about the projects that the stack
    names, which is far cheaper than a proof; nothing if something newer may be possible.

    A pin whose version follows from another's is left out (see `_is_held`).
    """
    behind = list(_far_behind(universe, resolution))
    needed: set[NormalizedName] = set()
    for pin, _ in behind:
        needed.update(pin.needs)
    bound = set()
    for fact in resolution.problem.facts:
        if isinstance(fact, facts.Requires) and facts.component_requirements(fact.needs):
            bound.add(fact.package)
    behind.sort(key=lambda late: (late.pin.name not in bound, late.pin.name in needed))
    # The pins that are up to date, then also those of which it is known why they are not.
    settled = {pin.name for pin in resolution.pins} - {late.pin.name for late in behind}
    outdated: list[OutdatedPin] = []
    while behind:
        held = [late for late in behind if _is_held(late.pin, resolution, settled)]
        if held:
            behind = [late for late in behind if late not in held]
            settled.update(late.pin.name for late in held)
            continue
        pin, newest = behind.pop(0)
        settled.add(pin.name)
        because = () if outdated else _newer_ruled_out(universe, resolution, pin)
        line = OutdatedPin(project=pin.name, version=pin.version, newest=newest, because=because)
        outdated.append(line)
    return tuple(outdated)


def _is_held(pin: Pin, resolution: Resolution, settled: Set[NormalizedName]) -> bool:
    """Return whether the version of a pin follows from that of a settled partner.

    It does if the partner requires exactly this version, as torch-npu requires its torch. It also
    does if the pin requires exactly the partner's version, as torchvision requires its torch, and
    the stack or another settled pin requires exactly that, too.
    """
    if not settled.isdisjoint(_exact_requirers(pin)):
        return True
    for partner in resolution.pins:
        if partner.name not in settled:
            continue
        requirers = _exact_requirers(partner)
        if pin.name in requirers and not (settled | {_STACK}).isdisjoint(requirers - {pin.name}):
            return True
    return False


def _exact_requirers(pin: Pin) -> Set[str]:
    """Return the projects that require exactly the version of a pin; `_STACK` for the stack."""
    requirers: set[str] = set()
    for constraint in pin.exact_because:
        match constraint:
            case StackLine():
                requirers.add(_STACK)
            case Requires():
                requirers.add(constraint.package.name)
            case BuildLine():
                pass  # of an environment for a build, which no stack's line is about
    return requirers


def _far_behind(universe: Universe, resolution: Resolution) -> Iterator[_FarBehind]:
    """Yield the pins that are far behind although no line about them has an upper bound."""
    problem = resolution.problem
    requirements = [root.need for root in problem.stack.requirements]
    names = [need.name for need in requirements if isinstance(need, Requirement)]
    for name in dict.fromkeys(names):
        pin = resolution.pin(name)
        admitted = _admitted_by_lines(problem, name)
        if pin is None or admitted is None:
            continue
        if any(clause.operator in _UPPER_BOUNDS for clause in admitted):
            continue
        newer = _newer_releases(universe, admitted, pin)
        project = universe.project(name)
        if newer and _is_far_behind(project, newer, pin):
            yield _FarBehind(pin, str(project.versions[newer[0]]))


def _admitted_by_lines(problem: Problem, name: NormalizedName) -> SpecifierSet | None:
    """Return what the stack's lines about a project admit together.

    None if no line applies to the target, or one takes the project from a commit.
    """
    lines = problem.requirements_on(name)
    if not lines or problem.source(name) is not None:
        return None
    admitted = SpecifierSet()
    for line in lines:
        if isinstance(line.need, Requirement):
            admitted &= line.need.specifier
    return admitted


def _newer_releases(universe: Universe, admitted: SpecifierSet, pin: Pin) -> list[int]:
    """Return the positions of newer final releases that are admitted and preferred."""
    project = universe.project(pin.name)
    newer = []
    for position in project.positions(project.stable & project.mask(admitted)):
        if project.versions[position] <= pin.version:
            continue
        if not project.is_preferred_to(position, pin.release.position, universe.as_of.day):
            continue
        if not _does_not_count(project.release(position)):
            newer.append(position)
    return newer


def _does_not_count(release: Release | tuple[Rejection, ...]) -> bool:
    """Return whether a release is yanked, or was uploaded after the cut-off."""
    if isinstance(release, Release):
        return release.yanked
    reasons = {file.reason for file in release}
    return not reasons.isdisjoint((RejectionReason.NEWER, RejectionReason.YANKED))


def _is_far_behind(project: Project, newer: Sequence[int], pin: Pin) -> bool:
    """Return whether a pin is far behind the first of the newer releases.

    It is if there are too many minor releases between them, or too much time.
    """
    new = project.versions[newer[0]]
    old = pin.version
    minors = {project.versions[position].release[:2] for position in newer}
    minors.discard(old.release[:2])
    if len(minors) > _MINORS or (new.major == old.major and new.minor - old.minor > _MINORS):
        return True
    late = project.uploaded(newer[0])
    early = project.uploaded(pin.release.position)
    return late is not None and early is not None and late - early > _AGE


def _newer_ruled_out(universe: Universe, resolution: Resolution, pin: Pin) -> tuple[Reason, ...]:
    """Return what rules out every newer final release, as far as the stack's own projects tell.

    Empty if they do not. Whatever is unread can only forbid more.
    """
    # they need PySAT
    from resolver.resolve.pinned_clauses import PinnedClauses
    from resolver.resolve.reasons import described

    requirements = universe.problem.stack.requirements
    named = {root.need.name for root in requirements if isinstance(root.need, Requirement)}

    where = universe.problem.stack.where
    line = f"{pin.name}>{pin.version.public}"
    # without what a lock prefers: locking again says the same
    clauses = PinnedClauses(universe.with_line(line, where), resolution, named)
    try:
        newer = [
            candidate
            for candidate in clauses.packages[Package(pin.name)]
            if candidate.version > pin.version
            and not candidate.version.is_prerelease
            and not candidate.release.yanked
        ]
        one_of_them = [clauses.any_of(newer)]
        if not _is_refuted(clauses, named, newer, one_of_them):
            return ()
        core = clauses.preferred(one_of_them, sorted(clauses.known, key=_order))
        reasons = dict.fromkeys(described(clauses, core).values())
    finally:
        clauses.close()
    asked = StackLine(line, where)
    return tuple(reason for reason in reasons if reason.constraint != asked)


def _is_refuted(
    clauses: Clauses,
    named: Set[NormalizedName],
    newer: list[Candidate],
    assumed: list[int],
) -> bool:
    """Return whether the clauses are unsatisfiable once enough releases are opened.

    The newer ones are opened first, then releases that the solver chooses of the projects that
    the stack names (`named`).
    """
    tried: set[Candidate] = set()
    unread = newer
    while True:
        tried.update(unread)
        for candidate in unread:
            with suppress(ResolverError):  # what was read of it counts all the same
                clauses.open(candidate)
        if not clauses.satisfiable(assumed):
            return True
        unread = []
        for package, candidate in clauses.chosen().items():
            is_release = isinstance(candidate.chosen, Release)
            if is_release and package.name in named and candidate not in tried:
                unread.append(candidate)
        if not unread:
            return False


def _order(constraint: Constraint) -> tuple[int, tuple[str, ...]]:
    """Return a key by which what people can change comes first.

    It must not depend on what was read when: a lock contains the core.
    """
    match constraint:
        case StackLine() | BuildLine():
            return 0, (constraint.text, constraint.where, constraint.part)
        case ComponentValue():
            return 1, (constraint.component,)
        case Exclusive(fact=fact):
            return 2, (fact.id,)
        case Excluded(project=project, fact=fact):
            return 3, (project, fact.id)
        case Unavailable():
            return 4, (constraint.subject, constraint.why.name, constraint.wanted)
        case Requires(package=package, source=source, fact=fact):
            return 5, (*package[:2], source.name, constraint.text, fact.id if fact else "")
