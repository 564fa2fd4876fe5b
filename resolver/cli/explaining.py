"""Explaining a conflict and leaving its report beside the old lock: what `lock` and `explain` share."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from resolver.catalog.protocol import Catalog
from resolver.cli.catalogs import Catalogs
from resolver.cli.page import Page
from resolver.cli.progress import Progress
from resolver.errors import ResolverError
from resolver.explain.explain import explain
from resolver.explain.remembered import Basis, Remembered
from resolver.explain.trial import Clock, Expired
from resolver.lock import folder as lock_folder
from resolver.matrix import schema
from resolver.matrix.compile import compile_problems
from resolver.matrix.document import read_text
from resolver.matrix.load import Inputs, with_stack
from resolver.model.explanation import Attempt, Explanation, Fix, Outcome
from resolver.model.problem import Problem
from resolver.model.resolution import Resolution
from resolver.profile import counts
from resolver.render import words
from resolver.render.explanation.report import report_files
from resolver.solve.solver import Refutation, decide
from resolver.solve.universe import Universe


@counts("solving")
def explanation_of(
    refutation: Refutation, inputs: Inputs, cutoff: datetime | None, seconds: float, progress: Progress, page: Page
) -> Explanation:
    """The explanation of a refuted problem, found within so many seconds; what clashes is on the page at once."""
    problem = refutation.engine.clauses.universe.problem
    progress.label(words.WAYS_OUT(progress.language, stack=problem.stack.name, target=problem.target.name))
    return explain(refutation, inputs, Clock(seconds, progress.solving), cutoff=cutoff, tell=page.why)


class Explaining:
    """Explains why one target of a stack has no lock, and remembers what was found.

    `cutoff` takes the place of that of the stack, where there is one; each half of the work has so many `seconds`.
    """

    def __init__(
        self,
        inputs: Inputs,
        cutoff: datetime | None,
        seconds: float,
        catalogs: Catalogs,
        progress: Progress,
        page: Page,
        remembered: Remembered,
    ) -> None:
        self._inputs = inputs
        self._cutoff = cutoff
        self._seconds = seconds
        self._catalogs = catalogs
        self._progress = progress
        self._page = page
        self._remembered = remembered
        self._basis = Basis()

    def explain(self, refutation: Refutation) -> Explanation:
        """The explanation of a refuted problem, as its own target has it; what clashes is on the page at once."""
        found = explanation_of(refutation, self._inputs, self._cutoff, self._seconds, self._progress, self._page)
        self._basis.add(found.problem.target.name, refutation.engine.clauses.universe.catalog)
        return found

    def finish(self, explanation: Explanation) -> Explanation:
        """The same with those fixes only that lock for the stack's other targets, too; they are on the page then."""
        finished = self._for_every_target(explanation)
        self._remembered.keep(finished, self._basis)
        self._page.ways(finished)
        return finished

    def _for_every_target(self, explanation: Explanation) -> Explanation:
        problems = compile_problems(self._inputs, exclude_newer=self._cutoff)
        if len(problems) == 1:
            return explanation
        clock = Clock(self._seconds, self._progress.solving)
        others = [at for at, own in enumerate(problems) if own.target.name != explanation.problem.target.name]

        def elsewhere(fix: Fix) -> Attempt | None:
            """Why a way out of this target is none of the stack; None where it is one."""
            for _, text in fix.files:
                for at in others:
                    if (outcome := outcome_of(text, at)) is not None:
                        return Attempt(changes=fix.changes, outcome=outcome, why=problems[at].target.name)
            return None

        def outcome_of(text: str, at: int) -> Outcome | None:
            changed = with_stack(self._inputs, read_text(text, schema.StackFile, self._inputs.stack.name))
            try:
                trials = compile_problems(changed, exclude_newer=self._cutoff, sources=explanation.problem.sources)
                # the snapshot and the indexes are those of the stack itself
                locks = self._catalogs.ask(problems[at], partial(self._locks, trials[at], clock))
            except Expired:
                return Outcome.UNDECIDED
            except ResolverError:
                self._basis.lose()
                return Outcome.ELSEWHERE
            return None if locks else Outcome.ELSEWHERE

        tried = [(fix, elsewhere(fix)) for fix in explanation.fixes]
        return replace(
            explanation,
            fixes=tuple(fix for fix, why in tried if why is None),
            attempts=(*(why for _, why in tried if why is not None), *explanation.attempts),
            limited=explanation.limited or clock.limited,
        )

    def _locks(self, problem: Problem, clock: Clock, catalog: Catalog) -> bool:
        answer = decide(Universe(problem, catalog), tick=clock.tick)
        self._basis.add(problem.target.name, catalog)
        return isinstance(answer, Resolution)


def write_reports(found: Iterable[tuple[Path, Explanation]]) -> None:
    """Write the report of each conflict into its lock's folder, in both languages; an old lock there stays."""
    for folder, explanation in found:
        lock_folder.add(folder, report_files(explanation))
