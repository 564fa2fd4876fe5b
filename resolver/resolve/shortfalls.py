"""Where a resolution falls short of the stack.

Lines may be far behind, pins later than the day of the stack, newer releases skipped for their
source archives, and extras missing. All of it depends on the stack, the pages, and what the search
opened, not on a cache or the progress of a look-ahead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec.structs import replace
from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.errors import ResolverError
from resolver.model import fact as facts
from resolver.model import text
from resolver.model.as_of import NewerPin
from resolver.model.constraint import (
    BuildLine,
    ComponentValue,
    Constraint,
    Excluded,
    Exclusive,
    Line,
    Requires,
    StackLine,
    Unavailable,
)
from resolver.model.dependency import Candidate, Edge
from resolver.model.lock import SkippedRelease
from resolver.model.package import Package, PackageKind
from resolver.model.problem import Problem
from resolver.model.reason import Reason
from resolver.model.release import Rejection, RejectionReason, Release
from resolver.model.requirement import Requirement
from resolver.model.resolution import MissingExtra, OutdatedPin, Pin, Resolution
from resolver.resolve.needs import DynamicArchiveError
from resolver.resolve.project import Project
from resolver.resolve.soft_requirements import broken_pairs
from resolver.resolve.universe import Universe

if TYPE_CHECKING:
    from resolver.resolve.clauses import Clauses

# Minor releases that a line may be behind without a word.
_MINORS: Final = 3
# How much older the pin of a line may be without a word.
_AGE: Final = timedelta(days=183)
# Operators by which a line itself keeps newer releases out.
_UPPER_BOUNDS: Final = ("==", "===", "~=", "<", "<=")
# Releases, the most preferred first: each may be a file to read.
_LOOKED_AT: Final = 3


# --- lines without an upper bound that got a release far older than the newest


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
    outdated: list[OutdatedPin] = []
    for pin, newest in behind:
        because = () if outdated else _newer_ruled_out(universe, pin)
        line = OutdatedPin(project=pin.name, version=pin.version, newest=newest, because=because)
        outdated.append(line)
    return tuple(outdated)


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


def _newer_ruled_out(universe: Universe, pin: Pin) -> tuple[Reason, ...]:
    """Return what rules out every newer final release, as far as the stack's own projects tell.

    Empty if they do not. Whatever is unread can only forbid more.
    """
    # they need PySAT
    from resolver.resolve.clauses import Clauses
    from resolver.resolve.reasons import described

    where = universe.problem.stack.where
    line = f"{pin.name}>{pin.version.public}"
    # without what a lock prefers: locking again says the same
    clauses = Clauses(universe.with_line(line, where))
    try:
        newer = [
            candidate
            for candidate in clauses.packages[Package(pin.name)]
            if candidate.version > pin.version
            and not candidate.version.is_prerelease
            and not candidate.release.yanked
        ]
        one_of_them = [clauses.any_of(newer)]
        if not _is_refuted(clauses, newer, one_of_them):
            return ()
        core = clauses.preferred(one_of_them, sorted(clauses.known, key=_order))
        reasons = dict.fromkeys(described(clauses, core).values())
    finally:
        clauses.close()
    asked = StackLine(line, where)
    return tuple(reason for reason in reasons if reason.constraint != asked)


def _is_refuted(clauses: Clauses, newer: list[Candidate], assumed: list[int]) -> bool:
    """Return whether the clauses are unsatisfiable once enough releases are opened.

    The newer ones are opened first, then releases that the solver chooses, if the stack names
    their projects.
    """
    requirements = clauses.universe.problem.stack.requirements
    named = {root.need.name for root in requirements if isinstance(root.need, Requirement)}
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


# --- pins that appeared after the day of the stack


def newer_pins(universe: Universe, resolution: Resolution) -> Iterator[NewerPin]:
    """Yield the pins uploaded after the day whose releases are preferred.

    Each has what admits no release of that day.
    """
    day = universe.as_of.day
    for pin in resolution.pins:
        project = universe.project(pin.name)
        if not project.is_later(pin.release.position, day):
            continue
        newest = _newest_by(project, day)
        needed_by: dict[str, None] = {}
        if newest is not None:
            needed_by = dict.fromkeys(_excluding(resolution, pin, newest))
        yield NewerPin(
            project=pin.name,
            version=str(pin.version),
            day=project.ordered.day(pin.release.position),
            needed_by=tuple(needed_by),
            is_kept=not needed_by and _is_only_kept(universe, resolution, pin),
        )


def _is_only_kept(universe: Universe, resolution: Resolution, pin: Pin) -> bool:
    """Return whether a pin is there because the previous lock has it.

    That is so if a release of the day would do as well. A lock that is made without a previous one
    has no such pin, and must be the same when it is made again: so it is not enough that the
    previous lock has the pin.
    """
    if universe.preferred.get(pin.name) != pin.version:
        return False
    project = universe.project(pin.name)
    day = universe.as_of.day
    for position in islice(project.by_preference(project.stable, day), _LOOKED_AT):
        if project.is_later(position, day):
            return False
        with suppress(ResolverError):  # what cannot be read is no reason
            if _would_fit(universe, resolution, pin, position):
                return True
    return False


def _would_fit(universe: Universe, resolution: Resolution, pin: Pin, position: int) -> bool:
    """Return whether another release of a pinned project goes with all other pins as they are."""
    candidates = _candidates(universe, pin, position)
    if not candidates or any(_excluding(resolution, pin, candidates[0].version)):
        return False
    for candidate in candidates:
        if not all(_is_met(universe, resolution, edge) for edge in universe.edges(candidate)):
            return False
    other = replace(pin, release=candidates[0].release)
    pins = tuple(other if kept is pin else kept for kept in resolution.pins)
    changed = replace(resolution, pins=pins)
    return broken_pairs(universe, changed) <= broken_pairs(universe, resolution)


def _is_met(universe: Universe, resolution: Resolution, edge: Edge) -> bool:
    """Return whether the pins and the target meet an edge."""
    package = edge.package
    match package.kind:
        case PackageKind.UNAVAILABLE:
            return False
        case PackageKind.COMPONENT:
            return any(universe.candidates(package, universe.demand(edge)))
        case PackageKind.MODULE:
            return True
        case PackageKind.VERSION | PackageKind.PROJECT:
            if edge.constraint is None:
                return True
            pin = resolution.pin(package.name)
            if pin is None:
                return package.kind is PackageKind.VERSION
            return universe.project(pin.name).mask(edge.allows) >> pin.release.position & 1 == 1


def undated_pins(universe: Universe, resolution: Resolution) -> tuple[NormalizedName, ...]:
    """Return the pins for which no day is known, so that none can be compared with the stack's."""
    if not universe.as_of.day:
        return universe.as_of.undated
    return tuple(pin.name for pin in resolution.pins if not _has_day(universe, pin))


