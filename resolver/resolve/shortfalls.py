"""In what a resolution falls short of what was wanted: lines far behind, archives passed over, extras that are lost.

All of it hangs on what the stack, the metadata of pins and the pages say, not on a cache or the progress of a
look-ahead.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from itertools import islice

from msgspec.structs import replace
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.errors import ResolverError
from resolver.model import fact as facts
from resolver.model import text
from resolver.model.dependency import Candidate, Edge, Package, PackageKind, SameRelease, StackLine
from resolver.model.lock import PassedOver
from resolver.model.problem import RootRequirement
from resolver.model.release import Rejection, RejectionReason, Release
from resolver.model.requirement import Requirement
from resolver.model.resolution import Asks, MissingExtra, OutdatedPin, Pin, Resolution, Statement
from resolver.resolve.grounded import ComponentGround, Ground, LineGround
from resolver.resolve.needs import DynamicArchiveError
from resolver.resolve.project import Project
from resolver.resolve.universe import Universe

_MINORS = 3  # minor releases that a line may be behind without a word
_AGE = timedelta(days=183)
_BOUNDS = ("==", "===", "~=", "<", "<=")
_LOOKED_AT = 3  # releases, the most wanted first: each may be a file to read


# --- lines without an upper bound that got a release far older than the newest


def outdated_pins(universe: Universe, resolution: Resolution) -> tuple[OutdatedPin, ...]:
    """The lines whose pin is far behind.

    Projects that facts bind to a component come first, and of those the ones that no other row needs. Only the first
    row says why: a core of the clauses about the projects that the stack names, which is far cheaper than a proof;
    nothing if something newer may be possible.
    """
    rows = list(_far(universe, resolution))
    needed = {name for pin, _ in rows for name in pin.needs}
    bound = {
        fact.package
        for fact in resolution.problem.facts
        if isinstance(fact, facts.Requires) and any(facts.component_requirements(fact.needs))
    }
    rows.sort(key=lambda row: (row[0].name not in bound, row[0].name in needed))
    return tuple(
        OutdatedPin(
            project=pin.name, version=pin.version, newest=newest, because=() if at else _kept_out(universe, pin)
        )
        for at, (pin, newest) in enumerate(rows)
    )


def _far(universe: Universe, resolution: Resolution) -> Iterator[tuple[Pin, str]]:
    """The pins of such lines that are far behind, each with the newest final release that is preferred to it."""
    for root in resolution.problem.stack.requirements:
        need = root.need
        pin = resolution.pin(need.name) if isinstance(need, Requirement) and not need.url else None
        if pin is None or not isinstance(need, Requirement) or any(one.operator in _BOUNDS for one in need.specifier):
            continue
        project = universe.project(pin.name)
        newer = [
            at
            for at in project.positions(project.stable & project.mask(need.specifier))
            if project.versions[at] > pin.version
            and project.is_preferred_to(at, pin.release.position)
            and not _is_out(project.release(at))
        ]
        if newer and _is_far(project, newer, pin):
            yield pin, str(project.versions[newer[0]])


def _is_out(release: Release | tuple[Rejection, ...]) -> bool:
    """Whether a release is none to wait for: yanked, or after the cut-off."""
    if isinstance(release, Release):
        return release.yanked
    return any(row.reason in (RejectionReason.NEWER, RejectionReason.YANKED) for row in release)


def _is_far(project: Project, newer: Sequence[int], pin: Pin) -> bool:
    """Whether a pin is more than so many minor releases, or longer, behind the first of the newer ones."""
    new, old = project.versions[newer[0]], pin.version
    minors = {project.versions[at].release[:2] for at in newer} - {old.release[:2]}
    if len(minors) > _MINORS or (new.major == old.major and new.minor - old.minor > _MINORS):
        return True
    late, early = project.uploaded(newer[0]), project.uploaded(pin.release.position)
    return late is not None and early is not None and late - early > _AGE


def _kept_out(universe: Universe, pin: Pin) -> tuple[Statement, ...]:
    """What rules out every newer final release, as far as the releases of the stack's own projects tell.

    Empty if they do not. Whatever is unread can only forbid more.
    """
    from resolver.resolve.clauses import Clauses  # they need PySAT
    from resolver.resolve.core_statements import statements_of

    problem = universe.problem
    line = f"{pin.name}>{pin.version.public}"
    root = RootRequirement(need=text.requirement(line), origin=StackLine(line, problem.stack.where))
    # without what a lock prefers, so that locking again tells the same
    clauses = Clauses(
        universe.variant(
            replace(problem, stack=replace(problem.stack, requirements=(*problem.stack.requirements, root)))
        )
    )
    named = {root.need.name for root in problem.stack.requirements if isinstance(root.need, Requirement)}
    try:
        final = [
            one
            for one in clauses.packages[Package(pin.name)]
            if one.version > pin.version and not one.version.is_prerelease and not one.release.yanked
        ]
        newer = [clauses.any_of(final)]
        unread, tried = final, set(final)
        while True:
            for one in unread:
                with suppress(ResolverError):  # what was read of it counts all the same
                    clauses.open(one)
            if not clauses.satisfiable(newer):
                break
            chosen = (one for one in clauses.chosen().values() if isinstance(one.chosen, Release))
            unread = [one for one in chosen if one.package.name in named and one not in tried]
            if not unread:
                return ()
            tried.update(unread)
        core = clauses.preferred(newer, sorted(clauses.known, key=_order))
        statements = dict.fromkeys(statements_of(clauses, core).values())
    finally:
        clauses.close()
    return tuple(one for one in statements if one != Asks(text=line, where=problem.stack.where))


def _order(ground: Ground) -> tuple[int, str]:
    """What people can change comes first, and nothing hangs on when it became known: a lock tells of it."""
    return 0 if isinstance(ground, LineGround) else 1 if isinstance(ground, ComponentGround) else 2, repr(ground)


# --- releases newer than a pin that were passed over because of a source archive without static metadata


def passed_over(universe: Universe, resolution: Resolution, before: Sequence[PassedOver]) -> tuple[PassedOver, ...]:
    """The newest such release of each project, by name.

    `before` are those in the lock whose pins are preferred. An engine that prefers them never gets to newer releases;
    what that lock says about them remains valid as long as their pins are kept.
    """
    blocked = _blocked(universe)
    carried = {row.project: row for row in before}
    concerned = {candidate.package.name for candidate in blocked} | carried.keys()
    if not concerned:
        return ()
    asked = _asked(universe, resolution)
    found: list[PassedOver] = []
    for pin in resolution.pins:
        if pin.name in concerned:
            newer = _newer(universe, pin, asked[pin.name])
            row, known = _newest(universe, pin, newer, blocked), carried.get(pin.name)
            if row is None and known is not None and _still_holds(known, universe, pin, newer):
                row = known
            found += [row] if row is not None else []
    return tuple(found)


def _blocked(universe: Universe) -> Mapping[Candidate, DynamicArchiveError]:
    """What was opened and lacks static metadata: its own, or that of everything that would meet a requirement of it."""
    opened = [one for one in universe.opened_candidates() if isinstance(one.chosen, Release)]
    blocked: dict[Candidate, DynamicArchiveError] = {}
    for candidate in opened:
        error = universe.fixable_errors.get(candidate.release.file.filename)
        if isinstance(error, DynamicArchiveError):
            blocked[candidate] = error
    known = -1
    while known < len(blocked):
        known = len(blocked)
        packages = {candidate.package for candidate in blocked}
        for candidate in opened:
            for edge in universe.edges(candidate) if candidate not in blocked else ():
                if edge.package in packages:
                    admitted = list(universe.candidates(edge.package, universe.demand(edge)))
                    if admitted and all(one in blocked for one in admitted):
                        blocked[candidate] = blocked[max(admitted, key=lambda one: one.version)]
                        break
    return blocked


def _asked(universe: Universe, resolution: Resolution) -> Mapping[str, Sequence[Edge]]:
    """The final demand on each project."""
    edges = list(universe.roots())
    for pin in resolution.pins:
        for one in _with_extras(universe, pin, pin.release.position):
            edges += universe.edges(one)
    asked: dict[str, list[Edge]] = defaultdict(list)
    for edge in edges:
        if edge.package.kind is PackageKind.PROJECT and not isinstance(edge.origin, SameRelease):
            asked[edge.package.name].append(edge)
    return asked


def _with_extras(universe: Universe, pin: Pin, position: int) -> Iterator[Candidate]:
    """A release of a pin's project, and the extras of it that the pin has."""
    found = (universe.candidate(Package(pin.name, extra), position) for extra in ("", *pin.extras))
    return (one for one in found if one is not None)


