"""Words that users of uv, pip, pip-tools, poetry and pixi would type."""

from __future__ import annotations

import re

import pytest

from resolver.cli import COMMANDS
from resolver.cli.former import find_former
from resolver.cli.words import ANSWERS
from tests.functional.workspace import Workspace

# From the help of uv, pip, pip-tools, poetry and pixi, without what manages those tools themselves.
WORDS = """
    add build cache check clean compile config download env exec export freeze hash help import index
    info init inspect install list lock new outdated pip publish python reinstall remove run search
    self shell show sync task tool tree uninstall update upgrade upload venv version wheel why
"""


@pytest.mark.parametrize("word", WORDS.split())
def test_word_of_another_tool_is_known(workspace: Workspace, word: str) -> None:
    if word in COMMANDS:
        assert workspace.run(word, "--help").status == 0
        return
    run = workspace.run(word, "something")
    assert (run.status, run.error) == (2, f"there is no command `{word}`")
    assert f"hint: {ANSWERS[word]}" in run.stderr


def test_answers_name_commands_that_exist() -> None:
    for word, answer in ANSWERS.items():
        assert word not in COMMANDS
        for command in re.findall(r"ascend-lock ([a-z]+)", str(answer)):
            assert command in COMMANDS, answer


def test_lock_without_a_stack_lists_them(workspace: Workspace) -> None:
    workspace.stack("demo")
    run = workspace.run("lock")
    assert (run.status, run.stderr) == (0, "")
    assert run.stdout == "  demo  a stack of tests\n"


@pytest.mark.parametrize(
    ("former", "current"),
    [
        ("stacks", "lock"),
        ("pairs --package base", "matrix show --package base"),
        ("explain demo --package base", "why demo base"),
        ("explain --package=base demo --offline", "why demo --offline base"),
        ("matrix --jobs 1", "matrix build --jobs 1"),
    ],
)
def test_former_name_does_the_same_with_a_hint(
    workspace: Workspace, former: str, current: str
) -> None:
    workspace.serve("base 1.0", "top 1.0: base")
    workspace.locked_stack("top")
    found = find_former(former.split())
    assert found is not None
    assert found[1] == current.split()
    run, as_today = workspace.run(*former.split()), workspace.run(*current.split())
    assert (run.status, run.stdout) == (as_today.status, as_today.stdout)
    hint = f"`ascend-lock {found[0].words}` is now `ascend-lock {found[0].current}`"
    assert run.stderr == f"hint: {hint}\n{as_today.stderr}"


def test_matrix_without_a_word_shows_its_commands(workspace: Workspace) -> None:
    run = workspace.run("matrix")
    assert run.status == 2
    assert "build  Solve" in run.stderr
    assert "hint" not in run.stderr
    assert list(workspace.root.glob("matrix.*")) == []


def test_snapshot_is_now_lock_record(workspace: Workspace) -> None:
    workspace.serve("base 1.0")
    workspace.stack("base")
    run = workspace.run("snapshot", "demo", "--lang", "zh")
    assert run.status == 0
    assert run.stderr == "提示：`ascend-lock snapshot` 现在是 `ascend-lock lock --record`\n"
    assert not workspace.locks.exists()
    assert (workspace.root / "snapshots" / "demo.snapshot").is_file()


def test_record_refuses_what_only_locking_has(workspace: Workspace) -> None:
    error = "--record writes no lock, so --upgrade-package has no meaning."
    workspace.refused(error, "lock", "demo", "--record", "-P", "base")
    workspace.refused("Missing argument 'STACK...'.", "lock", "--record")


@pytest.mark.parametrize(
    "words", ["matrix show", "matrix --lang zh show", "matrix shwo", "matrix -h"]
)
def test_present_names_are_not_rewritten(words: str) -> None:
    assert find_former(words.split()) is None


def test_help_has_no_former_name(workspace: Workspace) -> None:
    listed = workspace.run("--help").stdout.partition("Commands:\n")[2]
    names = [line.split()[0] for line in listed.splitlines() if line.startswith("  ")]
    assert {"stacks", "snapshot", "pairs"}.isdisjoint(names)


def test_short_options_of_uv_are_known(workspace: Workspace) -> None:
    workspace.serve("base 1.0", "top 1.0")
    workspace.locked_stack("base", "top")
    workspace.serve("base 2.0", "top 2.0")
    workspace.run("lock", "demo", "-P", "base")
    assert workspace.pins() == {"base": "2.0", "top": "1.0"}
    workspace.run("lock", "demo", "-U")
    assert workspace.pins() == {"base": "2.0", "top": "2.0"}
