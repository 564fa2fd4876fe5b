"""A full disk at any write: a small tmpfs where one can be mounted, or a limit for files."""

from __future__ import annotations

import random
import resource
import shutil
import subprocess
from pathlib import Path

from tests.faults.kills import Score, visible
from tests.functional.workspace import COMMAND, Run, Tree, Workspace, tree
from tests.loopback import LoopbackIndex

_MOST = 32_000  # bytes: more than any file that such a lock writes
# A name space of its own, with the right to mount in it, takes the mount away with the process.
_IN_A_NAME_SPACE = ["unshare", "--map-root-user", "--mount", "bash", "-c"]
_FULL = """
set -eu
mount -t tmpfs -o size="$1"k none "$2"
cp -a before/. "$2"/
set +e
"$0" lock demo
status=$?
set -e
rm -rf after
mkdir after
cp -a "$2"/. after/
exit $status
"""


def may_mount() -> bool:
    """Whether this machine lets its users mount in a name space of their own."""
    if shutil.which("unshare") is None:
        return False
    probe = [*_IN_A_NAME_SPACE, "mount -t tmpfs none /mnt"]
    return subprocess.run(probe, capture_output=True, check=False).returncode == 0


def limited(workspace: Workspace, limit: int, *arguments: str) -> Run:
    """Run a command that can write no file beyond `limit` bytes, as with a quota."""
    limiting = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))}
    # Compiled modules would be cut, too, and no later run could import them.
    environment = workspace.environment(PYTHONDONTWRITEBYTECODE="1")
    command = [str(COMMAND), *arguments]
    return workspace.finish(workspace.begin(command, env=environment, **limiting))


def fill_disks(root: Path, number: int, seed: int) -> Score:
    """Lock with so many different limits to what fits on the disk; nothing is lost by any."""
    score = Score(moments=_MOST)
    draw = random.Random(seed)
    mount = may_mount()
    with LoopbackIndex() as index:
        workspace = Workspace(root, index)
        for version in ("1.0", "2.0"):
            index.add_wheel("demo", version, requires=["source"], metadata_sidecar=False)
        index.add_archive("source", "1.0")
        index.add_wheel("setuptools", "80.0")
        steady: dict[str, Tree] = {}
        for version in ("1.0", "2.0", "1.0"):
            workspace.locked_stack(f"demo=={version}")
            steady[version] = tree(workspace.locks)
        for at in range(number):
            old, new = ("1.0", "2.0") if at % 2 == 0 else ("2.0", "1.0")
            workspace.stack(f"demo=={new}")
            workspace.forget()
            where = f"disk, draw {at} of seed {seed}"
            if mount and at % 4 >= 2:
                run = _on_a_small_disk(
                    workspace, "cache" if at % 4 == 2 else "locks", draw.randrange(4, 200)
                )
            else:
                run = limited(workspace, draw.randrange(_MOST), "lock", "demo")
            assert run.status in (0, 2), (where, run)
            assert "internal error" not in run.stderr, (where, run)
            assert run.status == 0 or run.stderr.partition("error: ")[2], (where, run)
            score.killed += run.status != 0
            score.ended += run.status == 0
            expected = steady[new] if run.status == 0 else steady[old]
            assert visible(tree(workspace.locks)) == visible(expected), where
            assert tree(workspace.temporary) == {}, where
            workspace.locked()
            assert tree(workspace.locks) == steady[new], where
    return score


def _on_a_small_disk(workspace: Workspace, which: str, kilobytes: int) -> Run:
    """Run a lock with the folder `which` on a file system of this size.

    What was written there is copied back.
    """
    folder = workspace.root / which
    before = workspace.root / "before"
    shutil.rmtree(before, ignore_errors=True)
    folder.mkdir(exist_ok=True)
    shutil.copytree(folder, before)
    command = [*_IN_A_NAME_SPACE, _FULL, str(COMMAND), str(kilobytes), which]
    run = workspace.finish(workspace.begin(command))
    after = workspace.root / "after"
    if after.exists():
        shutil.rmtree(folder)
        shutil.move(after, folder)
        return run
    return Run(2, "", f"error: too small for what was there before: {run.stderr}")