def _newer(universe: Universe, pin: Pin, asked: Iterable[Edge]) -> list[Candidate]:
    """The releases newer than a project's pin, and preferred to it, that all requirements admit for this target."""
    admitted = universe.candidates(Package(pin.name), universe.demand(*asked), stable=not pin.version.is_prerelease)
    project = universe.project(pin.name)
    return [
        one
        for one in admitted
        if one.version > pin.version
        and project.is_preferred_to(one.release.position, pin.release.position)
        and not _is_for_another_target(universe, pin.name, one.version)
    ]


def _is_for_another_target(universe: Universe, name: NormalizedName, version: Version) -> bool:
    """Whether a fact says so about a release: then its archive does not matter."""
    stated = universe.problem.target.system
    return any(
        need.component in stated and not need.allows(stated[need.component])
        for fact in universe.problem.facts
        if isinstance(fact, facts.Requires) and fact.package == name and not fact.wheels and fact.applies_to(version)
        for need in facts.component_requirements(fact.needs)
    )


def _newest(
    universe: Universe, pin: Pin, newer: Iterable[Candidate], blocked: Mapping[Candidate, DynamicArchiveError]
) -> PassedOver | None:
    for candidate in sorted(newer, key=lambda one: one.version, reverse=True):
        for one in _with_extras(universe, pin, candidate.release.position):
            if (error := blocked.get(one)) is not None:
                return PassedOver(
                    project=pin.name,
                    version=str(candidate.version),
                    archive=error.release.file.filename,
                    archive_of=text.name(error.name),
                    archive_version=str(error.release.version),
                    index=error.release.index,
                )
    return None