def _has_day(universe: Universe, pin: Pin) -> bool:
    source = pin.release.source
    if source is not None:
        return source.committed is not None
    return bool(universe.project(pin.name).ordered.day(pin.release.position))


def _newest_by(project: Project, day: str) -> Version | None:
    """Return the newest final release that was uploaded by a day and that the target can use."""
    for position in project.positions(project.stable):
        if project.is_later(position, day):
            continue
        release = project.release(position)
        if isinstance(release, Release) and not release.yanked:
            return release.version
    return None


def _excluding(resolution: Resolution, pin: Pin, version: Version) -> Iterator[str]:
    """Yield who requires or bounds a pin and does not admit another version of its project.

    It is `stack`, or a release as `name version`.
    """
    for constraint in pin.because:
        need = text.requirement(constraint.text)
        if need.name == pin.name and not need.specifier.contains(version, prereleases=True):
            yield _requirer(resolution, constraint)
    for fact in resolution.problem.facts:
        if pin.name not in fact.bounded_projects:
            continue
        bounding = resolution.pin(fact.package)
        if bounding is None or not fact.applies_to(bounding.version):
            continue
        for bound in fact.bounds_for(bounding.release):
            if bound.name != pin.name or not bound.applies(resolution.problem.target.markers):
                continue
            if not bound.specifier.contains(version, prereleases=True):
                yield f"{bounding.name} {bounding.version}"


def _requirer(resolution: Resolution, constraint: Line | Requires) -> str:
    """Return who has a requirement: `stack`, or a release as `name version`."""
    match constraint:
        case StackLine():
            return "stack"
        case BuildLine():
            return f"{constraint.package} {constraint.version}"
        case Requires():
            requiring = resolution.pin(constraint.package.name)
            assert requiring is not None  # noqa: S101  what is pinned is required by what is pinned
            return f"{constraint.package} {requiring.version}"


# --- newer releases that cannot be used, as a source archive has no static metadata


def skipped_releases(
    universe: Universe, resolution: Resolution, before: Sequence[SkippedRelease]
) -> tuple[SkippedRelease, ...]:
    """Return the newest release skipped for each pin, if all requirements on its project admit it.

    Only releases count that the search opened, so that nothing is read for this. A search that
    prefers the pins of a lock does not come to newer releases: what was skipped `before` according
    to that lock holds for as long as it keeps the pins.
    """
    archives: dict[Candidate, Release] = {}
    for candidate in universe.opened_candidates():
        if isinstance(candidate.chosen, Release):
            error = universe.fixable_errors.get(candidate.chosen.file.filename)
            if isinstance(error, DynamicArchiveError):
                archives[candidate] = error.release
    known = {skipped.project: skipped for skipped in before}
    if not archives and not known:
        return ()
    edges_on = _edges_on_projects(universe, resolution)
    found = []
    for pin in resolution.pins:
        demand = universe.demand(*edges_on.get(pin.name, ()))
        skipped = _skipped(universe, pin, demand.mask, archives, known.get(pin.name))
        if skipped is not None:
            found.append(skipped)
    return tuple(found)


