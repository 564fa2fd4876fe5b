"""The reasons of a core for people: the releases that matter, and what the indexes have.

A constraint may concern more releases than matter for a conflict. A reason names only releases that
the other constraints of the core leave possible. So each of them is needed for the conflict.
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
    ReleaseRequires,
    StackLine,
    Unavailable,
)
from resolver.model.dependency import Candidate
from resolver.model.fact import Names
from resolver.model.package import Package, PackageKind
from resolver.model.reason import Evidence, Reason, RejectedRelease, ReleaseRange, UnparsedFiles
from resolver.model.release import Rejection, RejectionReason, Release
from resolver.model.requirement import Requirement
from resolver.model.resolution import Resolution
from resolver.model.slips import is_other_name
from resolver.model.target import Target, missing_on_machine, newer_glibc, tag_values
from resolver.resolve.candidates import names_prerelease
from resolver.resolve.clauses import Clauses
from resolver.resolve.project import Project, highest_bound

# The reasons whose details are not shown.
_WITHOUT_DETAIL = frozenset({RejectionReason.DYNAMIC, RejectionReason.UNOPENED})
# The reasons that another index could remove.
_ON_NO_INDEX = (NoCandidate.PROJECT, NoCandidate.RELEASE, NoCandidate.FILE)
# The reasons that are about a project and not about its releases.
_OF_PROJECT = (NoCandidate.PROJECT, NoCandidate.RELEASE, NoCandidate.UNREACHABLE)
# How similar a name in facts or the stack must be to be suggested, from 0 to 1, as in difflib.
_SIMILAR: Final = 0.7
# The same for names in metadata. It is higher, since metadata names thousands of projects.
_NEARLY_EQUAL: Final = 0.85
# The most releases whose files are listed.
_REFUSALS: Final = 4


def described(clauses: Clauses, core: Iterable[Constraint]) -> dict[Constraint, Reason]:
    """Return the reason of each constraint of a core.

    Lines come first, in the order of the stack. Then come components, requirements, and releases
    that cannot be used. Parts of one line have the same reason.
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
    """Return the rank of a constraint among the reasons of a core, by its kind."""
    match constraint:
        case StackLine() | BuildLine():
            return 0
        case ComponentValue():
            return 1
        case ReleaseRequires() | Exclusive():
            return 2
        case Excluded() | Unavailable():
            return 3


