"""Locking a changed stack for real, within a limit of time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

import msgspec

from resolver.config import schema
from resolver.config.compile import compile_problems
from resolver.config.load import Inputs, read_text, with_stack
from resolver.errors import ResolverError
from resolver.explain.noting import NotingCatalog
from resolver.index.protocol import Catalog, looking
from resolver.lock.build import applied
from resolver.model.explanation import Environment, PinOf
from resolver.model.fact import Warns, as_warning
from resolver.model.problem import Problem
from resolver.model.requirement import ComponentRequirement, Requirement
from resolver.model.resolution import Resolution
from resolver.resolve.builds import solve_builds
from resolver.resolve.demand import pins
from resolver.resolve.prefetch import Prefetch
from resolver.resolve.solver import Refutation, prove, search
from resolver.resolve.universe import Universe

_BRIEF_SHARE = 1 / 12  # of the time for all, at first: what takes longer waits until the rest has been tried
_TRIAL_SHARE = 1 / 6
_NOTING_SHARE = 1 / 3  # with notes, as results rest on releases that nobody has read yet
_SHOWN = 10  # pins shown for a way out

Tick = Callable[[int, int], None]


class Expired(Exception):
    """The limit of time is reached."""


class Clock:
    """A limit of time: `expired` once it is reached, `tick` raises then."""

    def __init__(self, seconds: float, tell: Tick | None = None, whole: Clock | None = None) -> None:
        """`whole` is the limit that this one is a part of, which learns if something was cut short."""
        self.seconds = seconds
        self._end = time.monotonic() + seconds
        self._tell = tell
        self._whole = whole
        self.limited = False  # whether anything was cut short

    def expired(self) -> bool:
        """Whether time is up."""
        late = time.monotonic() > self._end
        if late:
            self.cut()
        return late

    def cut(self) -> None:
        """Note that something was cut short."""
        self.limited = True
        if self._whole is not None:
            self._whole.cut()

    def is_early(self) -> bool:
        """Whether more than half of the time is left."""
        return self._end - time.monotonic() > self.seconds / 2

    def within(self, seconds: float) -> Clock:
        """A limit that ends with this one, or after so many seconds."""
        return Clock(min(seconds, self._end - time.monotonic()), self._tell, self)

    def once(self, seconds: float) -> Clock:
        """The same for what may be tried again: when it ends, nothing is cut short yet."""
        return Clock(min(seconds, self._end - time.monotonic()), self._tell)

    def tick(self, rounds: int, packages: int) -> None:
        """Report how far a search is. Raises Expired."""
        if self._tell is not None:
            self._tell(rounds, packages)
        self.look()

    def look(self) -> None:
        """Raise Expired if time is up."""
        if self.expired():
            raise Expired


class Undecided(msgspec.Struct, frozen=True):
    """A changed stack could not be decided within the limit, or for another reason, given in `why`."""

    why: str = ""

    @property
    def is_late(self) -> bool:
        """Whether it is for the limit."""
        return not self.why


class Trials:
    """Locks variants of one problem. `inputs` are the files that it was made from, `cutoff` what overrides theirs.

    `wish` is the text of the original stack, from which all changes started.
    """

    def __init__(
        self,
        inputs: Inputs,
        problem: Problem,
        universe: Universe,
        clock: Clock,
        cutoff: datetime | None = None,
        wish: str = "",
    ) -> None:
        self.inputs = inputs
        self.problem = problem
        self.clock = clock
        self._universe = universe
        self.wish = wish or inputs.stack.text
        self._cutoff = cutoff
        names = [one.target.name for one in compile_problems(inputs)]
        self.at = names.index(problem.target.name)
        self.others = frozenset(names) - {problem.target.name}  # the stack's other targets

    @property
    def catalog(self) -> Catalog:
        """Where everything is looked up."""
        return self._universe.catalog

    @property
    def text(self) -> str:
        """The stack's own text."""
        return self.inputs.stack.text

    def problem_of(self, text: str) -> Problem:
        """The problem of a changed stack. Raises InputError."""
        return compile_problems(self._with(text), exclude_newer=self._cutoff, sources=self.problem.sources)[self.at]

    def _with(self, text: str) -> Inputs:
        return with_stack(self.inputs, read_text(text, schema.StackFile, self.inputs.stack.name))

    def after(self, text: str, universe: Universe) -> Trials:
        """Trials for variants of a changed stack, with its universe."""
        return Trials(self._with(text), universe.problem, universe, self.clock, self._cutoff, self.wish)

    def noting(self) -> Trials:
        """Trials that trust what archives note about themselves (see `noting`)."""
        universe = self._universe.variant(self.problem, NotingCatalog(self.catalog, self.problem.facts))
        return Trials(self.inputs, self.problem, universe, self.clock, self._cutoff, self.wish)

    @property
    def notes(self) -> NotingCatalog | None:
        """The archives' notes, if they are taken as true."""
        return self.catalog if isinstance(self.catalog, NotingCatalog) else None

    def lock(self, text: str, *, strictly: bool = False, briefly: bool = False) -> Resolution | Refutation | Undecided:
        """Solve a changed stack, including its builds; `strictly` without the archives' own notes.

        `briefly` takes less of the time: the same can be asked again.
        """
        try:
            problem = self.problem_of(text)
            catalog = self.notes.inner if strictly and self.notes is not None else None
            universe = self._universe.variant(problem, catalog)
            prefetch = Prefetch(universe)
            prefetch.expect(universe.roots())
            noting = self.notes is not None and not strictly  # everything that follows rests on notes
            share = _NOTING_SHARE if noting else _BRIEF_SHARE if briefly else _TRIAL_SHARE
            clock = self.clock.once(self.clock.seconds * share)
            with looking(clock.look):
                # most changed stacks that clash do so at once; the complete engine then says why
                found = search(universe, prefetch, clock.tick, starts=1)
                answer = found if found is not None else prove(universe, clock.tick)
                if isinstance(answer, Resolution):
                    solve_builds(answer, universe.catalog, tick=clock.tick)
            return answer
        except Expired:
            if not briefly:
                self.clock.cut()
            return Undecided()
        except ResolverError as error:
            return Undecided(error.message)


