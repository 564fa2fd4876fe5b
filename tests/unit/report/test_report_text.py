"""Texts in lines."""

from __future__ import annotations

import time

from resolver.report.text import wrapped


def test_the_time_for_a_text_grows_with_its_length_alone() -> None:
    text = "（" * 50_000
    begin = time.process_time()
    lines = wrapped(text, "", "")
    assert time.process_time() - begin < 2
    assert "".join(lines) == text
    assert {len(line) for line in lines} == {50}