def release_ranges(
    project: Project, positions: Iterable[int], apart: Collection[int] = ()
) -> tuple[ReleaseRange, ...]:
    """Return the releases at some positions as ranges, the newest first.

    A range ends at a final release that is not among them and that the target can use, and at
    positions in `apart`. Other releases in between do not end it.
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
    """Makes reasons for the constraints of one core."""

    def __init__(self, clauses: Clauses, core: Sequence[Constraint]) -> None:
        """Take the clauses and the sorted constraints of the core."""
        self._clauses = clauses
        self._universe = clauses.universe
        self._core = core
        self._target = clauses.universe.problem.target

    def reason(self, constraint: Constraint) -> Reason:
        """Return the reason of a constraint, with all fields that reports show."""
        match constraint:
            case StackLine() | BuildLine():
                return _line_reason(constraint.whole)
            case ComponentValue():
                return Reason(constraint=constraint, where=constraint.where)
            case Exclusive():
                return Reason(constraint=constraint, where=constraint.fact.where)
            case ReleaseRequires():
                return self._requirement(constraint)
            case Excluded():
                project, positions = self._ruled_out(constraint)
                versions = release_ranges(project, positions)
                return Reason(constraint=constraint, versions=versions, where=constraint.fact.where)
            case Unavailable():
                return self._unavailable(constraint)

    def _others(self, constraint: Constraint) -> list[Constraint]:
        """Return the constraints of the core without the given one."""
        return [other for other in self._core if other != constraint]

    def _possible_parents(
        self, constraint: Constraint, others: Sequence[Constraint]
    ) -> Iterator[Candidate]:
        """Yield the candidates that have edges of a constraint and that `others` leave possible."""
        for parent, _ in self._clauses.edges[constraint]:
            if parent is None:
                continue
            if self._clauses.satisfiable([self._clauses.variable(parent)], others):
                yield parent

    def _requirement(self, constraint: ReleaseRequires) -> Reason:
        """Return the reason for a requirement of releases."""
        project = self._universe.project(text.name(constraint.package.name))
        # Other requirements of the same package are ignored: they are about the same releases.
        others = [
            other
            for other in self._core
            if not (isinstance(other, ReleaseRequires) and other.package == constraint.package)
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
        """Return the positions of releases between these that constraints of the core rule out."""
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
        """Return the project whose releases a constraint rules out, and which of them matter.

        The releases are given by their positions.
        """
        excluded = self._clauses.ruled_out_releases[constraint]
        project = self._universe.project(text.name(excluded[0].package.name))
        # Requirements of these releases are ignored: it is enough that they are ruled out.
        others = [
            other
            for other in self._others(constraint)
            if not (isinstance(other, ReleaseRequires) and other.package.name == project.name)
        ]
        # If a later constraint of the core rules out the same release (a yanked pre-release), the
        # release is listed here only.
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
        """Return the reason for releases that cannot be used, with what the indexes have."""
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
        if evidence.named is not None:
            where = evidence.named.where
        if evidence.at_commit is not None:
            where = ""
        has_tags = why is NoCandidate.FILE
        if constraint.is_unusable:
            has_tags = any(len(refusal.files) > 1 for refusal in evidence.refusals)
        if has_tags:
            evidence = replace(evidence, machine=tuple(tag_values(self._target).items()))
        if why in _ON_NO_INDEX and evidence.at_commit is None:
            left_out = indexes.left_out(project.name, platform)
            evidence = replace(evidence, left_out=left_out)
        return Reason(constraint=constraint, where=where, evidence=evidence)

    def _evidence(self, constraint: Unavailable, project: Project) -> Evidence:
        """Return the evidence that is particular to the reason why releases are unavailable."""
        match constraint.why:
            case NoCandidate.PROJECT if project.source is not None:
                return Evidence(at_commit=project.source)
            case NoCandidate.PROJECT:
                meant = self._component_called(project.name)
                named = self._name_fact(project.name)
                if not meant and named is None:
                    meant = similar_project(self._clauses, project.name)
                return Evidence(meant=meant, named=named)
            case NoCandidate.RELEASE:
                return Evidence(
                    nearest=_nearest(project, SpecifierSet(constraint.wanted)),
                    unread=() if project.versions else _unread(project.rejections),
                )
            case RejectionReason.NEWER:
                return Evidence(cutoff=cutoff_text(self._universe.problem.policy.exclude_newer))
            case _:
                return Evidence()

    def _name_fact(self, name: str) -> Names | None:
        """Return the fact that says where a project is from; None if there is none."""
        for fact in self._universe.problem.facts:
            if isinstance(fact, Names) and fact.package == name and fact.is_about_all:
                return fact
        return None

    def _component_called(self, name: str) -> str:
        """Return the name of the component that people call by a name; empty if there is none."""
        for component in self._target.components.values():
            if name in component.aliases:
                return component.name
        return ""

    def _unusable_files(self, constraint: Unavailable, project: Project) -> dict[int, _Files]:
        """Return the files of releases that matter and were opened in vain, by position."""
        files: dict[int, _Files] = {}
        for parent in self._possible_parents(constraint, self._others(constraint)):
            opened = self._universe.rejection(parent)
            if opened.reason in _WITHOUT_DETAIL:
                opened = replace(opened, detail="")
            position = parent.release.position
            wheels = nearest_first(project.wheels_set_aside(position), self._target)
            files[position] = _Files((opened,), wheels)
        return dict(sorted(files.items()))

    def _rejected_files(self, constraint: Unavailable, project: Project) -> dict[int, _Files]:
        """Return the files of releases that matter and were ruled out, by position."""
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
    """The files of a release, and why they cannot be used."""

    # The file that was opened, if one was.
    opened: tuple[Rejection, ...]
    # The other files, the nearest to the target first.
    others: tuple[Rejection, ...]


def _refusals(
    files: Mapping[int, _Files], project: Project, target: Target
) -> Iterator[RejectedRelease]:
    """Yield some of the releases whose files cannot be used. `files` has the files by position."""
    for position in _of_each_cause(files, target):
        rejected = files[position]
        yield RejectedRelease(
            version=str(project.versions[position]),
            files=(*rejected.opened, *rejected.others),
        )


def _of_each_cause(files: Mapping[int, _Files], target: Target) -> list[int]:
    """Return the positions of some releases, at most `_REFUSALS`.

    They are chosen so that each cause is among them. Releases that a newer glibc would make usable
    come first. Releases of one cause are in order from the newest to the oldest.
    """
    machine = tag_values(target)
    # The positions by the glibc that would be enough; the key is empty if a glibc is not enough.
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
    """Return the releases just before and just after the versions that a requirement names.

    There are none if no release comes after them. Pre-releases count only if the requirement names
    one, or if there are no final releases.
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
    """Return files that belong to no release, grouped by reason, the most frequent reason first."""
    names: dict[RejectionReason, list[str]] = {}
    for file in files:
        names.setdefault(file.reason, []).append(file.filename)
    unread = [
        UnparsedFiles(reason, len(filenames), filenames[0]) for reason, filenames in names.items()
    ]
    unread.sort(key=lambda unparsed: -unparsed.count)
    return tuple(unread)


