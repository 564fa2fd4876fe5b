"""Explaining a conflict and leaving its report beside the old lock: what `lock` and `explain` share."""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from resolver.cli.progress import Progress
from resolver.explain.explain import explain
from resolver.explain.trial import Clock
from resolver.lock import folder as lock_folder
from resolver.matrix.load import Inputs
from resolver.model.explanation import Explanation
from resolver.render.explanation.report import report_files
from resolver.render.explanation.words import Language
from resolver.solve.solver import Refutation


def language_of(wanted: str | None) -> Language:
    """The language of reports: as wanted, else Chinese where the locale is, else English."""
    if wanted in ("en", "zh"):
        return "zh" if wanted == "zh" else "en"
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if value := os.environ.get(name):
            return "zh" if value.lower().startswith("zh") else "en"
    return "en"


def explanation_of(
    refutation: Refutation, inputs: Inputs, cutoff: datetime | None, seconds: float, progress: Progress
) -> Explanation:
    """The explanation of a refuted problem, found within so many seconds."""
    problem = refutation.engine.clauses.universe.problem
    progress.label(f"looking for ways out of {problem.stack.name} for {problem.target.name}")
    return explain(refutation, inputs, Clock(seconds, progress.solving), cutoff=cutoff)


def write_reports(found: Iterable[tuple[Path, Explanation]], language: Language) -> None:
    """Write conflict.md, conflict.html and conflict.json into each lock's folder; an old lock there stays."""
    for folder, explanation in found:
        lock_folder.add(folder, report_files(explanation, language))
