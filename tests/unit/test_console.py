"""What a run writes to the console: in color only where people see it, with nothing that color alone says."""

from __future__ import annotations

import io

import pytest

from resolver.cli.console import Progress, complain, has_color
from resolver.model.message import message


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


def test_errors_are_red_warnings_yellow(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    complain("demo: error: it failed\n  at here: error: not this\nhint: mend it")
    complain("hint: nothing of it")
    Progress("zh").warn(message("cli.replaced", file="a", was="b", now="c"))
    first, *others = capsys.readouterr().err.splitlines()
    assert first == "demo: \x1b[1;31merror:\x1b[0m it failed"
    assert others[:3] == ["  at here: error: not this", "hint: mend it", "hint: nothing of it"]
    assert others[3].startswith("\x1b[1;33m警告：\x1b[0m")