def similar_project(clauses: Clauses, name: str) -> str:
    """Return a known project whose name is similar to `name`; empty if there is none.

    Names in facts and the stack may be less similar than names in metadata. Only metadata that was
    read so far counts. A name with another word in it is not similar: it names another project.
    """
    universe = clauses.universe
    written: set[str] = set()
    for root in universe.problem.stack.requirements:
        if isinstance(root.need, Requirement):
            written.add(root.need.name)
    for fact in universe.problem.facts:
        written.update((fact.package, *fact.named_projects))
    required = set()
    for candidate in universe.opened_candidates():
        for edge in universe.edges(candidate):
            if edge.package.kind is PackageKind.PROJECT:
                required.add(edge.package.name)
    similar = [
        closest(name, _existing(clauses, written), _SIMILAR),
        closest(name, _existing(clauses, required), _NEARLY_EQUAL),
    ]
    found = closest(name, similar, _SIMILAR)
    return "" if is_other_name(name, found) else found


def _existing(clauses: Clauses, names: Iterable[str]) -> Iterator[str]:
    """Yield the names of projects, except for projects that are known to be on no index."""
    universe = clauses.universe
    for name in map(text.name, names):
        if not universe.is_loaded(name) or universe.project(name).exists:
            yield name


def _line_reason(line: Line) -> Reason:
    """Return the reason for a line of a stack or of a build."""
    if isinstance(line, StackLine):
        return Reason(constraint=line, where=line.where)
    built = (ReleaseRange(line.version, line.version, 1),)
    where = line.filename if line.fact is None else line.where
    return Reason(constraint=line, versions=built, where=where)


def pinned_reason(constraint: Line | ReleaseRequires, resolution: Resolution) -> Reason:
    """Return the reason for a requirement on a pin of a resolution, with the requiring pin."""
    if not isinstance(constraint, ReleaseRequires):
        return _line_reason(constraint)
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
    """Return a cut-off in ISO 8601: a day if it is the end of a day in UTC, or else a moment.

    Empty if there is no cut-off.
    """
    if cutoff is None:
        return ""
    last = cutoff.astimezone(dt.timezone.utc) - dt.timedelta(microseconds=1)
    return last.date().isoformat() if last.time() == dt.time.max else cutoff.isoformat()


def nearest_first(files: Iterable[Rejection], target: Target) -> tuple[Rejection, ...]:
    """Return files sorted by how near their tags are to the target.

    Wheels for another system come last. Then the processor decides, and then the Python.
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