def _edges_on_projects(universe: Universe, resolution: Resolution) -> Mapping[str, list[Edge]]:
    """Return the edges of the stack and the pins on each project."""
    edges = list(universe.roots())
    for pin in resolution.pins:
        for candidate in _candidates(universe, pin, pin.release.position):
            edges += universe.edges(candidate)
    edges_on: dict[str, list[Edge]] = {}
    for edge in edges:
        if edge.package.kind is PackageKind.PROJECT and edge.constraint is not None:
            edges_on.setdefault(edge.package.name, []).append(edge)
    return edges_on


def _candidates(universe: Universe, pin: Pin, position: int) -> list[Candidate]:
    """Return the candidates of a release of a pinned project: itself and the pin's extras."""
    candidates = []
    for extra in ("", *pin.extras):
        candidate = universe.candidate(Package(pin.name, extra), position)
        if candidate is not None:
            candidates.append(candidate)
    return candidates


def _skipped(
    universe: Universe,
    pin: Pin,
    admitted: int,
    archives: Mapping[Candidate, Release],
    known: SkippedRelease | None,
) -> SkippedRelease | None:
    """Return the newest release of a pin's project that an archive keeps out; None if none does.

    `admitted` is the mask of the releases that all requirements admit, `known` what the previous
    lock says.
    """
    project = universe.project(pin.name)
    pinned = pin.release.position
    newer = admitted & ((1 << pinned) - 1)
    if not pin.version.is_prerelease:
        newer &= project.stable
    if universe.preferred.get(pin.name) != pin.version:
        known = None
    if known is not None and _has_fact(known, universe):
        known = None
    for position in project.positions(newer):
        if not project.is_preferred_to(position, pinned, universe.as_of.day):
            continue
        if not universe.runs_on_target(project, position):
            continue
        candidates = _candidates(universe, pin, position)
        usable = [candidate for candidate in candidates if not candidate.release.yanked]
        for candidate in usable:
            blocker = _blocker(universe, candidate, archives)
            if blocker is not None:
                return _skipped_release(pin, candidate, blocker, archives[blocker])
        if usable and known is not None and str(project.versions[position]) == known.version:
            return known
    return None


def _skipped_release(
    pin: Pin, candidate: Candidate, blocker: Candidate, archive: Release
) -> SkippedRelease:
    """Return a candidate as a release that the archive of another one, or its own, keeps out."""
    return SkippedRelease(
        project=pin.name,
        version=str(candidate.version),
        archive=archive.file.filename,
        archive_of=text.name(blocker.package.name),
        archive_version=str(archive.version),
        index=archive.index,
    )


def _has_fact(skipped: SkippedRelease, universe: Universe) -> bool:
    """Return whether a fact says what an archive needs, or that it is not to be used."""
    kinds = (facts.Metadata, facts.Builds, facts.Excludes, facts.Names)
    version = Version(skipped.archive_version)
    for fact in universe.problem.facts:
        if isinstance(fact, kinds) and fact.is_about(skipped.archive_of, version):
            return True
    return False


def _blocker(
    universe: Universe, candidate: Candidate, archives: Mapping[Candidate, Release]
) -> Candidate | None:
    """Return which of these archives keeps a release out; None if none does.

    It is its own, or the first of all that would meet one of its needs.
    """
    if candidate in archives:
        return candidate
    if not universe.opened(candidate):
        return None
    packages = {archive.package for archive in archives}
    for edge in universe.edges(candidate):
        if edge.package not in packages:
            continue
        admitted = list(universe.candidates(edge.package, universe.demand(edge)))
        if admitted and all(dependency in archives for dependency in admitted):
            return admitted[0]
    return None


# --- extras that lines of the stack ask for and the pins do not have


def missing_extras(universe: Universe, resolution: Resolution) -> tuple[MissingExtra, ...]:
    """Return each extra that a line asks for and its pin lacks.

    Each has the most preferred of the releases that have it, if it is among the first. pip takes a
    release without the extra as well, years old where need be, and so does the engine: an extra
    that a release does not have requires nothing.
    """
    return tuple(
        MissingExtra(project=pin.name, extra=extra, version=_version_with(universe, pin, extra))
        for pin, extra in lost_extras(resolution)
    )


def lost_extras(resolution: Resolution) -> Iterator[tuple[Pin, str]]:
    """Yield the extras that lines of the stack ask for and the pin of their project lacks."""
    for pin in resolution.pins:
        requested: set[str] = set()
        for root in resolution.problem.requirements_on(pin.name):
            if isinstance(root.need, Requirement):
                requested.update(root.need.extras)
        for extra in pin.unknown_extras:
            if extra in requested:
                yield pin, extra


def _version_with(universe: Universe, pin: Pin, extra: str) -> Version | None:
    """Return the first of the releases that the stack's lines want most that has an extra."""
    package = Package(pin.name)
    edges = [edge for edge in universe.roots() if edge.package.base == package]
    candidates = universe.candidates(package, universe.demand(*edges))
    for candidate in islice(candidates, _LOOKED_AT):
        with suppress(ResolverError):  # not to be had here: the warning does not name it
            universe.edges(candidate)
        if universe.provides(candidate, extra):
            return candidate.version
    return None
