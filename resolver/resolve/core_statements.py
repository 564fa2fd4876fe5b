"""From grounds to statements: the releases that a ground of a core is about, and its origin.

A ground may hold for more releases than matter. A statement names only those that the other grounds
of the core leave possible, so each release that it names is needed for the conflict.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain

from packaging.specifiers import SpecifierSet

from resolver.errors import closest
from resolver.model import text
from resolver.model.dependency import (
    NeedLine,
    NeedSource,
    Package,
    PackageKind,
    RequirementOrigin,
    StackLine,
    Unusable,
)
from resolver.model.fact import Absent, Collides, Excludes, Names, projects_named_by
from resolver.model.release import Rejection, RejectionReason, Release
from resolver.model.requirement import COMPONENT_ALIASES, Requirement
from resolver.model.resolution import (
    Asks,
    Forbids,
    Has,
    Lack,
    Lacks,
    Needs,
    RejectedRelease,
    ReleaseRange,
    Shares,
    Statement,
    UnparsedFiles,
)
from resolver.model.target import Target, missing_on_machine, newer_glibc, tag_values
from resolver.resolve.candidates import names_prerelease
from resolver.resolve.clauses import Clauses
from resolver.resolve.grounds import (
    CollisionGround,
    ComponentGround,
    ExclusionGround,
    Ground,
    LackGround,
    LineGround,
    RequirementGround,
)
from resolver.resolve.project import Project, highest_bound

_WITHOUT_DETAIL = frozenset({RejectionReason.DYNAMIC, RejectionReason.UNOPENED})
# what another index could have
_ON_NO_INDEX = frozenset({Lack.PROJECT, Lack.RELEASE, Lack.FILE})
_SIMILAR = 0.7  # from 0 to 1, as in difflib
_NEARLY_THE_SAME = 0.85  # metadata names thousands of projects
_REFUSALS = 4  # releases whose files are listed one by one

Rejections = tuple[Rejection, ...]


def statements_of(clauses: Clauses, core: Iterable[Ground]) -> dict[Ground, Statement]:
    """The statement of each ground of a core: the stack's own first, then as they became known.

    Aspects of one line are the same statement.
    """
    # the stack, the machine, requirements, what does not exist
    ranks = {LineGround: 0, ComponentGround: 1, RequirementGround: 2, CollisionGround: 2}
    order = {ground: number for number, ground in enumerate(clauses.known)}
    lines = {
        root.origin: number
        for number, root in enumerate(clauses.universe.problem.stack.requirements)
    }

    def key(ground: Ground) -> tuple[int, int, int]:
        line = lines.get(ground.origin, 0) if isinstance(ground, LineGround) else 0
        return ranks.get(type(ground), 3), line, order[ground]

    core = sorted(core, key=key)
    builder = _StatementBuilder(clauses, core)
    return {ground: builder.statement(ground) for ground in core}


def release_ranges(
    project: Project, positions: Iterable[int], apart: Collection[int] = ()
) -> tuple[ReleaseRange, ...]:
    """Positions as ranges, newest first.

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
        elif not has_ended and (position in apart or project.stable >> position & 1):
            has_ended = position in apart or not isinstance(project.release(position), tuple)
    versions = project.versions
    return tuple(
        ReleaseRange(str(versions[row[-1]]), str(versions[row[0]]), len(row)) for row in ranges
    )


