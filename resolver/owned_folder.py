"""A folder whose content is ours, held open by its descriptor.

Everything that this program writes or removes goes through here. The folder itself is what its path leads to, links
included, because its user names it. Below it no link is followed, whoever put it there and whenever: each part of a
name is opened from the one before (`openat` with O_NOFOLLOW). A path judged by its text could lead anywhere.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import re
import stat
from collections.abc import Iterator
from enum import Enum
from pathlib import Path, PurePosixPath
from typing import IO, Final

# Errors of `fsync` where a file system, or a folder that may be written but not read, knows no syncing.
_NO_SYNC: Final = frozenset({errno.EINVAL, errno.ENOTSUP, errno.ENOSYS, errno.EBADF, errno.EACCES})

_MIB: Final = 1 << 20
_FOLDER_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FILE_FLAGS: Final = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # without O_NONBLOCK a pipe waits for its other end
_PERMISSIONS: Final = 0o777
_RENAME_EXCHANGE: Final = 2
_MOUNT: Final = re.compile(r"^mnt_id:\s*(\d+)$", re.MULTILINE)


class Kind(Enum):
    """What a name stands for, a link not followed."""

    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    # a pipe, a socket or a device
    SPECIAL = "special"


class OwnedFolder:
    """An open folder. Use it as a context, which closes it.

    Names are relative, with `/` between their parts. Every method raises OSError, whose `filename` is the full path of
    what is in the way; ValueError for a name that leads out of the folder.
    """

    def __init__(self, descriptor: int, path: Path) -> None:
        """Take over a descriptor. The `path` is for messages, and for programs that cannot be given a descriptor."""
        self._descriptor = descriptor
        self.path = path

    @classmethod
    def open(cls, path: Path, *, make: bool = False) -> OwnedFolder:
        """Open a folder that a user named, following links; with `make`, make it and its missing parents."""
        if make:
            make_folder(path)
        try:
            descriptor = os.open(path, _FOLDER_FLAGS)
        except PermissionError:
            # a folder that may be written but not read
            descriptor = os.open(path, _FOLDER_FLAGS | getattr(os, "O_PATH", 0))
        return cls(descriptor, path)

    def __enter__(self) -> OwnedFolder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the descriptor."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    @contextlib.contextmanager
    def exclusive(self) -> Iterator[None]:
        """Hold a lock for one writer, which others wait for. The kernel releases it with the process."""
        # a file system without locks: files are still put in place whole
        with contextlib.suppress(OSError):
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    # --- what there is

    def kind(self, name: str) -> Kind | None:
        """Return what a name stands for; None if there is nothing, or only behind a link."""
        try:
            with self._parent(name) as (parent, last):
                return _kind(os.lstat(last, dir_fd=parent).st_mode)
        except (FileNotFoundError, NotADirectoryError, LinkInTheWay):
            return None

    def is_behind_link(self, name: str) -> bool:
        """Return whether a name is a link, or in a folder that is one."""
        parts = _parts(name)
        prefixes = ("/".join(parts[: count + 1]) for count in range(len(parts)))
        return any(self.kind(prefix) is Kind.LINK for prefix in prefixes)

    def size(self, name: str) -> int:
        """Return the size of a file in bytes."""
        with self._parent(name) as (parent, last):
            return os.lstat(last, dir_fd=parent).st_size

    def names(self) -> list[str]:
        """Return the names in the folder, sorted."""
        return sorted(os.listdir(self._descriptor))  # noqa: PTH208 -- of a descriptor, not of a path

    def walk(self, name: str) -> Iterator[tuple[str, Kind]]:
        """Yield every path below a folder with its kind, sorted; nothing if the name is not that of a folder.

        What is below a mount point is left out.
        """
        if self.kind(name) is not Kind.FOLDER:
            return
        with self.folder(name) as folder:
            names = [] if _is_mounted(folder._descriptor, self._descriptor) else folder.names()
        for inner in names:
            path = f"{name}/{inner}"
            kind = self.kind(path)
            if kind is not None:
                yield path, kind
                yield from self.walk(path)

    # --- reading

    def folder(self, name: str, *, make: bool = False) -> OwnedFolder:
        """Open a folder in this one; with `make`, make it and its missing parents, and sync their names."""
        parts = _parts(name)
        descriptor = os.dup(self._descriptor)
        path = self.path
        for part in parts:
            path = path / part
            outer = descriptor
            try:
                descriptor = _opened_folder(part, outer, path, make=make)
            finally:
                os.close(outer)
        return OwnedFolder(descriptor, path)

    def open_file(self, name: str) -> IO[bytes]:
        """Open a regular file for reading."""
        with self._parent(name) as (parent, last):
            return os.fdopen(_opened_file(last, parent, self.path / name, os.O_RDONLY), "rb")

    def read(self, name: str, limit: int) -> bytes:
        """Return the content of a regular file of at most `limit` bytes."""
        with self.open_file(name) as file:
            content = file.read(limit + 1)
        if len(content) > limit:
            raise OSError(errno.EFBIG, f"it is larger than {limit // _MIB} MiB", str(self.path / name))
        return content

    # --- writing

    def write(self, name: str, content: bytes, mode: int | None = None) -> None:
        """Write a file atomically, even if the power fails; see `writing`."""
        with self.writing(name, mode) as file:
            file.write(content)

    @contextlib.contextmanager
    def writing(self, name: str, mode: int | None = None) -> Iterator[IO[bytes]]:
        """Yield a file that takes the place of `name` when the context ends without an exception.

        It has the permissions `mode`; without one, those of the file before, or what the umask gives. Until its end it
        has a temporary name in the same folder, and is always a new file: what a killed run or anybody else left of
        that name is removed, not written to, since it may have other names too. Another writer waits. Missing folders
        are made.
        """
        with self._parent(name, make=True) as (parent, last):
            partial = f".{last}.partial"
            place = self.path / name
            try:
                with _own_partial(partial, parent) as file:
                    try:
                        yield file
                        file.flush()
                        _set_mode(file.fileno(), mode, last, parent)
                        os.fsync(file.fileno())
                        os.replace(partial, last, src_dir_fd=parent, dst_dir_fd=parent)
                    except BaseException:
                        _unlink(partial, parent)
                        raise
                sync_descriptor(parent)
            except OSError as error:
                raise OSError(error.errno, error.strerror or str(error), str(place)) from error

    def create(self, name: str, content: bytes, mode: int) -> None:
        """Write a new file, not synced. Raises FileExistsError if the name is taken."""
        with self._parent(name, make=True) as (parent, last):
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
            with os.fdopen(_opened_file(last, parent, self.path / name, flags), "wb") as file:
                file.write(content)
                os.fchmod(file.fileno(), mode)

    def open_growing(self, name: str) -> IO[bytes]:
        """Open a file for reading and appending; make it if nothing else than a folder has its name.

        Whatever else has that name is removed: a link, a pipe, a device, a file with other names (hard links), one of
        another user.
        """
        with self._parent(name, make=True) as (parent, last):
            return os.fdopen(_opened_or_made(last, parent), "a+b")

    def open_alone(self, name: str) -> IO[bytes] | None:
        """Do what `open_growing` does, for one process at a time: return None if another one has the file open so."""
        with self._parent(name, make=True) as (parent, last):
            while True:
                file = os.fdopen(_opened_or_made(last, parent), "a+b")
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    file.close()
                    return None
                except OSError:
                    # a file system without locks
                    return file
                # another process removed it meanwhile if it is there no more
                if _is_at(last, parent, file.fileno()):
                    return file
                file.close()

    def replace(self, name: str, other: str) -> None:
        """Rename `name` to `other`, which is replaced if it is a file or a link."""
        with self._parent(name) as (parent, last), self._parent(other) as (other_parent, other_last):
            os.replace(last, other_last, src_dir_fd=parent, dst_dir_fd=other_parent)

    def exchange(self, name: str, other: str) -> bool:
        """Exchange two names of the folder atomically; return False if the system cannot."""
        try:
            call = ctypes.CDLL(None, use_errno=True).renameat2
        except (AttributeError, OSError):
            return False
        here = self._descriptor
        if call(here, os.fsencode(name), here, os.fsencode(other), _RENAME_EXCHANGE) == 0:
            return True
        number = ctypes.get_errno()
        if number in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP):
            return False
        raise OSError(number, os.strerror(number), str(self.path / name))

    def set_aside(self, name: str, expected: Kind) -> str:
        """Rename what has a name and is not of the expected kind; return the new name, "" if there is no such thing.

        A file with other names (hard links) is of no expected kind. The new name ends in `.damaged`; what was set aside
        before is replaced.
        """
        kind = self.kind(name)
        if kind is None or (kind is expected and not self._has_other_names(name)):
            return ""
        aside = f"{name}.damaged"
        if self.kind(aside) not in (None, Kind.FOLDER):
            self.remove(aside)
        self.replace(name, aside)
        return aside

    def _has_other_names(self, name: str) -> bool:
        """Return whether a name is that of a file with hard links elsewhere."""
        with self._parent(name) as (parent, last):
            status = os.lstat(last, dir_fd=parent)
        return stat.S_ISREG(status.st_mode) and not _is_alone(status)

    def copy_from(self, other: OwnedFolder, name: str) -> None:
        """Copy a file, a folder with what is in it, or a link as a link, with permissions and times.

        Raises OSError for a pipe, a socket or a device.
        """
        kind = other.kind(name)
        with other._parent(name) as (source, last), self._parent(name) as (target, _):
            status = os.lstat(last, dir_fd=source)
            if kind is Kind.LINK:
                os.symlink(os.readlink(last, dir_fd=source), last, dir_fd=target)
                return
            if kind is Kind.FOLDER:
                os.mkdir(last, dir_fd=target)
            else:
                with other.open_file(name) as content:
                    self._create_copy(name, content)
            _copy_status(status, last, target)
        if kind is Kind.FOLDER:
            with other.folder(name) as inner, self.folder(name) as copy:
                for inner_name in inner.names():
                    copy.copy_from(inner, inner_name)
            with self._parent(name) as (target, last):
                _copy_status(status, last, target)

    def _create_copy(self, name: str, content: IO[bytes]) -> None:
        with self._parent(name) as (parent, last):
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
            with os.fdopen(_opened_file(last, parent, self.path / name, flags), "wb") as file:
                while chunk := content.read(_MIB):
                    file.write(chunk)

    # --- removing

    def require_unmounted(self, name: str) -> None:
        """Raise MountInTheWay if a name, or anything below it, is a mount point; nothing if there is no such name."""
        with contextlib.suppress(FileNotFoundError, NotADirectoryError), self._parent_here(name) as (parent, last):
            _require_unmounted(last, parent, self.path / name)

    def remove(self, name: str) -> None:
        """Remove a file; of a link, the link alone. Nothing happens if there is none.

        Raises MountInTheWay if it is below a mount point.
        """
        with contextlib.suppress(FileNotFoundError, NotADirectoryError), self._parent_here(name) as (parent, last):
            os.unlink(last, dir_fd=parent)

    def remove_tree(self, name: str) -> None:
        """Remove a folder with what is in it, or a file, or a link, as far as the system lets.

        Raises MountInTheWay, before anything is removed, if something is mounted there: it is of somebody else.
        """
        self.require_unmounted(name)
        with contextlib.suppress(OSError):
            if self.kind(name) is Kind.FOLDER:
                with self._parent_here(name) as (parent, last):
                    _remove_folder(last, parent, self.path / name)
            else:
                self.remove(name)

    def remove_empty_parents(self, name: str) -> None:
        """Remove the folders that a name is in, from the inside, as far as they are empty."""
        for folder in PurePosixPath(name).parents:
            if folder.name:
                with contextlib.suppress(OSError), self._parent_here(str(folder)) as (parent, last):
                    os.rmdir(last, dir_fd=parent)

    # --- the disk

    def sync(self) -> None:
        """Wait until the names in the folder would survive a power cut.

        Until then a renamed file may come back under its old name, although its content is on the disk.
        """
        sync_descriptor(self._descriptor)

    def sync_tree(self) -> None:
        """Do the same for everything in the folder, contents of files included."""
        for name in self.names():
            kind = self.kind(name)
            if kind is Kind.FOLDER:
                with self.folder(name) as folder:
                    folder.sync_tree()
            elif kind is Kind.FILE:
                with self.open_file(name) as file:
                    os.fsync(file.fileno())
        self.sync()

    @contextlib.contextmanager
    def _parent(self, name: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
        *outer, last = _parts(name)
        if not outer:
            yield self._descriptor, last
            return
        with self.folder("/".join(outer), make=make) as folder:
            yield folder._descriptor, last

    @contextlib.contextmanager
    def _parent_here(self, name: str) -> Iterator[tuple[int, str]]:
        """Do what `_parent` does, but raise MountInTheWay if the name is below a mount point."""
        with self._parent(name) as (parent, last):
            if parent != self._descriptor and _is_mounted(parent, self._descriptor):
                raise MountInTheWay((self.path / name).parent)
            yield parent, last


class LinkInTheWay(OSError):
    """A folder or a file of ours would be behind a link."""

    def __init__(self, path: Path) -> None:
        super().__init__(errno.ELOOP, f"`{path.name}` is a link, which is not followed", str(path))


class MountInTheWay(OSError):
    """Something would be removed from what is mounted in a folder of ours."""

    def __init__(self, path: Path) -> None:
        why = f"`{path.name}` is a mount point, from which nothing is removed"
        super().__init__(errno.EBUSY, why, str(path))


def make_folder(path: Path) -> None:
    """Make a folder that a user named and its missing parents, and sync their names; raises OSError."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    path.mkdir(parents=True, exist_ok=True)
    for folder in missing:
        with OwnedFolder.open(folder.parent) as parent:
            parent.sync()


