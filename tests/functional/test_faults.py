"""Whatever fails below the program, the old lock or the new one is there, and the next run mends the rest.

`make faults` does at length what the first tests here do in short.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from resolver.index.store.cache import DAMAGED, FILE
from tests.cached import damage, require_sound_cache
from tests.faults.kills import kill_bundles, kill_installs, kill_locks
from tests.faults.room import fill_disks, limited
from tests.faults.row import lock_often
from tests.functional.machine import install, installed, make_environment, start_install
from tests.functional.workspace import HERE, Workspace, tree, wait_until
from tests.loopback import LoopbackIndex, delayed
from tests.repositories import Repository

# --- kills and full disks


def test_a_lock_killed_at_any_change_to_the_disk_is_the_old_one_or_the_new_one(tmp_path: Path) -> None:
    assert kill_locks(tmp_path / "work", 6, seed=2).killed >= 1  # no two runs write as often: one may end before


def test_a_bundle_killed_at_any_change_to_the_disk_is_whole_after_the_next_run(tmp_path: Path) -> None:
    assert kill_bundles(tmp_path / "work", 2, seed=2).killed >= 1


@pytest.mark.skipif(sys.platform != "linux", reason="install.sh is for Linux")
def test_an_install_killed_at_any_change_to_the_disk_is_whole_after_the_next_run(tmp_path: Path) -> None:
    assert kill_installs(tmp_path / "work", 1, seed=2).killed == 1


@pytest.fixture
def waiting(workspace: Workspace, index: LoopbackIndex) -> Iterator[tuple[Path, subprocess.Popen[str]]]:
    """A new environment, and an install.sh in it whose pip waits for a wheel."""
    index.add_wheel("demo", "1.0")
    workspace.stack("demo", target=HERE)
    workspace.locked()
    python = make_environment(workspace.root / "env")
    index.fault("/files/*", delayed(60), times=1)
    index.clear()
    process = start_install(workspace, python)
    wait_until(lambda: any(request.path.startswith("/files/") for request in index.requests), process)
    yield python, process
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


@pytest.mark.skipif(sys.platform != "linux", reason="install.sh is for Linux")
def test_an_install_waits_for_no_other_and_for_no_pip_that_a_killed_one_left(
    workspace: Workspace, waiting: tuple[Path, subprocess.Popen[str]]
) -> None:
    python, process = waiting
    beside = install(workspace, python)
    start = "error: another install.sh, or what it left running, is at work in <root>/env: process "
    assert (beside.status, beside.stderr[: len(start)]) == (1, start)
    both = set(beside.stderr.removeprefix(start).splitlines()[0].split(", "))
    process.kill()
    process.wait()
    alone = install(workspace, python, LANG="zh_CN.UTF-8")
    assert alone.status == 1
    told = re.fullmatch(
        "错误：另一个 install.sh 或它留下的进程正在 <root>/env 中工作：进程 (.+)\n提示：请等它结束，然后重新运行\n",
        alone.stderr,
    )
    assert told
    assert {one.split()[0] for one in both - set(told[1].split(", "))} == {str(process.pid)}
    assert installed(python) == {}
    os.killpg(process.pid, signal.SIGKILL)
    assert install(workspace, python).status == 0
    assert installed(python) == {"demo": "1.0"}


@pytest.mark.skipif(sys.platform != "linux", reason="install.sh is for Linux")
def test_an_install_that_is_interrupted_says_how_to_go_on(
    workspace: Workspace, waiting: tuple[Path, subprocess.Popen[str]]
) -> None:
    python, process = waiting
    os.killpg(process.pid, signal.SIGINT)  # as a terminal sends it
    run = workspace.finish(process)
    assert (run.status, run.stderr.splitlines()[-1]) == (130, "interrupted; run install.sh again to continue")
    assert tree(workspace.temporary) == {}
    assert install(workspace, python).status == 0


def test_a_disk_that_is_full_at_any_write_costs_no_lock(tmp_path: Path) -> None:
    assert fill_disks(tmp_path / "work", 2, seed=3).killed > 0


def test_a_bundle_for_which_there_is_no_room_is_told_and_made_by_the_next_run(
    workspace: Workspace, index: LoopbackIndex
) -> None:
    """verify.py is longer than what may be written, and comes after the files and some of the texts."""
    index.add_wheel("demo", "1.0")
    workspace.stack("demo")
    workspace.locked()
    run = limited(workspace, 50_000, "bundle", "demo", "out")
    told = (
        "error: the bundle could not be written\n"
        "  at out\n"
        "  File too large\n"
        "hint: choose another folder; files that are there already are not downloaded again\n"
    )
    assert (run.status, run.stdout, run.stderr) == (2, "", told)
    assert not [name for name in tree(workspace.root / "out") if "partial" in name]
    assert workspace.run("bundle", "demo", "out").status == 0
    assert workspace.run("bundle", "--check", "out").status == 0


def test_a_pipe_in_the_place_of_a_bundled_file_is_not_waited_for(workspace: Workspace, index: LoopbackIndex) -> None:
    built = index.add_wheel("demo", "1.0")
    workspace.stack("demo")
    workspace.locked()
    (workspace.root / "out").mkdir()
    os.mkfifo(workspace.root / "out" / built.filename)
    assert workspace.run("bundle", "demo", "out").status == 0
    assert (workspace.root / "out" / built.filename).read_bytes() == built.content


def test_what_a_killed_run_left_of_another_target_goes_too(workspace: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("demo", "1.0")
    workspace.stack("demo")
    left = workspace.locks / "demo" / ".gone.new"
    left.mkdir(parents=True)
    (left / "lock.toml").write_text("format = 1\n")
    workspace.locked()
    assert [path.name for path in (workspace.locks / "demo").iterdir()] == ["there"]


# --- several at once


def test_an_upgrade_is_not_undone_by_four_locks_that_run_at_the_same_time(
    workspace: Workspace, index: LoopbackIndex
) -> None:
    """One after the other, in whatever order, they would all end at the upgrade's lock."""
    index.add_wheel("demo", "1.0", requires=["base"])
    index.add_wheel("base", "1.0")
    workspace.stack("demo")
    workspace.locked()
    for name in ("demo", "base"):
        index.add_wheel(name, "2.0", requires=["base"] if name == "demo" else ())
    workspace.facts("demo", '[[warns]]\ntext = "a fact that came, so every run has a lock to write"\nreason = "r"\n')
    index.fault("/simple/*", delayed(0.3))
    plain = [workspace.start("lock", "demo") for _ in range(4)]
    upgrade = workspace.start("lock", "demo", "--upgrade")
    runs = [workspace.finish(process) for process in (*plain, upgrade)]
    assert [run.status for run in runs] == [0] * 5, runs
    assert workspace.pins() == {"base": "2.0", "demo": "2.0"}
    assert workspace.run("check").status == 0
    before = tree(workspace.locks)
    workspace.locked("--offline")
    assert tree(workspace.locks) == before
    require_sound_cache(workspace.cache)


