"""Functions that remove folders, but nothing that is mounted in them.

A mounted file system belongs to somebody else. `OwnedFolder` calls these functions.

Each function takes a single name, the descriptor of its parent folder (`parent`), and its full path
for messages. They raise TooDeep for folders that are nested more than `DEEPEST` deep.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from resolver.openat import DEEPEST, FOLDER_FLAGS, TooDeep

_MOUNT_ID: Final = re.compile(r"^mnt_id:\s*(\d+)$", re.MULTILINE)


class MountInTheWay(OSError):
    """Something is mounted in a folder that the program wants to remove or to write to."""

    def __init__(self, path: Path) -> None:
        why = f"`{path.name}` is a mount point, below which nothing is changed"
        super().__init__(errno.EBUSY, why, str(path))


def remove_folder(name: str, parent: int, path: Path, depth: int = 1) -> None:
    """Remove a folder and its content. Of a link in it, only the link is removed.

    Raises MountInTheWay when it comes to a folder on which something is mounted. What was removed
    before stays removed.
    """
    with _opened_below(name, parent, path, depth) as descriptor:
        for inner in os.listdir(descriptor):  # noqa: PTH208 -- of a descriptor, not of a path
            if stat.S_ISDIR(os.lstat(inner, dir_fd=descriptor).st_mode):
                remove_folder(inner, descriptor, path / inner, depth + 1)
            else:
                os.unlink(inner, dir_fd=descriptor)
    os.rmdir(name, dir_fd=parent)


def require_unmounted(name: str, parent: int, path: Path, depth: int = 1) -> None:
    """Raise MountInTheWay if a file or folder, or anything below it, is a mount point."""
    if not stat.S_ISDIR(os.lstat(name, dir_fd=parent).st_mode):
        _require_unmounted_file(name, parent, path)
        return
    with _opened_below(name, parent, path, depth) as descriptor:
        for inner in os.listdir(descriptor):  # noqa: PTH208 -- of a descriptor, not of a path
            require_unmounted(inner, descriptor, path / inner, depth + 1)


def _require_unmounted_file(name: str, parent: int, path: Path) -> None:
    """Raise MountInTheWay if something is mounted on a file, a link or a device."""
    if not hasattr(os, "O_PATH"):
        # Systems other than Linux refuse to remove a mount point.
        return
    # O_PATH opens the file without access. Opening a pipe for reading would wait.
    descriptor = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        if _mount_id(descriptor) != _mount_id(parent):
            raise MountInTheWay(path)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _opened_below(name: str, parent: int, path: Path, depth: int) -> Iterator[int]:
    """Yield the descriptor of a folder, which is closed at the end of the context.

    `depth` counts the folders that were opened on the way. Raises TooDeep, and MountInTheWay if
    something is mounted on the folder.
    """
    if depth > DEEPEST:
        raise TooDeep(path)
    descriptor = os.open(name, FOLDER_FLAGS | os.O_NOFOLLOW, dir_fd=parent)
    try:
        if is_mounted(descriptor, parent):
            raise MountInTheWay(path)
        yield descriptor
    finally:
        os.close(descriptor)


def is_mounted(folder: int, outer: int) -> bool:
    """Return whether a folder is on another mount than a folder that contains it.

    Both are given by their descriptors.
    """
    if os.fstat(folder).st_dev != os.fstat(outer).st_dev:
        return True
    # A folder can be mounted on another folder of the same device (a bind mount).
    return _mount_id(folder) != _mount_id(outer)


def _mount_id(descriptor: int) -> str:
    """Return the kernel's id of the mount that contains an open file or folder.

    Empty if the system has no /proc, or its kernel does not state the id.
    """
    try:
        text = Path(f"/proc/self/fdinfo/{descriptor}").read_text(encoding="ascii")
    except OSError:
        return ""
    match = _MOUNT_ID.search(text)
    return match[1] if match else ""
