"""Solve changed stacks, each within a share of the time of the whole search."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace as replace_target
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from msgspec.structs import replace
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.config.compile import StackCompiler
from resolver.config.load import Inputs
from resolver.config.schema import StackFile
from resolver.config.stack_lines import stack_lines
from resolver.config.toml_files import Document
from resolver.errors import ResolverError
from resolver.explain.changed_stack import EditSet
from resolver.explain.clock import Allowance, Clock, Expired
from resolver.explain.stack_text import StackText
from resolver.index.protocol import Catalog, polling
from resolver.index.sources import with_sources_of_facts
from resolver.model.edit import Edit, Edits
from resolver.model.problem import PolicyOptions, Problem
from resolver.model.resolution import Resolution
from resolver.phrase import EMPTY, Phrase
from resolver.resolve.builds import solve_builds
from resolver.resolve.independent_check import check
from resolver.resolve.refutation import Refutation
from resolver.resolve.solver import decide, first_answer, refuted_alike
from resolver.resolve.universe import Universe

# The largest share of the whole time that one changed stack may take.
SHARE = 1 / 4
# The same for a row of a compatibility table (see `rows`). Many rows are tried, and one that takes
# long seldom leads to a lock.
SHARE_OF_ROW = 1 / 12
# The first row is the nearest to what the stack pins, and what it reads helps the others.
SHARE_OF_FIRST_ROW = 1 / 6
# The largest share of the whole time that all rows may take together, so that there is time left
# for other versions of lines and for sets of changes.
SHARE_OF_ROWS = 1 / 3
# How many of the last refutations are tried on a further changed stack.
_REFUTATIONS = 6


class Undecided(NamedTuple):
    """The answer for a changed stack if it is unknown whether it has a solution."""

    # The error that stopped the solver, such as that of an index; empty if time was up.
    why: Phrase = EMPTY


# The answer to the question whether a stack has a solution.
Answer = Resolution | Refutation | Undecided


class NoLock(NamedTuple):
    """The answer for a changed stack that does not lock for one of its targets."""

    # The trials for the first target without a lock.
    trials: Trials
    # The answer for that target.
    answer: Refutation | Undecided


class Trials:
    """Locks changed stacks for one target of the original stack, and for its other targets.

    A changed stack is given by its edits of the original stack. All are locked with the same
    `options`, which replace parts of the stack's policy.
    """

    def __init__(
        self,
        compiler: StackCompiler,
        universe: Universe,
        clock: Clock,
        options: PolicyOptions,
        catalog_of: Callable[[Problem], Catalog],
        read_shipped: Callable[[], Sequence[Document[StackFile]]] = tuple,
    ) -> None:
        """Begin with the target of `universe`, whose problem is one of the compiler's.

        `catalog_of` returns the catalog for the problem of another target, and `read_shipped` the
        stacks that ship with this program. The search ends when the clock does.
        """
        self._read_shipped = read_shipped
        self.clock = clock
        # The time that is left for rows of compatibility tables.
        self.time_for_rows = Allowance(clock.seconds * SHARE_OF_ROWS)
        self._compiler = compiler
        self._options = options
        self._sources = universe.problem.sources
        self._problems = compiler.problems(options=options, sources=self._sources)
        self._names = [problem.target.name for problem in self._problems]
        # The numbers, in the stack's file, of the target that is explained and of the target that
        # these trials lock for.
        self._explained = self._names.index(universe.problem.target.name)
        self.current_target = self._explained
        # The universe of the original stack, by the number of its target.
        self._universes = {self.current_target: universe}
        # The locks so far, by the number of the target and the edits.
        self._locked: dict[tuple[int, EditSet], Resolution] = {}
        # The keys of the locks that may depend on the lock of a similar stack.
        self._helped: set[tuple[int, EditSet]] = set()
        # The problems of changed stacks, one for each target, by edits.
        self._compiled: dict[Edits, Sequence[Problem]] = {}
        self._catalog_of = catalog_of
        # Earlier refutations, shared by all trials: another changed stack may be refuted for the
        # same reasons.
        self._refutations: list[Refutation] = []
        self._stand_at((), universe)

    def learn(self, refutation: Refutation) -> None:
        """Remember a refutation: another changed stack may be refuted for the same reasons."""
        self._refutations.append(refutation)

    def _stand_at(self, edits: Edits, universe: Universe) -> None:
        """Use a stack as the one that further edits start from, for the current target."""
        self._edits = edits
        self.problem = universe.problem
        self.catalog = universe.catalog
        self._universe = universe

    def after(self, edits: Edits, universe: Universe) -> Trials:
        """Return trials whose further edits start from a changed stack, which has this universe.

        `edits` are all its edits of the original stack.
        """
        trials = copy(self)
        trials._stand_at(edits, universe)
        return trials

    def over(
        self, universe: Universe, clock: Clock, catalog_over: Callable[[Catalog], Catalog]
    ) -> Trials:
        """Return trials of the original stack over other catalogs.

        `universe` has the catalog for the explained target, and `catalog_over` returns the one of
        another target in place of the catalog that it is given.
        """
        return Trials(
            self._compiler,
            universe,
            clock,
            self._options,
            lambda problem: catalog_over(self._catalog_of(problem)),
            self._read_shipped,
        )

    @property
    def universe(self) -> Universe:
        """Return the universe of the stack that further edits start from."""
        return self._universe

    @property
    def files(self) -> Inputs:
        """Return the files of the original stack."""
        return self._compiler.inputs

    @cached_property
    def shipped(self) -> Sequence[Document[StackFile]]:
        """Return the stacks that ship with this program."""
        return self._read_shipped()

    @property
    def name(self) -> str:
        """Return the name that the current target has in the original stack."""
        return self._names[self.current_target]

    @property
    def target(self) -> str:
        """Return the name of the current target; empty if it is the one that is explained."""
        return "" if self.current_target == self._explained else self.name

    @property
    def next_number(self) -> int:
        """Return the number of a line that an edit adds to the stack, counted from 0."""
        edited = self._compiler.edited(self._edits)
        return max(len(edited.of_file), *(number + 1 for number in edited.numbers))

    def after_further(self, further: Edits, universe: Universe) -> Trials:
        """Return trials as `after` does, for the stack of these trials with further edits."""
        return self.after((*self._edits, *further), universe)

    def lines(self, further: Iterable[Edit]) -> tuple[str, ...]:
        """Return the stack's requirements, after the edits of these trials and further ones."""
        content = self._compiler.edited((*self._edits, *further)).content
        lines = stack_lines(content)
        group = self.problem.stack.group
        if group:
            lines = tuple(line for line in lines if line.group in ("", group))
        return tuple(line.text for line in lines)

    def text(self, edits: Edits) -> str:
        """Return the TOML text of the original stack's file with edits applied."""
        names = self._compiler.edited(edits).names
        return StackText(self.files.stack.text).with_edits(edits, names).text

    def solve(self, edits: Edits, near: Resolution | None = None) -> Answer:
        """Solve the original stack with edits, for the current target, and its builds from source.

        `near` is the lock of a similar stack: if the search finds nothing, it is repeated among the
        releases of that lock. Locks are kept, so the same edits are solved only once. An answer is
        Undecided, instead of an error, if an index fails or time is up.
        """
        key = self.current_target, frozenset(edits)
        if key in self._locked:
            return self._locked[key]
        clock = self.clock.within(self.clock.seconds * SHARE)
        try:
            answer = self._solve_anew(edits, clock, near)
        except Expired:
            self.clock.limited = True
            return Undecided()
        except ResolverError as error:
            return Undecided(error.phrases["message"])
        if isinstance(answer, Resolution):
            self._locked[key] = answer
            if near is not None:
                self._helped.add(key)
        return answer

    def reuse(self, edits: Edits, similar: Resolution) -> Resolution | None:
        """Return the lock of a similar stack as that of a changed stack, for the current target.

        None if it does not pass the independent check there.
        """
        key = self.current_target, frozenset(edits)
        problem = self._compile(edits)[self.current_target]
        lock = replace(similar, problem=problem)
        if check(problem, lock, self._universe.catalog):
            return None
        self._locked[key] = lock
        self._helped.add(key)
        return lock

    def exact(self, edits: Edits, locked: Resolution) -> Resolution:
        """Return the lock that a changed stack gets for the explained target if it is locked alone.

        If solving it takes too long, the result is `locked`, which the lock of a similar stack may
        have influenced.
        """
        key = self._explained, frozenset(edits)
        if key not in self._helped:
            return locked
        self._helped.discard(key)
        del self._locked[key]
        answer = self.solve(edits)
        return answer if isinstance(answer, Resolution) else locked

    def solve_near(
        self,
        further: Edits,
        preferred: Mapping[NormalizedName, Version],
        share: float = SHARE_OF_ROW,
    ) -> Answer:
        """Solve the stack with further edits, but not its builds from source.

        Releases near the `preferred` ones are taken. Only the releases of these projects are of use
        in the answer: soft requirements are not considered. At most this `share` of the whole time
        is taken.
        """
        clock = self.clock.within(self.clock.seconds * share)
        problem = self._compile((*self._edits, *further))[self.current_target]
        universe = self._universe.for_problem(problem, preferred, takes_nearest=True)
        try:
            with polling(clock.look):
                return first_answer(universe, tick=clock.tick)
        except Expired:
            return Undecided()
        except ResolverError as error:
            return Undecided(error.phrases["message"])

    def _solve_anew(
        self, edits: Edits, clock: Clock, near: Resolution | None
    ) -> Resolution | Refutation:
        """Solve a changed stack, as `solve` does, and remember a refutation.

        Raise Expired if time is up, and ResolverError as the solver does.
        """
        problem = self._compile(edits)[self.current_target]
        universe = self._universe.for_problem(problem)
        among: Universe | None = None
        if near is not None:
            preferred = {pin.name: pin.version for pin in near.pins}
            among = self._universe.for_problem(problem, preferred)
        with polling(clock.look):
            alike = refuted_alike(universe, self._refutations[-_REFUTATIONS:])
            if alike is not None:
                return alike
            answer = decide(universe, among=among, tick=clock.tick)
            if isinstance(answer, Resolution):
                solve_builds(answer, universe.catalog, tick=clock.tick)
            else:
                self.learn(answer)
        return answer

    def _compile(self, edits: Edits) -> Sequence[Problem]:
        """Return the problems of a changed stack, one for each target."""
        if edits not in self._compiled:
            problems = self._compiler.problems(
                self._compiler.edited(edits), options=self._options, sources=self._sources
            )
            self._compiled[edits] = list(map(with_sources_of_facts, problems))
        return self._compiled[edits]

    def solve_all(self, edits: Edits) -> Resolution | NoLock:
        """Solve a changed stack for all targets, the current one first.

        Return the lock for the explained target; or the first target that has none.
        """
        others = [number for number in range(len(self._problems)) if number != self.current_target]
        for trials in chain([self], map(self._for_target, others)):
            answer = trials.solve(edits)
            if not isinstance(answer, Resolution):
                return NoLock(trials, answer)
        return self._locked[self._explained, frozenset(edits)]

    def twin(self, edits: Edits) -> str:
        """Return the name of the target that the explained target equals after edits.

        It must be another target of the original stack; empty if it equals none.
        """
        changed = self._compile(edits)[self._explained].target
        for name, problem in zip(self._names, self._problems, strict=True):
            same_name = replace_target(changed, name=problem.target.name)
            if name != self._names[self._explained] and same_name == problem.target:
                return name
        return ""

    def _for_target(self, target: int) -> Trials:
        """Return trials whose current target is the one with this number in the stack's file."""
        if target not in self._universes:
            problem = self._problems[target]
            self._universes[target] = Universe(problem, self._catalog_of(problem))
        trials = copy(self)
        trials.current_target = target
        trials._stand_at(self._edits, self._universes[target])
        return trials
