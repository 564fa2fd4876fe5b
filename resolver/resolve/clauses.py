"""The clauses of a problem in a SAT solver. Clauses are added as metadata is read.

There is a variable for each candidate of each package that something requires. At most one
candidate of a package is chosen. Clauses belong to constraints (see `sat`), and are left out if a
constraint is relaxed.

Releases without a usable file have variables as well, and so do required releases that do not
exist. Only an `Unavailable` or `Excluded` constraint rules these variables out. So a core contains
such a constraint if and only if the conflict depends on it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
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
    extra_part,
)
from resolver.model.dependency import Allows, Candidate, Edge
from resolver.model.package import Package, PackageKind
from resolver.model.release import RejectionReason, Release
from resolver.model.requirement import ComponentRequirement
from resolver.resolve.candidates import pins
from resolver.resolve.policy_clauses import PolicyClauses
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
        # The rules about pre-releases and yanked releases.
        self.policies = PolicyClauses(self)
        # The variables of the unusable releases of each project, by position.
        self._unusable: dict[Package, dict[int, int]] = {}
        # The variables of required releases that do not exist, by package and specifier.
        self._nonexistent: dict[tuple[Package, str], int] = {}
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
        return self.policies.learn_from(other.policies)

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
        unusable: list[int] = []
        if package.kind is PackageKind.PROJECT and not package.extra:
            usable = {candidate.release.position for candidate in candidates}
            unusable = self._add_unusable_releases(package, usable)
            for candidate in candidates:
                for edge in self.universe.module_edges(candidate):
                    self._add(candidate, edge)
        self.at_most_one([*variables, *unusable])
        if package.kind is not PackageKind.MODULE:  # the solver tries the most preferred first
            others = [-variable for variable in (*variables[1:], *unusable)]
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

    def rule_out_release(
        self,
        constraint: Constraint,
        package: Package,
        position: int,
        variable: int,
        *permitted: int,
    ) -> None:
        """Add the clause that a constraint rules out a release of a project.

        `position` and `variable` are those of the release. It is permitted if a literal of
        `permitted` is true.
        """
        ruled_out = RuledOut(package, position, variable)
        others = self.ruled_out_releases.setdefault(constraint, [])
        if ruled_out not in others:
            others.append(ruled_out)
        self.rule([constraint], [-variable, *permitted])

    def any_of(self, candidates: Iterable[Candidate]) -> int:
        """Return a new variable. If it is assumed, one of the candidates must be chosen."""
        variable = self.new_variable()
        self.add_clause([-variable, *map(self.variable, candidates)])
        return variable

    # --- answers

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
        self.rule(constraints, [*premise, *self._admitted(edge, allows)])

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
        for position, variable in self._unusable.get(package, {}).items():
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

    def _admitted(self, edge: Edge, allows: Allows | None) -> list[int]:
        """Return the variables of the candidates and missing releases that meet an edge.

        `allows` says which candidates are admitted; None for all of the package. A missing release
        gets its variable here.
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
        variables = [self.variable(candidate) for candidate in candidates]
        if package.kind is PackageKind.PROJECT:
            variables += self._missing_variables(package.base, allows)
        elif isinstance(allows, ComponentRequirement) and not candidates:
            value = self.universe.problem.component_value(package.name)
            variables.append(self._nonexistent_variable(package, str(allows), value))
        return variables

    # --- releases that do not exist or cannot be used

    def _add_unusable_releases(self, package: Package, usable: Collection[int]) -> list[int]:
        """Add clauses for a project's releases that cannot be used, and return their variables.

        `usable` are the positions of the other releases. Unusable releases own modules like others.
        """
        project = self.universe.project(text.name(package.name))
        variables = self._unusable[package] = {}
        for position in project.positions(project.all):
            if position in usable:
                continue
            variable = variables[position] = self.new_variable()
            constraint = _why_unusable(project, position)
            self.rule_out_release(constraint, package, position, variable)
            for collision in self.universe.collisions(project.name, project.versions[position]):
                module = Package(collision.module, "", PackageKind.MODULE)
                self.add_package(module)
                owner = self.variable(self.universe.candidate_for(module, project.name))
                self.rule([Exclusive(collision)], [-variable, owner])
        return list(variables.values())

    def _missing_variables(self, base: Package, allows: Allows | None) -> list[int]:
        """Return the variables of releases that meet an edge and are unusable or do not exist.

        `base` is the project of the edge, and `allows` its specifier; None for any version.
        """
        project = self.universe.project(text.name(base.name))
        if not project.exists:
            no_project = Unavailable(base, NoCandidate.PROJECT)
            return [self._nonexistent_variable(base, "", no_project)]
        variables = []
        mask = project.all if allows is None else project.mask(allows)
        if project.unreachable and mask and (allows is None or not pins(allows)):
            unreachable = Unavailable(base, NoCandidate.UNREACHABLE)
            variables.append(self._nonexistent_variable(base, "", unreachable))
        if not mask:
            specifier = str(allows) if isinstance(allows, SpecifierSet) else ""
            because: list[Constraint] = [Unavailable(base, NoCandidate.RELEASE, specifier)]
            if project.source is not None:
                # Without the line that names the commit, an index might have such a release.
                root, _ = self.universe.sources[project.name]
                at_commit = Unavailable(base, NoCandidate.COMMIT, specifier)
                because = [at_commit, root.origin]
            variables.append(self._nonexistent_variable(base, specifier, *because))
        for position, variable in self._unusable.get(base, {}).items():
            if mask >> position & 1:
                variables.append(variable)
        return variables

    def _nonexistent_variable(self, package: Package, specifier: str, *because: Constraint) -> int:
        """Return the variable of a required release, project or value that does not exist.

        The constraints `because` rule it out. It excludes no candidate, since nothing is known
        about it.
        """
        variable = self._nonexistent.get((package, specifier))
        if variable is None:
            variable = self._nonexistent[package, specifier] = self.new_variable()
            self.rule(because, [-variable])
        return variable


def _why_unusable(project: Project, position: int) -> Constraint:
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
