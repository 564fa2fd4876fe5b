"""What breaks a run off in the middle leaves the whole old lock or the whole new one."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cached import require_sound_cache
from tests.faults.room import limited
from tests.functional.conftest import Setup
from tests.functional.workspace import COMMAND, Workspace, tree, wait_until
from tests.loopback import LoopbackIndex, delayed

INTERRUPTED = "\ninterrupted; no lock was left half-written\n"  # on a terminal the first line holds ^C
REFUSED = (
    "error: the lock could not be written; what was there before is untouched\n"
    "  at locks/demo/there\n"
    "  {why}\n"
    "hint: {hint}choose another folder with --locks DIR\n"
)


# What is kept of a lock is one file that is longer than each of the lock's.
UNCACHED = (
    "warning: The cache in <root>/cache is not writable (disk I/O error); continuing without it.\n"
    "hint: set ASCEND_LOCK_CACHE to a folder that you can write to\n"
)


def two_releases(workspace: Workspace, index: LoopbackIndex) -> None:
    for version in ("1.0", "2.0"):
        index.add_wheel("demo", version)
    workspace.stack("demo==1.0")


@pytest.fixture
def releases(workspace: Workspace, begin_with: Callable[[Setup], None]) -> Callable[[str], None]:
    """Two releases of demo; 1.0 is locked. Call it with the version that the stack asks for next."""
    begin_with(two_releases)

    def ask(version: str) -> None:
        workspace.stack(f"demo=={version}")

    return ask


# --- signals


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_while_an_index_is_waited_for(
    workspace: Workspace, index: LoopbackIndex, releases: Callable[[str], None], number: signal.Signals
) -> None:
    releases("2.0")
    index.fault("/simple/*", delayed(60))
    index.clear()
    before = tree(workspace.locks)
    # modules are loaded meanwhile, and the file of one is left open where the signal meets its opening
    process = workspace.start("lock", "demo", PYTHONWARNINGS="")
    wait_until(lambda: bool(index.requests), process)
    process.send_signal(number)
    run = workspace.finish(process)
    assert (run.status, run.stdout, run.stderr) == (130, "", INTERRUPTED)
    assert tree(workspace.locks) == before
    assert tree(workspace.temporary) == {}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_what_was_ignored_interrupts_nothing(number: signal.Signals) -> None:
    code = f"""
import signal
from resolver.cli.commands import listen
signal.signal({number:d}, signal.SIG_IGN)
listen()
signal.raise_signal({number:d})
print("ended")
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout, run.stderr) == (0, "ended\n", "")


@pytest.mark.skipif(sys.platform != "linux", reason="a device that is always full is Linux's")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_an_interrupt_of_which_nothing_can_be_told(
    workspace: Workspace, index: LoopbackIndex, releases: Callable[[str], None], number: signal.Signals
) -> None:
    """A terminal that is gone refuses what is written to it, as a full disk does."""
    releases("2.0")
    index.fault("/simple/*", delayed(60))
    index.clear()
    before = tree(workspace.locks)
    with Path("/dev/full").open("wb") as full:
        process = subprocess.Popen(
            [COMMAND, "lock", "demo"],
            cwd=workspace.root,
            env=workspace.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=full,
            text=True,
        )
    wait_until(lambda: bool(index.requests), process)
    process.send_signal(number)
    stdout, _ = process.communicate(timeout=60)
    assert (process.returncode, stdout) == (130, "")
    assert tree(workspace.locks) == before
    assert tree(workspace.temporary) == {}


def test_a_second_interrupt_does_not_break_off_what_the_first_one_made_end() -> None:
    code = """
import signal
from resolver.cli.commands import listen
listen()
try:
    signal.raise_signal(signal.SIGINT)
except KeyboardInterrupt:
    signal.raise_signal(signal.SIGINT)
    signal.raise_signal(signal.SIGTERM)
    print("ended")
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout, run.stderr) == (0, "ended\n", "")


def test_an_interrupt_among_the_imports_tells_nothing() -> None:
    """A process that died of SIGINT: its shell knows what that means."""
    code = """
import signal, sys
class Import:
    def find_spec(self, name, *_):
        if name == "click":
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Import())
from resolver.cli import main
main()
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout, run.stderr) == (-signal.SIGINT, "", "")


def test_an_interrupt_while_an_archive_is_downloaded_leaves_no_part_of_it(
    workspace: Workspace, index: LoopbackIndex, releases: Callable[[str], None]
) -> None:
    index.add_archive("demo", "3.0")
    index.fault("/files/*.tar.gz", delayed(60))
    releases("3.0")
    before = tree(workspace.locks)
    process = workspace.start("lock", "demo")
    wait_until(lambda: any(request.path.endswith(".tar.gz") for request in index.requests), process)
    process.send_signal(signal.SIGINT)
    run = workspace.finish(process)
    assert (run.status, run.stdout, run.stderr) == (130, "", INTERRUPTED)
    assert tree(workspace.locks) == before
    assert tree(workspace.temporary) == {}


