"""Say of the changes of a way out what contradictions do not: why they are, and what stays.

A contradiction is about some of the lines of a stack. If other lines change with them, a
requirement of a release in the lock says why: it does not admit what was asked for before, or what
was asked for before does not admit the release in the lock.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

import networkx as nx
from msgspec.structs import replace
from packaging.requirements import InvalidRequirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from resolver.explain.paired_lines import named_projects
from resolver.lock.applied_facts import applied_facts
from resolver.model import text
from resolver.model.change import (
    Change,
    ChangeKind,
    ComponentChanged,
    ExtrasRemoved,
    VersionChanged,
)
from resolver.model.constraint import ComponentValue, ReleaseRequires, RequirementSource, StackLine
from resolver.model.dependency import Candidate
from resolver.model.explanation import Contradiction, Fix
from resolver.model.fact import Requires, component_requirements
from resolver.model.package import Package, PackageKind
from resolver.model.reason import Reason, ReleaseRange
from resolver.model.resolution import Pin, Resolution
from resolver.resolve.universe import Universe

# The kinds of changes that are about releases of a project.
_OF_PROJECTS = (ChangeKind.VERSION, ChangeKind.EXTRA, ChangeKind.POLICY)


def with_marks(
    fix: Fix,
    contradictions: Sequence[Contradiction],
    resolution: Resolution,
    universe: Universe,
) -> Fix:
    """Return a way out whose changes have their causes and marks. `loss_of` reads them.

    `resolution` and `universe` are as in `with_causes`.
    """
    changes = with_causes(fix, contradictions, resolution, universe)
    changes = _with_older_requirers(changes, contradictions)
    changes = _with_no_longer_installed(fix, changes, resolution, universe)
    return replace(fix, changes=_with_left_behind(changes, contradictions))


def with_causes(
    fix: Fix,
    contradictions: Iterable[Contradiction],
    resolution: Resolution,
    universe: Universe,
) -> tuple[Change, ...]:
    """Return the changes of a way out, each with the reason for it.

    `resolution` is the lock of the way out, and `universe` is that of the original stack, whose
    releases may be open. A change has no reason if a contradiction is about its line or component,
    if a shipped stack has it, if it is no other version and no other value, or if no single
    requirement is the reason. Nor has one of a component that switches lines off: what the lock has
    in their place follows from the change.
    """
    explained = _explained(contradictions)
    if any(environment.off for environment in fix.environments):
        for change in fix.changes:
            if isinstance(change, ComponentChanged):
                explained.add(change.subject)
    changed = {change.subject for change in fix.changes}
    return tuple(
        change
        if change.subject in explained
        else replace(change, cause=_cause(change, changed, resolution, universe))
        for change in fix.changes
    )


def _explained(contradictions: Iterable[Contradiction]) -> set[str]:
    """Return the projects and components that lines and values in contradictions are about."""
    names: set[str] = set()
    for contradiction in contradictions:
        for reason in contradiction.reasons:
            match reason.constraint:
                case StackLine(text=line):
                    names.add(_project_of(line))
                case ComponentValue(component=component):
                    names.add(component)
                case _:
                    pass
    return names


def _with_left_behind(
    changes: Sequence[Change], contradictions: Iterable[Contradiction]
) -> tuple[Change, ...]:
    """Return the changes of a way out, with a mark at a line that alone goes back by years.

    The line must be in a contradiction, and nothing in it may require the line's project: it is
    what the stack is about, and not something that this needs.
    """
    backward = [
        change for change in changes if change.kind is ChangeKind.VERSION and change.years < 0
    ]
    if len(backward) != 1 or backward[0].subject not in _subjects(contradictions):
        return tuple(changes)
    return tuple(
        replace(change, left_behind=True) if change is backward[0] else change for change in changes
    )


def _with_older_requirers(
    changes: Sequence[Change], contradictions: Iterable[Contradiction]
) -> tuple[Change, ...]:
    """Return the changes of a way out, with a mark at older releases of what requires a line.

    Both are lines of one contradiction, such as an application and a library that it needs, and the
    line about the library stays as it is. The application is what the stack is for, and its
    requirement is its maker's word.
    """
    changed = {change.subject for change in changes}
    requirers: set[str] = set()
    for contradiction in contradictions:
        asked, needed = _asked_and_needed(contradiction)
        dependencies = asked & needed
        if dependencies and dependencies.isdisjoint(changed):
            requirers |= asked - needed
    return tuple(
        replace(change, is_older_requirer=change.steps < 0 and change.subject in requirers)
        for change in changes
    )


def _with_no_longer_installed(
    fix: Fix, changes: Sequence[Change], resolution: Resolution, universe: Universe
) -> tuple[Change, ...]:
    """Set `no_longer_installed` of the changes that lose extras, and return all changes.

    A line loses an extra if the extra is removed, or if its new release does not have it.
    """
    missing = {name for environment in fix.environments for name in environment.gone}
    marked: list[Change] = []
    for change in changes:
        if isinstance(change, (VersionChanged, ExtrasRemoved)):
            name = change.asked.name
            lost = list(change.lost_extras)
            lost += (extra for extra in change.after.extras if f"{name}[{extra}]" in missing)
            wanted = _required_by_extras(change, lost, universe)
            gone = [project for project in wanted if resolution.pin(project) is None]
            marked.append(replace(change, no_longer_installed=tuple(gone)))
        else:
            marked.append(change)
    return tuple(marked)


def _required_by_extras(
    change: VersionChanged | ExtrasRemoved, extras: Iterable[str], universe: Universe
) -> list[str]:
    """Return the projects that extras require of the release that a line asked for.

    Empty if the line pins no release, or if that release was not read.
    """
    asked = _asked_release(change, universe)
    if asked is None:
        return []
    names: dict[str, None] = {}
    packages = [Package(change.asked.name, extra) for extra in extras]
    for package in packages:
        for edge in universe.edges(universe.candidate_for(package, asked.release)):
            required = edge.package
            if required.kind is not PackageKind.PROJECT:
                continue
            if required.name != change.asked.name:
                names[required.name] = None
            elif required.extra and required not in packages:
                packages.append(required)
    return list(names)


def _asked_release(change: VersionChanged | ExtrasRemoved, universe: Universe) -> Candidate | None:
    """Return the release that a line pinned before a change; None if it was not read."""
    version = text.pinned_version(change.asked.specifier)
    project = universe.project(change.asked.name)
    versions: Sequence[Version] = project.versions
    if version is None or version not in versions:
        return None
    candidate = universe.candidate(Package(project.name), versions.index(version))
    if candidate is None or not universe.opened(candidate):
        return None
    return candidate


def _subjects(contradictions: Iterable[Contradiction]) -> set[str]:
    """Return the projects of lines in contradictions that no other reason there requires."""
    subjects: set[str] = set()
    for contradiction in contradictions:
        asked, needed = _asked_and_needed(contradiction)
        subjects |= asked - needed
    return subjects


def _asked_and_needed(contradiction: Contradiction) -> tuple[set[str], set[str]]:
    """Return the projects of the lines in a contradiction, and those that releases in it need."""
    asked: set[str] = set()
    needed: set[str] = set()
    for reason in contradiction.reasons:
        match reason.constraint:
            case StackLine(text=line):
                asked.add(_project_of(line))
            case ReleaseRequires(text=line):
                needed.add(_project_of(line))
            case _:
                pass
    return asked, needed


def families(changes: Sequence[Change]) -> list[list[Change]]:
    """Return changes in groups: a line that changes because of another one is grouped with it.

    So are the lines of torch and torchvision, or a policy that admits a pre-release and the line
    about what this release pins.
    """
    related: nx.Graph[int] = nx.Graph()
    related.add_nodes_from(range(len(changes)))
    for number, change in enumerate(changes):
        if change.kind is not ChangeKind.VERSION or change.cause is None:
            continue
        between = _projects_in(change.cause)
        for other, cause in enumerate(changes):
            if cause.subject in between and cause.kind in _OF_PROJECTS:
                related.add_edge(number, other)
    groups = map(sorted, nx.connected_components(related))
    return [[changes[number] for number in group] for group in groups]


def _projects_in(reason: Reason) -> set[str]:
    """Return the project that has a requirement, and the one that it is about."""
    constraint = reason.constraint
    if not isinstance(constraint, ReleaseRequires):
        return set()
    return {constraint.package.name, _project_of(constraint.text)}


def _cause(
    change: Change, changed: Collection[str], resolution: Resolution, universe: Universe
) -> Reason | None:
    """Return the requirement because of which a line or a component changes; None if unknown.

    `changed` are the projects and components that the way out changes. A requirement of a project
    that a line names is more of a reason than one of a project that follows from the lines. Of
    several, one of a project that stays is: lines that change together may give each other as the
    reason.
    """
    if change.target or change.shipped:
        return None
    candidates: list[Reason] = []
    match change:
        case ComponentChanged():
            candidates += _needs_on_component(change, resolution)
        case VersionChanged() if not change.is_renaming:
            candidates += _needs_of_others(change.subject, change.asked.specifier, resolution)
        case _:
            return None
    named = named_projects(resolution.problem)

    def order(reason: Reason) -> tuple[bool, bool, bool]:
        is_named = reason.project in named
        return _follows(reason, resolution), not is_named, reason.subject in changed

    candidates.sort(key=order)
    if isinstance(change, VersionChanged):
        candidates += _needs_of_before(change, resolution, universe)
    return next(iter(candidates), None)


def _needs_on_component(change: ComponentChanged, resolution: Resolution) -> Iterator[Reason]:
    """Yield the requirements of facts on a component that its value before does not meet."""
    component = change.component
    before = component.parse(change.before)
    for fact in applied_facts(resolution):
        if not isinstance(fact, Requires):
            continue
        pin = resolution.pin(fact.package)
        for need in component_requirements(fact.added_needs):
            if pin and need.component == component.name and not need.allows(before):
                constraint = ReleaseRequires(
                    Package(pin.name), str(need), RequirementSource.FACT, fact
                )
                yield _reason(constraint, pin.version)


def _needs_of_others(name: str, before: SpecifierSet, resolution: Resolution) -> Iterator[Reason]:
    """Yield the requirements on a project in a lock that what a line asked for does not meet."""
    pin = resolution.pin(name)
    for constraint in pin.because if pin is not None else ():
        if not isinstance(constraint, ReleaseRequires):
            continue
        requirer = resolution.pin(constraint.package.name)
        needed = text.requirement(constraint.text).specifier
        if requirer is not None and requirer.name != name and _are_apart(before, needed):
            yield _reason(constraint, requirer.version)


def _follows(reason: Reason, resolution: Resolution) -> bool:
    """Return whether the release of a requirement is pinned by another release in the lock.

    Then that other release is more of a reason.
    """
    pin = resolution.pin(reason.project)
    return pin is not None and any(isinstance(line, ReleaseRequires) for line in pin.exact_because)


def _are_apart(before: SpecifierSet, needed: SpecifierSet) -> bool:
    """Return whether a version that one of two specifiers pins is not admitted by the other."""
    for pinning, other in ((before, needed), (needed, before)):
        version = text.pinned_version(pinning)
        if version is not None and not other.contains(version, prereleases=True):
            return True
    return False


def _needs_of_before(
    change: VersionChanged, resolution: Resolution, universe: Universe
) -> Iterator[Reason]:
    """Yield the requirements of the release that a line pinned before which a lock does not meet.

    There are none if that release was not read.
    """
    candidate = _asked_release(change, universe)
    if candidate is None:
        return
    for edge in universe.edges(candidate):
        if isinstance(edge.constraint, ReleaseRequires) and _is_unmet(edge.constraint, resolution):
            yield _reason(edge.constraint, candidate.version)


def _is_unmet(constraint: ReleaseRequires, resolution: Resolution) -> bool:
    """Return whether a requirement is on a project whose pin in a lock cannot meet it.

    The pin does not meet it, and neither would another one: a line or a requirement in the lock
    rules that out.
    """
    if not _project_of(constraint.text):
        return False
    need = text.requirement(constraint.text)
    pin: Pin | None = resolution.pin(need.name)
    if pin is None or need.specifier.contains(pin.version, prereleases=True):
        return False
    others = [
        text.requirement(other.text).specifier
        for other in pin.because
        if isinstance(other, (StackLine, ReleaseRequires)) and _project_of(other.text)
    ]
    return any(_are_apart(need.specifier, other) for other in others)


def _reason(constraint: ReleaseRequires, version: Version) -> Reason:
    """Return the reason that a release has a requirement."""
    return Reason(
        constraint=constraint,
        versions=(ReleaseRange(oldest=str(version), newest=str(version), count=1),),
    )


def _project_of(need: str) -> str:
    """Return the project that a requirement is about; empty if the text is no such requirement."""
    try:
        return text.requirement(need).name
    except InvalidRequirement:
        return ""
