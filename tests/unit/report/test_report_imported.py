"""The table of what became of an imported file's lines."""

from __future__ import annotations

from pathlib import Path

from resolver.config.draft import DraftRow, Outcome
from resolver.model.message import message
from resolver.report.imported import imported_blocks
from resolver.report.terminal import terminal_text


def left_out(line: str, number: int, code: str = "import.extra") -> DraftRow:
    """Return the row of a line that is left out."""
    place = f"/home/me/freeze.txt:{number}"
    return DraftRow(Outcome.LEFT_OUT, before=line, after="", where=place, why=message(code))


def test_lines_left_out_for_one_reason_are_one_row() -> None:
    rows = [left_out("te==0.4 ; sys_platform == 'linux'", 3), left_out("hccl==0.1", 7)]
    page = terminal_text(imported_blocks(rows, Path("/home/me")), "en")
    assert page.count("left out") == 1
    assert "te, hccl" in page
    assert "freeze.txt:3, 7" in page
