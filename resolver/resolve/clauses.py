"""The clauses of a problem in a SAT solver. Clauses are added as metadata is read.

There is a variable for each candidate of each package that something requires. At most one
candidate of a package is chosen. Clauses belong to constraints (see `sat`), and are left out if a
constraint is relaxed.

Releases without a usable file have variables as well, and so do required releases that do not
exist. Only an `Unavailable` or `Excluded` constraint rules these variables out. So a core contains
such a constraint if and only if the conflict depends on it.
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
from resolver.model.reason import ConcernedRelease, Premise
from resolver.model.release import RejectionReason, Release
from resolver.model.requirement import ComponentRequirement
from resolver.resolve.candidates import pins
from resolver.resolve.project import Project
from resolver.resolve.provider import Prefetch
from resolver.resolve.sat import SatSolver
from resolver.resolve.universe import Universe

# The most pins of a project that are compared with each other. The clauses about more pins would
# only make reports shorter: even without them, a pin admits only its own release.
_COMPARED: Final = 100


class RuledOut(NamedTuple):
    """A release that a constraint rules out."""

    # The project.
    package: Package
    # The position of the release in the project.
    position: int
    # The variable of the release.
    variable: int


class _Policy(NamedTuple):
    """A rule of the policy: releases of a project are ruled out, unless an edge permits them."""

    # The project.
    package: Package
    # Which releases are ruled out: yanked ones (YANKED) or pre-releases (NEEDLESS).
    why: WhyNot
    # Returns whether an edge on the project permits these releases.
    permits: Callable[[Edge], bool]
    # Whether candidates that were not opened may have such an edge.
    any_may: bool


class _Pin(NamedTuple):
    """A requirement on a single release of a project (`==`), and the literals of its clause."""

    # The requirement.
    specifiers: SpecifierSet
    # The literals that are all false if the requirement counts: its constraint holds, and the
    # candidate that has it is chosen.
    clause: list[int]
    # Whether no index has such a release.
    is_unknown: bool


class Clauses(SatSolver):
    """The clauses of one problem.

    A pre-release or a yanked release is chosen only if a requirement permits it. Any release that
    was not opened might have such a requirement. Unless `reading` is set, such releases are assumed
    to have none.
    """

    def __init__(self, universe: Universe) -> None:
        """Begin with the clauses of the stack's lines."""
        super().__init__()
        self.universe = universe
        # The candidates of each package that was added, the most preferred first.
        self.packages: dict[Package, list[Candidate]] = {}
        # The edges of each constraint, each with the candidate that has it; None for the stack.
        self.edges: dict[Constraint, list[tuple[Candidate | None, Edge]]] = {}
        # The releases that each constraint rules out.
        self.ruled_out_releases: dict[Constraint, list[RuledOut]] = {}
        self.prefetch = Prefetch(universe)
        # For each constraint of a policy, the opened candidates that permit the releases which it
        # rules out.
        self._permitting: dict[Constraint, dict[Candidate, None]] = {}
        # The variables of the unusable releases of each project, by position.
        self._set_aside: dict[Package, dict[int, int]] = {}
        # The variables of required releases that do not exist, by package and specifier.
        self._nonexisting: dict[tuple[Package, str], int] = {}
        # The rules of the policy that were added.
        self._policies: list[_Policy] = []
        # The requirements on single releases of each project.
        self._pins: dict[Package, list[_Pin]] = {}
        # The bounds on each project. Each has the literals that are all false if the bound counts.
        self._bounds: dict[Package, list[tuple[list[int], SpecifierSet]]] = {}
        # The variable of each candidate, in the order in which they became known.
        self._variables: dict[Candidate, int] = {}
        # The candidate of each variable.
        self._candidates: dict[int, Candidate] = {}
        # The candidates that were opened, in that order.
        self._opened: dict[Candidate, None] = {}
        # The candidates that were not opened when a rule of the policy was added, and might permit
        # the releases that it rules out.
        self._unread: set[Candidate] = set()
        for edge in universe.roots():
            self._add(None, edge)

    # --- candidates and packages

    def candidates(self) -> Iterable[Candidate]:
        """Return all candidates with a variable, in the order in which they became known."""
        return self._variables

    def variable(self, candidate: Candidate) -> int:
        """Return the variable of a candidate. The first call makes it."""
        variable = self._variables.get(candidate)
        if variable is None:
            variable = self._variables[candidate] = self.new_variable()
            self._candidates[variable] = candidate
        return variable

    def is_expanded(self, candidate: Candidate) -> bool:
        """Return whether the clauses of a candidate's edges were added."""
        return candidate in self._opened

    def open(self, candidate: Candidate) -> None:
        """Read the metadata of a candidate, and add the clauses of its edges.

        Raises what `Universe.edges` raises.
        """
        if self.is_expanded(candidate):
            return
        edges = self.universe.edges(candidate)  # before anything is changed, since it may raise
        self._opened[candidate] = None
        self.add_package(candidate.package)
        self.prefetch.prefetch(edges)
        for edge in edges:
            if edge.package.kind is not PackageKind.MODULE:  # added together with the package
                self._add(candidate, edge)

    def learn_from(self, other: Clauses) -> int:
        """Open the candidates here that other clauses have opened.

        Only candidates of known packages with the same file are opened. Return a variable: if it is
        assumed, the rules of the policy that were added to the other clauses hold here as well.
        """
        for opened in other._opened:
            package = opened.package
            if package.kind is PackageKind.PROJECT and package in self.packages:
                candidate = self.universe.counterpart(opened)
                if candidate is not None and candidate.release.file == opened.release.file:
                    self.open(candidate)
        # If a line is relaxed, its new version may permit releases that the policy rules out.
        relaxed_packages: set[Package] = set()
        for constraint in self.relaxed:
            if isinstance(constraint, (StackLine, BuildLine)):
                relaxed_packages.update(edge.package.base for _, edge in self.edges[constraint])
        excludes = self.new_variable()
        for policy in other._policies:
            if policy.package in self.packages and policy.package not in relaxed_packages:
                self._enforce(policy, unless=[-excludes])
        return excludes

    def open_concerned(self, other: Clauses, core: Iterable[Constraint]) -> None:
        """Open the releases here that a core of other clauses is about.

        Only releases of known packages are opened.
        """
        concerned: set[Candidate] = set()
        for constraint in core:
            for parent, _ in other.edges.get(constraint, ()):
                if parent is not None and parent.package.kind is PackageKind.PROJECT:
                    concerned.add(parent)
        for opened in other._opened:
            if opened in concerned and opened.package in self.packages:
                candidate = self.universe.counterpart(opened)
                if candidate is not None:
                    self.open(candidate)

    def add_package(self, package: Package) -> None:
        """Add the clauses of a package, if it is new: at most one candidate can be chosen.

        For a project, releases that cannot be used get variables and clauses as well.
        """
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
        if package.kind is not PackageKind.MODULE:  # the solver tries the most preferred first
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
        """Add the clauses that an extra has the same release as its project."""
        self.add_package(package.base)
        for candidate in self.packages[package]:
            base = self.universe.candidate(package.base, candidate.release.position)
            assert base is not None  # noqa: S101  it exists if the extra does
            self.add_clause([-self._variables[candidate], self._variables[base]])

    def rule_out(
        self, package: Package, why: WhyNot, permits: Callable[[Edge], bool], *, any_may: bool
    ) -> None:
        """Add a rule of the policy: yanked releases or pre-releases of a project are ruled out.

        `why` is YANKED or NEEDLESS. The releases are permitted if a chosen candidate has an edge
        for which `permits` returns True. With `any_may`, a candidate that was not opened may have
        such an edge, too. That counts only if `reading` is set.
        """
        policy = _Policy(package, why, permits, any_may)
        self._policies.append(policy)
        self._enforce(policy)

    def _enforce(self, policy: _Policy, unless: Collection[int] = ()) -> None:
        """Add the clauses of a rule of the policy.

        The releases are also permitted if a literal of `unless` is true.
        """
        constraint = Unavailable(policy.package, policy.why)
        permitted = self.new_variable()
        # A line that is relaxed now may permit the releases when it is not.
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
        """Yield the variables of opened candidates with an edge that permits the releases.

        The candidates are recorded for `constraint`.
        """
        for candidate, variable in self._variables.items():
            is_opened = candidate in self._opened
            if candidate.package.kind is not PackageKind.PROJECT or not is_opened:
                continue
            edges = self.universe.edges(candidate)
            if any(edge.package.base == policy.package and policy.permits(edge) for edge in edges):
                self._permitting.setdefault(constraint, {})[candidate] = None
                yield variable

    def _unread_candidates(self) -> list[Candidate]:
        """Return the known candidates for projects and extras that were not opened."""
        return [
            candidate
            for candidate in self._variables
            if candidate.package.kind is PackageKind.PROJECT and candidate not in self._opened
        ]

    def any_of(self, candidates: Iterable[Candidate]) -> int:
        """Return a new variable. If it is assumed, one of the candidates must be chosen."""
        variable = self.new_variable()
        self.add_clause([-variable, *map(self.variable, candidates)])
        return variable

    # --- answers

    def premises(self, core: Iterable[Constraint]) -> tuple[Premise, ...]:
        """Return the premises of a core: its constraints with the releases that they concern.

        `check_refutation` checks them. `reasons.described` returns the reasons for people.
        """
        return tuple(self._premise(constraint) for constraint in core)

    def _premise(self, constraint: Constraint) -> Premise:
        """Return a constraint with the releases that its clauses are about."""
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
        return Premise(
            constraint=constraint,
            releases=tuple(dict.fromkeys(releases)),
            permitting=tuple(self._concerned(candidate) for candidate in permitting),
        )

    def _concerned(
        self, candidate: Candidate, constraint: Constraint | None = None
    ) -> ConcernedRelease:
        """Return the release of a candidate, as one that a constraint concerns.

        For an `Unavailable` constraint, it has the reason why its file cannot be used.
        """
        rejection = None
        if isinstance(constraint, Unavailable):
            rejection = self.universe.rejection(candidate).reason
        return ConcernedRelease(
            project=text.name(candidate.package.name),
            version=candidate.version,
            extra=candidate.package.extra,
            release=candidate.release,
            rejection=rejection,
        )

    @property
    def unread(self) -> int:
        """Return the number of releases that were not read and might permit ruled-out releases."""
        return len(self._unread.difference(self._opened))

    def chosen(self) -> dict[Package, Candidate]:
        """Return the chosen candidates of the last satisfying answer, by package."""
        chosen = {}
        for literal in self._solver.get_model() or ():
            if literal in self._candidates:
                candidate = self._candidates[literal]
                chosen[candidate.package] = candidate
        return chosen

    def blamed(self) -> set[Candidate]:
        """Return the assumed candidates that made the last answer unsatisfiable."""
        core = self._solver.get_core() or ()
        return {self._candidates[literal] for literal in core if literal in self._candidates}

    # --- clauses

    def _add(self, parent: Candidate | None, edge: Edge) -> None:
        """Add the clauses of an edge. `parent` is the candidate that has it; None for the stack.

        The clauses of an edge without a constraint are added by `add_package`.
        """
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
        """Add the clauses of a line of the stack or of a build.

        They say that the project or the extra is installed, and which versions are admitted.
        """
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
        """Add the clause of an edge: not the parent, or one of the admitted candidates.

        It belongs to all of `constraints`. `allows` says which candidates are admitted; None for
        all of the package.
        """
        for constraint in constraints:
            self.edges.setdefault(constraint, []).append((parent, edge))
        premise = [] if parent is None else [-self.variable(parent)]
        if isinstance(allows, SpecifierSet) and not edge.package.extra and pins(allows):
            selectors = [-self.selector(constraint) for constraint in constraints]
            self._exclude_other_pins(edge.package, allows, [*selectors, *premise])
        self.rule(constraints, [*premise, *self._allowed(edge, allows)])

    def _add_bound(self, parent: Candidate | None, edge: Edge) -> None:
        """Add the clauses of a bound: not the parent, or not a release that it does not admit.

        A bound of the stack has no parent. Unlike other edges, a bound does not require that the
        project is installed.
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
        """Add a clause for each known release of a project that a bound does not admit.

        `clause` has the literals that are all false if the bound counts.
        """
        mask = self.universe.mask(package, bound)
        for candidate in self.packages[package]:
            if not mask >> candidate.release.position & 1:
                self.add_clause([*clause, -self.variable(candidate)])
        for position, variable in self._set_aside.get(package, {}).items():
            if not mask >> position & 1:
                self.add_clause([*clause, -variable])

    def _exclude_other_pins(self, package: Package, pin: SpecifierSet, clause: list[int]) -> None:
        """Add clauses that two different pins exclude each other, even if a release does not exist.

        They are added only if one of the releases is on no index: otherwise the candidates exclude
        each other already. `clause` belongs to a `_Pin`.
        """
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
        """Yield the variables of the candidates and missing releases that meet an edge.

        `allows` says which candidates are admitted; None for all of the package.
        """
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

    # --- releases that do not exist or cannot be used

    def _absent_releases(self, package: Package, usable: Collection[int]) -> Iterator[int]:
        """Add clauses for a project's releases that cannot be used, and yield their variables.

        `usable` are the positions of the other releases. Unusable releases own modules like others.
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
        """Yield the variables of releases that meet an edge and are unusable or do not exist.

        `base` is the project of the edge, and `allows` its specifier; None for any version.
        """
        project = self.universe.project(text.name(base.name))
        if not project.exists:
            yield self._nonexistent(base, "", Unavailable(base, NoCandidate.PROJECT))
            return
        mask = project.all if allows is None else project.mask(allows)
        if project.unreachable and mask and (allows is None or not pins(allows)):
            yield self._nonexistent(base, "", Unavailable(base, NoCandidate.UNREACHABLE))
        if not mask:
            specifier = str(allows) if isinstance(allows, SpecifierSet) else ""
            because: list[Constraint] = [Unavailable(base, NoCandidate.RELEASE, specifier)]
            if project.source is not None:
                # Without the line that names the commit, an index might have such a release.
                root, _ = self.universe.sources[project.name]
                at_commit = Unavailable(base, NoCandidate.COMMIT, specifier)
                because = [at_commit, root.origin]
            yield self._nonexistent(base, specifier, *because)
        for position, variable in self._set_aside.get(base, {}).items():
            if mask >> position & 1:
                yield variable

    def _nonexistent(self, package: Package, specifier: str, *because: Constraint) -> int:
        """Return the variable of a required release, project or value that does not exist.

        The constraints `because` rule it out. It excludes no candidate, since nothing is known
        about it.
        """
        variable = self._nonexisting.get((package, specifier))
        if variable is None:
            variable = self._nonexisting[package, specifier] = self.new_variable()
            self.rule(because, [-variable])
        return variable


def _why_absent(project: Project, position: int) -> Constraint:
    """Return the constraint that rules out a release without a usable file."""
    package = Package(project.name)
    files = project.release(position)
    if isinstance(files, Release):
        return Unavailable(package, NoCandidate.PRERELEASE)  # excluded by the policy
    reasons = {file.reason for file in files}
    excluding = project.exclusions(position)
    if excluding and RejectionReason.FACT in reasons:
        return Excluded(project.name, excluding[0])
    if not reasons.isdisjoint((RejectionReason.NEWER, RejectionReason.NO_DATE)):
        return Unavailable(package, RejectionReason.NEWER)
    return Unavailable(package, NoCandidate.FILE)


def _are_disjoint(first: SpecifierSet, second: SpecifierSet) -> bool:
    """Return whether no version can meet two pins.

    The result is False if a pin with `===` names a text that is no version.
    """
    versions = [specifier.version for specifier in (*first, *second) if text.is_exact(specifier)]
    if any(text.version(version) is None for version in versions):
        return False
    both = first & second
    return not any(both.contains(version, prereleases=True) for version in versions)
