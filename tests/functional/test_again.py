"""Locking again: pins stay while they hold, move when told to, and the lock says what moved."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.functional.conftest import Setup
from tests.functional.workspace import Workspace, tree
from tests.loopback import LoopbackIndex

NOTHING = "Nothing changed in locks/demo/there.\n"


def a_and_b(workspace: Workspace, index: LoopbackIndex) -> None:
    for name in ("a", "b"):
        index.add_wheel(name, "1.0")
    workspace.stack("a", "b")


@pytest.fixture
def locked(workspace: Workspace, index: LoopbackIndex, begin_with: Callable[[Setup], None]) -> Workspace:
    """a 1.0 and b 1.0 are locked; since then both have a 2.0."""
    begin_with(a_and_b)
    for name in ("a", "b"):
        index.add_wheel(name, "2.0")
    return workspace


def test_a_newer_release_moves_no_pin_and_no_byte(locked: Workspace) -> None:
    before = tree(locked.locks)
    assert NOTHING in locked.locked().stdout
    assert tree(locked.locks) == before


def test_upgrade_moves_every_pin(locked: Workspace) -> None:
    locked.locked("--upgrade")
    assert locked.pins() == {"a": "2.0", "b": "2.0"}


def test_upgrade_package_moves_that_one(locked: Workspace) -> None:
    locked.locked("--upgrade-package", "A")  # any spelling of the name
    assert locked.pins() == {"a": "2.0", "b": "1.0"}


def test_lock_and_report_tell_what_moved(locked: Workspace) -> None:
    run = locked.locked("--upgrade-package", "a")
    assert "Written to locks/demo/there; 1 pin changed: a 1.0 -> 2.0\n" in run.stdout
    assert locked.content()["change"] == [{"name": "a", "old": "1.0", "new": "2.0"}]
    told = "## Changes since the previous lock\n\n| project | before | now |\n|---|---|---|\n| a | 1.0 | 2.0 |\n\n"
    assert told in locked.read("report.md")


def test_a_run_that_moves_nothing_says_so(locked: Workspace) -> None:
    locked.locked("--upgrade-package", "a")
    (locked.matrices / "stacks" / "demo.toml").write_text(
        (locked.matrices / "stacks" / "demo.toml").read_text() + "# a comment\n"
    )
    assert "Written to locks/demo/there; no pin changed.\n" in locked.locked().stdout


def test_a_snapshot_holds_what_is_locked_and_what_an_upgrade_would_take(locked: Workspace) -> None:
    assert locked.run("snapshot", "demo").status == 0
    locked.forget()
    offline = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple/"}
    before = tree(locked.locks)
    locked.locked("--offline", **offline)
    assert tree(locked.locks) == before
    locked.locked("--offline", "--upgrade", **offline)
    assert locked.pins() == {"a": "2.0", "b": "2.0"}


def test_the_first_lock_says_that_it_is_the_first(workspace: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("a", "1.0")
    workspace.stack("a")
    run = workspace.locked()
    assert "Written to locks/demo/there, which had no lock before.\n" in run.stdout
    first = "## Changes since the previous lock\n\nThere is no previous lock; this is the first.\n\n"
    assert first in workspace.read("report.md")


def test_what_came_and_went_is_told(locked: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("c", "3.0")
    locked.stack("a", "c")
    told = locked.locked().stdout
    assert "Written to locks/demo/there; 2 pins changed: b 1.0 (removed), c 3.0 (new)\n" in told
    assert locked.content()["change"] == [{"name": "b", "old": "1.0"}, {"name": "c", "new": "3.0"}]
    assert "| b | 1.0 | (removed) |\n| c | (new) | 3.0 |\n" in locked.read("report.md")


def test_a_second_run_changes_no_byte_of_what_an_upgrade_wrote(locked: Workspace) -> None:
    locked.locked("--upgrade")
    before = tree(locked.locks)
    assert NOTHING in locked.locked().stdout
    assert tree(locked.locks) == before


def test_a_pin_that_was_yanked_moves(locked: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("a", "1.0", yanked="it deletes files")
    locked.locked()
    assert locked.pins() == {"a": "2.0", "b": "1.0"}


def test_a_pin_whose_release_is_gone_moves(locked: Workspace) -> None:
    with LoopbackIndex() as later:
        later.add_wheel("a", "2.0")
        later.add_wheel("b", "1.0")
        locked.index_url = later.url
        locked.locked()
    assert locked.pins() == {"a": "2.0", "b": "1.0"}


def test_a_pin_that_a_new_fact_excludes_moves(locked: Workspace) -> None:
    locked.facts("a", '[[excludes]]\nversions = "==1.0"\nreason = "it breaks on the target"\n')
    locked.locked()
    assert locked.pins() == {"a": "2.0", "b": "1.0"}


def test_a_pin_that_the_stack_no_longer_allows_moves(locked: Workspace) -> None:
    locked.stack("a>1", "b")
    locked.locked()
    assert locked.pins() == {"a": "2.0", "b": "1.0"}


def test_a_file_with_other_bytes_under_the_same_version_is_told_with_its_hash(
    locked: Workspace, index: LoopbackIndex
) -> None:
    old = locked.content()["pin"][0]["file"][0]["sha256"]
    new = index.add_wheel("a", "1.0", files={"a.py": "other = True\n"}).sha256
    assert locked.locked().stderr == (
        f"warning: a-1.0-py3-none-any.whl is not the file that was locked before: its sha256 was {old} and is "
        f"now {new}.\n"
        "hint: an index that replaces a file under the same name may have been compromised; find out why before "
        "you install it\n"
    )
    assert locked.locked().stderr == ""
    newest = index.add_wheel("a", "1.0", files={"a.py": "other = False\n"}).sha256
    assert locked.locked("--lang", "zh").stderr == (
        f"警告：a-1.0-py3-none-any.whl 与之前锁定的不是同一个文件：原 sha256 为 {new}，现在是 {newest}。\n"
        "提示：软件源以同名文件替换原有文件，可能已被入侵；安装前请先查明原因\n"
    )


def test_what_the_new_lock_does_not_need_goes(locked: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("setuptools", "80.0")
    index.add_archive("c", "1.0")
    locked.stack("a", "c")
    locked.locked()
    assert {"build-requirements.txt", "stages/2.txt"} <= tree(locked.folder()).keys()
    locked.stack("a")
    locked.locked()
    assert tree(locked.folder()).keys() == {
        "activate.sh", "install.sh", "lock.toml", "report.md", "report.zh.md", "requirements.txt", "stages",
        "stages/1.txt", "verify.py",
    }  # fmt: skip


def test_exclude_newer_sets_aside_what_was_uploaded_after_that_day(workspace: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("a", "1.0", uploaded="2026-01-31T23:59:59Z")
    index.add_wheel("a", "2.0", uploaded="2026-02-01T00:00:00Z")
    workspace.stack("a")
    workspace.locked("--exclude-newer", "2026-01-31")
    assert workspace.pins() == {"a": "1.0"}


def test_a_snapshot_takes_the_place_of_no_other_stacks(workspace: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("a", "1.0")
    workspace.stack("a")
    assert workspace.run("snapshot", "demo").status == 0
    kept = {path: path.read_bytes() for path in workspace.root.rglob("*.snapshot")}
    assert len(kept) == 1
    other = workspace.root / "elsewhere.toml"
    other.write_text((workspace.matrices / "stacks/demo.toml").read_text("utf-8").replace('"a"', '"a>=1"'), "utf-8")
    run = workspace.run("snapshot", "elsewhere.toml")
    assert run.status == 2
    assert run.stderr == (
        "error: the snapshot `demo` belongs to another stack\n"
        "  at elsewhere.toml\n"
        "  matrices/stacks/demo.toml has the same name\n"
        "hint: give the stack a name of its own\n"
    )
    assert workspace.run("snapshot", "matrices/stacks/demo.toml").status == 0
    assert {path: path.read_bytes() for path in workspace.root.rglob("*.snapshot")} == kept
