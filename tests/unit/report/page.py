"""A conflict, a pin's why and a difference, as people read them; `cli/page` prints parts as they become known."""

from __future__ import annotations

from resolver.lock.previous import difference
from resolver.model.explanation import Explanation, Why
from resolver.model.text import Language
from resolver.report.difference import difference_blocks
from resolver.report.explanation.conflict import conflict_blocks, report_files, ways_out_blocks, why_blocks
from resolver.report.markup import markdown_text
from resolver.report.terminal import WIDTH, terminal_text
from tests.unit.report import two_locks


def explanation_text(explanation: Explanation, language: Language = "en", width: int = WIDTH) -> str:
    """What has no solution and why, then the ways out."""
    why = conflict_blocks(explanation.problem, explanation.contradictions, ())
    return f"{terminal_text(why, language, width)}\n{terminal_text(ways_out_blocks(explanation), language, width)}"


def explanation_markdown(explanation: Explanation, language: Language = "en") -> str:
    """conflict.md or conflict.zh.md."""
    return report_files(explanation)["conflict.md" if language == "en" else "conflict.zh.md"]


def explanation_html(explanation: Explanation, language: Language = "en") -> str:
    """conflict.html or conflict.zh.html."""
    return report_files(explanation)["conflict.html" if language == "en" else "conflict.zh.html"]


def why_text(why: Why, language: Language = "en") -> str:
    """What `explain --package` prints."""
    return terminal_text(why_blocks(why), language)


def difference_text(language: Language) -> str:
    """What differs between the two locks, on a terminal."""
    return terminal_text(difference_blocks(difference(*two_locks.locks())), language)


def difference_markdown(language: Language) -> str:
    """The same for a review."""
    return markdown_text(difference_blocks(difference(*two_locks.locks())), language)
