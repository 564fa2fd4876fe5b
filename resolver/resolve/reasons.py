"""The reasons of a core for people: which of their releases matter, and what the indexes have.

A constraint may hold for more releases than matter. A reason names only those that the other
constraints of the core leave possible, so each release that it names is needed for the conflict.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Final, NamedTuple

from msgspec.structs import replace
from packaging.specifiers import SpecifierSet

from resolver.errors import closest
from resolver.model import text
from resolver.model.constraint import (
    BuildLine,
    ComponentValue,
    Constraint,
    Excluded,
    Exclusive,
    Line,
    NoCandidate,
    Requires,
    StackLine,
    Unavailable,
)
from resolver.model.dependency import Candidate
from resolver.model.package import Package, PackageKind
from resolver.model.reason import Evidence, Reason, RejectedRelease, ReleaseRange, UnparsedFiles
from resolver.model.release import Rejection, RejectionReason, Release
from resolver.model.requirement import Requirement
from resolver.model.resolution import Resolution
from resolver.model.target import Target, missing_on_machine, newer_glibc, tag_values
from resolver.resolve.candidates import names_prerelease
from resolver.resolve.clauses import Clauses
from resolver.resolve.project import Project, highest_bound

_WITHOUT_DETAIL = frozenset({RejectionReason.DYNAMIC, RejectionReason.UNOPENED})
# What another index could have.
_ON_NO_INDEX = (NoCandidate.PROJECT, NoCandidate.RELEASE, NoCandidate.FILE)
# What does not depend on single releases.
_OF_PROJECT = (NoCandidate.PROJECT, NoCandidate.RELEASE, NoCandidate.UNREACHABLE)
# How similar two names are, from 0 to 1, as in difflib.
_SIMILAR: Final = 0.7
# Likewise in metadata, which names thousands of projects.
_NEARLY_EQUAL: Final = 0.85
# Releases whose files are listed one by one.
_REFUSALS: Final = 4


def described(clauses: Clauses, core: Iterable[Constraint]) -> dict[Constraint, Reason]:
    """Return the reason of each constraint of a core.

    The stack's own come first, then the others as they became known. Parts of one line have the
    same reason.
    """
    order = {constraint: number for number, constraint in enumerate(clauses.known)}
    requirements = clauses.universe.problem.stack.requirements
    lines = {root.origin: number for number, root in enumerate(requirements)}

    def key(constraint: Constraint) -> tuple[int, int, int]:
        line = 0
        if isinstance(constraint, (StackLine, BuildLine)):
            line = lines.get(constraint.whole, 0)
        return _rank(constraint), line, order[constraint]

    core = sorted(core, key=key)
    describer = _Describer(clauses, core)
    return {constraint: describer.reason(constraint) for constraint in core}


def _rank(constraint: Constraint) -> int:
    """Return the place of a kind: the stack, the machine, requirements, what does not exist."""
    match constraint:
        case StackLine() | BuildLine():
            return 0
        case ComponentValue():
            return 1
        case Requires() | Exclusive():
            return 2
        case Excluded() | Unavailable():
            return 3


def release_ranges(
    project: Project, positions: Iterable[int], apart: Collection[int] = ()
) -> tuple[ReleaseRange, ...]:
    """Return positions as ranges, newest first.

    Releases that nobody could take do not end a range, unless kept `apart`.
    """
    included = set(positions)
    ranges: list[list[int]] = []
    has_ended = True
    for position in range(len(project.versions)):
        if position in included:
            if has_ended:
                ranges.append([])
            ranges[-1].append(position)
            has_ended = False
        elif position in apart:
            has_ended = True
        elif not has_ended and project.stable >> position & 1:
            has_ended = isinstance(project.release(position), Release)
    return tuple(
        ReleaseRange(
            oldest=str(project.versions[in_range[-1]]),
            newest=str(project.versions[in_range[0]]),
            count=len(in_range),
        )
        for in_range in ranges
    )


class _Describer:
    """Looks at one constraint of a core in the light of the others."""

    def __init__(self, clauses: Clauses, core: Sequence[Constraint]) -> None:
        self._clauses = clauses
        self._universe = clauses.universe
        self._core = core
        self._target = clauses.universe.problem.target

    def reason(self, constraint: Constraint) -> Reason:
        """Return the reason of a constraint, with what people are told."""
        match constraint:
            case StackLine() | BuildLine():
                return line_reason(constraint.whole)
            case ComponentValue():
                return Reason(constraint=constraint, where=constraint.where)
            case Exclusive():
                return Reason(constraint=constraint, where=constraint.fact.where)
            case Requires():
                return self._requirement(constraint)
            case Excluded():
                project, positions = self._ruled_out(constraint)
                versions = release_ranges(project, positions)
                return Reason(constraint=constraint, versions=versions, where=constraint.fact.where)
            case Unavailable():
                return self._unavailable(constraint)

    def _others(self, constraint: Constraint) -> list[Constraint]:
        return [other for other in self._core if other != constraint]

    def _possible_parents(
        self, constraint: Constraint, others: Sequence[Constraint]
    ) -> Iterator[Candidate]:
        """Yield the candidates of a constraint that other constraints leave possible."""
        for parent, _ in self._clauses.edges[constraint]:
            if parent is None:
                continue
            if self._clauses.satisfiable([self._clauses.variable(parent)], others):
                yield parent

    def _requirement(self, constraint: Requires) -> Reason:
        project = self._universe.project(text.name(constraint.package.name))
        # what else is required of these releases makes no difference
        others = [
            other
            for other in self._core
            if not (isinstance(other, Requires) and other.package == constraint.package)
        ]
        files: dict[int, str] = {}
        for parent in self._possible_parents(constraint, others):
            files[parent.release.position] = parent.release.file.filename
        where = ""
        apart: set[int] = set()
        if files:
            where = files[min(files)]
            apart = self._ruled_out_between(constraint.package, files)
        if constraint.fact is not None:
            where = constraint.fact.where
        elif constraint.override is not None:
            where = constraint.override.where
        versions = release_ranges(project, files, apart)
        return Reason(constraint=constraint, versions=versions, where=where)

    def _ruled_out_between(self, package: Package, positions: Collection[int]) -> set[int]:
        """Return the positions of releases that other constraints rule out between these."""
        newest = min(positions)
        oldest = max(positions)
        between = set()
        for constraint in self._core:
            others = self._others(constraint)
            for excluded in self._clauses.ruled_out_releases.get(constraint, ()):
                if excluded.package != package.base or not newest < excluded.position < oldest:
                    continue
                if self._clauses.satisfiable([excluded.variable], others):
                    between.add(excluded.position)
        return between

    def _ruled_out(self, constraint: Excluded | Unavailable) -> tuple[Project, list[int]]:
        """Return the project of what a constraint rules out, and the releases that matter."""
        excluded = self._clauses.ruled_out_releases[constraint]
        project = self._universe.project(text.name(excluded[0].package.name))
        # requirements of such a release are not mentioned: that it is ruled out is enough
        others = [
            other
            for other in self._others(constraint)
            if not (isinstance(other, Requires) and other.package.name == project.name)
        ]
        # what a later constraint rules out, too, such as a yanked pre-release, belongs to this one
        later: dict[Constraint, set[int]] = {}
        for other in self._core[self._core.index(constraint) + 1 :]:
            also_excluded = self._clauses.ruled_out_releases.get(other, ())
            later[other] = {release.variable for release in also_excluded}
        positions = set()
        for release in excluded:
            remaining = [other for other in others if release.variable not in later.get(other, ())]
            if self._clauses.satisfiable([release.variable], remaining):
                positions.add(release.position)
        return project, sorted(positions)

    def _unavailable(self, constraint: Unavailable) -> Reason:
        why = constraint.why
        project = self._universe.project(constraint.project)
        indexes = self._universe.problem.indexes
        platform = self._target.platform
        where = ", ".join(indexes.binding(project.name, platform).indexes)
        files: dict[int, _Files] = {}
        if why is NoCandidate.COMMIT and project.source is not None:
            where = project.source.where
        elif constraint.is_unusable:
            files = self._unusable_files(constraint, project)
        elif why not in _OF_PROJECT:
            files = self._rejected_files(constraint, project)
        evidence = replace(
            self._evidence(constraint, project),
            count=len(files),
            newest=str(project.versions[0]) if project.versions else "",
            unreachable=tuple(project.unreachable),
            refusals=tuple(_refusals(files, project, self._target)),
        )
        has_tags = why is NoCandidate.FILE
        if constraint.is_unusable:
            has_tags = any(len(refusal.files) > 1 for refusal in evidence.refusals)
        if has_tags:
            evidence = replace(evidence, machine=tuple(tag_values(self._target).items()))
        if why in _ON_NO_INDEX:
            left_out = indexes.left_out(project.name, platform)
            evidence = replace(evidence, left_out=left_out)
        return Reason(constraint=constraint, where=where, evidence=evidence)

    def _evidence(self, constraint: Unavailable, project: Project) -> Evidence:
        """Return what is known about one way of being unavailable alone."""
        match constraint.why:
            case NoCandidate.PROJECT:
                meant = self._component_called(project.name)
                return Evidence(meant=meant or similar_project(self._clauses, project.name))
            case NoCandidate.RELEASE:
                return Evidence(
                    nearest=_nearest(project, SpecifierSet(constraint.wanted)),
                    unread=() if project.versions else _unread(project.rejections),
                )
            case RejectionReason.NEWER:
                return Evidence(cutoff=cutoff_text(self._universe.problem.policy.exclude_newer))
            case _:
                return Evidence()

    def _component_called(self, name: str) -> str:
        """Return the component that people call by a name; empty for none."""
        for component in self._target.components.values():
            if name in component.aliases:
                return component.name
        return ""

    def _unusable_files(self, constraint: Unavailable, project: Project) -> dict[int, _Files]:
        """Return the files of each release that matters and proved unusable, by its position."""
        files: dict[int, _Files] = {}
        for parent in self._possible_parents(constraint, self._others(constraint)):
            opened = self._universe.rejections[parent]
            if opened.reason in _WITHOUT_DETAIL:
                opened = replace(opened, detail="")
            position = parent.release.position
            wheels = nearest_first(project.wheels_set_aside(position), self._target)
            files[position] = _Files((opened,), wheels)
        return dict(sorted(files.items()))

    def _rejected_files(self, constraint: Unavailable, project: Project) -> dict[int, _Files]:
        """Return the files of each release that matters and was ruled out, by its position."""
        files: dict[int, _Files] = {}
        _, positions = self._ruled_out(constraint)
        for position in positions:
            release = project.release(position)
            rejections: tuple[Rejection, ...] = ()
            if isinstance(release, tuple):
                rejections = nearest_first(release, self._target)
            elif constraint.why is RejectionReason.YANKED:
                why = release.file.yanked
                if why:
                    filename = release.file.filename
                    rejections = (Rejection(filename, RejectionReason.YANKED, why),)
            files[position] = _Files((), rejections)
        return files


class _Files(NamedTuple):
    """Why the files of a release cannot be used."""

    # the file that was opened
    opened: tuple[Rejection, ...]
    # the others, the nearest to the target first
    others: tuple[Rejection, ...]


def _refusals(
    files: Mapping[int, _Files], project: Project, target: Target
) -> Iterator[RejectedRelease]:
    """Yield a few of the releases whose files cannot be used; the files are given by position."""
    for position in _of_each_cause(files, target):
        rejected = files[position]
        yield RejectedRelease(
            version=str(project.versions[position]),
            files=(*rejected.opened, *rejected.others),
        )


def _of_each_cause(files: Mapping[int, _Files], target: Target) -> list[int]:
    """Return a few releases, newest first, of which each cause has at least one.

    Those that only lack a newer glibc go before others.
    """
    machine = tag_values(target)
    # by the glibc that would be enough; empty if none would
    causes: dict[str, list[int]] = {}
    for position, of_release in files.items():
        tags = [file.filename for file in of_release.others if file.reason is RejectionReason.TAGS]
        causes.setdefault(newer_glibc(tags, machine), []).append(position)
    groups = [positions for glibc, positions in causes.items() if glibc]
    if "" in causes:
        groups.append(causes[""])
    listed = [positions[0] for positions in groups][:_REFUSALS]
    for position in chain.from_iterable(groups):
        if len(listed) < _REFUSALS and position not in listed:
            listed.append(position)
    return [position for position in chain.from_iterable(groups) if position in listed]


def _nearest(project: Project, specifiers: SpecifierSet) -> tuple[str, ...]:
    """Return the releases just before and just after what a requirement admits.

    There are none where nothing comes after it. They are final ones, unless it names a pre-release
    or nothing else exists.
    """
    highest = highest_bound(specifiers)
    mask = project.all if names_prerelease(specifiers) else project.stable or project.all
    versions = [project.versions[position] for position in project.positions(mask)]
    if highest is None or versions[:1] <= [highest]:
        return ()
    newer = [version for version in versions if version >= highest]
    older = [version for version in versions if version < highest]
    return tuple(map(str, (*older[:1], *newer[-1:])))


def _unread(files: Iterable[Rejection]) -> tuple[UnparsedFiles, ...]:
    """Return the files that belong to no release by reason, the most frequent first."""
    names: dict[RejectionReason, list[str]] = {}
    for file in files:
        names.setdefault(file.reason, []).append(file.filename)
    unread = [
        UnparsedFiles(reason, len(filenames), filenames[0]) for reason, filenames in names.items()
    ]
    unread.sort(key=lambda unparsed: -unparsed.count)
    return tuple(unread)


def similar_project(clauses: Clauses, name: str) -> str:
    """Return the project with a similar name in facts or the stack, or nearly this one in metadata.

    Only metadata that was read so far counts. Empty if there is none.
    """
    universe = clauses.universe
    stated: set[str] = set()
    for root in universe.problem.stack.requirements:
        if isinstance(root.need, Requirement):
            stated.add(root.need.name)
    for fact in universe.problem.facts:
        stated.update((fact.package, *fact.named_projects))
    required = set()
    for candidate in universe.opened_candidates():
        for edge in universe.edges(candidate):
            if edge.package.kind is PackageKind.PROJECT:
                required.add(edge.package.name)
    similar = [
        closest(name, _existing(clauses, stated), _SIMILAR),
        closest(name, _existing(clauses, required), _NEARLY_EQUAL),
    ]
    return closest(name, similar, _SIMILAR)


def _existing(clauses: Clauses, names: Iterable[str]) -> Iterator[str]:
    """Yield the names of projects that are not known to be on no index."""
    universe = clauses.universe
    for name in map(text.name, names):
        if not universe.is_loaded(name) or universe.project(name).exists:
            yield name


def line_reason(line: Line) -> Reason:
    """Return a line of a stack, or of the stack of a build, as a reason."""
    if isinstance(line, StackLine):
        return Reason(constraint=line, where=line.where)
    built = (ReleaseRange(line.version, line.version, 1),)
    where = line.filename if line.fact is None else line.where
    return Reason(constraint=line, versions=built, where=where)


def pinned_reason(constraint: Line | Requires, resolution: Resolution) -> Reason:
    """Return a requirement on a pin of a resolution as a reason."""
    if not isinstance(constraint, Requires):
        return line_reason(constraint)
    requiring = resolution.pin(constraint.package.name)
    assert requiring is not None  # noqa: S101  only pins require what is pinned
    version = str(requiring.version)
    where = requiring.release.file.filename
    if constraint.fact is not None:
        where = constraint.fact.where
    elif constraint.override is not None:
        where = constraint.override.where
    return Reason(
        constraint=constraint,
        versions=(ReleaseRange(version, version, 1),),
        where=where,
    )


def cutoff_text(cutoff: dt.datetime | None) -> str:
    """Return a cut-off as the day at whose end it is, or as a moment; empty for none."""
    if cutoff is None:
        return ""
    last = cutoff.astimezone(dt.timezone.utc) - dt.timedelta(microseconds=1)
    return last.date().isoformat() if last.time() == dt.time.max else cutoff.isoformat()


def nearest_first(files: Iterable[Rejection], target: Target) -> tuple[Rejection, ...]:
    """Return the files, those closest to the target first.

    Wheels for another system come last.
    """
    machine = tag_values(target)
    python = f"-cp{''.join(map(str, target.python_line))}-"

    def distance(file: Rejection) -> tuple[bool, ...]:
        name = file.filename
        return (
            "system" in missing_on_machine(name, machine),
            target.machine not in name,
            python not in name,
        )

    return tuple(sorted(files, key=distance))
