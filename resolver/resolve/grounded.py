"""A SAT solver whose clauses have grounds: the constraints that could be removed, and the clauses with them.

Every clause except purely logical ones has a selector for its ground, so that an unsatisfiable answer names the
grounds that clash, and a ground can be left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from packaging.utils import NormalizedName
from pysat.card import CardEnc, EncType
from pysat.solvers import Cadical153

from resolver.model import text
from resolver.model.dependency import Edge, ModuleOwner, NeedLine, NeedSource, Package, SameRelease, StackLine, Unusable
from resolver.model.release import RejectionReason
from resolver.model.resolution import Lack


class LineGround(NamedTuple):
    """A line of the stack (or a build requirement). `aspect` is "" (the project), "version", or "extra x"."""

    origin: StackLine | NeedLine
    aspect: str


class ComponentGround(NamedTuple):
    """The value that the target states for a component."""

    name: str


class RequirementGround(NamedTuple):
    """Releases of a package require `text`: one ground for all releases that say the same, whatever the source."""

    package: Package
    source: NeedSource
    text: str
    fact: str  # its id; empty for metadata


class CollisionGround(NamedTuple):
    """A fact says that two distributions install the same module."""

    fact: str


class ExclusionGround(NamedTuple):
    """A fact rules releases of a project out."""

    project: str
    fact: str


class LackGround(NamedTuple):
    """A project (or an extra) has nothing usable. `detail` is a specifier, or the name of a `RejectionReason`."""

    project: str
    lack: Lack
    detail: str

    @property
    def name(self) -> NormalizedName:
        """The project's name, without an extra."""
        return text.name(self.project.partition("[")[0])


Ground = LineGround | ComponentGround | RequirementGround | CollisionGround | ExclusionGround | LackGround


def grounds(parent: Package | None, edge: Edge) -> tuple[tuple[tuple[Ground, ...], bool], ...]:
    """The grounds, all of which must hold, of each clause that an edge makes.

    The flag tells whether the clause is about the edge's bounds, or only about its existence.
    """
    origin = edge.origin
    match origin:
        case SameRelease():
            return ()
        case StackLine() | NeedLine() if parent is None:  # as a line of a build environment, in its stack
            line = LineGround(origin, "")
            if edge.package.extra:  # it has the version of the project
                return (((line, LineGround(origin, f"extra {edge.package.extra}")), False),)
            exists = (((line,), False),)
            return (*exists, ((line, LineGround(origin, "version")), True)) if str(edge.allows) else exists
        case Unusable():
            # those that were not opened are reported together with those that were
            reason = RejectionReason.DYNAMIC if origin.reason is RejectionReason.UNOPENED else origin.reason
            return (((LackGround(str(parent), Lack.UNUSABLE, reason.name),), True),)
        case NeedLine():
            assert parent is not None  # noqa: S101  only the stack's own lines have no parent
            fact = origin.fact.id if origin.fact else ""
            if isinstance(edge.allows, ModuleOwner):
                return (((CollisionGround(fact),), True),)
            source = NeedSource.FACT if fact and origin.source is NeedSource.METADATA else origin.source
            return (((RequirementGround(parent, source, origin.text, fact),), True),)
        case StackLine():
            raise AssertionError(edge)


_PAIRWISE = 5


