"""What the samples are rendered to. `python -m tests.unit.report.expected` writes it anew; read the difference."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Literal

from tests.unit.report import page, samples
from tests.unit.report.sentences import all_sentences

FOLDER = Path(__file__).parent / "expected"
Language = Literal["en", "zh"]
OF_BOTH = (samples.trl, samples.branching, samples.several)

TEXTS: dict[str, Callable[[Language], str]] = {
    **{f"{one.__name__}.{{}}.txt": partial(page.explanation_text, one()) for one in (*OF_BOTH, samples.long)},
    **{f"{one.__name__}.{{}}.md": partial(page.explanation_markdown, one()) for one in (*OF_BOTH, samples.hostile)},
    "trl-narrow.{}.txt": lambda language: page.explanation_text(samples.trl(), language, 60),
    "sentences.{}.txt": all_sentences,
    "why-bound.{}.txt": partial(page.why_text, samples.why()),
    "why-newest.{}.txt": partial(page.why_text, samples.newest()),
    "why-moves.{}.txt": partial(page.why_text, samples.why(moves=True)),
    "difference.{}.txt": page.difference_text,
    "difference.{}.md": page.difference_markdown,
}
LANGUAGES: tuple[Language, ...] = ("en", "zh")

if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, render in TEXTS.items():
        for language in LANGUAGES:
            (FOLDER / name.format(language)).write_text(render(language), encoding="utf-8")
