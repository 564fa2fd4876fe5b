"""Samples as people read them, and what they are rendered to.

`python -m tests.unit.report.expected` writes that anew; read the difference.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from resolver.lock.difference import difference
from resolver.model.explanation import Explanation, Why
from resolver.model.text import Language
from resolver.report.explanation.conflict import (
    conflict_blocks,
    report_files,
    ways_out_blocks,
)
from resolver.report.explanation.why import why_blocks
from resolver.report.markup import markdown_text
from resolver.report.summary import difference_blocks
from resolver.report.terminal import WIDTH, terminal_text
from tests.unit.report import samples, two_locks
from tests.unit.report.sentences import all_sentences

FOLDER = Path(__file__).parent / "expected"


def explanation_text(
    explanation: Explanation, language: Language = "en", width: int = WIDTH
) -> str:
    """Return what has no solution and why, then the ways out."""
    why = conflict_blocks(explanation.problem, explanation.contradictions, ())
    ways_out = terminal_text(ways_out_blocks(explanation), language, width)
    return f"{terminal_text(why, language, width)}\n{ways_out}"


def explanation_markdown(explanation: Explanation, language: Language = "en") -> str:
    return report_files(explanation)["conflict.md" if language == "en" else "conflict.zh.md"]


def explanation_html(explanation: Explanation, language: Language = "en") -> str:
    return report_files(explanation)["conflict.html" if language == "en" else "conflict.zh.html"]


def why_text(why: Why, language: Language = "en") -> str:
    return terminal_text(why_blocks(why), language)


DIFFERENCE = tuple(difference_blocks(difference(*two_locks.locks())))
OF_BOTH = (samples.trl, samples.branching, samples.several)

TEXTS: dict[str, Callable[[Language], str]] = {
    **{
        f"{one.__name__}.{{}}.txt": partial(explanation_text, one())
        for one in (*OF_BOTH, samples.long)
    },
    **{
        f"{one.__name__}.{{}}.md": partial(explanation_markdown, one())
        for one in (*OF_BOTH, samples.hostile)
    },
    "trl-narrow.{}.txt": lambda language: explanation_text(samples.trl(), language, 60),
    "sentences.{}.txt": all_sentences,
    "why-bound.{}.txt": partial(why_text, samples.why()),
    "why-newest.{}.txt": partial(why_text, samples.newest()),
    "why-moves.{}.txt": partial(why_text, samples.why(moves=True)),
    "difference.{}.txt": partial(terminal_text, DIFFERENCE),
    "difference.{}.md": partial(markdown_text, DIFFERENCE),
}
LANGUAGES: tuple[Language, ...] = ("en", "zh")

if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, render in TEXTS.items():
        for language in LANGUAGES:
            (FOLDER / name.format(language)).write_text(render(language), encoding="utf-8")
