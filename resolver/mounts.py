"""Keep from removing what is mounted in a folder of ours, since it is of somebody else.

Each function takes a single name and the descriptor of the folder that it is in.
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

from resolver.openat import FOLDER_FLAGS

_MOUNT: Final = re.compile(r"^mnt_id:\s*(\d+)$", re.MULTILINE)


class MountInTheWay(OSError):
    """Something would be removed from what is mounted in a folder of ours."""

    def __init__(self, path: Path) -> None:
        why = f"`{path.name}` is a mount point, from which nothing is removed"
        super().__init__(errno.EBUSY, why, str(path))


def remove_folder(name: str, parent: int, path: Path) -> None:
    """Remove a folder and what is in it; of a link in it, the link alone.

    Raises MountInTheWay where one is mounted.
    """
    with _opened_below(name, parent, path) as descriptor:
        for inner in os.listdir(descriptor):  # noqa: PTH208 -- of a descriptor, not of a path
            if stat.S_ISDIR(os.lstat(inner, dir_fd=descriptor).st_mode):
                remove_folder(inner, descriptor, path / inner)
            else:
                os.unlink(inner, dir_fd=descriptor)
    os.rmdir(name, dir_fd=parent)


def require_unmounted(name: str, parent: int, path: Path) -> None:
    """Raise MountInTheWay if a name in an open folder, or anything below it, is a mount point."""
    if not stat.S_ISDIR(os.lstat(name, dir_fd=parent).st_mode):
        _require_plain(name, parent, path)
        return
    with _opened_below(name, parent, path) as descriptor:
        for inner in os.listdir(descriptor):  # noqa: PTH208 -- of a descriptor, not of a path
            require_unmounted(inner, descriptor, path / inner)


def _require_plain(name: str, parent: int, path: Path) -> None:
    """Raise MountInTheWay if something is mounted on what is no folder."""
    if not hasattr(os, "O_PATH"):
        # not Linux: the system refuses to remove it
        return
    # a descriptor without access: opening a pipe would wait
    descriptor = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        if _mount(descriptor) != _mount(parent):
            raise MountInTheWay(path)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _opened_below(name: str, parent: int, path: Path) -> Iterator[int]:
    """Yield the descriptor of a folder in an open one.

    Raises MountInTheWay if something is mounted there.
    """
    descriptor = os.open(name, FOLDER_FLAGS | os.O_NOFOLLOW, dir_fd=parent)
    try:
        if is_mounted(descriptor, parent):
            raise MountInTheWay(path)
        yield descriptor
    finally:
        os.close(descriptor)


def is_mounted(folder: int, outer: int) -> bool:
    """Return whether something is mounted between an open folder and the one that it is in."""
    device, outer_device = os.fstat(folder).st_dev, os.fstat(outer).st_dev
    return device != outer_device or _mount(folder) != _mount(outer)


def _mount(descriptor: int) -> str:
    """Return the kernel's number of the mount that a descriptor is on; "" where it is not told.

    A folder may be mounted on another one of the same device, which the number of the device does
    not tell.
    """
    try:
        match = _MOUNT.search(Path(f"/proc/self/fdinfo/{descriptor}").read_text(encoding="ascii"))
    except OSError:
        return ""
    return match[1] if match else ""
