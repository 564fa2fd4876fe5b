"""Streams that are closed, full, or of an encoding that has not every character."""

from __future__ import annotations

import os
import subprocess

import pytest

from tests.functional.workspace import COMMAND, Workspace
from tests.loopback import LoopbackIndex


def shell(workspace: Workspace, line: str, **environment: str) -> tuple[int, str, str]:
    """Run a line of bash, in which `$LOCK` is the command; status, stdout, stderr."""
    done = subprocess.run(
        ["bash", "-c", line],
        cwd=workspace.root,
        env=workspace.environment(LOCK=str(COMMAND), **environment),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_is_no_failure(workspace: Workspace, index: LoopbackIndex, closed: str) -> None:
    index.add_wheel("demo", "1.0")
    workspace.stack("demo")
    code, _, stderr = shell(workspace, f"$LOCK lock demo {closed}")
    assert (code, stderr) == (0, "")
    assert workspace.pins() == {"demo": "1.0"}


@pytest.mark.parametrize(
    ("line", "status"), [("$LOCK stacks", 2), ("$LOCK stacks --json", 2), ("$LOCK lock nope --json", 2)]
)
def test_a_full_disk_behind_stdout_is_told(workspace: Workspace, line: str, status: int) -> None:
    workspace.stack("demo")
    code, _, stderr = shell(workspace, f"{line} >/dev/full")
    assert code == status
    assert stderr.startswith("error: ")
    assert "Traceback" not in stderr


def test_a_full_disk_behind_stderr_leaves_the_status(workspace: Workspace) -> None:
    assert shell(workspace, "$LOCK lock nope 2>/dev/full") == (2, "", "")


def test_a_pipe_that_nobody_reads(workspace: Workspace) -> None:
    for number in range(9):
        workspace.stack("demo", name=f"demo-{number}")
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [COMMAND, "stacks"],
        cwd=workspace.root,
        env=workspace.environment(),
        stdout=writer,
        stderr=subprocess.PIPE,
        timeout=60,
        check=False,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (130, b"")


@pytest.mark.parametrize("setting", [{"LC_ALL": "C", "PYTHONUTF8": "0"}, {"PYTHONIOENCODING": "ascii"}])
def test_what_an_encoding_does_not_have_is_escaped(
    workspace: Workspace, index: LoopbackIndex, setting: dict[str, str]
) -> None:
    index.add_wheel("demo", "1.0")
    workspace.stack("demo")
    code, stdout, stderr = shell(workspace, "$LOCK lock demo --lang zh", **setting)
    assert (code, stderr) == (0, "")
    assert stdout.startswith(r"\u5df2\u9501\u5b9a demo")


def test_a_locale_whose_encoding_has_no_chinese_speaks_english(workspace: Workspace) -> None:
    """Every character would be an escape; who asks for them all the same gets them."""
    workspace.stack("demo")
    chinese = {"LC_ALL": "zh_CN.UTF-8"}
    line = "$LOCK check demo"
    assert shell(workspace, line, **chinese)[1].startswith("demo，目标 there：")
    assert shell(workspace, f"{line} | iconv -f gbk -t utf-8", **chinese, PYTHONIOENCODING="gbk")[1].startswith(
        "demo，目标 "
    )
    assert shell(workspace, line, **chinese, PYTHONIOENCODING="ascii")[1].startswith("demo for there: ")
