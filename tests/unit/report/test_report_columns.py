"""Wrapping by what is seen."""

from __future__ import annotations

import time
from typing import Any

import pytest
from rich.cells import cell_len

from resolver.report.sanitize import wrapped
from resolver.report.terminal import paragraph
from tests.unit.report import samples
from tests.unit.report.expected import explanation_text


def test_chinese_wraps_between_characters_and_keeps_marks_with_them() -> None:
    lines = ["这 4 条不能同时", "成立，去掉其中任", "意一条（vllm）。"]
    assert paragraph("这 4 条不能同时成立，去掉其中任意一条（vllm）。", 16) == lines
    assert paragraph("一二三，四", 6) == ["一二", "三，四"]


def test_a_long_word_overflows_whole() -> None:
    assert paragraph("a matrices/facts/vllm-ascend.toml:113 b", 10) == ["a", "matrices/facts/vllm-ascend.toml:113", "b"]


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("width", [60, 79, 80, 100, 110, 120, 200])
def test_lines_are_no_wider_than_the_terminal(language: Any, width: int) -> None:
    for make in (samples.trl, samples.branching, samples.several):
        for line in explanation_text(make(), language, width).splitlines():
            # a path or a file name is not broken
            longest = max(map(cell_len, line.split()), default=0)
            assert cell_len(line) <= width or longest > width // 3, line


def test_the_time_for_a_text_grows_with_its_length_alone() -> None:
    text = "（" * 50_000
    begin = time.process_time()
    lines = wrapped(text, "", "")
    assert time.process_time() - begin < 2
    assert "".join(lines) == text
    assert {len(line) for line in lines} == {50}
