"""Whatever fails or ends a run, the old or the new lock is there, and the next run repairs it.

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

from resolver.index.store.cache import FILE
from tests.cached import damage, require_sound_cache
from tests.faults.kills import kill_bundles, kill_installs, kill_locks
from tests.faults.room import fill_disks, limited
from tests.faults.row import lock_in_a_row, lock_often
from tests.faults.upgrades import kill_upgrades
from tests.functional.machine import environment, install, installed, make_environment
from tests.functional.workspace import HERE, Workspace, targets, tree, wait_until
from tests.loopback import LoopbackIndex, delayed

INTERRUPTED = (
    "\ninterrupted; no lock was left half-written\n"  # on a terminal the first line holds ^C
)
NOT_WRITTEN = "the lock could not be written; what was there before is untouched"


@pytest.fixture
def demo(workspace: Workspace) -> Workspace:
    """demo 1.0 is locked, and the stack asks for 2.0 now."""
    workspace.serve("demo 1.0 2.0")
    workspace.locked_before("demo==1.0")
    workspace.stack("demo==2.0")
    return workspace


# --- signals


@pytest.mark.parametrize(
    ("asks", "pattern", "number"),
    [
        ("demo==2.0", "/simple/*", signal.SIGINT),
        ("demo==2.0", "/simple/*", signal.SIGTERM),
        ("demo==3.0", "/files/*.tar.gz", signal.SIGINT),  # no part of the archive is left
    ],
)
def test_an_interrupt_while_an_index_is_waited_for(
    demo: Workspace, index: LoopbackIndex, asks: str, pattern: str, number: signal.Signals
) -> None:
    index.add_archive("demo", "3.0")
    demo.stack(asks)
    index.fault(pattern, delayed(60))
    before = tree(demo.locks)
    # modules are loaded meanwhile, and the file of one is left open where the signal meets its
    # opening
    process = demo.start("lock", "demo", PYTHONWARNINGS="")
    wait_until(
        lambda: any(one.path.startswith(pattern[:6]) for one in list(index.requests)), process
    )
    process.send_signal(number)
    run = demo.finish(process)
    assert (run.status, run.stdout, run.stderr) == (130, "", INTERRUPTED)
    assert tree(demo.locks) == before
    assert tree(demo.temporary) == {}


@pytest.mark.skipif(sys.platform != "linux", reason="a device that is always full is Linux's")
def test_an_interrupt_of_which_nothing_can_be_told(demo: Workspace) -> None:
    """A terminal that is gone refuses what is written to it, as a full disk does."""
    demo.index.fault("/simple/*", delayed(60))
    before = tree(demo.locks)
    with Path("/dev/full").open("wb") as full:
        process = demo.start("lock", "demo", stderr=full)
    wait_until(lambda: bool(demo.index.requests), process)
    process.send_signal(signal.SIGHUP)
    stdout, _ = process.communicate(timeout=60)
    assert (process.returncode, stdout) == (130, "")
    assert tree(demo.locks) == before
    assert tree(demo.temporary) == {}


LISTEN = "import signal\nfrom resolver.cli.commands import listen\n"
IGNORED = (
    LISTEN
    + "signal.signal(signal.{0}, signal.SIG_IGN)\nlisten()\nsignal.raise_signal(signal.{0})\n"
    "print('ended')"
)
# The process is ended all the same, and not waited for.
IGNORED_ABOVE_A_PROCESS = """
import signal, time
from resolver.cli.processes import processes
signal.signal(signal.SIGTERM, signal.SIG_IGN)
with processes(1) as executor:
    call = executor.submit(time.sleep, 600)
    while not call.running():
        time.sleep(0.01)
print("ended")
"""
TWICE = f"""{LISTEN}
listen()
try:
    signal.raise_signal(signal.SIGINT)
except KeyboardInterrupt:
    signal.raise_signal(signal.SIGINT)
    signal.raise_signal(signal.SIGTERM)
    print("ended")
