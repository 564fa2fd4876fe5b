"""`check` of several stacks: a line for each, none stops another, and one command that mends what is stale."""

from __future__ import annotations

import pytest

from tests.functional.workspace import Workspace
from tests.loopback import LoopbackIndex

MACHINES = ("aarch64", "x86_64")


@pytest.fixture
def three(workspace: Workspace, index: LoopbackIndex) -> Workspace:
    """One stack with two targets and one with a single one, locked; and one whose file is wrong."""
    index.add_wheel("a", "1.0")
    index.add_wheel("a", "2.0")
    targets = (f'[[target]]\nname = "{name}"\npython = "3.11"\nplatform = "linux-{name}"\n' for name in MACHINES)
    workspace.stack("a", name="both", target="".join(targets))
    workspace.stack("a", name="one")
    assert workspace.run("lock", "both", "one").status == 0
    workspace.stack("not a requirement", name="wrong")
    return workspace


WRONG = """\
wrong: error: `not a requirement` is not a requirement
  at matrices/stacks/wrong.toml:4: stack.requires[0]
"""


@pytest.mark.parametrize("names", [(), ("all",)])
def test_every_stack_is_looked_at_whatever_is_wrong_with_another(three: Workspace, names: tuple[str, ...]) -> None:
    run = three.run("check", *names)
    assert run.status == 2
    assert run.stdout == (
        "both for 2 targets: current\none for there: current\nwrong: failed: `not a requirement` is not a requirement\n"
    )
    assert run.stderr.startswith(WRONG)
    (three.matrices / "stacks" / "wrong.toml").unlink()
    first = three.run("check", *names)
    assert (first.status, first.stdout) == (0, "both for 2 targets: current\none for there: current\n")


def test_only_those_that_are_named(three: Workspace) -> None:
    run = three.run("check", "one", "both", "one", "--lang", "zh")
    assert (run.status, run.stdout) == (0, "one，目标 there：是最新的\nboth，2 个目标：是最新的\n")
    assert three.run("check", "both").stdout == "both for aarch64: current\nboth for x86_64: current\n"
    unknown = three.run("check", "one", "bth")
    assert (unknown.status, unknown.stdout.splitlines()) == (
        2,
        ["one for there: current", "bth: failed: there is no stack `bth`"],
    )
    assert unknown.stderr == "bth: error: there is no stack `bth`\n  at matrices/stacks\nhint: did you mean `both`?\n"


def test_one_command_locks_all_that_are_stale(three: Workspace) -> None:
    three.stack("a==1.0", name="one")
    (three.locks / "both" / "aarch64" / "install.sh").write_text("")
    (three.locks / "both" / "x86_64" / "lock.toml").write_text("<<<<<<<")
    three.stack("a==2.0", name="new")
    run = three.run("check", "one", "both", "new")
    assert run.status == 4
    lines = run.stdout.splitlines()
    assert lines[:2] == [
        "one for there: the stack or the facts have changed since the lock was made",
        "both for aarch64: files next to lock.toml do not match it",
    ]
    assert lines[2].startswith("both for x86_64: ")
    assert lines[3:] == [
        "new for there: there is no lock",
        "hint: ascend-lock lock one new",
        "hint: ascend-lock lock both --upgrade",
    ]


def test_a_lock_that_may_not_be_read_keeps_its_pins(three: Workspace) -> None:
    """What the system refuses is mended there; `--upgrade` would throw the pins away."""
    file = three.locks / "one" / "there" / "lock.toml"
    file.unlink()
    file.mkdir()
    assert three.run("check", "one").stdout == (
        "one for there: the lock cannot be read: it is not a regular file\n"
        "hint: locks/one/there/lock.toml: "
        "move what is there out of the way, or choose another folder with --locks DIR\n"
        "hint: ascend-lock lock one\n"
    )


def test_hints_repeat_the_folders_of_the_command_line(three: Workspace) -> None:
    folders = ("--matrices", three.matrices.rename(three.root / "my facts").name, "--locks", "other")
    told = "--matrices 'my facts' --locks other"
    assert three.run("check", "one", *folders).stdout.splitlines()[1:] == [f"hint: ascend-lock lock one {told}"]
    for command in (("export", "one", "--format", "sbom"), ("verify", "one"), ("bundle", "one", "files")):
        run = three.run(*command, *folders)
        assert f"\nhint: ascend-lock lock one {told}" in run.stderr, run
    assert three.run("bundle", "all", "files", *folders).stderr.endswith(f"hint: ascend-lock lock STACK {told}\n")
    three.locks.rename(three.root / "other")
    (three.root / "my facts" / "stacks" / "one.toml").unlink()
    assert three.run("check", *folders).stderr.endswith(f" ascend-lock check path/to/one.toml {told}\n")


def test_what_could_not_be_read_has_an_object_of_its_own(three: Workspace) -> None:
    run = three.run("check", "one", "wrong", "--json")
    one, wrong = run.json["locks"]
    assert (run.status, run.json["status"]) == (2, "error")
    assert one == {"stack": "one", "target": "there", "stale": "", "state": "current"}
    message = "`not a requirement` is not a requirement"
    assert wrong["why"]
    assert wrong["hint"]
    assert {key: wrong[key] for key in wrong if key not in ("why", "hint")} == {
        "stack": "wrong",
        "target": "",
        "stale": "",
        "state": message,
        "message": message,
        "where": "matrices/stacks/wrong.toml:4: stack.requires[0]",
    }


def test_nothing_to_look_at_is_no_success(workspace: Workspace) -> None:
    run = workspace.run("check")
    assert run.status == 2
    assert run.stderr == (
        "error: there are no stacks\n"
        "  at matrices/stacks\n"
        "hint: give the path of a stack file, or the folder with stacks by --matrices DIR\n"
    )


def test_snapshots_and_facts_take_all_as_well(workspace: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("a", "1.0")
    for name in ("first", "second"):
        workspace.stack("a", name=name)
    run = workspace.run("snapshot", "all")
    assert (run.status, len(run.stdout.splitlines())) == (0, 2)
    assert workspace.run("facts", "check", "all") == workspace.run("facts", "check")
