"""The complete engine: SAT over a universe that is completed as far as it matters.

A variable stands for each candidate of each package that some opened
candidate needs; at most one of a package is chosen. A candidate whose metadata
is not known yet counts as needing nothing: unsatisfiable then is unsatisfiable
for certain; satisfiable means to open what was chosen and to ask again.

Every edge has a selector, so that an unsatisfiable answer comes with the edges
that clash. An answer is then made newest-first: in the order in which the
stack reaches its packages, each gets the most preferred candidate that the
choices before it leave possible.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

from pysat.card import CardEnc, EncType
from pysat.formula import IDPool
from pysat.solvers import Cadical153

from resolver.errors import UndecidedError
from resolver.model.candidate import Candidate, Release
from resolver.model.edge import Edge, Nothing, Owner
from resolver.model.origin import PolicyLine, SameRelease
from resolver.model.package import Kind, Package
from resolver.solve.admits import satisfies
from resolver.solve.lookahead import Lookahead
from resolver.solve.universe import Universe

_PAIRWISE = 5
_MAX_ROUNDS = 20_000
_POLISH_ROUNDS = 2_000


class Unsatisfiable(Exception):
    """No choice satisfies these edges together. Without any one of them the rest could hold, as far as is known."""

    def __init__(self, core: tuple[Edge, ...]) -> None:
        super().__init__()
        self.core = core


class CompleteEngine:
    """One problem's clauses, growing as metadata becomes known."""

    def __init__(
        self,
        universe: Universe,
        *,
        tick: Callable[[int, int], None] | None = None,
    ) -> None:
        self._universe = universe
        self._lookahead = Lookahead(universe)
        self._tick = tick
        self._pool = IDPool()
        self._solver = Cadical153()
        self._variables: dict[Candidate, int] = {}
        self._candidates: dict[int, Candidate] = {}
        self._packages: dict[Package, list[Candidate]] = {}
        self._owners: dict[Package, set[str]] = {}
        self._selectors: dict[int, Edge] = {}
        self._opened: set[Candidate] = set()
        self._limit = _MAX_ROUNDS
        self.rounds = 0

    def solve(self) -> dict[Package, Candidate]:
        """The choices that the stack reaches. Raises Unsatisfiable, or UndecidedError past its limits."""
        try:
            for edge in self._universe.roots():
                self._add(None, edge)
            answer = self._find([])
            if answer is None:
                raise Unsatisfiable(self._core())
            return self._polish(answer)
        finally:
            self._solver.delete()

    # --- clauses

    def _add(self, parent: Candidate | None, edge: Edge) -> None:
        package = edge.package
        if isinstance(edge.allows, Owner):
            self._own(package, edge.allows.name)
        else:
            self._introduce(package)
        allowed = [
            self._variables[candidate] for candidate in self._packages[package] if satisfies(candidate, edge.allows)
        ]
        clause = [-self._select(edge), *allowed]
        if parent is not None:
            clause.append(-self._variables[parent])
        self._solver.add_clause(clause)

    def _select(self, edge: Edge) -> int:
        """A variable that switches the edge's clause on."""
        selector: int = self._pool.id(("edge", len(self._selectors)))
        self._selectors[selector] = edge
        return selector

    def _introduce(self, package: Package) -> None:
        if package in self._packages:
            return
        candidates = list(self._all(package))
        self._packages[package] = candidates
        for candidate in candidates:
            self._variable(candidate)
        variables = [self._variables[candidate] for candidate in candidates]
        self._at_most_one(variables)
        # tried first: the most preferred of each package
        self._solver.set_phases([*variables[:1], *(-variable for variable in variables[1:])])
        if package.extra:
            self._introduce(package.base)

    def _own(self, package: Package, owner: str) -> None:
        """A module's owners become known one by one; any two exclude each other."""
        owners = self._owners.setdefault(package, set())
        if owner in owners:
            return
        owners.add(owner)
        candidate = self._universe.owner(package, owner)
        variable = self._variable(candidate)
        for other in self._packages.setdefault(package, []):
            self._solver.add_clause([-variable, -self._variables[other]])
        self._packages[package].append(candidate)

    def _all(self, package: Package) -> Iterator[Candidate]:
        match package.kind:
            case Kind.PROJECT:
                yield from self._universe.every(package)
            case Kind.SYSTEM:
                yield from self._universe.candidates(package, ())
            case _:
                return

    def _variable(self, candidate: Candidate) -> int:
        variable = self._variables.get(candidate)
        if variable is None:
            variable = self._variables[candidate] = self._pool.id(("candidate", len(self._variables)))
            self._candidates[variable] = candidate
        return variable

    def _at_most_one(self, variables: list[int]) -> None:
        if len(variables) < 2:
            return
        encoding = EncType.pairwise if len(variables) <= _PAIRWISE else EncType.seqcounter
        for clause in CardEnc.atmost(variables, 1, vpool=self._pool, encoding=encoding).clauses:
            self._solver.add_clause(clause)

    # --- answers

    def _find(self, assumed: list[int]) -> dict[Package, Candidate] | None:
        """Choices under assumptions, completed until all that is reached is opened."""
        while True:
            self.rounds += 1
            if self.rounds > self._limit:
                raise UndecidedError(
                    "no answer was found within the limits of the search",
                    why=f"{self.rounds} rounds, {len(self._packages)} packages",
                    hint="pin some of the stack's requirements more tightly",
                )
            if self._tick is not None:
                self._tick(self.rounds, len(self._packages))
            if not self._solver.solve(assumptions=[*assumed, *self._selectors]):
                return None
            model = self._solver.get_model()
            true = {literal for literal in model if literal > 0}
            chosen = {
                package: candidate
                for package, candidates in self._packages.items()
                for candidate in candidates
                if self._variables[candidate] in true
            }
            reached, closed = self._reach(chosen)
            if closed and not self._settle(chosen, reached):
                return reached

    def _reach(self, chosen: dict[Package, Candidate]) -> tuple[dict[Package, Candidate], bool]:
        """What the stack reaches, opening what is met for the first time; whether nothing new was opened."""
        reached: dict[Package, Candidate] = {}
        fresh: list[Candidate] = []
        queue = deque(self._universe.roots())
        while queue:
            edge = queue.popleft()
            candidate = chosen.get(edge.package)
            if candidate is None or edge.package in reached:
                continue
            reached[edge.package] = candidate
            if candidate in self._opened:
                queue.extend(self._universe.edges(candidate))
            else:
                fresh.append(candidate)
        for candidate in fresh:
            self._open(candidate)
        return reached, not fresh

    def _open(self, candidate: Candidate) -> None:
        self._opened.add(candidate)
        edges = self._universe.edges(candidate)
        self._lookahead.expect(edges)
        for edge in edges:
            self._add(candidate, edge)

    def _settle(self, chosen: dict[Package, Candidate], reached: dict[Package, Candidate]) -> bool:
        """Rule out an answer that takes a pre-release or a yanked release without leave; whether it did.

        The clause says: not this release together with those who ask for it now,
        unless somebody else is chosen who asks for it, too, or whose metadata is
        unknown and may. So it takes away nothing that could be allowed.
        """
        askers: dict[Package, list[tuple[Candidate | None, Edge]]] = {}
        for parent in (None, *reached.values()):
            for edge in self._universe.roots() if parent is None else self._universe.edges(parent):
                if not isinstance(edge.origin, SameRelease):
                    askers.setdefault(edge.package.base, []).append((parent, edge))
        for package, candidate in reached.items():
            release = candidate.chosen
            if package.extra or not isinstance(release, Release):
                continue
            if not release.yanked and not release.version.is_prerelease:
                continue
            asked = askers.get(package, [])
            if candidate in self._universe.candidates(package, [edge for _, edge in asked]):
                continue
            parents = {parent for parent, _ in asked if parent is not None}
            others = [other for other in self._variables if other not in parents and self._may_ask(other, package)]
            idle = {one for one in chosen.values() if reached.get(one.package) is not one}
            if any(other in idle for other in others):
                self._put_out(idle)
            else:
                kind = "was yanked" if release.yanked else "is a pre-release"
                leave = "neither the stack nor a fact pins it" if release.yanked else "nothing that needs it names one"
                policy = Edge(package, Nothing(), PolicyLine(f"{candidate} {kind}, and {leave}"))
                clause = [-self._select(policy), -self._variables[candidate]]
                clause += sorted(-self._variables[parent] for parent in parents)
                clause += [self._variables[other] for other in others]
                self._solver.add_clause(clause)
            return True
        return False

    def _put_out(self, idle: set[Candidate]) -> None:
        """Forbid candidates that are chosen though nothing leads to them, unless something outside does.

        A way from the stack to one of them must enter through a candidate that is
        none of them: one that is known to need one of their packages, or unknown.
        """
        packages = {one.package for one in idle}
        ways = [
            variable
            for other, variable in self._variables.items()
            if other not in idle
            and other.package.kind is Kind.PROJECT
            and (other not in self._opened or any(e.package in packages for e in self._universe.edges(other)))
        ]
        for one in sorted(idle, key=self._variables.__getitem__):
            self._solver.add_clause([-self._variables[one], *ways])

    def _may_ask(self, candidate: Candidate, package: Package) -> bool:
        if candidate.package.kind is not Kind.PROJECT or candidate.package.base == package:
            return False
        if candidate not in self._opened:
            return True
        return any(edge.package.base == package for edge in self._universe.edges(candidate))

    def _polish(self, answer: dict[Package, Candidate]) -> dict[Package, Candidate]:
        """Newest-first, within a budget of rounds and not of time: the same input gives the same answer."""
        self._limit = self.rounds + _POLISH_ROUNDS
        fixed: list[int] = []
        done: set[Package] = set()
        while (package := self._next(answer, done)) is not None:
            done.add(package)
            for candidate in self._packages[package]:
                if answer[package] is candidate:
                    break
                try:
                    better = self._find([*fixed, self._variables[candidate]])
                except UndecidedError:
                    return answer
                if better is not None and better.get(package) is candidate:
                    answer = better
                    break
            fixed.append(self._variables[answer[package]])
        return answer

    def _next(self, answer: dict[Package, Candidate], done: set[Package]) -> Package | None:
        """The first package, from the stack downwards, that is not settled yet."""
        queue = deque(self._universe.roots())
        seen: set[Package] = set()
        while queue:
            package = queue.popleft().package
            if package in seen or package not in answer:
                continue
            seen.add(package)
            if package not in done and package.kind is Kind.PROJECT:
                return package
            queue.extend(self._universe.edges(answer[package]))
        return None

    def _core(self) -> tuple[Edge, ...]:
        """The clashing edges, made minimal by leaving out one after the other."""
        core = self._last_core()
        for selector in sorted(core, reverse=True):
            if selector in core and not self._solver.solve(assumptions=sorted(core - {selector})):
                core = self._last_core()
        return tuple(self._selectors[selector] for selector in sorted(core))

    def _last_core(self) -> set[int]:
        return {literal for literal in self._solver.get_core() or () if literal in self._selectors}
