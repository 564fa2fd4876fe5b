"""The clauses of policies: pre-releases and yanked releases need a permission.

docs/solving.md ("The complete engine") says which releases a rule is about.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, NamedTuple

from resolver.model.constraint import BuildLine, Constraint, StackLine, Unavailable, WhyNot
from resolver.model.dependency import Candidate, Edge
from resolver.model.package import Package, PackageKind
from resolver.model.release import RejectionReason

if TYPE_CHECKING:
    from resolver.resolve.clauses import Clauses


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

    def is_about(self, candidate: Candidate) -> bool:
        """Return whether the rule rules out a candidate of its project."""
        if self.why is RejectionReason.YANKED:
            return candidate.release.yanked
        return candidate.version.is_prerelease


class PolicyClauses:
    """Adds the clauses of the rules of a policy to the clauses of a problem."""

    def __init__(self, clauses: Clauses) -> None:
        """Take the clauses of the problem."""
        self._clauses = clauses
        # The rules that were added.
        self._policies: list[_Policy] = []
        # For each constraint of a rule, the opened candidates that permit the releases which it
        # rules out.
        self._permitting: dict[Constraint, dict[Candidate, None]] = {}
        # The candidates that were not opened when a rule was added, and might permit the releases
        # that it rules out.
        self._unread: set[Candidate] = set()

    @property
    def unread(self) -> int:
        """Return the number of releases that were not read and might permit ruled-out releases."""
        return sum(not self._clauses.is_expanded(candidate) for candidate in self._unread)

    def permitting(self, constraint: Constraint) -> Collection[Candidate]:
        """Return the opened candidates that permit the releases that a constraint rules out."""
        return self._permitting.get(constraint, {}).keys()

    def rule_out(
        self, package: Package, why: WhyNot, permits: Callable[[Edge], bool], *, any_may: bool
    ) -> None:
        """Add a rule: yanked releases or pre-releases of a project are ruled out.

        `why` is YANKED or NEEDLESS. The releases are permitted if a chosen candidate has an edge
        for which `permits` returns True. With `any_may`, a candidate that was not opened may have
        such an edge, too. That counts only if `SatSolver.reading` is set.
        """
        policy = _Policy(package, why, permits, any_may)
        self._policies.append(policy)
        self._enforce(policy)

    def learn_from(self, other: PolicyClauses) -> int:
        """Add the rules of other clauses, and return a variable: if it is assumed, they hold.

        Rules about unknown packages are left out. So are rules about the packages of relaxed lines:
        a new version of the line may permit releases that the rule excludes.
        """
        relaxed_packages: set[Package] = set()
        for constraint in self._clauses.relaxed:
            if isinstance(constraint, (StackLine, BuildLine)):
                edges = self._clauses.edges[constraint]
                relaxed_packages.update(edge.package.base for _, edge in edges)
        holds_policies = self._clauses.new_variable()
        for policy in other._policies:
            is_known = policy.package in self._clauses.packages
            if is_known and policy.package not in relaxed_packages:
                self._enforce(policy, unless=[-holds_policies])
        return holds_policies

    def _enforce(self, policy: _Policy, unless: Collection[int] = ()) -> None:
        """Add the clauses of a rule.

        The releases are also permitted if a literal of `unless` is true.
        """
        clauses = self._clauses
        constraint = Unavailable(policy.package, policy.why)
        permitted = clauses.new_variable()
        # A line that is relaxed now may permit the releases when it is not.
        relaxed_lines = [
            clauses.selector(other)
            for other in clauses.known
            if other in clauses.relaxed and isinstance(other, (StackLine, BuildLine))
        ]
        opened = self._permitting_candidates(policy)
        if opened:
            self._permitting.setdefault(constraint, {}).update(dict.fromkeys(opened))
        permitting = [*map(clauses.variable, opened), *relaxed_lines, *unless]
        unread = self._unread_candidates(policy) if policy.any_may else []
        if unread:
            self._unread.update(unread)
            guard = clauses.new_guard()
            clauses.add_clause([-guard, *map(clauses.variable, unread)])
            permitting.append(guard)
        clauses.add_clause([-permitted, *permitting])
        for candidate in clauses.packages[policy.package]:
            if policy.is_about(candidate):
                position = candidate.release.position
                variable = clauses.variable(candidate)
                clauses.rule_out_release(constraint, policy.package, position, variable, permitted)

    def _permitting_candidates(self, policy: _Policy) -> list[Candidate]:
        """Return the opened candidates with an edge that permits the releases of a rule."""
        permitting = []
        for candidate in self._clauses.candidates():
            is_project = candidate.package.kind is PackageKind.PROJECT
            if not is_project or not self._clauses.is_expanded(candidate):
                continue
            edges = self._clauses.universe.edges(candidate)
            if any(edge.package.base == policy.package and policy.permits(edge) for edge in edges):
                permitting.append(candidate)
        return permitting

    def _unread_candidates(self, policy: _Policy) -> list[Candidate]:
        """Return the known candidates for other projects and extras that were not opened."""
        return [
            candidate
            for candidate in self._clauses.candidates()
            if candidate.package.kind is PackageKind.PROJECT
            and candidate.package.base != policy.package
            and not self._clauses.is_expanded(candidate)
        ]