class Grounded:
    """Clauses and their grounds. Clauses with `relaxed` grounds do not count.

    Unless `reading` is set, guards are false: a guard stands for possibilities that nobody has looked at yet.
    """

    def __init__(self) -> None:
        self.relaxed: frozenset[Ground] = frozenset()
        self.reading = False
        self._solver = Cadical153()
        self._top = 0
        self._selectors: dict[Ground, int] = {}
        self._grounds: dict[int, Ground] = {}
        self._guards: list[int] = []

    def close(self) -> None:
        """Free the solver's memory; nothing can be asked afterwards."""
        self._solver.delete()

    @property
    def known(self) -> Collection[Ground]:
        """Every ground so far, in the order in which they became known."""
        return self._selectors.keys()

    def add_clause(self, clause: Sequence[int]) -> None:
        """Add a clause that holds regardless of what is relaxed."""
        self._solver.add_clause(clause)

    @contextmanager
    def without(self, relaxed: Iterable[Ground] = ()) -> Iterator[None]:
        """Meanwhile relax these grounds and no others."""
        previous, self.relaxed = self.relaxed, frozenset(relaxed)
        try:
            yield
        finally:
            self.relaxed = previous

    # --- answers

    def satisfiable(self, assumed: Iterable[int] = (), among: Collection[Ground] | None = None) -> bool:
        """Whether the clauses are satisfiable with variables assumed; if given, only with the grounds `among`.

        After False, `core` has the reasons.
        """
        if among is not None:
            selectors = [self._selectors[ground] for ground in among if ground not in self.relaxed]
        else:
            items = self._selectors.items()
            selectors = [-selector if ground in self.relaxed else selector for ground, selector in items]
        guards = () if self.reading else (-guard for guard in self._guards)
        return bool(self._solver.solve(assumptions=[*assumed, *selectors, *guards]))

    def broken(self) -> set[Ground]:
        """Grounds with a clause that the last satisfying answer does not meet."""
        model: Sequence[int] = self._solver.get_model() or ()  # the literal of variable n at n - 1
        rows = self._selectors.items()
        return {ground for ground, selector in rows if selector > len(model) or model[selector - 1] < 0}

    def core(self) -> list[Ground]:
        """The grounds that the last unsatisfiable answer rests on; not made minimal."""
        selectors = sorted(literal for literal in self._solver.get_core() or () if literal in self._grounds)
        return [self._grounds[selector] for selector in selectors]

    def minimal(self, assumed: Iterable[int] = (), among: Collection[Ground] | None = None) -> list[Ground]:
        """The grounds that clash, made minimal by leaving them out one by one, the latest known first."""
        assumed = list(assumed)
        self.satisfiable(assumed, list(self.known) if among is None else among)
        core = self.core()
        for ground in reversed(core):
            if ground in core and not self.satisfiable(assumed, [other for other in core if other != ground]):
                core = self.core()
        return core

    def preferred(self, assumed: Sequence[int], order: Sequence[Ground]) -> list[Ground]:
        """A minimal core of these grounds, with the first ones in this order wherever possible (QuickXplain).

        It depends on the clauses alone, and neither on the solver nor on the order in which they became known.
        """

        def needed(background: list[Ground], has_grown: bool, among: Sequence[Ground]) -> list[Ground]:
            if has_grown and not self.satisfiable(assumed, background):
                return []
            if len(among) == 1:
                return list(among)
            first, last = among[: len(among) // 2], among[len(among) // 2 :]
            of_last = needed([*background, *first], True, last)
            return [*needed([*background, *of_last], bool(of_last), first), *of_last]

        return needed([], True, order)

    # --- clauses

    def rule(self, because: Iterable[Ground], clause: Iterable[int]) -> None:
        """Add a clause with grounds."""
        self.add_clause([*(-self.selector(ground) for ground in because), *clause])

    def selector(self, ground: Ground) -> int:
        """The variable that says that a ground holds."""
        selector = self._selectors.get(ground)
        if selector is None:
            selector = self._selectors[ground] = self.new_variable()
            self._grounds[selector] = ground
            self._solver.set_phases([selector])
        return selector

    def at_most_one(self, variables: list[int]) -> None:
        """At most one of the variables is true."""
        if len(variables) < 2:
            return
        encoding = EncType.pairwise if len(variables) <= _PAIRWISE else EncType.seqcounter
        coded = CardEnc.atmost(variables, 1, top_id=self._top, encoding=encoding)
        self._top = max(self._top, coded.nv)
        for clause in coded.clauses:
            self.add_clause(clause)

    def new_variable(self) -> int:
        """A new variable."""
        self._top += 1
        return self._top