def sync_descriptor(descriptor: int) -> None:
    """Sync an open folder; raises OSError if the disk fails."""
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _NO_SYNC:
            raise


def _parts(name: str) -> list[str]:
    parts = name.split("/")
    if any(part in ("", ".", "..") or "\0" in part for part in parts):
        raise ValueError(f"{name!r} is no name in a folder")
    return parts


def _kind(mode: int) -> Kind:
    if stat.S_ISREG(mode):
        return Kind.FILE
    if stat.S_ISDIR(mode):
        return Kind.FOLDER
    if stat.S_ISLNK(mode):
        return Kind.LINK
    return Kind.SPECIAL


def _opened_folder(name: str, parent: int, path: Path, *, make: bool) -> int:
    """Return the descriptor of a folder in an open one, which is made if it is missing and is to be made."""
    flags = _FOLDER_FLAGS | os.O_NOFOLLOW
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


def _opened_file(name: str, parent: int, path: Path, flags: int) -> int:
    """Return the descriptor of a regular file in an open folder. Raises OSError for anything else."""
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


def _opened_or_made(name: str, parent: int) -> int:
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
            _unlink(name, parent)
            continue
        status = os.fstat(descriptor)
        if _is_alone(status) and status.st_uid == os.geteuid():
            return descriptor
        os.close(descriptor)
        # another process removed it meanwhile if it has no name
        if status.st_nlink:
            _unlink(name, parent)


