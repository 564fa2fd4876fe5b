"""`check` sees whatever changed since a lock was made."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.functional.workspace import Workspace
from tests.loopback import LoopbackIndex


@pytest.fixture
def current(workspace: Workspace, index: LoopbackIndex) -> Workspace:
    """A lock that `check` found current."""
    index.add_wheel("a", "1.0")
    workspace.stack("a")
    workspace.facts("c", '[[requires]]\nid = "c-a"\nneeds = ["a"]\nreason = "so it is"\n')
    workspace.indexes('[[index]]\nname = "spare"\nurl = "https://index.example/simple/"\n')
    workspace.locked()
    first = workspace.run("check")
    assert (first.status, first.stdout) == (0, "demo for there: current\n")
    return workspace


def other_line_ends(path: Path) -> None:
    """As git may check a file out on another system: bash does not run it."""
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))


def a_comment(path: Path) -> None:
    path.write_text(path.read_text() + "# changed\n")


CHANGES: list[Callable[[Workspace], None]] = [
    lambda workspace: a_comment(workspace.matrices / "stacks/demo.toml"),
    lambda workspace: a_comment(workspace.matrices / "facts/c.toml"),
    lambda workspace: a_comment(workspace.matrices / "indexes.toml"),
    lambda workspace: workspace.facts("b", '[[requires]]\nid = "b-a"\nneeds = ["a"]\nreason = "so it is"\n'),
    lambda workspace: (workspace.matrices / "facts/c.toml").unlink(),
    lambda workspace: a_comment(workspace.folder() / "install.sh"),
    lambda workspace: other_line_ends(workspace.folder() / "install.sh"),
    lambda workspace: a_comment(workspace.folder() / "lock.toml"),
    lambda workspace: (workspace.folder() / "lock.toml").unlink(),
    lambda workspace: (workspace.folder() / "report.md").unlink(),
    lambda workspace: (workspace.folder() / "lock.toml").write_bytes(b"\xff"),
    lambda workspace: (workspace.matrices / "stacks/demo.toml").write_text("["),
]


def test_whatever_changes_is_seen(current: Workspace, tmp_path: Path) -> None:
    work = {"matrices": current.matrices, "locks": current.locks}
    for name, folder in work.items():
        shutil.copytree(folder, tmp_path / name)
    for change in CHANGES:
        change(current)
        assert current.run("check").status != 0
        for name, folder in work.items():
            shutil.rmtree(folder)
            shutil.copytree(tmp_path / name, folder)
    assert current.run("check").status == 0


def test_the_hint_names_a_stack_as_it_was_named(workspace: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("demo", "1.0")
    workspace.stack("demo", name="my-stack").rename(workspace.root / "my stack.toml")
    run = workspace.run("check", "./my stack.toml", "--lang", "en")
    assert (run.status, run.stdout.splitlines()[-1]) == (4, "hint: ascend-lock lock './my stack.toml'")
    assert workspace.run("lock", "./my stack.toml").status == 0
    assert workspace.run("check", "./my stack.toml").status == 0


def test_a_cut_off_that_is_not_the_stacks_is_told(workspace: Workspace, index: LoopbackIndex) -> None:
    """The next lock would take the stack's own again."""
    index.add_wheel("a", "1.0", uploaded="2025-01-02T00:00:00Z")
    index.add_wheel("a", "2.0", uploaded="2025-06-02T00:00:00Z")
    workspace.stack("a", more="[policy]\nexclude-newer = 2025-03-01\n")
    workspace.locked()
    assert workspace.run("check").status == 0
    workspace.locked("--exclude-newer", "2025-12-01", "--upgrade")
    assert workspace.pins() == {"a": "2.0"}
    run = workspace.run("check")
    assert (run.status, run.stdout.splitlines()[0]) == (
        4,
        "demo for there: the stack or the facts have changed since the lock was made",
    )
    workspace.locked()
    assert workspace.pins() == {"a": "1.0"}
    assert workspace.run("check").status == 0


def test_a_cut_off_that_only_the_command_line_gave_holds(workspace: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("a", "1.0", uploaded="2025-01-02T00:00:00Z")
    workspace.stack("a")
    workspace.locked("--exclude-newer", "2025-12-01")
    assert workspace.run("check").status == 0


@pytest.mark.parametrize("cutoff", ["x", 1, "2026-01-01T00:00:00", "0001-01-01T00:00:00+23:59"])
def test_a_report_whose_cut_off_is_none_is_passed_over(
    workspace: Workspace, index: LoopbackIndex, cutoff: object
) -> None:
    """It came with a change that somebody offers."""
    index.add_wheel("demo", "1.0")
    workspace.stack("demo>1")
    assert workspace.lock().status == 1
    path = workspace.folder() / "conflict.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "exclude_newer": cutoff}))
    run = workspace.run("check")
    assert (run.status, run.stdout.splitlines()[0], run.stderr) == (4, "demo for there: there is no lock", "")


def test_locks_of_stacks_elsewhere_are_named(workspace: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("a", "1.0")
    own = workspace.stack("a")
    workspace.locked()
    other = workspace.root / "stacks" / "mine.toml"
    other.parent.mkdir()
    other.write_text(own.read_text("utf-8").replace('name = "demo"', 'name = "mine"', 1), "utf-8")
    assert workspace.run("lock", "stacks/mine.toml").status == 0
    run = workspace.run("check")
    assert (run.status, run.stdout) == (0, "demo for there: current\n")
    assert run.stderr == (
        "hint: locks/mine belongs to a stack that is not in matrices; give the path of its file: ascend-lock "
        "check path/to/mine.toml\n"
    )
    assert workspace.run("check") == run
