"""A folder whose content is ours, held open by its descriptor.

Everything that this program writes or removes goes through here. The folder itself is what its path
leads to, links included, because its user names it. Below it no link is followed, whoever put it
there and whenever: each part of a name is opened from the one before (`openat` with O_NOFOLLOW). A
path judged by its text could lead anywhere.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Final

from resolver.mounts import MountInTheWay, is_mounted, remove_folder, require_unmounted
from resolver.openat import (
    FOLDER_FLAGS,
    Kind,
    LinkInTheWay,
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
_RENAME_EXCHANGE: Final = 2


class OwnedFolder:
    """An open folder. Use it as a context, which closes it.

    Names are relative, with `/` between their parts. Every method raises OSError, whose `filename`
    is the full path of what is in the way; ValueError for a name that leads out of the folder.
    """

    def __init__(self, descriptor: int, path: Path) -> None:
        """Take over a descriptor.

        The `path` is for messages, and for programs that cannot be given a descriptor.
        """
        self._descriptor = descriptor
        self.path = path

    @classmethod
    def open(cls, path: Path, *, make: bool = False) -> OwnedFolder:
        """Open a folder that a user named, following links; with `make`, make it and its missing parents."""
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
        """Hold a lock for one writer, which others wait for.

        The kernel releases it with the process.
        """
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
                return kind_of(os.lstat(last, dir_fd=parent).st_mode)
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
            names = [] if is_mounted(folder._descriptor, self._descriptor) else folder.names()
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
                descriptor = opened_folder(part, outer, path, make=make)
            finally:
                os.close(outer)
        return OwnedFolder(descriptor, path)

    def open_file(self, name: str) -> IO[bytes]:
        """Open a regular file for reading."""
        with self._parent(name) as (parent, last):
            return os.fdopen(opened_file(last, parent, self.path / name, os.O_RDONLY), "rb")

    def read(self, name: str, limit: int) -> bytes:
        """Return the content of a regular file of at most `limit` bytes."""
        with self.open_file(name) as file:
            content = file.read(limit + 1)
        if len(content) > limit:
            raise OSError(
                errno.EFBIG, f"it is larger than {limit // _MIB} MiB", str(self.path / name)
            )
        return content

    # --- writing

    def write(self, name: str, content: bytes, mode: int | None = None) -> None:
        """Write a file atomically, even if the power fails; see `writing`."""
        with self.writing(name, mode) as file:
            file.write(content)

    @contextlib.contextmanager
    def writing(self, name: str, mode: int | None = None) -> Iterator[IO[bytes]]:
        """Yield a file that takes the place of `name` when the context ends without an exception.

        It has the permissions `mode`; without one, those of the file before, or what the umask
        gives. Until its end it has a temporary name in the same folder, and is always a new file:
        what a killed run or anybody else left of that name is removed, not written to, since it may
        have other names too. Another writer waits. Missing folders are made.
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

    def create(self, name: str, content: bytes, mode: int) -> None:
        """Write a new file, not synced. Raises FileExistsError if the name is taken."""
        with self._parent(name, make=True) as (parent, last):
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
            with os.fdopen(opened_file(last, parent, self.path / name, flags), "wb") as file:
                file.write(content)
                os.fchmod(file.fileno(), mode)

    def open_growing(self, name: str) -> IO[bytes]:
        """Open a file for reading and appending; make it if nothing else than a folder has its name.

        Whatever else has that name is removed: a link, a pipe, a device, a file with other names
        (hard links), one of another user.
        """
        with self._parent(name, make=True) as (parent, last):
            return os.fdopen(opened_or_made(last, parent), "a+b")

    def open_alone(self, name: str) -> IO[bytes] | None:
        """Do what `open_growing` does, for one process at a time: return None if another one has the file open so."""
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
                # another process removed it meanwhile if it is there no more
                if is_at(last, parent, file.fileno()):
                    return file
                file.close()

    def replace(self, name: str, other: str) -> None:
        """Rename `name` to `other`, which is replaced if it is a file or a link."""
        with (
            self._parent(name) as (parent, last),
            self._parent(other) as (other_parent, other_last),
        ):
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

        A file with other names (hard links) is of no expected kind. The new name ends in
        `.damaged`; what was set aside before is replaced.
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
        return stat.S_ISREG(status.st_mode) and not is_alone(status)

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
            copy_status(status, last, target)
        if kind is Kind.FOLDER:
            with other.folder(name) as inner, self.folder(name) as copy:
                for inner_name in inner.names():
                    copy.copy_from(inner, inner_name)
            with self._parent(name) as (target, last):
                copy_status(status, last, target)

    def _create_copy(self, name: str, content: IO[bytes]) -> None:
        with self._parent(name) as (parent, last):
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
            with os.fdopen(opened_file(last, parent, self.path / name, flags), "wb") as file:
                while chunk := content.read(_MIB):
                    file.write(chunk)

    # --- removing

    def require_unmounted(self, name: str) -> None:
        """Raise MountInTheWay if a name, or anything below it, is a mount point; nothing if there is no such name."""
        with (
            contextlib.suppress(FileNotFoundError, NotADirectoryError),
            self._parent_here(name) as (parent, last),
        ):
            require_unmounted(last, parent, self.path / name)

    def remove(self, name: str) -> None:
        """Remove a file; of a link, the link alone. Nothing happens if there is none.

        Raises MountInTheWay if it is below a mount point.
        """
        with (
            contextlib.suppress(FileNotFoundError, NotADirectoryError),
            self._parent_here(name) as (parent, last),
        ):
            os.unlink(last, dir_fd=parent)

    def remove_tree(self, name: str) -> None:
        """Remove a folder with what is in it, or a file, or a link, as far as the system lets.

        Raises MountInTheWay, before anything is removed, if something is mounted there: it is of
        somebody else.
        """
        self.require_unmounted(name)
        with contextlib.suppress(OSError):
            if self.kind(name) is Kind.FOLDER:
                with self._parent_here(name) as (parent, last):
                    remove_folder(last, parent, self.path / name)
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

        Until then a renamed file may come back under its old name, although its content is on the
        disk.
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
            if parent != self._descriptor and is_mounted(parent, self._descriptor):
                raise MountInTheWay((self.path / name).parent)
            yield parent, last


def make_folder(path: Path) -> None:
    """Make a folder that a user named and its missing parents, and sync their names; raises OSError."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    path.mkdir(parents=True, exist_ok=True)
    for folder in missing:
        with OwnedFolder.open(folder.parent) as parent:
            parent.sync()


def _parts(name: str) -> list[str]:
    parts = name.split("/")
    if any(part in ("", ".", "..") or "\0" in part for part in parts):
        raise ValueError(f"{name!r} is no name in a folder")
    return parts