def environment(resolution: Resolution, wish: Problem, name: str, matter: Sequence[str]) -> Environment:
    """The lock of a changed stack; `matter` are the projects whose pins are shown.

    Warnings about a release that the wish itself pins are left out, as they are not caused by the change, unless they
    are about the machine and would be moot on the wish's own machine.
    """
    asked = [ask.need.name for ask in resolution.problem.stack.asks if isinstance(ask.need, Requirement)]
    known = dict.fromkeys([*asked, *matter])
    shown = known if len(known) <= _SHOWN else list(dict.fromkeys([*matter, *asked]))[:_SHOWN]
    return Environment(
        name=name,
        requires=tuple(ask.origin.text for ask in resolution.problem.stack.asks),
        pins=tuple(
            PinOf(name=pin.name, version=str(pin.version), wished=pin.name in asked)
            for pin in (resolution.pin(one) for one in shown)
            if pin is not None
        ),
        count=len(resolution.pins),
        warnings=tuple(_warnings(resolution, wish, matter)),
    )


def _warnings(resolution: Resolution, wish: Problem, matter: Sequence[str]) -> Iterator[Warns]:
    wished = {ask.need.name: ask.need for ask in wish.stack.asks if isinstance(ask.need, Requirement)}
    own = {fact.id for fact in wish.facts}
    yield from (as_warning(practice) for practice in resolution.practices if practice.id not in own)
    for fact in applied(resolution):
        if not isinstance(fact, Warns):
            continue
        pin = resolution.pin(fact.package)
        need = wished.get(fact.package)
        as_wished = pin and need and pins(need.specifier) and need.specifier.contains(pin.version, prereleases=True)
        averted = any(isinstance(one, Requirement) and one.name in wished for one in fact.unless)
        elsewhere = any(
            isinstance(one, ComponentRequirement) and one.is_promised_by(wish.target.system) for one in fact.unless
        )
        if averted or elsewhere or ((fact.package in (*matter, *wished) or fact.components) and not as_wished):
            yield fact
