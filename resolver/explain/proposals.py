"""Changes of what can be used at all, about which clauses know nothing.

That is practices turned on, another Python or glibc, facts that build from source, and facts that say what an archive
without static metadata needs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date
from itertools import chain, islice, repeat
from pathlib import PurePosixPath
from typing import TypeGuard

from resolver.config.load import Document
from resolver.config.schema import FactFile
from resolver.errors import ResolverError
from resolver.explain.changes import Changed, Changes, practices_on, proposed
from resolver.explain.costs import ADD, NOTE, OVERRIDE, PRACTICE, named
from resolver.explain.edit import StackText
from resolver.explain.trial import Trials
from resolver.index.parse.noted import Noted
from resolver.index.parse.simple import moment
from resolver.index.protocol import UnusableFile
from resolver.model import text
from resolver.model.dependency import Candidate, Kind, Package
from resolver.model.explanation import Change, ChangeKind
from resolver.model.fact import Builds, Practice, Replaces
from resolver.model.release import File, Reason, Release
from resolver.model.requirement import ComponentRequirement, parse_value
from resolver.model.resolution import Lack, Pin, Source
from resolver.model.target import machine_of, newer_glibc
from resolver.resolve.clauses import Clauses
from resolver.resolve.core_statements import meant
from resolver.resolve.grounded import Component, Ground, Lacking, Said
from resolver.resolve.needs import DYNAMIC

_REQUIREMENTS_FILES = ("requirements/common.txt", "requirements-common.txt")
_MARKED = 3  # releases with the same requirement whose metadata is searched for markers
_PYTHON = re.compile(r";.*\b(?:python_version|python_full_version|implementation_version)\b")


class Proposals:
    """Changed stacks to lock, for cores of one problem."""

    def __init__(self, clauses: Clauses, trials: Trials, changes: Changes) -> None:
        self._clauses = clauses
        self._trials = trials
        self._changes = changes
        self._problem = trials.problem
        self._built = {fact.package for fact in self._problem.facts if isinstance(fact, Builds)}

    def names(self, cores: Sequence[Sequence[Ground]]) -> Iterator[Changed]:
        """The stack with projects that no index has replaced by known ones with similar names."""
        found: dict[str, str] = {}
        for core in cores:
            for ground in core:
                if isinstance(ground, Lacking) and ground.lack is Lack.PROJECT:
                    found[ground.project.partition("[")[0]] = meant(self._clauses, ground.project)
        names = {name: close for name, close in found.items() if close}
        if names:
            yield self._changes.renamed(names)

    def practices(self, cores: Sequence[Sequence[Ground]]) -> Iterator[Changed]:
        """The stack with all practices that lift a statement of a core."""
        found = [
            practice.id
            for practice in self._problem.practices
            if any(self._is_lifted(ground, practice) for core in cores for ground in core)
        ]
        if found:
            stack = StackText(self._trials.text).with_practices(found)
            change = practices_on(found, self._trials.inputs.stack.line("stack"))
            yield Changed((change,), stack.text, PRACTICE * len(found), risky=False)

    def _is_lifted(self, ground: Ground, practice: Practice) -> bool:
        """Whether a practice replaces a requirement."""
        return (
            isinstance(practice, Replaces)
            and isinstance(ground, Said)
            and ground.package.name == practice.package
            and named(ground.text) in practice.drop
            and any(
                parent is not None and practice.speaks_of(parent.version) for parent, _ in self._clauses.edges[ground]
            )
        )

    def pythons(self, cores: Sequence[Sequence[Ground]]) -> Iterator[Changed]:
        """The stack for other Pythons, nearest first, if a core is about Python or missing files for it."""
        grounds = chain.from_iterable(cores)
        if any(ground == Component("python") or self._depends_on_python(ground) for ground in grounds):
            yield from self._values("python", cores)

    def glibcs(self, cores: Sequence[Sequence[Ground]]) -> Iterator[Changed]:
        """The stack for another glibc, nearest first, if a core is about it or a wheel needs a newer one."""
        if any(ground == Component("glibc") for core in cores for ground in core):
            yield from self._values("glibc", cores)
        names = {ground.project for core in cores for ground in core if _lacks_file(ground)}
        found = {value for name in names for value in self._glibcs_of(name.partition("[")[0])}
        for major, minor in sorted(found):
            yield self._component("glibc", f"{major}.{minor}")

    def _values(self, component: str, cores: Sequence[Sequence[Ground]]) -> Iterator[Changed]:
        """The stack for each other value of a component that a core's statements about it admit, nearest first."""
        stated = [
            edge.allows
            for core in cores
            if Component(component) in core
            for ground in core
            for _, edge in self._clauses.edges.get(ground, ())
            if isinstance(edge.allows, ComponentRequirement) and edge.allows.component == component
        ]
        for value in self._problem.values.get(component, ()):
            if value != self._problem.target.system[component] and all(need.allows(value) for need in stated):
                yield self._component(component, str(value))

    def _depends_on_python(self, ground: Ground) -> bool:
        """Whether another Python could remove a ground: a missing file, or a requirement with a marker."""
        if isinstance(ground, Lacking):
            return ground.lack is Lack.FILE or (ground.lack is Lack.UNUSABLE and "python" in ground.detail.lower())
        return _of_metadata(ground) and any(map(self._marked, self._files(ground), repeat(ground)))

    def _files(self, ground: Said) -> Iterator[File]:
        """The files of a few of the releases with this requirement, newest first."""
        parents = (parent for parent, _ in self._clauses.edges[ground] if parent is not None)
        releases = (parent.chosen for parent in islice(parents, _MARKED))
        return (one.file for one in releases if isinstance(one, Release) and one.file.is_wheel)

    def _marked(self, file: File, ground: Said) -> bool:
        """Whether the metadata of a file has this requirement under a marker that is about Python."""
        try:
            lines = self._trials.catalog.metadata(file).requires_dist
        except (UnusableFile, ResolverError):
            return False
        return any(_PYTHON.search(line) and text.requirement(line).without_marker() == ground.text for line in lines)

    def _glibcs_of(self, name: str) -> Iterator[tuple[int, int]]:
        project = self._clauses.universe.project(text.name(name))
        machine = machine_of(self._problem.target)
        for position in project.positions(project.all):
            release = project.release(position)
            rows = release if isinstance(release, tuple) else project.wheels_set_aside(position)
            glibc = newer_glibc((row.filename for row in rows), machine)
            if glibc:
                major, _, minor = glibc.partition(".")
                yield int(major), int(minor)

    def _component(self, name: str, value: str) -> Changed:
        ground = Component(name)
        candidate = Candidate(Package(name, "", Kind.SYSTEM), parse_value(name, value))
        return self._changes.apply([ground], {ground: candidate})

    def builds(self, core: Sequence[Ground]) -> Iterator[Changed]:
        """The stack with facts that build a project of a core from source, so its wheel's requirements do not apply.

        These are facts that the stack leaves out, or a proposal if the archive has a requirements file for such builds.
        """
        said: dict[str, Said] = {}
        for ground in core:
            if _of_metadata(ground):
                said.setdefault(ground.package.name, ground)
        for name, ground in said.items():
            if self._trials.clock.expired():
                return
            if name in self._built:
                continue
            spare = self._spare(name)
            if spare is not None and spare.content.builds:
                yield self._with_facts(spare, self._trials.text)
            else:
                yield from self._proposed(ground)

    def left_out(self, core: Sequence[Ground]) -> Iterator[Changed]:
        """The stack with left-out facts about a core's archive that does not state what it needs."""
        for ground in core:
            if is_unstated(ground):
                spare = self._spare(ground.project.partition("[")[0])
                if spare is not None and (spare.content.metadata or spare.content.builds):
                    yield self._with_facts(spare, self._trials.text)

    def _spare(self, name: str) -> Document[FactFile] | None:
        """The facts about a project that the stack leaves out, if there are any."""
        return next((one for one in self._trials.inputs.spare if PurePosixPath(one.name).stem == name), None)

    def _with_facts(self, spare: Document[FactFile], text: str) -> Changed:
        name = PurePosixPath(spare.name).stem
        stack = StackText(text).with_fact_file(name)
        where = self._trials.inputs.stack.line("stack", "facts")
        change = Change(ChangeKind.ADD, name, after=spare.name, where=where)
        return Changed((change,), stack.text, ADD, risky=False)

    def _proposed(self, ground: Said) -> Iterator[Changed]:
        """A `builds` fact for a release that a ground is about, if its archive has the file for it."""
        project = self._clauses.universe.project(text.name(ground.package.name))
        parent = next((parent for parent, _ in self._clauses.edges[ground]), None)
        if parent is None or not isinstance(parent.chosen, Release) or not parent.chosen.file.is_wheel:
            return
        for archive in project.archives(parent.chosen.position):
            found = self._requirements_file(archive)
            if found is not None:
                row = {
                    "package": project.name,
                    "versions": f"=={parent.version}",
                    "from": "sdist",
                    "requires-from": found,
                    "reason": "To be confirmed: built from source it needs what this file says, not its wheel",
                }
                change = Change(ChangeKind.ADD, project.name)
                change, stack = proposed(self._problem, StackText(self._trials.text), change, "builds", row)
                yield Changed((change,), stack.text, OVERRIDE, risky=True)

    def stating(self, changed: Changed, needed: Sequence[tuple[Pin, Noted]]) -> Changed:
        """A changed stack with facts about archives that note what they need: left-out facts, or proposals."""
        for pin, noted in needed:
            spare = self._spare(pin.name)
            if spare is not None and spare.content.metadata:
                further = self._with_facts(spare, changed.text)
            else:
                further = self._stated(pin, noted, changed.text)
            changed = changed.then(further)
        return changed

    def _stated(self, pin: Pin, noted: Noted, text: str) -> Changed:
        row: dict[str, object] = {
            "package": pin.name,
            "versions": f"=={pin.version}",
            "requires": list(noted.lines),
            "reason": f"To be confirmed from its setup.py: it has no static metadata, and {noted.how}",
        }
        change = Change(ChangeKind.STATE, pin.name, pin.release.file.filename)
        change, stack = proposed(self._problem, StackText(text), change, "metadata", row, noted.where)
        return Changed((change,), stack.text, NOTE, risky=False)

    def _requirements_file(self, archive: File) -> str | None:
        for path in _REQUIREMENTS_FILES:
            try:
                self._trials.catalog.member(archive, path)
            except (UnusableFile, ResolverError):
                continue
            return path
        return None