"""
AMONG_THE_IMPORTS = """
import signal, sys
class Import:
    def find_spec(self, name, *_):
        if name == "click":
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Import())
from resolver.cli import main
main()
"""
# Python passes over what is raised when an object goes, with a traceback: the run would go on.
GONE = (
    LISTEN
    + """
import os
listen()
class Gone:
    def __del__(self):
        {}
        for _ in range(1000):
            pass
Gone()
print("ended")
"""
)
WITHIN_A_FAILURE = """
from resolver.cli import commands
def fail(**options):
    try:
        raise KeyboardInterrupt
    finally:
        raise ValueError
commands._commands = fail
commands.main()
"""


@pytest.mark.parametrize(
    ("code", "status", "stdout", "stderr"),
    [
        (IGNORED.format("SIGINT"), 0, "ended\n", ""),
        (IGNORED.format("SIGHUP"), 0, "ended\n", ""),
        (IGNORED.format("SIGTERM"), 0, "ended\n", ""),
        (IGNORED_ABOVE_A_PROCESS, 0, "ended\n", ""),
        (TWICE, 0, "ended\n", ""),  # a second one does not break off what the first one made end
        (
            AMONG_THE_IMPORTS,
            -signal.SIGINT,
            "",
            "",
        ),  # it died of SIGINT: its shell knows what that means
        (GONE.format("os.kill(os.getpid(), signal.SIGTERM)"), 130, "", re.escape(INTERRUPTED)),
        (
            GONE.format("1 / 0"),
            0,
            "ended\n",
            "Exception ignored in: (?s:.*)\nZeroDivisionError: division by zero\n",
        ),
        (WITHIN_A_FAILURE, 130, "", re.escape(INTERRUPTED)),
    ],
    ids=[
        "ignored",
        "ignored by nohup",
        "ignored by a trap",
        "ignored above a process",
        "twice",
        "imports",
        "an object goes",
        "no interrupt",
        "within a failure",
    ],
)
def test_what_an_interrupt_does_and_does_not_end(
    code: str, status: int, stdout: str, stderr: str
) -> None:
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert (run.returncode, run.stdout) == (status, stdout)
    assert re.fullmatch(stderr, run.stderr), run.stderr


def test_an_interrupt_while_the_lock_is_written(demo: Workspace) -> None:
    before = tree(demo.locks)
    # a file is left open where the signal meets its opening
    process = demo.start("lock", "demo", PYTHONWARNINGS="")
    wait_until((demo.locks / "demo" / ".there.ascend-lock-new").exists, process)
    process.send_signal(signal.SIGINT)
    run = demo.finish(process)
    assert (run.status, run.stdout, run.stderr) == (130, "", INTERRUPTED)
    found = tree(demo.locks)
    demo.locked()
    assert found in (before, tree(demo.locks)), "which it is where the signal comes late"


@pytest.mark.parametrize(
    ("left", "asks"),
    [
        (".there.ascend-lock-new", "1.0"),
        (".gone.ascend-lock-new", "2.0"),
        (".there.ascend-lock-old", "1.0"),
    ],
)
def test_next_run_cleans_up_after_a_killed_run(demo: Workspace, left: str, asks: str) -> None:
    """After the exchange, of another target, between two renames: the lock keeps its pins."""
    demo.stack("demo" if left == ".there.ascend-lock-old" else f"demo=={asks}")
    before = tree(demo.locks)
    take = shutil.move if left == ".there.ascend-lock-old" else shutil.copytree
    take(demo.folder(), demo.locks / "demo" / left)
    demo.locked()
    assert demo.pins() == {"demo": asks}
    assert tree(demo.locks).keys() == before.keys()


# --- no room


def test_locks_of_two_targets_are_written_both_or_neither(workspace: Workspace) -> None:
    workspace.serve("demo 1.0")
    one, two = targets("aarch64"), targets("x86_64")  # with more to check, so a longer verify.py
    workspace.locked_stack("demo", target=f'{one}{two}[target.system]\ncann = "8.5.0"\n')
    workspace.serve("demo 2.0")
    before = tree(workspace.locks)
    limit = len(before["demo/aarch64/verify.py"] or b"") + 10
    run = limited(workspace, limit, "lock", "demo", "--upgrade")
    assert (run.status, run.stdout, run.error) == (2, "", NOT_WRITTEN)
    assert "\n  at locks/demo/x86_64\n" in run.stderr
    assert tree(workspace.locks) == before


def test_a_lock_that_cannot_be_written_is_named(demo: Workspace) -> None:
    """A file or a broken link is where the folder would be. This stops even root."""
    for name, where in (
        ("blocked", "blocked/demo/there/lock.toml"),
        ("linked", "linked/demo/there"),
    ):
        (demo.root / name).mkdir()
        demo_there = demo.root / name / "demo"
        demo_there.write_text("") if name == "blocked" else demo_there.symlink_to("nowhere/at/all")
        run = demo.lock("--locks", name)
        assert (run.status, run.stdout, f"\n  at {where}\n" in run.stderr) == (2, "", True)
        assert run.error == ("the lock cannot be read" if name == "blocked" else NOT_WRITTEN)


def test_a_cache_that_cannot_be_written_is_a_warning(demo: Workspace) -> None:
    """/proc takes no files of anybody, root included."""
    demo.cache.write_text("not a folder")
    told = (
        "warning: The cache in <root>/cache is not writable (Not a directory); continuing "
        "without it.\nhint: "
    )
    assert demo.locked().stderr.startswith(told)
    run = demo.locked(HOME="/proc", ASCEND_LOCK_CACHE="")
    assert run.stderr.startswith("warning: The cache in /proc/.cache/ascend-lock is not writable (")


MEMORY = """
import resource, threading
from pathlib import Path
from resolver.cli.commands import failure
pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (1 << 20),) * 2)
try:
    {}
