"""No name leads out of a folder of ours, whatever anybody puts there and whenever."""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO

import pytest

from resolver.openat import LinkInTheWay
from resolver.owned_folder import OwnedFolder


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[OwnedFolder]:
    with OwnedFolder.open(tmp_path / "ours", make=True) as owned:
        yield owned


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    path = tmp_path / "elsewhere"
    path.mkdir()
    (path / "theirs").write_text("of somebody else")
    return path


def require_untouched(elsewhere: Path) -> None:
    assert [(path.name, path.read_text()) for path in elsewhere.iterdir()] == [
        ("theirs", "of somebody else")
    ]


ACTIONS: dict[str, Callable[[OwnedFolder], object]] = {
    "write": lambda folder: folder.write("link/new", b"x"),
    "write over": lambda folder: folder.write("link/theirs", b"x"),
    "create": lambda folder: folder.create("link/new", b"x", 0o644),
    "grow": lambda folder: folder.open_growing("link/theirs"),
    "make": lambda folder: folder.folder("link/new", make=True),
    "make the link": lambda folder: folder.folder("link", make=True),
    "rename to": lambda folder: folder.replace("own", "link/new"),
    "rename from": lambda folder: folder.replace("link/theirs", "own"),
    "remove": lambda folder: folder.remove("link/theirs"),
    "read": lambda folder: folder.read("link/theirs", 100),
    "size": lambda folder: folder.size("link/theirs"),
}


@pytest.mark.parametrize("action", ACTIONS.values(), ids=ACTIONS)
def test_folder_does_nothing_through_a_link(
    folder: OwnedFolder, elsewhere: Path, action: Callable[[OwnedFolder], object]
) -> None:
    folder.write("own", b"ours")
    (folder.path / "link").symlink_to(elsewhere)
    with pytest.raises(LinkInTheWay) as caught:
        action(folder)
    assert caught.value.strerror == "`link` is a link, which is not followed"
    assert caught.value.filename == str(folder.path / "link")
    require_untouched(elsewhere)
    assert folder.read("own", 100) == b"ours"


def test_folder_reads_no_link(folder: OwnedFolder, elsewhere: Path) -> None:
    (folder.path / "link").symlink_to(elsewhere / "theirs")
    with pytest.raises(LinkInTheWay):
        folder.read("link", 100)


def test_folder_follows_no_link_put_there_later(folder: OwnedFolder, elsewhere: Path) -> None:
    folder.write("inner/own", b"ours")
    with folder.folder("inner") as inner:
        (folder.path / "inner").rename(folder.path / "moved")
        (folder.path / "inner").symlink_to(elsewhere)
        inner.write("own", b"new")
        inner.remove("theirs")
    assert (folder.path / "moved" / "own").read_text() == "new"
    require_untouched(elsewhere)


def test_folder_removes_links_and_not_their_targets(folder: OwnedFolder, elsewhere: Path) -> None:
    folder.write("a/b/own", b"ours")
    (folder.path / "a" / "link").symlink_to(elsewhere)
    (folder.path / "a" / "b" / "link").symlink_to(elsewhere / "theirs")
    (folder.path / "link").symlink_to(elsewhere)
    folder.remove_tree("a")
    folder.remove_tree("link")
    assert folder.names() == []
    require_untouched(elsewhere)


def test_folder_copies_links_as_links(folder: OwnedFolder, elsewhere: Path) -> None:
    folder.write("a/b/own", b"ours", 0o750)
    (folder.path / "a" / "link").symlink_to(elsewhere)
    with folder.folder("copy", make=True) as copy:
        copy.copy_from(folder, "a")
    copied = folder.path / "copy" / "a"
    assert (copied / "link").is_symlink()
    assert (copied / "b" / "own").read_bytes() == b"ours"
    assert stat.S_IMODE((copied / "b" / "own").stat().st_mode) == 0o750


def test_folder_copies_a_folder_that_may_not_be_written(folder: OwnedFolder) -> None:
    folder.write("a/own", b"ours")
    (folder.path / "a").chmod(0o555)
    with folder.folder("copy", make=True) as copy:
        user = os.geteuid()
        if user == 0:
            # root may write anywhere
            os.chown(copy.path, 65534, 65534)
            os.seteuid(65534)
        try:
            copy.copy_from(folder, "a")
        finally:
            os.seteuid(user)
        assert copy.read("a/own", 100) == b"ours"
    assert stat.S_IMODE((folder.path / "copy" / "a").stat().st_mode) == 0o555


