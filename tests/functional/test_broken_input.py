"""Whatever is wrong with the input: the whole message, the status, and the old lock as it was."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Callable

import pytest

from tests.cached import require_sound_cache
from tests.functional.conftest import Setup
from tests.functional.workspace import ANYWHERE, Workspace, tree
from tests.loopback import LoopbackIndex, status, wrong_hashes

HEAD = '[stack]\nname = "demo"\nsummary = "a stack of tests"\n'
A_MIRROR = "hint: a mirror or proxy may serve an altered or incomplete file; try again or use another index\n"
THE_NETWORK = "hint: check the network and proxy (HTTPS_PROXY, NO_PROXY), or lock from the cache with --offline\n"

Refused = Callable[..., None]


def demo_1_0(workspace: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("demo", "1.0")
    workspace.stack("demo")


@pytest.fixture
def refused(workspace: Workspace, begin_with: Callable[[Setup], None]) -> Refused:
    """There is a lock of demo 1.0; whatever the test breaks must leave that lock and nothing else."""
    begin_with(demo_1_0)
    before = tree(workspace.locks)

    def check(*arguments: str, stack: str = "demo", is_status: int, stderr: str) -> None:
        run = workspace.lock(*arguments, stack=stack)
        assert run.stderr == stderr
        assert (run.status, run.stdout) == (is_status, "")
        assert tree(workspace.locks) == before
        assert tree(workspace.temporary) == {}
        require_sound_cache(workspace.cache)

    return check


# --- what people write


def the_text(text: str) -> Callable[[Workspace], None]:
    return lambda workspace: (workspace.matrices / "stacks" / "demo.toml").write_text(text) and None


def the_fact(rows: str) -> Callable[[Workspace], None]:
    return lambda workspace: workspace.facts("demo", rows)


@pytest.mark.parametrize(
    ("write", "stderr"),
    [
        pytest.param(
            the_text(f'{HEAD}sumary = "x"\nrequires = []\n{ANYWHERE}'),
            "error: unknown key `sumary`\n"
            "  at matrices/stacks/demo.toml:4: stack.sumary\n"
            "hint: did you mean `summary`? known keys are name, summary, summary-zh, source, requires, facts, "
            "practices\n",
            id="unknown key of a stack",
        ),
        pytest.param(
            the_fact('[[excludes]]\nversions = ">2"\nreason = "r"\n'),
            "error: the fact `demo-excludes-1` refers to demo >2, but there is no such release\n"
            "  at matrices/facts/demo.toml:6\n"
            "hint: correct `versions`, or remove what is no longer on the index; an index with only selected "
            "releases needs `complete = false` in its row of indexes.toml\n",
            id="fact that no release matches",
        ),
    ],
)
def test_what_is_written_wrongly_is_told_with_its_place(
    workspace: Workspace, refused: Refused, write: Callable[[Workspace], None], stderr: str
) -> None:
    write(workspace)
    refused(is_status=2, stderr=stderr)


@pytest.mark.parametrize("name", ["indexes.toml", "systems.toml", "facts/demo.toml", "stacks/demo.toml"])
def test_a_link_that_leads_nowhere_does_not_count_as_absent(workspace: Workspace, refused: Refused, name: str) -> None:
    path = workspace.matrices / name
    path.unlink(missing_ok=True)
    path.symlink_to("nowhere")
    told = f"matrices/{name}"
    refused(is_status=2, stderr=f"error: `{told}` cannot be read\n  at {told}\n  No such file or directory\n")


def test_an_unknown_command_gives_a_suggestion(workspace: Workspace) -> None:
    run = workspace.run("lok", "demo")
    assert run.stderr == "error: there is no command `lok`\nhint: did you mean `lock`?\n"
    assert (run.status, run.stdout) == (2, "")


def test_an_unknown_option_gives_a_suggestion(refused: Refused) -> None:
    refused(
        "--upgade",
        is_status=2,
        stderr="error: No such option '--upgade'. (Did you mean one of: '--upgrade', '--upgrade-package'?)\n"
        "hint: see `ascend-lock lock --help`\n",
    )


def test_choices_are_told_on_one_line(workspace: Workspace) -> None:
    run = workspace.run("export", "demo")
    assert run.stderr == (
        "error: Missing option '--format'. Choose from: pylock, sbom, containerfile\n"
        "hint: see `ascend-lock export --help`\n"
    )
    assert run.status == 2


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        (("facts", "check", "--nope"), "facts check"),
        (("export", "demo", "--format", "zip"), "export"),
        (("--nope",), ""),
    ],
)
def test_the_help_that_is_named_is_that_of_the_command(
    workspace: Workspace, arguments: tuple[str, ...], command: str
) -> None:
    assert workspace.run(*arguments).stderr.endswith(f"hint: see `ascend-lock{command and ' '}{command} --help`\n")


def test_a_lock_that_a_merge_left_half_done_is_refused(workspace: Workspace, index: LoopbackIndex) -> None:
    folder = workspace.locks / "demo" / "there"
    folder.mkdir(parents=True)
    (folder / "lock.toml").write_text("format = 1\n<<<<<<< HEAD\n")
    workspace.stack("demo")
    run = workspace.lock()
    assert run.stderr == (
        "error: the lock has the conflict markers of a merge\n"
        "  at locks/demo/there/lock.toml\n"
        "hint: git checkout --ours -- locks/demo/there, then lock again: pins that still fit are kept\n"
    )
    assert (run.status, run.stdout) == (2, "")
    assert (folder / "lock.toml").read_text() == "format = 1\n<<<<<<< HEAD\n"
    checked = workspace.run("check")
    assert checked.status == 4
    assert checked.stdout == (
        "demo for there: the lock has the conflict markers of a merge\n"
        "hint: git checkout --ours -- locks/demo/there\nhint: ascend-lock lock demo\n"
    )
    assert workspace.run("check", "--lang", "zh").stdout.startswith("demo，目标 there：锁文件中有合并冲突的标记\n")


def test_a_merge_of_two_locks_is_mended_as_the_hints_say(workspace: Workspace, index: LoopbackIndex) -> None:
    def git(*words: str) -> int:
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@localhost", *words]
        return subprocess.run(command, cwd=workspace.root, check=False, capture_output=True).returncode

    for name in ("a", "b"):
        index.add_wheel(name, "1.0")
    workspace.stack("a", "b")
    workspace.locked()
    assert (git("init", "-b", "main"), git("add", "."), git("commit", "-m", "both at 1.0")) == (0, 0, 0)
    for name in ("a", "b"):
        index.add_wheel(name, "2.0")
        assert git("switch", "-c", name, "main") == 0
        workspace.locked("--upgrade-package", name)
        assert git("commit", "-am", f"{name} at 2.0") == 0
    assert git("merge", "a") == 1
    hints = workspace.run("check").stdout.splitlines()[1:]
    assert hints == ["hint: git checkout --ours -- locks/demo/there", "hint: ascend-lock lock demo"]
    assert git(*shlex.split(hints[0])[2:]) == 0
    workspace.locked()
    assert workspace.pins() == {"a": "1.0", "b": "2.0"}
    assert workspace.run("check").status == 0


def test_a_lock_that_is_no_file_is_not_waited_for(workspace: Workspace, index: LoopbackIndex) -> None:
    folder = workspace.locks / "demo" / "there"
    folder.mkdir(parents=True)
    os.mkfifo(folder / "lock.toml")
    workspace.stack("demo")
    run = workspace.lock()
    assert (run.status, run.stderr) == (
        2,
        (
            "error: the lock cannot be read\n  at locks/demo/there/lock.toml\n  it is not a regular file\n"
            "hint: move what is there out of the way, or choose another folder with --locks DIR\n"
        ),
    )
    checked = workspace.run("check", "--lang", "en")
    assert (checked.status, checked.stdout.splitlines()[0]) == (
        4,
        "demo for there: the lock cannot be read: it is not a regular file",
    )


def test_upgrade_does_what_that_hint_says(workspace: Workspace, begin_with: Callable[[Setup], None]) -> None:
    begin_with(demo_1_0)
    (workspace.folder() / "lock.toml").write_text("format = 1\n<<<<<<< HEAD\n")
    workspace.locked("--upgrade")
    assert workspace.pins() == {"demo": "1.0"}


# --- what an index answers


def test_an_index_that_is_down(refused: Refused, workspace: Workspace) -> None:
    workspace.index_url = "http://127.0.0.1:9/simple/"  # the port of `discard`, where nothing listens
    refused(
        is_status=3,
        stderr="error: Index `pypi` cannot be reached.\n"
        "  at <server>/simple/demo/\n"
        "  Connection refused (4 tries).\n" + THE_NETWORK,
    )


def test_an_archive_whose_hash_does_not_match(refused: Refused, index: LoopbackIndex, workspace: Workspace) -> None:
    built = index.add_archive("demo", "2.0")
    workspace.stack("demo==2.0")
    index.fault("/simple/*", wrong_hashes())
    refused(
        is_status=3,
        stderr="error: demo-2.0.tar.gz is not the file listed on its index page.\n"
        "  at <server>/files/pypi/demo-2.0.tar.gz\n"
        f"  Its sha256 is {built.sha256}; the page says {built.sha256[::-1]}.\n" + A_MIRROR,
    )


def test_a_page_that_names_a_file_which_is_not_there(
    refused: Refused, index: LoopbackIndex, workspace: Workspace
) -> None:
    index.add_archive("demo", "2.0")
    workspace.stack("demo==2.0")
    index.fault("/files/*.tar.gz", status(404))
    refused(
        is_status=3,
        stderr="error: demo-2.0.tar.gz cannot be downloaded.\n"
        "  at <server>/files/pypi/demo-2.0.tar.gz\n"
        "  The server answered 404.\n"
        "hint: the index page lists a file that its server does not provide; a mirror may be incomplete\n",
    )


def test_plain_http_to_another_machine_is_not_asked(refused: Refused, workspace: Workspace) -> None:
    workspace.index_url = "http://user:secret@example.org/simple"
    refused(
        is_status=2,
        stderr="error: The address of index `pypi` is plain http.\n"
        "  at index `pypi`: http://example.org/simple\n"
        "  Anyone on the network path could change pages and hashes alike.\n"
        "hint: use https; pip's trusted-host setting is ignored\n",
    )


@pytest.mark.parametrize("name", ["facts/a.toml", "indexes.toml", "systems.toml"])
def test_a_pipe_or_device_in_place_of_a_file(workspace: Workspace, name: str) -> None:
    """A repository may hold a symlink to one: nothing waits for it, or reads it for ever."""
    workspace.stack("a")
    path = workspace.matrices / name
    os.mkfifo(path)
    run = workspace.lock()
    assert (run.status, run.stderr.splitlines()[2]) == (2, "  it is not a regular file")
    path.unlink()
    path.symlink_to("/dev/zero")
    assert workspace.lock() == run


TWO = '[[target]]\nname = "one"\npython = "3.11"\nplatform = "linux-aarch64"\n'
TWO += '[[target]]\nname = "other"\npython = "3.11"\nplatform = "linux-x86_64"\n'


def test_the_lock_of_another_target_is_not_taken_for_this_ones(workspace: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("demo", "1.0")
    workspace.stack("demo", target=TWO)
    workspace.locked()
    folder = workspace.locks / "demo" / "other"
    shutil.rmtree(folder)
    shutil.copytree(folder.with_name("one"), folder)
    before = tree(workspace.locks)
    run = workspace.run("check", "demo")
    assert run.status == 4
    assert run.stdout == (
        "demo for one: current\n"
        "demo for other: the lock cannot be read: it is the lock of demo for one\n"
        "hint: ascend-lock lock demo --upgrade\n"
    )
    for command in (
        ("lock", "demo"),
        ("explain", "demo", "--package", "demo"),
        ("bundle", "demo", "files", "--target", "other"),
        ("export", "demo", "--target", "other", "--format", "sbom"),
        ("verify", "demo", "--target", "other"),
    ):
        run = workspace.run(*command)
        assert run.status == 2
        assert run.stderr == (
            "error: the lock cannot be read\n"
            "  at locks/demo/other/lock.toml\n"
            "  it is the lock of demo for one\n"
            "hint: restore it from version control, or lock with --upgrade, which ignores it\n"
        )
    assert tree(workspace.locks) == before
    assert workspace.lock("--upgrade").status == 0
    assert workspace.run("check", "demo").status == 0