except Exception as error:
    told = failure(error)
    print(told.exit_status, told.why)
"""


@pytest.mark.parametrize(
    ("work", "why"),
    [
        ("threading.Thread(target=print).start()", "can't start new thread"),
        # word for word the loader's
        (
            "raise ImportError('libssl.so.3: failed to map segment from shared object')",
            "libssl.so.3: failed to map segment from shared object",
        ),
        ("bytes(1 << 30)", "out of memory"),
    ],
)
def test_what_memory_is_not_there_for_is_no_mistake_of_ours(work: str, why: str) -> None:
    run = subprocess.run(
        [sys.executable, "-c", MEMORY.format(work)], capture_output=True, text=True, check=False
    )
    assert (run.stdout, run.stderr) == (f"2 {why}\n", "")


# --- kills and full disks


def test_killed_lock_leaves_the_old_lock_or_the_new_one(
    tmp_path: Path,
) -> None:
    assert (
        kill_locks(tmp_path / "work", 4, seed=2).killed >= 1
    )  # no two runs write as often: one may end before


def test_killed_bundle_is_whole_after_the_next_run(
    tmp_path: Path,
) -> None:
    assert kill_bundles(tmp_path / "work", 2, seed=2).killed >= 1


@pytest.mark.skipif(sys.platform != "linux", reason="install.sh is for Linux")
def test_killed_install_is_whole_after_the_next_run(
    tmp_path: Path,
) -> None:
    assert kill_installs(tmp_path / "work", 1, seed=2).killed == 1


@pytest.mark.skipif(sys.platform != "linux", reason="install.sh is for Linux")
def test_killed_upgrade_is_whole_after_the_next_run(tmp_path: Path) -> None:
    assert kill_upgrades(tmp_path / "work", 2, seed=3).killed == 2


@pytest.fixture
def waiting(
    workspace: Workspace, index: LoopbackIndex
) -> Iterator[tuple[Path, subprocess.Popen[str]]]:
    """A new environment, and an install.sh in it whose pip waits for a wheel."""
    workspace.serve("demo 1.0")
    workspace.locked_stack("demo", target=HERE)
    python = make_environment(workspace.root / "env")
    index.fault("/files/*", delayed(60), times=1)
    index.clear()
    command = [str(workspace.folder() / "install.sh"), "--python", str(python)]
    process = workspace.begin(
        command, env=environment(workspace), start_new_session=True
    )  # as on a terminal
    wait_until(
        lambda: any(request.path.startswith("/files/") for request in index.requests), process
    )
    yield python, process
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


@pytest.mark.skipif(sys.platform != "linux", reason="install.sh is for Linux")
def test_install_does_not_wait_for_another_or_for_its_pip(
    workspace: Workspace, waiting: tuple[Path, subprocess.Popen[str]]
) -> None:
    python, process = waiting
    beside = install(workspace, python)
    start = "error: another install.sh, or a process that it left behind, is running in <root>/env: process "
    assert (beside.status, beside.stderr[: len(start)]) == (1, start)
    both = set(beside.stderr.removeprefix(start).splitlines()[0].split(", "))
    process.kill()
    process.wait()
    alone = install(workspace, python, LANG="zh_CN.UTF-8")
    assert alone.status == 1
    told = re.fullmatch(
        "错误：另一个 install.sh 或它留下的进程正在 <root>/env 中运行：进程 (.+)\n"
        "提示：请等它结束后重新运行\n",
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
    _, process = waiting
    os.killpg(process.pid, signal.SIGINT)  # as a terminal sends it
    run = workspace.finish(process)
    assert (run.status, run.stderr.splitlines()[-1]) == (
        130,
        "interrupted; run install.sh again to continue",
    )
    assert tree(workspace.temporary) == {}


def test_a_disk_that_is_full_at_any_write_costs_no_lock(tmp_path: Path) -> None:
    assert fill_disks(tmp_path / "work", 2, seed=3).killed > 0


def test_bundle_on_a_full_disk_fails_and_the_next_run_makes_it(
    demo: Workspace,
) -> None:
    """verify.py is longer than what may be written, and comes after the files."""
    run = limited(demo, 50_000, "bundle", "demo", "out")
    assert (run.status, run.stdout, run.error) == (2, "", "the bundle could not be written")
    assert not [name for name in tree(demo.root / "out") if "partial" in name]
    assert demo.run("bundle", "demo", "out").status == 0
    assert demo.run("bundle", "--check", "out").status == 0


def test_a_pipe_in_the_place_of_a_bundled_file_is_not_waited_for(demo: Workspace) -> None:
    wheel = demo.root / "out" / "demo-1.0-py3-none-any.whl"
    wheel.parent.mkdir()
    os.mkfifo(wheel)
    assert demo.run("bundle", "demo", "out").status == 0
    assert demo.run("bundle", "--check", "out").status == 0


# --- several at once


def test_lock_does_not_undo_an_upgrade_that_runs_meanwhile(workspace: Workspace) -> None:
    """One after the other, in whatever order, they would all end at the upgrade's lock."""
    workspace.serve("demo 1.0: base", "base 1.0")
    workspace.stack("demo")
    first = [
        workspace.finish(process) for process in [workspace.start("lock", "demo") for _ in range(2)]
    ]
    assert [(run.status, run.stderr) for run in first] == [(0, "")] * 2, first
    workspace.serve("demo 2.0: base", "base 2.0")
    workspace.facts(
        "demo",
        '[[warns]]\ntext = "a fact that came, so every run has a lock to write"\nreason = "r"\n',
    )
    workspace.index.fault("/simple/*", delayed(0.3))
    plain = [workspace.start("lock", "demo") for _ in range(3)]
    upgrade = workspace.start("lock", "demo", "--upgrade")
    runs = [workspace.finish(process) for process in (*plain, upgrade)]
    assert [run.status for run in runs] == [0] * 4, runs
    assert workspace.pins() == {"base": "2.0", "demo": "2.0"}
    assert workspace.run("check").status == 0
    before = tree(workspace.locks)
    workspace.locked("--offline")
    assert tree(workspace.locks) == before
    require_sound_cache(workspace.cache)


