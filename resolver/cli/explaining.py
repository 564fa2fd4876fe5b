"""Explaining a conflict and writing its report beside the old lock, for `lock` and `explain`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from resolver.cli.catalogs import Catalogs
from resolver.cli.page import Page
from resolver.cli.progress import Progress
from resolver.config.compile import compile_problems
from resolver.config.load import Inputs
from resolver.explain.changes import Changed
from resolver.explain.explain import draft, lettered
from resolver.explain.multi_target import Everywhere
from resolver.explain.trial import Clock
from resolver.index.protocol import Catalog
from resolver.index.waiting import looking
from resolver.lock import folder as lock_folder
from resolver.model.explanation import Explanation
from resolver.model.problem import Problem
from resolver.model.resolution import Resolution
from resolver.report import words
from resolver.report.explanation.changes import changes_sentence
from resolver.report.explanation.report import report_files
from resolver.resolve.solver import Refutation, decide
from resolver.resolve.universe import Universe

_Told = TypeVar("_Told")

_OWN_SHARE = 2 / 3  # of the time, for ways out of the target that is explained: the rest is for the other targets


def explanation_of(
    refutation: Refutation, inputs: Inputs, cutoff: datetime | None, clock: Clock, progress: Progress, page: Page
) -> Explanation:
    """The explanation of a refuted problem, found within so many seconds; the contradictions are on the page at once.

    Its ways out have no letters yet, and hold for its own target only.
    """
    problem = refutation.engine.clauses.universe.problem
    of = {"stack": problem.stack.name, "target": problem.target.name}

    def tell_way(changed: Changed) -> None:
        way = changes_sentence(changed.changes, progress.language)
        progress.label(words.FIRST_WAY_OUT(progress.language, way=way, **of))

    progress.label(words.WAYS_OUT(progress.language, **of))
    return draft(refutation, inputs, clock, cutoff=cutoff, tell=page.why, tell_way=tell_way)


@dataclass
class Explaining:
    """Explains why one target of a stack has no lock.

    `cutoff` replaces that of the stack, if given. Each target gets so many `seconds`, counted from when it is refuted;
    if there are other targets, only part of them is spent on its own ways out.
    """

    inputs: Inputs
    cutoff: datetime | None
    seconds: float
    catalogs: Catalogs
    progress: Progress
    page: Page
    _clock: Clock = field(init=False)

    def explain(self, refutation: Refutation) -> Explanation:
        """The explanation of a refuted problem for its own target; the contradictions are on the page at once."""
        self._clock = clock = Clock(self.seconds, self.progress.solving)
        if len(compile_problems(self.inputs, exclude_newer=self.cutoff)) > 1:
            clock = clock.within(self.seconds * _OWN_SHARE)
        return explanation_of(refutation, self.inputs, self.cutoff, clock, self.progress, self.page)

    def finish(self, explanation: Explanation) -> Explanation:
        """The same with lettered ways out that lock for all targets of the stack; they are then on the page."""
        finished = lettered(self._for_every_target(explanation), self.cutoff)
        self.page.ways(finished)
        return finished

    def _for_every_target(self, explanation: Explanation) -> Explanation:
        problems = compile_problems(self.inputs, exclude_newer=self.cutoff)
        if len(problems) == 1:
            return explanation
        clock = self._clock

        def ask(at: int, problem: Problem, use: Callable[[Resolution | Refutation], _Told]) -> _Told:
            def told(catalog: Catalog) -> _Told:
                with looking(clock.look):
                    return use(decide(Universe(problem, catalog), tick=clock.tick))

            # snapshot and indexes are those of the stack itself
            return self.catalogs.ask(problems[at], told)

        return Everywhere(self.inputs, explanation, ask, clock, self.cutoff).explained()


def write_reports(found: Iterable[tuple[Path, Explanation]]) -> None:
    """Write the report of each conflict into its lock's folder, in both languages; an old lock there is kept."""
    for folder, explanation in found:
        lock_folder.add(folder, report_files(explanation))
