"""A folder with stacks of one's own, away from the checkout: what `all` means there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.functional.workspace import Workspace
from tests.loopback import LoopbackIndex

LANGUAGE_OF_C = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.fixture
def own(workspace: Workspace, index: LoopbackIndex) -> Path:
    """A folder `own` beside the checkout, which has the stack `demo`; in it the stack `mine`, locked."""
    index.add_wheel("a", "1.0")
    index.add_wheel("a", "2.0")
    text = workspace.stack("a").read_text("utf-8")
    folder = workspace.root / "own"
    folder.mkdir()
    (folder / "mine.toml").write_text(text.replace('name = "demo"', 'name = "mine"', 1), "utf-8")
    assert workspace.run("lock", "own/mine.toml", "--locks", "own/locks").status == 0
    return folder


@pytest.mark.parametrize("names", [(), ("all",)])
def test_only_what_is_locked_there_is_checked(workspace: Workspace, own: Path, names: tuple[str, ...]) -> None:
    run = workspace.run("check", *names, "--locks", "own/locks")
    assert (run.status, run.stdout, run.stderr) == (0, "mine for there: current\n", "")
    workspace.run("lock", "demo", "--locks", "own/locks")
    run = workspace.run("check", *names, "--locks", "own/locks")
    assert (run.status, run.stdout) == (0, "demo for there: current\nmine for there: current\n")
    (own / "mine.toml").write_text((own / "mine.toml").read_text("utf-8").replace('"a"', '"a==1.0"', 1), "utf-8")
    run = workspace.run("check", *names, "--locks", "own/locks")
    assert run.status == 4
    assert run.stdout.endswith("hint: ascend-lock lock own/mine.toml --locks own/locks\n")


def test_where_nothing_can_be_checked_it_fails(workspace: Workspace, own: Path) -> None:
    (own / "mine.toml").rename(own / "other.toml")
    run = workspace.run("check", "--locks", "own/locks")
    assert (run.status, run.stdout) == (2, "")
    assert run.stderr == (
        "error: there is nothing to check\n  at own/locks\n"
        "  The stack of mine is neither in matrices nor beside the folder.\n"
        "hint: ascend-lock check path/to/mine.toml --locks own/locks\n"
    )
    run = workspace.run("check", "--locks", "none/locks")
    assert run.status == 2
    assert run.stderr == (
        "error: there is nothing to check\n  at none/locks\n"
        "hint: lock a stack first, or give the folder of locks by --locks DIR\n"
    )


def test_a_folder_of_facts_without_stacks_is_enough(workspace: Workspace, own: Path) -> None:
    (own / "matrices" / "facts").mkdir(parents=True)
    given = ("--matrices", "own/matrices", "--locks", "own/locks")
    assert workspace.run("lock", "own/mine.toml", *given).status == 0
    run = workspace.run("check", *given)
    assert (run.status, run.stdout, run.stderr) == (0, "mine for there: current\n", "")


def test_a_folder_without_the_facts_about_ascend_is_told(workspace: Workspace, index: LoopbackIndex, own: Path) -> None:
    index.add_wheel("torch-npu", "2.8.0")
    stack = own / "mine.toml"
    stack.write_text(stack.read_text("utf-8").replace('"a"', '"torch-npu"', 1), "utf-8")
    lock = ("lock", "own/mine.toml", "--locks", "own/locks")
    run = workspace.run(*lock)
    assert run.status == 0
    assert run.stderr.startswith(
        "warning: There are no facts about torch-npu in matrices/facts, and the ones that ship with ascend-lock are "
        "not used.\nhint: copy the whole folder matrices"
    )
    run = workspace.run(*lock, "--lang", "zh")
    assert run.stderr.startswith("警告：matrices/facts 中没有关于 torch-npu 的事实，")
    workspace.facts("torch-npu", "[[excludes]]\nversions = '==2.8.0'\nreason = 'broken'\nstrength = 'observed'")
    assert "There are no facts" not in workspace.run(*lock).stderr


def test_a_bundle_of_all_takes_what_has_a_lock(workspace: Workspace, own: Path) -> None:
    workspace.stack("a>2", name="none")
    assert workspace.run("lock", "demo", "none").status == 1
    run = workspace.run("bundle", "all", "out")
    assert (run.status, " of demo for there; 1 file downloaded now." in run.stdout) == (0, True)
    run = workspace.run("bundle", "all", "more", "--locks", "own/locks")
    assert (run.status, " of mine for there;" in run.stdout) == (0, True)
    run = workspace.run("bundle", "all", "more", "--locks", "none/locks")
    assert (run.status, run.stderr) == (
        2,
        "error: there are no locks to bundle\n  at none/locks\nhint: ascend-lock lock STACK --locks none/locks\n",
    )


def test_a_file_here_with_that_name_is_what_was_meant(workspace: Workspace, own: Path) -> None:
    (own / "mine.toml").rename(workspace.root / "dem.toml")
    run = workspace.run("bundle", "dem", "out")
    assert (run.status, run.stderr) == (
        2,
        "error: there is no stack `dem`\n  at matrices/stacks\nhint: did you mean `dem.toml`?\n",
    )


def test_a_name_in_chinese_is_the_same_in_every_locale(workspace: Workspace, own: Path) -> None:
    (own / "mine.toml").rename(workspace.root / "我的.toml")
    assert workspace.run("lock", "我的.toml").status == 0
    run = workspace.run_alone("check", "我的.toml", **LANGUAGE_OF_C)
    assert (run.status, run.stdout) == (0, "mine for there: current\n")


def test_a_shell_can_complete_names_of_stacks(workspace: Workspace, own: Path) -> None:
    def offered(line: str) -> list[str]:
        words = {"COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
        return workspace.run_alone(_ASCEND_LOCK_COMPLETE="bash_complete", **words).stdout.split()

    assert offered("ascend-lock lock d") == ["plain,demo"]
    assert offered("ascend-lock explain d") == ["plain,demo"]
    assert offered("ascend-lock check own/") == ["file,own/"]