def test_an_interrupt_while_the_lock_is_written(workspace: Workspace, releases: Callable[[str], None]) -> None:
    releases("2.0")
    before = tree(workspace.locks)
    # a file is left open where the signal meets its opening
    process = workspace.start("lock", "demo", PYTHONWARNINGS="")
    wait_until((workspace.locks / "demo" / ".there.new").exists, process)
    process.send_signal(signal.SIGINT)
    run = workspace.finish(process)
    assert (run.status, run.stdout, run.stderr) == (130, "", INTERRUPTED)
    assert tree(workspace.locks) == before


def test_what_a_run_left_that_was_killed_after_the_exchange_goes_with_the_next(
    workspace: Workspace, releases: Callable[[str], None]
) -> None:
    before = tree(workspace.locks)
    shutil.copytree(workspace.folder(), workspace.locks / "demo" / ".there.new")
    workspace.locked()
    assert tree(workspace.locks) == before


def test_a_run_that_was_killed_between_two_renames_is_finished_by_the_next(
    workspace: Workspace, releases: Callable[[str], None]
) -> None:
    before = tree(workspace.locks)
    workspace.stack("demo")
    shutil.move(workspace.folder(), workspace.locks / "demo" / ".there.old")
    workspace.locked()
    assert workspace.pins() == {"demo": "1.0"}, "the lock that is found again keeps its pins"
    assert tree(workspace.locks).keys() == before.keys()


# --- no room


def test_a_file_that_cannot_grow_any_more(workspace: Workspace, releases: Callable[[str], None]) -> None:
    releases("2.0")
    before = tree(workspace.locks)
    run = limited(workspace, 4000, "lock", "demo")  # install.sh is longer, nothing else is
    assert run.stderr == UNCACHED + REFUSED.format(why="File too large", hint="")
    assert (run.status, run.stdout) == (2, "")
    assert tree(workspace.locks) == before


def test_locks_of_two_targets_are_written_both_or_neither(workspace: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("demo", "1.0")
    one = '[[target]]\nname = "one"\npython = "3.11"\nplatform = "linux-aarch64"\n'
    two = one.replace("one", "two") + '[target.system]\ncann = "8.5.0"\n'  # more to check, so a longer verify.py
    workspace.stack("demo", target=one + two)
    workspace.locked()
    index.add_wheel("demo", "2.0")
    before = tree(workspace.locks)
    limit = len(before["demo/one/verify.py"] or b"") + 10
    run = limited(workspace, limit, "lock", "demo", "--upgrade")
    told = REFUSED.format(why="File too large", hint="").replace("at locks/demo/there", "at locks/demo/two")
    assert run.stderr == told
    assert (run.status, run.stdout) == (2, "")
    assert tree(workspace.locks) == before


def test_a_folder_that_must_not_be_written(workspace: Workspace, releases: Callable[[str], None]) -> None:
    """A file stands where the folder would be: this also stops root, whom permissions do not."""
    releases("2.0")
    blocked = workspace.root / "blocked"
    blocked.mkdir()
    (blocked / "demo").write_text("")
    run = workspace.lock("--locks", "blocked")
    assert run.stderr == (
        "error: the lock cannot be read\n  at blocked/demo/there/lock.toml\n  Not a directory\n"
        "hint: move what is there out of the way, or choose another folder with --locks DIR\n"
    )
    assert (run.status, run.stdout) == (2, "")
    assert tree(blocked) == {"demo": b""}


# A name space of its own, with the right to mount in it, takes the mount away with the process.


def test_a_cache_that_cannot_be_written_is_a_warning(workspace: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("demo", "1.0")
    workspace.stack("demo")
    workspace.cache.write_text("not a folder")
    run = workspace.locked()
    assert run.stderr == (
        "warning: The cache in <root>/cache is not writable (Not a directory); continuing without it.\n"
        "hint: set ASCEND_LOCK_CACHE to a folder that you can write to\n"
    )


# --- several at once


def test_locks_of_the_same_stack_at_once(workspace: Workspace, index: LoopbackIndex) -> None:
    many = 4
    for number in range(20):
        index.add_wheel(f"part{number}", "1.0")
    workspace.stack(*[f"part{number}" for number in range(20)])
    processes = [workspace.start("lock", "demo") for _ in range(many)]
    runs = [workspace.finish(process) for process in processes]
    assert [(run.status, run.stderr) for run in runs] == [(0, "")] * many
    together = tree(workspace.locks)
    shutil.rmtree(workspace.locks)
    workspace.locked()
    assert tree(workspace.locks) == together
    require_sound_cache(workspace.cache)


@pytest.mark.parametrize(
    ("work", "why"),
    [
        ("threading.Thread(target=print).start()", "can't start new thread"),
        ("raise ImportError('libssl.so.3: failed to map segment')", "libssl.so.3: failed to map segment"),
        ("bytes(1 << 30)", "out of memory"),
    ],
)
def test_what_memory_is_not_there_for_is_no_mistake_of_ours(work: str, why: str) -> None:
    code = f"""
import resource, threading
from pathlib import Path
from resolver.cli.commands import failure
pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (1 << 20),) * 2)
try:
    {work}
except Exception as error:
    print(failure(error))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    limits = "`ulimit -v` and `-u`, a container's limits, and whether programs may run from there (noexec)"
    told = f"the operating system refused\n  {why}\nhint: check {limits}\n"
    assert (run.stdout, run.stderr) == (told, "")