# --- a cache that is damaged


def releases(workspace: Workspace, index: LoopbackIndex) -> Callable[[], None]:
    """A lock of wheels and an archive; call what comes back to hold it against the lock that is there."""
    for name in ("a", "b", "c"):
        for version in ("1.0", "2.0"):
            index.add_wheel(name, version, requires=["a"] if name != "a" else ())
    index.add_wheel("setuptools", "80.0")
    index.add_archive("d", "1.0")
    workspace.stack("b", "c", "d")
    workspace.locked()
    before = tree(workspace.locks)

    def require_the_same() -> None:
        assert tree(workspace.locks) == before
        shutil.rmtree(workspace.locks)

    require_the_same()
    return require_the_same


def flipped(content: bytes, draw: random.Random) -> bytes:
    at = draw.randrange(len(content))
    return content[:at] + bytes([content[at] ^ (1 << draw.randrange(8))]) + content[at + 1 :]


def cut(content: bytes, draw: random.Random) -> bytes:
    return content[: draw.randrange(len(content))]


@pytest.mark.parametrize("change", [flipped, cut], ids=["a flipped bit", "cut off"])
def test_a_cache_of_which_every_entry_is_damaged_heals_itself(
    workspace: Workspace, index: LoopbackIndex, change: Callable[[bytes, random.Random], bytes]
) -> None:
    require_the_same = releases(workspace, index)
    draw = random.Random(7)
    assert damage(workspace.cache, lambda content: change(content, draw) if content else content) > 15
    workspace.locked()
    require_the_same()
    assert workspace.locked("--offline").stderr == ""
    require_the_same()


@pytest.mark.parametrize("change", [flipped, cut, lambda *_: b""], ids=["a flipped bit", "cut off", "empty"])
def test_a_cache_whose_file_is_damaged_heals_itself(
    workspace: Workspace, index: LoopbackIndex, change: Callable[[bytes, random.Random], bytes]
) -> None:
    require_the_same = releases(workspace, index)
    whole = (workspace.cache / FILE).read_bytes()
    for seed in range(3):
        (workspace.cache / FILE).write_bytes(change(whole, random.Random(seed)))
        workspace.locked()
        require_the_same()
    assert workspace.locked("--offline").stderr == ""
    require_the_same()


