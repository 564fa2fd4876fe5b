"""The explanation of a problem without a solution, on its page. Loaded only where there is none."""

from __future__ import annotations

from contextlib import ExitStack, closing
from pathlib import Path

from resolver.cli.session import Session
from resolver.config.load import Inputs
from resolver.explain.explain import explanation_of
from resolver.explain.trial import Clock
from resolver.i18n import translate
from resolver.index.protocol import Catalog
from resolver.lock import folder as lock_folder
from resolver.model.explanation import Change, Explanation
from resolver.model.problem import Problem
from resolver.report.explanation.conflict import report_files
from resolver.report.explanation.fixes import changes_sentence
from resolver.resolve.solver import Refutation


def explained(refutation: Refutation, inputs: Inputs, session: Session) -> Explanation:
    """Why a refuted problem has no solution, and ways out that hold for all targets of its stack; it is on the page.

    It takes no longer than the session's time for that. The contradictions are on the page as soon as they are known.
    """
    run, catalogs, page = session.settings, session.catalogs, session.page
    universe = refutation.engine.clauses.universe
    here, progress = universe.problem, run.progress
    of = {"stack": here.stack.name, "target": here.target.name}

    def catalog_of(problem: Problem) -> Catalog:
        if problem.target.platform == here.target.platform:
            return universe.catalog
        return opened.enter_context(closing(catalogs.beside(problem)))

    def tell_way(changes: tuple[Change, ...]) -> None:
        way = translate(changes_sentence(changes), progress.language)
        progress.label(translate("cli.first-way-out", progress.language, way=way, **of))

    progress.label(translate("cli.ways-out", progress.language, **of))
    clock = Clock(run.seconds, progress.solving)
    with ExitStack() as opened:
        found = explanation_of(
            refutation, inputs, clock, catalog_of, cutoff=run.cutoff, tell=page.why, tell_way=tell_way
        )
    page.ways(found)
    return found


def write_report(folder: Path, explanation: Explanation) -> None:
    """Write the report of a conflict into its lock's folder, in both languages; an old lock there is kept."""
    lock_folder.add(folder, report_files(explanation))
