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
from resolver.model.constraint import (
    ComponentValue,
    Constraint,
    Exclusive,
    NoCandidate,
    RequirementSource,
    Requires,
    Unavailable,
)
from resolver.model.dependency import Candidate
from resolver.model.explanation import Change, ChangeKind
from resolver.model.fact import Absent, Builds, Collides
from resolver.model.package import Package, PackageKind
from resolver.model.release import File, RejectionReason, Release
from resolver.model.requirement import ComponentRequirement, Requirement, parse_value
from resolver.model.target import missing_on_machine, newer_glibc, tag_values
from resolver.resolve.clauses import Clauses
from resolver.resolve.reasons import similar_project

_MARKED = 3  # releases with the same requirement whose metadata is searched for markers
_ARCHIVES = 3  # of a project that are read for what they note: they may be large
_PYTHON = re.compile(r";.*\b(?:python_version|python_full_version|implementation_version)\b")
_GLIBC = re.compile(r"\bGLIBC_(\d{1,2}\.\d{1,3})\b")


class Proposals:
    """Changed stacks to lock, for constraints of one problem that clash."""

    def __init__(self, clauses: Clauses, trials: Trials, changes: Changes) -> None:
        self._clauses = clauses
        self._trials = trials
        self._changes = changes
        self._problem = trials.problem
        self._built = {fact.package for fact in self._problem.facts if isinstance(fact, Builds)}

    def renamed_projects(self, constraints: Sequence[Constraint]) -> Iterator[ChangedStack]:
        """The stack with projects that no index has replaced by known ones with similar names."""
        names = {
            constraint.project: similar_project(self._clauses, constraint.project)
            for constraint in constraints
            if isinstance(constraint, Unavailable) and constraint.why is NoCandidate.PROJECT
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

    def added_lines(self, core: Sequence[Constraint]) -> Iterator[ChangedStack]:
        """The stack with a line for a project that clashes with what must be absent where a line names it."""
        facts = [fact for fact in self._problem.facts if isinstance(fact, (Absent, Collides))]
        exclusive = [row.fact for row in core if isinstance(row, Exclusive)]
        pairs = {(fact.package, fact.other) for fact in exclusive}
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

    def other_pythons(self, constraints: Sequence[Constraint]) -> Iterator[ChangedStack]:
        """The stack for other Pythons, nearest first, if a constraint is about Python or missing files for it."""
        if any(
            _is_value_of("python", constraint) or self._depends_on_python(constraint)
            for constraint in constraints
        ):
            yield from self._values("python", constraints)

    def other_glibcs(self, constraints: Sequence[Constraint]) -> Iterator[ChangedStack]:
        """The stack for another glibc, nearest first, if a constraint is about it or a wheel needs a newer one."""
        if any(_is_value_of("glibc", constraint) for constraint in constraints):
            yield from self._values("glibc", constraints)
        lacks = (constraint for constraint in constraints if isinstance(constraint, Unavailable))
        names = {
            constraint.project
            for constraint in lacks
            if constraint.why is NoCandidate.FILE or constraint.is_unusable
        }
        glibcs = {glibc for name in names for glibc in self._glibcs_of(name)}
        glibcs.update(self._glibcs_of_binaries(constraints))
        for glibc in sorted(glibcs, key=Version):
            yield self._component("glibc", glibc)

    def _glibcs_of_binaries(self, constraints: Sequence[Constraint]) -> Iterator[str]:
        """Yield what the binaries need of the releases that cannot be used as the target's glibc is older."""
        for constraint in constraints:
            if (
                not isinstance(constraint, Unavailable)
                or constraint.why is not RejectionReason.GLIBC
            ):
                continue
            for candidate, _ in self._clauses.edges.get(constraint, ()):
                if candidate is None:
                    continue
                rejection = self._clauses.universe.rejections[candidate]
                match = _GLIBC.search(rejection.detail)
                if match is not None:
                    yield match[1]

    def _values(self, component: str, constraints: Sequence[Constraint]) -> Iterator[ChangedStack]:
        """The stack for each other value of a component that all statements about it admit, nearest first."""
        requirements = [
            edge.allows
            for constraint in constraints
            for _, edge in self._clauses.edges.get(constraint, ())
            if isinstance(edge.allows, ComponentRequirement) and edge.allows.component == component
        ]
        for value in self._problem.values.get(component, ()):
            if value != self._problem.target.system[component] and all(
                need.allows(value) for need in requirements
            ):
                yield self._component(component, str(value))

    def _depends_on_python(self, constraint: Constraint) -> bool:
        """Whether another Python could remove a constraint: a missing file, or a requirement with a marker."""
        if isinstance(constraint, Unavailable):
            if constraint.why in (NoCandidate.FILE, RejectionReason.PYTHON, RejectionReason.PATCH):
                return True
            return constraint.is_unusable and self._has_wheels_for_others(constraint)
        return _of_metadata(constraint) and self._is_marked(constraint)

    def _has_wheels_for_others(self, constraint: Unavailable) -> bool:
        """Whether archives that cannot be used are of releases with wheels for other Pythons on this machine."""
        project, machine = (
            self._clauses.universe.project(constraint.project),
            tag_values(self._problem.target),
        )
        for candidate, _ in self._clauses.edges.get(constraint, ()):
            if candidate is not None:
                for row in project.wheels_set_aside(candidate.release.position):
                    if missing_on_machine(row.filename, machine).keys() == {"python"}:
                        return True
        return False

    def _is_marked(self, constraint: Requires) -> bool:
        """Whether the metadata of the newest releases with this requirement has it under a marker about Python."""
        parents = (parent for parent, _ in self._clauses.edges[constraint] if parent is not None)
        for release in [parent.chosen for parent in islice(parents, _MARKED)]:
            if isinstance(release, Release) and release.file.is_wheel:
                with suppress(UnusableFile, ResolverError):
                    for line in self._trials.catalog.metadata(release.file).requires_dist:
                        if (
                            _PYTHON.search(line)
                            and text.requirement(line).without_marker() == constraint.text
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
        constraint = self._problem.component_value(name)
        candidate = Candidate(Package(name, "", PackageKind.COMPONENT), parse_value(name, value))
        return self._changes.apply([constraint], {constraint: candidate})

    def builds_from_source(self, core: Sequence[Constraint]) -> Iterator[ChangedStack]:
        """The stack with unused facts that build a project of a core from source, so that its wheel does not matter."""
        for name in dict.fromkeys(
            constraint.package.name for constraint in core if _of_metadata(constraint)
        ):
            unused = self._unused_facts(name) if name not in self._built else None
            if unused is not None and unused.content.builds:
                yield self._with_facts(unused)

    def facts_for_archives(self, core: Sequence[Constraint]) -> Iterator[ChangedStack]:
        """The stack with a fact that states what a core's archive needs: an unused one, or what the archive notes.

        Only for releases that the stack's own lines admit.
        """
        clauses, universe = self._clauses, self._clauses.universe
        for constraint in core:
            if not isinstance(constraint, Unavailable):
                continue
            if constraint.why is not RejectionReason.DYNAMIC:
                continue
            lines = [edge for edge in universe.roots() if edge.package.name == constraint.project]
            parents = [parent for parent, _ in clauses.edges[constraint] if parent is not None]
            admitted = [
                parent
                for parent in parents
                if all(universe.is_admitted(parent, line) for line in lines)
            ]
            unused = self._unused_facts(constraint.project) if admitted else None
            if unused is not None and (unused.content.metadata or unused.content.builds):
                yield self._with_facts(unused)
                continue
            others = [other for other in core if other != constraint]
            possible = (
                parent
                for parent in admitted
                if clauses.satisfiable([clauses.variable(parent)], others)
            )
            for release in islice(dict.fromkeys(parent.release for parent in possible), _ARCHIVES):
                if (notes := self._notes(release.file)) is not None:
                    yield self._with_notes(constraint.project, release, notes)
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


def _is_value_of(component: str, constraint: Constraint) -> bool:
    """Return whether a constraint is the target's value of a component."""
    return isinstance(constraint, ComponentValue) and constraint.component == component


def _of_metadata(constraint: Constraint) -> TypeGuard[Requires]:
    return isinstance(constraint, Requires) and constraint.source is RequirementSource.METADATA
