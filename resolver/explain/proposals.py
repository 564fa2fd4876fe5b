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
from resolver.explain.changes import Changes, with_new_fact
from resolver.explain.costs import ADD, BUILD, FREE
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
from resolver.model.edit import SetLine, TurnOnPractice, UseFacts
from resolver.model.explanation import Change, ChangeKind
from resolver.model.fact import Absent, Builds, Metadata
from resolver.model.package import Package, PackageKind
from resolver.model.release import File, Rejection, RejectionReason, Release
from resolver.model.requirement import ComponentRequirement, Requirement
from resolver.model.target import missing_on_machine, newer_glibc, tag_values
from resolver.resolve.clauses import Clauses
from resolver.resolve.reasons import similar_project

# of a project that are read for what they note: they may be large
_ARCHIVES = 3
_PYTHON = re.compile(r";.*\b(?:python_version|python_full_version|implementation_version)\b")
_GLIBC = re.compile(r"\bGLIBC_(\d{1,2}\.\d{1,3})\b")


class Proposals:
    """Changed stacks to lock, for constraints of one problem that clash."""

    def __init__(self, clauses: Clauses, trials: Trials, changes: Changes) -> None:
        self._clauses = clauses
        self._trials = trials
        self._changes = changes
        self._problem = trials.problem
        self._machine = tag_values(self._problem.target)
        self._built = {fact.package for fact in self._problem.facts if isinstance(fact, Builds)}

    # --- names, practices, lines

    def renamed_projects(self, constraints: Sequence[Constraint]) -> Iterator[ChangedStack]:
        """Yield the stack with known projects instead of similar names that no index has."""
        known = {
            constraint.project: similar_project(self._clauses, constraint.project)
            for constraint in constraints
            if isinstance(constraint, Unavailable) and constraint.why is NoCandidate.PROJECT
        }
        changes = []
        for root in self._problem.stack.requirements:
            need, origin = root.need, root.origin
            if not isinstance(need, Requirement):
                continue
            name = known.get(need.name)
            if name:
                line = str(replace(need, name=text.name(name)))
                changes.append(
                    Change(
                        ChangeKind.VERSION,
                        text.name(name),
                        origin.text,
                        line,
                        where=origin.where,
                        edit=SetLine(root.number, line),
                    )
                )
        if changes:
            yield ChangedStack(tuple(changes), FREE * len(changes), risky=False)

    def enabled_practices(self) -> Iterator[ChangedStack]:
        """Yield the stack with every practice about a project that it may need turned on.

        The price is that of one. Those that a solution can do without are turned off again.
        """
        is_loaded = self._clauses.universe.is_loaded
        practices = [
            practice.id
            for practice in self._problem.available_practices
            if is_loaded(text.name(practice.package))
        ]
        if practices:
            where = self._trials.files.stack.line("stack")
            changes = [
                Change(ChangeKind.PRACTICE, name, where=where, edit=TurnOnPractice(name))
                for name in practices
            ]
            yield ChangedStack(tuple(changes), FREE, risky=False)

    def added_lines(self, core: Sequence[Constraint]) -> Iterator[ChangedStack]:
        """Yield the stack with a line for a project of which a fact says: another must be absent.

        The two clash in the core. The fact holds only where a line names the project.
        """
        exclusive = [constraint.fact for constraint in core if isinstance(constraint, Exclusive)]
        pairs = {(fact.package, fact.other) for fact in exclusive}
        requested = {edge.package.name for edge in self._clauses.universe.roots()}
        where = self._trials.files.stack.line("stack", "requires")
        for fact in self._problem.facts:
            if not isinstance(fact, Absent) or fact.package in requested:
                continue
            if (fact.package, fact.other) in pairs:
                versions = fact.versions[0] if len(fact.versions) == 1 else ""
                line = f"{fact.package}{versions}"
                edit = SetLine(self._trials.next_number, line, self._problem.stack.group)
                change = Change(ChangeKind.LINE, fact.package, fact.other, line, where, edit=edit)
                yield ChangedStack((change,), FREE, risky=False)

    # --- Pythons

    def other_pythons(self, constraints: Sequence[Constraint]) -> Iterator[ChangedStack]:
        """Yield the stack for other Pythons, nearest first, if a constraint depends on Python."""
        if any(
            _is_value_of("python", constraint) or self._depends_on_python(constraint)
            for constraint in constraints
        ):
            yield from self._values("python", constraints)

    def _depends_on_python(self, constraint: Constraint) -> bool:
        """Return whether another Python could remove a constraint.

        That is so for missing files, and for a requirement with a marker.
        """
        if isinstance(constraint, Unavailable):
            if constraint.why in (RejectionReason.PYTHON, RejectionReason.PATCH):
                return True
            if constraint.why is NoCandidate.FILE:
                return self._has_files_for_others(constraint)
            return constraint.is_unusable and self._has_wheels_for_others(constraint)
        return _is_of_metadata(constraint) and self._is_marked(constraint)

    def _has_files_for_others(self, constraint: Unavailable) -> bool:
        """Return whether releases without a usable file have one for another Python."""
        project = self._clauses.universe.project(constraint.project)
        for excluded in self._clauses.ruled_out_releases.get(constraint, ()):
            files = project.release(excluded.position)
            if isinstance(files, tuple) and any(map(self._lacks_only_python, files)):
                return True
        return False

    def _lacks_only_python(self, file: Rejection) -> bool:
        """Return whether a file is for this machine with another Python."""
        missing = missing_on_machine(file.filename, self._machine).keys()
        is_about_python = file.reason in (RejectionReason.PYTHON, RejectionReason.PATCH)
        return missing <= {"python"} and (bool(missing) or is_about_python)

    def _has_wheels_for_others(self, constraint: Unavailable) -> bool:
        """Return whether unusable archives have wheels for other Pythons on this machine."""
        project = self._clauses.universe.project(constraint.project)
        for candidate in self._releases_of(constraint):
            for wheel in project.wheels_set_aside(candidate.release.position):
                if missing_on_machine(wheel.filename, self._machine).keys() == {"python"}:
                    return True
        return False

    def _is_marked(self, constraint: Requires) -> bool:
        """Return whether metadata has a requirement under a marker about Python.

        Of the releases with it the newest one is read.
        """
        release = self._releases_of(constraint)[0].release
        if not release.file.is_wheel:
            return False
        with suppress(UnusableFile, ResolverError):
            for line in self._trials.catalog.metadata(release.file).requires_dist:
                is_about_python = _PYTHON.search(line) is not None
                if is_about_python and _without_marker(line) == constraint.text:
                    return True
        return False

    # --- glibcs

    def other_glibcs(self, constraints: Sequence[Constraint]) -> Iterator[ChangedStack]:
        """Yield the stack for another glibc, nearest first.

        A constraint is about glibc, or a wheel needs a newer one.
        """
        if any(_is_value_of("glibc", constraint) for constraint in constraints):
            yield from self._values("glibc", constraints)
        glibcs: set[str] = set()
        for constraint in constraints:
            if not isinstance(constraint, Unavailable):
                continue
            if constraint.why is NoCandidate.FILE or constraint.is_unusable:
                glibcs.update(self._glibcs_of_wheels(constraint.project))
            if constraint.why is RejectionReason.GLIBC:
                glibcs.update(self._glibcs_of_binaries(constraint))
        for glibc in sorted(glibcs, key=Version):
            yield self.component("glibc", glibc)

    def _glibcs_of_wheels(self, name: NormalizedName) -> Iterator[str]:
        """Yield the newer glibcs for which releases of a project have a wheel."""
        project = self._clauses.universe.project(name)
        for position in project.positions(project.all):
            release = project.release(position)
            # one that cannot be used is a tuple of its rejected files
            rejected = release if isinstance(release, tuple) else project.wheels_set_aside(position)
            glibc = newer_glibc((file.filename for file in rejected), self._machine)
            if glibc:
                yield glibc

    def _glibcs_of_binaries(self, constraint: Unavailable) -> Iterator[str]:
        """Yield the glibcs that binaries need which cannot be used as the target's is older."""
        for candidate in self._releases_of(constraint):
            rejection = self._clauses.universe.rejections[candidate]
            match = _GLIBC.search(rejection.detail)
            if match is not None:
                yield match[1]

    # --- components

    def _values(self, component: str, constraints: Sequence[Constraint]) -> Iterator[ChangedStack]:
        """Yield the stack for each other value of a component, nearest first.

        All requirements on the component admit it.
        """
        needs = []
        for constraint in constraints:
            for _, edge in self._clauses.edges.get(constraint, ()):
                need = edge.allows
                if isinstance(need, ComponentRequirement) and need.component == component:
                    needs.append(need)
        for value in self._problem.values.get(component, ()):
            is_other = value != self._problem.target.system[component]
            if is_other and all(need.allows(value) for need in needs):
                yield self.component(component, str(value))

    def component(self, name: str, value: str) -> ChangedStack:
        """Return the stack with another value of a component."""
        constraint = self._problem.component_value(name)
        chosen = self._problem.target.components[name].parse(value)
        candidate = Candidate(Package(name, "", PackageKind.COMPONENT), chosen)
        return self._changes.apply([constraint], {constraint: candidate})

    # --- facts

    def builds_from_source(self, core: Sequence[Constraint]) -> Iterator[ChangedStack]:
        """Yield the stack with unused facts that build a project of a core from source.

        Then the metadata of its wheels does not matter.
        """
        needs = [constraint for constraint in core if _is_of_metadata(constraint)]
        for name in dict.fromkeys(need.package.name for need in needs):
            unused = self._unused_facts(name) if name not in self._built else None
            if unused is not None and unused.content.of(Builds):
                yield self._with_facts(unused)

    def facts_for_archives(self, core: Sequence[Constraint]) -> Iterator[ChangedStack]:
        """Yield the stack with a fact that states what a core's archive needs.

        That is an unused one, or what the archive notes, and only for releases that the stack's own
        lines admit.
        """
        for constraint in core:
            if not isinstance(constraint, Unavailable):
                continue
            if constraint.why is not RejectionReason.DYNAMIC:
                continue
            admitted = self._admitted(constraint)
            unused = self._unused_facts(constraint.project) if admitted else None
            if unused is not None:
                builds, states = unused.content.of(Builds), unused.content.of(Metadata)
                if builds or states:
                    yield self._with_facts(unused)
                    continue
            components = [
                known for known in self._clauses.known if isinstance(known, ComponentValue)
            ]
            others = [other for other in (*core, *components) if other != constraint]
            noted = self._first_notes(admitted, others)
            if noted is not None:
                yield self._with_notes(constraint.project, *noted)

    def _admitted(self, constraint: Unavailable) -> list[Candidate]:
        """Return the releases with a constraint that the stack's own lines admit."""
        universe = self._clauses.universe
        lines = [edge for edge in universe.roots() if edge.package.name == constraint.project]
        return [
            candidate
            for candidate in self._releases_of(constraint)
            if all(universe.is_admitted(candidate, line) for line in lines)
        ]

    def _first_notes(
        self, candidates: Sequence[Candidate], others: Sequence[Constraint]
    ) -> tuple[Release, InformalRequirements] | None:
        """Return the first release that the other constraints leave, with what its archive notes.

        Only a few archives are read. None if they note nothing.
        """
        clauses = self._clauses
        possible = (
            candidate.release
            for candidate in candidates
            if clauses.satisfiable([clauses.variable(candidate)], others)
        )
        for release in islice(dict.fromkeys(possible), _ARCHIVES):
            notes = self._notes(release.file)
            if notes is not None:
                return release, notes
        return None

    def _notes(self, file: File) -> InformalRequirements | None:
        """Return the requirements that an archive notes, if a fact can express them."""
        with suppress(UnusableFile, ResolverError, InvalidRequirement):
            notes = informal_requirements(file, self._trials.catalog)
            if notes is not None and not any(text.requirement(line).url for line in notes.lines):
                return notes
        return None

    def _unused_facts(self, name: str) -> Document[FactFile] | None:
        """Return the facts about a project that the stack leaves out, if there are any."""
        for file in self._trials.files.spare:
            if not is_generated(file) and PurePosixPath(file.name).stem == name:
                return file
        return None

    def _with_facts(self, file: Document[FactFile]) -> ChangedStack:
        name = PurePosixPath(file.name).stem
        where = self._trials.files.stack.line("stack", "facts")
        edit = UseFacts(name)
        change = Change(ChangeKind.FACTS, name, after=file.name, where=where, edit=edit)
        return ChangedStack((change,), ADD, risky=False)

    def _with_notes(self, name: str, release: Release, notes: InformalRequirements) -> ChangedStack:
        row: dict[str, object] = {
            "package": name,
            "versions": f"=={release.version}",
            "requires": list(notes.lines),
            "reason": "To be confirmed from its setup.py: "
            f"it has no static metadata, and {notes.how}",
        }
        change = Change(ChangeKind.STATE, name, release.file.filename)
        change = with_new_fact(change, self._problem, "metadata", row, notes.source)
        project = self._clauses.universe.project(text.name(name))
        if project.wheels_set_aside(release.position):
            # for other machines: one of those, or another release, is nearer
            return ChangedStack((change,), BUILD, risky=False, unproven=1)
        return ChangedStack((change,), FREE, risky=False)

    def _releases_of(self, constraint: Constraint) -> list[Candidate]:
        """Return the releases with a constraint, newest first."""
        edges = self._clauses.edges.get(constraint, ())
        return [candidate for candidate, _ in edges if candidate is not None]


def _is_value_of(component: str, constraint: Constraint) -> bool:
    """Return whether a constraint is the target's value of a component."""
    return isinstance(constraint, ComponentValue) and constraint.component == component


def _is_of_metadata(constraint: Constraint) -> TypeGuard[Requires]:
    return isinstance(constraint, Requires) and constraint.source is RequirementSource.METADATA


def _without_marker(line: str) -> str:
    return text.requirement(line).without_marker()
