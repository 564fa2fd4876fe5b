"""Whole texts: what is in `expected/` was read by a person."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from resolver.model import fact as facts
from resolver.model.explanation import Explanation
from resolver.report.document import Items
from resolver.report.explanation.conflict import statement_items
from resolver.report.terminal import terminal_text
from tests.unit.report import samples
from tests.unit.report.expected import (
    FOLDER,
    LANGUAGES,
    TEXTS,
    Language,
    explanation_html,
    explanation_markdown,
    explanation_text,
    why_text,
)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", TEXTS)
def test_whole_text(name: str, language: Language) -> None:
    expected = (FOLDER / name.format(language)).read_text(encoding="utf-8")
    assert TEXTS[name](language) == expected
    assert all(char.isprintable() or char == "\n" for char in expected)


def test_nothing_is_left_over() -> None:
    known = {name.format(language) for name in TEXTS for language in LANGUAGES}
    assert {path.name for path in FOLDER.iterdir()} == known


def test_what_a_fact_about_the_soc_says_stands_below_it() -> None:
    fact = samples.fact(facts.Requires, "vllm-ascend", needs=())
    statements = [samples.needs("vllm-ascend", "1", what, fact) for what in ("soc in A2", "cann in 8.5.0")]
    for language, reason in (("en", "Somebody read it."), ("zh", "有人读到过。")):
        told = terminal_text([Items(tuple(statement_items(statements)))], language).splitlines()
        assert [line.strip() for line in told].index(reason) == len(told) - 2


@pytest.mark.parametrize(
    ("untried", "end"),
    [
        ("", "Whether another release is possible was not decided within the time limit."),
        ("The snapshot has no numpy 2.4.0.", "Another release could not be tried: The snapshot has no numpy 2.4.0."),
    ],
)
def test_why_no_other_release_was_tried_has_one_reason(untried: str, end: str) -> None:
    one = msgspec.structs.replace(samples.why(), tried="", contradictions=(), untried=untried)
    assert why_text(one).endswith(f"\nNewer: 2.4.0, 2.3.5, 2.0.0 (3 releases)\n{end}\n")


@pytest.mark.parametrize(
    "render", [explanation_text, explanation_markdown, explanation_html], ids=["text", "markdown", "html"]
)
def test_a_known_fault_is_told_where_it_is_first_told_of(render: Callable[[Explanation], str]) -> None:
    """Of two conflicts about the same release only the first one has it."""
    one = samples.trl()
    twice = msgspec.structs.replace(one, contradictions=one.contradictions * 2)
    assert " ".join(render(twice).split()).count("Known problems of these releases") == 1
