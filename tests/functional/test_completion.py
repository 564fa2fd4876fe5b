"""What bash, zsh and fish complete, as docs/completion.md says."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.functional.workspace import COMMAND, Workspace, targets

SHELLS = ("bash", "zsh", "fish")


@pytest.fixture
def workspace(workspace: Workspace) -> Workspace:
    """A stack that is locked for two targets, and another one without a lock."""
    workspace.serve("top 1.0: base", "base 1.0")
    workspace.locked_stack("top", target=targets("old", "new"))
    workspace.stack("other-project", name="second")
    return workspace


def completed(workspace: Workspace, shell: str, line: str) -> list[str]:
    """Complete the last word of a line by the protocol of a shell."""
    words = line.split(" ")
    # fish gives the word itself, the others its number.
    number = words[-1] if shell == "fish" else str(len(words) - 1)
    run = workspace.run_alone(
        _ASCEND_LOCK_COMPLETE=f"{shell}_complete", COMP_WORDS=line, COMP_CWORD=number
    )
    assert (run.status, run.stderr) == (0, "")
    rows = run.stdout.splitlines()
    if shell == "zsh":
        return rows[1::3]
    # Without a completion there is an empty line.
    return [row.split(",", 1)[1].split("\t")[0] for row in rows if row]


@pytest.mark.parametrize("shell", SHELLS)
def test_words_are_completed(workspace: Workspace, shell: str) -> None:
    for line, words in {
        "ascend-lock wh": ["why"],
        "ascend-lock --lang zh sna": [],
        "ascend-lock matrix ": ["show", "build", "diff"],
        "ascend-lock lock --upgr": ["--upgrade", "--upgrade-package"],
        "ascend-lock lock --lang ": ["en", "zh"],
        "ascend-lock lock sec": ["second"],
        "ascend-lock why demo ": ["base", "top"],
        "ascend-lock why second ": ["other-project"],
        "ascend-lock lock demo --target ": ["new", "old"],
        "ascend-lock tree demo --target n": ["new"],
        "ascend-lock remove demo ": ["top"],
    }.items():
        assert completed(workspace, shell, line) == words, line


@pytest.mark.parametrize("shell", SHELLS)
def test_what_cannot_be_read_completes_nothing(workspace: Workspace, shell: str) -> None:
    (workspace.matrices / "stacks" / "demo.toml").write_text("[")
    shutil.rmtree(workspace.locks)
    assert completed(workspace, shell, "ascend-lock why demo ") == []
    assert completed(workspace, shell, "ascend-lock lock demo --target ") == []


@pytest.mark.parametrize("shell", SHELLS)
def test_script_of_a_shell_is_written(workspace: Workspace, shell: str) -> None:
    run = workspace.run_alone(_ASCEND_LOCK_COMPLETE=f"{shell}_source")
    assert (run.status, run.stderr) == (0, "")
    assert "ascend-lock" in run.stdout
    script = workspace.root / "script"
    script.write_text(run.stdout)
    if shutil.which(shell):
        assert workspace.finish(workspace.begin([shell, "-n", str(script)])).status == 0


def test_bash_completes_by_the_script(workspace: Workspace, tmp_path: Path) -> None:
    """As bash does it: the function of the script, with the words of the line."""
    line = (
        f'PATH="{COMMAND.parent}:$PATH"; eval "$(_ASCEND_LOCK_COMPLETE=bash_source ascend-lock)"; '
        "complete -p ascend-lock; COMP_WORDS=(ascend-lock why demo b); COMP_CWORD=3; "
        '_ascend_lock_completion ascend-lock; echo "${COMPREPLY[@]}"'
    )
    run = workspace.finish(workspace.begin(["bash", "-c", line]))
    assert (run.status, run.stderr) == (0, "")
    assert run.stdout == "complete -o nosort -F _ascend_lock_completion ascend-lock\nbase\n"
