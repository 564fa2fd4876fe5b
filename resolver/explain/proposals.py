"""Propose changed stacks in which other files can be used. `repairs` locks them.

The clauses know nothing of such changes: another name of a project, a practice that is turned on,
another Python or glibc, a fact that builds a project from source, or a fact that states the
requirements of an archive without static metadata.
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

from resolver.config.load import is_generated
from resolver.config.schema import FactFile
from resolver.config.toml_files import Document
from resolver.errors import ResolverError
from resolver.explain.changed_stack import ChangedStack
from resolver.explain.changes import Changes, new_fact
from resolver.explain.costs import ADD, BUILD, FREE
from resolver.explain.trials import Trials
from resolver.index.parse.informal import InformalRequirements, informal_requirements
from resolver.index.protocol import UnusableFile
from resolver.model import text
from resolver.model.change import (
    ArchiveStated,
    FactsUsed,
    LineAdded,
    PracticesOn,
    VersionChanged,
)
from resolver.model.constraint import (
    ComponentValue,
    Constraint,
    Exclusive,
    NoCandidate,
    ReleaseRequires,
    RequirementSource,
    Unavailable,
)
from resolver.model.dependency import Candidate
from resolver.model.fact import Absent, Builds, Metadata, Practice
from resolver.model.package import Package, PackageKind
from resolver.model.release import File, Rejection, RejectionReason, Release
from resolver.model.requirement import ComponentRequirement, Requirement
from resolver.model.slips import is_slip
from resolver.model.source import RepositoryFile
from resolver.model.target import missing_on_machine, newer_glibc, tag_values
from resolver.resolve.clauses import Clauses
from resolver.resolve.reasons import similar_project

# How many archives of a project are read for the requirements that they note: archives may be
# large.
_ARCHIVES = 3
_PYTHON = re.compile(r";.*\b(?:python_version|python_full_version|implementation_version)\b")
_GLIBC = re.compile(r"\bGLIBC_(\d{1,2}\.\d{1,3})\b")


class Proposals:
    """Proposes changed stacks for constraints of one problem that clash."""

    def __init__(self, clauses: Clauses, trials: Trials, changes: Changes) -> None:
        self._clauses = clauses
        self._trials = trials
        self._changes = changes
        self._problem = trials.problem
        self._machine = tag_values(self._problem.target)
        self._built = {fact.package for fact in self._problem.facts if isinstance(fact, Builds)}

    # --- names, practices, lines

    def renamed_projects(self, constraints: Sequence[Constraint]) -> Iterator[ChangedStack]:
        """Yield the stack with known projects in place of slips in names that no index has.

        All such names are corrected in one changed stack. Nothing is yielded if there are none. A
        name that differs by more than a slip may be a project of one's own, or something that no
        index has: another project in its place would be no fix.
        """
        known = {
            constraint.project: similar_project(self._clauses, constraint.project)
            for constraint in constraints
            if isinstance(constraint, Unavailable) and constraint.why is NoCandidate.PROJECT
        }
        changes = []
        for root in self._problem.stack.requirements:
            need = root.need
            if not isinstance(need, Requirement):
                continue
            name = known.get(need.name)
            if name and is_slip(need.name, name):
                meant = replace(need, name=text.name(name))
                where = root.origin.where
                changes.append(VersionChanged(before=root, after=meant, where=where))
        if changes:
            yield ChangedStack(tuple(changes), FREE * len(changes), risky=False)

    def enabled_practices(self) -> Iterator[ChangedStack]:
        """Yield the stack with every available practice about a project that it may need.

        A stack may need a project if its page was read. What the image of another project does is
        proposed only if the stack may need that project as well. The price is the price of one
        practice: the caller turns off practices that the solution does not need.
        """
        practices = [
            practice.id
            for practice in self._problem.available_practices
            if self._may_need(practice.package) and self._has_image_of(practice)
        ]
        if practices:
            where = self._trials.files.stack.line("stack")
            changes = [PracticesOn(names=(name,), where=where) for name in practices]
            yield ChangedStack(tuple(changes), FREE, risky=False)

    def _may_need(self, project: NormalizedName) -> bool:
        """Return whether the stack may need a project: its page was read."""
        return self._clauses.universe.is_loaded(text.name(project))

    def _has_image_of(self, practice: Practice) -> bool:
        """Return whether the stack may need a project whose image does what a practice says.

        The image's files are cited, and its repository has the name of a project that facts are
        about. True if the facts say nothing of the projects whose repositories are cited.
        """
        names = {
            text.name(reference.repository.name.rpartition("/")[2])
            for reference in practice.source.references
            if isinstance(reference, RepositoryFile)
        }
        known = {fact.package for fact in self._problem.facts}
        projects = names & known
        return not projects or any(map(self._may_need, projects))

    def added_lines(self, core: Sequence[Constraint]) -> Iterator[ChangedStack]:
        """Yield the stack with one more line, so that another project need not be installed.

        The core says that two projects cannot be installed together. An `absent` fact says that one
        of them makes the other unnecessary, but it only holds if a line of the stack names the
        first one. That line is added.
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
                need = text.requirement(f"{fact.package}{versions}")
                change = LineAdded(
                    need=need,
                    absent=fact.other,
                    where=where,
                    number=self._trials.next_number,
                    group=self._problem.stack.group,
                )
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
        """Return whether a constraint may not hold for another Python.

        That is so if files are missing or unusable for this Python, and for a requirement of
        metadata whose marker is about Python.
        """
        if isinstance(constraint, Unavailable):
            if constraint.why in (RejectionReason.PYTHON, RejectionReason.PATCH):
                return True
            if constraint.why is NoCandidate.FILE:
                return self._has_files_for_others(constraint)
            return constraint.is_unusable and self._has_wheels_for_others(constraint)
        return _is_of_metadata(constraint) and self._is_marked(constraint)

    def _has_files_for_others(self, constraint: Unavailable) -> bool:
        """Return whether a release without a usable file has a file for another Python."""
        project = self._clauses.universe.project(constraint.project)
        for excluded in self._clauses.ruled_out_releases.get(constraint, ()):
            files = project.release(excluded.position)
            if isinstance(files, tuple) and any(map(self._lacks_only_python, files)):
                return True
        return False

    def _lacks_only_python(self, file: Rejection) -> bool:
        """Return whether a file could be used on this machine with another Python."""
        missing = missing_on_machine(file.filename, self._machine).keys()
        is_about_python = file.reason in (RejectionReason.PYTHON, RejectionReason.PATCH)
        return missing <= {"python"} and (bool(missing) or is_about_python)

    def _has_wheels_for_others(self, constraint: Unavailable) -> bool:
        """Return whether a release with an unusable archive has a wheel for another Python.

        The wheel must be for this machine.
        """
        project = self._clauses.universe.project(constraint.project)
        for candidate in self._releases_of(constraint):
            for wheel in project.wheels_set_aside(candidate.release.position):
                if missing_on_machine(wheel.filename, self._machine).keys() == {"python"}:
                    return True
        return False

    def _is_marked(self, constraint: ReleaseRequires) -> bool:
        """Return whether a wheel has this requirement with a marker about Python.

        The newest release that has the requirement is read; False if it cannot be read.
        """
        release = self._releases_of(constraint)[0].release
        if not release.file.is_wheel:
            return False
        with suppress(UnusableFile, ResolverError):
            for line in self._trials.catalog.metadata(release.file).requires_dist:
                if _PYTHON.search(line) is None:
                    continue
                if text.requirement(line).without_marker() == constraint.text:
                    return True
        return False

    # --- glibcs

    def other_glibcs(self, constraints: Sequence[Constraint]) -> Iterator[ChangedStack]:
        """Yield the stack for other glibcs.

        If a constraint is about glibc, all other values are proposed, nearest first. Then come the
        newer glibcs that wheels and their binaries need which the constraints rule out, the oldest
        first.
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
        """Yield the newer glibcs that unusable wheels of a project are built for.

        There is at most one for each release: see `newer_glibc`.
        """
        project = self._clauses.universe.project(name)
        for position in project.positions(project.all):
            release = project.release(position)
            # A release that cannot be used is a tuple of its rejected files.
            rejected = release if isinstance(release, tuple) else project.wheels_set_aside(position)
            glibc = newer_glibc((file.filename for file in rejected), self._machine)
            if glibc:
                yield glibc

    def _glibcs_of_binaries(self, constraint: Unavailable) -> Iterator[str]:
        """Yield the glibcs that binaries need in wheels that a constraint rules out.

        The wheels are ruled out because the target's glibc is older.
        """
        for candidate in self._releases_of(constraint):
            rejection = self._clauses.universe.rejection(candidate)
            match = _GLIBC.search(rejection.detail)
            if match is not None:
                yield match[1]

    # --- components

    def _values(self, component: str, constraints: Sequence[Constraint]) -> Iterator[ChangedStack]:
        """Yield the stack for each other value of a component, nearest first.

        Values that a requirement in the constraints does not allow are left out.
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
        """Yield the stack with spare facts that build a project of the core from source.

        The metadata of its wheels then does not matter. Spare facts are files of facts that the
        stack leaves out.
        """
        needs = [constraint for constraint in core if _is_of_metadata(constraint)]
        for name in dict.fromkeys(need.package.name for need in needs):
            unused = self._unused_facts(name) if name not in self._built else None
            if unused is not None and unused.content.of(Builds):
                yield self._with_facts(unused)

    def facts_for_archives(self, core: Sequence[Constraint]) -> Iterator[ChangedStack]:
        """Yield the stack with facts that state what an archive without static metadata requires.

        For each such archive in the core, these are spare facts about its project, or else a new
        fact with the requirements that the archive notes, for example in setup.py. Only releases
        that the stack's own lines admit are looked at.
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
        """Return the first release whose archive notes what it requires, and these requirements.

        Only releases that the `others` do not rule out are read, and only a few of them. None if
        their archives note nothing that a fact can express.
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
        """Return the requirements that an archive notes without being metadata.

        None if there are none, if one is an address, which a fact cannot express, or if the archive
        cannot be read.
        """
        with suppress(UnusableFile, ResolverError, InvalidRequirement):
            notes = informal_requirements(file, self._trials.catalog)
            if notes is not None and not any(text.requirement(line).url for line in notes.lines):
                return notes
        return None

    def _unused_facts(self, name: str) -> Document[FactFile] | None:
        """Return the spare file of facts about a project; None if there is none."""
        for file in self._trials.files.spare:
            if not is_generated(file) and PurePosixPath(file.name).stem == name:
                return file
        return None

    def _with_facts(self, file: Document[FactFile]) -> ChangedStack:
        """Return the stack with a spare file of facts."""
        name = PurePosixPath(file.name).stem
        where = self._trials.files.stack.line("stack", "facts")
        change = FactsUsed(project=name, file=file.name, where=where)
        return ChangedStack((change,), ADD, risky=False)

    def _with_notes(
        self, name: NormalizedName, release: Release, notes: InformalRequirements
    ) -> ChangedStack:
        """Return the stack with a new fact that states the requirements an archive notes."""
        fact: dict[str, object] = {
            "package": name,
            "versions": f"=={release.version}",
            "requires": list(notes.lines),
            "reason": "To be confirmed from its setup.py: "
            f"it has no static metadata, and {notes.how}",
        }
        rows = new_fact(self._problem, "metadata", fact, notes.source)
        change = ArchiveStated(project=name, archive=release.file.filename, rows=rows)
        project = self._clauses.universe.project(name)
        if project.wheels_set_aside(release.position):
            # The release has wheels for other machines. To change to one of these machines, or to
            # another release, is a smaller change.
            return ChangedStack((change,), BUILD, risky=False, unproven=1)
        return ChangedStack((change,), FREE, risky=False)

    def _releases_of(self, constraint: Constraint) -> list[Candidate]:
        """Return the releases that a constraint is about, newest first."""
        edges = self._clauses.edges.get(constraint, ())
        return [candidate for candidate, _ in edges if candidate is not None]


def _is_value_of(component: str, constraint: Constraint) -> bool:
    """Return whether a constraint is the value that the target has of a component."""
    return isinstance(constraint, ComponentValue) and constraint.component == component


def _is_of_metadata(constraint: Constraint) -> TypeGuard[ReleaseRequires]:
    """Return whether a constraint is a requirement of a release's core metadata."""
    return (
        isinstance(constraint, ReleaseRequires) and constraint.source is RequirementSource.METADATA
    )
