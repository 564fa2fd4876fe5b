"""A problem as clauses of a SAT solver, more of them as metadata is read.

There is a variable for each candidate of each package that something needs; at most one candidate
of a package is chosen. Clauses belong to constraints (see `sat`), and can be left out with them.

A release without a usable file, and one that is required and does not exist, has a variable, too,
which only the constraint that it is unavailable rules out. So a core names that if and only if it
matters.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Final, NamedTuple

from msgspec.structs import replace
from packaging.specifiers import SpecifierSet

from resolver.model import text
from resolver.model.constraint import (
    VERSION_PART,
    BuildLine,
    Constraint,
    Excluded,
    Exclusive,
    NoCandidate,
    StackLine,
    Unavailable,
    WhyNot,
    extra_part,
)
from resolver.model.dependency import Allows, Candidate, Edge
from resolver.model.package import Package, PackageKind
from resolver.model.reason import ConcernedRelease, Reason
from resolver.model.release import RejectionReason, Release
from resolver.model.requirement import ComponentRequirement
from resolver.resolve.candidates import pins
from resolver.resolve.project import Project
from resolver.resolve.provider import Prefetch
from resolver.resolve.sat import SatSolver
from resolver.resolve.universe import Universe

# How many pins of a project are compared, each with each. The clauses of further ones only make
# reports shorter: a pin admits no release but its own without them.
_COMPARED: Final = 100


class RuledOut(NamedTuple):
    """A release that a constraint rules out, and its variable."""

    package: Package
    position: int
    variable: int


class _Policy(NamedTuple):
    """What a policy rules out of a project, unless an edge permits it."""

    package: Package
    # YANKED or NEEDLESS
    why: WhyNot
    permits: Callable[[Edge], bool]
    # whether candidates that were not opened may have such an edge
    any_may: bool


class _Pin(NamedTuple):
    """A pin of a project, with the clause that it holds in."""

    specifiers: SpecifierSet
    clause: list[int]
    # whether no index has such a release
    is_unknown: bool


class Clauses(SatSolver):
    """One problem's clauses.

    A pre-release or a yanked release is taken only if a requirement permits it, and any release
    that has not been opened might have such a requirement. Unless `reading` is set, they are
    assumed to have none.
    """

    def __init__(self, universe: Universe) -> None:
        super().__init__()
        self.universe = universe
        self.packages: dict[Package, list[Candidate]] = {}
        # the edges of each constraint, each with the candidate that has it; None for the stack
        self.edges: dict[Constraint, list[tuple[Candidate | None, Edge]]] = {}
        self.ruled_out_releases: dict[Constraint, list[RuledOut]] = {}
        self.prefetch = Prefetch(universe)
        # the candidates that permit what a policy rules out
        self._permitting: dict[Constraint, dict[Candidate, None]] = {}
        # the variables of the unusable releases of each project, by position
        self._set_aside: dict[Package, dict[int, int]] = {}
        # the variables of what does not exist, by package and specifier
        self._nonexisting: dict[tuple[Package, str], int] = {}
        self._policies: list[_Policy] = []
        self._pins: dict[Package, list[_Pin]] = {}
        # the bounds on each project, each with the clause that it holds in
        self._bounds: dict[Package, list[tuple[list[int], SpecifierSet]]] = {}
        self._variables: dict[Candidate, int] = {}
        # the candidate of each variable
        self._candidates: dict[int, Candidate] = {}
        # in the order in which they were opened
        self._opened: dict[Candidate, None] = {}
        # candidates that might permit what a policy rules out, when it did
        self._unread: set[Candidate] = set()
        for edge in universe.roots():
            self._add(None, edge)

    # --- what is known

    def candidates(self) -> Iterable[Candidate]:
        """Return every candidate so far, in the order in which they became known."""
        return self._variables

    def variable(self, candidate: Candidate) -> int:
        """Return the variable of a candidate."""
        variable = self._variables.get(candidate)
        if variable is None:
            variable = self._variables[candidate] = self.new_variable()
            self._candidates[variable] = candidate
        return variable

    def opened(self, candidate: Candidate) -> bool:
        """Return whether the clauses include what the candidate needs."""
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

        Return a variable. If it is assumed, what the policies rule out in the other clauses is
        ruled out here, too.
        """
        for opened in other._opened:
            package = opened.package
            if package.kind is PackageKind.PROJECT and package in self.packages:
                candidate = self.universe.candidate(package, opened.release.position)
                if candidate is not None and candidate.release.file == opened.release.file:
                    self.open(candidate)
        # the new version of a line that is relaxed may permit what the policy otherwise excludes
        relaxed_packages = {
            edge.package.base
            for constraint in self.relaxed
            if isinstance(constraint, (StackLine, BuildLine))
            for _, edge in self.edges[constraint]
        }
        excludes = self.new_variable()
        for policy in other._policies:
            if policy.package in self.packages and policy.package not in relaxed_packages:
                self._enforce(policy, unless=[-excludes])
        return excludes

    def open_concerned(self, other: Clauses, core: Iterable[Constraint]) -> None:
        """Open the releases that a core of other clauses is about, as far as they are here."""
        concerned = {
            parent
            for constraint in core
            for parent, _ in other.edges.get(constraint, ())
            if parent is not None and parent.package.kind is PackageKind.PROJECT
        }
        for opened in other._opened:
            if opened in concerned and opened.package in self.packages:
                candidate = self.universe.candidate(opened.package, opened.release.position)
                if candidate is not None:
                    self.open(candidate)

    def add_package(self, package: Package) -> None:
        """Add a package's candidates, and why its other releases are not candidates."""
        if package in self.packages:
            return
        candidates = self.packages[package] = list(self.universe.all_candidates(package))
        variables = [self.variable(candidate) for candidate in candidates]
        absent: list[int] = []
        if package.kind is PackageKind.PROJECT and not package.extra:
            usable = {candidate.release.position for candidate in candidates}
            absent = list(self._absent_releases(package, usable))
            for candidate in candidates:
                for edge in self.universe.module_edges(candidate):
                    self._add(candidate, edge)
        self.at_most_one([*variables, *absent])
        if package.kind is not PackageKind.MODULE:  # tried first: the most preferred of each
            others = [-variable for variable in (*variables[1:], *absent)]
            self._solver.set_phases([*variables[:1], *others])
        if package.kind is PackageKind.COMPONENT:
            value = self.universe.problem.component_value(package.name)
            self.rule([value], [variables[0]])
        for clause, bound in self._bounds.get(package, ()):
            self._exclude_beyond(package, bound, clause)
        if package.extra:
            self._tie_to_project(package)

    def _tie_to_project(self, package: Package) -> None:
        """Add that an extra is of its project's release, which is known without its metadata."""
        self.add_package(package.base)
        for candidate in self.packages[package]:
            base = self.universe.candidate(package.base, candidate.release.position)
            assert base is not None  # noqa: S101  it exists if the extra does
            self.add_clause([-self._variables[candidate], self._variables[base]])

    def rule_out(
        self, package: Package, why: WhyNot, permits: Callable[[Edge], bool], *, any_may: bool
    ) -> None:
        """Rule out a project's yanked releases, or its pre-releases (`why` is YANKED or NEEDLESS).

        An edge of a chosen candidate may permit them. If `any_may`, so may releases that are not
        read yet, the releases themselves among them, or need another that does; these count only
        where `reading` is set.
        """
        policy = _Policy(package, why, permits, any_may)
        self._policies.append(policy)
        self._enforce(policy)

    def _enforce(self, policy: _Policy, unless: Collection[int] = ()) -> None:
        """Add the clauses of a policy.

        A true literal of `unless` permits what it rules out, too.
        """
        constraint = Unavailable(policy.package.name, policy.why)
        permitted = self.new_variable()
        # a line that is relaxed now may permit them when it is not
        relaxed_lines = [
            selector
            for other, selector in self._selectors.items()
            if other in self.relaxed and isinstance(other, (StackLine, BuildLine))
        ]
        permitting = [*self._permitting_candidates(policy, constraint), *relaxed_lines, *unless]
        unread = self._unread_candidates() if policy.any_may else []
        if unread:
            self._unread.update(unread)
            guard = self.new_variable()
            self._guards.append(guard)
            self.add_clause([-guard, *map(self.variable, unread)])
            permitting.append(guard)
        self.add_clause([-permitted, *permitting])
        ruled_out = self.ruled_out_releases.setdefault(constraint, [])
        for candidate in self.packages[policy.package]:
            is_excluded = candidate.version.is_prerelease
            if policy.why is RejectionReason.YANKED:
                is_excluded = candidate.release.yanked
            if not is_excluded:
                continue
            variable = self.variable(candidate)
            excluded = RuledOut(policy.package, candidate.release.position, variable)
            if excluded not in ruled_out:
                ruled_out.append(excluded)
            self.rule([constraint], [-variable, permitted])

    def _permitting_candidates(self, policy: _Policy, constraint: Constraint) -> Iterator[int]:
        """Yield the variables of the opened candidates that permit what a policy rules out."""
        for candidate, variable in self._variables.items():
            is_opened = candidate in self._opened
            if candidate.package.kind is not PackageKind.PROJECT or not is_opened:
                continue
            edges = self.universe.edges(candidate)
            if any(edge.package.base == policy.package and policy.permits(edge) for edge in edges):
                self._permitting.setdefault(constraint, {})[candidate] = None
                yield variable

    def _unread_candidates(self) -> list[Candidate]:
        """Return the candidates of projects that were not opened."""
        return [
            candidate
            for candidate in self._variables
            if candidate.package.kind is PackageKind.PROJECT and candidate not in self._opened
        ]

    def any_of(self, candidates: Iterable[Candidate]) -> int:
        """Return a variable that, assumed, demands one of the candidates."""
        variable = self.new_variable()
        self.add_clause([-variable, *map(self.variable, candidates)])
        return variable

    # --- answers

    def reasons(self, core: Iterable[Constraint]) -> tuple[Reason, ...]:
        """Return the constraints of a core with the releases that their clauses are about."""
        return tuple(self._reason(constraint) for constraint in core)

    def _reason(self, constraint: Constraint) -> Reason:
        releases = []
        for parent, _ in self.edges.get(constraint, ()):
            if parent is not None and parent.package.kind is PackageKind.PROJECT:
                releases.append(self._concerned(parent, constraint))
        for excluded in self.ruled_out_releases.get(constraint, ()):
            project = self.universe.project(text.name(excluded.package.name))
            release = project.release(excluded.position)
            usable = release if isinstance(release, Release) else None
            version = project.versions[excluded.position]
            releases.append(ConcernedRelease(project.name, version, release=usable))
        permitting = self._permitting.get(constraint, ())
        return Reason(
            constraint=constraint,
            releases=tuple(dict.fromkeys(releases)),
            permitting=tuple(self._concerned(candidate) for candidate in permitting),
        )

    def _concerned(
        self, candidate: Candidate, constraint: Constraint | None = None
    ) -> ConcernedRelease:
        """Return a candidate as a release that a constraint concerns."""
        rejection = None
        if isinstance(constraint, Unavailable):
            rejection = self.universe.rejections[candidate].reason
        return ConcernedRelease(
            project=text.name(candidate.package.name),
            version=candidate.version,
            extra=candidate.package.extra,
            release=candidate.release,
            rejection=rejection,
        )

    @property
    def unread(self) -> int:
        """Return how many releases that were not read could permit what was ruled out."""
        return len(self._unread.difference(self._opened))

    def chosen(self) -> dict[Package, Candidate]:
        """Return the candidates of the last satisfying answer."""
        chosen = {}
        for literal in self._solver.get_model() or ():
            if literal in self._candidates:
                candidate = self._candidates[literal]
                chosen[candidate.package] = candidate
        return chosen

    def blamed(self) -> set[Candidate]:
        """Return the assumed candidates that the last unsatisfiable answer rests on."""
        core = self._solver.get_core() or ()
        return {self._candidates[literal] for literal in core if literal in self._candidates}

    # --- clauses

    def _add(self, parent: Candidate | None, edge: Edge) -> None:
        """Add the clauses of an edge; of one without a constraint, `add_package` has them."""
        if edge.package.kind is PackageKind.VERSION:
            self._add_bound(parent, edge)
            return
        self.add_package(edge.package)
        match edge.constraint:
            case None:
                return
            case StackLine() | BuildLine() as line:
                self._add_line(line, edge)
            case constraint:
                self._add_clause(parent, edge, [constraint], edge.allows)

    def _add_line(self, line: StackLine | BuildLine, edge: Edge) -> None:
        """Add the clauses of a line: that its project or extra is there, and at which versions."""
        if edge.package.extra:  # it has the version of the project
            extra = replace(line, part=extra_part(edge.package.extra))
            self._add_clause(None, edge, [line, extra], None)
            return
        self._add_clause(None, edge, [line], None)
        if str(edge.allows):
            versions = replace(line, part=VERSION_PART)
            self._add_clause(None, edge, [line, versions], edge.allows)

    def _add_clause(
        self,
        parent: Candidate | None,
        edge: Edge,
        constraints: list[Constraint],
        allows: Allows | None,
    ) -> None:
        """Add a clause of an edge that belongs to all of the constraints.

        None allows any candidate.
        """
        for constraint in constraints:
            self.edges.setdefault(constraint, []).append((parent, edge))
        premise = [] if parent is None else [-self.variable(parent)]
        if isinstance(allows, SpecifierSet) and not edge.package.extra and pins(allows):
            selectors = [-self.selector(constraint) for constraint in constraints]
            self._exclude_other_pins(edge.package, allows, [*selectors, *premise])
        self.rule(constraints, [*premise, *self._allowed(edge, allows)])

    def _add_bound(self, parent: Candidate | None, edge: Edge) -> None:
        """Add the clauses of a bound: not the parent, or not a release beyond it.

        A bound of the stack has no parent. A bound requires nothing.
        """
        if edge.constraint is None:
            return
        assert isinstance(edge.allows, SpecifierSet)  # noqa: S101  nothing else is a bound
        project = Package(edge.package.name)
        self.edges.setdefault(edge.constraint, []).append((parent, edge))
        clause = [-self.selector(edge.constraint)]
        if parent is not None:
            clause.append(-self.variable(parent))
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
        """Add that two pins that differ clash, whatever the indexes have."""
        is_unknown = not self.universe.mask(package, pin)
        known_pins = self._pins.setdefault(package, [])
        if len(known_pins) >= _COMPARED:
            return
        for other in known_pins:
            if not (is_unknown or other.is_unknown) or str(other.specifiers) == str(pin):
                continue
            if _are_disjoint(other.specifiers, pin):
                self.add_clause([*clause, *other.clause])
        known_pins.append(_Pin(pin, clause, is_unknown))

    def _allowed(self, edge: Edge, allows: Allows | None) -> Iterator[int]:
        """Yield the variables that meet an edge; None stands for no bounds."""
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
            value = self.universe.problem.component_value(package.name)
            yield self._nonexistent(package, str(allows), value)

    # --- what does not exist

    def _absent_releases(self, package: Package, usable: Collection[int]) -> Iterator[int]:
        """Yield the variables of a project's releases that cannot be used.

        They own modules all the same.
        """
        project = self.universe.project(text.name(package.name))
        variables = self._set_aside[package] = {}
        for position in project.positions(project.all):
            if position in usable:
                continue
            variable = variables[position] = self.new_variable()
            constraint = _why_absent(project, position)
            excluded = RuledOut(package, position, variable)
            self.ruled_out_releases.setdefault(constraint, []).append(excluded)
            self.rule([constraint], [-variable])
            for collision in self.universe.collisions(project.name, project.versions[position]):
                module = Package(collision.module, "", PackageKind.MODULE)
                self.add_package(module)
                owner = self.variable(self.universe.candidate_for(module, project.name))
                self.rule([Exclusive(collision)], [-variable, owner])
            yield variable

    def _missing(self, base: Package, allows: Allows | None) -> Iterator[int]:
        """Yield the variables of releases that are unusable or do not exist."""
        project = self.universe.project(text.name(base.name))
        if not project.exists:
            yield self._nonexistent(base, "", Unavailable(base.name, NoCandidate.PROJECT))
            return
        mask = project.all if allows is None else project.mask(allows)
        if project.unreachable and mask and (allows is None or not pins(allows)):
            yield self._nonexistent(base, "", Unavailable(base.name, NoCandidate.UNREACHABLE))
        if not mask:
            specifier = str(allows) if isinstance(allows, SpecifierSet) else ""
            because: list[Constraint] = [Unavailable(base.name, NoCandidate.RELEASE, specifier)]
            if project.source is not None:
                # there might be one without the line that names the commit
                root, _ = self.universe.sources[project.name]
                at_commit = Unavailable(base.name, NoCandidate.COMMIT, specifier)
                because = [at_commit, root.origin]
            yield self._nonexistent(base, specifier, *because)
        for position, variable in self._set_aside.get(base, {}).items():
            if mask >> position & 1:
                yield variable

    def _nonexistent(self, package: Package, specifier: str, *because: Constraint) -> int:
        """Return the variable of something required that does not exist.

        It excludes nothing, since it is unknown.
        """
        variable = self._nonexisting.get((package, specifier))
        if variable is None:
            variable = self._nonexisting[package, specifier] = self.new_variable()
            self.rule(because, [-variable])
        return variable


def _why_absent(project: Project, position: int) -> Constraint:
    """Return the constraint that rules out a release without a usable file."""
    files = project.release(position)
    if isinstance(files, Release):
        return Unavailable(project.name, NoCandidate.PRERELEASE)  # excluded by the policy
    reasons = {file.reason for file in files}
    excluding = project.exclusions(position)
    if excluding and RejectionReason.FACT in reasons:
        return Excluded(project.name, excluding[0])
    if not reasons.isdisjoint((RejectionReason.NEWER, RejectionReason.NO_DATE)):
        return Unavailable(project.name, RejectionReason.NEWER)
    return Unavailable(project.name, NoCandidate.FILE)


def _are_disjoint(first: SpecifierSet, second: SpecifierSet) -> bool:
    """Return whether no version can meet both pins.

    `===` compares texts, and a release has only one.
    """
    versions = [specifier.version for specifier in (*first, *second) if text.is_exact(specifier)]
    if any(text.version(version) is None for version in versions):
        return False
    both = first & second
    return not any(both.contains(version, prereleases=True) for version in versions)
