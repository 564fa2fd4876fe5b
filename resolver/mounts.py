"""Remove folders, but nothing that is mounted in them, as it belongs to somebody else.

They are gone through as deep as `DEEPEST`, beyond which TooDeep is raised.

Each function takes a single name, the descriptor of the folder that it is in, and its full path for
messages.
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
    """Something is mounted in a folder that would be removed or written to."""

    def __init__(self, path: Path) -> None:
        why = f"`{path.name}` is a mount point, below which nothing is changed"
        super().__init__(errno.EBUSY, why, str(path))


def remove_folder(name: str, parent: int, path: Path, depth: int = 1) -> None:
    """Remove a folder and what is in it. Of a link in it, only the link is removed.

    Raises MountInTheWay at a folder on which something is mounted.
    """
    with _opened_below(name, parent, path, depth) as descriptor:
        for inner in os.listdir(descriptor):  # noqa: PTH208 -- of a descriptor, not of a path
            if stat.S_ISDIR(os.lstat(inner, dir_fd=descriptor).st_mode):
                remove_folder(inner, descriptor, path / inner, depth + 1)
            else:
                os.unlink(inner, dir_fd=descriptor)
    os.rmdir(name, dir_fd=parent)


def require_unmounted(name: str, parent: int, path: Path, depth: int = 1) -> None:
    """Raise MountInTheWay if a name, or anything below it, is a mount point."""
    if not stat.S_ISDIR(os.lstat(name, dir_fd=parent).st_mode):
        _require_unmounted_file(name, parent, path)
        return
    with _opened_below(name, parent, path, depth) as descriptor:
        for inner in os.listdir(descriptor):  # noqa: PTH208 -- of a descriptor, not of a path
            require_unmounted(inner, descriptor, path / inner, depth + 1)


def _require_unmounted_file(name: str, parent: int, path: Path) -> None:
    """Raise MountInTheWay if something is mounted on a file, a link or a device."""
    if not hasattr(os, "O_PATH"):
        # other systems than Linux refuse to remove it
        return
    # a descriptor without access: opening a pipe would wait
    descriptor = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        if _mount_id(descriptor) != _mount_id(parent):
            raise MountInTheWay(path)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _opened_below(name: str, parent: int, path: Path, depth: int) -> Iterator[int]:
    """Yield the descriptor of a folder. Raises MountInTheWay if something is mounted on it."""
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
    """Return whether something is mounted on an open folder, or between it and an outer one."""
    if os.fstat(folder).st_dev != os.fstat(outer).st_dev:
        return True
    # a folder may be mounted on another one of the same device
    return _mount_id(folder) != _mount_id(outer)


def _mount_id(descriptor: int) -> str:
    """Return the kernel's id of the mount that a descriptor is on, empty if it does not tell."""
    try:
        text = Path(f"/proc/self/fdinfo/{descriptor}").read_text(encoding="ascii")
    except OSError:
        return ""
    match = _MOUNT_ID.search(text)
    return match[1] if match else ""
