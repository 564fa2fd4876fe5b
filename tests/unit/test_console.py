"""Output on the console: in color only for people, with nothing that only color says."""

from __future__ import annotations

import ast
import io
import re
import threading
import time
from pathlib import Path

import pytest
from rich.cells import cell_len

from resolver.cli import console
from resolver.cli.console import Progress, has_color, print_error, write
from resolver.errors import InputError
from resolver.i18n import translate
from resolver.index.net.downloads import TransferProgress
from resolver.index.protocol import Traffic
from resolver.model.message import message
from resolver.phrase import literal
from resolver.report.terminal import styled


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
def test_has_color_on_terminals_and_by_variables(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], on_terminal: bool, in_pipe: bool
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"TERM": "xterm", **variables}.items():
        monkeypatch.setenv(name, value)
    assert (has_color(Terminal()), has_color(io.StringIO())) == (on_terminal, in_pipe)


def test_errors_are_red_and_warnings_yellow(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    error = InputError(literal("it failed"), where="here: error: not this", hint=literal("mend it"))
    print_error(error, "en", "demo")
    print_error(error, "zh")
    Progress("zh").warn(message("cli.replaced", file="a", was="b", now="c"))
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "demo: \x1b[1;31merror:\x1b[0m it failed"
    assert lines[1:3] == ["  at here: error: not this", "hint: mend it"]
    assert lines[3] == "\x1b[1;31m错误：\x1b[0mit failed"
    assert lines[4:6] == ["  位置：here: error: not this", "提示：mend it"]
    assert lines[6].startswith("\x1b[1;33m警告：\x1b[0m")


EVIL = "a\x1b[2J\x1b]0;t\x07\x9b1m\u202eb\u2028c\td\n"


@pytest.mark.parametrize("color", [False, True])
def test_write_leaves_only_styles(monkeypatch: pytest.MonkeyPatch, color: bool) -> None:
    """A style is one of ours, and only where there is color."""
    monkeypatch.setenv("FORCE_COLOR" if color else "NO_COLOR", "1")
    stream = io.StringIO()
    write(stream, EVIL + styled("x", True, "bold red") + "\x1b[8mhidden\x1b[0m")
    red, end = ("\x1b[1;31m", "\x1b[0m") if color else ("\\x1b[1;31m", "\\x1b[0m")
    escaped = "a\\x1b[2J\\x1b]0;t\\x07\\x9b1m\\u202eb\\u2028c\td\n"
    assert stream.getvalue() == f"{escaped}{red}x{end}\\x1b[8mhidden{end}"


def test_write_fits_what_is_shown() -> None:
    """What is escaped takes more room, and breaks no line."""
    stream = io.StringIO()
    write(stream, "a \x9b\u202e\u2028 b c\n", 17)
    assert stream.getvalue() == "a\n  \\x9b\\u202e\\u2028\n  b c\n"


def test_message_values_have_no_style_of_their_own() -> None:
    """Not even one that the program uses: a value could pass for a label."""
    shown = translate(
        message("cli.replaced", file="\x1b[1;31merror:", was="b", now=("c", EVIL)), "en"
    )
    assert "\x1b" not in shown
    assert "\\x1b[1;31merror:" in shown


def test_commands_write_through_console_alone() -> None:
    """By no name of a stream: ruff forbids those of `sys`, and this the others.

    Where a signal ends the run and nothing may be called, `commands` writes a constant.
    """
    folder = Path(console.__file__).parent
    calls = [
        f"{path.name}:{node.lineno}"
        for path in folder.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "write"
        and re.fullmatch(r"os|(.*\.)?(std)?(out|err)|(.*\.)?stream", ast.unparse(node.func.value))
    ]
    assert sorted(call.partition(":")[0] for call in calls) == ["commands.py", "console.py"]


# --- the line of work that goes on: how much of what, and how fast


CONTROL = re.compile(r"\x1b\[[?\d;]*[A-Za-z]")


def drawn(progress: Progress, capsys: pytest.CaptureFixture[str]) -> str:
    """The line as it was when it was erased."""
    progress.clear()
    lines = CONTROL.sub("", capsys.readouterr().err).replace("\r", "\n").split("\n")
    return [line for line in lines if line][-1]


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")


def test_progress_shows_the_rate_of_a_transfer(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr(console.time, "monotonic", lambda: now)
    line = Progress(enabled=True)
    line.place("2/3 ")
    line.label("cli.bundling", folder="out")
    assert drawn(line, capsys) == "2/3 bundling into out"
    now += 1
    line.copying(TransferProgress(0, 2, 10_000_000, 40_000_000))
    line.label("cli.bundling", folder="out")
    assert drawn(line, capsys).endswith("0 of 2 files; 10 of 40 MB, 0.0 MB/s")
    now += 2
    line.copying(TransferProgress(1, 2, 30_000_000, None))
    line.label("cli.bundling", folder="out")
    assert drawn(line, capsys) == "2/3 bundling into out: 1 of 2 files; 30 MB, 10.0 MB/s"


def test_chinese_lines_fit_into_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    line = Progress("zh", enabled=True)
    line.label("cli.locking", stack="a", target="b")
    assert drawn(line, capsys) == "正在锁定 a，目标 b"
    line.fetching(Traffic(requests=12, bytes=34_000_000))
    line.solving(5, 216)
    line.label("cli.locking", stack="demo", target="there")
    told = drawn(line, capsys)
    assert told.startswith("正在锁定 demo，目标 there：216 个")
    assert told.endswith("…")
    assert cell_len(told) <= 40


def test_progress_keeps_one_line_whatever_threads_warn(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A line that nobody erases would be drawn over what is written later."""
    threads = set(threading.enumerate())  # some may be those of tests before, which end meanwhile
    line = Progress(enabled=True)

    def work(number: int) -> None:
        for at in range(20):
            line.fetching(Traffic(requests=at, bytes=0))
            line.warn(message("cli.replaced", file=f"{number} {at}", was="b", now="c"))

    line.label("cli.locking", stack="a", target="b")
    others = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for other in others:
        other.start()
    while any(other.is_alive() for other in others):
        line.solving(1, 2)
    line.clear()
    assert capsys.readouterr().err.count("warning: ") == 80
    line.fetching(Traffic(requests=100, bytes=0))
    line.warn(message("cli.replaced", file="last", was="b", now="c"))
    until = time.monotonic() + 10
    while set(threading.enumerate()) - threads and time.monotonic() < until:
        time.sleep(0.01)
    assert not set(threading.enumerate()) - threads
    assert "\x1b" not in capsys.readouterr().err


def test_warning_is_above_the_line_of_progress(capsys: pytest.CaptureFixture[str]) -> None:
    line = Progress(enabled=True)
    line.label("cli.locking", stack="a", target="b")
    line.warn(message("cli.replaced", file="x", was="b", now="c"))
    assert drawn(line, capsys) == "locking a for b"


@pytest.mark.parametrize(("set_to", "width"), [("72", 72), ("9", 40), ("0", 100), ("wide", 100)])
def test_columns_are_those_of_the_variable_without_a_terminal(
    monkeypatch: pytest.MonkeyPatch, set_to: str, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", set_to)
    assert console.columns(io.StringIO(), 100) == width


def test_text_in_a_pipe_is_wrapped_to_the_variable(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    console.print_line("word " * 30)
    console.print_data("word " * 30)
    lines = capsys.readouterr().out.split("\n")
    assert [len(line) <= 60 for line in lines] == [True, True, True, False]
