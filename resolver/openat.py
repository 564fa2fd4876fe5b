"""Functions that open, make and remove files in an open folder, without following links.

Each function takes a single name and the descriptor of its parent folder (`parent`), as openat(2)
does. If it takes a `path`, that is the full path for messages. `OwnedFolder` calls these functions.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import IO, Final

# The flags with which folders are opened.
FOLDER_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC

# Errors of fsync(2) that are ignored: the file system does not sync, or the folder was opened
# without permission to read it.
_NO_SYNC: Final = frozenset({errno.EINVAL, errno.ENOTSUP, errno.ENOSYS, errno.EBADF, errno.EACCES})

# The flags with which files are opened. Without O_NONBLOCK, opening a pipe would wait for its other
# end.
_FILE_FLAGS: Final = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
# The bits of `st_mode` that are permissions, without set-user-id, set-group-id and sticky bit.
_PERMISSIONS: Final = 0o777

# How deep folders may be nested. Walking a tree takes a recursive call and an open descriptor for
# each level.
DEEPEST: Final = 64


class Kind(Enum):
    """What a name in a folder stands for. Links are not followed to find this out."""

    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    # A pipe, a socket or a device.
    SPECIAL = "special"


class LinkInTheWay(OSError):
    """A name, or a folder on the way to it, is a link."""

    def __init__(self, path: Path) -> None:
        super().__init__(errno.ELOOP, f"`{path.name}` is a link, which is not followed", str(path))


class TooDeep(OSError):
    """Folders are nested deeper than `DEEPEST`."""

    def __init__(self, path: Path) -> None:
        why = f"folders are nested more than {DEEPEST} deep in it"
        super().__init__(errno.ENAMETOOLONG, why, str(path))


def sync_descriptor(descriptor: int) -> None:
    """Wait until the names in an open folder are written to the disk.

    Nothing happens on a file system that does not sync. Raises OSError if the disk fails.
    """
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _NO_SYNC:
            raise


def kind_of(mode: int) -> Kind:
    """Return the kind of a file, given the `st_mode` of its status."""
    if stat.S_ISREG(mode):
        return Kind.FILE
    if stat.S_ISDIR(mode):
        return Kind.FOLDER
    if stat.S_ISLNK(mode):
        return Kind.LINK
    return Kind.SPECIAL


def opened_folder(name: str, parent: int, path: Path, *, make: bool) -> int:
    """Return the descriptor of a folder. With `make`, a missing folder is made.

    Raises LinkInTheWay if the name is a link, and other OSErrors with the full path.
    """
    try:
        return _open(name, parent, path, FOLDER_FLAGS | os.O_NOFOLLOW)
    except FileNotFoundError:
        if not make:
            raise
    with contextlib.suppress(FileExistsError):
        os.mkdir(name, dir_fd=parent)
        sync_descriptor(parent)
    return _open(name, parent, path, FOLDER_FLAGS | os.O_NOFOLLOW)


def opened_file(name: str, parent: int, path: Path, flags: int) -> int:
    """Return the descriptor of a regular file.

    Raises LinkInTheWay if the name is a link, and OSError if it is no regular file.
    """
    descriptor = _open(name, parent, path, flags | _FILE_FLAGS)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    return descriptor


def _open(name: str, parent: int, path: Path, flags: int) -> int:
    """Return the descriptor of a file or folder.

    Raises LinkInTheWay if the name is a link, and otherwise the OSError of open(2) with the full
    path.
    """
    try:
        return os.open(name, flags, 0o666, dir_fd=parent)
    except OSError as error:
        if _is_link(name, parent):
            raise LinkInTheWay(path) from None
        raise type(error)(error.errno, error.strerror, str(path)) from None


def _is_link(name: str, parent: int) -> bool:
    """Return whether a name is a link; False if it does not exist."""
    try:
        return stat.S_ISLNK(os.lstat(name, dir_fd=parent).st_mode)
    except OSError:
        return False


def opened_or_made(name: str, parent: int) -> int:
    """Return the descriptor of a file for reading and appending, which is made if it is missing.

    The file must be a regular file of this user without other names (hard links). A link, a pipe or
    a file that is not is removed, and a new file is made in its place.
    """
    while True:
        with contextlib.suppress(FileExistsError):
            return _create(name, parent, os.O_RDWR | os.O_APPEND)
        try:
            descriptor = os.open(name, os.O_RDWR | os.O_APPEND | _FILE_FLAGS, dir_fd=parent)
        except FileNotFoundError:
            continue
        except OSError as error:
            # These are the errors of a link, a pipe without a reader, and a file of another user.
            if error.errno not in (errno.ELOOP, errno.ENXIO, errno.EACCES):
                raise
            unlink(name, parent)
            continue
        status = os.fstat(descriptor)
        if is_alone(status) and status.st_uid == os.geteuid():
            return descriptor
        os.close(descriptor)
        # If the file has no name left, another process has removed it meanwhile.
        if status.st_nlink:
            unlink(name, parent)


def is_alone(status: os.stat_result) -> bool:
    """Return whether a status belongs to a regular file without other names (hard links)."""
    return stat.S_ISREG(status.st_mode) and status.st_nlink == 1


def _create(name: str, parent: int, flags: int) -> int:
    """Return the descriptor of a new file. Raises FileExistsError if the name exists."""
    return os.open(name, flags | os.O_CREAT | os.O_EXCL | _FILE_FLAGS, 0o666, dir_fd=parent)


@contextlib.contextmanager
def own_partial(name: str, parent: int) -> Iterator[IO[bytes]]:
    """Yield a new temporary file, which is locked until the context ends.

    If a concurrent run has a temporary file with this name, wait until it is done. If a killed run
    left such a file, remove it.
    """
    while True:
        _remove_partial(name, parent)
        try:
            descriptor = _create(name, parent, os.O_WRONLY)
        except FileExistsError:
            # A concurrent run was faster.
            continue
        with os.fdopen(descriptor, "wb") as file:
            _lock(descriptor)
            # Before the lock was taken, a concurrent run may have removed the file, as one that a
            # killed run left.
            if is_at(name, parent, descriptor):
                yield file
                return


def _remove_partial(name: str, parent: int) -> None:
    """Remove the file with the name of a temporary file, as soon as no run holds its lock."""
    try:
        descriptor = os.open(name, os.O_RDONLY | _FILE_FLAGS, dir_fd=parent)
    except FileNotFoundError:
        return
    except OSError:
        # It is a link, or a file that may not be read.
        unlink(name, parent)
        return
    try:
        # A file with other names may be somebody else's, who may hold its lock forever.
        if is_alone(os.fstat(descriptor)):
            _lock(descriptor)
        if is_at(name, parent, descriptor):
            unlink(name, parent)
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> None:
    """Wait for the lock of a file, and take it.

    The kernel releases the lock when the descriptor is closed. Nothing happens on a file system
    without locks.
    """
    with contextlib.suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX)


def is_at(name: str, parent: int, descriptor: int) -> bool:
    """Return whether an open file, given by its descriptor, has a name."""
    try:
        return os.path.samestat(os.lstat(name, dir_fd=parent), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def set_mode(descriptor: int, mode: int | None, name: str, parent: int) -> None:
    """Set the permissions of a new file.

    It gets the permissions `mode`. With None, it gets the permissions of the file `name` that it
    will replace. If no such regular file exists, its permissions are not changed.
    """
    if mode is None:
        try:
            before = os.lstat(name, dir_fd=parent).st_mode
        except FileNotFoundError:
            return
        if not stat.S_ISREG(before):
            return
        mode = before & _PERMISSIONS
    os.fchmod(descriptor, mode)


def copy_status(status: os.stat_result, name: str, parent: int) -> None:
    """Give a copied file or folder the permissions and times of its original.

    `status` is the status of the original. The set-user-id and set-group-id bits are not copied.
    The copy belongs to this user, and with these bits, code of the original's owner would run with
    the rights of this user.
    """
    copied = stat.S_IMODE(status.st_mode) & ~(stat.S_ISUID | stat.S_ISGID)
    # A new folder inherits the set-group-id bit of the folder that contains it.
    inherited = os.lstat(name, dir_fd=parent).st_mode & stat.S_ISGID
    os.chmod(name, copied | inherited, dir_fd=parent)
    os.utime(name, ns=(status.st_atime_ns, status.st_mtime_ns), dir_fd=parent)


def unlink(name: str, parent: int) -> None:
    """Remove a file or a link, if it exists."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(name, dir_fd=parent)