# --- a cache that is damaged


def releases(workspace: Workspace) -> Callable[[], None]:
    """Lock wheels and an archive. The result compares that lock with the one that is there."""
    for name in ("a", "b", "c"):
        for version in ("1.0", "2.0"):
            workspace.index.add_wheel(name, version, requires=["a"] if name != "a" else ())
    workspace.serve("setuptools 80.0")
    workspace.index.add_archive("d", "1.0")
    workspace.locked_stack("b", "c", "d")
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
    workspace: Workspace, change: Callable[[bytes, random.Random], bytes]
) -> None:
    require_the_same = releases(workspace)
    draw = random.Random(7)
    assert (
        damage(workspace.cache, lambda content: change(content, draw) if content else content) > 9
    )
    workspace.locked()
    require_the_same()
    assert workspace.locked("--offline").stderr == ""
    require_the_same()


@pytest.mark.parametrize(
    "change", [flipped, cut, lambda *_: b""], ids=["a flipped bit", "cut off", "empty"]
)
def test_a_cache_whose_file_is_damaged_heals_itself(
    workspace: Workspace, change: Callable[[bytes, random.Random], bytes]
) -> None:
    require_the_same = releases(workspace)
    whole = (workspace.cache / FILE).read_bytes()
    for seed in range(3):
        (workspace.cache / FILE).write_bytes(change(whole, random.Random(seed)))
        workspace.locked()
        require_the_same()
    assert workspace.locked("--offline").stderr == ""
    require_the_same()


