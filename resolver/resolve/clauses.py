"""What is known of a problem as clauses of a SAT solver, growing as metadata becomes known.

There is a variable for each candidate of each package that something needs; at
most one candidate of a package is chosen. Clauses rest on grounds (see `grounded`), and a
ground can be left out.

A package with a single requirement that some release meets cannot clash yet:
its releases need not be examined, and its clauses wait until a second
requirement arrives, or the package is to be decided.

What does not exist has a variable, too (see `absences`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from resolver.model import text
from resolver.model.dependency import Allows, Candidate, Edge, Kind, Owner, Package
from resolver.model.release import Release
from resolver.model.requirement import ComponentRequirement
from resolver.resolve.absences import Absences
from resolver.resolve.demand import pins, satisfies
from resolver.resolve.grounded import Component, Ground, Grounded, Line, Module, grounds
from resolver.resolve.pinned import Pinned
from resolver.resolve.prefetch import Prefetch
from resolver.resolve.universe import Universe


class Clauses(Grounded):
    """One problem's clauses. Those that rest on `relaxed` grounds do not count.

    A pre-release or a yanked release is taken only if a requirement names it, and any release that
    has not been read might have such a requirement. Unless `reading` is set, they are assumed to have none.
    """

    def __init__(self, universe: Universe) -> None:
        super().__init__()
        self.universe = universe
        self.packages: dict[Package, list[Candidate]] = {}
        self.edges: dict[Ground, list[tuple[Candidate | None, Edge]]] = {}  # what each ground was added for
        self._absences = Absences(universe)
        self._pinned = Pinned(universe)
        self._prefetch = Prefetch(universe)
        self._variables: dict[Candidate, int] = {}
        self._candidates: dict[int, Candidate] = {}
        self._waiting: dict[Package, tuple[Candidate | None, Edge]] = {}
        self._opened: dict[Candidate, None] = {}
        self._unread: set[int] = set()
        for edge in universe.roots():
            self._add(None, edge)

    # --- what is known

    @property
    def absent(self) -> dict[Ground, list[tuple[Package, int, int]]]:
        """What each ground of an absence rules out: package, position of the release, variable."""
        return self._absences.rows

    def roots(self) -> Iterator[Edge]:
        """The stack's edges that are not relaxed."""
        for edge in self.universe.roots():
            if any(self.relaxed.isdisjoint(because) for because, _ in grounds(None, edge)):
                yield edge

    def candidates(self) -> Iterable[Candidate]:
        """Every candidate so far, in the order in which they became known."""
        return self._variables

    def variable(self, candidate: Candidate) -> int:
        """The variable of a candidate."""
        known = self._variables.get(candidate)
        if known is None:
            known = self._variables[candidate] = self.fresh()
            self._candidates[known] = candidate
        return known

    def opened(self, candidate: Candidate) -> bool:
        """Whether the clauses include what the candidate needs."""
        return candidate in self._opened

    @property
    def count(self) -> int:
        """How many candidates are open."""
        return len(self._opened)

    def expect(self, candidates: Iterable[Candidate]) -> None:
        """Tell the catalog which candidates will probably be opened next."""
        self._prefetch.expect_releases(one for one in candidates if one not in self._opened)

    def expect_edges(self, edges: Iterable[Edge]) -> None:
        """Tell the catalog which requirements will be followed next."""
        self._prefetch.expect(edges)

    def open(self, candidate: Candidate) -> None:
        """Add what a candidate needs. Reads its metadata."""
        if candidate in self._opened:
            return
        edges = self.universe.edges(candidate)  # first: what cannot be asked for stays unknown
        self._opened[candidate] = None
        if candidate.package.kind is not Kind.MODULE:
            self.introduce(candidate.package)
        self._prefetch.expect(edges)
        for edge in edges:
            self._add(candidate, edge)

    def learn(self, other: Clauses) -> None:
        """Open what other clauses have opened, as far as something here needs it."""
        for candidate in other._opened:
            package, release = candidate.package, candidate.chosen
            if not isinstance(release, Release):
                continue
            if package in self._waiting:
                self.introduce(package)
            own = self.universe.candidate(package, release.position) if package in self.packages else None
            if own is not None and isinstance(own.chosen, Release) and own.chosen.file == release.file:
                self.open(own)

    def introduce(self, package: Package) -> None:
        """Add a package's candidates, and why its other releases are not candidates."""
        if package in self.packages:
            return
        waiting = self._waiting.pop(package, None)
        candidates = self.packages[package] = list(self._all(package))
        variables = [self.variable(candidate) for candidate in candidates]
        absent: list[int] = []
        if package.kind is Kind.PROJECT and not package.extra:
            absent = list(self._set_aside(package))
        self.at_most_one([*variables, *absent])
        # tried first: the most preferred of each package
        self._solver.set_phases([*variables[:1], *(-variable for variable in (*variables[1:], *absent))])
        if package.kind is Kind.SYSTEM:
            self.rule([Component(package.name)], [variables[0]])
        if package.extra:
            self.introduce(package.base)
            # an extra is of its project's release: known without its metadata
            for one in candidates:
                self.imply([-self._variables[one], self._variables[self._base(one)]])
        if waiting is not None:
            self._add(*waiting)

    def introduce_all(self) -> None:
        """The same for every package that somebody needs: a clause about who may ask for something needs them all."""
        for package in list(self._waiting):
            self.introduce(package)

    def _base(self, candidate: Candidate) -> Candidate:
        assert isinstance(candidate.chosen, Release)  # noqa: S101  only projects have extras
        base = self.universe.candidate(candidate.package.base, candidate.chosen.position)
        assert base is not None  # noqa: S101  it is there where the extra is
        return base

    def rule_out(
        self, ground: Ground, out: Iterable[Candidate], read: Iterable[Candidate], unread: Iterable[Candidate]
    ) -> None:
        """On a ground, none of the candidates that are `out` is taken, unless one of the others is.

        Those that are `unread` count only where they are asked for: see `reading`.
        """
        leave = self.fresh()
        # a line that is relaxed now may give leave when it is not
        lines = [name for other, name in self._selectors.items() if other in self.relaxed and isinstance(other, Line)]
        givers = [*map(self.variable, read), *lines]
        waiting = [*map(self.variable, unread)]
        if waiting:
            self._unread.update(waiting)
            givers.append(self.guard(waiting))
        self.imply([-leave, *givers])
        rows = self.absent.setdefault(ground, [])
        for candidate in out:
            assert isinstance(candidate.chosen, Release)  # noqa: S101  policies are about releases
            variable = self.variable(candidate)
            row = (candidate.package, candidate.chosen.position, variable)
            if row not in rows:
                rows.append(row)
            self.rule([ground], [-variable, leave])

    def any_of(self, candidates: Iterable[Candidate]) -> int:
        """A variable that, assumed, demands one of the candidates."""
        name = self.fresh()
        self.imply([-name, *map(self.variable, candidates)])
        return name

    # --- answers

    @property
    def guarded(self) -> bool:
        """Whether something was ruled out for the lack of leave that releases which were not read then may give."""
        return bool(self._unread)

    @property
    def unread(self) -> int:
        """How many releases that were not read could give the leave that something was ruled out for the lack of."""
        return sum(1 for variable in self._unread if self._candidates[variable] not in self._opened)

    def chosen(self) -> dict[Package, Candidate]:
        """The candidates of the last satisfying answer."""
        among = map(self._candidates.get, self._witness.true())
        return {candidate.package: candidate for candidate in among if candidate is not None}

    def blamed(self) -> set[Candidate]:
        """The assumed candidates that the last unsatisfiable answer rests on."""
        return {self._candidates[one] for one in self._solver.get_core() or () if one in self._candidates}

    # --- clauses

    def _add(self, parent: Candidate | None, edge: Edge) -> None:
        if isinstance(edge.allows, Owner):
            self._own(edge.package, edge.allows.name)
        elif self._can_wait(edge):
            self._waiting[edge.package] = (parent, edge)
            return
        else:
            self.introduce(edge.package)
        before = [] if parent is None else [-self.variable(parent)]
        for because, bounds in grounds(parent.package if parent is not None else None, edge):
            for ground in because:
                self.edges.setdefault(ground, []).append((parent, edge))
            if bounds and pins(edge.allows):
                self._pinned.add(self, edge, because, before)
            self.rule(because, [*before, *self._allowed(edge, edge.allows if bounds else None)])

    def _can_wait(self, edge: Edge) -> bool:
        """Whether an edge is the only one on its package, and some release meets it."""
        package = edge.package
        if package.kind is not Kind.PROJECT or package.extra or package in self.packages or package in self._waiting:
            return False
        return next(self.universe.candidates(package, self.universe.demand(edge)), None) is not None

    def _allowed(self, edge: Edge, allows: Allows | None) -> Iterator[int]:
        """The variables that meet an edge; None stands for no bounds."""
        package = edge.package
        among: Iterable[Candidate] = self.packages[package]
        if allows is not None and package.kind is Kind.PROJECT:
            mask = self.universe.project(text.name(package.name)).mask(allows)
            among = [one for one in among if isinstance(one.chosen, Release) and mask >> one.chosen.position & 1]
        elif allows is not None:
            among = [one for one in among if satisfies(one, allows)]
        yield from (self._variables[one] for one in among)
        match package.kind:
            case Kind.PROJECT:
                yield from self._absences.missing(self, package.base, allows)
            case Kind.SYSTEM if isinstance(allows, ComponentRequirement):
                if not any(satisfies(candidate, allows) for candidate in self.packages[package]):
                    yield self._absences.elsewhere(self, package, str(allows), Component(package.name))
            case _:
                return

    def _set_aside(self, package: Package) -> Iterator[int]:
        """The variables of a project's releases that cannot be used; they own modules all the same."""
        project = self.universe.project(text.name(package.name))
        usable = {one.chosen.position for one in self.packages[package] if isinstance(one.chosen, Release)}
        for position, variable in self._absences.releases(self, package, usable):
            for collision in self.universe.collisions(project.name, project.versions[position]):
                module = Package(collision.module, "", Kind.MODULE)
                self._own(module, project.name)
                owner = self.variable(self.universe.owner(module, project.name))
                self.rule([Module(collision.id)], [-variable, owner])
            yield variable

    def _own(self, package: Package, owner: str) -> None:
        """A module's owners become known one by one; any two exclude each other."""
        candidate = self.universe.owner(package, owner)
        known = self.packages.setdefault(package, [])
        if candidate in known:
            return
        variable = self.variable(candidate)
        for other in known:
            self.imply([-variable, -self._variables[other]])
        known.append(candidate)

    def _all(self, package: Package) -> Iterator[Candidate]:
        match package.kind:
            case Kind.PROJECT:
                yield from self.universe.every(package)
            case Kind.SYSTEM:
                yield from self.universe.values(package)
            case _:
                return
