"""`ascend-lock diff`: two locks by name, by folder, of two targets and at commits of git."""

from __future__ import annotations

import shutil

import pytest

from tests.functional.workspace import Workspace, targets
from tests.repositories import Repository

EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
MOVED = "1 pin project before now a 1.0 2.0"


@pytest.fixture
def history(workspace: Workspace) -> Repository:
    """A repository: a 1.0 is locked and committed (`old`), then a 2.0, then b is asked for."""
    repository = Repository(workspace.root, new=False)
    repository.git("init", "--quiet", "--initial-branch=main")

    def commit(tag: str) -> None:
        repository.git("add", "locks", "matrices")
        repository.git("commit", "--quiet", "--message", tag)
        repository.git("tag", tag)

    workspace.serve("a 1.0", "b 1.0")
    workspace.locked_stack("a")
    commit("old")
    workspace.serve("a 2.0")
    workspace.locked("--upgrade")
    commit("new")
    workspace.locked_stack("a", "b")
    return repository


def told(workspace: Workspace, *arguments: str) -> str:
    run = workspace.run("diff", *arguments)
    assert (run.status, run.stderr) == (0, "")
    return " ".join(run.stdout.split())


def test_a_lock_with_the_one_that_was_committed(workspace: Workspace, history: Repository) -> None:
    head = told(workspace, "demo")
    assert head.startswith(
        "demo/there@HEAD -> demo/there Lines of the stack + b 1 pin project before now b - 1.0 (new)"
    )
    assert told(workspace, "demo@HEAD") == head
    assert told(workspace, "demo@old", "demo@new").startswith(
        f"demo/there@old -> demo/there@new {MOVED}"
    )
    assert "2 pins project before now a 1.0 2.0 b - 1.0 (new) " in told(workspace, "demo@HEAD~1")
    old = workspace.run("diff", "demo@old", "demo@new", "--json").json
    assert (old["status"], old["before"], old["after"]) == (
        "different",
        "demo/there@old",
        "demo/there@new",
    )
    assert old["pins"] == [{"name": "a", "old": "1.0", "new": "2.0"}]


def test_locks_are_named_by_stack_target_folder_and_file(
    workspace: Workspace, history: Repository
) -> None:
    expected = told(workspace, "demo@old").removeprefix("demo/there@old ")
    stack = "matrices/stacks/demo.toml"
    for name in (
        "demo/there",
        "locks/demo",
        "locks/demo/there",
        "locks/demo/there/lock.toml",
        stack,
        "./locks/demo",
    ):
        assert told(workspace, f"{name}@old").removeprefix("demo/there@old ") == expected, name
    (workspace.root / "elsewhere").symlink_to(workspace.locks)
    assert (
        told(workspace, "demo", "elsewhere/demo")
        == "demo/there -> demo/there Both lock.toml say the same."
    )


def test_two_targets_and_stacks_of_several(workspace: Workspace) -> None:
    workspace.serve("a 1.0", "b 1.0")
    workspace.locked_stack(
        "a", "b; platform_machine == 'x86_64'", target=targets("aarch64", "x86_64")
    )
    workspace.locked_stack("a", name="other", target=targets("aarch64", "third"))
    both = told(workspace, "demo/aarch64", "demo/x86_64")
    assert "Target what before now name aarch64 x86_64 platform linux-aarch64 linux-x86_64 " in both
    assert "1 pin project before now b - 1.0 (new) " in both
    run = workspace.run("diff", "demo", "other", "--format", "markdown")
    assert run.stdout == (
        "## demo/aarch64 -> other/aarch64\n\nAlso changed in lock.toml: name of the stack, digest of "
        "the inputs, notes\n\n"
        "## other/third\n\nThe first has no lock for this target.\n\n"
        "## demo/x86_64\n\nThe second has no lock for this target.\n"
    )
    workspace.refused("the two have no target in common", "diff", "demo/x86_64", "other")


@pytest.mark.parametrize(
    ("arguments", "error", "hint"),
    [
        (["demi"], "there is no lock of `demi`", "did you mean `demo`?"),
        (["demo@nowhere"], "there is no `nowhere` of locks/demo", "see `git log -- locks/demo`"),
        (["demo@--all"], "there is no `--all` of locks/demo", "see `git log -- locks/demo`"),
        (["demo@empty"], "there is no lock of `demo` at `empty`", "see `git log -- locks/demo`"),
        (["demo", "--target", "x"], "`demo` has no lock for x", "there are there"),
    ],
)
def test_what_is_absent(
    workspace: Workspace, history: Repository, arguments: list[str], error: str, hint: str
) -> None:
    history.git("tag", "empty", history.git("commit-tree", "-m", "nothing", EMPTY_TREE))
    run = workspace.run("diff", *arguments)
    assert (run.status, run.error, run.stderr.splitlines()[-1]) == (2, error, f"hint: {hint}")
    assert "Needed a single revision" not in run.stderr


def test_outside_of_a_repository(workspace: Workspace) -> None:
    workspace.serve("a 1.0")
    workspace.locked_stack("a")
    run = workspace.run("diff", "demo", GIT_CEILING_DIRECTORIES=str(workspace.root.parent))
    assert (run.status, run.error) == (2, "locks/demo is in no git repository")
    assert run.stderr.endswith(
        "repository\n  so there is no `HEAD` of it\nhint: name two locks, each by the folder of a "
        "stack's locks or by a lock.toml: ascend-lock diff OLD NEW\n"
    )
    shutil.copytree(workspace.locks, workspace.root / "old")
    run = workspace.refused("there is no lock of `locks`", "diff", "old", "locks")
    assert run.stderr.endswith("\nhint: it has the locks of several stacks; name one: locks/demo\n")
    assert workspace.run("diff", "old/demo", "locks/demo").status == 0


def test_an_override_on_another_line_is_the_same(workspace: Workspace) -> None:
    """The places of overrides are in pins, in what the lock ignores and in stages."""
    workspace.serve("a 1.0: old>=2", "old 1.0", "old 2.0")
    path = workspace.stack("a")
    path.write_text(path.read_text().replace("requires =", 'overrides = ["old<2"]\nrequires ='))
    workspace.locked()
    shutil.copytree(workspace.locks, workspace.root / "old")
    path.write_text(path.read_text().replace("overrides", "# a comment\noverrides"))
    workspace.locked()
    moved = told(workspace, "old/demo", "locks/demo")
    assert moved == "demo/there -> demo/there Also changed in lock.toml: digest of the inputs"
    path.write_text(path.read_text().replace("old<2", "old<3,!=2"))
    workspace.locked()
    changed = told(workspace, "old/demo", "locks/demo")
    assert "same version what before now a: overrides old<2 old!=2,<3" in changed


def test_all_locks_with_those_of_the_last_commit(workspace: Workspace, history: Repository) -> None:
    workspace.locked_stack("a", name="other")
    run = told(workspace)
    assert run.startswith("demo/there@HEAD -> demo/there Lines of the stack + b ")
    assert run.endswith("other/there The first has no lock for this target.")
    history.git("add", "locks")
    history.git("commit", "--quiet", "--message", "both")
    assert told(workspace) == "No lock differs from the last commit."
    assert workspace.run("diff", "--json").json["targets"] == []
    shutil.rmtree(workspace.locks)
    assert "The second has no lock for this target." in told(workspace, "--target", "there")
