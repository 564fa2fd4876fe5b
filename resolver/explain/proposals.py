"""Changes that decide which files can be used at all, about which clauses know nothing.

These are other names, practices that are turned on, another Python or glibc, facts that build from
source, and facts that state the requirements of an archive without static metadata.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import PurePosixPath
from typing import TypeGuard

from msgspec.structs import replace
from packaging.requirements import InvalidRequirement
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.config.load import Document, is_generated
from resolver.config.schema import FactFile
from resolver.errors import ResolverError
from resolver.explain.changes import Changes, proposed
from resolver.explain.costs import ADD, BUILD, LINE, NOTE, PRACTICE, RENAME
from resolver.explain.stack_text import StackText
from resolver.explain.trial import ChangedStack, Trials
from resolver.index.parse.informal import InformalRequirements, informal_requirements
from resolver.index.protocol import UnusableFile
from resolver.model import text
from resolver.model.dependency import Candidate, NeedSource, Package, PackageKind, Unusable
from resolver.model.explanation import Change, ChangeKind
from resolver.model.fact import Absent, Builds, Collides
from resolver.model.release import File, RejectionReason, Release
from resolver.model.requirement import ComponentRequirement, Requirement, parse_value
from resolver.model.resolution import Lack
from resolver.model.target import missing_on_machine, newer_glibc, tag_values
from resolver.resolve.clauses import Clauses
from resolver.resolve.core_statements import similar_project
from resolver.resolve.grounds import (
    CollisionGround,
    ComponentGround,
    Ground,
    LackGround,
    RequirementGround,
)

_MARKED = 3  # releases with the same requirement whose metadata is searched for markers
_ARCHIVES = 3  # of a project that are read for what they note: they may be large
_PYTHON = re.compile(r";.*\b(?:python_version|python_full_version|implementation_version)\b")
_GLIBC = re.compile(r"\bGLIBC_(\d{1,2}\.\d{1,3})\b")


class Proposals:
    """Changed stacks to lock, for grounds of one problem that clash."""

    def __init__(self, clauses: Clauses, trials: Trials, changes: Changes) -> None:
        self._clauses = clauses
        self._trials = trials
        self._changes = changes
        self._problem = trials.problem
        self._built = {fact.package for fact in self._problem.facts if isinstance(fact, Builds)}

    def renamed_projects(self, grounds: Sequence[Ground]) -> Iterator[ChangedStack]:
        """The stack with projects that no index has replaced by known ones with similar names."""
        names = {
            ground.name: similar_project(self._clauses, ground.project)
            for ground in grounds
            if isinstance(ground, LackGround) and ground.lack is Lack.PROJECT
        }
        stack, changes = StackText(self._trials.text), []
        for at, root in enumerate(self._problem.stack.requirements):
            if isinstance(root.need, Requirement) and (name := names.get(root.need.name)):
                line, origin = str(replace(root.need, name=text.name(name))), root.origin
                changes.append(
                    Change(
                        ChangeKind.VERSION, text.name(name), origin.text, line, where=origin.where
                    )
                )
                stack = stack.with_line(at, line)
        if changes:
            yield ChangedStack(tuple(changes), stack.text, RENAME * len(changes), risky=False)

    def enabled_practices(self) -> Iterator[ChangedStack]:
        """The stack with every practice about a project that it may need turned on, at the price of one.

        Those that a solution can do without are turned off again.
        """
        is_loaded = self._clauses.universe.is_loaded
        practices = [
            practice.id
            for practice in self._problem.available_practices
            if is_loaded(text.name(practice.package))
        ]
        if practices:
            stack = StackText(self._trials.text).with_names("practices", practices)
            where = self._trials.inputs.stack.line("stack")
            changes = tuple(Change(ChangeKind.PRACTICE, name, where=where) for name in practices)
            yield ChangedStack(changes, stack.text, PRACTICE, risky=False)

    def added_lines(self, core: Sequence[Ground]) -> Iterator[ChangedStack]:
        """The stack with a line for a project that clashes with what must be absent where a line names it."""
        ids = {ground.fact for ground in core if isinstance(ground, CollisionGround)}
        facts = [fact for fact in self._problem.facts if isinstance(fact, (Absent, Collides))]
        pairs = {(fact.package, fact.other) for fact in facts if fact.id in ids}
        requested = {edge.package.name for edge in self._clauses.universe.roots()}
        for fact in facts:
            if (
                isinstance(fact, Absent)
                and (fact.package, fact.other) in pairs
                and fact.package not in requested
            ):
                line = f"{fact.package}{fact.versions[0] if len(fact.versions) == 1 else ''}"
                stack, where = (
                    StackText(self._trials.text),
                    self._trials.inputs.stack.line("stack", "requires"),
                )
                change = Change(
                    ChangeKind.LINE, fact.package, before=fact.other, after=line, where=where
                )
                yield ChangedStack((change,), stack.with_new_line(line).text, LINE, risky=False)

    def other_pythons(self, grounds: Sequence[Ground]) -> Iterator[ChangedStack]:
        """The stack for other Pythons, nearest first, if a ground is about Python or missing files for it."""
        if any(
            ground == ComponentGround("python") or self._depends_on_python(ground)
            for ground in grounds
        ):
            yield from self._values("python", grounds)

    def other_glibcs(self, grounds: Sequence[Ground]) -> Iterator[ChangedStack]:
        """The stack for another glibc, nearest first, if a ground is about it or a wheel needs a newer one."""
        if ComponentGround("glibc") in grounds:
            yield from self._values("glibc", grounds)
        lacks = (ground for ground in grounds if isinstance(ground, LackGround))
        names = {ground.name for ground in lacks if ground.lack in (Lack.FILE, Lack.UNUSABLE)}
        glibcs = {glibc for name in names for glibc in self._glibcs_of(name)}
        glibcs.update(self._glibcs_of_binaries(grounds))
        for glibc in sorted(glibcs, key=Version):
            yield self._component("glibc", glibc)

    def _glibcs_of_binaries(self, grounds: Sequence[Ground]) -> Iterator[str]:
        """Yield what the binaries need of the releases that cannot be used as the target's glibc is older."""
        for ground in grounds:
            for _, edge in self._clauses.edges.get(ground, ()):
                if (
                    isinstance(edge.origin, Unusable)
                    and edge.origin.reason is RejectionReason.GLIBC
                ):
                    match = _GLIBC.search(edge.origin.text)
                    if match is not None:
                        yield match[1]

    def _values(self, component: str, grounds: Sequence[Ground]) -> Iterator[ChangedStack]:
        """The stack for each other value of a component that all statements about it admit, nearest first."""
        requirements = [
            edge.allows
            for ground in grounds
            for _, edge in self._clauses.edges.get(ground, ())
            if isinstance(edge.allows, ComponentRequirement) and edge.allows.component == component
        ]
        for value in self._problem.values.get(component, ()):
            if value != self._problem.target.system[component] and all(
                need.allows(value) for need in requirements
            ):
                yield self._component(component, str(value))

    def _depends_on_python(self, ground: Ground) -> bool:
        """Whether another Python could remove a ground: a missing file, or a requirement with a marker."""
        if isinstance(ground, LackGround):
            is_unusable = ground.lack is Lack.UNUSABLE
            if is_unusable and ground.detail in (
                RejectionReason.PYTHON.name,
                RejectionReason.PATCH.name,
            ):
                return True
            return ground.lack is Lack.FILE or (is_unusable and self._has_wheels_for_others(ground))
        return _of_metadata(ground) and self._is_marked(ground)

    def _has_wheels_for_others(self, ground: LackGround) -> bool:
        """Whether archives that cannot be used are of releases with wheels for other Pythons on this machine."""
        project, machine = (
            self._clauses.universe.project(ground.name),
            tag_values(self._problem.target),
        )
        for candidate, _ in self._clauses.edges.get(ground, ()):
            if candidate is not None:
                for row in project.wheels_set_aside(candidate.release.position):
                    if missing_on_machine(row.filename, machine).keys() == {"python"}:
                        return True
        return False

    def _is_marked(self, ground: RequirementGround) -> bool:
        """Whether the metadata of the newest releases with this requirement has it under a marker about Python."""
        parents = (parent for parent, _ in self._clauses.edges[ground] if parent is not None)
        for release in [parent.chosen for parent in islice(parents, _MARKED)]:
            if isinstance(release, Release) and release.file.is_wheel:
                with suppress(UnusableFile, ResolverError):
                    for line in self._trials.catalog.metadata(release.file).requires_dist:
                        if (
                            _PYTHON.search(line)
                            and text.requirement(line).without_marker() == ground.text
                        ):
                            return True
        return False

    def _glibcs_of(self, name: NormalizedName) -> Iterator[str]:
        project = self._clauses.universe.project(name)
        machine = tag_values(self._problem.target)
        for position in project.positions(project.all):
            release = project.release(position)
            rows = release if isinstance(release, tuple) else project.wheels_set_aside(position)
            if glibc := newer_glibc((row.filename for row in rows), machine):
                yield glibc

    def _component(self, name: str, value: str) -> ChangedStack:
        ground = ComponentGround(name)
        candidate = Candidate(Package(name, "", PackageKind.COMPONENT), parse_value(name, value))
        return self._changes.apply([ground], {ground: candidate})

    def builds_from_source(self, core: Sequence[Ground]) -> Iterator[ChangedStack]:
        """The stack with unused facts that build a project of a core from source, so that its wheel does not matter."""
        for name in dict.fromkeys(ground.package.name for ground in core if _of_metadata(ground)):
            unused = self._unused_facts(name) if name not in self._built else None
            if unused is not None and unused.content.builds:
                yield self._with_facts(unused)

    def facts_for_archives(self, core: Sequence[Ground]) -> Iterator[ChangedStack]:
        """The stack with a fact that states what a core's archive needs: an unused one, or what the archive notes.

        Only for releases that the stack's own lines admit.
        """
        clauses, universe = self._clauses, self._clauses.universe
        dynamic = Lack.UNUSABLE, RejectionReason.DYNAMIC.name
        for ground in core:
            if not isinstance(ground, LackGround) or (ground.lack, ground.detail) != dynamic:
                continue
            lines = [edge for edge in universe.roots() if edge.package.name == ground.name]
            parents = [parent for parent, _ in clauses.edges[ground] if parent is not None]
            admitted = [
                parent
                for parent in parents
                if all(universe.is_admitted(parent, line) for line in lines)
            ]
            unused = self._unused_facts(ground.name) if admitted else None
            if unused is not None and (unused.content.metadata or unused.content.builds):
                yield self._with_facts(unused)
                continue
            others = [other for other in core if other != ground]
            possible = (
                parent
                for parent in admitted
                if clauses.satisfiable([clauses.variable(parent)], others)
            )
            for release in islice(dict.fromkeys(parent.release for parent in possible), _ARCHIVES):
                if (notes := self._notes(release.file)) is not None:
                    yield self._with_notes(ground.name, release, notes)
                    break

    def _notes(self, file: File) -> InformalRequirements | None:
        """The requirements that an archive notes, if a fact can express them."""
        with suppress(UnusableFile, ResolverError, InvalidRequirement):
            notes = informal_requirements(file, self._trials.catalog)
            if notes is not None and not any(text.requirement(line).url for line in notes.lines):
                return notes
        return None

    def _unused_facts(self, name: str) -> Document[FactFile] | None:
        """The facts about a project that the stack leaves out, if there are any."""
        files = [file for file in self._trials.inputs.spare if not is_generated(file)]
        return next((file for file in files if PurePosixPath(file.name).stem == name), None)

    def _with_facts(self, file: Document[FactFile]) -> ChangedStack:
        name = PurePosixPath(file.name).stem
        stack = StackText(self._trials.text).with_names("facts", [name])
        where = self._trials.inputs.stack.line("stack", "facts")
        change = Change(ChangeKind.FACTS, name, after=file.name, where=where)
        return ChangedStack((change,), stack.text, ADD, risky=False)

    def _with_notes(self, name: str, release: Release, notes: InformalRequirements) -> ChangedStack:
        row: dict[str, object] = {
            "package": name,
            "versions": f"=={release.version}",
            "requires": list(notes.lines),
            "reason": f"To be confirmed from its setup.py: it has no static metadata, and {notes.how}",
        }
        change = Change(ChangeKind.STATE, name, release.file.filename)
        change, stack = proposed(
            self._problem, StackText(self._trials.text), change, "metadata", row, notes.source
        )
        has_wheels = self._clauses.universe.project(text.name(name)).wheels_set_aside(
            release.position
        )
        return ChangedStack((change,), stack.text, BUILD if has_wheels else NOTE, risky=False)


def _of_metadata(ground: Ground) -> TypeGuard[RequirementGround]:
    return isinstance(ground, RequirementGround) and ground.source is NeedSource.METADATA
