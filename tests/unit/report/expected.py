"""What the samples are rendered to. `python -m tests.unit.report.expected` writes it anew; read the difference."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

from tests.unit.report import samples
from tests.unit.report.page import (
    difference_markdown,
    difference_text,
    explanation_markdown,
    explanation_text,
    why_text,
)
from tests.unit.report.sentences import all_sentences

FOLDER = Path(__file__).parent / "expected"
Language = Literal["en", "zh"]

TEXTS: dict[str, Callable[[Language], str]] = {
    "trl.{}.txt": lambda language: explanation_text(samples.trl(), language),
    "trl-narrow.{}.txt": lambda language: explanation_text(samples.trl(), language, 60),
    "branching.{}.txt": lambda language: explanation_text(samples.branching(), language),
    "several.{}.txt": lambda language: explanation_text(samples.several(), language),
    "trl.{}.md": lambda language: explanation_markdown(samples.trl(), language),
    "branching.{}.md": lambda language: explanation_markdown(samples.branching(), language),
    "several.{}.md": lambda language: explanation_markdown(samples.several(), language),
    "hostile.{}.md": lambda language: explanation_markdown(samples.hostile(), language),
    "long.{}.txt": lambda language: explanation_text(samples.long(), language),
    "sentences.{}.txt": all_sentences,
    "why-bound.{}.txt": lambda language: why_text(samples.why(), language),
    "why-newest.{}.txt": lambda language: why_text(samples.newest(), language),
    "difference.{}.txt": difference_text,
    "difference.{}.md": difference_markdown,
    "why-moves.{}.txt": lambda language: why_text(samples.why(moves=True), language),
}
LANGUAGES: tuple[Language, ...] = ("en", "zh")

if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, render in TEXTS.items():
        for language in LANGUAGES:
            (FOLDER / name.format(language)).write_text(render(language), encoding="utf-8")