class _StatementBuilder:
    def __init__(self, clauses: Clauses, core: Sequence[Ground]) -> None:
        self._clauses = clauses
        self._universe = clauses.universe
        self._core = core
        self._target = clauses.universe.problem.target
        self._facts = {fact.id: fact for fact in clauses.universe.problem.facts}

    def statement(self, ground: Ground) -> Statement:
        match ground:
            case LineGround():
                return origin_statement(ground.origin)
            case ComponentGround():
                where = self._target.places.get(ground.name, self._universe.problem.stack.where)
                return Has(
                    component=ground.name, value=str(self._target.system[ground.name]), where=where
                )
            case CollisionGround():
                fact = self._facts[ground.fact]
                assert isinstance(fact, (Collides, Absent))  # noqa: S101  only these have modules
                return Shares(fact=fact)
            case RequirementGround():
                return self._needs(ground)
            case ExclusionGround():
                project, positions = self._ruled_out(ground)
                fact = self._facts[ground.fact]
                assert isinstance(fact, (Excludes, Names))  # noqa: S101  only these take releases out
                return Forbids(
                    subject=project.name, versions=release_ranges(project, positions), fact=fact
                )
            case LackGround():
                return self._lacks(ground)

    def _matters(self, ground: Ground, variable: int) -> bool:
        """Whether the other grounds of the core leave this possible."""
        return self._clauses.satisfiable(
            [variable], [other for other in self._core if other != ground]
        )

    def _needs(self, ground: RequirementGround) -> Needs:
        project = self._universe.project(text.name(ground.package.name))
        files: dict[int, str] = {}
        others = [
            other
            for other in self._core
            if not (isinstance(other, RequirementGround) and other.package == ground.package)
        ]
        for parent, _ in self._clauses.edges[ground]:
            if parent is not None and self._clauses.satisfiable(
                [self._clauses.variable(parent)], others
            ):
                files[parent.release.position] = parent.release.file.filename
        fact = self._facts.get(ground.fact)
        newest = files[min(files)] if files else ""
        return Needs(
            subject=str(ground.package),
            versions=release_ranges(
                project, files, self._ruled_out_between(ground.package, files) if files else ()
            ),
            needs=ground.text,
            source=ground.source,
            where=newest if fact is None else fact.where,
            fact=fact,
        )

    def _ruled_out_between(self, package: Package, positions: Collection[int]) -> set[int]:
        newest, oldest = min(positions), max(positions)
        return {
            position
            for ground in self._core
            for other, position, variable in self._clauses.ruled_out_releases.get(ground, ())
            if other == package.base
            and newest < position < oldest
            and self._matters(ground, variable)
        }

    def _ruled_out(self, ground: Ground) -> tuple[Project, list[int]]:
        """The project in which a ground rules releases out, and the positions of those that matter."""
        rows = self._clauses.ruled_out_releases[ground]
        project = self._universe.project(text.name(rows[0][0].name))
        # what a later ground rules out, too, such as a yanked pre-release, belongs to this
        # statement
        later = {
            other: {variable for _, _, variable in self._clauses.ruled_out_releases.get(other, ())}
            for other in self._core[self._core.index(ground) + 1 :]
        }
        # requirements of such a release are not mentioned: that it is ruled out is enough
        others = [
            row
            for row in self._core
            if row != ground
            and not (
                isinstance(row, RequirementGround) and text.name(row.package.name) == project.name
            )
        ]
        positions = {
            position
            for _, position, variable in rows
            if self._clauses.satisfiable(
                [variable], [row for row in others if variable not in later.get(row, ())]
            )
        }
        return project, sorted(positions)

    def _rejections(
        self, ground: LackGround, project: Project
    ) -> dict[int, tuple[Rejections, Rejections]]:
        """The rejections for each release that matters: of the file that was opened, and of the others."""
        rejections: dict[int, tuple[Rejections, Rejections]] = {}
        if ground.lack is Lack.UNUSABLE:
            for parent, edge in self._clauses.edges[ground]:
                if parent is not None and self._matters(ground, self._clauses.variable(parent)):
                    origin, position = edge.origin, parent.release.position
                    assert isinstance(origin, Unusable)  # noqa: S101  see `grounds`
                    detail = "" if origin.reason in _WITHOUT_DETAIL else origin.text
                    opened = (Rejection(origin.filename, origin.reason, detail),)
                    rejections[position] = (
                        opened,
                        nearest_first(project.wheels_set_aside(position), self._target),
                    )
            return dict(sorted(rejections.items()))
        for position in self._ruled_out(ground)[1]:
            release = project.release(position)
            rows = nearest_first(release, self._target) if isinstance(release, tuple) else ()
            if isinstance(release, Release) and release.file.yanked and ground.lack is Lack.YANKED:
                rows = (
                    Rejection(release.file.filename, RejectionReason.YANKED, release.file.yanked),
                )
            rejections[position] = (), rows
        return rejections

    def _lacks(self, ground: LackGround) -> Lacks:
        lack, problem = ground.lack, self._universe.problem
        project = self._universe.project(ground.name)
        where = ", ".join(problem.indexes.binding(project.name, self._target.platform).indexes)
        files: dict[int, tuple[Rejections, Rejections]] = {}
        if lack is Lack.SOURCE and project.source is not None:
            where = project.source.where
        elif lack not in (Lack.PROJECT, Lack.RELEASE, Lack.UNREACHABLE):
            files = self._rejections(ground, project)
        wheels = {position: rows for position, (_, rows) in files.items()}
        listed = _of_each_cause(wheels, self._target)
        by_tags = lack is Lack.FILE or (
            lack is Lack.UNUSABLE and any(wheels[position] for position in listed)
        )
        return Lacks(
            subject=ground.project,
            wanted=ground.detail if lack in (Lack.RELEASE, Lack.SOURCE) else "",
            lack=lack,
            where=where,
            count=len(files),
            newest=str(project.versions[0]) if project.versions else "",
            nearest=_nearest(project, SpecifierSet(ground.detail)) if lack is Lack.RELEASE else (),
            refusals=tuple(
                RejectedRelease(
                    version=str(project.versions[position]), files=tuple(chain(*files[position]))
                )
                for position in listed
            ),
            unreachable=tuple(project.unreachable),
            meant=(
                COMPONENT_ALIASES.get(project.name) or similar_project(self._clauses, project.name)
            )
            if lack is Lack.PROJECT
            else "",
            machine=tuple(tag_values(self._target).items()) if by_tags else (),
            cutoff=cutoff_text(problem.policy.exclude_newer) if lack is Lack.CUTOFF else "",
            unread=_unread(project.rejections)
            if lack is Lack.RELEASE and not project.versions
            else (),
            left_out=problem.indexes.left_out(project.name, self._target.platform)
            if lack in _ON_NO_INDEX
            else (),
        )


