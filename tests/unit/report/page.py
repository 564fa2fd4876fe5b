"""The page of a conflict as a terminal shows it; `cli/page` prints its parts as they become known."""

from __future__ import annotations

from resolver.model.explanation import Explanation
from resolver.model.text import Language
from resolver.report.explanation.text import WIDTH, ways_text, why_text


def explanation_text(explanation: Explanation, language: Language = "en", width: int = WIDTH) -> str:
    """What has no solution and why, then the ways out."""
    why = why_text(explanation.problem, explanation.contradictions, language, width)
    return f"{why}\n{ways_text(explanation, language, width)}"
