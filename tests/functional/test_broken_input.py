"""Whatever is wrong with the input: an error, the status, and the old lock as it was."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from collections.abc import Callable

import pytest

from tests.cached import require_sound_cache
from tests.functional.workspace import UNREACHABLE, Workspace, targets, tree
from tests.loopback import status, wrong_hashes


def link_to_nowhere(name: str) -> Callable[[Workspace], None]:
    def link(workspace: Workspace) -> None:
        (workspace.matrices / name).unlink(missing_ok=True)
        (workspace.matrices / name).symlink_to("nowhere")

    return link


def archive(workspace: Workspace) -> None:
    workspace.index.add_archive("demo", "2.0")
    workspace.stack("demo==2.0")


def another_hash(workspace: Workspace) -> None:
    archive(workspace)
    workspace.index.fault("/simple/*", wrong_hashes())


def a_file_that_is_not_there(workspace: Workspace) -> None:
    archive(workspace)
    workspace.index.fault("/files/*.tar.gz", status(404))


def index_at(url: str) -> Callable[[Workspace], None]:
    return lambda workspace: setattr(workspace, "index_url", url)


@pytest.mark.parametrize(
    ("spoil", "code", "error"),
    [
        *(
            (
                link_to_nowhere(name),
                2,
                f"`matrices/{name}` cannot be read",
            )  # which does not count as absent
            for name in ("indexes.toml", "systems.toml", "facts/demo.toml", "stacks/demo.toml")
        ),
        (lambda one: one.edit("stacks/demo.toml", "summary", "sumary"), 2, "unknown key `sumary`"),
        (
            lambda one: one.facts("demo", '[[excludes]]\nversions = ">2"\nreason = "r"\n'),
            2,
            "the fact `demo-excludes-1` refers to demo >2, but there is no such release",
        ),
        (index_at(UNREACHABLE), 3, "Index `pypi` cannot be reached."),
        (
            index_at("http://user:secret@example.org/simple"),
            2,
            "The address of index `pypi` is plain http.",
        ),
        (another_hash, 3, "demo-2.0.tar.gz is not the file listed on its index page."),
        (a_file_that_is_not_there, 3, "demo-2.0.tar.gz cannot be downloaded."),
    ],
)
def test_what_is_wrong_leaves_the_old_lock_and_nothing_else(
    workspace: Workspace, spoil: Callable[[Workspace], None], code: int, error: str
) -> None:
    workspace.serve("demo 1.0")
    workspace.locked_before("demo")
    before = tree(workspace.locks)
    spoil(workspace)
    run = workspace.lock()
    assert (run.status, run.stdout, run.error) == (code, "", error)
    assert "\n  at " in run.stderr
    assert tree(workspace.locks) == before
    assert tree(workspace.temporary) == {}
    require_sound_cache(workspace.cache)


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ("lok demo", "did you mean `lock`?"),
        ("lock demo --upgade", "see `ascend-lock lock --help`"),
        ("facts check --nope", "see `ascend-lock facts check --help`"),
        ("export demo --format zip", "see `ascend-lock export --help`"),
        ("--nope", "see `ascend-lock --help`"),
    ],
)
def test_a_hint_says_where_to_look(workspace: Workspace, words: str, hint: str) -> None:
    run = workspace.run(*words.split())
    assert (run.status, run.stdout) == (2, "")
    assert run.stderr.endswith(f"\nhint: {hint}\n")


def test_a_merge_of_two_locks_is_mended_as_the_hints_say(workspace: Workspace) -> None:
    def git(*words: str) -> int:
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@localhost", *words]
        return subprocess.run(
            command, cwd=workspace.root, check=False, capture_output=True
        ).returncode

    workspace.serve("a 1.0", "b 1.0")
    workspace.locked_stack("a", "b")
    assert (git("init", "-b", "main"), git("add", "."), git("commit", "-m", "both at 1.0")) == (
        0,
        0,
        0,
    )
    for name in ("a", "b"):
        workspace.serve(f"{name} 2.0")
        assert git("switch", "-c", name, "main") == 0
        workspace.locked("--upgrade-package", name)
        assert git("commit", "-am", f"{name} at 2.0") == 0
    assert git("merge", "a") == 1
    before = tree(workspace.locks)
    workspace.refused("the lock has the conflict markers of a merge", "lock", "demo")
    assert tree(workspace.locks) == before
    state, hint = workspace.run("check").stdout.splitlines()
    assert state == "demo for there: the lock has the conflict markers of a merge"
    command = hint.removeprefix("hint: locks/demo/there/lock.toml: ").partition(
        ", then lock again"
    )[0]
    assert command == "git checkout --ours -- locks/demo/there"
    assert git(*shlex.split(command)[1:]) == 0
    workspace.locked()
    assert workspace.pins() == {"a": "1.0", "b": "2.0"}
    assert workspace.run("check").status == 0


def test_the_lock_of_another_target_is_not_taken_for_this_ones(workspace: Workspace) -> None:
    workspace.serve("demo 1.0")
    workspace.locked_stack("demo", target=targets("aarch64", "x86_64"))
    folder = workspace.locks / "demo" / "x86_64"
    shutil.rmtree(folder)
    shutil.copytree(folder.with_name("aarch64"), folder)
    before = tree(workspace.locks)
    run = workspace.run("check", "demo")
    assert run.status == 4
    assert run.stdout == (
        "demo for aarch64: current\n"
        "demo for x86_64: the lock cannot be read: it is the lock of demo for aarch64\n"
        "hint: locks/demo/x86_64/lock.toml: restore it from version control, or lock with "
        "--upgrade, which ignores it\n"
    )
    for words in (
        "lock demo",
        "why demo demo",
        "bundle demo files --target x86_64",
        "export demo --target x86_64 --format sbom",
    ):
        workspace.refused("the lock cannot be read", *words.split())
    workspace.refused("`demo` has no lock for x86_64", "verify", "demo", "--target", "x86_64")
    assert tree(workspace.locks) == before
    assert workspace.lock("--upgrade").status == 0
    assert workspace.run("check", "demo").status == 0
