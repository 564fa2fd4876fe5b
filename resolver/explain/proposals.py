"""Changes of what can be used at all, of which clauses know nothing: another Python or glibc, facts that build."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import TypeGuard

from resolver.catalog.protocol import UnusableFile
from resolver.errors import ResolverError
from resolver.explain.changes import Changed, Changes, proposal_day
from resolver.explain.edit import StackText
from resolver.explain.prices import ADD, OVERRIDE
from resolver.explain.trial import Trials
from resolver.matrix.document import Document
from resolver.matrix.schema import FactFile
from resolver.model import text
from resolver.model.candidate import Candidate, Release
from resolver.model.component import parse_value
from resolver.model.explanation import Change, ChangeKind
from resolver.model.fact import Builds
from resolver.model.package import Kind, Package
from resolver.model.release import File
from resolver.model.statement import Lack, Source
from resolver.solve.clauses import Clauses
from resolver.solve.ground import Component, Ground, Lacking, Said
from resolver.solve.tell import meant

_REQUIREMENTS_FILES = ("requirements/common.txt", "requirements-common.txt")
_MANYLINUX = re.compile(r"manylinux_(\d+)_(\d+)_")


class Proposals:
    """Changed stacks to lock, for cores of one problem."""

    def __init__(self, clauses: Clauses, trials: Trials, changes: Changes) -> None:
        self._clauses = clauses
        self._trials = trials
        self._changes = changes
        self._problem = trials.problem
        self._built = {fact.package for fact in self._problem.facts if isinstance(fact, Builds)}

    def names(self, cores: Sequence[Sequence[Ground]]) -> Iterator[Changed]:
        """The stack with known projects in place of those of similar names that no index has."""
        found: dict[str, str] = {}
        for core in cores:
            for ground in core:
                if isinstance(ground, Lacking) and ground.lack is Lack.PROJECT:
                    found[ground.project.partition("[")[0]] = meant(self._clauses, ground.project)
        names = {name: close for name, close in found.items() if close}
        if names:
            yield self._changes.renamed(names)

    def pythons(self, cores: Sequence[Sequence[Ground]]) -> Iterator[Changed]:
        """The stack for other Pythons, the nearest first, where a core is about Python or the lack of files for it."""
        if not any(ground == Component("python") or _lacks_file(ground) for core in cores for ground in core):
            return
        for value in self._problem.values.get("python", ()):
            if value != self._problem.target.system["python"]:
                yield self._component("python", str(value))

    def glibcs(self, cores: Sequence[Sequence[Ground]]) -> Iterator[Changed]:
        """The stack for a newer glibc, the nearest first, where a wheel for the target's machine asks for one."""
        names = {ground.project for core in cores for ground in core if _lacks_file(ground)}
        found = {value for name in names for value in self._glibcs_of(name.partition("[")[0])}
        for major, minor in sorted(found):
            yield self._component("glibc", f"{major}.{minor}")

    def _glibcs_of(self, name: str) -> Iterator[tuple[int, int]]:
        project = self._clauses.universe.project(text.name(name))
        for position in project.positions(project.all):
            release = project.release(position)
            for row in release if isinstance(release, tuple) else ():
                if row.filename.endswith(f"_{self._problem.target.machine}.whl"):
                    for match in _MANYLINUX.finditer(row.filename):
                        value = int(match[1]), int(match[2])
                        if value > self._problem.target.glibc:
                            yield value

    def _component(self, name: str, value: str) -> Changed:
        ground = Component(name)
        candidate = Candidate(Package(name, "", Kind.SYSTEM), parse_value(name, value))
        return self._changes.apply([ground], {ground: candidate})

    def builds(self, core: Sequence[Ground]) -> Iterator[Changed]:
        """The stack with facts that build a project of a core from source: its wheel's requirements do not count then.

        They are facts that the stack leaves out, or a proposal where the archive
        has a requirements file of its own for such a build.
        """
        said: dict[str, Said] = {}
        for ground in core:
            if _of_metadata(ground):
                said.setdefault(ground.package.name, ground)
        for name, ground in said.items():
            if name in self._built:
                continue
            spare = next((one for one in self._trials.inputs.spare if PurePosixPath(one.name).stem == name), None)
            if spare is not None and spare.content.builds:
                yield self._with_facts(spare)
            else:
                yield from self._proposed(ground)

    def _with_facts(self, spare: Document[FactFile]) -> Changed:
        name = PurePosixPath(spare.name).stem
        stack = StackText(self._trials.text).with_fact_file(name)
        where = self._trials.inputs.stack.line("stack", "facts")
        change = Change(kind=ChangeKind.ADD, subject=name, before="", after=spare.name, where=where)
        return Changed((change,), stack.text, ADD, risky=False)

    def _proposed(self, ground: Said) -> Iterator[Changed]:
        """A `builds` fact for a release that a ground speaks of, if its archive has the file for it."""
        project = self._clauses.universe.project(text.name(ground.package.name))
        parent = next((parent for parent, _ in self._clauses.edges[ground]), None)
        if parent is None or not isinstance(parent.chosen, Release) or not parent.chosen.file.is_wheel:
            return
        for archive in project.archives(parent.chosen.position):
            found = self._requirements_file(archive)
            if found is not None:
                yield self._build_of(project.name, str(parent.version), found)

    def _build_of(self, name: str, version: str, requirements: str) -> Changed:
        row: dict[str, object] = {
            "package": name,
            "versions": f"=={version}",
            "from": "sdist",
            "requires-from": requirements,
            "reason": "To be confirmed: built from source it needs what this file says, not its wheel",
            "strength": "observed",
            "source": "proposed by ascend-lock explain",
            "checked": proposal_day(self._problem),
        }
        base = StackText(self._trials.text)
        stack = base.with_table("fact.builds", row)
        change = Change(
            kind=ChangeKind.ADD, subject=name, before="", after=stack.text[len(base.text.rstrip()) :].strip(), where=""
        )
        return Changed((change,), stack.text, OVERRIDE, risky=True)

    def _requirements_file(self, archive: File) -> str | None:
        for path in _REQUIREMENTS_FILES:
            try:
                self._trials.catalog.member(archive, path)
            except (UnusableFile, ResolverError):
                continue
            return path
        return None


def _lacks_file(ground: Ground) -> TypeGuard[Lacking]:
    return isinstance(ground, Lacking) and ground.lack is Lack.FILE


def _of_metadata(ground: Ground) -> TypeGuard[Said]:
    return isinstance(ground, Said) and ground.source is Source.METADATA
