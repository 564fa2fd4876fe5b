"""Open, make and remove names in an open folder, without following a link.

Each function takes a single name and the descriptor of the folder that it is in (`openat` with
O_NOFOLLOW).
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

# Errors of `fsync` where a file system, or a folder that may be written but not read, knows no
# syncing.
_NO_SYNC: Final = frozenset({errno.EINVAL, errno.ENOTSUP, errno.ENOSYS, errno.EBADF, errno.EACCES})

_FILE_FLAGS: Final = (
    os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
)  # without O_NONBLOCK a pipe waits for its other end
_PERMISSIONS: Final = 0o777


class Kind(Enum):
    """What a name stands for, a link not followed."""

    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    # a pipe, a socket or a device
    SPECIAL = "special"


class LinkInTheWay(OSError):
    """A folder or a file of ours would be behind a link."""

    def __init__(self, path: Path) -> None:
        super().__init__(errno.ELOOP, f"`{path.name}` is a link, which is not followed", str(path))


def sync_descriptor(descriptor: int) -> None:
    """Sync an open folder; raises OSError if the disk fails."""
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _NO_SYNC:
            raise


def kind_of(mode: int) -> Kind:
    """Return the kind of what has these permissions and type bits (`st_mode`)."""
    if stat.S_ISREG(mode):
        return Kind.FILE
    if stat.S_ISDIR(mode):
        return Kind.FOLDER
    if stat.S_ISLNK(mode):
        return Kind.LINK
    return Kind.SPECIAL


def opened_folder(name: str, parent: int, path: Path, *, make: bool) -> int:
    """Return the descriptor of a folder in an open one, which is made if it is missing and is to be made."""
    flags = FOLDER_FLAGS | os.O_NOFOLLOW
    try:
        return os.open(name, flags, dir_fd=parent)
    except FileNotFoundError:
        if not make:
            raise
    except OSError as error:
        raise _named(error, name, parent, path) from None
    with contextlib.suppress(FileExistsError):
        os.mkdir(name, dir_fd=parent)
        sync_descriptor(parent)
    try:
        return os.open(name, flags, dir_fd=parent)
    except OSError as error:
        raise _named(error, name, parent, path) from None


def opened_file(name: str, parent: int, path: Path, flags: int) -> int:
    """Return the descriptor of a regular file in an open folder.

    Raises OSError for anything else.
    """
    try:
        descriptor = os.open(name, flags | _FILE_FLAGS, 0o666, dir_fd=parent)
    except OSError as error:
        raise _named(error, name, parent, path) from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    return descriptor


def _named(error: OSError, name: str, parent: int, path: Path) -> OSError:
    """Return the error with the full path; of what is a link, the one that says so."""
    with contextlib.suppress(OSError):
        if stat.S_ISLNK(os.lstat(name, dir_fd=parent).st_mode):
            return LinkInTheWay(path)
    return type(error)(error.errno, error.strerror, str(path))


def opened_or_made(name: str, parent: int) -> int:
    """Return the descriptor of a file of our own for reading and appending; remove what else has its name."""
    while True:
        with contextlib.suppress(FileExistsError):
            return _made(name, parent, os.O_RDWR | os.O_APPEND)
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
        # another process removed it meanwhile if it has no name
        if status.st_nlink:
            unlink(name, parent)


def is_alone(status: os.stat_result) -> bool:
    """Return whether it is a regular file with one name.

    What is written to one with several has all of them.
    """
    return stat.S_ISREG(status.st_mode) and status.st_nlink == 1


def _made(name: str, parent: int, flags: int) -> int:
    """Return the descriptor of a new file.

    Raises FileExistsError if the name is taken, also by a link.
    """
    return os.open(name, flags | os.O_CREAT | os.O_EXCL | _FILE_FLAGS, 0o666, dir_fd=parent)


@contextlib.contextmanager
def own_partial(name: str, parent: int) -> Iterator[IO[bytes]]:
    """Yield a new temporary file, which is locked until its end.

    Waits for the one of a concurrent run.
    """
    while True:
        _remove_partial(name, parent)
        try:
            descriptor = _made(name, parent, os.O_WRONLY)
        except FileExistsError:
            # another run was faster
            continue
        with os.fdopen(descriptor, "wb") as file:
            _lock(descriptor)
            # another run took it for that of a killed one, before it was locked, if it is there no
            # more
            if is_at(name, parent, descriptor):
                yield file
                return


def _remove_partial(name: str, parent: int) -> None:
    """Remove what has the name of a temporary file, once no other run writes it."""
    try:
        descriptor = os.open(name, os.O_RDONLY | _FILE_FLAGS, dir_fd=parent)
    except FileNotFoundError:
        return
    except OSError:
        # a link, or a file that may not be read
        unlink(name, parent)
        return
    try:
        # of a file with another name, somebody else may hold the lock for ever
        if is_alone(os.fstat(descriptor)):
            _lock(descriptor)
        if is_at(name, parent, descriptor):
            unlink(name, parent)
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> None:
    """Wait for the lock of a file, which the kernel releases with the descriptor.

    Not every file system has locks.
    """
    with contextlib.suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX)


def is_at(name: str, parent: int, descriptor: int) -> bool:
    """Return whether a name stands for the file that a descriptor is open on."""
    try:
        return os.path.samestat(os.lstat(name, dir_fd=parent), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def set_mode(descriptor: int, mode: int | None, name: str, parent: int) -> None:
    """Give a new file its permissions: `mode`, or those of the regular file whose name it takes."""
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
    """Give a copied file or folder the permissions and times of the original."""
    os.chmod(name, stat.S_IMODE(status.st_mode), dir_fd=parent)
    os.utime(name, ns=(status.st_atime_ns, status.st_mtime_ns), dir_fd=parent)


def unlink(name: str, parent: int) -> None:
    """Remove a file, or a link itself; nothing happens if there is none."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(name, dir_fd=parent)
