"""What `lock` says at its end: the gravest warning first, lines that are not for the target, in both languages."""

from __future__ import annotations

import os
import subprocess

from tests.functional.workspace import COMMAND, Workspace
from tests.loopback import LoopbackIndex

FACTS = """\
[[warns]]
text = "it is slow"
text-zh = "它很慢"
reason = "somebody measured it"

[[warns]]
text = "it does not start"
text-zh = "它无法启动"
grave = true
reason = "somebody tried it"
"""


def prepared(workspace: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("demo", "1.0", requires=["below"])
    index.add_wheel("below", "1.0")
    workspace.facts("below", '[[warns]]\ntext = "it is old"\nreason = "r"\n')
    workspace.facts("demo", FACTS)
    workspace.stack("demo", "below-windows; sys_platform == 'win32'")


def test_the_end_of_a_run(workspace: Workspace, index: LoopbackIndex) -> None:
    prepared(workspace, index)
    assert workspace.locked().stdout == (
        "Locked demo for linux-aarch64, Python 3.11: 2 distributions in 1 stage\n"
        "  demo 1.0\n"
        "Written to locks/demo/there, which had no lock before.\n"
        "3 warnings:\n"
        "  - demo: it does not start (matrices/facts/demo.toml:11)\n"
        "  - demo: it is slow (matrices/facts/demo.toml:6)\n"
        "  - below: it is old (matrices/facts/below.toml:6)\n"
        "Not for this target:\n"
        "  - `below-windows; sys_platform == 'win32'` does not apply: its marker is false for this target\n"
        "    (matrices/stacks/demo.toml:4)\n"
        "Next:\n"
        "  read     locks/demo/there/report.md\n"
        "  try      locks/demo/there/install.sh --dry-run   on the target, in a fresh environment\n"
        "  install  locks/demo/there/install.sh\n"
        "  use      . locks/demo/there/activate.sh   in bash, with the environment active\n"
    )
    report = workspace.read("report.md")
    assert report.index("does not start") < report.index("it is slow") < report.index("it is old")
    assert "## Lines of the stack that do not apply to this target\n\n- \\`below-windows; sys_platform" in report


def test_a_warning_about_two_projects_is_told_where_both_are(workspace: Workspace, index: LoopbackIndex) -> None:
    for version in ("1.0", "2.0"):
        index.add_wheel("beside", version)
    index.add_wheel("demo", "1.0")
    workspace.facts("demo", '[[warns]]\nwith = ["beside<2"]\ntext = "old for it"\nreason = "r"\n')
    for lines, told in ((["demo"], False), (["demo", "beside==2.0"], False), (["demo", "beside==1.0"], True)):
        workspace.stack(*lines)
        assert ("demo: old for it" in workspace.locked("--upgrade").stdout) is told


def test_the_end_of_a_run_in_chinese(workspace: Workspace, index: LoopbackIndex) -> None:
    """What a fact says in English alone stays English."""
    prepared(workspace, index)
    workspace.locked()
    before = (workspace.folder() / "lock.toml").read_bytes()
    told = workspace.locked("--lang", "zh").stdout
    assert told.startswith("已锁定 demo，目标 linux-aarch64, Python 3.11：2 个软件包，1 个阶段\n  demo 1.0\n没有变化：")
    warnings = "  - demo：它无法启动（matrices/facts/demo.toml:11）\n  - demo：它很慢（matrices/facts/demo.toml:6）\n"
    assert f"\n3 条警告：\n{warnings}  - below: it is old (matrices/facts/below.toml:6)\n不适用于此目标：\n" in told
    assert (workspace.folder() / "lock.toml").read_bytes() == before
    workspace.stack("demo")
    run = workspace.run("check", "--lang", "zh")
    assert run.stdout == "demo，目标 there：自锁定以来，软件栈或事实有变化\n提示：ascend-lock lock demo\n"


def test_hints_name_the_command_as_it_was_called(workspace: Workspace, index: LoopbackIndex) -> None:
    """A path may be in a terminal, and never in a file."""
    index.add_wheel("demo", "1.0")
    workspace.stack("demo")
    (workspace.root / "bin").symlink_to(COMMAND.parent)
    for command, told in (
        ("bin/ascend-lock check", "hint: bin/ascend-lock lock demo\n"),
        ("bin/ascend-lock verify demo", "hint: bin/ascend-lock lock demo\n"),
        ("ascend-lock check", "hint: ascend-lock lock demo\n"),
    ):
        environment = workspace.environment(PATH=f"{COMMAND.parent}:{os.environ['PATH']}")
        run = subprocess.run(
            ["sh", "-c", command], cwd=workspace.root, env=environment, capture_output=True, text=True, check=False
        )
        assert (run.stdout + run.stderr).endswith(f"\n{told}")
