"""Locking a changed stack for real, within a limit of time; with archives' own notes about themselves, if asked for.

No lock rests on a note that nobody has confirmed. So a stack that has a solution with notes is locked once more with a
`metadata` fact for each archive in it that it rests on, and that is the way out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from datetime import datetime
from typing import NamedTuple

from packaging.requirements import InvalidRequirement
from packaging.utils import NormalizedName

from resolver.config import schema
from resolver.config.compile import compile_problems
from resolver.config.load import Inputs, read_text, with_stack
from resolver.errors import ResolverError
from resolver.explain.edit import StackText
from resolver.index.parse.filename import archive_version
from resolver.index.parse.metadata import Noted, noted_in
from resolver.index.protocol import Catalog, CatalogOver, UnusableFile, looking
from resolver.model import text as texts
from resolver.model.explanation import Change
from resolver.model.fact import Builds, Fact
from resolver.model.fact import Metadata as MetadataFact
from resolver.model.problem import Problem
from resolver.model.release import Archive, File, Metadata
from resolver.model.resolution import Pin, Resolution
from resolver.resolve.solver import Refutation, decide, solve_builds
from resolver.resolve.universe import Universe

_SHARE = 1 / 4  # of the time for all, at most, for one changed stack


class Expired(Exception):
    """The limit of time is reached."""


class Clock:
    """A limit of time: `expired` once it is reached, `tick` raises then. `tell` is told how far a search is."""

    def __init__(self, seconds: float, tell: Callable[[int, int], None] | None = None) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds
        self._tell = tell
        self.limited = False  # whether anything was cut short

    def expired(self) -> bool:
        """Whether time is up; something is then cut short."""
        is_late = time.monotonic() > self._end
        self.limited |= is_late
        return is_late

    def within(self, seconds: float) -> Clock:
        """A limit that ends with this one, or after so many seconds; this one is not told when it ends."""
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


class Undecided(NamedTuple):
    """A changed stack could not be decided: in time, or for the reason given in `why`."""

    why: str = ""


Answer = Resolution | Refutation | Undecided


class Trials:
    """Locks variants of a stack for one of its targets, that of a universe, and for the others.

    `inputs` are the files that the universe's problem was made from, `cutoff` overrides theirs. `wish` is the text of
    the original stack, from which all changes started. `catalog_of` gives the catalog for another target's problem;
    without it there are no other targets.
    """

    def __init__(
        self,
        inputs: Inputs,
        universe: Universe,
        clock: Clock,
        cutoff: datetime | None = None,
        catalog_of: Callable[[Problem], Catalog] | None = None,
    ) -> None:
        self.wish = inputs.stack.text
        self.clock = clock
        self._cutoff = cutoff
        self._wished = compile_problems(inputs, exclude_newer=cutoff, sources=universe.problem.sources)
        self.at = self._explained = [one.target.name for one in self._wished].index(universe.problem.target.name)
        self._universes = {self.at: universe}  # of the original stack, by target
        self._locked: dict[tuple[int, str], Resolution] = {}  # without notes
        self._catalog_of = catalog_of
        self._stand_at(inputs, universe)

    def _stand_at(self, inputs: Inputs, universe: Universe) -> None:
        self.inputs = inputs
        self.text = inputs.stack.text
        self.problem = universe.problem
        self.catalog = universe.catalog
        self.notes = self.catalog if isinstance(self.catalog, NotingCatalog) else None  # if they are taken as true
        self._universe = universe

    def after(self, text: str, universe: Universe) -> Trials:
        """Trials for variants of a changed stack, with its universe."""
        other = copy(self)
        other._stand_at(self._with(text), universe)
        return other

    def noting(self) -> Trials:
        """Trials that trust what archives note about themselves."""
        return self.after(
            self.text, self._universe.variant(self.problem, NotingCatalog(self.catalog, self.problem.facts))
        )

    @property
    def name(self) -> str:
        """The name of the target in the original stack."""
        return self._wished[self.at].target.name

    @property
    def target(self) -> str:
        """The same; empty for the target that is explained."""
        return "" if self.at == self._explained else self.name

    def undone(self, text: str, change: Change) -> str:
        """A changed stack without one of its changes of lines and components."""
        at = [one.target.name for one in self._wished].index(change.target) if change.target else self._explained
        return StackText(text).undone(change, at).text

    def lock(self, text: str, *, strictly: bool = False) -> Answer:
        """Solve a changed stack, including its builds; `strictly` without the archives' own notes."""
        noting = self.notes is not None and not strictly  # everything that follows rests on notes
        if not noting and (self.at, text) in self._locked:
            return self._locked[self.at, text]
        clock = self.clock.within(self.clock.seconds * _SHARE)
        try:
            problems = compile_problems(self._with(text), exclude_newer=self._cutoff, sources=self.problem.sources)
            catalog = self.notes.inner if self.notes is not None and strictly else None
            with looking(clock.look):
                answer = decide(self._universe.variant(problems[self.at], catalog), tick=clock.tick)
                if isinstance(answer, Resolution):
                    solve_builds(answer, catalog or self._universe.catalog, tick=clock.tick)
        except Expired:
            self.clock.limited = True
            return Undecided()
        except ResolverError as error:
            return Undecided(error.message)
        if isinstance(answer, Resolution) and not noting:
            self._locked[self.at, text] = answer
        return answer

    def elsewhere(self, text: str) -> tuple[Trials, Refutation | Undecided] | None:
        """The first other target for which a changed stack does not lock, and why; None if it locks for all."""
        for at in range(len(self._wished)) if self._catalog_of is not None else ():
            if at == self.at:
                continue
            other = self._for_target(at)
            answer = other.lock(text)
            if not isinstance(answer, Resolution):
                return other, answer
        return None

    def explained(self, text: str) -> Resolution:
        """The lock of a changed stack, which locks for all targets, for the one that is explained."""
        return self._locked[self._explained, text]

    def _for_target(self, at: int) -> Trials:
        other = copy(self)
        other.at = at
        if at not in self._universes:
            assert self._catalog_of is not None  # noqa: S101  otherwise there are no other targets
            self._universes[at] = Universe(self._wished[at], self._catalog_of(self._wished[at]))
        other._stand_at(self.inputs, self._universes[at])
        return other

    def _with(self, text: str) -> Inputs:
        return with_stack(self.inputs, read_text(text, schema.StackFile, self.inputs.stack.name))


