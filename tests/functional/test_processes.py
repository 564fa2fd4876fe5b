"""Most tests run the command in a fork of a process that has imported it: it says and does what a new one does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from resolver.cli import COMMANDS
from tests.functional.warm import WarmCommand
from tests.functional.workspace import COMMAND, HERE, Run, Tree, Workspace, tree
from tests.loopback import LoopbackIndex

# Commands in a row, each with its status; what one leaves is there for the next.
SESSION = [
    ("lock demo", 0),
    ("lock demo --offline", 0),
    ("lock demo conflict --json", 1),
    ("check demo", 0),
    ("explain conflict", 1),
    ("explain conflict --lang zh --json", 1),
    ("facts check demo", 0),
    ("verify demo --json", 1),
    ("bundle demo out", 0),
    ("bundle --check out", 0),
    ("export demo --format pylock", 0),
    ("snapshot demo", 0),
    ("stacks", 0),
    ("cache dir", 0),
    ("lock nosuch", 2),
    ("lok demo", 2),
    ("--version", 0),
    ("lock demo --no-such-option --json", 2),
]


def session(root: Path, index: LoopbackIndex, how: Callable[[Workspace], Callable[..., Run]]) -> tuple[list[Run], Tree]:
    workspace = Workspace(root, index.url)
    workspace.stack("demo", target=HERE)
    workspace.stack("demo", "demo-data<1", name="conflict", target=HERE)
    workspace.facts("demo", '[[requires]]\nid = "demo-data"\nneeds = ["demo-data"]\nreason = "it reads them"\n')
    runs = [how(workspace)(*line.split()) for line, _ in SESSION]
    assert tree(workspace.temporary) == {}
    return runs, {path: content for path, content in tree(root).items() if not path.startswith("cache/")}


def test_a_fork_says_and_does_what_a_new_process_does(tmp_path: Path, index: LoopbackIndex) -> None:
    assert {line.split()[0] for line, _ in SESSION} >= set(COMMANDS), "every command is among them"
    index.add_wheel("demo", "1.0", requires=["demo-data"])
    index.add_wheel("demo-data", "1.0")
    runs, left = session(tmp_path / "alone", index, lambda workspace: workspace.run_alone)
    assert [run.status for run in runs] == [status for _, status in SESSION], runs
    assert session(tmp_path / "forks", index, lambda workspace: workspace.run) == (runs, left)


def test_what_an_interpreter_reads_as_it_starts_needs_a_new_one(workspace: Workspace) -> None:
    with WarmCommand(COMMAND, workspace.environment()) as warm:
        assert warm.takes(workspace.environment(HOME="elsewhere"))
        for name in ("PYTHONHASHSEED", "LANG", "LC_ALL", "LD_PRELOAD"):
            assert not warm.takes(workspace.environment(**{name: "1"}))