def test_a_cache_that_is_none_is_set_aside(workspace: Workspace, index: LoopbackIndex) -> None:
    require_the_same = releases(workspace, index)
    (workspace.cache / FILE).write_text("notes of somebody")
    assert workspace.locked().stderr == (
        "warning: The cache in <root>/cache is damaged (file is not a database); "
        f"it is now {DAMAGED} there, and a new one is used.\n"
    )
    require_the_same()
    assert (workspace.cache / DAMAGED).read_text() == "notes of somebody"
    assert workspace.locked("--offline").stderr == ""
    require_the_same()


# --- clocks


def test_a_clock_that_was_put_back_changes_nothing(workspace: Workspace, index: LoopbackIndex) -> None:
    """Everything in the cache is of next year."""
    require_the_same = releases(workspace, index)
    next_year = time.time() + 365 * 24 * 3600
    for path in workspace.root.rglob("*"):
        if not path.is_symlink():
            os.utime(path, (next_year, next_year))
    index.add_wheel("a", "0.9")  # so that something is written to the cache
    workspace.locked()
    require_the_same()
    workspace.locked("--offline")
    require_the_same()


# --- a home that cannot be written


def test_a_home_that_cannot_be_written_is_a_warning_and_no_more(workspace: Workspace, index: LoopbackIndex) -> None:
    """/proc takes no files of anybody, root included."""
    require_the_same = releases(workspace, index)
    run = workspace.locked(HOME="/proc", ASCEND_LOCK_CACHE="")
    assert run.stderr.startswith("warning: The cache in /proc/.cache/ascend-lock is not writable (")
    assert run.stderr.endswith(
        "); continuing without it.\nhint: set ASCEND_LOCK_CACHE to a folder that you can write to\n"
    )
    require_the_same()


# --- git, whose locks and packs are in the cache too


def test_a_cached_repository_that_is_damaged_or_was_never_finished_is_fetched_anew(
    workspace: Workspace, index: LoopbackIndex
) -> None:
    index.add_wheel("tool", "1.0")
    repository = Repository(workspace.root / "source")
    commit = repository.commit({"pyproject.toml": PROJECT})
    workspace.stack(f"verl @ git+{repository.url}@{commit}")
    workspace.locked()
    before = tree(workspace.locks)
    (cached,) = (workspace.cache / "git").iterdir()
    draw = random.Random(3)
    for path in cached.rglob("*"):
        if path.is_file() and "objects" in path.parts:
            path.chmod(0o644)
            path.write_bytes(flipped(path.read_bytes(), draw))
    shutil.rmtree(workspace.locks)
    assert workspace.locked().stderr == ""
    assert tree(workspace.locks) == before
    shutil.rmtree(cached)
    left = workspace.cache / "git" / ".ascend-lock-killed"  # of a run that was killed while git fetched
    shutil.copytree(repository.folder / ".git", left / "git")
    (left / "git" / "shallow.lock").touch()
    shutil.rmtree(workspace.locks)
    assert workspace.locked().stderr == ""
    assert tree(workspace.locks) == before
    assert {path.name for path in (workspace.cache / "git").iterdir()} == {cached.name, left.name}
    assert workspace.run("cache", "clear").status == 0
    assert list((workspace.cache / "git").iterdir()) == []


PROJECT = """\
[build-system]
requires = ["tool"]
[project]
name = "verl"
version = "0.6"
"""


# --- many in a row


@pytest.mark.skipif(sys.platform != "linux", reason="open files are counted in /proc")
def test_locks_in_a_row_leave_no_file_open_no_thread_and_nothing_on_the_disk(tmp_path: Path) -> None:
    """`make faults` does a thousand."""
    held = lock_often(tmp_path / "work", 24, every=8)
    assert {(one.descriptors - held[0].descriptors, one.threads, one.temporary) for one in held} == {(0, 1, 0)}, held
    assert held[-1].blocks < held[0].blocks * 1.02, held


def test_the_lock_that_cannot_be_written_is_named(workspace: Workspace, index: LoopbackIndex) -> None:
    """Its folder cannot even be made: a link to nothing stands where it belongs."""
    index.add_wheel("demo", "1.0")
    workspace.stack("demo")
    workspace.locks.mkdir(exist_ok=True)
    (workspace.locks / "demo").symlink_to("nowhere/at/all")
    run = workspace.lock()
    assert run.status == 2
    assert run.stderr == (
        "error: the lock could not be written; what was there before is untouched\n"
        "  at locks/demo/there\n"
        "  File exists\n"
        "hint: choose another folder with --locks DIR\n"
    )
