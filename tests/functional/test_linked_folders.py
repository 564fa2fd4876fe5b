"""Nothing is written through a link that no user named, such as one in a proposed change."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.functional.workspace import HERE, REPOSITORY, Workspace, tree
from tests.loopback import LoopbackIndex


@pytest.fixture
def elsewhere(workspace: Workspace, index: LoopbackIndex) -> Path:
    """A folder of somebody else beside the project of a stack."""
    index.serve("base 1.0")
    workspace.stack("base", target=HERE)
    folder = workspace.root / "elsewhere"
    folder.mkdir()
    (folder / "theirs.txt").write_text("of somebody else")
    return folder


def test_default_locks_follow_no_link(workspace: Workspace, elsewhere: Path) -> None:
    workspace.locks.symlink_to(elsewhere)
    before = tree(elsewhere)
    for command in (
        ("lock", "demo"),
        ("add", "demo", "base>0"),
        ("bundle", "demo", "out"),
        ("check", "demo"),
    ):
        run = workspace.refused("the folder of locks is a link, which is not followed", *command)
        assert "\nhint: if that is meant, name it: --locks DIR\n" in run.stderr
    assert tree(elsewhere) == before
    assert workspace.run("lock", "demo", "--locks", "locks").status == 0
    assert (elsewhere / "demo" / "here" / "lock.toml").is_file()


def test_snapshots_follow_no_link(workspace: Workspace, elsewhere: Path) -> None:
    (workspace.root / "snapshots").symlink_to(elsewhere)
    before = tree(elsewhere)
    run = workspace.refused("the snapshot could not be written", "lock", "--record", "demo")
    assert "`snapshots` is a link, which is not followed" in run.stderr
    assert tree(elsewhere) == before


def test_snapshot_is_written_here(workspace: Workspace, elsewhere: Path) -> None:
    """The program's own checkout, whose facts are used here, gets no snapshot."""
    shutil.copy(workspace.matrices / "stacks" / "demo.toml", workspace.root / "written-here.toml")
    text = (
        (workspace.root / "written-here.toml")
        .read_text()
        .replace('name = "demo"', 'name = "written-here"')
    )
    (workspace.root / "written-here.toml").write_text(text)
    shutil.rmtree(workspace.matrices)
    run = workspace.run("lock", "--record", "written-here.toml")
    there = REPOSITORY / "snapshots" / "written-here.snapshot"
    was_there = there.exists()
    there.unlink(missing_ok=True)
    assert (run.status, was_there) == (0, False), run
    assert run.stdout.startswith("Written to snapshots/written-here.snapshot: ")
    assert (
        workspace.run("lock", "written-here.toml", "--offline", ASCEND_LOCK_CACHE="none").status
        == 0
    )
