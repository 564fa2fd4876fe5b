"""The complete engine: newest-first decisions, with a SAT solver that sees further.

Packages are decided one after the other, each for its most preferred release,
as the search does it. After every decision the solver is asked whether the
decisions can still hold together with all that is known. A candidate whose
metadata is not known yet counts as needing nothing there: unsatisfiable then is
unsatisfiable for certain, and the solver names the decisions to blame, so that
the engine goes back to the latest of them at once, and never meets the same clash again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from heapq import heappop, heappush
from itertools import islice

from resolver.errors import UndecidedError
from resolver.model import text
from resolver.model.candidate import Candidate, Release
from resolver.model.edge import Edge
from resolver.model.origin import SameRelease
from resolver.model.package import Kind, Package
from resolver.model.statement import Lack
from resolver.solve.clauses import Clauses
from resolver.solve.demand import Demand
from resolver.solve.ground import Ground, Lacking
from resolver.solve.universe import Universe

_MAX_ROUNDS = 200_000
_MOST_UNREAD = 400  # releases that are read only to see whether one of them asks for a pre-release
_IN_VAIN = 8  # releases in a row that clash when opened: the next is opened without asking the solver first
_AHEAD = 8  # how many further releases of a package are asked for at once when one of them failed

Tick = Callable[[int, int], None]


class Unsatisfiable(Exception):
    """These grounds clash. Without any one of them the rest could hold, as far as is known."""

    def __init__(self, core: tuple[Ground, ...]) -> None:
        super().__init__()
        self.core = core


class CompleteEngine:
    """Decides one problem. `clauses` are what it learned."""

    def __init__(self, universe: Universe, *, tick: Tick | None = None) -> None:
        self.clauses = Clauses(universe)
        self._universe = universe
        self._tick = tick
        self._decided: list[Candidate] = []
        self._chosen: set[Package] = set()
        # what is asked of each package by the stack and the decisions, after each of those who ask
        self._asked: dict[Package, list[Demand]] = {}
        self._waiting: list[tuple[tuple[object, ...], Package]] = []  # a heap; some of it is not up to date
        self._tries: Counter[Package] = Counter()
        self.rounds = 0
        self._ask(universe.roots())

    def solve(self) -> dict[Package, Candidate]:
        """The choices that the stack reaches. Raises Unsatisfiable, or UndecidedError past its limits."""
        while True:
            if not self.clauses.satisfiable():
                if self.clauses.reading or not 0 < self.clauses.unread <= _MOST_UNREAD:
                    raise Unsatisfiable(tuple(self.clauses.minimal()))
                self.clauses.reading = True
                continue
            package = self._next()
            if package is None:
                reached = {candidate.package: candidate for candidate in self._decided}
                if not self._settle(reached):
                    return reached
                while self._holds() and self._put_out(reached):
                    self._round()
                self._go_back()
            elif not self._decide(package):
                self._go_back()

    def _next(self) -> Package | None:
        """The package to decide now, in the order of the search: pins, what the stack names, what has bounds."""
        while self._waiting:
            preference, package = self._waiting[0]
            if package not in self._chosen and package in self._asked and preference == self._preference(package):
                return package
            heappop(self._waiting)  # what is asked of it is not what was asked then
        return None

    def _preference(self, package: Package) -> tuple[object, ...]:
        asked = self._asked[package][-1]
        return (package.kind.value, not asked.pin, not asked.stacks, not asked.bounded, package)

    def _ask(self, edges: Iterable[Edge]) -> None:
        """Count what the stack or a decision asks for."""
        for edge in edges:
            asked = self._asked.setdefault(edge.package, [])
            own = self._universe.demand(edge)
            asked.append(asked[-1] & own if asked else own)
            self._wait(edge.package)

    def _wait(self, package: Package) -> None:
        if package in self._asked and package not in self._chosen:
            heappush(self._waiting, (self._preference(package), package))

    def _drop(self, left: int) -> None:
        """Take decisions back, the latest first, until so many are left."""
        while len(self._decided) > left:
            candidate = self._decided.pop()
            self._chosen.discard(candidate.package)
            self._wait(candidate.package)
            for edge in reversed(self._universe.edges(candidate)):
                asked = self._asked[edge.package]
                asked.pop()
                if not asked:
                    del self._asked[edge.package]
                self._wait(edge.package)

    def _decide(self, package: Package) -> bool:
        """Take the most preferred candidate that can hold together with the decisions; False where none can."""
        if package.kind is not Kind.MODULE:
            self.clauses.introduce(package)
        in_vain = 0  # releases in a row that clashed as soon as they were opened
        for candidate in self._order(package):
            self._round()
            opened = self.clauses.opened(candidate)
            if opened and self._clashes(candidate):
                continue
            if (opened or in_vain < _IN_VAIN) and not self._holds(candidate):
                continue
            if not opened:
                self._look_back(candidate)
                self.clauses.open(candidate)
                if self._clashes(candidate):
                    in_vain += 1
                    continue
                in_vain = 0
                if not self._holds(candidate):
                    continue
            self._decided.append(candidate)
            self._chosen.add(package)
            self._ask(self._universe.edges(candidate))
            return True
        return False

    def _clashes(self, candidate: Candidate) -> bool:
        """Whether an opened candidate asks of a package what the decisions leave no release for.

        The solver would say the same, and takes a thousand times as long.
        """
        for edge in self._universe.edges(candidate):
            package = edge.package
            if package.kind is not Kind.PROJECT or package.extra:
                continue
            project = self._universe.project(text.name(package.name))
            mask = project.all & self._universe.demand(edge).mask
            asked = self._asked.get(package)
            if asked:
                mask &= asked[-1].mask
            if not mask and project.found:
                return True
        return False

    def _order(self, package: Package) -> Iterator[Candidate]:
        """What the requirements so far admit, as the policy has it; then what more requirements may give leave to."""
        taken: set[Candidate] = set()
        asked = self._asked[package][-1]
        for candidate in self._universe.candidates(package, asked):
            taken.add(candidate)
            yield candidate
        for candidate in self.clauses.packages.get(package, ()):
            if candidate in taken:
                continue
            if package.kind is not Kind.PROJECT or self._universe.is_admitted(candidate, asked):
                yield candidate  # of a project others clash with what is decided

    def _holds(self, *more: Candidate) -> bool:
        return self.clauses.satisfiable(map(self.clauses.variable, (*self._decided, *more)))

    def _go_back(self) -> None:
        """Drop the latest of the decisions that cannot hold together, and what came after it, until the rest can."""
        before = len(self._decided)
        while self._decided and not self._holds():
            blamed = self.clauses.blamed()
            self._drop(max((at for at, one in enumerate(self._decided) if one in blamed), default=0))
        if len(self._decided) == before and self._holds():
            raise UndecidedError("the engine came to a halt", hint="please report this together with the stack file")

    def _round(self) -> None:
        self.rounds += 1
        if self.rounds > _MAX_ROUNDS:
            raise UndecidedError(
                "no answer was found within the limits of the search",
                why=f"{self.rounds} rounds, {len(self.clauses.packages)} packages",
                hint="pin some of the stack's requirements more tightly",
            )
        if self._tick is not None:
            self._tick(self.rounds, len(self._decided))

    def _look_back(self, candidate: Candidate) -> None:
        """When a package is tried again and again: tell the catalog of the releases that come next."""
        package = candidate.package
        self._tries[package] += 1
        if self._tries[package] % _AHEAD == 2 and package.kind is Kind.PROJECT:  # from the second try on
            known = self.clauses.packages[package]
            at = known.index(candidate)
            self.clauses.expect(islice(known, at + 1, at + 1 + _AHEAD))

    # --- what the policy keeps out

    def _settle(self, reached: dict[Package, Candidate]) -> bool:
        """Rule out an answer that takes a pre-release or a yanked release without leave; whether it did.

        The clause says: not this release together with those who ask for it now,
        unless somebody else is chosen who asks for it, too, or whose metadata is
        unknown and may. So it takes away nothing that could be allowed; those who may
        are looked at only where nothing else is left, and they are not too many.
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
            if candidate in self._universe.candidates(package, self._universe.demand(*(edge for _, edge in asked))):
                continue
            self.clauses.introduce_all()
            parents = {parent for parent, _ in asked if parent is not None}
            others = [
                other for other in self.clauses.candidates() if other not in parents and self._may_ask(other, package)
            ]
            variable = self.clauses.variable
            read = [variable(other) for other in others if self.clauses.opened(other)]
            unread = [variable(other) for other in others if not self.clauses.opened(other)]
            unless = [*sorted(-variable(parent) for parent in parents), *read]
            lack = Lack.YANKED if release.yanked else Lack.PRERELEASE
            self.clauses.rule_out(Lacking(package.name, lack, ""), candidate, unless, unread)
            return True
        return False

    def _put_out(self, reached: dict[Package, Candidate]) -> bool:
        """Forbid what the solver chose though nothing leads to it, unless something outside does; whether it did.

        A way from the stack to one of them must enter through a candidate that is
        none of them: one that is known to need one of their packages, or unknown.
        """
        # a component is there whether anything needs it or not
        idle = {
            one
            for one in self.clauses.chosen().values()
            if one.package.kind is Kind.PROJECT and reached.get(one.package) is not one
        }
        packages = {one.package for one in idle}
        variable = self.clauses.variable
        ways = [
            variable(other)
            for other in self.clauses.candidates()
            if other not in idle
            and other.package.kind is Kind.PROJECT
            and (not self.clauses.opened(other) or any(e.package in packages for e in self._universe.edges(other)))
        ]
        for one in sorted(idle, key=variable):
            self.clauses.imply([-variable(one), *ways])
        return bool(idle)

    def _may_ask(self, candidate: Candidate, package: Package) -> bool:
        if candidate.package.kind is not Kind.PROJECT or candidate.package.base == package:
            return False
        if not self.clauses.opened(candidate):
            return True
        return any(edge.package.base == package for edge in self._universe.edges(candidate))
