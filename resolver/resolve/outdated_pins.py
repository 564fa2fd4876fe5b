"""Pins that are far behind the newest release that the stack's lines admit.

A line without an upper bound may get a very old release, if newer ones clash with something else.
`cli/answers` looks for such pins in a resolution that will be locked, and the lock warns of them.
The result depends on the stack, the pages and the releases that the search opened. It does not
depend on a cache or on how far a look-ahead has come.
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
    ReleaseRequires,
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

# A pin may be so many minor releases behind without a warning.
_MINORS: Final = 3
# A pin may be so much older without a warning.
_AGE: Final = timedelta(days=183)
# The name that stands for the stack among names of projects. No project has such a name.
_STACK: Final = "the stack"
# The operators with which a line itself excludes newer releases.
_UPPER_BOUNDS: Final = ("==", "===", "~=", "<", "<=")


class _FarBehind(NamedTuple):
    """A pin that is far behind."""

    # The pin.
    pin: Pin
    # The newest final release that the lines admit and that is preferred to the pin.
    newest: str


def outdated_pins(universe: Universe, resolution: Resolution) -> tuple[OutdatedPin, ...]:
    """Return the pins that are far behind the newest release that the stack's lines admit.

    Projects with facts that require a component come first, and among these the projects that no
    other such pin requires. A pin whose version follows from another pin is left out (see
    `_is_held`).

    Only the first pin has `because`: reasons that exclude all newer releases. They are a core of
    clauses about the projects that the stack names, which is far cheaper than a proof. Without
    such a core, `because` is empty: a newer release may be possible.
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
    # The pins that are not far behind, and the pins that were dealt with below.
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
    """Return whether the version of a pin follows from the version of another, settled pin.

    It does if a settled pin requires exactly this version, as torch-npu requires its torch. It also
    does if the pin requires exactly the version of a settled pin, as torchvision requires its
    torch, and the stack or another settled pin requires exactly that version, too.
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
    """Return the names of projects that require exactly the version of a pin.

    _STACK is among them if a line of the stack does.
    """
    requirers: set[str] = set()
    for constraint in pin.exact_because:
        match constraint:
            case StackLine():
                requirers.add(_STACK)
            case ReleaseRequires():
                requirers.add(constraint.package.name)
            case BuildLine():
                pass  # build environments are not looked at
    return requirers


def _far_behind(universe: Universe, resolution: Resolution) -> Iterator[_FarBehind]:
    """Yield the pins of the stack's lines that are far behind.

    Projects with a line that has an upper bound are left out.
    """
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
    """Return the specifier set of all lines of the stack about a project.

    None if no line applies to the target, or if the stack takes the project from a commit.
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
    """Return the positions of final releases that are newer than a pin and preferred to it.

    `admitted` must admit them. They are sorted, newest first.
    """
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

    There are too many minor releases or too much time between them.
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
    """Return reasons that exclude all newer final releases of a pin's project.

    Only releases of projects that the stack names are read. Empty if these do not exclude them.
    Metadata that was not read could only exclude more.
    """
    # These modules need PySAT, which is loaded only if it is needed.
    from resolver.resolve.pinned_clauses import PinnedClauses
    from resolver.resolve.reasons import described

    requirements = universe.problem.stack.requirements
    named = {root.need.name for root in requirements if isinstance(root.need, Requirement)}

    where = universe.problem.stack.where
    line = f"{pin.name}>{pin.version.public}"
    # No versions are preferred, so that the reasons are the same when a lock is made again.
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
    """Return whether the clauses are unsatisfiable with the literals `assumed`.

    Releases are opened for this: first the `newer` ones, and then releases that the solver chooses
    of the projects that the stack names (`named`).
    """
    tried: set[Candidate] = set()
    unread = newer
    while True:
        tried.update(unread)
        for candidate in unread:
            with suppress(ResolverError):  # a release that cannot be read adds no clauses
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
    """Return a sort key by which constraints that people can change come first.

    It must not depend on the order in which metadata was read, since a lock contains the core.
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
            return 4, (str(constraint.package), constraint.why.name, constraint.wanted)
        case ReleaseRequires(package=package, source=source, fact=fact):
            return 5, (*package[:2], source.name, constraint.text, fact.id if fact else "")
