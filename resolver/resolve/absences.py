"""What does not exist: releases without a usable file, and requirements that no release meets.

Each has a variable, which only the ground of its absence rules out. So a core names an absence if and only if it
matters.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from packaging.specifiers import SpecifierSet

from resolver.model import text
from resolver.model.dependency import Allows, Package
from resolver.model.release import Reason, Rejection, Release
from resolver.model.resolution import Lack
from resolver.resolve.demand import pins
from resolver.resolve.grounded import Ground, Grounded, Lacking, Line, Taken
from resolver.resolve.project import Project
from resolver.resolve.universe import Universe


class Absences:
    """The absences of a universe. `rows` has what each ground rules out: package, position, variable of a release.

    Clauses are passed to the methods and not kept: in a short run nothing collects cycles, and clauses hold a solver.
    """

    def __init__(self, universe: Universe) -> None:
        self.rows: dict[Ground, list[tuple[Package, int, int]]] = {}
        self._universe = universe
        self._known: dict[Package, dict[int, int]] = {}  # position of an unusable release -> variable
        self._nowhere: dict[tuple[Package, str], int] = {}

    def releases(self, clauses: Grounded, package: Package, usable: Collection[int]) -> Iterator[tuple[int, int]]:
        """Position and variable of each unusable release of a project, created during iteration."""
        project = self._universe.project(text.name(package.name))
        absent = self._known[package] = {}
        for position in project.positions(project.all):
            if position not in usable:
                variable = absent[position] = clauses.fresh()
                ground = self._why(project, position)
                self.rows.setdefault(ground, []).append((package, position, variable))
                clauses.rule([ground], [-variable])
                yield position, variable

    def missing(self, clauses: Grounded, base: Package, allows: Allows | None) -> Iterator[int]:
        """The variables of releases that are unusable or do not exist."""
        project = self._universe.project(text.name(base.name))
        if not project.found:
            yield self.elsewhere(clauses, base, "", Lacking(base.name, Lack.PROJECT, ""))
            return
        mask = project.all if allows is None else project.mask(allows)
        if project.unreachable and mask and (allows is None or not pins(allows)):
            yield self.elsewhere(clauses, base, "", Lacking(base.name, Lack.UNREACHABLE, ""))
        if not mask:
            wanted = str(allows) if isinstance(allows, SpecifierSet) else ""
            if project.source is not None:  # there might be one without the line that names the commit
                ask, _ = self._universe.sources[project.name]
                because = Lacking(base.name, Lack.SOURCE, wanted), Line(ask.origin, "")
                yield self.elsewhere(clauses, base, wanted, *because)
            else:
                yield self.elsewhere(clauses, base, wanted, Lacking(base.name, Lack.RELEASE, wanted))
        for position, variable in self._known.get(base, {}).items():
            if mask >> position & 1:
                yield variable

    def elsewhere(self, clauses: Grounded, package: Package, wanted: str, *because: Ground) -> int:
        """A variable for something required that does not exist. It excludes nothing, since it is unknown."""
        known = self._nowhere.get((package, wanted))
        if known is None:
            known = self._nowhere[package, wanted] = clauses.fresh()
            clauses.rule(because, [-known])
        return known

    def _why(self, project: Project, position: int) -> Ground:
        release = project.release(position)
        if isinstance(release, Release):
            return Lacking(project.name, Lack.PRERELEASE, "")  # excluded by the policy
        return why_set_aside(self._universe, project, position, release)


def why_set_aside(universe: Universe, project: Project, position: int, files: Sequence[Rejection]) -> Ground:
    """The ground on which a release is unusable."""
    fact = universe.taken_by(project.name, project.versions[position])
    if fact is not None and any(row.reason is Reason.FACT for row in files):
        return Taken(project.name, fact.id)
    if any(row.reason in (Reason.NEWER, Reason.NO_DATE) for row in files):
        return Lacking(project.name, Lack.CUTOFF, "")
    return Lacking(project.name, Lack.FILE, "")
