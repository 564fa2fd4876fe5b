"""Open, make and remove names in an open folder, without following a link.

Each function takes a single name and the descriptor of the folder that it is in, as openat(2) does.
Those with a `path` name it in errors.
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

FOLDER_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC

# Errors of fsync(2) on a file system without syncing, or on a folder that may not be read.
_NO_SYNC: Final = frozenset({errno.EINVAL, errno.ENOTSUP, errno.ENOSYS, errno.EBADF, errno.EACCES})

# Without O_NONBLOCK, opening a pipe waits for its other end.
_FILE_FLAGS: Final = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_PERMISSIONS: Final = 0o777

# How deep folders may be nested. Each takes a call and a descriptor while it is gone through.
DEEPEST: Final = 64


class Kind(Enum):
    """What a name stands for. Links are not followed."""

    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    # A pipe, a socket or a device.
    SPECIAL = "special"


class LinkInTheWay(OSError):
    """A name is a link, or in a folder that is one."""

    def __init__(self, path: Path) -> None:
        super().__init__(errno.ELOOP, f"`{path.name}` is a link, which is not followed", str(path))


class TooDeep(OSError):
    """A folder is in more folders than this program goes through."""

    def __init__(self, path: Path) -> None:
        why = f"folders are nested more than {DEEPEST} deep in it"
        super().__init__(errno.ENAMETOOLONG, why, str(path))


def sync_descriptor(descriptor: int) -> None:
    """Wait until the names in an open folder are on the disk. Raises OSError if the disk fails."""
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _NO_SYNC:
            raise


def kind_of(mode: int) -> Kind:
    """Return the kind of a file with this `st_mode`."""
    if stat.S_ISREG(mode):
        return Kind.FILE
    if stat.S_ISDIR(mode):
        return Kind.FOLDER
    if stat.S_ISLNK(mode):
        return Kind.LINK
    return Kind.SPECIAL


def opened_folder(name: str, parent: int, path: Path, *, make: bool) -> int:
    """Return the descriptor of a folder. With `make`, a missing folder is made. Raises OSError."""
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
    """Return the descriptor of a regular file. Raises OSError for anything else."""
    descriptor = _open(name, parent, path, flags | _FILE_FLAGS)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    return descriptor


def _open(name: str, parent: int, path: Path, flags: int) -> int:
    """Open a name. Raises LinkInTheWay if it is a link, or else the OSError with the full path."""
    try:
        return os.open(name, flags, 0o666, dir_fd=parent)
    except OSError as error:
        if _is_link(name, parent):
            raise LinkInTheWay(path) from None
        raise type(error)(error.errno, error.strerror, str(path)) from None


def _is_link(name: str, parent: int) -> bool:
    try:
        return stat.S_ISLNK(os.lstat(name, dir_fd=parent).st_mode)
    except OSError:
        return False


def opened_or_made(name: str, parent: int) -> int:
    """Return the descriptor of a file of our own for reading and appending, which may be new.

    Anything else that has its name is removed.
    """
    while True:
        with contextlib.suppress(FileExistsError):
            return _create(name, parent, os.O_RDWR | os.O_APPEND)
        try:
            descriptor = os.open(name, os.O_RDWR | os.O_APPEND | _FILE_FLAGS, dir_fd=parent)
        except FileNotFoundError:
            continue
        except OSError as error:
            # a link, a pipe without a reader, a file of somebody else
            if error.errno not in (errno.ELOOP, errno.ENXIO, errno.EACCES):
                raise
            unlink(name, parent)
            continue
        status = os.fstat(descriptor)
        if is_alone(status) and status.st_uid == os.geteuid():
            return descriptor
        os.close(descriptor)
        # without a name, another process has removed it meanwhile
        if status.st_nlink:
            unlink(name, parent)


def is_alone(status: os.stat_result) -> bool:
    """Return whether it is a regular file without other names (hard links)."""
    return stat.S_ISREG(status.st_mode) and status.st_nlink == 1


def _create(name: str, parent: int, flags: int) -> int:
    """Return the descriptor of a new file. Raises FileExistsError if the name exists."""
    return os.open(name, flags | os.O_CREAT | os.O_EXCL | _FILE_FLAGS, 0o666, dir_fd=parent)


@contextlib.contextmanager
def own_partial(name: str, parent: int) -> Iterator[IO[bytes]]:
    """Yield a new temporary file, which is locked until the context ends.

    While a concurrent run has a file of that name, this one waits.
    """
    while True:
        _remove_partial(name, parent)
        try:
            descriptor = _create(name, parent, os.O_WRONLY)
        except FileExistsError:
            # a concurrent run was faster
            continue
        with os.fdopen(descriptor, "wb") as file:
            _lock(descriptor)
            # before it was locked, a concurrent run may have removed it as left by a killed run
            if is_at(name, parent, descriptor):
                yield file
                return


def _remove_partial(name: str, parent: int) -> None:
    """Remove what has the name of a temporary file, once no concurrent run writes it."""
    try:
        descriptor = os.open(name, os.O_RDONLY | _FILE_FLAGS, dir_fd=parent)
    except FileNotFoundError:
        return
    except OSError:
        # a link, or a file that may not be read
        unlink(name, parent)
        return
    try:
        # somebody else may hold the lock of a file with other names for ever
        if is_alone(os.fstat(descriptor)):
            _lock(descriptor)
        if is_at(name, parent, descriptor):
            unlink(name, parent)
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> None:
    """Wait for the lock of a file. The kernel releases it with the descriptor."""
    # not every file system has locks
    with contextlib.suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX)


def is_at(name: str, parent: int, descriptor: int) -> bool:
    """Return whether a name stands for the file that a descriptor is open on."""
    try:
        return os.path.samestat(os.lstat(name, dir_fd=parent), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def set_mode(descriptor: int, mode: int | None, name: str, parent: int) -> None:
    """Give a new file the permissions `mode`, or else those of the file that it will replace."""
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
    """Give a copied file or folder the permissions and times of the original.

    The copy is of this user. So it does not run as its owner or group, as the original may: what
    somebody else wrote would get the rights of this user.
    """
    copied = stat.S_IMODE(status.st_mode) & ~(stat.S_ISUID | stat.S_ISGID)
    # a new folder may have got the group of the one around it
    inherited = os.lstat(name, dir_fd=parent).st_mode & stat.S_ISGID
    os.chmod(name, copied | inherited, dir_fd=parent)
    os.utime(name, ns=(status.st_atime_ns, status.st_mtime_ns), dir_fd=parent)


def unlink(name: str, parent: int) -> None:
    """Remove a file or a link, if there is one."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(name, dir_fd=parent)
