"""What a run writes to the console: in color only where people see it, with nothing that color alone says."""

from __future__ import annotations

import io
import re

import click
import pytest

from resolver.cli.console import Progress, complain, has_color
from resolver.lock.previous import difference
from resolver.model.message import message
from resolver.report.difference import difference_blocks
from resolver.report.explanation.conflict import ways_out_blocks
from resolver.report.terminal import terminal_text
from tests.unit.report import samples, two_locks

BOLD = re.compile(r"\x1b\[1m(.*?)\x1b\[0m")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("variables", "on_terminal", "in_pipe"),
    [
        ({}, True, False),
        ({"TERM": "dumb"}, False, False),
        ({"NO_COLOR": "1"}, False, False),
        ({"NO_COLOR": ""}, True, False),
        ({"FORCE_COLOR": "1"}, True, True),
        ({"FORCE_COLOR": "1", "TERM": "dumb"}, True, True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, False),
    ],
)
def test_where_there_is_color(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], on_terminal: bool, in_pipe: bool
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"TERM": "xterm", **variables}.items():
        monkeypatch.setenv(name, value)
    assert (has_color(Terminal()), has_color(io.StringIO())) == (on_terminal, in_pipe)


def test_headings_and_the_letters_of_ways_out_are_bold() -> None:
    blocks = list(ways_out_blocks(samples.trl()))
    told = terminal_text(blocks, "en", color=True)
    assert click.unstyle(told) == terminal_text(blocks, "en")
    bold = BOLD.findall(told)
    assert "A" in bold
    assert "B" in bold
    blocks = list(difference_blocks(difference(*two_locks.locks())))
    told = terminal_text(blocks, "en", color=True)
    plain = [line.rstrip() for line in click.unstyle(told).splitlines()]
    assert plain == terminal_text(blocks, "en").splitlines()
    bold = [text.strip() for text in BOLD.findall(told)]
    assert [text for text in bold if text][:6] == ["Target", "what", "before", "now", "Lines of the stack", "-"]


def test_errors_are_red_warnings_yellow(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    complain("demo: error: it failed\n  at here: error: not this\nhint: mend it")
    complain("hint: nothing of it")
    Progress("zh").warn(message("cli.replaced", file="a", was="b", now="c"))
    first, *others = capsys.readouterr().err.splitlines()
    assert first == "demo: \x1b[1;31merror:\x1b[0m it failed"
    assert others[:3] == ["  at here: error: not this", "hint: mend it", "hint: nothing of it"]
    assert others[3].startswith("\x1b[1;33m警告：\x1b[0m")
