"""What is known of a problem as clauses of a SAT solver, growing as metadata becomes known.

A variable stands for each candidate of each package that something needs; at
most one of a package is chosen. Every clause but the plainly logical ones has
a selector for the ground that it stands on, so that an unsatisfiable answer
comes with grounds that clash, and a ground can be left out.

A package of which only one thing is asked that some release meets clashes with
nothing: its releases need not be looked at, and its clauses wait until a second
requirement comes, or somebody wants to decide it.

A release without a usable file, or a requirement that no release meets, has a
variable, too, which only the ground of its absence rules out. So an absence
is named in a core where it matters, and only there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice

from packaging.specifiers import SpecifierSet
from pysat.card import CardEnc, EncType
from pysat.solvers import Cadical153

from resolver.model import text
from resolver.model.candidate import Candidate, Release
from resolver.model.component import ComponentRequirement
from resolver.model.edge import Allows, Edge, Owner
from resolver.model.package import Kind, Package
from resolver.model.release import Reason, SetAside
from resolver.model.statement import Lack
from resolver.solve.admits import pins, satisfies
from resolver.solve.ground import Component, Ground, Lacking, Line, Module, Taken, grounds
from resolver.solve.lookahead import Lookahead
from resolver.solve.project import Project
from resolver.solve.universe import Universe

_PAIRWISE = 5


class Clauses:
    """One problem's clauses. Those that stand on `relaxed` grounds do not count.

    A pre-release or a yanked release is taken only where a requirement names it, and any release that
    was not read yet may have such a requirement. Unless `reading` is set they are taken to have none.
    """

    def __init__(self, universe: Universe) -> None:
        self.universe = universe
        self.relaxed: frozenset[Ground] = frozenset()
        self.packages: dict[Package, list[Candidate]] = {}
        self.edges: dict[Ground, list[tuple[Candidate | None, Edge]]] = {}  # what each ground was added for
        self.absent: dict[Ground, list[tuple[Package, int, int]]] = {}  # package, position, variable that it rules out
        self._lookahead = Lookahead(universe)
        self._solver = Cadical153()
        self._top = 1
        self._all_hold = 1  # implies every selector
        self._variables: dict[Candidate, int] = {}
        self._candidates: dict[int, Candidate] = {}
        self._absent: dict[Package, dict[int, int]] = {}  # position of a release that cannot be used -> variable
        self._nowhere: dict[tuple[Package, str], int] = {}
        self._waiting: dict[Package, tuple[Candidate | None, Edge]] = {}
        self._pinned: dict[Package, list[tuple[SpecifierSet, list[int], bool]]] = {}
        self._selectors: dict[Ground, int] = {}
        self._grounds: dict[int, Ground] = {}
        self._opened: dict[Candidate, None] = {}
        self._guards: list[int] = []  # each stands for a release that was not read and may give leave
        self._unread: set[int] = set()
        self._holding: frozenset[Ground] = frozenset()  # what is relaxed where `_holds` holds
        self._holds = self._held = 0
        self.reading = False
        for edge in universe.roots():
            self._add(None, edge)

    def close(self) -> None:
        """Give the solver's memory back; nothing can be asked afterwards."""
        self._solver.delete()

    # --- what is known

    @property
    def known(self) -> Collection[Ground]:
        """Every ground so far, in the order in which they became known."""
        return self._selectors.keys()

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
            known = self._variables[candidate] = self._fresh()
            self._candidates[known] = candidate
        return known

    def opened(self, candidate: Candidate) -> bool:
        """Whether what the candidate needs is among the clauses."""
        return candidate in self._opened

    def expect(self, candidates: Iterable[Candidate]) -> None:
        """Tell the catalog which candidates will probably be opened next."""
        self._lookahead.expect_releases(one for one in candidates if one not in self._opened)

    def expect_edges(self, edges: Iterable[Edge]) -> None:
        """Tell the catalog which requirements will be followed next."""
        self._lookahead.expect(edges)

    def open(self, candidate: Candidate) -> None:
        """Add what a candidate needs. Asks for its metadata."""
        if candidate in self._opened:
            return
        edges = self.universe.edges(candidate)  # first: what cannot be asked for stays unknown
        self._opened[candidate] = None
        if candidate.package.kind is not Kind.MODULE:
            self.introduce(candidate.package)
        self._lookahead.expect(edges)
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
        """Make a package's candidates known, and why its other releases are none."""
        if package in self.packages:
            return
        waiting = self._waiting.pop(package, None)
        candidates = self.packages[package] = list(self._all(package))
        variables = [self.variable(candidate) for candidate in candidates]
        absent: list[int] = []
        if package.kind is Kind.PROJECT and not package.extra:
            absent = list(self._set_aside(package))
        self._at_most_one([*variables, *absent])
        # tried first: the most preferred of each package
        self._solver.set_phases([*variables[:1], *(-variable for variable in (*variables[1:], *absent))])
        if package.kind is Kind.SYSTEM:
            self._rule([Component(package.name)], [variables[0]])
        if package.extra:
            self.introduce(package.base)
            # an extra is of its project's release: known without its metadata
            for one in candidates:
                self._solver.add_clause([-self._variables[one], self._variables[self._base(one)]])
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
        leave = self._fresh()
        # a line that is relaxed now may give leave when it is not
        lines = [name for other, name in self._selectors.items() if other in self.relaxed and isinstance(other, Line)]
        givers = [*map(self.variable, read), *lines]
        waiting = [*map(self.variable, unread)]
        if waiting:
            guard = self._fresh()
            self._guards.append(guard)
            self._unread.update(waiting)
            self._solver.add_clause([-guard, *waiting])
            givers.append(guard)
        self._solver.add_clause([-leave, *givers])
        rows = self.absent.setdefault(ground, [])
        for candidate in out:
            assert isinstance(candidate.chosen, Release)  # noqa: S101  policies are about releases
            variable = self.variable(candidate)
            row = (candidate.package, candidate.chosen.position, variable)
            if row not in rows:
                rows.append(row)
            self._rule([ground], [-variable, leave])

    def imply(self, clause: Sequence[int]) -> None:
        """Add a clause that holds whatever is relaxed."""
        self._solver.add_clause(clause)

    def any_of(self, candidates: Iterable[Candidate]) -> int:
        """A variable that, assumed, demands one of the candidates."""
        name = self._fresh()
        self._solver.add_clause([-name, *map(self.variable, candidates)])
        return name

    # --- answers

    def satisfiable(
        self,
        assumed: Iterable[int] = (),
        among: Collection[Ground] | None = None,
        any_of: Collection[Ground] = (),
    ) -> bool:
        """Whether what is known can hold, with variables assumed; of the grounds only those `among`, if given.

        With `any_of` at least one of those holds besides.
        """
        if among is None and not self.relaxed:
            selectors = [self._all_hold]
        elif among is None:
            selectors = [self._all_but_relaxed()]
        else:
            selectors = [self._selectors[ground] for ground in among if ground not in self.relaxed]
        if any_of:
            name = self._fresh()
            self._solver.add_clause([-name, *(self._selectors[ground] for ground in any_of)])
            selectors.append(name)
        guards = () if self.reading else [-guard for guard in self._guards]
        return bool(self._solver.solve(assumptions=[*assumed, *selectors, *guards]))

    def _all_but_relaxed(self) -> int:
        """A variable that implies every selector but those that are relaxed, and that those do not hold.

        To assume it is faster by far than to assume hundreds of them.
        """
        if self._holding != self.relaxed:
            self._holding, self._holds, self._held = self.relaxed, self._fresh(), 0
        left_out = {self._selectors[ground] for ground in self.relaxed if ground in self._selectors}
        for name in islice(self._grounds, self._held, None):
            self._solver.add_clause([-self._holds, -name if name in left_out else name])
        self._held = len(self._grounds)
        return self._holds

    @property
    def unread(self) -> int:
        """How many releases that were not read could give the leave that something was ruled out for the lack of."""
        return sum(1 for variable in self._unread if self._candidates[variable] not in self._opened)

    def chosen(self) -> dict[Package, Candidate]:
        """The candidates of the last satisfiable answer."""
        found = {}
        for literal in self._solver.get_model() or ():
            candidate = self._candidates.get(literal)
            if candidate is not None:
                found[candidate.package] = candidate
        return found

    def broken(self) -> set[Ground]:
        """Grounds with a clause that the last satisfiable answer does not meet."""
        model: Sequence[int] = self._solver.get_model() or ()  # the literal of variable n at n - 1
        return {ground for ground, name in self._selectors.items() if not (name <= len(model) and model[name - 1] > 0)}

    def blamed(self) -> set[Candidate]:
        """The assumed candidates that the last unsatisfiable answer rests on."""
        return {self._candidates[one] for one in self._solver.get_core() or () if one in self._candidates}

    def core(self) -> list[Ground]:
        """The grounds that the last unsatisfiable answer rests on; not made minimal."""
        names = sorted(literal for literal in self._solver.get_core() or () if literal in self._grounds)
        return [self._grounds[name] for name in names]

    def minimal(self, assumed: Iterable[int] = (), among: Collection[Ground] | None = None) -> list[Ground]:
        """The grounds that clash, made minimal by leaving out one after the other, what became known last at first."""
        assumed = list(assumed)
        self.satisfiable(assumed, list(self.known) if among is None else among)
        core = self.core()
        for ground in reversed(core):
            if ground in core:
                rest = [other for other in core if other != ground]
                if not self.satisfiable(assumed, rest):
                    core = self.core()
        return core

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
                self._pin(edge, because, before)
            self._rule(because, [*before, *self._allowed(edge, edge.allows if bounds else None)])

    def _can_wait(self, edge: Edge) -> bool:
        """Whether an edge is the only one on its package, and some release meets it."""
        package = edge.package
        if package.kind is not Kind.PROJECT or package.extra or package in self.packages or package in self._waiting:
            return False
        return next(self.universe.candidates(package, self.universe.demand(edge)), None) is not None

    def _pin(self, edge: Edge, because: tuple[Ground, ...], before: list[int]) -> None:
        """Two pins that differ clash, whatever the indexes have."""
        if not isinstance(edge.allows, SpecifierSet) or edge.package.extra:
            return
        project = self.universe.project(text.name(edge.package.name))
        unknown = not project.mask(edge.allows)
        clause = [*(-self._selector(ground) for ground in because), *before]
        rows = self._pinned.setdefault(edge.package, [])
        for allows, other, is_unknown in rows:
            if (unknown or is_unknown) and str(allows) != str(edge.allows) and _apart(allows, edge.allows):
                self._solver.add_clause([*clause, *other])
        rows.append((edge.allows, clause, unknown))

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
                yield from self._missing(package.base, allows)
            case Kind.SYSTEM if isinstance(allows, ComponentRequirement):
                if not any(satisfies(candidate, allows) for candidate in self.packages[package]):
                    yield self._elsewhere(package, str(allows), Component(package.name))
            case _:
                return

    def _missing(self, base: Package, allows: Allows | None) -> Iterator[int]:
        """The variables of releases that cannot be used, or are not there."""
        project = self.universe.project(text.name(base.name))
        if not project.found:
            yield self._elsewhere(base, "", Lacking(base.name, Lack.PROJECT, ""))
            return
        mask = project.all if allows is None else project.mask(allows)
        if project.unreachable and mask and (allows is None or not pins(allows)):
            yield self._elsewhere(base, "", Lacking(base.name, Lack.UNREACHABLE, ""))
        if not mask:
            wanted = str(allows) if isinstance(allows, SpecifierSet) else ""
            if project.source is not None:  # without the line that names the commit there might be one
                ask, _ = self.universe.sources[project.name]
                yield self._elsewhere(base, wanted, Lacking(base.name, Lack.SOURCE, wanted), Line(ask.origin, ""))
            else:
                yield self._elsewhere(base, wanted, Lacking(base.name, Lack.RELEASE, wanted))
        for position, variable in self._absent.get(base, {}).items():
            if mask >> position & 1:
                yield variable

    def _elsewhere(self, package: Package, wanted: str, *because: Ground) -> int:
        """A variable for what is wanted and does not exist. It excludes nothing, as nobody knows what it would be."""
        known = self._nowhere.get((package, wanted))
        if known is None:
            known = self._nowhere[package, wanted] = self._fresh()
            self._rule(because, [-known])
        return known

    def _set_aside(self, package: Package) -> Iterator[int]:
        project = self.universe.project(text.name(package.name))
        usable = {one.chosen.position for one in self.packages[package] if isinstance(one.chosen, Release)}
        absent = self._absent[package] = {}
        for position in project.positions(project.all):
            if position not in usable:
                variable = absent[position] = self._fresh()
                ground = self._why(project, position)
                self.absent.setdefault(ground, []).append((package, position, variable))
                self._rule([ground], [-variable])
                for collision in self.universe.collisions(project.name, project.versions[position]):
                    module = Package(collision.module, "", Kind.MODULE)
                    self._own(module, project.name)
                    owner = self.variable(self.universe.owner(module, project.name))
                    self._rule([Module(collision.id)], [-variable, owner])
                yield variable

    def _why(self, project: Project, position: int) -> Ground:
        release = project.release(position)
        if isinstance(release, Release):
            return Lacking(project.name, Lack.PRERELEASE, "")  # the policy takes none
        return why_set_aside(self.universe, project, position, release)

    def _own(self, package: Package, owner: str) -> None:
        """A module's owners become known one by one; any two exclude each other."""
        candidate = self.universe.owner(package, owner)
        known = self.packages.setdefault(package, [])
        if candidate in known:
            return
        variable = self.variable(candidate)
        for other in known:
            self._solver.add_clause([-variable, -self._variables[other]])
        known.append(candidate)

    def _all(self, package: Package) -> Iterator[Candidate]:
        match package.kind:
            case Kind.PROJECT:
                yield from self.universe.every(package)
            case Kind.SYSTEM:
                yield from self.universe.values(package)
            case _:
                return

    def _rule(self, because: Iterable[Ground], clause: Iterable[int]) -> None:
        """Add a clause that stands on grounds."""
        self._solver.add_clause([*(-self._selector(ground) for ground in because), *clause])

    def _selector(self, ground: Ground) -> int:
        selector = self._selectors.get(ground)
        if selector is None:
            selector = self._selectors[ground] = self._fresh()
            self._grounds[selector] = ground
            self._solver.set_phases([selector])
            self._solver.add_clause([-self._all_hold, selector])
        return selector

    def _at_most_one(self, variables: list[int]) -> None:
        if len(variables) < 2:
            return
        encoding = EncType.pairwise if len(variables) <= _PAIRWISE else EncType.seqcounter
        coded = CardEnc.atmost(variables, 1, top_id=self._top, encoding=encoding)
        self._top = max(self._top, coded.nv)
        for clause in coded.clauses:
            self._solver.add_clause(clause)

    def _fresh(self) -> int:
        self._top += 1
        return self._top


def _apart(one: SpecifierSet, other: SpecifierSet) -> bool:
    """Whether no version can meet two pins. `===` compares texts, and a release has one text only."""
    versions = [pin.version for pin in (*one, *other) if pins(SpecifierSet(str(pin)))]
    if any(text.version(version) is None for version in versions):
        return False
    return not any(
        one.contains(version, prereleases=True) and other.contains(version, prereleases=True) for version in versions
    )


def why_set_aside(universe: Universe, project: Project, position: int, files: Sequence[SetAside]) -> Ground:
    """The ground on which a release cannot be used."""
    fact = universe.taken_by(project.name, project.versions[position])
    if fact is not None and any(row.reason is Reason.FACT for row in files):
        return Taken(project.name, fact.id)
    if any(row.reason in (Reason.NEWER, Reason.NO_DATE) for row in files):
        return Lacking(project.name, Lack.CUTOFF, "")
    return Lacking(project.name, Lack.FILE, "")
