"""What `lock` says at its end: the gravest warning first, lines that are not for the target, in both languages."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable

import pytest

from resolver.lock import file as lock_file
from resolver.lock import phrases
from resolver.report.quoted import caution
from tests.functional.workspace import COMMAND, REPOSITORY, Workspace, tree
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


# --- the sentences themselves


@pytest.mark.parametrize("phrase", phrases.PHRASES, ids=lambda phrase: str(phrase.en[:30]))
def test_a_sentence_leads_to_its_chinese(phrase: phrases.Phrase) -> None:
    names = re.findall(r"\{(\w+)\}", phrase.en)
    assert sorted(names) == sorted(re.findall(r"\{(\w+)\}", phrase.zh))
    values = {name: f"{name} of (a) `demo`" if name != "where" else "stack.toml:4" for name in names}
    assert phrases.chinese(phrase(**values)) == phrase.zh.format(**values)


@pytest.mark.parametrize(
    ("tell", "english", "chinese"),
    [
        (phrases.why, "the stack asks for a[b]==1.0", "软件栈要求 a[b]==1.0"),
        (phrases.why, "a 1.0 needs b>=2 (fact a-1.0)", "a 1.0 要求 b>=2（事实 a-1.0）"),
        (phrases.why, "building a 1.0 needs b (fact a-1.0)", "构建 a 1.0 需要 b（事实 a-1.0）"),
        (phrases.why, "a[b] 1.0 is an extra of a 1.0", "a[b] 1.0 是 a 1.0 的 extra"),
        (phrases.title, "a, b and c", "a、b、c"),
        (phrases.title, "a, b and c, built from source in this environment", "a、b、c，在此环境中从源码构建"),
        (phrases.title, "12 distributions, built from source in a separate environment",
         "12 个软件包，在独立的环境中从源码构建"),
        (phrases.title, "a, from git", "a，来自 git"),
        (phrases.fault, "bundle.json and SHA256SUMS do not list the same files: one of them was changed",
         "bundle.json 和 SHA256SUMS 列出的文件不同：其中之一被改动过"),
        (phrases.fault, "SHA256SUMS cannot be read: it is not text", "无法读取 SHA256SUMS：它不是文本"),
        (phrases.fault, "a.whl has 3 bytes, not 4", "a.whl 的大小是 3 字节，应为 4"),
    ],
)  # fmt: skip
def test_what_a_lock_or_a_bundle_says_in_english_leads_to_its_chinese(
    tell: Callable[[str], str], english: str, chinese: str
) -> None:
    assert tell(english) == chinese


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        ("a after b and c: it hides b (facts/a.toml:3)", "a 在 b、c 之后：它会遮住 b（facts/a.toml:3）"),
        ("a after b, c and d: it hides b (facts/a.toml:3)", "a 在 b、c、d 之后：它会遮住 b（facts/a.toml:3）"),
        ("a after b: nobody wrote it (facts/a.toml:9)", "a 在 b 之后：nobody wrote it（facts/a.toml:9）"),
        ("a rewrites installed files of b and c (facts/a.toml:3)", "a 会改写 b、c 已安装的文件（facts/a.toml:3）"),
    ],
)
def test_a_reason_of_the_order_leads_to_its_chinese(english: str, chinese: str) -> None:
    assert phrases.order(english, {"facts/a.toml:3": "它会遮住 b"}) == chinese


def test_every_warning_of_the_committed_locks_is_there_in_chinese() -> None:
    seen = 0
    for path in REPOSITORY.glob("locks/*/*/lock.toml"):
        lock = lock_file.read(path.parent)
        assert lock is not None
        for warning in lock.all_warnings:
            assert re.search("[\u4e00-\u9fff]", caution(warning, lock.fact)), warning
            seen += 1
    assert seen >= 20


def test_an_extra_that_is_not_there_is_warned_of_with_the_one_that_is_meant(
    workspace: Workspace, index: LoopbackIndex
) -> None:
    index.add_wheel("demo", "1.0", extras={"audio": [], "video": []})
    workspace.stack("demo[audoi,gpu]")
    told = " ".join(workspace.locked().stdout.split())
    missing = "demo 1.0 has no extra `{}`, although it is requested; nothing was added for it"
    assert f"2 warnings: - {missing.format('audoi')}. It has an extra `audio` - {missing.format('gpu')} " in told
    told = workspace.run("lock", "demo", "--offline", "--anew", "--lang", "zh").stdout.replace("\n", "")
    assert "它有一个名为 `audio` 的 extra".replace(" ", "") in told.replace(" ", "")


def test_an_extra_that_another_release_has_is_warned_of_first(workspace: Workspace, index: LoopbackIndex) -> None:
    """Locking again reads nothing more, and says the same."""
    index.add_wheel("demo", "1.0")
    index.add_wheel("demo", "2.0", extras={"gpu": ["low==2"], "tpu": []}, requires=["low==2"])
    index.add_wheel("low", "1.0", yanked="of no use")
    index.add_wheel("low", "2.0")
    workspace.stack("demo[gpu,tpu]", "low==1.0")
    warning = (
        "demo 1.0 has no extra `gpu`, `tpu`, which the stack asks for; nothing was added for it. `demo==2.0` has it, "
        "and was not taken; explain --package with that says why"
    )
    for arguments in ([], ["--anew"], ["--offline", "--anew"], ["--upgrade", "--anew"]):
        told = " ".join(workspace.locked(*arguments).stdout.split())
        assert f"2 warnings: - {warning} - low 1.0 was yanked by its maintainers: of no use " in told
    chinese = workspace.run("lock", "demo", "--lang", "zh").stdout.replace("\n", "").replace(" ", "")
    assert "demo1.0没有软件栈所要求的extra`gpu`,`tpu`；" in chinese
    why = workspace.run("explain", "demo", "--package", "demo==2.0").stdout
    assert "demo 2.0 needs low==2" in why


def test_a_policy_about_a_misspelt_project_is_warned_of(workspace: Workspace, index: LoopbackIndex) -> None:
    for name in ("huggingface-hub", "demo"):
        index.add_wheel(name, "1.0")
        index.add_wheel(name, "2.0rc1")
    workspace.stack(
        "huggingface-hub", "demo", more='[policy.prereleases-of]\nhugginface-hub = "allow"\nelse = "allow"\n'
    )
    told = " ".join(workspace.locked().stdout.split())
    assert "1 warning: - the policy prereleases-of names `hugginface-hub`, which is not in the lock, but " in told
    assert "`huggingface-hub` is Next:" in told


def test_a_stack_of_which_nothing_applies_to_the_target(workspace: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("demo", "1.0")
    workspace.stack("demo")
    workspace.locked()
    before = tree(workspace.locks)
    workspace.stack("demo; sys_platform == 'win32'")
    parts = {
        "message": "nothing of demo applies to there, so there is nothing to lock",
        "where": "matrices/stacks/demo.toml",
        "why": "`demo; sys_platform == 'win32'` does not apply: its marker is false for this target "
        "(matrices/stacks/demo.toml:4)",
        "hint": "correct the markers in `requires`, or remove the target from the stack",
    }
    message, where, why, hint = parts.values()
    for _ in ("anew", "remembered"):
        run = workspace.lock()
        assert run.stderr == f"error: {message}\n  at {where}\n  {why}\nhint: {hint}\n"
        assert (run.status, run.stdout) == (1, "")
    assert "不成立" in workspace.lock("--lang", "zh").stderr
    run = workspace.lock("--json")
    told = {"status": "error", "stack": "demo", "target": "there", **parts}
    assert (run.status, run.json) == (1, {**told, "targets": [told]})
    assert tree(workspace.locks) == before
