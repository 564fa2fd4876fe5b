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

from resolver import files
from resolver.lock.file import parse_cutoff

_LARGEST = 64 * files.MIB
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_ELSEWHERE = "choose another folder with --locks DIR"
_EXECUTABLE = (".sh", ".py")
# Files of a lock that not every lock has: those of an earlier one must go.
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
                for left in (*parent.glob(".*.new"), *parent.glob(".*.old")):  # also of targets that no longer exist
                    _recover(parent / left.name[1:-4])
            for folder, contents in folders.items():
                require(folder)
                fresh = _fresh(folder)
                stack.callback(_remove, fresh)
                _fill(fresh, contents)
                _keep_others(folder, fresh, contents)
                files.sync_tree(fresh)
            for folder in folders:
                _swap(folder, _fresh(folder))
            _settle(folders)
        except OSError as error:
            what = "the lock could not be written; what was there before is untouched"
            raise files.input_error(error, what, folder, _ELSEWHERE) from None


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
        raise files.input_error(error, "the report could not be written", folder, _ELSEWHERE) from None


def recover(folder: Path) -> None:
    """Finish or undo what a killed run left, before the folder is read."""
    if _old(folder).exists() or _fresh(folder).exists():
        with contextlib.suppress(OSError), files.exclusive_lock(folder.parent):
            _recover(folder)


def outdated(contents: Mapping[str, str], folder: Path) -> tuple[str, ...]:
    """The names of the files that do not have exactly these texts in `folder`."""

    def has(name: str, text: str) -> bool:
        try:
            return files.read(folder / name, _LARGEST) == text.encode()
        except OSError:
            return False

    return tuple(name for name, text in contents.items() if not has(name, text))


def reports(folder: Path) -> tuple[str, ...]:
    """The names of the files of a conflict report beside the lock; the next successful lock removes them."""
    names = (path.name for path in folder.iterdir()) if folder.is_dir() else ()
    return tuple(sorted(filter(_REPORT.fullmatch, names)))


def report_inputs(folder: Path) -> tuple[str, str]:
    """The digest of the inputs and the cut-off of the conflict report; empty if it is missing or unreadable."""
    try:
        told = json.loads(files.read(folder / "conflict.json", _LARGEST))
        if told["exclude_newer"]:
            parse_cutoff(told["exclude_newer"])
        return str(told["inputs"]), str(told["exclude_newer"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return "", ""


def _recover(folder: Path) -> None:
    """Move back what was moved aside, remove what was not finished. Only for the one writer."""
    old = _old(folder)
    if old.exists() and not folder.exists():
        old.rename(folder)
    _remove(old)
    _remove(_fresh(folder))


def _remove(folder: Path) -> None:
    """Remove a folder with what is in it; of a link, which may have stood for a lock's folder, the link alone."""
    if folder.is_symlink():
        with contextlib.suppress(OSError):
            folder.unlink()
    else:
        shutil.rmtree(folder, ignore_errors=True)


def _fresh(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.new")


def _old(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.old")


def _fill(fresh: Path, contents: Mapping[str, str]) -> None:
    for name, text in contents.items():
        path = fresh / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8", newline="\n") as handle:
            handle.write(text)
        path.chmod(0o755 if path.suffix in _EXECUTABLE else 0o644)


def _keep_others(folder: Path, fresh: Path, contents: Mapping[str, str]) -> None:
    """Carry over what somebody else put beside the lock, but not what earlier locks wrote."""
    if not folder.is_dir():
        return
    ours = {name.split("/")[0] for name in contents} | {"stages"}
    for path in folder.iterdir():
        name = path.name.removeprefix(".").removesuffix(".partial")
        if path.name not in ours and not _SOMETIMES.match(path.name) and not _REPORT.fullmatch(name):
            if path.is_dir() and not path.is_symlink():
                shutil.copytree(path, fresh / path.name, symlinks=True)
            else:
                shutil.copy2(path, fresh / path.name, follow_symlinks=False)


def _swap(folder: Path, fresh: Path) -> None:
    if not os.path.lexists(folder):
        fresh.rename(folder)
        return
    if _exchange(fresh, folder):
        return
    folder.rename(_old(folder))
    fresh.rename(folder)


def _settle(folders: Iterable[Path]) -> None:
    """Have the disk keep the exchange before anything of the old folders goes: all are exchanged, nothing fails now."""
    for parent in sorted({folder.parent for folder in folders}):
        with contextlib.suppress(OSError):
            files.sync_folder(parent)
    for folder in folders:
        _remove(_old(folder))


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two paths atomically; False if the system does not support it."""
    try:
        call = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError):
        return False
    if call(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0:
        return True
    if (number := ctypes.get_errno()) in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP):
        return False
    raise OSError(number, os.strerror(number))
