"""Words that users of uv, pip, pip-tools, poetry and pixi would type."""

from __future__ import annotations

import re

import pytest

from resolver.cli import COMMANDS
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
        for command in re.findall(r"ascend-lock ([a-z]+)", answer):
            assert command in COMMANDS, answer


def test_lock_without_a_stack_lists_them(workspace: Workspace) -> None:
    workspace.stack("demo")
    run = workspace.run("lock")
    assert (run.status, run.stderr) == (0, "")
    assert run.stdout == workspace.run("stacks").stdout


def test_short_options_of_uv_are_known(workspace: Workspace) -> None:
    workspace.serve("base 1.0", "top 1.0")
    workspace.locked_stack("base", "top")
    workspace.serve("base 2.0", "top 2.0")
    workspace.run("lock", "demo", "-P", "base")
    assert workspace.pins() == {"base": "2.0", "top": "1.0"}
    workspace.run("lock", "demo", "-U")
    assert workspace.pins() == {"base": "2.0", "top": "2.0"}