class NotingCatalog(CatalogOver):
    """A catalog over `inner` in which notes count as static metadata if there is none; all else is as there.

    Archives are not inspected if `facts` say what they need or how they are built: they may be large.
    """

    def __init__(self, inner: Catalog, facts: Iterable[Fact]) -> None:
        super().__init__(inner)
        self._noted: dict[File, Noted | None] = {}
        self._facts = [fact for fact in facts if isinstance(fact, (MetadataFact, Builds))]

    def noted(self, file: File) -> Noted | None:
        """The notes of an archive without static metadata, if a fact can express them."""
        if file not in self._noted:
            self._noted[file] = None if self._is_stated(file) or self.inner.archive(file).metadata else self._look(file)
        return self._noted[file]

    def _is_stated(self, file: File) -> bool:
        versions = ((one, archive_version(file.filename, NormalizedName(one.package))) for one in self._facts)
        return any((version := texts.version(of or "")) and fact.speaks_of(version) for fact, of in versions)

    def _look(self, file: File) -> Noted | None:
        try:
            noted = noted_in(file, self.inner)
            urls = noted is not None and any(texts.requirement(line).url for line in noted.lines)
        except (UnusableFile, ResolverError, InvalidRequirement):
            return None
        return None if urls else noted

    def archive(self, file: File) -> Archive:
        """See `Catalog`."""
        own = self.inner.archive(file)
        noted = self.noted(file)
        if noted is None:
            return own
        metadata = Metadata("", "", noted.lines, file.requires_python, texts.all_extras(noted.lines))
        return Archive(metadata, own.build_requires)

    def close(self) -> None:
        """Do nothing: somebody else owns the inner catalog."""

    def rested_on(self, resolution: Resolution) -> Iterator[tuple[Pin, Noted]]:
        """The pins of a resolution that need a fact, each with its archive's notes."""
        stated = [fact for fact in resolution.problem.facts if isinstance(fact, MetadataFact)]
        for pin in resolution.pins:
            release = pin.release
            if release.file.is_wheel or release.source is not None or release.builds is not None:
                continue
            if any(fact.package == pin.name and fact.speaks_of(pin.version) for fact in stated):
                continue
            if (noted := self.noted(release.file)) is not None:
                yield pin, noted