def _of_each_cause(files: Mapping[int, Sequence[Rejection]], target: Target) -> list[int]:
    """A few releases, those first that only lack a newer glibc, newest first; each cause has one of them."""
    causes: dict[str, list[int]] = {}  # by the glibc that would be enough, if any
    for position, rows in files.items():
        tags = (row.filename for row in rows if row.reason is RejectionReason.TAGS)
        causes.setdefault(newer_glibc(tags, tag_values(target)), []).append(position)
    groups = sorted(causes.values(), key=lambda group: group is causes.get(""))
    firsts = [group[0] for group in groups][:_REFUSALS]
    positions = list(chain.from_iterable(groups))
    others = [position for position in positions if position not in firsts]
    listed = {*firsts, *others[: _REFUSALS - len(firsts)]}
    return [position for position in positions if position in listed]


def _nearest(project: Project, specifiers: SpecifierSet) -> tuple[str, ...]:
    """The releases just before and just after what a requirement admits; none where nothing comes after it.

    They are final ones, unless it names a pre-release or nothing else exists.
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
    names: dict[RejectionReason, list[str]] = {}
    for file in files:
        names.setdefault(file.reason, []).append(file.filename)
    rows = (
        UnparsedFiles(reason, len(filenames), filenames[0]) for reason, filenames in names.items()
    )
    return tuple(sorted(rows, key=lambda row: -row.count))


def similar_project(clauses: Clauses, name: str) -> str:
    """The project with a similar name in facts or the stack, or with almost the same name in metadata read so far.

    Empty if there is none.
    """
    universe = clauses.universe
    problem = universe.problem
    in_files = {
        root.need.name for root in problem.stack.requirements if isinstance(root.need, Requirement)
    }
    in_files.update(
        name for fact in problem.facts for name in (fact.package, *projects_named_by(fact))
    )
    edges = (
        edge for candidate in universe.opened_candidates() for edge in universe.edges(candidate)
    )
    required = {edge.package.name for edge in edges if edge.package.kind is PackageKind.PROJECT}

    def existing(names: Iterable[str]) -> Iterator[str]:
        return (
            row
            for row in map(text.name, names)
            if not universe.is_loaded(row) or universe.project(row).exists
        )

    similar = (
        closest(name, existing(in_files), _SIMILAR),
        closest(name, existing(required), _NEARLY_THE_SAME),
    )
    return closest(name, similar, _SIMILAR)


def origin_statement(origin: RequirementOrigin) -> Statement:
    """The statement of a line that asks for a project."""
    if isinstance(origin, StackLine):
        return Asks(text=origin.text, where=origin.where)
    assert isinstance(origin, NeedLine)  # noqa: S101  nothing else asks for a project
    name, _, version = origin.parent.rpartition(" ")
    of_fact = origin.fact is not None and origin.source is NeedSource.METADATA
    return Needs(
        subject=name,
        versions=(ReleaseRange(version, version, 1),),
        needs=origin.text,
        source=NeedSource.FACT if of_fact else origin.source,
        where=origin.filename if origin.fact is None else origin.where,
        fact=origin.fact,
    )


def cutoff_text(cutoff: dt.datetime | None) -> str:
    """A cut-off as the day at whose end it is, or as a moment; empty for none."""
    if cutoff is None:
        return ""
    last = cutoff.astimezone(dt.timezone.utc) - dt.timedelta(microseconds=1)
    return last.date().isoformat() if last.time() == dt.time.max else cutoff.isoformat()


def nearest_first(files: Iterable[Rejection], target: Target) -> tuple[Rejection, ...]:
    """The files, those closest to the target first; wheels for another system come last."""
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