def _is_alone(status: os.stat_result) -> bool:
    """Return whether it is a regular file with one name. What is written to one with several has all of them."""
    return stat.S_ISREG(status.st_mode) and status.st_nlink == 1


def _made(name: str, parent: int, flags: int) -> int:
    """Return the descriptor of a new file. Raises FileExistsError if the name is taken, also by a link."""
    return os.open(name, flags | os.O_CREAT | os.O_EXCL | _FILE_FLAGS, 0o666, dir_fd=parent)


@contextlib.contextmanager
def _own_partial(name: str, parent: int) -> Iterator[IO[bytes]]:
    """Yield a new temporary file, which is locked until its end. Waits for the one of a concurrent run."""
    while True:
        _remove_partial(name, parent)
        try:
            descriptor = _made(name, parent, os.O_WRONLY)
        except FileExistsError:
            # another run was faster
            continue
        with os.fdopen(descriptor, "wb") as file:
            _lock(descriptor)
            # another run took it for that of a killed one, before it was locked, if it is there no more
            if _is_at(name, parent, descriptor):
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
        _unlink(name, parent)
        return
    try:
        # of a file with another name, somebody else may hold the lock for ever
        if _is_alone(os.fstat(descriptor)):
            _lock(descriptor)
        if _is_at(name, parent, descriptor):
            _unlink(name, parent)
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> None:
    """Wait for the lock of a file, which the kernel releases with the descriptor. Not every file system has locks."""
    with contextlib.suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX)


