"""The line of a transfer: how much of what, and how fast."""

from __future__ import annotations

import pytest

from resolver.cli import console
from resolver.cli.console import Progress
from resolver.index.net.downloads import Copied
from resolver.index.protocol import Traffic
from resolver.report.sanitize import width


def drawn(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().err.removeprefix("\r\x1b[K")


def test_a_transfer_is_told_with_its_rate(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    now = 100.0
    monkeypatch.setattr(console.time, "monotonic", lambda: now)
    line = Progress(enabled=True)
    line.place("2/3 ")
    line.label("cli.bundling", folder="out")
    assert drawn(capsys) == "2/3 bundling into out"
    now += 1
    line.copying(Copied(0, 2, 10_000_000, 40_000_000))
    assert drawn(capsys).endswith("0 of 2 files; 10 of 40 MB, 0.0 MB/s")
    line.copying(Copied(0, 2, 11_000_000, 40_000_000))
    assert drawn(capsys) == "", "not so often"
    now += 2
    line.copying(Copied(1, 2, 30_000_000, None))
    assert drawn(capsys) == "2/3 bundling into out: 1 of 2 files; 30 MB, 10.0 MB/s"


def test_in_chinese_no_line_is_too_wide(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    line = Progress("zh", enabled=True)
    line.label("cli.locking", stack="a", target="b")
    assert drawn(capsys) == "正在锁定 a，目标 b"
    line.fetching(Traffic(requests=12, bytes=34_000_000))
    line.solving(5, 216)
    line.label("cli.locking", stack="demo", target="there")
    told = drawn(capsys)
    assert told.startswith("正在锁定 demo，目标 there：216 个")
    assert width(told) <= 39
