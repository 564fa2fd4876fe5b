"""The complete engine: a search that asks a SAT solver after each decision.

Packages are decided one after the other, each for its most preferred release, as in the search of
`provider`. After each decision, the solver is asked whether all decisions and all known clauses are
satisfiable. A candidate that was not opened counts as requiring nothing, so the answer
"unsatisfiable" is certain. The solver then names the decisions to blame. The engine undoes the
latest of them, and the clauses prevent the same conflict from occurring again.
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

# The engine gives up after so many rounds.
_MAX_ROUNDS: Final = 200_000
# If more opened candidates than these come first, they are tested together before they are tried
# one by one.
_SEVERAL: Final = 4
# The most releases that are read only to find out whether one of them requires a pre-release.
MOST_UNREAD: Final = 400


class Unsatisfiable(Exception):
    """A problem has no solution. `core` are constraints that cannot all hold.

    As far as is known, all but any one of them can hold.
    """

    def __init__(self, core: tuple[Constraint, ...]) -> None:
        super().__init__()
        self.core = core


class CompleteEngine:
    """Solves one problem. `clauses` has the clauses that are known so far."""

    def __init__(self, universe: Universe, *, tick: Tick | None = None) -> None:
        """Take the universe to solve. `tick` is called in each round."""
        self.clauses = Clauses(universe)
        self._universe = universe
        self._tick = tick
        # The decisions, the latest last.
        self._chosen: dict[Package, Candidate] = {}
        # The demands on each package by the stack and the decisions. Each edge adds a demand to the
        # list, so that it can be undone.
        self._demands: dict[Package, list[Demand]] = {}
        # The position of each package in the order in which they were first required.
        self._first_required: dict[Package, int] = {}
        self.rounds = 0
        self._require(universe.roots())

    def solve(self) -> dict[Package, Candidate]:
        """Return the chosen candidate of each package that the stack requires.

        Raises Unsatisfiable if there is no solution, and UndecidedError if a limit is reached.
        """
        while True:
            if not self.clauses.satisfiable():
                if self.clauses.reading or self.clauses.policies.unread > MOST_UNREAD:
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
        """Return the package to decide next; None if all are decided.

        The order is about the same as in the search.
        """
        undecided = [package for package in self._demands if package not in self._chosen]
        return min(undecided, key=self._decision_key, default=None)

    def _decision_key(self, package: Package) -> tuple[object, ...]:
        """Return a sort key for `_next`: the smallest key belongs to the package to decide next."""
        key = self._demands[package][-1].decision_key(self._first_required[package])
        return package.kind, *key, package

    def _require(self, edges: Iterable[Edge]) -> None:
        """Add the demands of edges."""
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
        """Decide for the most preferred candidate that is compatible with the other decisions.

        Return False if there is none.
        """
        candidates = list(self._candidates(package))
        # Most candidates that were opened were tried in vain by earlier decisions.
        opened = list(takewhile(self.clauses.is_expanded, candidates))
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
        """Yield the candidates of a package that the present demand admits.

        Candidates that the policy permits come first. The policy may permit the others if more
        requirements follow. Candidates that the demand does not admit are left out, since there may
        be thousands of them.
        """
        demand = self._demands[package][-1]
        if package.extra:  # it has the same release as its project
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

    def _holds(self, *literals: int) -> bool:
        """Return whether the known clauses are satisfiable with the decisions and more literals."""
        return self.clauses.satisfiable(
            [*map(self.clauses.variable, self._chosen.values()), *literals]
        )

    def _backjump(self) -> None:
        """Undo decisions until the others are satisfiable.

        Each time, the latest decision to blame and all later ones are undone. Raises UndecidedError
        if there is nothing to undo, which would be a mistake in this program.
        """
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
        """Count a round. Raises UndecidedError after too many."""
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

    # --- the policy on pre-releases and yanked releases

    def _exclude_unpermitted(self) -> bool:
        """Add rules of the policy for pre-releases and yanked releases that were chosen.

        Only releases that the policy does not permit count. Return whether there were any. A rule
        is about all such releases of a project, and excludes none that a requirement permits
        (docs/solving.md).
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
        """Add the rule that yanked releases of a project need a pin of the stack or a fact."""

        def permits(edge: Edge) -> bool:
            return self._universe.demand(edge).pinned_by_user

        any_may = self._may_be_pinned(package)
        self.clauses.policies.rule_out(package, RejectionReason.YANKED, permits, any_may=any_may)

    def _exclude_prereleases(self, package: Package, final: Candidate) -> None:
        """Add the rule that pre-releases of a project need a permission.

        A requirement permits them if it names a pre-release, or does not admit the release `final`.
        A requirement of a release on its own project never does.
        """

        def permits(edge: Edge) -> bool:
            if edge.is_own:
                return False
            names_prerelease = self._universe.demand(edge).prerelease
            return names_prerelease or not self._universe.is_admitted(final, edge)

        self.clauses.policies.rule_out(package, NoCandidate.NEEDLESS, permits, any_may=True)

    def _may_be_pinned(self, package: Package) -> bool:
        """Return whether a fact pins a project, or might do so.

        A fact whose requirements are read from an archive or a repository might do so.
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
        """Exclude candidates that the solver chose although the stack does not require them.

        Return whether there were any. Each of them gets a clause: it is chosen only if a candidate
        that may require one of them is chosen. Such a candidate is not one of them itself, and is
        known to require one of their packages, or was not opened.
        """
        # Components exist whether or not something requires them.
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
            if self.clauses.is_expanded(parent):
                edges = self._universe.edges(parent)
                if not any(edge.package in unneeded for edge in edges):
                    continue
            parents.append(self.clauses.variable(parent))
        for variable in sorted(map(self.clauses.variable, excluded)):
            self.clauses.add_clause([-variable, *parents])
        return bool(unneeded)


def _edges_to_decide(edges: Iterable[Edge]) -> Iterator[Edge]:
    """Return the edges on packages that are decided.

    Bounds are left out, since their clauses are about the project itself.
    """
    return (edge for edge in edges if edge.package.kind is not PackageKind.VERSION)
