"""What `lock` says at its end: the gravest warning first, lines that are not for the target, in both languages."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from resolver.lock import cautions, phrases
from resolver.lock import file as lock_file
from resolver.matrix.compile import compile_problems
from resolver.matrix.load import load
from tests.functional.workspace import COMMAND, REPOSITORY, Workspace
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
        "  - `below-windows; sys_platform == 'win32'` was not asked for: its marker is false for this target\n"
        "    (matrices/stacks/demo.toml:4)\n"
        "Next:\n"
        "  read     locks/demo/there/report.md\n"
        "  try      locks/demo/there/install.sh --dry-run   on the target, in a fresh environment\n"
        "  install  locks/demo/there/install.sh\n"
        "  use      . locks/demo/there/activate.sh   in bash, with the environment active\n"
    )
    report = workspace.read("report.md")
    assert report.index("does not start") < report.index("it is slow") < report.index("it is old")
    assert "## Lines of the stack that are not for this target\n\n- \\`below-windows; sys_platform" in report


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
    assert workspace.locked("--lang", "zh").stdout == (
        "已锁定 demo，目标 linux-aarch64, Python 3.11：2 个软件包，1 个阶段\n"
        "  demo 1.0\n"
        "没有变化：locks/demo/there 保持原样。\n"
        "3 条警告：\n"
        "  - demo：它无法启动（matrices/facts/demo.toml:11）\n"
        "  - demo：它很慢（matrices/facts/demo.toml:6）\n"
        "  - below: it is old (matrices/facts/below.toml:6)\n"
        "不适用于此目标：\n"
        "  - 未采用 `below-windows; sys_platform == 'win32'`：其标记（marker）对此目标不成立\n"
        "    （matrices/stacks/demo.toml:4）\n"
        "下一步：\n"
        "  阅读  locks/demo/there/report.md\n"
        "  试行  locks/demo/there/install.sh --dry-run   在目标机器上，在新的环境中\n"
        "  安装  locks/demo/there/install.sh\n"
        "  使用  . locks/demo/there/activate.sh   在 bash 中，环境已激活\n"
    )
    assert (workspace.folder() / "lock.toml").read_bytes() == before
    workspace.stack("demo")
    run = workspace.run("check", "--lang", "zh")
    assert run.stdout == "demo，目标 there：自锁定以来，软件栈或事实有变化\n提示：ascend-lock lock demo\n"


def test_several_stacks_in_chinese(workspace: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("demo", "1.0")
    workspace.stack("demo")
    workspace.stack("demo=>1", name="wrong")
    run = workspace.run("lock", "all", "--lang", "zh")
    assert re.sub(r" \d\.\d  ", " 0.0  ", run.stdout) == (
        "软件栈  目标    秒  变化      结果\n"
        "demo    there  0.0  首次锁定  已锁定，1 个版本\n"
        "wrong   -      0.0  -         失败：`demo=>1` is not a requirement\n"
        "2 个软件栈，1 个目标：1 个已锁定、1 个失败\n"
    )


def test_hints_name_the_command_as_it_was_called(workspace: Workspace, index: LoopbackIndex) -> None:
    """A path may be in a terminal, and never in a file."""
    index.add_wheel("demo", "1.0")
    workspace.stack("demo")
    (workspace.root / "bin").symlink_to(COMMAND.parent)
    run = subprocess.run(
        ["bin/ascend-lock", "check"],
        cwd=workspace.root,
        env=workspace.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.stdout == "demo for there: there is no lock\nhint: bin/ascend-lock lock demo\n"
    run = subprocess.run(
        ["bin/ascend-lock", "verify", "demo"],
        cwd=workspace.root,
        env=workspace.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.stderr.endswith("\nhint: bin/ascend-lock lock demo\n")
    run = subprocess.run(
        ["sh", "-c", "ascend-lock check"],
        cwd=workspace.root,
        env=workspace.environment(PATH=f"{COMMAND.parent}:{os.environ['PATH']}"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.stdout == "demo for there: there is no lock\nhint: ascend-lock lock demo\n"


# --- the sentences themselves


@pytest.mark.parametrize("phrase", phrases.PHRASES, ids=lambda phrase: str(phrase.en[:30]))
def test_a_sentence_leads_to_its_chinese(phrase: phrases.Phrase) -> None:
    names = re.findall(r"\{(\w+)\}", phrase.en)
    assert sorted(names) == sorted(re.findall(r"\{(\w+)\}", phrase.zh))
    values = {name: f"{name} of (a) `demo`" if name != "where" else "stack.toml:4" for name in names}
    assert phrases.chinese(phrase(**values)) == phrase.zh.format(**values)


def test_every_warning_of_the_committed_locks_is_there_in_chinese() -> None:
    matrices = REPOSITORY / "matrices"
    seen = 0
    for stack in ("verl-qwen3.5", "verl-sglang", "mindspeed-rl"):
        for problem in compile_problems(load(stack, matrices)):
            lock = lock_file.read(Path(REPOSITORY / "locks" / stack / problem.target.name))
            assert lock is not None
            for warning in lock.warnings:
                assert re.search("[\u4e00-\u9fff]", cautions.in_chinese(warning, problem)), warning
                seen += 1
    assert seen >= 20


def test_a_project_that_its_index_calls_unsafe_is_warned_of(workspace: Workspace, index: LoopbackIndex) -> None:
    """PyPI lists no file of such a project; a mirror may still have them. What is merely archived is no danger."""
    for name in ("demo", "below"):
        index.add_wheel(name, "1.0")
    index.stands("demo", "quarantined", "it steals tokens")
    index.stands("below", "archived")
    workspace.stack("demo", "below")
    warning = "demo 1.0: index `pypi` calls the project unsafe for use (quarantined): it steals tokens"
    assert f"1 warning:\n  - {warning}" in workspace.locked().stdout.replace("\n    ", " ")
    assert warning in workspace.read("lock.toml")
    told = workspace.run("lock", "demo", "--offline", "--anew", "--lang", "zh").stdout
    chinese = "demo 1.0：软件源 `pypi` 表示该项目不安全（quarantined，已隔离）: it steals tokens"
    assert chinese.replace(" ", "") in told.replace("\n", "").replace(" ", "")


def test_an_extra_that_is_not_there_is_warned_of_with_the_one_that_is_meant(
    workspace: Workspace, index: LoopbackIndex
) -> None:
    index.add_wheel("demo", "1.0", extras={"audio": [], "video": []})
    workspace.stack("demo[audoi,gpu]")
    told = " ".join(workspace.locked().stdout.split())
    missing = "demo 1.0 has no extra `{}`, which is asked for; nothing was added for it"
    assert f"2 warnings: - {missing.format('audoi')}. It has one named `audio` - {missing.format('gpu')} " in told
    told = workspace.run("lock", "demo", "--offline", "--anew", "--lang", "zh").stdout.replace("\n", "")
    assert "它有一个名为 `audio` 的 extra".replace(" ", "") in told.replace(" ", "")


def test_a_policy_about_a_misspelt_project_is_warned_of(workspace: Workspace, index: LoopbackIndex) -> None:
    for name in ("huggingface-hub", "demo"):
        index.add_wheel(name, "1.0")
        index.add_wheel(name, "2.0rc1")
    workspace.stack(
        "huggingface-hub", "demo", more='[policy.prereleases-of]\nhugginface-hub = "allow"\nelse = "allow"\n'
    )
    told = " ".join(workspace.locked().stdout.split())
    assert "1 warning: - the policy prereleases-of names `hugginface-hub`, which is not in the lock; " in told
    assert "`huggingface-hub` is Next:" in told
