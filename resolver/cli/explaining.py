"""Explaining a conflict and leaving its report beside the old lock: what `lock` and `explain` share."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from resolver.catalog.protocol import Catalog
from resolver.cli.catalogs import Catalogs
from resolver.cli.language import language_of
from resolver.cli.page import Page
from resolver.cli.progress import Progress
from resolver.errors import ResolverError
from resolver.explain.explain import explain
from resolver.explain.trial import Clock, Expired
from resolver.lock import folder as lock_folder
from resolver.matrix import schema
from resolver.matrix.compile import compile_problems
from resolver.matrix.document import read_text
from resolver.matrix.load import Inputs, with_stack
from resolver.model.explanation import Explanation
from resolver.model.problem import Problem
from resolver.model.resolution import Resolution
from resolver.profile import counts
from resolver.render.explanation.report import report_files
from resolver.solve.solver import Refutation, decide
from resolver.solve.universe import Universe


@counts("solving")
def explanation_of(
    refutation: Refutation, inputs: Inputs, cutoff: datetime | None, seconds: float, progress: Progress, page: Page
) -> Explanation:
    """The explanation of a refuted problem, found within so many seconds; what clashes is on the page at once."""
    problem = refutation.engine.clauses.universe.problem
    progress.label(f"looking for ways out of {problem.stack.name} for {problem.target.name}")
    return explain(refutation, inputs, Clock(seconds, progress.solving), cutoff=cutoff, tell=page.why)


def for_every_target(
    explanation: Explanation,
    inputs: Inputs,
    cutoff: datetime | None,
    seconds: float,
    catalogs: Catalogs,
    progress: Progress,
) -> Explanation:
    """The same with those fixes only that lock for the stack's other targets, too, within so many seconds more."""
    problems = compile_problems(inputs, exclude_newer=cutoff)
    if len(problems) == 1:
        return explanation
    clock = Clock(seconds, progress.solving)

    def holds(text: str) -> bool:
        changed = with_stack(inputs, read_text(text, schema.StackFile, inputs.stack.name))
        try:
            trials = compile_problems(changed, exclude_newer=cutoff, sources=explanation.problem.sources)
            for own, problem in zip(problems, trials, strict=True):
                ask = partial(_locks, problem, clock)  # the snapshot and the indexes are those of the stack itself
                if own.target.name != explanation.problem.target.name and not catalogs.ask(own, ask):
                    return False
        except (Expired, ResolverError):
            return False
        return True

    kept = tuple(fix for fix in explanation.fixes if all(holds(text) for _, text in fix.files))
    return replace(explanation, fixes=kept, limited=explanation.limited or clock.limited)


def _locks(problem: Problem, clock: Clock, catalog: Catalog) -> bool:
    return isinstance(decide(Universe(problem, catalog), tick=clock.tick), Resolution)


def write_reports(found: Iterable[tuple[Path, Explanation]], wanted: str | None) -> None:
    """Write conflict.md, conflict.html and conflict.json into each lock's folder; an old lock there stays.

    Without a wanted language a report keeps the one that it has: a locale should change no file that is shared.
    """
    for folder, explanation in found:
        language = language_of(wanted or lock_folder.reported_language(folder))
        lock_folder.add(folder, report_files(explanation, language))