@pytest.mark.parametrize("name", ["", ".", "..", "../a", "a/../b", "/a", "a//b", "a/", "a\0b"])
def test_folder_refuses_a_name_that_leads_out(folder: OwnedFolder, name: str) -> None:
    for action in (folder.kind, folder.remove, folder.open_file, folder.folder):
        with pytest.raises(ValueError, match="no name in a folder"):
            action(name)


def test_folder_waits_for_no_pipe(folder: OwnedFolder) -> None:
    for name in ("pipe", ".new.partial", "grown"):
        os.mkfifo(folder.path / name)
    with pytest.raises(OSError, match="it is not a regular file"):
        folder.read("pipe", 100)
    folder.write("new", b"x")
    with folder.open_growing("grown") as file:
        file.write(b"x")
    assert (folder.read("new", 100), folder.read("grown", 100)) == (b"x", b"x")


WRITERS: dict[str, tuple[str, Callable[[OwnedFolder], object]]] = {
    "write": (".new.partial", lambda folder: folder.write("new", b"ours", 0o755)),
    "grow": ("grown", lambda folder: append(folder.open_growing("grown"))),
    "grow alone": ("grown", lambda folder: append(folder.open_alone("grown"))),
}


def append(file: IO[bytes] | None) -> None:
    assert file is not None
    with file:
        file.write(b"ours")


@pytest.mark.parametrize(("name", "writer"), WRITERS.values(), ids=WRITERS)
@pytest.mark.parametrize("locked", [False, True], ids=["free", "locked"])
def test_folder_changes_no_hard_linked_file(
    folder: OwnedFolder,
    tmp_path: Path,
    name: str,
    writer: Callable[[OwnedFolder], object],
    locked: bool,
) -> None:
    theirs = tmp_path / "theirs"
    theirs.write_bytes(b"of somebody else")
    theirs.chmod(0o640)
    (folder.path / name).hardlink_to(theirs)
    with theirs.open("rb") as handle:
        if locked:
            fcntl.flock(handle, fcntl.LOCK_EX)
        writer(folder)
    assert (theirs.read_bytes(), stat.S_IMODE(theirs.stat().st_mode)) == (
        b"of somebody else",
        0o640,
    )
    assert theirs.stat().st_nlink == 1
    assert [folder.read(name, 100) for name in folder.names()] == [b"ours"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")
def test_folder_continues_no_file_of_another_user(folder: OwnedFolder) -> None:
    path = folder.path / "grown"
    path.write_bytes(b"theirs")
    os.chown(path, 65534, 65534)
    append(folder.open_growing("grown"))
    assert (path.read_bytes(), path.stat().st_uid) == (b"ours", 0)


def test_folder_writers_of_one_name_take_turns(folder: OwnedFolder) -> None:
    """Each writes its own file under the temporary name, and none puts another one in place."""

    def write(number: int) -> None:
        for _ in range(4):
            with OwnedFolder.open(folder.path) as own, own.writing("a") as file:
                file.write(b"%d" % number * 5000)
                file.flush()
                file.write(b"%d" % number * 5000)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(write, range(4)))
    content = folder.read("a", 10_000)
    assert (len(content), len(set(content)), folder.names()) == (10_000, 1, ["a"])


def test_folder_keeps_permissions_unless_given(folder: OwnedFolder) -> None:
    folder.write("a", b"1", 0o750)
    folder.write("a", b"2")
    assert stat.S_IMODE((folder.path / "a").stat().st_mode) == 0o750
    folder.write("a", b"3", 0o600)
    assert stat.S_IMODE((folder.path / "a").stat().st_mode) == 0o600


def test_folder_write_that_fails_changes_nothing(folder: OwnedFolder) -> None:
    folder.write("a", b"before")
    with pytest.raises(TypeError), folder.writing("a") as file:
        file.writelines([b"half", None])  # type: ignore[list-item]
    assert (folder.names(), folder.read("a", 100)) == (["a"], b"before")


def test_folder_leaves_no_descriptor_open(folder: OwnedFolder, elsewhere: Path) -> None:
    before = len([*Path("/proc/self/fd").iterdir()])
    (folder.path / "link").symlink_to(elsewhere)
    for number in range(20):
        folder.write(f"a/b/{number}", b"x")
        for name in ("link/a", "a/b/0/c", "missing/a"):
            with pytest.raises(OSError, match=r"link|directory"):
                folder.read(name, 100)
    assert len([*Path("/proc/self/fd").iterdir()]) == before
