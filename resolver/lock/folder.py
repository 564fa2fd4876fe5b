"""Replacing a lock's folder all at once or not at all.

New files are written to a folder beside, synced, and exchanged with the old
one in a single step of the kernel (renameat2 with RENAME_EXCHANGE). Where the
file system cannot, two renames take its place, and a run that finds only the
half of them done finishes it.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from resolver import disk
from resolver.errors import InputError
from resolver.lock.sound import cutoff
from resolver.profile import counts

_LARGEST = 64 * disk.MIB
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_EXECUTABLE = (".sh", ".py")
_BUILD_FILE = re.compile(r"build-requirements(-\d+)?\.txt\Z")  # one for each environment of builds
_REPORT = ("conflict.md", "conflict.zh.md", "conflict.html", "conflict.zh.html", "conflict.json")


@counts("writing")
def replace(folders: Mapping[Path, Mapping[str, str]], require: Callable[[Path], None] = lambda _: None) -> None:
    """Make each folder hold its files (relative path -> text); files of other names in it stay.

    `require` is called for each folder when no other run can write it any more, and may raise. Everything is written
    before the first folder is exchanged. Raises InputError where the disk refuses, with all folders as they were.
    """
    folder = min(folders, default=Path())
    with contextlib.ExitStack() as stack:
        try:
            for parent in sorted({folder.parent for folder in folders}):
                parent.mkdir(parents=True, exist_ok=True)
                stack.enter_context(_alone(parent))
                for left in (*parent.glob(".*.new"), *parent.glob(".*.old")):  # of targets that are no more, too
                    _recover(parent / left.name[1:-4])
            for folder, files in folders.items():
                require(folder)
                fresh = _fresh(folder)
                stack.callback(shutil.rmtree, fresh, ignore_errors=True)
                _fill(fresh, files)
                _keep_others(folder, fresh, files)
            for folder in folders:
                _swap(folder, _fresh(folder))
        except OSError as error:
            raise InputError(
                "the lock could not be written; what was there before is untouched",
                where=str(folder),
                why=error.strerror or str(error),
                hint="free some space or choose another folder with --locks DIR",
            ) from None


def add(folder: Path, files: Mapping[str, str]) -> None:
    """Put texts beside what the folder holds, each of them whole or not at all."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _alone(folder.parent):
            _recover(folder)
            folder.mkdir(exist_ok=True)
            for name, text in files.items():
                fresh = folder / _partial(name)  # alone here: one name will do, and the next run writes over it
                try:
                    _write(fresh, text)
                    fresh.replace(folder / name)
                finally:
                    fresh.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(
            "the report could not be written",
            where=str(folder),
            why=error.strerror or str(error),
            hint="free some space or choose another folder with --locks DIR",
        ) from None


def tidy(folder: Path) -> None:
    """Finish or undo what a killed run left behind, before the folder is read."""
    if _old(folder).exists() or _fresh(folder).exists():
        with contextlib.suppress(OSError), _alone(folder.parent):
            _recover(folder)


@counts("writing")
def current(files: Mapping[str, str], folder: Path) -> bool:
    """Whether `folder` holds these texts already, to the byte."""
    try:
        return all(disk.read(folder / name, _LARGEST) == text.encode() for name, text in files.items())
    except OSError:
        return False


def has_report(folder: Path) -> bool:
    """Whether the report of a conflict lies beside the lock, which the next lock takes away."""
    return any((folder / name).exists() for name in _REPORT)


def reported(folder: Path) -> tuple[str, str]:
    """The digest of the inputs whose conflict is told there, and the cut-off; empty where none is or can be read."""
    try:
        told = json.loads(disk.read(folder / "conflict.json", _LARGEST))
        if told["exclude_newer"]:
            cutoff(told["exclude_newer"])
        return str(told["inputs"]), str(told["exclude_newer"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return "", ""


@contextlib.contextmanager
def _alone(parent: Path) -> Iterator[None]:
    """One writer at a time below a folder. The kernel lets go of the lock with the process."""
    handle = os.open(parent, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # a file system without locks: the exchange is atomic all the same
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _recover(folder: Path) -> None:
    """Put back what was moved aside, throw away what was not finished. Only for who writes alone."""
    old = _old(folder)
    if old.exists() and not folder.exists():
        old.rename(folder)
    shutil.rmtree(old, ignore_errors=True)
    shutil.rmtree(_fresh(folder), ignore_errors=True)


def _fresh(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.new")


def _old(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.old")


def _fill(fresh: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = fresh / name
        path.parent.mkdir(parents=True, exist_ok=True)
        _write(path, text)
        path.chmod(0o755 if path.suffix in _EXECUTABLE else 0o644)


def _write(path: Path, text: str) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as handle:
        handle.write(text)
        handle.flush()
        os.fsync(handle.fileno())


def _partial(name: str) -> str:
    return f".{name}.partial"


def _keep_others(folder: Path, fresh: Path, files: Mapping[str, str]) -> None:
    """Carry over what somebody else put beside the lock; what earlier locks wrote goes."""
    if not folder.is_dir():
        return
    ours = {name.split("/")[0] for name in files} | {"stages", *_REPORT, *map(_partial, _REPORT)}
    ours |= {"requirements-no-deps.txt"}
    for path in folder.iterdir():
        if path.name not in ours and not _BUILD_FILE.match(path.name):
            if path.is_dir() and not path.is_symlink():
                shutil.copytree(path, fresh / path.name, symlinks=True)
            else:
                shutil.copy2(path, fresh / path.name, follow_symlinks=False)


def _swap(folder: Path, fresh: Path) -> None:
    if not folder.exists():
        fresh.rename(folder)
        return
    if _exchange(fresh, folder):
        return
    old = _old(folder)
    folder.rename(old)
    fresh.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two paths atomically; False where this system cannot."""
    try:
        call = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError):
        return False
    if call(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0:
        return True
    if (number := ctypes.get_errno()) in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP):
        return False
    raise OSError(number, os.strerror(number))
