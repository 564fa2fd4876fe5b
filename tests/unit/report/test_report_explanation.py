"""Whole texts: what is in `expected/` was read by a person."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from rich.cells import cell_len

from resolver.model import fact as facts
from resolver.model.explanation import Contradiction, Explanation
from resolver.phrase import literal
from resolver.report.document import Items
from resolver.report.explanation.contradictions import reason_items
from resolver.report.explanation.grouping import grouped
from resolver.report.terminal import paragraph, terminal_text, wrapped
from tests.problems import need
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


def test_expected_folder_has_no_other_text() -> None:
    known = {name.format(language) for name in TEXTS for language in LANGUAGES}
    assert {path.name for path in FOLDER.iterdir()} == known


@pytest.mark.parametrize("what", [("soc in A2", "cann in 8.5.0"), ("soc in A2", "soc != 310P") * 6])
def test_reason_items_show_what_a_fact_says_of_the_soc(what: tuple[str, ...]) -> None:
    fact = samples.fact(facts.Requires, "vllm-ascend", needs=tuple(map(need, what)))
    needs = tuple(samples.needs("vllm-ascend", str(at), need, fact) for at, need in enumerate(what))
    reasons = grouped(
        Contradiction(reasons=needs, closing=None)
    ).reasons  # of many, those with one cause
    for language, reason in (("en", "Somebody read it."), ("zh", "有人读到过。")):
        told = terminal_text([Items(tuple(reason_items(reasons)))], language).splitlines()
        assert [line.strip() for line in told].index(reason) == len(told) - len(reasons)


@pytest.mark.parametrize(
    ("untried", "end"),
    [
        ("", "Whether another release is possible was not decided within the time limit."),
        (
            "The snapshot has no numpy 2.4.0.",
            "Another release could not be tried: The snapshot has no numpy 2.4.0.",
        ),
    ],
)
def test_why_blocks_say_why_no_other_release_was_tried(untried: str, end: str) -> None:
    one = msgspec.structs.replace(
        samples.why(), tried="", contradictions=(), untried=literal(untried), limited=not untried
    )
    assert why_text(one).endswith(f"\nNewer: 2.4.0, 2.3.5, 2.0.0 (3 releases)\n{end}\n")


@pytest.mark.parametrize(
    "render",
    [explanation_text, explanation_markdown, explanation_html],
    ids=["text", "markdown", "html"],
)
def test_blocks_tell_a_known_fault_once(
    render: Callable[[Explanation], str],
) -> None:
    """Of two conflicts about the same release only the first one has it."""
    one = samples.trl()
    twice = msgspec.structs.replace(one, contradictions=one.contradictions * 2)
    assert " ".join(render(twice).split()).count("Known problems of these releases") == 1


# --- wrapping by what is seen


def test_paragraph_wraps_chinese_between_characters() -> None:
    lines = ["这 4 条不能同时", "成立，去掉其中任", "意一条（vllm）。"]
    assert paragraph("这 4 条不能同时成立，去掉其中任意一条（vllm）。", 16) == lines
    assert paragraph("一二三，四", 6) == ["一二", "三，四"]


def test_paragraph_overflows_with_a_long_word() -> None:
    assert paragraph("a matrices/facts/vllm-ascend.toml:113 b", 10) == [
        "a",
        "matrices/facts/vllm-ascend.toml:113",
        "b",
    ]


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("width", [60, 79, 80, 100, 110, 120, 200])
def test_explanation_text_is_no_wider_than_the_terminal(language: Any, width: int) -> None:
    for make in (samples.trl, samples.branching, samples.several):
        for line in explanation_text(make(), language, width).splitlines():
            # a path or a file name is not broken
            longest = max(map(cell_len, line.split()), default=0)
            assert cell_len(line) <= width or longest > width // 3, line


def test_wrapped_takes_time_by_length_alone() -> None:
    text = "（" * 50_000
    begin = time.process_time()
    lines = wrapped(text, "", "")
    assert time.process_time() - begin < 2
    assert "".join(lines) == text
    assert {len(line) for line in lines} == {50}
