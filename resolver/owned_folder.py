"""Safe writing and removing of files below a folder, which is held open by its descriptor.

Everything that this program writes or removes goes through `OwnedFolder`. A user names the folder
itself, so links in its path are followed. Below the folder no link is followed: each part of a name
is opened from its parent by openat(2) with O_NOFOLLOW. Checking the path as text would not be
enough, since somebody could put a link there after the check. Nothing is written or removed below a
mount point. Folders may be nested at most `DEEPEST` deep.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Final

from resolver.mounts import MountInTheWay, is_mounted, remove_folder, require_unmounted
from resolver.openat import (
    DEEPEST,
    FOLDER_FLAGS,
    Kind,
    LinkInTheWay,
    TooDeep,
    copy_status,
    is_alone,
    is_at,
    kind_of,
    opened_file,
    opened_folder,
    opened_or_made,
    own_partial,
    set_mode,
    sync_descriptor,
    unlink,
)

_MIB: Final = 1 << 20
# The flag of renameat2(2).
_RENAME_EXCHANGE: Final = 2


class OwnedFolder:
    """An open folder, and the operations on names below it.

    It is a context manager that closes the folder. Names are relative to the folder, with `/`
    between their parts. Every method may raise OSError, and ValueError for a name that leads out of
    the folder.
    """

    def __init__(self, descriptor: int, path: Path, depth: int = 0) -> None:
        """Take over the descriptor of the folder at `path`.

        `depth` is how many levels it is below the folder that the user named.
        """
        self._descriptor = descriptor
        self._depth = depth
        # The path for messages, and for programs that take a path and no descriptor.
        self.path = path

    @classmethod
    def open(cls, path: Path, *, make: bool = False) -> OwnedFolder:
        """Open a folder by a path that a user named. Links in the path are followed.

        With `make`, the folder and its missing parents are made.
        """
        if make:
            _make_folder(path)
        try:
            descriptor = os.open(path, FOLDER_FLAGS)
        except PermissionError:
            # The folder may be writable without being readable.
            descriptor = os.open(path, FOLDER_FLAGS | getattr(os, "O_PATH", 0))
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
        """Wait for the lock of the folder, and hold it until the context ends.

        Other writers wait for the lock. The kernel releases it if the process ends.
        """
        # A file system may have no locks. Even then, each file is replaced atomically.
        with contextlib.suppress(OSError):
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    # --- looking at names

    def kind(self, name: str) -> Kind | None:
        """Return what a name is. None if it does not exist, or a folder on the way is a link."""
        try:
            with self._parent(name) as (parent, last):
                return kind_of(os.lstat(last, dir_fd=parent).st_mode)
        except (FileNotFoundError, NotADirectoryError, LinkInTheWay):
            return None

    def is_behind_link(self, name: str) -> bool:
        """Return whether a name, or a folder on the way to it, is a link."""
        parts = _parts(name)
        for count in range(1, len(parts) + 1):
            if self.kind("/".join(parts[:count])) is Kind.LINK:
                return True
        return False

    def size(self, name: str) -> int:
        """Return the size of a file in bytes. Raises FileNotFoundError if it does not exist."""
        with self._parent(name) as (parent, last):
            return os.lstat(last, dir_fd=parent).st_size

    def names(self) -> list[str]:
        """Return the names in the folder, sorted."""
        return sorted(os.listdir(self._descriptor))  # noqa: PTH208 -- of a descriptor, not of a path

    # --- reading

    def folder(self, name: str, *, make: bool = False, write: bool = False) -> OwnedFolder:
        """Open a folder below this one.

        With `make`, the folder and its missing parents are made, and their names are synced. With
        `make` or `write`, the caller wants to change it, so MountInTheWay is raised if it is a
        mount point, or below one. Raises TooDeep and LinkInTheWay as well.
        """
        parts = _parts(name)
        depth = self._depth + len(parts)
        if depth > DEEPEST:
            raise TooDeep(self.path / name)
        descriptor = os.dup(self._descriptor)
        path = self.path
        for part in parts:
            path = path / part
            outer = descriptor
            try:
                descriptor = opened_folder(part, outer, path, make=make)
                if (make or write) and is_mounted(descriptor, outer):
                    os.close(descriptor)
                    raise MountInTheWay(path)
            finally:
                os.close(outer)
        return OwnedFolder(descriptor, path, depth)

    def open_file(self, name: str) -> IO[bytes]:
        """Open a regular file for reading. Raises OSError for anything else."""
        with self._parent(name) as (parent, last):
            return os.fdopen(opened_file(last, parent, self.path / name, os.O_RDONLY), "rb")

    def read(self, name: str, limit: int) -> bytes:
        """Return the content of a regular file.

        Raises OSError if it has more than `limit` bytes.
        """
        with self.open_file(name) as file:
            content = file.read(limit + 1)
        if len(content) > limit:
            why = f"it is larger than {limit // _MIB} MiB"
            raise OSError(errno.EFBIG, why, str(self.path / name))
        return content

    # --- writing

    def write(self, name: str, content: bytes, mode: int | None = None) -> None:
        """Write a file atomically, even if the power fails (see `writing`)."""
        with self.writing(name, mode) as file:
            file.write(content)

    @contextlib.contextmanager
    def writing(self, name: str, mode: int | None = None) -> Iterator[IO[bytes]]:
        """Yield a file that replaces `name` when the context ends without an exception.

        The file has the permissions `mode`. With None, it has the permissions of the file that it
        replaces, or, if there is none, the permissions that the umask gives. Until
        the end, it has a temporary name in the same folder. A file that already has the temporary
        name is removed and not written to, since it may have other names (hard links). A concurrent
        writer of the same name waits. Missing folders are made.
        """
        with self._parent(name, make=True) as (parent, last):
            partial = f".{last}.partial"
            place = self.path / name
            try:
                with own_partial(partial, parent) as file:
                    try:
                        yield file
                        file.flush()
                        set_mode(file.fileno(), mode, last, parent)
                        os.fsync(file.fileno())
                        os.replace(partial, last, src_dir_fd=parent, dst_dir_fd=parent)
                    except BaseException:
                        unlink(partial, parent)
                        raise
                sync_descriptor(parent)
            except OSError as error:
                raise OSError(error.errno, error.strerror or str(error), str(place)) from error

    def write_dated(self, name: str, content_of: Callable[[int], bytes]) -> None:
        """Write a file atomically whose content states its own modification time.

        `content_of` takes this time in nanoseconds since 1970, as the file system stores it, and
        returns the content. The file gets the same modification time.
        """
        with self.writing(name) as file:
            written = os.fstat(file.fileno()).st_mtime_ns
            file.write(content_of(written))
            file.flush()
            os.utime(file.fileno(), ns=(written, written))

    def create(self, name: str, content: bytes, mode: int) -> None:
        """Write a new file with the permissions `mode`, without waiting for the disk.

        Raises FileExistsError if the name exists. Missing folders are made.
        """
        with self._new_file(name) as file:
            file.write(content)
            os.fchmod(file.fileno(), mode)

    def _new_file(self, name: str) -> IO[bytes]:
        """Open a new file for writing. Raises FileExistsError if the name exists."""
        with self._parent(name, make=True) as (parent, last):
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
            return os.fdopen(opened_file(last, parent, self.path / name, flags), "wb")

    def open_growing(self, name: str) -> IO[bytes]:
        """Open a file for reading and appending. A missing file and missing folders are made.

        If the name is a link, a pipe, a device, a file with other names (hard links) or a file of
        another user, it is removed first. Raises OSError if it is a folder.
        """
        with self._parent(name, make=True) as (parent, last):
            return os.fdopen(opened_or_made(last, parent), "a+b")

    def open_alone(self, name: str) -> IO[bytes] | None:
        """Open a file as `open_growing` does, and take its lock.

        None if another process has opened it with this method.
        """
        with self._parent(name, make=True) as (parent, last):
            while True:
                file = os.fdopen(opened_or_made(last, parent), "a+b")
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    file.close()
                    return None
                except OSError:
                    # The file system has no locks.
                    return file
                # Another process may have removed the file meanwhile.
                if is_at(last, parent, file.fileno()):
                    return file
                file.close()

    def replace(self, name: str, new_name: str) -> None:
        """Rename `name` to `new_name`. A file or link with the new name is replaced."""
        with self._parent(name) as (parent, last), self._parent(new_name) as (new_parent, new_last):
            os.replace(last, new_last, src_dir_fd=parent, dst_dir_fd=new_parent)

    def exchange(self, name: str, other: str) -> bool:
        """Exchange two names in the folder atomically.

        Both names are directly in the folder. Return False if the system or its file system cannot
        exchange names.
        """
        try:
            renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
        except (AttributeError, OSError):
            return False
        here = self._descriptor
        if renameat2(here, os.fsencode(name), here, os.fsencode(other), _RENAME_EXCHANGE) == 0:
            return True
        number = ctypes.get_errno()
        if number in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP):
            return False
        raise OSError(number, os.strerror(number), str(self.path / name))

    def set_aside(self, name: str, expected: Kind) -> str:
        """Rename a name that is not of the expected kind, and return the new name.

        A file with other names (hard links) is renamed, too. The new name ends in `.damaged`; a
        file or link that has this name is removed. Return an empty text if nothing was renamed: the
        name does not exist, or is as expected.
        """
        kind = self.kind(name)
        if kind is None:
            return ""
        if kind is expected and not self._has_other_names(name):
            return ""
        aside = f"{name}.damaged"
        if self.kind(aside) not in (None, Kind.FOLDER):
            self.remove(aside)
        self.replace(name, aside)
        return aside

    def _has_other_names(self, name: str) -> bool:
        """Return whether a file has other names (hard links)."""
        with self._parent(name) as (parent, last):
            status = os.lstat(last, dir_fd=parent)
        return stat.S_ISREG(status.st_mode) and not is_alone(status)

    def copy_from(self, other: OwnedFolder, name: str) -> None:
        """Copy a file, a link or a folder with its content from another folder.

        The copy has the same name, and the permissions and times of the original, except for the
        set-user-id and set-group-id bits. Raises OSError for a pipe, a socket or a device.
        """
        kind = other.kind(name)
        with other._parent(name) as (source, last), self._parent(name) as (target, _):
            status = os.lstat(last, dir_fd=source)
            if kind is Kind.LINK:
                os.symlink(os.readlink(last, dir_fd=source), last, dir_fd=target)
                return
            if kind is Kind.FOLDER:
                # Nobody else may read the folder before it has its permissions.
                os.mkdir(last, 0o700, dir_fd=target)
                self._copy_content(other, name)
            else:
                with other.open_file(name) as content, self._new_file(name) as file:
                    shutil.copyfileobj(content, file, _MIB)
            copy_status(status, last, target)

    def _copy_content(self, other: OwnedFolder, name: str) -> None:
        """Copy the content of the folder `name` of another folder into the same folder here."""
        with other.folder(name) as source, self.folder(name) as target:
            for inner in source.names():
                target.copy_from(source, inner)

    # --- removing

    def require_unmounted(self, name: str) -> None:
        """Raise MountInTheWay if a name, or anything below it, is a mount point.

        Links are not followed, since nothing behind them would be removed. Nothing is raised if the
        name does not exist.
        """
        with (
            contextlib.suppress(FileNotFoundError, NotADirectoryError, LinkInTheWay),
            self._parent(name, write=True) as (parent, last),
        ):
            require_unmounted(last, parent, self.path / name)

    def remove(self, name: str) -> None:
        """Remove a file or a link, if it exists.

        Raises MountInTheWay if it is below a mount point.
        """
        with (
            contextlib.suppress(FileNotFoundError, NotADirectoryError),
            self._parent(name, write=True) as (parent, last),
        ):
            os.unlink(last, dir_fd=parent)

    def remove_tree(self, name: str) -> None:
        """Remove a folder with its content, a file or a link, as far as the system permits.

        Files that cannot be removed are left without an error. Raises MountInTheWay, before
        anything is removed, if something is mounted in the folder: it belongs to somebody else.
        """
        self.require_unmounted(name)
        with contextlib.suppress(OSError):
            if self.kind(name) is Kind.FOLDER:
                with self._parent(name, write=True) as (parent, last):
                    remove_folder(last, parent, self.path / name)
            else:
                self.remove(name)

    def remove_empty_parents(self, name: str) -> None:
        """Remove the empty folders that contain a name, beginning with the innermost.

        Folders that cannot be removed are left without an error.
        """
        for folder in PurePosixPath(name).parents:
            if folder.name:
                with (
                    contextlib.suppress(OSError),
                    self._parent(str(folder), write=True) as (parent, last),
                ):
                    os.rmdir(last, dir_fd=parent)

    # --- syncing to the disk

    def sync(self) -> None:
        """Wait until the names in the folder are written to the disk.

        Without it, a renamed file may have its old name again after a power cut.
        """
        sync_descriptor(self._descriptor)

    def sync_tree(self) -> None:
        """Wait until all names and contents of files in the folder are written to the disk."""
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
    def _parent(
        self, name: str, *, make: bool = False, write: bool = False
    ) -> Iterator[tuple[int, str]]:
        """Yield the descriptor of the folder that contains a name, and the last part of the name.

        `make` and `write` have the same meaning as in `folder`.
        """
        *outer, last = _parts(name)
        if not outer:
            yield self._descriptor, last
            return
        with self.folder("/".join(outer), make=make, write=write) as folder:
            yield folder._descriptor, last


def _make_folder(path: Path) -> None:
    """Make a folder that a user named, and its missing parents, and sync their names to the disk.

    Nothing happens if the folder exists. Raises OSError.
    """
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    path.mkdir(parents=True, exist_ok=True)
    for folder in missing:
        with OwnedFolder.open(folder.parent) as parent:
            parent.sync()


def _parts(name: str) -> list[str]:
    """Return the parts of a name between `/`.

    Raises ValueError if the name may lead out of the folder.
    """
    parts = name.split("/")
    if any(part in ("", ".", "..") or "\0" in part for part in parts):
        raise ValueError(f"{name!r} is no name in a folder")
    return parts