def _still_holds(row: PassedOver, universe: Universe, pin: Pin, newer: Iterable[Candidate]) -> bool:
    """Whether the pin was kept, the release would still do, and there is still no fact about the archive."""
    spoken = any(
        isinstance(fact, facts.Metadata | facts.Builds | facts.Excludes | facts.Names)
        and fact.package == row.archive_of
        and fact.applies_to(Version(row.archive_version))
        for fact in universe.problem.facts
    )
    kept = universe.preferred.get(pin.name) == pin.version
    return kept and not spoken and any(one.version == Version(row.version) for one in newer)


# --- extras that lines of the stack ask for and the releases that were taken do not have, though others do


def missing_extras(universe: Universe, resolution: Resolution) -> tuple[MissingExtra, ...]:
    """Each such extra, with the release that would be taken first of those which have it, if one is seen.

    pip takes a release without the extra as well, years old where need be, and so does the engine: an extra that is
    not there asks for nothing.
    """
    return tuple(
        MissingExtra(project=pin.name, extra=extra, version=_with(universe, pin, extra))
        for pin in resolution.pins
        for extra in pin.unknown_extras
        if any(
            isinstance(root.need, Requirement) and extra in root.need.extras
            for root in resolution.problem.requirements_on(pin.name)
        )
    )


def _with(universe: Universe, pin: Pin, extra: str) -> Version | None:
    package = Package(pin.name)
    asked = universe.demand(*(edge for edge in universe.roots() if edge.package.base == package))
    for candidate in islice(universe.candidates(package, asked), _LOOKED_AT):
        with suppress(ResolverError):  # not to be had here: the warning does not name it
            universe.edges(candidate)
        if universe.provides(candidate, extra):
            return candidate.version
    return None
