"""A folder whose content is ours, held open by its descriptor.

Everything that this program writes or removes goes through here. A user names the folder itself, so
links in its path are followed. Below it no link is followed, whoever put it there and whenever:
each part of a name is opened from the one before, by openat(2) with O_NOFOLLOW. Checking a path as
text would not help, as somebody could put a link there afterwards. Nor is anything written or
removed below a mount point, and folders are gone through only as deep as `DEEPEST`.
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
    """An open folder, as a context manager that closes it.

    Names are relative to it, with `/` between their parts. Every method may raise OSError, and
    ValueError for a name that leads out of the folder.
    """

    def __init__(self, descriptor: int, path: Path, depth: int = 0) -> None:
        """Take over a descriptor of a folder that is so deep in the one that the user named."""
        self._descriptor = descriptor
        self._depth = depth
        # For messages, and for programs that cannot be given a descriptor.
        self.path = path

    @classmethod
    def open(cls, path: Path, *, make: bool = False) -> OwnedFolder:
        """Open a folder that a user named, following links.

        With `make`, it and its missing parents are made.
        """
        if make:
            make_folder(path)
        try:
            descriptor = os.open(path, FOLDER_FLAGS)
        except PermissionError:
            # a folder that may be written but not read
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
        """Hold the lock of the folder, for which other writers wait.

        The kernel releases it with the process.
        """
        # on a file system without locks, files are still put in place whole
        with contextlib.suppress(OSError):
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    # --- what there is

    def kind(self, name: str) -> Kind | None:
        """Return what a name stands for, None if it does not exist or is in a linked folder."""
        try:
            with self._parent(name) as (parent, last):
                return kind_of(os.lstat(last, dir_fd=parent).st_mode)
        except (FileNotFoundError, NotADirectoryError, LinkInTheWay):
            return None

    def is_behind_link(self, name: str) -> bool:
        """Return whether a name is a link, or in a folder that is one."""
        parts = _parts(name)
        for count in range(1, len(parts) + 1):
            if self.kind("/".join(parts[:count])) is Kind.LINK:
                return True
        return False

    def size(self, name: str) -> int:
        """Return the size of a file in bytes."""
        with self._parent(name) as (parent, last):
            return os.lstat(last, dir_fd=parent).st_size

    def names(self) -> list[str]:
        """Return the names in the folder, sorted."""
        return sorted(os.listdir(self._descriptor))  # noqa: PTH208 -- of a descriptor, not of a path

    # --- reading

    def folder(self, name: str, *, make: bool = False, write: bool = False) -> OwnedFolder:
        """Open a folder in this one.

        With `make`, it and its missing parents are made, and their names are synced. It is opened
        to be changed then, or with `write`: MountInTheWay is raised if it is below a mount point.
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
        """Open a regular file for reading."""
        with self._parent(name) as (parent, last):
            return os.fdopen(opened_file(last, parent, self.path / name, os.O_RDONLY), "rb")

    def read(self, name: str, limit: int) -> bytes:
        """Return the content of a regular file of at most `limit` bytes."""
        with self.open_file(name) as file:
            content = file.read(limit + 1)
        if len(content) > limit:
            why = f"it is larger than {limit // _MIB} MiB"
            raise OSError(errno.EFBIG, why, str(self.path / name))
        return content

    # --- writing

    def write(self, name: str, content: bytes, mode: int | None = None) -> None:
        """Write a file atomically, even if the power fails, as `writing` does."""
        with self.writing(name, mode) as file:
            file.write(content)

    @contextlib.contextmanager
    def writing(self, name: str, mode: int | None = None) -> Iterator[IO[bytes]]:
        """Yield a file that replaces `name` when the context ends without an exception.

        It has the permissions `mode`, or else those of the file that it replaces, or else what the
        umask gives. Until the end, it has a temporary name in the same folder. It is always a new
        file: what a killed run or anybody else left under that name is removed rather than written
        to, since it may have other names. A concurrent writer waits. Missing folders are made.
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
        """Write a file atomically whose content says when it was written, and which has that time.

        `content_of` is given the time, in nanoseconds since 1970, as the file system stores it.
        """
        with self.writing(name) as file:
            written = os.fstat(file.fileno()).st_mtime_ns
            file.write(content_of(written))
            file.flush()
            os.utime(file.fileno(), ns=(written, written))

    def create(self, name: str, content: bytes, mode: int) -> None:
        """Write a new file, not synced. Raises FileExistsError if the name exists."""
        with self._new_file(name) as file:
            file.write(content)
            os.fchmod(file.fileno(), mode)

    def _new_file(self, name: str) -> IO[bytes]:
        with self._parent(name, make=True) as (parent, last):
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
            return os.fdopen(opened_file(last, parent, self.path / name, flags), "wb")

    def open_growing(self, name: str) -> IO[bytes]:
        """Open a file for reading and appending, which may be new.

        Anything else than a folder that has its name is removed: a link, a pipe, a device, a file
        with other names (hard links) or of another user.
        """
        with self._parent(name, make=True) as (parent, last):
            return os.fdopen(opened_or_made(last, parent), "a+b")

    def open_alone(self, name: str) -> IO[bytes] | None:
        """Open a file as `open_growing` does; return None while another process has it open so."""
        with self._parent(name, make=True) as (parent, last):
            while True:
                file = os.fdopen(opened_or_made(last, parent), "a+b")
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    file.close()
                    return None
                except OSError:
                    # a file system without locks
                    return file
                # another process may have removed it meanwhile
                if is_at(last, parent, file.fileno()):
                    return file
                file.close()

    def replace(self, name: str, new_name: str) -> None:
        """Rename `name` to `new_name`. A file or link of that name is replaced."""
        with self._parent(name) as (parent, last), self._parent(new_name) as (new_parent, new_last):
            os.replace(last, new_last, src_dir_fd=parent, dst_dir_fd=new_parent)

    def exchange(self, name: str, other: str) -> bool:
        """Exchange two names in the folder atomically. Return False if the system cannot."""
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
        """Rename what is not of the expected kind. Return the new name, empty if there is nothing.

        A file with other names (hard links) is of no expected kind. The new name ends in
        `.damaged`, and replaces what was set aside before.
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
        """Copy a file, a link or a folder with its content, with permissions and times.

        Raises OSError for a pipe, a socket or a device.
        """
        kind = other.kind(name)
        with other._parent(name) as (source, last), self._parent(name) as (target, _):
            status = os.lstat(last, dir_fd=source)
            if kind is Kind.LINK:
                os.symlink(os.readlink(last, dir_fd=source), last, dir_fd=target)
                return
            if kind is Kind.FOLDER:
                # nobody else may look into it before it has its permissions
                os.mkdir(last, 0o700, dir_fd=target)
                self._copy_content(other, name)
            else:
                with other.open_file(name) as content, self._new_file(name) as file:
                    shutil.copyfileobj(content, file, _MIB)
            copy_status(status, last, target)

    def _copy_content(self, other: OwnedFolder, name: str) -> None:
        """Copy what is in a folder of another one into the folder of that name."""
        with other.folder(name) as source, self.folder(name) as target:
            for inner in source.names():
                target.copy_from(source, inner)

    # --- removing

    def require_unmounted(self, name: str) -> None:
        """Raise MountInTheWay if a name, or anything below it, is a mount point.

        What is behind a link is not looked at, as it is not reached.
        """
        with (
            contextlib.suppress(FileNotFoundError, NotADirectoryError, LinkInTheWay),
            self._parent(name, write=True) as (parent, last),
        ):
            require_unmounted(last, parent, self.path / name)

    def remove(self, name: str) -> None:
        """Remove a file or a link, if there is one.

        Raises MountInTheWay if it is below a mount point.
        """
        with (
            contextlib.suppress(FileNotFoundError, NotADirectoryError),
            self._parent(name, write=True) as (parent, last),
        ):
            os.unlink(last, dir_fd=parent)

    def remove_tree(self, name: str) -> None:
        """Remove a folder with its content, a file or a link, as far as the system allows.

        Raises MountInTheWay before anything is removed if something is mounted in it: that belongs
        to somebody else.
        """
        self.require_unmounted(name)
        with contextlib.suppress(OSError):
            if self.kind(name) is Kind.FOLDER:
                with self._parent(name, write=True) as (parent, last):
                    remove_folder(last, parent, self.path / name)
            else:
                self.remove(name)

    def remove_empty_parents(self, name: str) -> None:
        """Remove the folders that a name is in, from the innermost, as far as they are empty."""
        for folder in PurePosixPath(name).parents:
            if folder.name:
                with (
                    contextlib.suppress(OSError),
                    self._parent(str(folder), write=True) as (parent, last),
                ):
                    os.rmdir(last, dir_fd=parent)

    # --- the disk

    def sync(self) -> None:
        """Wait until the names in the folder are on the disk.

        Otherwise, after a power cut, a renamed file may have its old name again.
        """
        sync_descriptor(self._descriptor)

    def sync_tree(self) -> None:
        """Wait until everything in the folder is on the disk, contents of files included."""
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
        """Yield the descriptor of the folder that a name is in, and the last part of the name.

        `make` and `write` are as for `folder`.
        """
        *outer, last = _parts(name)
        if not outer:
            yield self._descriptor, last
            return
        with self.folder("/".join(outer), make=make, write=write) as folder:
            yield folder._descriptor, last


def make_folder(path: Path) -> None:
    """Make a folder that a user named and its missing parents, and sync their names."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    path.mkdir(parents=True, exist_ok=True)
    for folder in missing:
        with OwnedFolder.open(folder.parent) as parent:
            parent.sync()


def _parts(name: str) -> list[str]:
    """Return the parts of a name. Raises ValueError if it may lead out of its folder."""
    parts = name.split("/")
    if any(part in ("", ".", "..") or "\0" in part for part in parts):
        raise ValueError(f"{name!r} is no name in a folder")
    return parts
