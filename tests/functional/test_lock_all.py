"""Several stacks in one run: they share what was asked, none stops another, and one table tells of all."""

from __future__ import annotations

import re

import pytest

from tests.functional.workspace import Workspace, tree
from tests.loopback import LoopbackIndex, status

MACHINES = ("aarch64", "x86_64")


@pytest.fixture
def four(workspace: Workspace, index: LoopbackIndex) -> Workspace:
    """Two stacks that lock and share a project, one that contradicts itself, one whose file is wrong."""
    for version in ("1.0", "2.0"):
        index.add_wheel("shared", version)
    index.add_wheel("first", "1.0", requires=["shared"])
    index.add_wheel("second", "1.0", requires=["shared<2"])
    workspace.stack("first", name="first")
    workspace.stack("second", name="second")
    workspace.stack("second", "shared==2.0", name="third")
    workspace.stack("not a requirement", name="wrong")
    return workspace


def told(text: str) -> str:
    """The table without how long things took."""
    return re.sub(r" \d+\.\d  ", " 0.0  ", text)


TABLE = """\
stack   target  seconds  changes     outcome
first   there       0.0  first lock  locked, 2 pins
second  there       0.0  first lock  locked, 2 pins
third   there       0.0  -           no solution; report written
wrong   -           0.0  -           failed: `not a requirement` is not a requirement
4 stacks, 3 targets: 2 locked, 1 without a solution, 1 failed
"""


def test_all_are_locked_and_what_cannot_be_is_told(four: Workspace, index: LoopbackIndex) -> None:
    run = four.lock(stack="all")
    assert told(run.stdout) == TABLE
    assert run.stderr.splitlines()[:3] == [
        "The report is in locks/third/there: conflict.html, .md and .json.",
        "wrong: error: `not a requirement` is not a requirement",
        "  at matrices/stacks/wrong.toml:4: stack.requires[0]",
    ]
    assert run.status == 2, "the highest: an input is wrong"
    assert four.pins("first") == {"first": "1.0", "shared": "2.0"}
    assert four.pins("second") == {"second": "1.0", "shared": "1.0"}
    asked = [request.path for request in index.requests]
    assert len(asked) == len(set(asked)), "nothing is asked twice"

    (four.matrices / "stacks" / "wrong.toml").unlink()
    run = four.lock(stack="all")
    assert run.status == 0, "a conflict that was known and still holds fails nobody's CI"
    assert told(run.stdout) == (
        "stack   target  seconds  changes  outcome\n"
        "first   there       0.0  none     locked, 2 pins\n"
        "second  there       0.0  none     locked, 2 pins\n"
        "third   there       0.0  -        no solution, as before; report written\n"
        "3 stacks, 3 targets: 2 locked, 1 without a solution\n"
    )
    assert four.lock(stack="third").status == 1, "by its name, it is asked for"
    assert four.run("lock", "first", "third").status == 1


def test_a_lock_that_was_there_is_no_known_conflict(workspace: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("demo", "1.0")
    workspace.stack("demo")
    workspace.locked()
    workspace.stack("demo==2.0")
    for _ in range(2):
        assert workspace.lock(stack="all").status == 1
        assert workspace.pins() == {"demo": "1.0"}


def test_an_index_that_fails_for_one_stack_keeps_no_other_from_being_locked(
    four: Workspace, index: LoopbackIndex
) -> None:
    index.fault("/simple/*/shared/", status(403), times=1)  # what both need: the second stack asks for it again
    run = four.run("lock", "first", "second", "--json")
    assert run.status == 3
    assert run.json["status"] == "error"
    failed, locked = run.json["targets"]
    assert (failed["stack"], failed["status"], failed["why"]) == ("first", "error", "It answered 403.")
    assert (locked["stack"], locked["status"], locked["pins"]) == (
        "second",
        "locked",
        {"second": "1.0", "shared": "1.0"},
    )
    assert four.pins("second") == {"second": "1.0", "shared": "1.0"}


def test_a_project_to_upgrade_may_be_in_one_of_the_stacks_only(four: Workspace, index: LoopbackIndex) -> None:
    assert four.run("lock", "first", "second").status == 0
    index.add_wheel("first", "1.1", requires=["shared"])
    run = four.run("lock", "first", "second", "--upgrade-package", "first")
    assert run.status == 0
    assert [line.split()[3:] for line in run.stdout.splitlines()[1:3]] == [
        ["1", "pin", "locked,", "2", "pins"],
        ["none", "locked,", "2", "pins"],
    ]
    run = four.run("lock", "first", "second", "--upgrade-package", "frist")
    assert (run.status, run.stderr.splitlines()[-1]) == (2, "hint: did you mean `first`?")


def test_one_target_alone(workspace: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("demo", "1.0")
    rows = (f"[[target]]\nname = '{one}'\npython = '3.11'\nplatform = 'linux-{one}'\n" for one in MACHINES)
    workspace.stack("demo", target="".join(rows))
    assert workspace.locked("--target", "x86_64").stdout.startswith("Locked demo for linux-x86_64")
    assert workspace.folder().name == "x86_64"
    run = workspace.lock("--target", "riscv64")
    assert run.stderr == "error: demo has no target `riscv64`\nhint: its targets are aarch64, x86_64\n"
    assert run.status == 2
    workspace.locked()
    assert {path.name for path in (workspace.locks / "demo").iterdir()} == set(MACHINES)


def test_a_warning_of_several_targets_is_told_once(workspace: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("demo", "1.0")
    workspace.facts("demo", '[[warns]]\nid = "demo-beware"\ntext = "beware"\nreason = "a test"\n')
    rows = (f"[[target]]\nname = '{one}'\npython = '3.11'\nplatform = 'linux-{one}'\n" for one in MACHINES)
    workspace.stack("demo", target="".join(rows))
    told = workspace.locked().stdout
    assert told.count("demo: beware") == 1
    assert "\n1 warning:\n  - demo: beware" in told
    assert "\n1 warning, all shown above.\n" in told
    for one in MACHINES:
        assert "demo: beware" in (workspace.locks / "demo" / one / "lock.toml").read_text()


def test_two_stacks_with_one_name(workspace: Workspace, index: LoopbackIndex) -> None:
    """A copy whose name was forgotten would take turns with the first one's lock."""
    index.add_wheel("a", "1.0")
    first = workspace.stack("a")
    workspace.locked()
    before = tree(workspace.locks)
    (workspace.matrices / "stacks/twin.toml").write_bytes(first.read_bytes())
    run = workspace.lock(stack="twin")
    assert run.status == 2
    assert run.stderr == (
        "error: two stacks have the name `demo`\n"
        "  at matrices/stacks/twin.toml:2: stack.name\n"
        "  the other is matrices/stacks/demo.toml, and a lock's folder is named after its stack\n"
        'hint: name = "twin"\n'
    )
    assert tree(workspace.locks) == before
    assert workspace.lock(stack="demo").status == 0
