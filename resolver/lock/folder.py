"""Replacing a lock's folder atomically.

New files are written to a folder beside it, synced, and exchanged with the old one in a single system call
(renameat2 with RENAME_EXCHANGE). If the file system does not support that, two renames are used instead, and a
run that finds only one of them done finishes the job. The old folder is removed
once the disk has the exchange.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from resolver import files
from resolver.lock.file import parse_cutoff
from resolver.model.as_of import AUTO, NEWEST, read_as_of
from resolver.model.lock import Lock

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_HINT = "choose another folder with --locks DIR"
_EXECUTABLE = (".sh", ".py")
# Files that not every lock has: those of an earlier lock are removed.
_SOMETIMES = re.compile(r"(requirements-no-deps|build-requirements(-\d+)?)\.txt\Z")
_REPORT = re.compile(r"conflict(\.[a-z]+)?\.(md|html|json)")


def replace(folders: Mapping[Path, Mapping[str, str]], require: Callable[[Path], None] = lambda _: None) -> None:
    """Write these files (relative path -> text) to each folder; other files in it are kept.

    `require` is called for each folder once no other run can write it, and may raise. Everything is written before the
    first folder is exchanged. Raises InputError if the disk refuses, leaving all folders as they were.
    """
    folder = min(folders, default=Path())
    with contextlib.ExitStack() as stack:
        try:
            for parent in sorted({folder.parent for folder in folders}):
                files.make_folder(parent)
                stack.enter_context(files.exclusive_lock(parent))
                for path in (*parent.glob(".*.new"), *parent.glob(".*.old")):  # also of targets that no longer exist
                    _recover(parent / path.name[1:-4])
            for folder, contents in folders.items():
                require(folder)
                new = _new(folder)
                stack.callback(_remove, new)
                _fill(new, contents)
                _copy_others(folder, new, contents)
                files.sync_tree(new)
            for folder in folders:
                _swap(folder, _new(folder))
            _settle(folders)
        except OSError as error:
            what = "the lock could not be written; what was there before is untouched"
            raise files.input_error(error, what, folder, _HINT) from None


def add(folder: Path, contents: Mapping[str, str]) -> None:
    """Add texts to the folder, each atomically."""
    try:
        files.make_folder(folder.parent)
        with files.exclusive_lock(folder.parent):
            _recover(folder)
            files.make_folder(folder)
            for name, text in contents.items():
                files.write(folder / name, text.encode())
    except OSError as error:
        raise files.input_error(error, "the report could not be written", folder, _HINT) from None


def recover(folder: Path) -> None:
    """Finish or undo the work of a killed run, before the folder is read."""
    if _old(folder).exists() or _new(folder).exists():
        with contextlib.suppress(OSError), files.exclusive_lock(folder.parent):
            _recover(folder)


def outdated(contents: Mapping[str, str], folder: Path) -> tuple[str, ...]:
    """The names of the files that do not have exactly these texts in `folder`."""

    def has(name: str, text: str) -> bool:
        try:
            return files.read(folder / name) == text.encode()
        except OSError:
            return False

    return tuple(name for name, text in contents.items() if not has(name, text))


def reports(folder: Path) -> tuple[str, ...]:
    """The names of the files of a conflict report beside the lock; the next successful lock removes them."""
    names = (path.name for path in folder.iterdir()) if folder.is_dir() else ()
    return tuple(sorted(filter(_REPORT.fullmatch, names)))


class MadeFrom(NamedTuple):
    """What a lock or a conflict report was made from."""

    # of the input files and the policy; empty if there is neither
    digest: str = ""
    # the cut-off in ISO 8601, or empty
    exclude_newer: str = ""
    # `auto`, `newest` or a day
    as_of: str = AUTO


def lock_inputs(lock: Lock) -> MadeFrom:
    """Return what a lock was made from."""
    return MadeFrom(lock.inputs, lock.exclude_newer, lock.as_of.policy)


def report_inputs(folder: Path) -> MadeFrom:
    """Return what the conflict report in a folder was made from; nothing if it is missing or unreadable."""
    try:
        report = json.loads(files.read(folder / "conflict.json"))
        if report["exclude_newer"]:
            parse_cutoff(report["exclude_newer"])
        as_of = read_as_of(report.get("as_of", NEWEST))
        return MadeFrom(str(report["inputs"]), str(report["exclude_newer"]), as_of)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return MadeFrom()


def _recover(folder: Path) -> None:
    """Move an old folder back, remove an unfinished new one. Only for the one writer."""
    old = _old(folder)
    if old.exists() and not folder.exists():
        old.rename(folder)
    _remove(old)
    _remove(_new(folder))


def _remove(folder: Path) -> None:
    """Remove a folder with what is in it; of a link, which may have stood for a lock's folder, the link alone."""
    if folder.is_symlink():
        with contextlib.suppress(OSError):
            folder.unlink()
    else:
        shutil.rmtree(folder, ignore_errors=True)


def _new(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.new")


def _old(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.old")


def _fill(new: Path, contents: Mapping[str, str]) -> None:
    for name, text in contents.items():
        path = new / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8", newline="\n") as handle:
            handle.write(text)
        path.chmod(0o755 if path.suffix in _EXECUTABLE else 0o644)


def _copy_others(folder: Path, new: Path, contents: Mapping[str, str]) -> None:
    """Copy what somebody else put beside the lock, but not what earlier locks wrote."""
    if not folder.is_dir():
        return
    of_lock = {name.split("/")[0] for name in contents} | {"stages"}
    for path in folder.iterdir():
        name = path.name.removeprefix(".").removesuffix(".partial")
        if path.name not in of_lock and not _SOMETIMES.match(path.name) and not _REPORT.fullmatch(name):
            if path.is_dir() and not path.is_symlink():
                shutil.copytree(path, new / path.name, symlinks=True)
            else:
                shutil.copy2(path, new / path.name, follow_symlinks=False)


def _swap(folder: Path, new: Path) -> None:
    if not os.path.lexists(folder):
        new.rename(folder)
    elif not _exchange(new, folder):
        folder.rename(_old(folder))
        new.rename(folder)


def _settle(folders: Iterable[Path]) -> None:
    """Sync the exchange before the old folders are removed. All are exchanged, so an error of the disk is ignored."""
    for parent in sorted({folder.parent for folder in folders}):
        with contextlib.suppress(OSError):
            files.sync_folder(parent)
    for folder in folders:
        _remove(_old(folder))


def _exchange(left: Path, right: Path) -> bool:
    """Exchange two paths atomically; False if the system does not support it."""
    try:
        call = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError):
        return False
    if call(_AT_FDCWD, os.fsencode(left), _AT_FDCWD, os.fsencode(right), _RENAME_EXCHANGE) == 0:
        return True
    if (number := ctypes.get_errno()) in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP):
        return False
    raise OSError(number, os.strerror(number))
