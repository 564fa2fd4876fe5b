"""Writing survives a power cut.

A file is on the disk before it is renamed into place, and the new name is before anything old goes.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from resolver import files
from resolver.lock import bundle, folder
from resolver.owned_folder import OwnedFolder

LOCK = {"lock.toml": "format = 1\n", "install.sh": "#!/bin/bash\n", "stages/1.txt": "demo==1.0\n"}


def _path_of(descriptor: int) -> Path:
    return Path(f"/proc/self/fd/{descriptor}").readlink()


class Disk:
    """Knows what a power cut would leave of each file and folder: its state at the last sync.

    `unsafe` has every renaming and removal that came before what it depends on was synced.
    """

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._kept: dict[int, object] = {}
        self._renamed: set[Path] = set()
        self.unsafe: list[str] = []
        self.renamed = 0
        fsync, replace, remove = os.fsync, os.replace, OwnedFolder.remove_tree

        def synced(handle: int) -> None:
            fsync(handle)
            self._kept[os.fstat(handle).st_ino] = self._of_handle(handle)

        def replaced(path: str, to: str, *, src_dir_fd: int, dst_dir_fd: int) -> None:
            self.before_renaming(_path_of(src_dir_fd) / path, _path_of(dst_dir_fd) / to)
            replace(path, to, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

        def removed(owned: OwnedFolder, name: str) -> None:
            path = owned.path / name
            if path.exists():
                self.unsafe += [
                    f"{one} before {path} goes" for one in self._renamed if not self.lasts(one)
                ]
            remove(owned, name)

        patch.setattr(os, "fsync", synced)
        patch.setattr(os, "replace", replaced)
        patch.setattr(OwnedFolder, "remove_tree", removed)

    def before_renaming(self, path: Path, to: Path) -> None:
        self.renamed += 1
        tree = [path, *path.rglob("*")] if path.is_dir() else [path]
        if not to.name.startswith("."):  # what is moved aside was there before
            self.unsafe += [f"{one} before it is {to}" for one in tree if not self.lasts(one)]
        self._renamed.add(to.parent)

    def lasts(self, path: Path) -> bool:
        """Whether this file's content, or the names in this folder, would be there."""
        handle = os.open(path, os.O_RDONLY)
        try:
            return self._kept.get(os.fstat(handle).st_ino) == self._of_handle(handle)
        finally:
            os.close(handle)

    def require(self, *paths: Path) -> None:
        assert self.renamed > 0
        assert self.unsafe == []
        assert [path for path in paths if not self.lasts(path)] == []

    def _of_handle(self, handle: int) -> object:
        found = os.fstat(handle)
        if not stat.S_ISDIR(found.st_mode):
            return found.st_size  # nothing here is written over
        return sorted((entry.name, entry.inode()) for entry in os.scandir(handle))


@pytest.mark.parametrize("exchanges", [True, False])
def test_durable_lock_is_the_old_or_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exchanges: bool
) -> None:
    place = tmp_path / "locks" / "demo" / "there"
    kept = Disk(monkeypatch)
    exchange = OwnedFolder.exchange

    def exchanged(owned: OwnedFolder, one: str, other: str) -> bool:
        if not exchanges:
            return False
        kept.before_renaming(owned.path / one, owned.path / other)
        return exchange(owned, one, other)

    monkeypatch.setattr(OwnedFolder, "exchange", exchanged)
    folder.replace({place: LOCK})
    kept.require(tmp_path, tmp_path / "locks", place.parent, place, place / "stages")
    (place / "notes").mkdir()
    (place / "notes" / "mine.txt").write_text("somebody's own")
    folder.replace({place: LOCK | {"lock.toml": "format = 2\n"}})
    kept.require(place, place / "stages" / "1.txt", place / "notes", place / "notes" / "mine.txt")


def test_durable_report_and_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Disk(monkeypatch)
    folder.add(tmp_path / "demo" / "there", {"conflict.md": "# No\n", "conflict.json": "{}\n"})
    kept.require(tmp_path, tmp_path / "demo", tmp_path / "demo" / "there")
    kept.renamed = 0
    files.write(tmp_path / "stack.toml", b"[stack]\n")
    kept.require(tmp_path, tmp_path / "stack.toml")


def test_durable_bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Disk(monkeypatch)
    wheel = tmp_path / "sources" / "demo.bundle"
    wheel.parent.mkdir()
    wheel.write_bytes(b"1")
    row = bundle.BundledFile(path="sources/demo.bundle", sha256="", size=1, pins=(), locks=())
    with OwnedFolder.open(tmp_path) as owned:
        bundle.write(owned, [], [row], {"locks/demo/there/install.sh": "#!/bin/bash\n"}, [])
    kept.require(
        tmp_path, wheel.parent, tmp_path / "locks" / "demo" / "there", tmp_path / bundle.MANIFEST
    )


@pytest.mark.parametrize(("number", "raised"), [("EINVAL", False), ("EIO", True)])
def test_write_in_a_folder_that_cannot_be_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: str, raised: bool
) -> None:
    sync = os.fsync

    def refuse(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(getattr(errno, number), "refused")
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", refuse)
    if raised:
        with pytest.raises(OSError, match="refused"):
            files.write(tmp_path / "a", b"1")
    else:
        files.write(tmp_path / "a", b"1")
    assert (tmp_path / "a").read_bytes() == b"1"


# --- files that others have changed into something else, or left behind


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (os.mkfifo, "it is not a regular file"),
        (os.mkdir, "it is not a regular file"),
        (lambda path: path.symlink_to("/dev/zero"), "it is not a regular file"),
        (lambda path: path.write_bytes(b"x" * (files.MIB + 1)), "it is larger than 1 MiB"),
        (lambda path: None, "No such file or directory"),
    ],
)
def test_read_waits_for_nothing(tmp_path: Path, make: Callable[[Path], object], why: str) -> None:
    make(tmp_path / "a")
    with pytest.raises(OSError, match=why) as caught:
        files.read(tmp_path / "a", files.MIB)
    assert caught.value.strerror == why


def test_write_follows_no_link_of_the_temporary_name(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("theirs")
    (tmp_path / ".a.partial").symlink_to(other)
    files.write(tmp_path / "a", b"ours")
    assert (other.read_text(), (tmp_path / "a").read_text()) == ("theirs", "ours")
    assert not (tmp_path / "a").is_symlink()


def test_write_that_fails_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    with pytest.raises(OSError, match="Is a directory"):
        files.write(tmp_path / "a", b"ours")
    assert [one.name for one in tmp_path.iterdir()] == ["a"]
