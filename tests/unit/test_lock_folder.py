"""Replacing a lock's folder removes what earlier locks wrote, and keeps what others put there."""

from __future__ import annotations

import os
import stat
from itertools import permutations
from pathlib import Path

import pytest

from resolver.errors import InputError
from resolver.lock import file, folder
from resolver.report import render
from tests.nested import nested_folders

SHIPPED = Path(__file__).parents[2] / "locks"
# Between them they have every file that a lock may have.
LOCKS = {
    name: render(lock)
    for name, path in (
        ("plain", "trl-train/linux-aarch64-py311-cann8.5.0-a2"),
        ("another index", "verl-qwen3.5/linux-x86_64-py311-cann8.5.0-a2"),
        ("from git", "mindspeed-rl/linux-aarch64-py310-cann8.3.rc1-a2"),
    )
    if (lock := file.read(SHIPPED / path)) is not None
}
# A lock without source archives, in one stage, has fewer.
ONLY_SOMETIMES = ("build-requirements", "stages/2", "stages/3", "stages/4")
LOCKS["small"] = {
    name: text for name, text in LOCKS["plain"].items() if not name.startswith(ONLY_SOMETIMES)
}


def _files(path: Path) -> set[str]:
    return {file.relative_to(path).as_posix() for file in path.rglob("*") if file.is_file()}


@pytest.mark.parametrize(("before", "after"), list(permutations(LOCKS, 2)))
def test_replace_removes_files_of_an_earlier_lock(before: str, after: str, tmp_path: Path) -> None:
    here = tmp_path / "here"
    folder.replace({here: LOCKS[before]})
    folder.replace({here: LOCKS[after]})
    assert _files(here) == set(LOCKS[after])


def test_replace_keeps_files_of_others(tmp_path: Path) -> None:
    here = tmp_path / "here"
    folder.replace({here: LOCKS["from git"]})
    (here / "notes.txt").write_text("kept")
    (here / "patches").mkdir()
    (here / "patches" / "one.patch").write_text("kept")
    (here / "link").symlink_to("notes.txt")
    folder.replace({here: LOCKS["small"]})
    assert _files(here) - set(LOCKS["small"]) == {"notes.txt", "patches/one.patch", "link"}
    assert (here / "link").is_symlink()


@pytest.mark.parametrize("target", ["../other", "nowhere"])
def test_replace_replaces_a_link_by_the_folder(target: str, tmp_path: Path) -> None:
    here, other = tmp_path / "locks" / "here", tmp_path / "other"
    other.mkdir()
    (other / "report.md").write_text("of somebody else")
    here.parent.mkdir()
    here.symlink_to(target)
    for name in ("plain", "small", "plain"):
        folder.replace({here: LOCKS[name]})
        assert (_files(here), here.is_symlink()) == (set(LOCKS[name]), False)
        assert list(here.parent.iterdir()) == [here]
        assert _files(other) == {"report.md"}
        assert (other / "report.md").read_text() == "of somebody else"


def test_replace_and_add_follow_no_temporary_link(tmp_path: Path) -> None:
    here, other = tmp_path / "locks" / "here", tmp_path / "other"
    here.mkdir(parents=True)
    other.mkdir()
    (other / "conflict.md").write_text("of somebody else")
    (here / ".conflict.md.partial").symlink_to(other / "conflict.md")
    folder.add(here, {"conflict.md": "no", "conflict.json": "{}"})
    assert (here / "conflict.md").read_text() == "no"
    for kind in ("new", "old"):
        (here.parent / f".here.ascend-lock-{kind}").symlink_to(other)
    folder.replace({here: LOCKS["small"]})
    assert (_files(here), list(here.parent.iterdir())) == (set(LOCKS["small"]), [here])
    assert _files(other) == {"conflict.md"}
    assert (other / "conflict.md").read_text() == "of somebody else"


def test_replace_and_add_follow_no_linked_stack(tmp_path: Path) -> None:
    locks, other = tmp_path / "locks", tmp_path / "other"
    locks.mkdir()
    (other / ".theirs.ascend-lock-old").mkdir(parents=True)
    (locks / "demo").symlink_to(other)
    for write in (
        lambda path: folder.replace({path: LOCKS["small"]}),
        lambda path: folder.add(path, {"a": "b"}),
    ):
        with pytest.raises(InputError) as caught:
            write(locks / "demo" / "here")
        assert caught.value.why == "`demo` is a link, which is not followed"
    folder.recover(locks / "demo" / "theirs")
    assert [path.name for path in other.iterdir()] == [".theirs.ascend-lock-old"]


def test_replace_keeps_what_is_only_called_old(tmp_path: Path) -> None:
    """Beside the folders of targets: what people call old or new is not what this program does."""
    names = [".here.old", ".here.new", ".old", ".new", ".keep.old", ".x.partial"]
    for name in names:
        (tmp_path / "demo" / name).mkdir(parents=True)
        (tmp_path / "demo" / name / "lock.toml").write_text("of somebody else")
    (tmp_path / "demo" / "keep").mkdir()
    for locks in ("plain", "small"):
        folder.replace({tmp_path / "demo" / "here": LOCKS[locks]})
    assert [name for name in names if not (tmp_path / "demo" / name / "lock.toml").exists()] == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")
def test_replace_gives_nobody_the_rights_of_its_user(tmp_path: Path) -> None:
    """The copy of somebody's file is of the user who locks: it must not run as that one."""
    here = tmp_path / "here"
    folder.replace({here: LOCKS["small"]})
    for name in ("tool", "tools"):
        path = here / name
        path.mkdir() if name == "tools" else path.write_text("#!/bin/sh\n")
        os.chown(path, 65534, 65534)
        path.chmod(0o7755)
    folder.replace({here: LOCKS["plain"]})
    status = [(here / name).stat() for name in ("tool", "tools")]
    assert [one.st_uid for one in status] == [0, 0]
    assert [stat.S_IMODE(one.st_mode) for one in status] == [0o1755, 0o1755]


def test_replace_refuses_folders_nested_very_deep(tmp_path: Path) -> None:
    here = tmp_path / "here"
    folder.replace({here: LOCKS["small"]})
    before = (here / "lock.toml").read_bytes()
    with nested_folders(here, 1200), pytest.raises(InputError) as caught:
        folder.replace({here: LOCKS["plain"]})
    assert caught.value.why == "folders are nested more than 64 deep in it"
    assert (here / "lock.toml").read_bytes() == before
    assert list(tmp_path.iterdir()) == [here]
    with nested_folders(here, 50):
        folder.replace({here: LOCKS["plain"]})


def test_add_follows_no_linked_folder(tmp_path: Path) -> None:
    here, other = tmp_path / "locks" / "here", tmp_path / "other"
    other.mkdir()
    here.parent.mkdir()
    here.symlink_to(other)
    with pytest.raises(InputError):
        folder.add(here, {"conflict.md": "no"})
    assert _files(other) == set()
