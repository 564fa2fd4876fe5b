"""What is known of a problem as clauses of a SAT solver, growing as metadata becomes known.

There is a variable for each candidate of each package that something needs; at most one candidate of a package is
chosen. Clauses rest on grounds (see `grounded`), and a ground can be left out.

What does not exist, a release without a usable file or one that a requirement names in vain, has a variable, too, which
only the ground of its absence rules out. So a core names an absence if and only if it matters.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Final

from packaging.specifiers import SpecifierSet

from resolver.model import text
from resolver.model.dependency import Allows, Candidate, Edge, Package, PackageKind
from resolver.model.fact import Excludes, Names
from resolver.model.release import RejectionReason, Release
from resolver.model.requirement import ComponentRequirement
from resolver.model.resolution import Lack
from resolver.resolve.candidates import pins
from resolver.resolve.grounded import (
    CollisionGround,
    ComponentGround,
    ExclusionGround,
    Ground,
    Grounded,
    LackGround,
    LineGround,
    grounds,
)
from resolver.resolve.project import Project
from resolver.resolve.provider import Prefetch
from resolver.resolve.universe import Universe

# How many pins of a project are compared, each with each. The clauses of further ones only make reports shorter: a pin
# admits no release but its own without them.
_COMPARED: Final = 100


class Clauses(Grounded):
    """One problem's clauses. Those that rest on `relaxed` grounds do not count.

    A pre-release or a yanked release is taken only if a requirement names it, and any release that
    has not been read might have such a requirement. Unless `reading` is set, they are assumed to have none.
    """

    def __init__(self, universe: Universe) -> None:
        super().__init__()
        self.universe = universe
        self.packages: dict[Package, list[Candidate]] = {}
        self.edges: dict[Ground, list[tuple[Candidate | None, Edge]]] = {}  # what each ground was added for
        # what each ground of an absence rules out: package, position of the release, variable
        self.absent: dict[Ground, list[tuple[Package, int, int]]] = {}
        self._set_aside: dict[Package, dict[int, int]] = {}  # position of an unusable release -> variable
        self._nowhere: dict[tuple[Package, str], int] = {}  # package and specifier -> variable
        self._ruled_out: list[tuple[Package, Lack, Callable[[Edge], bool], bool]] = []
        self._pins: dict[Package, list[tuple[SpecifierSet, list[int], bool]]] = {}
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
        known = self._variables.get(candidate)
        if known is None:
            known = self._variables[candidate] = self.fresh()
            self._candidates[known] = candidate
        return known

    def opened(self, candidate: Candidate) -> bool:
        """Whether the clauses include what the candidate needs."""
        return candidate in self._opened

    def open(self, candidate: Candidate) -> None:
        """Add what a candidate needs. Reads its metadata."""
        if self.opened(candidate):
            return
        edges = self.universe.edges(candidate)  # first: what cannot be asked for stays unknown
        self._opened[candidate] = None
        self.introduce(candidate.package)
        self.prefetch.prefetch(edges)
        for edge in edges:
            self._add(candidate, edge)

    def learn(self, other: Clauses) -> int:
        """Open what other clauses have opened, as far as something here needs it.

        The result is a variable that, assumed, rules out what the policy excludes in the other ones, where it holds.
        """
        for candidate in other._opened:
            package = candidate.package
            if package.kind is PackageKind.PROJECT and package in self.packages:
                own = self.universe.candidate(package, candidate.release.position)
                if own is not None and own.release.file == candidate.release.file:
                    self.open(own)
        # the new version of a line that is relaxed may permit what the policy otherwise excludes
        lines = [ground for ground in self.relaxed if isinstance(ground, LineGround)]
        free = {edge.package.base for line in lines for _, edge in self.edges[line]}
        excludes = self.fresh()
        for package, lack, gives, any_may in other._ruled_out:
            if package in self.packages and package not in free:
                self.rule_out(package, lack, gives, any_may=any_may, unless=[-excludes])
        return excludes

    def introduce(self, package: Package) -> None:
        """Add a package's candidates, and why its other releases are not candidates."""
        if package in self.packages:
            return
        candidates = self.packages[package] = list(self.universe.all_candidates(package))
        variables = [self.variable(candidate) for candidate in candidates]
        absent: list[int] = []
        if package.kind is PackageKind.PROJECT and not package.extra:
            absent = list(self._absent_releases(package, {one.release.position for one in candidates}))
        self.at_most_one([*variables, *absent])
        if package.kind is not PackageKind.MODULE:  # tried first: the most preferred of each package
            self._solver.set_phases([*variables[:1], *(-variable for variable in (*variables[1:], *absent))])
        if package.kind is PackageKind.COMPONENT:
            self.rule([ComponentGround(package.name)], [variables[0]])
        if package.extra:
            self.introduce(package.base)
            # an extra is of its project's release: known without its metadata
            for one in candidates:
                base = self.universe.candidate(package.base, one.release.position)
                assert base is not None  # noqa: S101  it is there where the extra is
                self.add_clause([-self._variables[one], self._variables[base]])

    def rule_out(
        self,
        package: Package,
        lack: Lack,
        gives: Callable[[Edge], bool],
        *,
        any_may: bool,
        unless: Collection[int] = (),
    ) -> None:
        """Rule out a project's yanked releases, or its pre-releases, unless one is chosen whose edge gives leave.

        If `any_may`, so may those that are not read yet, the releases themselves among them, or need another that does;
        these count only where they are asked for: see `reading`. A true literal of `unless` gives leave, too.
        """
        self._ruled_out.append((package, lack, gives, any_may))
        ground, leave = LackGround(package.name, lack, ""), self.fresh()
        out = [
            one
            for one in self.packages[package]
            if (one.release.yanked if lack is Lack.YANKED else one.version.is_prerelease)
        ]
        read, unread = [], []
        for other in self.candidates():
            if other.package.kind is not PackageKind.PROJECT:
                continue
            if other not in self._opened:
                unread += [other] if any_may else []
            elif any(edge.package.base == package and gives(edge) for edge in self.universe.edges(other)):
                read.append(other)
        # a line that is relaxed now may give leave when it is not
        lines = [
            name for other, name in self._selectors.items() if other in self.relaxed and isinstance(other, LineGround)
        ]
        givers = [*map(self.variable, read), *lines, *unless]
        waiting = [*map(self.variable, unread)]
        if waiting:
            self._unread.update(waiting)
            guard = self.fresh()
            self._guards.append(guard)
            self.add_clause([-guard, *waiting])
            givers.append(guard)
        self.add_clause([-leave, *givers])
        rows = self.absent.setdefault(ground, [])
        for candidate in out:
            row = (candidate.package, candidate.release.position, self.variable(candidate))
            rows += [row] if row not in rows else []
            self.rule([ground], [-row[2], leave])

    def any_of(self, candidates: Iterable[Candidate]) -> int:
        """A variable that, assumed, demands one of the candidates."""
        name = self.fresh()
        self.add_clause([-name, *map(self.variable, candidates)])
        return name

    # --- answers

    @property
    def unread(self) -> int:
        """How many releases that were not read could give the leave that something was ruled out for the lack of."""
        return sum(1 for variable in self._unread if self._candidates[variable] not in self._opened)

    def chosen(self) -> dict[Package, Candidate]:
        """The candidates of the last satisfying answer."""
        among = map(self._candidates.get, self._solver.get_model() or ())
        return {candidate.package: candidate for candidate in among if candidate is not None}

    def blamed(self) -> set[Candidate]:
        """The assumed candidates that the last unsatisfiable answer rests on."""
        return {self._candidates[one] for one in self._solver.get_core() or () if one in self._candidates}

    # --- clauses

    def _add(self, parent: Candidate | None, edge: Edge) -> None:
        self.introduce(edge.package)
        before = [] if parent is None else [-self.variable(parent)]
        for because, bounds in grounds(parent.package if parent is not None else None, edge):
            for ground in because:
                self.edges.setdefault(ground, []).append((parent, edge))
            if bounds and isinstance(edge.allows, SpecifierSet) and not edge.package.extra and pins(edge.allows):
                self._exclude_other_pins(
                    edge.package, edge.allows, [*(-self.selector(one) for one in because), *before]
                )
            self.rule(because, [*before, *self._allowed(edge, edge.allows if bounds else None)])

    def _exclude_other_pins(self, package: Package, pin: SpecifierSet, clause: list[int]) -> None:
        """Two pins that differ clash, whatever the indexes have."""
        unknown = not self.universe.mask(package, pin)
        rows = self._pins.setdefault(package, [])
        if len(rows) < _COMPARED:
            for other, other_clause, is_unknown in rows:
                if (unknown or is_unknown) and str(other) != str(pin) and _are_apart(other, pin):
                    self.add_clause([*clause, *other_clause])
            rows.append((pin, clause, unknown))

    def _allowed(self, edge: Edge, allows: Allows | None) -> Iterator[int]:
        """The variables that meet an edge; None stands for no bounds."""
        package = edge.package
        among = self.packages[package]
        if allows is not None and package.kind is PackageKind.PROJECT:
            mask = self.universe.mask(package, allows)
            among = [one for one in among if mask >> one.release.position & 1]
        elif allows is not None:
            among = [one for one in among if one.satisfies(allows)]
        yield from map(self.variable, among)
        if package.kind is PackageKind.PROJECT:
            yield from self._missing(package.base, allows)
        elif isinstance(allows, ComponentRequirement) and not among:
            yield self._elsewhere(package, str(allows), ComponentGround(package.name))

    # --- what does not exist

    def _absent_releases(self, package: Package, usable: Collection[int]) -> Iterator[int]:
        """The variables of a project's releases that cannot be used; they own modules all the same."""
        project = self.universe.project(text.name(package.name))
        rows = self._set_aside[package] = {}
        for position in project.positions(project.all):
            if position in usable:
                continue
            variable = rows[position] = self.fresh()
            ground = _why_absent(project, position)
            self.absent.setdefault(ground, []).append((package, position, variable))
            self.rule([ground], [-variable])
            for collision in self.universe.collisions(project.name, project.versions[position]):
                module = Package(collision.module, "", PackageKind.MODULE)
                self.introduce(module)
                owner = self.variable(self.universe.candidate_for(module, project.name))
                self.rule([CollisionGround(collision.id)], [-variable, owner])
            yield variable

    def _missing(self, base: Package, allows: Allows | None) -> Iterator[int]:
        """The variables of releases that are unusable or do not exist."""
        project = self.universe.project(text.name(base.name))
        if not project.found:
            yield self._elsewhere(base, "", LackGround(base.name, Lack.PROJECT, ""))
            return
        mask = project.all if allows is None else project.mask(allows)
        if project.unreachable and mask and (allows is None or not pins(allows)):
            yield self._elsewhere(base, "", LackGround(base.name, Lack.UNREACHABLE, ""))
        if not mask:
            wanted = str(allows) if isinstance(allows, SpecifierSet) else ""
            if project.source is not None:  # there might be one without the line that names the commit
                root, _ = self.universe.sources[project.name]
                yield self._elsewhere(
                    base, wanted, LackGround(base.name, Lack.SOURCE, wanted), LineGround(root.origin, "")
                )
            else:
                yield self._elsewhere(base, wanted, LackGround(base.name, Lack.RELEASE, wanted))
        yield from (variable for at, variable in self._set_aside.get(base, {}).items() if mask >> at & 1)

    def _elsewhere(self, package: Package, wanted: str, *because: Ground) -> int:
        """A variable for something required that does not exist. It excludes nothing, since it is unknown."""
        known = self._nowhere.get((package, wanted))
        if known is None:
            known = self._nowhere[package, wanted] = self.fresh()
            self.rule(because, [-known])
        return known


def _why_absent(project: Project, position: int) -> Ground:
    """The ground on which a release is unusable."""
    files = project.release(position)
    if isinstance(files, Release):
        return LackGround(project.name, Lack.PRERELEASE, "")  # excluded by the policy
    reasons = {row.reason for row in files}
    taken = (*project.facts_about(position, Excludes), *project.facts_about(position, Names))
    if taken and RejectionReason.FACT in reasons:
        return ExclusionGround(project.name, taken[0].id)
    if not reasons.isdisjoint((RejectionReason.NEWER, RejectionReason.NO_DATE)):
        return LackGround(project.name, Lack.CUTOFF, "")
    return LackGround(project.name, Lack.FILE, "")


def _are_apart(one: SpecifierSet, other: SpecifierSet) -> bool:
    """Whether no version can meet both pins. `===` compares texts, and a release has only one."""
    versions = [pin.version for pin in (*one, *other) if pins(SpecifierSet(str(pin)))]
    if any(text.version(version) is None for version in versions):
        return False
    return not any(
        one.contains(version, prereleases=True) and other.contains(version, prereleases=True) for version in versions
    )
