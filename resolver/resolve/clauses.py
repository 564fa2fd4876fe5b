"""A problem as clauses of a SAT solver, more of them as metadata is read.

There is a variable for each candidate of each package that something needs; at most one candidate
of a package is chosen. Clauses rest on grounds (see `grounded`), and a ground can be left out.

A release without a usable file, and one that is required and does not exist, has a variable, too,
which only the ground of its absence rules out. So a core names an absence if and only if it
matters.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Final

from packaging.specifiers import SpecifierSet

from resolver.model import text
from resolver.model.dependency import Allows, Candidate, Edge, Package, PackageKind, Unusable
from resolver.model.fact import Excludes, Names
from resolver.model.release import RejectionReason, Release
from resolver.model.requirement import ComponentRequirement
from resolver.model.resolution import Lack
from resolver.resolve.candidates import pins
from resolver.resolve.check_refutation import Claim, ClaimedRelease
from resolver.resolve.grounded import Grounded
from resolver.resolve.grounds import (
    CollisionGround,
    ComponentGround,
    ExclusionGround,
    Ground,
    LackGround,
    LineGround,
    grounds,
)
from resolver.resolve.project import Project
from resolver.resolve.provider import Prefetch
from resolver.resolve.universe import Universe

# How many pins of a project are compared, each with each. The clauses of further ones only make
# reports shorter: a pin admits no release but its own without them.
_COMPARED: Final = 100


class Clauses(Grounded):
    """One problem's clauses. Those that rest on `relaxed` grounds do not count.

    A pre-release or a yanked release is taken only if a requirement permits it, and any release
    that has not been read might have such a requirement. Unless `reading` is set, they are assumed
    to have none.
    """

    def __init__(self, universe: Universe) -> None:
        super().__init__()
        self.universe = universe
        self.packages: dict[Package, list[Candidate]] = {}
        self.edges: dict[
            Ground, list[tuple[Candidate | None, Edge]]
        ] = {}  # what each ground was added for
        # what each ground of an absence rules out: package, position of the release, variable
        self.ruled_out_releases: dict[Ground, list[tuple[Package, int, int]]] = {}
        self._permitting: dict[
            Ground, dict[Candidate, None]
        ] = {}  # who permits what a policy rules out
        self._set_aside: dict[
            Package, dict[int, int]
        ] = {}  # position of an unusable release -> variable
        self._nowhere: dict[tuple[Package, str], int] = {}  # package and specifier -> variable
        self._ruled_out: list[tuple[Package, Lack, Callable[[Edge], bool], bool]] = []
        self._pins: dict[Package, list[tuple[SpecifierSet, list[int], bool]]] = {}
        self._bounds: dict[
            Package, list[tuple[list[int], SpecifierSet]]
        ] = {}  # clauses of bounds on each project
        self.prefetch = Prefetch(universe)
        self._variables: dict[Candidate, int] = {}
        self._candidates: dict[int, Candidate] = {}
        self._opened: dict[Candidate, None] = {}
        self._unread: set[int] = set()
        for edge in universe.roots():
            self._add(None, edge)

    # --- what is known

    def candidates(self) -> Iterable[Candidate]:
        """Every candidate so far, in the order in which they became known."""
        return self._variables

    def variable(self, candidate: Candidate) -> int:
        """The variable of a candidate."""
        variable = self._variables.get(candidate)
        if variable is None:
            variable = self._variables[candidate] = self.new_variable()
            self._candidates[variable] = candidate
        return variable

    def opened(self, candidate: Candidate) -> bool:
        """Whether the clauses include what the candidate needs."""
        return candidate in self._opened

    def open(self, candidate: Candidate) -> None:
        """Add what a candidate needs. Reads its metadata."""
        if self.opened(candidate):
            return
        edges = self.universe.edges(candidate)  # first, as it may raise
        self._opened[candidate] = None
        self.add_package(candidate.package)
        self.prefetch.prefetch(edges)
        for edge in edges:
            if edge.package.kind is not PackageKind.MODULE:  # known since the package was added
                self._add(candidate, edge)

    def import_clauses(self, other: Clauses) -> int:
        """Open what other clauses have opened, of the packages that these have.

        The result is a variable that, assumed, rules out what the policy excludes in the other
        ones, where it holds.
        """
        for opened in other._opened:
            package = opened.package
            if package.kind is PackageKind.PROJECT and package in self.packages:
                candidate = self.universe.candidate(package, opened.release.position)
                if candidate is not None and candidate.release.file == opened.release.file:
                    self.open(candidate)
        # the new version of a line that is relaxed may permit what the policy otherwise excludes
        lines = [ground for ground in self.relaxed if isinstance(ground, LineGround)]
        relaxed_packages = {edge.package.base for line in lines for _, edge in self.edges[line]}
        excludes = self.new_variable()
        for package, lack, permits, any_may in other._ruled_out:
            if package in self.packages and package not in relaxed_packages:
                self.rule_out(package, lack, permits, any_may=any_may, unless=[-excludes])
        return excludes

    def add_package(self, package: Package) -> None:
        """Add a package's candidates, and why its other releases are not candidates."""
        if package in self.packages:
            return
        candidates = self.packages[package] = list(self.universe.all_candidates(package))
        variables = [self.variable(candidate) for candidate in candidates]
        absent: list[int] = []
        if package.kind is PackageKind.PROJECT and not package.extra:
            absent = list(
                self._absent_releases(
                    package, {candidate.release.position for candidate in candidates}
                )
            )
            for candidate in candidates:
                for edge in self.universe.module_edges(candidate):
                    self._add(candidate, edge)
        self.at_most_one([*variables, *absent])
        if (
            package.kind is not PackageKind.MODULE
        ):  # tried first: the most preferred of each package
            self._solver.set_phases(
                [*variables[:1], *(-variable for variable in (*variables[1:], *absent))]
            )
        if package.kind is PackageKind.COMPONENT:
            self.rule([ComponentGround(package.name)], [variables[0]])
        for clause, bound in self._bounds.get(package, ()):
            self._exclude_beyond(package, bound, clause)
        if package.extra:
            self.add_package(package.base)
            # an extra is of its project's release: known without its metadata
            for candidate in candidates:
                base = self.universe.candidate(package.base, candidate.release.position)
                assert base is not None  # noqa: S101  it exists if the extra does
                self.add_clause([-self._variables[candidate], self._variables[base]])

    def rule_out(
        self,
        package: Package,
        lack: Lack,
        permits: Callable[[Edge], bool],
        *,
        any_may: bool,
        unless: Collection[int] = (),
    ) -> None:
        """Rule out a project's yanked releases, or its pre-releases, unless an edge of a chosen candidate permits them.

        If `any_may`, so may those that are not read yet, the releases themselves among them, or
        need another that does; these count only where `reading` is set. A true literal of `unless`
        permits them, too.
        """
        self._ruled_out.append((package, lack, permits, any_may))
        ground, permitted = LackGround(package.name, lack, ""), self.new_variable()
        read, unread = [], []
        for candidate in self.candidates():
            if candidate.package.kind is not PackageKind.PROJECT:
                continue
            if candidate not in self._opened:
                unread += [self.variable(candidate)] if any_may else []
            elif any(
                edge.package.base == package and permits(edge)
                for edge in self.universe.edges(candidate)
            ):
                read.append(self.variable(candidate))
                self._permitting.setdefault(ground, {})[candidate] = None
        # a line that is relaxed now may permit them when it is not
        rows = self._selectors.items()
        lines = [
            selector
            for row, selector in rows
            if row in self.relaxed and isinstance(row, LineGround)
        ]
        permitting = [*read, *lines, *unless]
        if unread:
            self._unread.update(unread)
            guard = self.new_variable()
            self._guards.append(guard)
            self.add_clause([-guard, *unread])
            permitting.append(guard)
        self.add_clause([-permitted, *permitting])
        absent = self.ruled_out_releases.setdefault(ground, [])
        for candidate in self.packages[package]:
            is_excluded = (
                candidate.release.yanked if lack is Lack.YANKED else candidate.version.is_prerelease
            )
            if is_excluded:
                variable = self.variable(candidate)
                row = (candidate.package, candidate.release.position, variable)
                absent += [row] if row not in absent else []
                self.rule([ground], [-variable, permitted])

    def any_of(self, candidates: Iterable[Candidate]) -> int:
        """A variable that, assumed, demands one of the candidates."""
        variable = self.new_variable()
        self.add_clause([-variable, *map(self.variable, candidates)])
        return variable

    # --- answers

    def claims(self, core: Iterable[Ground]) -> tuple[Claim, ...]:
        """Return what a core says, for the check of a refutation."""
        return tuple(self._claim(ground) for ground in core)

    def _claim(self, ground: Ground) -> Claim:
        releases = []
        for parent, edge in self.edges.get(ground, ()):
            if parent is not None and parent.package.kind is PackageKind.PROJECT:
                reason = edge.origin.reason if isinstance(edge.origin, Unusable) else None
                releases.append(_claimed(parent, reason))
        for package, position, _ in self.ruled_out_releases.get(ground, ()):
            project = self.universe.project(text.name(package.name))
            release = project.release(position)
            usable = release if isinstance(release, Release) else None
            releases.append(
                ClaimedRelease(project.name, project.versions[position], release=usable)
            )
        permitting = [_claimed(candidate) for candidate in self._permitting.get(ground, ())]
        return Claim(ground, tuple(dict.fromkeys(releases)), tuple(permitting))

    @property
    def unread(self) -> int:
        """How many releases that were not read could permit what was ruled out."""
        return sum(1 for variable in self._unread if self._candidates[variable] not in self._opened)

    def chosen(self) -> dict[Package, Candidate]:
        """The candidates of the last satisfying answer."""
        candidates = map(self._candidates.get, self._solver.get_model() or ())
        return {candidate.package: candidate for candidate in candidates if candidate is not None}

    def blamed(self) -> set[Candidate]:
        """The assumed candidates that the last unsatisfiable answer rests on."""
        core = self._solver.get_core() or ()
        return {self._candidates[literal] for literal in core if literal in self._candidates}

    # --- clauses

    def _add(self, parent: Candidate | None, edge: Edge) -> None:
        if edge.package.kind is PackageKind.VERSION:
            self._add_bound(parent, edge)
            return
        self.add_package(edge.package)
        premise = [] if parent is None else [-self.variable(parent)]
        for because, bounds in grounds(parent.package if parent is not None else None, edge):
            for ground in because:
                self.edges.setdefault(ground, []).append((parent, edge))
            if (
                bounds
                and isinstance(edge.allows, SpecifierSet)
                and not edge.package.extra
                and pins(edge.allows)
            ):
                selectors = [-self.selector(ground) for ground in because]
                self._exclude_other_pins(edge.package, edge.allows, [*selectors, *premise])
            self.rule(because, [*premise, *self._allowed(edge, edge.allows if bounds else None)])

    def _add_bound(self, parent: Candidate | None, edge: Edge) -> None:
        """Add the clauses of a bound: not the parent, or not a release beyond it.

        A bound requires nothing.
        """
        assert parent is not None  # noqa: S101  only releases have bounds
        project = Package(edge.package.name)
        for because, _ in grounds(parent.package, edge):
            for ground in because:
                self.edges.setdefault(ground, []).append((parent, edge))
            assert isinstance(edge.allows, SpecifierSet)  # noqa: S101  what is installed has no grounds
            clause = [*(-self.selector(ground) for ground in because), -self.variable(parent)]
            self._bounds.setdefault(project, []).append((clause, edge.allows))
            if project in self.packages:
                self._exclude_beyond(project, edge.allows, clause)

    def _exclude_beyond(self, package: Package, bound: SpecifierSet, clause: list[int]) -> None:
        """Add a clause for each release of a project that a bound does not admit."""
        mask = self.universe.mask(package, bound)
        for candidate in self.packages[package]:
            if not mask >> candidate.release.position & 1:
                self.add_clause([*clause, -self.variable(candidate)])
        for position, variable in self._set_aside.get(package, {}).items():
            if not mask >> position & 1:
                self.add_clause([*clause, -variable])

    def _exclude_other_pins(self, package: Package, pin: SpecifierSet, clause: list[int]) -> None:
        """Two pins that differ clash, whatever the indexes have."""
        unknown = not self.universe.mask(package, pin)
        known_pins = self._pins.setdefault(package, [])
        if len(known_pins) < _COMPARED:
            for other, other_clause, is_unknown in known_pins:
                if (unknown or is_unknown) and str(other) != str(pin) and _are_disjoint(other, pin):
                    self.add_clause([*clause, *other_clause])
            known_pins.append((pin, clause, unknown))

    def _allowed(self, edge: Edge, allows: Allows | None) -> Iterator[int]:
        """The variables that meet an edge; None stands for no bounds."""
        package = edge.package
        candidates = self.packages[package]
        if allows is not None and package.kind is PackageKind.PROJECT:
            mask = self.universe.mask(package, allows)
            candidates = [
                candidate for candidate in candidates if mask >> candidate.release.position & 1
            ]
        elif allows is not None:
            candidates = [candidate for candidate in candidates if candidate.satisfies(allows)]
        yield from map(self.variable, candidates)
        if package.kind is PackageKind.PROJECT:
            yield from self._missing(package.base, allows)
        elif isinstance(allows, ComponentRequirement) and not candidates:
            yield self._nonexistent(package, str(allows), ComponentGround(package.name))

    # --- what does not exist

    def _absent_releases(self, package: Package, usable: Collection[int]) -> Iterator[int]:
        """The variables of a project's releases that cannot be used; they own modules all the same."""
        project = self.universe.project(text.name(package.name))
        rows = self._set_aside[package] = {}
        for position in project.positions(project.all):
            if position in usable:
                continue
            variable = rows[position] = self.new_variable()
            ground = _why_absent(project, position)
            self.ruled_out_releases.setdefault(ground, []).append((package, position, variable))
            self.rule([ground], [-variable])
            for collision in self.universe.collisions(project.name, project.versions[position]):
                module = Package(collision.module, "", PackageKind.MODULE)
                self.add_package(module)
                owner = self.variable(self.universe.candidate_for(module, project.name))
                self.rule([CollisionGround(collision.id)], [-variable, owner])
            yield variable

    def _missing(self, base: Package, allows: Allows | None) -> Iterator[int]:
        """The variables of releases that are unusable or do not exist."""
        project = self.universe.project(text.name(base.name))
        if not project.exists:
            yield self._nonexistent(base, "", LackGround(base.name, Lack.PROJECT, ""))
            return
        mask = project.all if allows is None else project.mask(allows)
        if project.unreachable and mask and (allows is None or not pins(allows)):
            yield self._nonexistent(base, "", LackGround(base.name, Lack.UNREACHABLE, ""))
        if not mask:
            specifier = str(allows) if isinstance(allows, SpecifierSet) else ""
            because: list[Ground] = [LackGround(base.name, Lack.RELEASE, specifier)]
            if (
                project.source is not None
            ):  # there might be one without the line that names the commit
                root, _ = self.universe.sources[project.name]
                because = [
                    LackGround(base.name, Lack.SOURCE, specifier),
                    LineGround(root.origin, ""),
                ]
            yield self._nonexistent(base, specifier, *because)
        yield from (
            variable for at, variable in self._set_aside.get(base, {}).items() if mask >> at & 1
        )

    def _nonexistent(self, package: Package, specifier: str, *because: Ground) -> int:
        """The variable of something required that does not exist.

        It excludes nothing, since it is unknown.
        """
        variable = self._nowhere.get((package, specifier))
        if variable is None:
            variable = self._nowhere[package, specifier] = self.new_variable()
            self.rule(because, [-variable])
        return variable