def _is_at(name: str, parent: int, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.lstat(name, dir_fd=parent), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _set_mode(descriptor: int, mode: int | None, name: str, parent: int) -> None:
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


def _copy_status(status: os.stat_result, name: str, parent: int) -> None:
    """Give a copied file or folder the permissions and times of the original."""
    os.chmod(name, stat.S_IMODE(status.st_mode), dir_fd=parent)
    os.utime(name, ns=(status.st_atime_ns, status.st_mtime_ns), dir_fd=parent)


def _unlink(name: str, parent: int) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(name, dir_fd=parent)


def _remove_folder(name: str, parent: int, path: Path) -> None:
    """Remove a folder and what is in it; of a link in it, the link alone. Raises MountInTheWay where one is mounted."""
    with _opened_below(name, parent, path) as descriptor:
        for inner in os.listdir(descriptor):  # noqa: PTH208 -- of a descriptor, not of a path
            if stat.S_ISDIR(os.lstat(inner, dir_fd=descriptor).st_mode):
                _remove_folder(inner, descriptor, path / inner)
            else:
                os.unlink(inner, dir_fd=descriptor)
    os.rmdir(name, dir_fd=parent)


def _require_unmounted(name: str, parent: int, path: Path) -> None:
    """Raise MountInTheWay if a name in an open folder, or anything below it, is a mount point."""
    if not stat.S_ISDIR(os.lstat(name, dir_fd=parent).st_mode):
        _require_plain(name, parent, path)
        return
    with _opened_below(name, parent, path) as descriptor:
        for inner in os.listdir(descriptor):  # noqa: PTH208 -- of a descriptor, not of a path
            _require_unmounted(inner, descriptor, path / inner)


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
    """Yield the descriptor of a folder in an open one. Raises MountInTheWay if something is mounted there."""
    descriptor = os.open(name, _FOLDER_FLAGS | os.O_NOFOLLOW, dir_fd=parent)
    try:
        if _is_mounted(descriptor, parent):
            raise MountInTheWay(path)
        yield descriptor
    finally:
        os.close(descriptor)


def _is_mounted(folder: int, outer: int) -> bool:
    """Return whether something is mounted between an open folder and the one that it is in."""
    device, outer_device = os.fstat(folder).st_dev, os.fstat(outer).st_dev
    return device != outer_device or _mount(folder) != _mount(outer)


def _mount(descriptor: int) -> str:
    """Return the kernel's number of the mount that a descriptor is on; "" where it is not told.

    A folder may be mounted on another one of the same device, which the number of the device does not tell.
    """
    try:
        match = _MOUNT.search(Path(f"/proc/self/fdinfo/{descriptor}").read_text(encoding="ascii"))
    except OSError:
        return ""
    return match[1] if match else ""
