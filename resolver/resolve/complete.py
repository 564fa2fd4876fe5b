"""The complete engine: newest-first decisions that a SAT solver checks.

Packages are decided one after the other, each for its most preferred release, as in the search.
After every decision the solver is asked whether the decisions are still satisfiable together with
everything known. A candidate whose metadata has not been read counts as needing nothing, so
unsatisfiable is certain. The solver then names the decisions to blame, and the engine jumps back to
the latest of them and never meets the same clash again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import takewhile
from typing import Final

from resolver.errors import UndecidedError
from resolver.model import fact as facts
from resolver.model.constraint import Constraint, NoCandidate
from resolver.model.dependency import Candidate, Edge
from resolver.model.package import Package, PackageKind
from resolver.model.release import RejectionReason
from resolver.model.requirement import Requirement
from resolver.resolve.candidates import ANYTHING, Demand, pins
from resolver.resolve.clauses import Clauses
from resolver.resolve.gather import DependencyGraph
from resolver.resolve.provider import Tick
from resolver.resolve.universe import Universe

_MAX_ROUNDS = 200_000
_SEVERAL = 4  # opened releases in a row that are checked one by one
MOST_UNREAD: Final = 400  # releases read only to see whether one of them requires a pre-release


class Unsatisfiable(Exception):
    """Constraints clash: as far as is known, without any one of the core the rest is satisfiable."""

    def __init__(self, core: tuple[Constraint, ...]) -> None:
        super().__init__()
        self.core = core


class CompleteEngine:
    """Decides one problem; `clauses` are what it learned."""

    def __init__(self, universe: Universe, *, tick: Tick | None = None) -> None:
        self.clauses = Clauses(universe)
        self._universe = universe
        self._tick = tick
        self._chosen: dict[Package, Candidate] = {}  # the decisions, the latest last
        # the demand on each package by the stack and the decisions, after each parent
        self._demands: dict[Package, list[Demand]] = {}
        self._first_required: dict[Package, int] = {}  # the place of each in this order
        self.rounds = 0
        self._require(universe.roots())

    def solve(self) -> dict[Package, Candidate]:
        """The choices that the stack reaches.

        Raises Unsatisfiable, or UndecidedError beyond its limits.
        """
        while True:
            if not self.clauses.satisfiable():
                if self.clauses.reading or self.clauses.unread > MOST_UNREAD:
                    raise Unsatisfiable(tuple(self.clauses.minimal()))
                self.clauses.reading = True
                continue
            package = self._next()
            if package is None:
                if not self._exclude_unpermitted():
                    return self._chosen
                while self._holds() and self._exclude_unneeded():
                    self._round()
                self._backjump()
            elif not self._decide(package):
                self._backjump()

    def _next(self) -> Package | None:
        """The package to decide now, in an order like that of the search; None if all are decided."""

        def key(package: Package) -> tuple[object, ...]:
            return (
                package.kind,
                *self._demands[package][-1].decision_key(self._first_required[package]),
                package,
            )

        return min(
            (package for package in self._demands if package not in self._chosen),
            key=key,
            default=None,
        )

    def _require(self, edges: Iterable[Edge]) -> None:
        for edge in edges:
            if edge.package.kind is PackageKind.VERSION:
                # the clauses of bounds are about the project itself: there is nothing to decide
                continue
            self._first_required.setdefault(edge.package, len(self._first_required))
            demands = self._demands.setdefault(edge.package, [])
            demand = self._universe.demand(edge)
            demands.append(demands[-1] & demand if demands else demand)

    def _undo_decisions(self, count: int) -> None:
        """Undo decisions, the latest first, until `count` of them are left."""
        while len(self._chosen) > count:
            _, candidate = self._chosen.popitem()
            for edge in self._universe.edges(candidate):
                if edge.package.kind is PackageKind.VERSION:
                    continue
                self._demands[edge.package].pop()
                if not self._demands[edge.package]:
                    del self._demands[edge.package]

    def _decide(self, package: Package) -> bool:
        """Take the most preferred candidate that is compatible with the decisions; False if none is."""
        candidates = list(self._candidates(package))
        opened = list(
            takewhile(self.clauses.opened, candidates)
        )  # mostly by earlier decisions, and in vain
        if len(opened) > _SEVERAL and not self._holds(self.clauses.any_of(opened)):
            candidates = candidates[len(opened) :]
        for candidate in candidates:
            self._round()
            variable = self.clauses.variable(candidate)
            if not self._holds(variable):
                continue
            self.clauses.open(candidate)
            if not self._holds(variable):
                continue
            self._chosen[package] = candidate
            self._require(self._universe.edges(candidate))
            return True
        return False

    def _candidates(self, package: Package) -> Iterator[Candidate]:
        """Those that the requirements so far and the policy admit; then the others, in case more requirements follow.

        Those ruled out by a decision's requirements, possibly thousands, are left out.
        """
        demand = self._demands[package][-1]
        if package.extra:  # it is of its project's release
            base = self._chosen.get(package.base)
            of_base = self._demands.get(package.base, [ANYTHING])[-1]
            demand &= of_base if base is None else Demand(1 << base.release.position)
        admitted = dict.fromkeys(self._universe.candidates(package, demand))
        yield from admitted
        for candidate in self.clauses.packages.get(package, ()):
            possible = (
                package.kind is not PackageKind.PROJECT
                or demand.mask >> candidate.release.position & 1
            )
            if possible and candidate not in admitted:
                yield candidate

    def _holds(self, *more: int) -> bool:
        """Whether the decisions, and these variables, are satisfiable together with everything known."""
        return self.clauses.satisfiable([*map(self.clauses.variable, self._chosen.values()), *more])

    def _backjump(self) -> None:
        """Undo the latest of the incompatible decisions, and later ones, until those before it are compatible."""
        before = len(self._chosen)
        while self._chosen and not self._holds():
            blamed = self.clauses.blamed()
            decisions = enumerate(self._chosen.values())
            self._undo_decisions(
                max((at for at, candidate in decisions if candidate in blamed), default=0)
            )
        if len(self._chosen) == before and self._holds():
            raise UndecidedError(
                "the engine stopped", hint="please report this together with the stack file"
            )

    def _round(self) -> None:
        self.rounds += 1
        if self.rounds > _MAX_ROUNDS:
            raise UndecidedError(
                "no answer was found within the search limits",
                why=f"{self.rounds} rounds, {len(self.clauses.packages)} packages",
                hint="pin some of the stack's requirements more tightly",
            )
        if self._tick is not None:
            self._tick(self.rounds, len(self._chosen))

    # --- what the policy excludes

    def _exclude_unpermitted(self) -> bool:
        """Exclude the pre-releases and yanked releases that were chosen without permission; whether there were any.

        The clauses are about the project, not about this answer: so they exclude nothing that could
        be allowed, and releases excluded for the same reason are excluded together
        (docs/solving.md).
        """
        graph = DependencyGraph(self._universe, self._chosen)
        unpermitted = list(graph.unpermitted())
        for candidate in unpermitted:
            package, demand = candidate.package, graph.demands[candidate.package]
            if candidate.release.yanked and not demand.pinned_by_user:
                any_may = self._may_be_pinned(package)
                self.clauses.rule_out(
                    package,
                    RejectionReason.YANKED,
                    lambda edge: self._universe.demand(edge).pinned_by_user,
                    any_may=any_may,
                )
            else:
                final = next(self._universe.candidates(package, demand))
                permits = partial(self._permits_prerelease, final)
                self.clauses.rule_out(package, NoCandidate.NEEDLESS, permits, any_may=True)
        return bool(unpermitted)

    def _permits_prerelease(self, final: Candidate, edge: Edge) -> bool:
        """Whether a requirement permits pre-releases although this final release fits all others."""
        if edge.constraint is None:
            return False
        return self._universe.demand(edge).prerelease or not self._universe.is_admitted(final, edge)

    def _may_be_pinned(self, package: Package) -> bool:
        """Whether a fact pins a project, or may do so because it reads requirements from an archive or repository."""
        all_facts = self._universe.problem.facts
        needs = (
            need
            for fact in all_facts
            for need in facts.needs_of(fact)
            if isinstance(need, Requirement)
        )
        return (
            bool(self._universe.sources)
            or any(isinstance(fact, (facts.Builds, facts.Sources)) for fact in all_facts)
            or any(need.name == package.name and pins(need.specifier) for need in needs)
        )

    def _exclude_unneeded(self) -> bool:
        """Exclude what the solver chose and nothing that the stack reaches needs; whether there was anything.

        A path from the stack to one of them must enter through a candidate that is none of them:
        one that is known to need one of their packages, or has not been opened.
        """
        # a component exists whether or not anything needs it
        unneeded = {
            candidate
            for candidate in self.clauses.chosen().values()
            if candidate.package.kind is PackageKind.PROJECT
            and self._chosen.get(candidate.package) is not candidate
        }
        packages = {candidate.package for candidate in unneeded}
        variable, opened = self.clauses.variable, self.clauses.opened
        parents = [
            variable(parent)
            for parent in self.clauses.candidates()
            if parent not in unneeded
            and parent.package.kind is PackageKind.PROJECT
            and (
                not opened(parent)
                or any(edge.package in packages for edge in self._universe.edges(parent))
            )
        ]
        for candidate in sorted(unneeded, key=variable):
            self.clauses.add_clause([-variable(candidate), *parents])
        return bool(unneeded)