@pytest.mark.parametrize("name", [f"{FILE}-journal", f"{FILE}-wal"])
def test_a_pipe_in_the_cache_is_not_waited_for(demo: Workspace, name: str) -> None:
    demo.locked("--dry-run")
    assert (demo.cache / FILE).exists()
    os.mkfifo(demo.cache / name)
    run = demo.finish(demo.start("lock", "demo"))
    assert (run.status, demo.pins()) == (0, {"demo": "2.0"})
    assert run.stderr.startswith(
        f"warning: {name} in the cache folder <root>/cache does not belong to the cache: "
    )
    assert run.stderr.endswith(f" It was renamed to {name}.damaged.\n")
    assert demo.run("cache", "clear").status == 0
    assert not (demo.cache / f"{name}.damaged").exists()


def test_a_clock_that_was_put_back_changes_nothing(
    workspace: Workspace, index: LoopbackIndex
) -> None:
    """Everything in the cache is of next year."""
    require_the_same = releases(workspace)
    next_year = time.time() + 365 * 24 * 3600
    for path in workspace.root.rglob("*"):
        if not path.is_symlink():
            os.utime(path, (next_year, next_year))
    index.add_wheel("a", "0.9")  # so that something is written to the cache
    workspace.locked()
    require_the_same()
    workspace.locked("--offline")
    require_the_same()


@pytest.mark.skipif(sys.platform != "linux", reason="open files are counted in /proc")
def test_locks_in_a_row_leave_no_file_thread_or_temporary_file(
    tmp_path: Path,
) -> None:
    """`make faults` does a thousand."""
    held = lock_often(tmp_path / "work", 24, every=8)
    assert {
        (one.descriptors - held[0].descriptors, one.threads, one.temporary) for one in held
    } == {(0, 0, 0)}, held
    assert held[-1].blocks < held[0].blocks * 1.02, held


def test_row_of_faults_takes_any_number(tmp_path: Path) -> None:
    """`make faults N=1` measures as often as with any other number."""
    assert lock_in_a_row(tmp_path / "work", 1, 1).ended == 40
