"""The complete engine: newest-first decisions, with a SAT solver that sees further.

Packages are decided one after the other, each for its most preferred release,
as in the search. After every decision the solver is asked whether the
decisions are still satisfiable together with everything known. A candidate whose
metadata has not been read counts as needing nothing, so unsatisfiable is
certain. The solver then names the decisions to blame, and
the engine goes straight back to the latest of them and never meets the same clash again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from heapq import heappop, heappush
from itertools import islice, takewhile
from typing import Final

from resolver.errors import ResolverError, UndecidedError
from resolver.model import text
from resolver.model.dependency import Candidate, Edge, Kind, Package, SameRelease
from resolver.model.release import Release
from resolver.model.resolution import Lack
from resolver.resolve.clauses import Clauses
from resolver.resolve.demand import ANYTHING, Demand, names_prerelease, pins_yanked, satisfies
from resolver.resolve.grounded import Ground, Lacking
from resolver.resolve.universe import Universe

_MAX_ROUNDS = 200_000
MOST_UNREAD: Final = 400  # releases read only to see whether one of them requires a pre-release
_SEVERAL = 4  # opened releases in a row that are checked one by one
_MANY_ENDS = 8  # dead ends after which undecided releases are opened as well; again whenever they have doubled

Tick = Callable[[int, int], None]


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
        self._decided: list[Candidate] = []
        self._assumed: list[int] = []  # the variables of those
        self._chosen: dict[Package, Candidate] = {}
        # the demand on each package by the stack and the decisions, after each parent
        self._asked: dict[Package, list[Demand]] = {}
        self._met: dict[Package, int] = {}  # the packages in the order in which they were first required
        self._waiting: list[tuple[tuple[object, ...], Package]] = []  # a heap; some entries are out of date
        self.rounds = self._ends = 0
        self._ask(universe.roots())

    def solve(self) -> dict[Package, Candidate]:
        """The choices that the stack reaches. Raises Unsatisfiable, or UndecidedError beyond its limits."""
        while True:
            if not self.clauses.holds():
                if self.clauses.reading or not self.clauses.guarded or self.clauses.unread > MOST_UNREAD:
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
        """The package to decide now, in an order like that of the search; None if there is none left.

        Pins go first, then what the stack names, what has bounds, and what was required first.
        """
        while self._waiting:
            preference, package = self._waiting[0]
            if package not in self._chosen and package in self._asked and preference == self._preference(package):
                return package
            heappop(self._waiting)  # an entry from an earlier demand
        return None

    def _preference(self, package: Package) -> tuple[object, ...]:
        asked = self._asked[package][-1]
        return (
            package.kind.value,
            not asked.pin,
            not asked.stacks,
            not asked.bounded,
            0 if asked.stacks else self._met[package],
            package,
        )

    def _ask(self, edges: Iterable[Edge]) -> None:
        """Record what the stack or a decision requires."""
        for edge in edges:
            self._met.setdefault(edge.package, len(self._met))
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
            self._assumed.pop()
            del self._chosen[candidate.package]
            self._wait(candidate.package)
            for edge in reversed(self._universe.edges(candidate)):
                asked = self._asked[edge.package]
                asked.pop()
                if not asked:
                    del self._asked[edge.package]
                self._wait(edge.package)

    def _decide(self, package: Package) -> bool:
        """Take the most preferred candidate that is compatible with the decisions; False if none is."""
        if package.kind is not Kind.MODULE:
            self.clauses.introduce(package)
        order = list(self._order(package))
        tried = list(takewhile(self.clauses.opened, order))  # mostly by earlier decisions, and in vain
        if len(tried) > _SEVERAL and not self.clauses.holds([*self._assumed, self.clauses.any_of(tried)]):
            order = order[len(tried) :]
        for candidate in order:
            self._round()
            if not self._holds(candidate):
                continue
            self.clauses.open(candidate)
            if self._clashes(candidate) or not self._holds(candidate):
                continue
            self._decided.append(candidate)
            self._assumed.append(self.clauses.variable(candidate))
            self._chosen[package] = candidate
            self._ask(self._universe.edges(candidate))
            return True
        return False

    def _clashes(self, candidate: Candidate) -> bool:
        """Whether an opened candidate requires something for which the decisions leave no release.

        The solver would find the same, but takes a thousand times as long.
        """
        for edge in self._universe.edges(candidate):
            package = edge.package
            if package.kind is not Kind.PROJECT or package.extra:
                continue
            project = self._universe.project(text.name(package.name))
            if project.found and not self._universe.demand(edge).mask & self._mask(package):
                return True
        return False

    def _order(self, package: Package) -> Iterator[Candidate]:
        """What the requirements so far and the policy admit; then the others, in case more requirements follow.

        Those ruled out by a decision's requirements, possibly thousands, are left out.
        """
        mask = self._mask(package) if package.kind is Kind.PROJECT else ANYTHING.mask
        taken: set[Candidate] = set()
        for candidate in self._universe.candidates(package, self._asked[package][-1] & Demand(mask)):
            taken.add(candidate)
            yield candidate
        for candidate in self.clauses.packages.get(package, ()):
            if candidate not in taken and not (
                isinstance(candidate.chosen, Release) and not mask >> candidate.chosen.position & 1
            ):
                yield candidate

    def _mask(self, package: Package) -> int:
        """The positions of a project's releases that the stack and the decisions leave.

        For an extra, those of its project, as it is of the same release.
        """
        chosen = self._chosen.get(package)
        if chosen is not None and isinstance(chosen.chosen, Release):
            return 1 << chosen.chosen.position
        project = self._universe.project(text.name(package.name))
        asked = self._asked.get(package)
        mask = project.all & asked[-1].mask if asked else project.all
        return mask & self._mask(package.base) if package.extra else mask

    def _holds(self, *more: Candidate) -> bool:
        return self.clauses.holds([*self._assumed, *map(self.clauses.variable, more)])

    def _go_back(self) -> None:
        """Drop the latest of the incompatible decisions, and later ones, until the rest are compatible."""
        before = len(self._decided)
        self._ends += 1
        if self._ends >= _MANY_ENDS and self._ends.bit_count() == 1:  # 8, 16, 32, ...
            self._look_further(2 * self._ends // _MANY_ENDS)
        while self._decided and not self._holds():
            blamed = self.clauses.blamed()
            self._drop(max((at for at, one in enumerate(self._decided) if one in blamed), default=0))
        if len(self._decided) == before and self._holds():
            raise UndecidedError("the engine stopped", hint="please report this together with the stack file")

    def _look_further(self, each: int) -> None:
        """Open so many releases of each required package, those that would be tried first.

        The solver sees clashes of open releases before anything is decided. At most as many are opened as are open
        already, and only those that do not lead to unknown projects.
        """
        universe = self._universe
        wanted = (
            one
            for package, asked in self._asked.items()
            if package.kind is Kind.PROJECT
            for one in islice(universe.candidates(package, asked[-1]), each)
            if not self.clauses.opened(one)
        )
        unread = list(islice(wanted, self.clauses.count))
        self.clauses.expect(unread)
        for one in unread:
            try:
                edges = universe.edges(one)
            except ResolverError:
                continue  # reported where it is needed
            projects = [edge.package.name for edge in edges if edge.package.kind is Kind.PROJECT]
            if all(universe.known(text.name(name)) for name in projects):
                self.clauses.open(one)

    def _round(self) -> None:
        self.rounds += 1
        if self.rounds > _MAX_ROUNDS:
            raise UndecidedError(
                "no answer was found within the search limits",
                why=f"{self.rounds} rounds, {len(self.clauses.packages)} packages",
                hint="pin some of the stack's requirements more tightly",
            )
        if self._tick is not None:
            self._tick(self.rounds, len(self._decided))

    # --- what the policy excludes

    def _settle(self, reached: dict[Package, Candidate]) -> bool:
        """Rule out an answer that takes a pre-release or a yanked release without permission; whether it did.

        The clauses are about the project, not about this answer: none of its pre-releases as long as a final
        release fits the demand, none of its yanked releases as long as nothing pins one. So they exclude
        nothing that could be allowed, and releases excluded for the same reason are excluded together. Releases not
        read yet might require something that gives permission; they are read only if nothing else is left and there
        are not too many.
        """
        askers: dict[Package, list[Edge]] = {}
        for parent in (None, *reached.values()):
            for edge in self._universe.roots() if parent is None else self._universe.edges(parent):
                if not isinstance(edge.origin, SameRelease):
                    askers.setdefault(edge.package.base, []).append(edge)
        settled = True
        for package, candidate in reached.items():
            release = candidate.chosen
            if package.extra or not isinstance(release, Release):
                continue
            if not release.yanked and not release.version.is_prerelease:
                continue
            asked = askers.get(package, [])
            allowed = list(self._universe.candidates(package, self._universe.demand(*asked)))
            if candidate in allowed:
                continue
            settled = False
            self.clauses.introduce_all()
            if release.yanked and not any(map(pins_yanked, asked)):
                self._rule_out(package, Lack.YANKED, pins_yanked)
            else:
                self._rule_out(package, Lack.NEEDLESS, partial(_leaves, allowed[0]))
        return not settled

    def _rule_out(self, package: Package, lack: Lack, gives: Callable[[Edge], bool]) -> None:
        """Rule out a project's releases of a kind, unless a candidate is chosen whose edge gives permission.

        Candidates not read yet, and the releases themselves, might do so, or need another that does.
        """
        yanked = lack is Lack.YANKED
        out = [
            one
            for one in self.clauses.packages[package]
            if isinstance(one.chosen, Release) and (one.chosen.yanked if yanked else one.version.is_prerelease)
        ]
        read, unread = [], []
        for other in self.clauses.candidates():
            if other.package.kind is not Kind.PROJECT:
                continue
            if not self.clauses.opened(other):
                unread.append(other)
            elif any(edge.package.base == package and gives(edge) for edge in self._universe.edges(other)):
                read.append(other)
        if yanked and not self._universe.may_be_pinned(text.name(package.name)):
            unread = []
        self.clauses.rule_out(Lacking(package.name, lack, ""), out, read, unread)

    def _put_out(self, reached: dict[Package, Candidate]) -> bool:
        """Forbid choices of the solver that nothing leads to, unless something outside does; whether it did.

        A way from the stack to one of them must enter through a candidate that is
        none of them: one that is known to need one of their packages, or unknown.
        """
        # a component exists whether or not anything needs it
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


def _leaves(final: Candidate, edge: Edge) -> bool:
    """Whether a requirement permits pre-releases although this final release fits all others."""
    if isinstance(edge.origin, SameRelease):
        return False
    return names_prerelease(edge.allows) or not satisfies(final, edge.allows)
