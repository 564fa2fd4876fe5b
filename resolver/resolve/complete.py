"""The complete engine: newest-first decisions that a SAT solver checks.

Packages are decided one after the other, each for its most preferred release, as in the search.
After every decision the solver is asked whether the decisions are still satisfiable together with
everything known. A candidate that was not opened counts as needing nothing, so unsatisfiable is
certain. The solver then names the decisions to blame, and the engine jumps back to the latest of
them and never meets the same clash again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import Final

from resolver.errors import UndecidedError
from resolver.model import fact as facts
from resolver.model.constraint import Constraint, NoCandidate
from resolver.model.dependency import Candidate, Edge
from resolver.model.package import Package, PackageKind
from resolver.model.release import RejectionReason
from resolver.model.requirement import Requirement
from resolver.phrase import phrase
from resolver.resolve.candidates import ANYTHING, Demand, pins
from resolver.resolve.clauses import Clauses
from resolver.resolve.gather import DependencyGraph
from resolver.resolve.provider import Tick
from resolver.resolve.universe import Universe

_MAX_ROUNDS: Final = 200_000
# Opened candidates in a row that are tried one by one.
_SEVERAL: Final = 4
# Releases that are read only to see whether one of them requires a pre-release.
MOST_UNREAD: Final = 400


class Unsatisfiable(Exception):
    """Constraints clash.

    As far as is known, the rest of the core is satisfiable without any one of them.
    """

    def __init__(self, core: tuple[Constraint, ...]) -> None:
        super().__init__()
        self.core = core


class CompleteEngine:
    """Decides one problem; `clauses` are what it learned."""

    def __init__(self, universe: Universe, *, tick: Tick | None = None) -> None:
        self.clauses = Clauses(universe)
        self._universe = universe
        self._tick = tick
        # the decisions, the latest last
        self._chosen: dict[Package, Candidate] = {}
        # the demand on each package by the stack and the decisions, after each edge on it
        self._demands: dict[Package, list[Demand]] = {}
        # the place of each package in the order in which they were required
        self._first_required: dict[Package, int] = {}
        self.rounds = 0
        self._require(universe.roots())

    def solve(self) -> dict[Package, Candidate]:
        """Return the choices that the stack reaches.

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
        """Return the package to decide now; None if all are decided.

        The order is like that of the search.
        """
        undecided = [package for package in self._demands if package not in self._chosen]
        return min(undecided, key=self._decision_key, default=None)

    def _decision_key(self, package: Package) -> tuple[object, ...]:
        key = self._demands[package][-1].decision_key(self._first_required[package])
        return package.kind, *key, package

    def _require(self, edges: Iterable[Edge]) -> None:
        for edge in _edges_to_decide(edges):
            self._first_required.setdefault(edge.package, len(self._first_required))
            demands = self._demands.setdefault(edge.package, [])
            demand = self._universe.demand(edge)
            demands.append(demands[-1] & demand if demands else demand)

    def _undo_decisions(self, count: int) -> None:
        """Undo decisions, the latest first, until `count` of them are left."""
        while len(self._chosen) > count:
            _, candidate = self._chosen.popitem()
            for edge in _edges_to_decide(self._universe.edges(candidate)):
                self._demands[edge.package].pop()
                if not self._demands[edge.package]:
                    del self._demands[edge.package]

    def _decide(self, package: Package) -> bool:
        """Take the most preferred candidate that is compatible with the decisions.

        Return whether there is one.
        """
        candidates = list(self._candidates(package))
        # mostly by earlier decisions, and in vain
        opened = list(takewhile(self.clauses.opened, candidates))
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
        """Yield the candidates that the requirements so far and the policy admit, then others.

        The others are there in case more requirements follow. Those that a decision rules out,
        possibly thousands, are left out.
        """
        demand = self._demands[package][-1]
        if package.extra:  # it is of its project's release
            base = self._chosen.get(package.base)
            if base is not None:
                demand &= Demand(1 << base.release.position)
            else:
                demand &= self._demands.get(package.base, [ANYTHING])[-1]
        admitted = dict.fromkeys(self._universe.candidates(package, demand))
        yield from admitted
        is_project = package.kind is PackageKind.PROJECT
        for candidate in self.clauses.packages.get(package, ()):
            if is_project and not demand.mask >> candidate.release.position & 1:
                continue
            if candidate not in admitted:
                yield candidate

    def _holds(self, *more: int) -> bool:
        """Return whether the decisions and these variables are satisfiable with what is known."""
        return self.clauses.satisfiable([*map(self.clauses.variable, self._chosen.values()), *more])

    def _backjump(self) -> None:
        """Undo the latest of the incompatible decisions, and later ones, until the rest hold."""
        before = len(self._chosen)
        while self._chosen and not self._holds():
            blamed = self.clauses.blamed()
            kept = 0
            for number, candidate in enumerate(self._chosen.values()):
                if candidate in blamed:
                    kept = number
            self._undo_decisions(kept)
        if len(self._chosen) == before and self._holds():
            raise UndecidedError(
                phrase("the engine stopped"),
                hint=phrase("please report this together with the stack file"),
            )

    def _round(self) -> None:
        self.rounds += 1
        if self.rounds > _MAX_ROUNDS:
            raise UndecidedError(
                phrase("no answer was found within the search limits"),
                why=phrase(
                    "{rounds} rounds, {packages} packages",
                    rounds=self.rounds,
                    packages=len(self.clauses.packages),
                ),
                hint=phrase("pin some of the stack's requirements more tightly"),
            )
        if self._tick is not None:
            self._tick(self.rounds, len(self._chosen))

    # --- what the policy excludes

    def _exclude_unpermitted(self) -> bool:
        """Exclude the pre-releases and yanked releases that were chosen without permission.

        Return whether there were any. The clauses are about the project, not about this answer: so
        they exclude nothing that could be allowed, and releases excluded for the same reason are
        excluded together (docs/solving.md).
        """
        graph = DependencyGraph(self._universe, self._chosen)
        unpermitted = list(graph.unpermitted())
        for candidate in unpermitted:
            package = candidate.package
            demand = graph.demands[package]
            if candidate.release.yanked and not demand.pinned_by_user:
                self._exclude_yanked(package)
            else:
                final = next(self._universe.candidates(package, demand))
                self._exclude_prereleases(package, final)
        return bool(unpermitted)

    def _exclude_yanked(self, package: Package) -> None:
        """Exclude a project's yanked releases, unless the stack or a fact pins one."""

        def permits(edge: Edge) -> bool:
            return self._universe.demand(edge).pinned_by_user

        any_may = self._may_be_pinned(package)
        self.clauses.rule_out(package, RejectionReason.YANKED, permits, any_may=any_may)

    def _exclude_prereleases(self, package: Package, final: Candidate) -> None:
        """Exclude a project's pre-releases as long as a final release fits all requirements."""

        def permits(edge: Edge) -> bool:
            if edge.constraint is None:
                return False
            names_prerelease = self._universe.demand(edge).prerelease
            return names_prerelease or not self._universe.is_admitted(final, edge)

        self.clauses.rule_out(package, NoCandidate.NEEDLESS, permits, any_may=True)

    def _may_be_pinned(self, package: Package) -> bool:
        """Return whether a fact pins a project, or may do so.

        It may if it has requirements read from an archive or repository.
        """
        if self._universe.sources:
            return True
        for fact in self._universe.problem.facts:
            if isinstance(fact, (facts.Builds, facts.Sources)):
                return True
            for need in fact.added_needs:
                if not isinstance(need, Requirement):
                    continue
                if need.name == package.name and pins(need.specifier):
                    return True
        return False

    def _exclude_unneeded(self) -> bool:
        """Exclude what the solver chose and nothing that the stack reaches needs.

        Return whether there was anything. A path from the stack to one of them must enter through a
        candidate that is none of them: one that is known to need one of their packages, or has not
        been opened.
        """
        # a component exists whether or not anything needs it
        unneeded = {
            package: candidate
            for package, candidate in self.clauses.chosen().items()
            if package.kind is PackageKind.PROJECT and self._chosen.get(package) is not candidate
        }
        excluded = set(unneeded.values())
        parents = []
        for parent in self.clauses.candidates():
            if parent.package.kind is not PackageKind.PROJECT or parent in excluded:
                continue
            if self.clauses.opened(parent):
                edges = self._universe.edges(parent)
                if not any(edge.package in unneeded for edge in edges):
                    continue
            parents.append(self.clauses.variable(parent))
        for variable in sorted(map(self.clauses.variable, excluded)):
            self.clauses.add_clause([-variable, *parents])
        return bool(unneeded)


def _edges_to_decide(edges: Iterable[Edge]) -> Iterator[Edge]:
    """Yield the edges on packages to decide.

    Bounds are none of them: their clauses are about the project itself.
    """
    return (edge for edge in edges if edge.package.kind is not PackageKind.VERSION)