def _claimed(candidate: Candidate, reason: RejectionReason | None = None) -> ClaimedRelease:
    name = text.name(candidate.package.name)
    return ClaimedRelease(
        name, candidate.version, candidate.package.extra, candidate.release, reason
    )


def _why_absent(project: Project, position: int) -> Ground:
    files = project.release(position)
    if isinstance(files, Release):
        return LackGround(project.name, Lack.PRERELEASE, "")  # excluded by the policy
    reasons = {file.reason for file in files}
    excluding = (*project.facts_about(position, Excludes), *project.facts_about(position, Names))
    if excluding and RejectionReason.FACT in reasons:
        return ExclusionGround(project.name, excluding[0].id)
    if not reasons.isdisjoint((RejectionReason.NEWER, RejectionReason.NO_DATE)):
        return LackGround(project.name, Lack.CUTOFF, "")
    return LackGround(project.name, Lack.FILE, "")


def _are_disjoint(first: SpecifierSet, second: SpecifierSet) -> bool:
    """Whether no version can meet both pins. `===` compares texts, and a release has only one."""
    versions = [specifier.version for specifier in (*first, *second) if text.is_exact(specifier)]
    return all(text.version(version) is not None for version in versions) and not any(
        first.contains(version, prereleases=True) and second.contains(version, prereleases=True)
        for version in versions
    )
