"""Nothing is removed of what somebody mounted in a folder of ours, and the command says so."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.functional.workspace import COMMAND, HERE, REPOSITORY, Run, Workspace, tree
from tests.loopback import LoopbackIndex

LOCK = "locks/demo/here"
UNSHARE = shutil.which("unshare") or ""


def may_mount() -> bool:
    """Return whether this user may mount folders for a process of its own."""
    tried = [UNSHARE, "--mount", "mount", "--bind", "/tmp", "/tmp"]
    return bool(UNSHARE) and subprocess.run(tried, capture_output=True).returncode == 0


pytestmark = pytest.mark.skipif(
    not may_mount(), reason="mounting needs root, or a system that lets users do it"
)


@pytest.fixture
def theirs(workspace: Workspace, index: LoopbackIndex) -> Path:
    """A folder of somebody else, and a lock, of which the next one is another."""
    index.serve("base 1.0 2.0")
    workspace.stack("base==1.0", target=HERE)
    workspace.locked()
    folder = workspace.root / "theirs"
    folder.mkdir()
    (folder / "data.txt").write_text("of somebody else")
    return folder


def run_with_mount(workspace: Workspace, theirs: Path, at: str, *arguments: str) -> Run:
    """Run the command with their folder, on the same device, mounted at a path of the workspace."""
    (workspace.root / at).mkdir(parents=True, exist_ok=True)
    script = 'mount --bind "$1" "$2" && shift 2 && exec "$@"'
    command = [
        UNSHARE,
        "--mount",
        "sh",
        "-c",
        script,
        "sh",
        str(theirs),
        at,
        str(COMMAND),
        *arguments,
    ]
    environment = workspace.environment(PYTHONPATH=str(REPOSITORY))
    return workspace.finish(workspace.begin(command, env=environment))


@pytest.mark.parametrize(
    "at", [LOCK, f"{LOCK}/data", f"{LOCK}/data/inner", "locks/demo/.here.ascend-lock-new/data"]
)
def test_lock_leaves_mounted_folder(workspace: Workspace, theirs: Path, at: str) -> None:
    workspace.stack("base==2.0", target=HERE)
    (workspace.root / at).mkdir(parents=True, exist_ok=True)
    before = tree(workspace.locks)
    run = run_with_mount(workspace, theirs, at, "lock", "demo")
    assert (theirs / "data.txt").read_text() == "of somebody else"
    assert (run.status, run.error) == (
        2,
        "the lock could not be written; what was there before is untouched",
    )
    assert "` is a mount point, below which nothing is changed\nhint: unmount it or " in run.stderr
    assert tree(workspace.locks) == before


@pytest.mark.parametrize(
    "at", ["out/locks", "out/locks/demo", "out/locks/demo/here", "out/locks/demo/here/stages"]
)
def test_prune_leaves_mounted_folder(workspace: Workspace, theirs: Path, at: str) -> None:
    assert workspace.run("bundle", "demo", "out").status == 0
    workspace.stack("base==2.0", target=HERE)
    workspace.locked()
    (workspace.root / at).mkdir(parents=True, exist_ok=True)
    before = tree(workspace.root / "out")
    run = run_with_mount(workspace, theirs, at, "bundle", "demo", "out", "--prune")
    assert (theirs / "data.txt").read_text() == "of somebody else"
    assert (run.status, run.error) == (2, "the bundle cannot be pruned")
    assert (
        f"\n  at {at}\n  `{Path(at).name}` is a mount point, below which nothing is changed\n"
        in run.stderr
    )
    assert tree(workspace.root / "out") == before


@pytest.mark.parametrize("at", ["out/locks", "out/locks/demo", "out/locks/demo/here"])
def test_bundle_writes_to_no_mounted_folder(workspace: Workspace, theirs: Path, at: str) -> None:
    """Neither into a new one nor into one that is there already."""
    for _ in range(2):
        run = run_with_mount(workspace, theirs, at, "bundle", "demo", "out")
        assert tree(theirs) == {"data.txt": b"of somebody else"}
        assert (run.status, run.error) == (2, "the bundle could not be written")
        assert f"\n  at {at}\n  `{Path(at).name}` is a mount point, below" in run.stderr
        assert workspace.run("bundle", "demo", "out").status == 0


@pytest.mark.parametrize("command", ["lock", "explain"])
def test_lock_writes_to_no_mounted_stack(workspace: Workspace, theirs: Path, command: str) -> None:
    """The folder of a stack is ours, not somebody else's, who may have such names there, too."""
    workspace.stack("base==2.0" if command == "lock" else "base==3.0", target=HERE)
    kept = theirs / ".keep.ascend-lock-old"
    for folder in (kept, theirs / "keep"):
        folder.mkdir()
        (folder / "data.txt").write_text("of somebody else")
    before = tree(theirs)
    run = run_with_mount(workspace, theirs, "locks/demo", command, "demo")
    assert tree(theirs) == before
    assert (run.status, "`demo` is a mount point, below" in run.stderr) == (2, True), run


def test_bundle_takes_no_mounted_file_for_a_leftover(workspace: Workspace, theirs: Path) -> None:
    run = run_with_mount(workspace, theirs, "out/locks/other", "bundle", "demo", "out")
    assert (run.status, "data.txt" in run.stdout) == (0, False), run
    assert workspace.run("bundle", "demo", "out", "--prune").status == 0
    assert (theirs / "data.txt").read_text() == "of somebody else"


def test_mount_on_a_file_is_found(workspace: Workspace, theirs: Path) -> None:
    (workspace.root / "locks" / "demo" / "here" / "data").touch()
    script = 'mount --bind theirs/data.txt locks/demo/here/data && exec "$@"'
    command = [UNSHARE, "--mount", "sh", "-c", script, "sh", str(COMMAND), "lock", "demo"]
    workspace.stack("base==2.0", target=HERE)
    run = workspace.finish(
        workspace.begin(command, env=workspace.environment(PYTHONPATH=str(REPOSITORY)))
    )
    assert (run.status, "`data` is a mount point" in run.stderr) == (2, True), run
