"""The complete engine: newest-first decisions, with a SAT solver that sees further.

Packages are decided one after the other, each for its most preferred release, as in the search. After every decision
the solver is asked whether the decisions are still satisfiable together with everything known. A candidate whose
metadata has not been read counts as needing nothing, so unsatisfiable is certain. The solver then names the decisions
to blame, and the engine goes straight back to the latest of them and never meets the same clash again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import takewhile
from typing import Final

from resolver.errors import UndecidedError
from resolver.model import fact as facts
from resolver.model.dependency import Candidate, Edge, Package, PackageKind, SameRelease
from resolver.model.requirement import Requirement
from resolver.model.resolution import Lack
from resolver.resolve.candidates import ANYTHING, Demand, pins
from resolver.resolve.clauses import Clauses
from resolver.resolve.gather import Reachable
from resolver.resolve.grounded import Ground
from resolver.resolve.provider import Tick
from resolver.resolve.universe import Universe

_MAX_ROUNDS = 200_000
_SEVERAL = 4  # opened releases in a row that are checked one by one
MOST_UNREAD: Final = 400  # releases read only to see whether one of them requires a pre-release


class Unsatisfiable(Exception):
    """These grounds clash. As far as is known, without any one of them the rest is satisfiable."""

    def __init__(self, core: tuple[Ground, ...]) -> None:
        super().__init__()
        self.core = core


class CompleteEngine:
    """Decides one problem. `clauses` are what it learned."""

    def __init__(self, universe: Universe, *, tick: Tick | None = None) -> None:
        self.clauses = Clauses(universe)
        self._universe = universe
        self._tick = tick
        self._chosen: dict[Package, Candidate] = {}  # the decisions, the latest last
        # the demand on each package by the stack and the decisions, after each parent
        self._asked: dict[Package, list[Demand]] = {}
        self._met: dict[Package, int] = {}  # the packages in the order in which they were first required
        self.rounds = 0
        self._ask(universe.roots())

    def solve(self) -> dict[Package, Candidate]:
        """The choices that the stack reaches. Raises Unsatisfiable, or UndecidedError beyond its limits."""
        while True:
            if not self.clauses.satisfiable():
                if self.clauses.reading or self.clauses.unread > MOST_UNREAD:
                    raise Unsatisfiable(tuple(self.clauses.minimal()))
                self.clauses.reading = True
                continue
            package = self._next()
            if package is None:
                if not self._settle():
                    return self._chosen
                while self._holds() and self._put_out():
                    self._round()
                self._go_back()
            elif not self._decide(package):
                self._go_back()

    def _next(self) -> Package | None:
        """The package to decide now, in an order like that of the search; None if there is none left."""
        left = [one for one in self._asked if one not in self._chosen]
        return min(
            left, key=lambda one: (one.kind, *self._asked[one][-1].decision_key(self._met[one]), one), default=None
        )

    def _ask(self, edges: Iterable[Edge]) -> None:
        """Record what the stack or a decision requires."""
        for edge in edges:
            self._met.setdefault(edge.package, len(self._met))
            asked = self._asked.setdefault(edge.package, [])
            own = self._universe.demand(edge)
            asked.append(asked[-1] & own if asked else own)

    def _drop(self, left: int) -> None:
        """Take decisions back, the latest first, until so many are left."""
        while len(self._chosen) > left:
            _, candidate = self._chosen.popitem()
            for edge in self._universe.edges(candidate):
                self._asked[edge.package].pop()
                if not self._asked[edge.package]:
                    del self._asked[edge.package]

    def _decide(self, package: Package) -> bool:
        """Take the most preferred candidate that is compatible with the decisions; False if none is."""
        order = list(self._order(package))
        tried = list(takewhile(self.clauses.opened, order))  # mostly by earlier decisions, and in vain
        if len(tried) > _SEVERAL and not self._holds(self.clauses.any_of(tried)):
            order = order[len(tried) :]
        for candidate in order:
            self._round()
            variable = self.clauses.variable(candidate)
            if not self._holds(variable):
                continue
            self.clauses.open(candidate)
            if not self._holds(variable):
                continue
            self._chosen[package] = candidate
            self._ask(self._universe.edges(candidate))
            return True
        return False

    def _order(self, package: Package) -> Iterator[Candidate]:
        """What the requirements so far and the policy admit; then the others, in case more requirements follow.

        Those ruled out by a decision's requirements, possibly thousands, are left out.
        """
        demand = self._asked[package][-1]
        if package.extra:  # it is of its project's release
            base = self._chosen.get(package.base)
            asked = self._asked.get(package.base, [ANYTHING])[-1]
            demand &= asked if base is None else Demand(1 << base.release.position)
        admitted = dict.fromkeys(self._universe.candidates(package, demand))
        yield from admitted
        for candidate in self.clauses.packages.get(package, ()):
            possible = package.kind is not PackageKind.PROJECT or demand.mask >> candidate.release.position & 1
            if possible and candidate not in admitted:
                yield candidate

    def _holds(self, *more: int) -> bool:
        """Whether the decisions, and these variables, are satisfiable together with everything known."""
        return self.clauses.satisfiable([*map(self.clauses.variable, self._chosen.values()), *more])

    def _go_back(self) -> None:
        """Drop the latest of the incompatible decisions, and later ones, until the rest are compatible."""
        before = len(self._chosen)
        while self._chosen and not self._holds():
            blamed = self.clauses.blamed()
            self._drop(max((at for at, one in enumerate(self._chosen.values()) if one in blamed), default=0))
        if len(self._chosen) == before and self._holds():
            raise UndecidedError("the engine stopped", hint="please report this together with the stack file")

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

    def _settle(self) -> bool:
        """Rule out an answer that takes a pre-release or a yanked release without permission; whether it did.

        The clauses are about the project, not about this answer: so they exclude nothing that could be allowed, and
        releases excluded for the same reason are excluded together (docs/solving.md).
        """
        found = Reachable(self._universe, self._chosen)
        unpermitted = list(found.unpermitted())
        for candidate in unpermitted:
            package, demand = candidate.package, found.demands[candidate.package]
            if candidate.release.yanked and not demand.pinned_by_user:
                any_may = self._may_be_pinned(package)
                self.clauses.rule_out(package, Lack.YANKED, self._permits_yanked, any_may=any_may)
            else:
                final = next(self._universe.candidates(package, demand))
                self.clauses.rule_out(package, Lack.NEEDLESS, partial(self._permits_prerelease, final), any_may=True)
        return bool(unpermitted)

    def _permits_prerelease(self, final: Candidate, edge: Edge) -> bool:
        """Whether a requirement permits pre-releases although this final release fits all others."""
        if isinstance(edge.origin, SameRelease):
            return False
        return self._universe.demand(edge).prerelease or not self._universe.is_admitted(final, edge)

    def _permits_yanked(self, edge: Edge) -> bool:
        """Whether a requirement permits a yanked release."""
        return self._universe.demand(edge).pinned_by_user

    def _may_be_pinned(self, package: Package) -> bool:
        """Whether a fact pins a project, or may do so because it reads requirements from an archive or repository."""
        if self._universe.sources:
            return True
        stated = self._universe.problem.facts
        needs = (need for fact in stated for need in facts.needs_of(fact) if isinstance(need, Requirement))
        pinned = any(need.name == package.name and pins(need.specifier) for need in needs)
        return pinned or any(isinstance(fact, facts.Builds) for fact in stated)

    def _put_out(self) -> bool:
        """Forbid choices of the solver that nothing leads to, unless something outside does; whether it did.

        A way from the stack to one of them must enter through a candidate that is
        none of them: one that is known to need one of their packages, or unknown.
        """
        # a component exists whether or not anything needs it
        idle = {
            one
            for one in self.clauses.chosen().values()
            if one.package.kind is PackageKind.PROJECT and self._chosen.get(one.package) is not one
        }
        packages = {one.package for one in idle}
        variable = self.clauses.variable
        ways = [
            variable(other)
            for other in self.clauses.candidates()
            if other not in idle
            and other.package.kind is PackageKind.PROJECT
            and (not self.clauses.opened(other) or any(e.package in packages for e in self._universe.edges(other)))
        ]
        for one in sorted(idle, key=variable):
            self.clauses.add_clause([-variable(one), *ways])
        return bool(idle)