def _lacks_file(ground: Ground) -> TypeGuard[Lacking]:
    """Whether a ground is a lack of files, or of a wheel where the archive cannot be used."""
    return isinstance(ground, Lacking) and ground.lack in (Lack.FILE, Lack.UNUSABLE)


def is_unstated(ground: Ground) -> TypeGuard[Lacking]:
    """Whether a ground is a lack of static metadata in archives."""
    return isinstance(ground, Lacking) and ground.lack is Lack.UNUSABLE and ground.detail == DYNAMIC


def _of_metadata(ground: Ground) -> TypeGuard[Said]:
    return isinstance(ground, Said) and ground.source is Source.METADATA


def first_day(clauses: Clauses, core: Sequence[Ground]) -> date | None:
    """The first upload day of the releases that a core lacks because of the cut-off; None if it lacks none.

    With any earlier cut-off the core clashes. A cut-off that is a day means its end, in UTC.
    """
    return min(_days(clauses, core), default=None)


def _days(clauses: Clauses, core: Sequence[Ground]) -> Iterator[date]:
    for ground in core:
        if not isinstance(ground, Lacking) or ground.lack is not Lack.CUTOFF:
            continue
        project = clauses.universe.project(text.name(ground.project))
        rest = [other for other in core if other != ground]
        for _, position, variable in clauses.absent[ground]:
            files = project.release(position)
            if isinstance(files, tuple) and clauses.satisfiable([variable], rest):
                for row in files:
                    uploaded = moment(row.detail) if row.reason is Reason.NEWER else None
                    if uploaded is not None:
                        yield uploaded.date()
