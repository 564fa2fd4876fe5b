"""Where a resolution falls short of the stack: lines far behind, later and skipped releases, extras that are missing.

All of it depends on the stack, the pages, and what the search opened, not on a cache or the
progress of a look-ahead.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from itertools import chain, islice

from msgspec.structs import replace
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
from resolver.model.reason import Reason
from resolver.model.release import Rejection, RejectionReason, Release
from resolver.model.requirement import Requirement
from resolver.model.resolution import MissingExtra, OutdatedPin, Pin, Resolution
from resolver.resolve.needs import DynamicArchiveError
from resolver.resolve.project import Project
from resolver.resolve.soft_requirements import broken_pairs
from resolver.resolve.universe import Universe

_MINORS = 3  # minor releases that a line may be behind without a word
_AGE = timedelta(days=183)
_BOUNDS = ("==", "===", "~=", "<", "<=")
_LOOKED_AT = 3  # releases, the most preferred first: each may be a file to read


# --- lines without an upper bound that got a release far older than the newest


def outdated_pins(universe: Universe, resolution: Resolution) -> tuple[OutdatedPin, ...]:
    """The lines whose pin is far behind.

    Projects that facts bind to a component come first, and of those the ones that no other row
    needs. Only the first row says why: a core of the clauses about the projects that the stack
    names, which is far cheaper than a proof; nothing if something newer may be possible.
    """
    rows = list(_far_behind(universe, resolution))
    needed = {name for pin, _ in rows for name in pin.needs}
    bound = {
        fact.package
        for fact in resolution.problem.facts
        if isinstance(fact, facts.Requires) and any(facts.component_requirements(fact.needs))
    }
    rows.sort(key=lambda row: (row[0].name not in bound, row[0].name in needed))
    return tuple(
        OutdatedPin(
            project=pin.name,
            version=pin.version,
            newest=newest,
            because=() if at else _newer_ruled_out(universe, pin),
        )
        for at, (pin, newest) in enumerate(rows)
    )


def _far_behind(universe: Universe, resolution: Resolution) -> Iterator[tuple[Pin, str]]:
    """The pins of such lines that are far behind, each with the newest final release that is preferred to it."""
    for root in resolution.problem.stack.requirements:
        need = root.need
        if (
            not isinstance(need, Requirement)
            or need.url
            or (pin := resolution.pin(need.name)) is None
        ):
            continue
        if any(specifier.operator in _BOUNDS for specifier in need.specifier):
            continue
        project = universe.project(pin.name)
        newer = [
            at
            for at in project.positions(project.stable & project.mask(need.specifier))
            if project.versions[at] > pin.version
            and project.is_preferred_to(at, pin.release.position, universe.as_of.day)
            and not _does_not_count(project.release(at))
        ]
        if newer and _is_far_behind(project, newer, pin):
            yield pin, str(project.versions[newer[0]])


def _does_not_count(release: Release | tuple[Rejection, ...]) -> bool:
    """Whether a release is yanked, or was uploaded after the cut-off."""
    if isinstance(release, Release):
        return release.yanked
    return any(row.reason in (RejectionReason.NEWER, RejectionReason.YANKED) for row in release)


def _is_far_behind(project: Project, newer: Sequence[int], pin: Pin) -> bool:
    """Whether a pin is more than so many minor releases, or longer, behind the first of the newer ones."""
    new, old = project.versions[newer[0]], pin.version
    minors = {project.versions[at].release[:2] for at in newer} - {old.release[:2]}
    if len(minors) > _MINORS or (new.major == old.major and new.minor - old.minor > _MINORS):
        return True
    late, early = project.uploaded(newer[0]), project.uploaded(pin.release.position)
    return late is not None and early is not None and late - early > _AGE


def _newer_ruled_out(universe: Universe, pin: Pin) -> tuple[Reason, ...]:
    """What rules out every newer final release, as far as the releases of the stack's own projects tell.

    Empty if they do not. Whatever is unread can only forbid more.
    """
    from resolver.resolve.clauses import Clauses  # they need PySAT
    from resolver.resolve.reasons import described

    stack, line = universe.problem.stack, f"{pin.name}>{pin.version.public}"
    clauses = Clauses(
        universe.with_line(line, stack.where)
    )  # without what a lock prefers: locking again says the same
    requested = {
        root.need.name for root in stack.requirements if isinstance(root.need, Requirement)
    }
    try:
        unread = [
            candidate
            for candidate in clauses.packages[Package(pin.name)]
            if candidate.version > pin.version
            and not candidate.version.is_prerelease
            and not candidate.release.yanked
        ]
        newer, tried = [clauses.any_of(unread)], set(unread)
        while True:
            for candidate in unread:
                with suppress(ResolverError):  # what was read of it counts all the same
                    clauses.open(candidate)
            if not clauses.satisfiable(newer):
                break
            chosen = clauses.chosen().values()
            releases = [candidate for candidate in chosen if isinstance(candidate.chosen, Release)]
            unread = [
                candidate
                for candidate in releases
                if candidate.package.name in requested and candidate not in tried
            ]
            if not unread:
                return ()
            tried.update(unread)
        core = clauses.preferred(newer, sorted(clauses.known, key=_order))
        reasons = dict.fromkeys(described(clauses, core).values())
    finally:
        clauses.close()
    asked = StackLine(line, stack.where)
    return tuple(reason for reason in reasons if reason.constraint != asked)


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
    """Yield the pins uploaded after the day whose releases are preferred, and what admits no release of that day."""
    day = universe.as_of.day
    for pin in resolution.pins:
        project = universe.project(pin.name)
        if not project.is_later(pin.release.position, day):
            continue
        newest = _newest_by(project, day)
        needed_by = (
            tuple(dict.fromkeys(_excluding(resolution, pin, newest))) if newest is not None else ()
        )
        yield NewerPin(
            project=pin.name,
            version=str(pin.version),
            day=project.ordered.day(pin.release.position),
            needed_by=needed_by,
            is_kept=not needed_by and _is_only_kept(universe, resolution, pin),
        )


def _is_only_kept(universe: Universe, resolution: Resolution, pin: Pin) -> bool:
    """Return whether a pin is there because the previous lock has it, and a release of the day would do as well.

    A lock that is made without a previous one has no such pin, and must be the same when it is made
    again: so it is not enough that the previous lock has the pin.
    """
    if universe.preferred.get(pin.name) != pin.version:
        return False
    project = universe.project(pin.name)
    of_day = (position for position in project.by_preference(project.stable, universe.as_of.day))
    for position in islice(of_day, _LOOKED_AT):
        if project.is_later(position, universe.as_of.day):
            return False
        with suppress(ResolverError):  # what cannot be read is no reason
            if _would_fit(universe, resolution, pin, position):
                return True
    return False


def _would_fit(universe: Universe, resolution: Resolution, pin: Pin, position: int) -> bool:
    """Return whether another release of a pinned project goes with all other pins as they are."""
    candidates = list(_candidates(universe, pin, position))
    if not candidates or any(_excluding(resolution, pin, candidates[0].version)):
        return False
    if not all(
        _is_met(universe, resolution, edge)
        for candidate in candidates
        for edge in universe.edges(candidate)
    ):
        return False
    other = replace(pin, release=candidates[0].release)
    pins = tuple(other if row is pin else row for row in resolution.pins)
    changed = replace(resolution, pins=pins)
    return broken_pairs(universe, changed) <= broken_pairs(universe, resolution)


def _is_met(universe: Universe, resolution: Resolution, edge: Edge) -> bool:
    """Return whether the pins and the target meet a requirement."""
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
    """Return the pins for which no day is known, so that it cannot be compared with the day of the stack."""
    if not universe.as_of.day:
        return universe.as_of.undated
    return tuple(pin.name for pin in resolution.pins if not _has_day(universe, pin))


def _has_day(universe: Universe, pin: Pin) -> bool:
    source = pin.release.source
    if source is not None:
        return source.committed is not None
    return bool(universe.project(pin.name).ordered.day(pin.release.position))


def _newest_by(project: Project, day: str) -> Version | None:
    """Return the newest final release of a project that was uploaded by a day and that the target can use."""
    for position in project.positions(project.stable):
        if project.is_later(position, day):
            continue
        release = project.release(position)
        if isinstance(release, Release) and not release.yanked:
            return release.version
    return None


def _excluding(resolution: Resolution, pin: Pin, version: Version) -> Iterator[str]:
    """Yield who requires or bounds a pin and does not admit a version: `stack`, or a release as `name version`."""
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
            if bound.name == pin.name and not bound.specifier.contains(version, prereleases=True):
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


# --- releases newer than a pin that cannot be used because of a source archive without static metadata


def skipped_releases(
    universe: Universe, resolution: Resolution, before: Sequence[SkippedRelease]
) -> tuple[SkippedRelease, ...]:
    """For each pin, by name: the newest such release that all requirements on the project admit for this target.

    Only those count that the search opened, so that nothing is read for this. A search that prefers
    the pins of a lock does not come to newer releases: the rows `before`, which that lock has, hold
    for as long as it keeps their pins.
    """
    archives = {
        candidate: error.release
        for candidate in universe.opened_candidates()
        if isinstance(candidate.chosen, Release)
        and isinstance(
            error := universe.fixable_errors.get(candidate.release.file.filename),
            DynamicArchiveError,
        )
    }
    known = {row.project: row for row in before}
    if not archives and not known:
        return ()
    edges: dict[str, list[Edge]] = defaultdict(list)
    pinned = (
        candidate
        for pin in resolution.pins
        for candidate in _candidates(universe, pin, pin.release.position)
    )
    for edge in chain(universe.roots(), *map(universe.edges, pinned)):
        if edge.package.kind is PackageKind.PROJECT and edge.constraint is not None:
            edges[edge.package.name].append(edge)
    rows = (
        _skipped(universe, pin, edges[pin.name], archives, known.get(pin.name))
        for pin in resolution.pins
    )
    return tuple(filter(None, rows))


def _candidates(universe: Universe, pin: Pin, position: int) -> Iterator[Candidate]:
    return filter(
        None,
        (universe.candidate(Package(pin.name, extra), position) for extra in ("", *pin.extras)),
    )


def _skipped(
    universe: Universe,
    pin: Pin,
    edges: Iterable[Edge],
    archives: Mapping[Candidate, Release],
    known: SkippedRelease | None,
) -> SkippedRelease | None:
    project, pinned = universe.project(pin.name), pin.release.position
    mask = universe.demand(*edges).mask & (
        project.all if pin.version.is_prerelease else project.stable
    )
    is_kept = (
        known is not None
        and universe.preferred.get(pin.name) == pin.version
        and not _has_fact(known, universe)
    )
    for position in project.positions(mask & ((1 << pinned) - 1)):
        if not project.is_preferred_to(
            position, pinned, universe.as_of.day
        ) or _is_for_another_target(universe, project, position):
            continue
        usable = [row for row in _candidates(universe, pin, position) if not row.release.yanked]
        for candidate in usable:
            if (blocker := _blocker(universe, candidate, archives)) is not None:
                archive = archives[blocker]
                return SkippedRelease(
                    project=pin.name,
                    version=str(candidate.version),
                    archive=archive.file.filename,
                    archive_of=text.name(blocker.package.name),
                    archive_version=str(archive.version),
                    index=archive.index,
                )
        if (
            usable
            and is_kept
            and known is not None
            and str(project.versions[position]) == known.version
        ):
            return known
    return None


def _has_fact(row: SkippedRelease, universe: Universe) -> bool:
    """Whether a fact says what an archive needs, or that it is not to be used."""
    about = (facts.Metadata, facts.Builds, facts.Excludes, facts.Names)
    name, version = text.name(row.archive_of), Version(row.archive_version)
    return any(
        isinstance(fact, about) and fact.is_about(name, version) for fact in universe.problem.facts
    )


def _is_for_another_target(universe: Universe, project: Project, position: int) -> bool:
    """Whether a fact says so about a release: then its archive does not matter."""
    system = universe.problem.target.system
    return any(
        need.component in system and not need.allows(system[need.component])
        for fact in project.facts_about(position, facts.Requires)
        if not fact.wheels
        for need in facts.component_requirements(fact.needs)
    )


def _blocker(
    universe: Universe, candidate: Candidate, archives: Mapping[Candidate, Release]
) -> Candidate | None:
    """Which of these archives keeps a release out: its own, or the first of all that would meet one of its needs."""
    if candidate in archives:
        return candidate
    packages = {archive.package for archive in archives}
    for edge in universe.edges(candidate) if universe.opened(candidate) else ():
        if edge.package in packages:
            admitted = list(universe.candidates(edge.package, universe.demand(edge)))
            if admitted and all(dependency in archives for dependency in admitted):
                return admitted[0]
    return None


# --- extras that lines of the stack ask for and the pins do not have


def missing_extras(universe: Universe, resolution: Resolution) -> tuple[MissingExtra, ...]:
    """Each such extra, with the most preferred of the releases that have it, if it is among the first.

    pip takes a release without the extra as well, years old where need be, and so does the engine:
    an extra that a release does not have requires nothing.
    """
    return tuple(
        MissingExtra(project=pin.name, extra=extra, version=_version_with(universe, pin, extra))
        for pin, extra in lost_extras(resolution)
    )


def lost_extras(resolution: Resolution) -> Iterator[tuple[Pin, str]]:
    """The extras that lines of the stack ask for and the pin of their project lacks."""
    for pin in resolution.pins:
        needs = [root.need for root in resolution.problem.requirements_on(pin.name)]
        requested = {
            extra for need in needs if isinstance(need, Requirement) for extra in need.extras
        }
        yield from ((pin, extra) for extra in pin.unknown_extras if extra in requested)


def _version_with(universe: Universe, pin: Pin, extra: str) -> Version | None:
    package = Package(pin.name)
    demand = universe.demand(*(edge for edge in universe.roots() if edge.package.base == package))
    for candidate in islice(universe.candidates(package, demand), _LOOKED_AT):
        with suppress(ResolverError):  # not to be had here: the warning does not name it
            universe.edges(candidate)
        if universe.provides(candidate, extra):
            return candidate.version
    return None
