"""`ascend-lock add` and `remove`: a stack is edited and locked, or everything stays."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import sys
from codecs import BOM_UTF8
from collections.abc import Mapping
from pathlib import Path
from unittest import mock

import pytest
import tomli

from resolver.cli import options
from tests.faults.kills import kill_edits
from tests.functional.workspace import TWO_PYTHONS, Tree, Workspace, row, tree, wait_until
from tests.loopback import delayed

STACK = """\
# what we train with
[stack]
name = "demo"
summary = "a stack of tests"
requires = [
    "a==1.0",   # the plug-in's
    "b", # b

    # about c
    'c<2 ; python_version < "3.11"',
    "c ; python_version >= '3.11'",
]

"""


@pytest.fixture
def stack(workspace: Workspace) -> Path:
    """Locked for two Pythons."""
    workspace.serve(
        "a 1.0 2.0", "b 1.0", "c 1.0 2.0", "d 1.0: e", "e 1.0", "needy 1.0: a<2", "new 1.0"
    )
    workspace.index.add_wheel("newer", "1.0", requires_python=">=3.11")
    path = workspace.stack("a")
    path.write_text(STACK + TWO_PYTHONS)
    workspace.locked_before()
    return path


def everything(workspace: Workspace) -> tuple[Tree, Tree]:
    return tree(workspace.matrices), tree(workspace.locks)


@pytest.mark.parametrize(
    ("arguments", "told", "old", "new"),
    [
        (("add", "d"), ["Adding d"], "3.11'\",\n", '3.11\'",\n    "d",\n'),
        (
            ("add", "A>=2"),
            ["Replacing a==1.0 by A>=2"],
            '"a==1.0",   # the',
            '"A>=2",   # instead of a==1.0: the',
        ),
        (
            ("add", "c==1.0 ; python_version >= '3.11'", "b[x]"),
            [
                "Replacing c ; python_version >= \"3.11\" by c==1.0 ; python_version >= '3.11'",
                "Replacing b by b[x]",
            ],
            '"b", # b\n\n    # about c\n    \'c<2 ; python_version < "3.11"\',\n    "c ;',
            (
                '"b[x]", # instead of b: b\n\n    # about c\n'
                "    'c<2 ; python_version < \"3.11\"',\n"
                '    "c==1.0 ;'
            ),
        ),
        (
            ("add", "c"),
            ['Replacing c ; python_version >= "3.11" by c'],
            "    \"c ; python_version >= '3.11'\",\n",
            '    "c",\n',
        ),
        (("add", "a"), ["Keeping a==1.0: a adds nothing to it"], "", ""),
        (
            ("add", "a>=1"),
            ["Keeping a==1.0: a>=1 adds nothing to it"],
            "",
            "",
        ),
        (
            ("add", "hdk >= 25.5.0"),
            ["Adding hdk >= 25.5.0"],
            "3.11'\",\n",
            '3.11\'",\n    "hdk >= 25.5.0",\n',
        ),
        (("remove", "B"), ["Removing b"], '    "b", # b\n', ""),
        (
            ("remove", "c"),
            ['Removing c<2 ; python_version < "3.11" and c ; python_version >= "3.11"'],
            "    'c<2 ; python_version < \"3.11\"',\n    \"c ; python_version >= '3.11'\",\n",
            "",
        ),
    ],
)
def test_only_the_lines_change_and_the_stack_is_locked(
    workspace: Workspace,
    stack: Path,
    arguments: tuple[str, ...],
    told: list[str],
    old: str,
    new: str,
) -> None:
    command, *lines = arguments
    run = workspace.run(command, "demo", *lines)
    assert (run.status, run.stderr) == (0, ""), run
    assert run.stdout.splitlines()[: len(told)] == told
    assert stack.read_text() == (STACK + TWO_PYTHONS).replace(old, new, 1)
    assert tomli.loads(stack.read_text())
    assert workspace.run("check", "demo").status == 0, "the locks are of the edited stack"


def test_a_conflict_is_explained_and_nothing_changed(workspace: Workspace, stack: Path) -> None:
    stack.write_bytes(stack.read_bytes().replace(b"\n", b"\r\n"))
    before = everything(workspace)
    run = workspace.run("add", "demo", "needy", "a==2.0")
    assert run.status == 1
    assert run.stderr.startswith("No environment satisfies demo for linux-aarch64, Python 3.10.\n")
    assert "  A  ask for a==1.0 instead of a==2.0" in run.stderr
    assert "explain" not in run.stderr, "the file has nothing to explain any more"
    assert run.stderr.endswith(
        "\nNothing was changed: matrices/stacks/demo.toml is as before.\n"
        "hint: ascend-lock add demo needy a==2.0 --apply A also applies way out A, and then locks\n"
    )
    assert everything(workspace) == before
    run = workspace.run("add", "demo", "needy", "a==2.0", "--apply", "a")
    assert (run.status, run.stderr) == (0, ""), run
    assert "Applying way out A: ask for a==1.0 instead of a==2.0 (1 release older)\n" in run.stdout
    text = stack.read_text()
    assert 'name = "demo"\n' in text
    assert "Way out" not in text
    assert '"needy"' in text
    assert workspace.run("check", "demo").status == 0, "the locks are of the edited stack"


def test_apply_needs_no_line_and_a_way_out_that_exists(workspace: Workspace, stack: Path) -> None:
    stack.write_text(stack.read_text().replace('"a==1.0"', '"a==2.0", "needy"'))
    before = everything(workspace)
    workspace.refused("there is no way out `x`", "add", "demo", "--apply", "x")
    workspace.refused(
        "nothing is solved with --frozen, so there is no way out",
        *("add", "demo", "new", "--frozen", "--apply", "a"),
    )
    assert "REQUIREMENT" in workspace.run("add", "demo").stderr
    assert everything(workspace) == before
    assert workspace.run("add", "demo", "--apply", "A").status == 0
    assert '"a==1.0"' in stack.read_text()
    run = workspace.run("add", "demo", "new", "--apply", "A")
    assert (run.status, "Taking" in run.stdout) == (0, False), "nothing is in the way"


def test_apply_without_a_conflict_is_refused(workspace: Workspace, stack: Path) -> None:
    workspace.serve("b 2.0")
    before = everything(workspace)
    workspace.refused(
        "there is no conflict, so there is no way out to write", "add", "demo", "--apply", "B"
    )
    assert everything(workspace) == before


@pytest.mark.parametrize("mark", [b"", BOM_UTF8])
def test_edit_keeps_windows_line_ends(workspace: Workspace, stack: Path, mark: bytes) -> None:
    windows = mark + stack.read_bytes().replace(b"\n", b"\r\n")
    stack.write_bytes(windows)
    workspace.locked_before()
    added = windows.replace(b"3.11'\",\r\n", b'3.11\'",\r\n    "d",\r\n')
    assert workspace.run("add", "demo", "d", "--frozen").status == 0
    assert stack.read_bytes() == added
    assert workspace.run("remove", "demo", "d").status == 0
    assert stack.read_bytes() == windows
    assert workspace.run("add", "demo", "d").status == 0
    assert stack.read_bytes() == added
    assert workspace.run("check", "demo").status == 0
    # A way out is written in the same way.
    assert workspace.run("add", "demo", "needy", "a==2.0", "--apply", "A").status == 0
    content = stack.read_bytes()
    assert content.startswith(mark)
    assert content.count(b"\r\n") == content.count(b"\n")
    assert b"needy" in content


def test_remove_applies_a_way_out(workspace: Workspace, stack: Path) -> None:
    workspace.serve("low 1.0", "low 2.0", "first 1.0: low==1.0", "second 1.0: low==2.0")
    lines = ("first", "second", "b")
    workspace.stack(*lines)
    before = everything(workspace)
    run = workspace.run("remove", "demo", "b")
    assert (run.status, everything(workspace)) == (1, before)
    assert run.stderr.endswith(
        "hint: ascend-lock remove demo b --apply B also applies way out B, and then locks\n"
    )
    applied = workspace.run("remove", "demo", "b", "--apply", "B")
    assert (applied.status, applied.stderr) == (0, ""), applied
    assert '"b"' not in stack.read_text()


def test_remove_tells_nothing_before_all_names_have_lines(
    workspace: Workspace, stack: Path
) -> None:
    run = workspace.run("remove", "demo", "a", "d")
    assert (run.status, run.stdout) == (2, "")
    assert "\nhint: its lines are about a, b, c\n" in run.stderr
    assert workspace.run("remove", "demo", "a", "a").status == 0
    assert '"a==1.0"' not in stack.read_text()


def test_edit_keeps_all_locks_if_one_target_has_no_solution(
    workspace: Workspace, stack: Path
) -> None:
    before = everything(workspace)
    run = workspace.run("add", "demo", "newer")
    assert (run.status, "Locked demo" in run.stdout) == (1, False)
    assert everything(workspace) == before
    assert workspace.run("add", "demo", "newer ; python_version >= '3.11'").status == 0


@pytest.mark.parametrize(
    ("arguments", "error", "hint"),
    [
        (("add", "demo", "new=>1"), "`new=>1` is not a requirement", ""),
        (
            ("add", "demo", "new @ https://example.org/new.zip"),
            "`new @ https://example.org/new.zip` cannot be used",
            "",
        ),
        (
            ("add", "demo", "https://h.example/new-1+cpu-py3-none-any.whl"),
            "`https://h.example/new-1+cpu-py3-none-any.whl` cannot be used",
            "if an index has this release, add `new==1`",
        ),
        (("add", "demo", "new.whl"), "`new.whl` cannot be used", ""),
        (("add", "dem", "new"), "there is no stack `dem`", "did you mean `demo`?"),
        (("remove", "demo", "d"), "no line of demo is about `d`", "its lines are about a, b, c"),
        (
            ("remove", "demo", "a", "d"),
            "no line of demo is about `d`",
            "its lines are about a, b, c",
        ),
        (("remove", "demo", "a", "b", "c"), "`requires` cannot be used", ""),
    ],
)
def test_what_is_refused(
    workspace: Workspace, stack: Path, arguments: tuple[str, ...], error: str, hint: str
) -> None:
    before = everything(workspace)
    run = workspace.run(*arguments)
    assert (run.status, run.error, everything(workspace)) == (2, error, before)
    assert run.stderr.endswith(f"hint: {hint}\n" if hint else "\n")


def test_a_wheel_is_added_by_name_and_version(workspace: Workspace, stack: Path) -> None:
    wheel = "New_er-1.0+cpu-py3-none-any.whl"
    assert workspace.run("add", "demo", wheel, "--frozen").status == 0
    assert '"new-er==1.0"' in stack.read_text(encoding="utf-8")


def test_a_frozen_edit_locks_nothing(workspace: Workspace, stack: Path) -> None:
    locks = tree(workspace.locks)
    run = workspace.run("add", "demo", "nosuch", "--frozen")
    assert (run.status, '"nosuch",' in stack.read_text(), tree(workspace.locks)) == (0, True, locks)
    assert workspace.run("remove", "demo", "nosuch", "--frozen").status == 0
    before = stack.read_bytes()
    assert workspace.run("remove", "demo", "a", "b", "c", "--frozen").status == 2, (
        "no line would be left"
    )
    assert stack.read_bytes() == before


def test_a_link_to_a_stack_stays_one(workspace: Workspace, stack: Path) -> None:
    link = workspace.root / "mine.toml"
    link.symlink_to(stack)
    assert workspace.run("add", "mine.toml", "new").status == 0
    assert (link.is_symlink(), '"new"' in stack.read_text()) == (True, True)


def test_a_stack_of_an_installation_is_not_edited(workspace: Workspace, stack: Path) -> None:
    before = everything(workspace)
    with mock.patch.object(options, "_PACKAGE", workspace.root):
        workspace.refused(
            "`demo` ships with ascend-lock, so its file is not edited", "add", "demo", "new"
        )
        assert everything(workspace) == before
    assert workspace.run("add", "demo", "new").status == 0  # a checkout's


def test_an_interrupt_changes_nothing(workspace: Workspace, stack: Path) -> None:
    before = everything(workspace)
    workspace.index.fault("/simple/*/new/", delayed(60))
    process = workspace.start("add", "demo", "new")
    wait_until(
        lambda: any("/new/" in request.path for request in workspace.index.requests), process
    )
    assert everything(workspace) == before, "nothing is written before it is known to lock"
    process.send_signal(signal.SIGINT)
    run = workspace.finish(process)
    assert (run.status, everything(workspace)) == (130, before)
    assert run.stderr.startswith("Nothing was changed: matrices/stacks/demo.toml is as before.\n")


def test_an_edit_that_changes_no_lock_is_written(workspace: Workspace, stack: Path) -> None:
    assert workspace.run("add", "demo", "d").status == 0
    locks = tree(workspace.locks)
    stack.write_text(stack.read_text().replace('"d",', "'d',"))
    run = workspace.run("add", "demo", "d")
    assert (run.status, run.stderr) == (0, "")
    assert tree(workspace.locks).keys() == locks.keys()
    assert workspace.run("add", "demo", "d").status == 0


# --- several at once, and edits that are killed


def test_two_edits_at_once_are_both_made(workspace: Workspace, stack: Path) -> None:
    workspace.index.fault("/simple/*", delayed(0.2))
    first, second = workspace.start("add", "demo", "d"), workspace.start("add", "demo", "new")
    runs = [workspace.finish(process) for process in (first, second)]
    assert [(run.status, run.stderr) for run in runs] == [(0, "")] * 2, runs
    assert {"d", "new"} < {*tomli.loads(stack.read_text())["stack"]["requires"]}
    assert workspace.run("check", "demo").status == 0


def test_of_two_edits_at_once_one_that_fails_leaves_the_other(
    workspace: Workspace, stack: Path
) -> None:
    workspace.index.fault("/simple/*", delayed(0.2))
    commands = [("add", "demo", "newer"), ("add", "demo", "new"), ("add", "demo", "newer")]
    runs = [
        workspace.finish(process) for process in [workspace.start(*command) for command in commands]
    ]
    assert [run.status for run in runs] == [1, 0, 1], runs
    for run in (runs[0], runs[2]):
        assert "\nNothing was changed: matrices/stacks/demo.toml is as before.\n" in run.stderr
    requires = tomli.loads(stack.read_text())["stack"]["requires"]
    assert ("new" in requires, "newer" in requires) == (True, False)
    assert workspace.run("check", "demo").status == 0


def test_edit_does_not_overwrite_a_stack_changed_meanwhile(
    workspace: Workspace, stack: Path
) -> None:
    locks = tree(workspace.locks)
    workspace.index.fault("/simple/*/new/", delayed(2))
    process = workspace.start("add", "demo", "new")
    wait_until(
        lambda: any("/new/" in request.path for request in workspace.index.requests), process
    )
    with stack.open("a") as file:
        file.write("# mine\n")
    before = stack.read_bytes()
    run = workspace.finish(process)
    assert (run.status, run.error) == (2, "the stack was changed meanwhile, so nothing was written")
    assert (stack.read_bytes(), tree(workspace.locks)) == (before, locks)


def write_record(workspace: Workspace, old: bytes, new: bytes, sums: Mapping[str, str]) -> Path:
    """Write the record of an edit, as it is while it is written at the time 0."""
    record = {"old": hashlib.sha256(old).hexdigest(), "new": new.decode(), "locks": sums}
    path = workspace.locks / "demo" / ".edit.json"
    path.write_text(json.dumps({**record, "written": 0}))
    return path


@pytest.mark.parametrize("command", ["lock", "add"])
def test_a_record_of_an_edit_from_elsewhere_is_refused(
    workspace: Workspace, stack: Path, command: str
) -> None:
    """A proposed change may have one, hidden among the locks, which git checks out."""
    old = stack.read_bytes()
    new = old.replace(b"a==1.0", b"a==2.0")
    write_record(workspace, old, new, {})
    before = everything(workspace)
    run = workspace.run(command, "demo", *(["new"] if command == "add" else []))
    assert everything(workspace) == before
    assert run.status == 2
    assert run.error == "the record of an interrupted edit was not written here"
    assert "\n  at locks/demo/.edit.json\n" in run.stderr


def test_an_edit_that_was_killed_is_finished_by_the_next_lock(
    workspace: Workspace, stack: Path
) -> None:
    """Killed when the first of two targets is in place: locks and stack are as edited."""
    old = stack.read_bytes(), workspace.root / "old"
    shutil.copytree(workspace.locks, old[1])
    assert workspace.run("add", "demo", "d").status == 0
    edited, new = stack.read_bytes(), tree(workspace.locks)
    sums = {
        name: hashlib.sha256(new[f"demo/{name}/lock.toml"] or b"").hexdigest()
        for name in ("new", "old")
    }
    stack.write_bytes(old[0])
    (workspace.locks / "demo" / "old").rename(workspace.locks / "demo" / ".old.ascend-lock-new")
    shutil.copytree(old[1] / "demo" / "old", workspace.locks / "demo" / "old")
    record = write_record(workspace, old[0], edited, sums)
    os.utime(record, ns=(0, 0))
    run = workspace.run("lock", "demo")
    told = "Finished an earlier edit of matrices/stacks/demo.toml, which was interrupted.\n"
    assert (run.status, run.stderr) == (0, told)
    assert (stack.read_bytes(), tree(workspace.locks)) == (edited, new)
    assert workspace.run("lock", "demo").stderr == ""


@pytest.mark.skipif(sys.platform != "linux", reason="processes are killed by an audit hook")
def test_an_edit_killed_at_any_change_to_the_disk_is_made_or_not(tmp_path: Path) -> None:
    assert kill_edits(tmp_path / "work", 4, seed=3).killed >= 3


def test_remove_says_what_still_requires_project(workspace: Workspace) -> None:
    workspace.serve("swift 1.0: datasets", "trainer 1.0: datasets", "datasets 1.0", "alone 1.0")
    workspace.locked_stack("swift", "datasets", "alone")
    run = workspace.run("remove", "demo", "datasets", "alone")
    assert run.status == 0
    assert run.stdout.endswith("\ndatasets stays in the lock: swift requires it\n")
    workspace.stack("swift", "trainer", "datasets")
    run = workspace.run("remove", "demo", "datasets")
    assert run.stdout.endswith("\ndatasets stays in the lock: swift and trainer require it\n")


def test_add_says_first_that_project_is_unusable(workspace: Workspace) -> None:
    workspace.serve("demo 1.0", "flash 1.0")
    fact = row("excludes", id="flash-cuda", versions=">=0", reason="flash is for CUDA.")
    workspace.facts("flash", fact)
    workspace.locked_stack("demo")
    for line in ("flash==2.7.4", "flash==1.0", "flash"):
        run = workspace.run("add", "demo", line)
        assert run.status == 1
        assert run.stderr.startswith(
            "warning: flash cannot be used here at all: flash is for CUDA. "
            "(matrices/facts/flash.toml:6)\n"
        )
    workspace.facts("flash", fact.replace(">=0", "<2"))
    assert "cannot be used here" not in workspace.run("add", "demo", "flash==1.0").stderr


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        (
            "swif",
            (
                "check its spelling; if an index of your own has it, name that in the stack "
                "(ascend-lock help indexes)"
            ),
        ),
        ("dataset>=1", "did you mean `datasets`?"),
    ],
)
def test_add_says_that_a_name_may_be_misspelt(workspace: Workspace, line: str, hint: str) -> None:
    workspace.serve("swift 1.0: datasets", "datasets 1.0")
    workspace.locked_stack("datasets")
    before = everything(workspace)
    name = line.partition(">")[0]
    for apply in ((), ("--apply", "A")):
        run = workspace.run("add", "demo", line, *apply)
        assert run.status == 1
        told = f"error: no index has a project `{name}`: it may be misspelt\n"
        assert run.stderr.count(told) == 1
        assert f"hint: {hint}\n" in run.stderr
        assert "drop" not in run.stderr
        assert everything(workspace) == before


def test_remove_takes_a_project_that_no_index_has_for_a_conflict(workspace: Workspace) -> None:
    workspace.serve("a 1.0", "b 1.0")
    workspace.stack("a", "b", "gone")
    run = workspace.run("remove", "demo", "b")
    assert (run.status, "  A  drop gone" in run.stderr) == (1, True)
