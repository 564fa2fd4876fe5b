"""Replacing a lock's folder atomically.

New files are written to a folder beside it, synced, and exchanged with the old one in a single
system call (renameat2 with RENAME_EXCHANGE). If the file system does not support that, two renames
are used instead, and a run that finds only one of them done finishes the job. The old folder is
removed once the disk has the exchange.

The folders of a stack and of its targets are ours: none of them may be a link to elsewhere, or a
mount point.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import msgspec

from resolver import files
from resolver.errors import InputError
from resolver.lock.file import NAME, parse_cutoff
from resolver.model.as_of import AUTO, NEWEST, read_as_of
from resolver.model.lock import FolderName, Lock
from resolver.mounts import MountInTheWay
from resolver.openat import Kind, LinkInTheWay
from resolver.owned_folder import OwnedFolder
from resolver.phrase import phrase

# In the folder of a stack, while its file is edited together with its locks.
_EDIT = ".edit.json"
# What is beside the folder of a target while it is replaced.
_TEMPORARY = re.compile(r"\.(?P<target>.+)\.ascend-lock-(new|old)")
_HINT = phrase("choose another folder with --locks DIR")
_EXECUTABLE = (".sh", ".py")
# Files that not every lock has, so that an earlier lock may have left them.
_SOMETIMES = re.compile(r"(requirements-no-deps|build-requirements(-\d+)?)\.txt\Z")
_REPORT = re.compile(r"conflict(\.[a-z]+)?\.(md|html|json)")


class StackEdit(NamedTuple):
    """A change to a stack's file, which goes with locks of the changed stack."""

    # The file itself, not a link to it.
    file: Path
    # Its content before; if it has another when it is written, nothing is.
    old: bytes
    # Its content after.
    new: bytes


class _EditRecord(msgspec.Struct, frozen=True):
    """An edit that is being written, so that the next run can finish it."""

    # The sha256 of the stack's file before.
    old: str
    # Its content after.
    new: str
    # The sha256 of each target's new lock.toml.
    locks: dict[FolderName, str]
    # When it was written, in nanoseconds since 1970, as the file system has it. What somebody else
    # wrote and git or a download put there has another time.
    written: int


def replace(
    folders: Mapping[Path, Mapping[str, str]],
    require: Callable[[Path], None] = lambda _: None,
    edit: StackEdit | None = None,
) -> None:
    """Write these files (relative path -> text) to each folder; other files in it are kept.

    `require` is called for each folder once no other run can write it, and may raise. Everything is
    written before the first folder is exchanged. An `edit` of the stack of these folders is written
    with them: a run that is killed in between leaves a record, by which the next one finishes it.
    Raises InputError if the disk refuses, leaving all folders as they were, or if the file that is
    to be edited was changed meanwhile.
    """
    folder = min(folders, default=Path())
    with contextlib.ExitStack() as stack:
        try:
            parents: dict[Path, OwnedFolder] = {}
            for path in sorted({folder.parent for folder in folders}):
                parents[path] = stack.enter_context(_folder_of_stack(path, make=True))
                stack.enter_context(parents[path].exclusive())
                _recover_all(parents[path])
            for folder, contents in folders.items():
                parent = parents[folder.parent]
                require(folder)
                # What is mounted there would be moved away with the old folder.
                parent.require_unmounted(folder.name)
                stack.callback(_tidy, parent, _new(folder.name))
                with parent.folder(_new(folder.name), make=True) as new:
                    _fill(new, contents)
                    _copy_others(parent, folder.name, new, contents)
                    new.sync_tree()
            if edit is not None:
                with _edited(edit, folders, parents):
                    _swap_all(folders, parents)
            else:
                _swap_all(folders, parents)
            for parent in parents.values():
                _settle(parent)
        except OSError as error:
            what = phrase("the lock could not be written; what was there before is untouched")
            raise files.input_error(error, what, folder, _HINT) from None


def add(folder: Path, contents: Mapping[str, str]) -> None:
    """Add texts to the folder, each atomically. Raises InputError if the disk refuses."""
    try:
        with _folder_of_stack(folder.parent, make=True) as parent, parent.exclusive():
            _recover_all(parent)
            with parent.folder(folder.name, make=True) as own:
                for name, text in contents.items():
                    own.write(name, text.encode())
    except OSError as error:
        raise files.input_error(
            error, phrase("the report could not be written"), folder, _HINT
        ) from None


def recover(folder: Path) -> None:
    """Finish or undo the work of a killed run, before the folder is read."""
    with contextlib.suppress(OSError), _folder_of_stack(folder.parent) as parent:
        if parent.kind(_old(folder.name)) or parent.kind(_new(folder.name)):
            with parent.exclusive():
                _recover_all(parent)


def outdated(contents: Mapping[str, str], folder: Path) -> tuple[str, ...]:
    """Return the names of the files in `folder` that do not have exactly these texts.

    Programs that cannot be run are among them, and so are links, whatever they lead to: install.sh
    takes what is beside the file that a link leads to.
    """
    unstartable = not_executable(contents, folder)
    names = []
    for name, text in contents.items():
        if name in unstartable or _content(folder / name) != text.encode():
            names.append(name)
    return tuple(names)


def _content(path: Path) -> bytes | None:
    """Return the content of a file; None if it cannot be read, or is a link."""
    if path.is_symlink():
        return None
    try:
        return files.read(path)
    except OSError:
        return None


def not_executable(contents: Iterable[str], folder: Path) -> tuple[str, ...]:
    """Return the names of the programs among these files that their owner may not run.

    Missing files are not among them.
    """
    programs = [name for name in contents if name.endswith(_EXECUTABLE)]
    return tuple(name for name in programs if not _may_be_executed(folder / name))


def _may_be_executed(path: Path) -> bool:
    """Return whether the owner may execute a file; True if it is missing."""
    try:
        return bool(path.stat().st_mode & stat.S_IXUSR)
    except OSError:
        return True


def foreign(contents: Iterable[str], folder: Path) -> tuple[str, ...]:
    """Return what is in `folder`, and in the folders of these files, and is none of them.

    Names of folders end in `/`. Reports of a conflict are not foreign: the next lock removes them.
    """
    own = set(contents)
    parents: set[str] = set()
    for name in contents:
        parents.update(f"{parent}/" for parent in PurePosixPath(name).parents)
    parents.discard("./")
    found: list[str] = []
    for parent in ("", *parents):
        with contextlib.suppress(OSError), os.scandir(folder / parent) as entries:
            for entry in entries:
                slash = "/" if entry.is_dir(follow_symlinks=False) else ""
                found.append(f"{parent}{entry.name}{slash}")
    strange = [name for name in found if name not in own and name not in parents]
    return tuple(sorted(name for name in strange if not _REPORT.fullmatch(name)))


def reports(folder: Path) -> tuple[str, ...]:
    """Return the names of the files of a conflict report beside the lock.

    The next successful lock removes them.
    """
    if not folder.is_dir():
        return ()
    names = (path.name for path in folder.iterdir())
    return tuple(sorted(name for name in names if _REPORT.fullmatch(name)))


class MadeFrom(NamedTuple):
    """What a lock or a conflict report was made from."""

    # The digest of the input files and the policy; empty if there is neither.
    digest: str = ""
    # The cut-off in ISO 8601; empty if there is none.
    exclude_newer: str = ""
    # `auto`, `newest` or a day.
    as_of: str = AUTO


def lock_inputs(lock: Lock) -> MadeFrom:
    """Return what a lock was made from."""
    return MadeFrom(lock.inputs, lock.exclude_newer, lock.as_of.policy)


def report_inputs(folder: Path) -> MadeFrom:
    """Return what the conflict report in a folder was made from.

    It is nothing if the report is missing or unreadable.
    """
    try:
        report = json.loads(files.read(folder / "conflict.json"))
        exclude_newer = report["exclude_newer"]
        if exclude_newer:
            parse_cutoff(exclude_newer)
        as_of = read_as_of(report.get("as_of", NEWEST))
        return MadeFrom(str(report["inputs"]), str(exclude_newer), as_of)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return MadeFrom()


def finish_edit(folder: Path, file: Path) -> bool:
    """Finish an edit that a killed run had begun to write.

    The edit is of locks in a stack's `folder`, and of the stack's `file`. A file that was changed
    since stays as it is. Returns whether the edit is finished. Raises InputError if the disk
    refuses.
    """
    try:
        with _folder_of_stack(folder) as parent:
            if parent.kind(_EDIT) is None:
                return False
            with parent.exclusive():
                record = _roll_forward(parent)
                if record is None:
                    raise InputError(
                        phrase("the record of an interrupted edit was not written here"),
                        where=str(folder / _EDIT),
                        why=phrase(
                            "No run of this program has left it as it is, so nothing is finished."
                        ),
                        hint=phrase("remove the file, and run again what was to be edited"),
                    )
                content = file.read_bytes()
                new = record.new.encode()
                is_old = _sha256(content) == record.old
                if is_old:
                    files.write(file, new)
                parent.remove(_EDIT)
                return is_old or content == new
    except (FileNotFoundError, NotADirectoryError, LinkInTheWay, MountInTheWay):
        return False
    except OSError as error:
        what = phrase("an edit that was interrupted cannot be finished")
        raise files.input_error(error, what, file, _HINT) from None


@contextlib.contextmanager
def _edited(
    edit: StackEdit, folders: Mapping[Path, Mapping[str, str]], parents: Mapping[Path, OwnedFolder]
) -> Iterator[None]:
    """Write the edit when the context ends.

    Before it begins, everything is on the disk, with a record of it. The folders are of one stack's
    targets; without any, no lock changes, and no record is needed.
    """
    locks = {folder.name: _sha256(contents[NAME].encode()) for folder, contents in folders.items()}
    with OwnedFolder.open(edit.file.parent) as folder, folder.writing(edit.file.name) as file:
        if edit.file.read_bytes() != edit.old:
            raise InputError(
                phrase("the stack was changed meanwhile, so nothing was written"),
                where=str(edit.file),
                hint=phrase("run the command again"),
            )
        file.write(edit.new)
        file.flush()
        os.fsync(file.fileno())
        for parent in parents.values():
            _write_record(parent, edit, locks)
        yield
    for parent in parents.values():
        parent.remove(_EDIT)


def _write_record(parent: OwnedFolder, edit: StackEdit, locks: dict[str, str]) -> None:
    """Write the record of an edit, with the time that its file has."""

    def content_of(written: int) -> bytes:
        record = _EditRecord(_sha256(edit.old), edit.new.decode(), locks, written)
        return files.json_text(msgspec.to_builtins(record)).encode()

    parent.write_dated(_EDIT, content_of)


def _read_record(parent: OwnedFolder) -> _EditRecord | None:
    """Return the record of an edit, None if there is none that was written here and is whole."""
    try:
        with parent.open_file(_EDIT) as file:
            record = msgspec.json.decode(file.read(files.LARGEST), type=_EditRecord)
            is_ours = os.fstat(file.fileno()).st_mtime_ns == record.written
    except (OSError, msgspec.MsgspecError, ValueError, RecursionError):
        return None
    return record if is_ours else None


def _roll_forward(parent: OwnedFolder) -> _EditRecord | None:
    """Put the locks of an unfinished edit in place, and return its record.

    Returns None if there is no record that was written here.
    """
    record = _read_record(parent)
    if record is None:
        return None
    for name, sha256 in record.locks.items():
        is_there = _sha256_of(parent, f"{name}/{NAME}") == sha256
        if not is_there and _sha256_of(parent, f"{_new(name)}/{NAME}") == sha256:
            _swap(parent, name)
    return record


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _sha256_of(folder: OwnedFolder, name: str) -> str:
    try:
        return _sha256(folder.read(name, files.LARGEST))
    except OSError:
        return ""


def _swap_all(folders: Iterable[Path], parents: Mapping[Path, OwnedFolder]) -> None:
    for folder in folders:
        _swap(parents[folder.parent], folder.name)


def _folder_of_stack(path: Path, *, make: bool = False) -> OwnedFolder:
    """Open the folder of a stack's locks to change what is in it.

    The folder of all locks around it may be behind a link or mounted; the folder itself may not.
    """
    with OwnedFolder.open(path.parent, make=make) as locks:
        return locks.folder(path.name, make=make, write=True)


def _recover_all(parent: OwnedFolder) -> None:
    """Recover the folder of every target, also of targets that no longer exist."""
    _roll_forward(parent)
    parent.remove(f".{_EDIT}.partial")
    interrupted = {match["target"] for match in map(_TEMPORARY.fullmatch, parent.names()) if match}
    for name in sorted(interrupted):
        _recover(parent, name)


def _recover(parent: OwnedFolder, name: str) -> None:
    """Move an old folder back and remove an unfinished new one.

    The caller must be the one writer of the stack's folder.
    """
    old = _old(name)
    if parent.kind(old) and not parent.kind(name):
        parent.replace(old, name)
    parent.remove_tree(old)
    parent.remove_tree(_new(name))


def _new(name: str) -> str:
    return f".{name}.ascend-lock-new"


def _old(name: str) -> str:
    return f".{name}.ascend-lock-old"


def _fill(new: OwnedFolder, contents: Mapping[str, str]) -> None:
    for name, text in contents.items():
        mode = 0o755 if name.endswith(_EXECUTABLE) else 0o644
        new.create(name, text.encode(), mode)


def _copy_others(
    parent: OwnedFolder, name: str, new: OwnedFolder, contents: Mapping[str, str]
) -> None:
    """Copy what somebody else put beside the lock, but not what earlier locks wrote."""
    if parent.kind(name) is not Kind.FOLDER:
        return
    of_lock = {"stages"}
    of_lock.update(path.split("/")[0] for path in contents)
    with parent.folder(name) as before:
        for entry in before.names():
            if entry in of_lock or _SOMETIMES.match(entry):
                continue
            # A report that was being written may have left a temporary file.
            report = entry.removeprefix(".").removesuffix(".partial")
            if not _REPORT.fullmatch(report):
                new.copy_from(before, entry)


def _swap(parent: OwnedFolder, name: str) -> None:
    """Put the new folder of a target in the place of the old one."""
    new = _new(name)
    if parent.kind(name) is None:
        parent.replace(new, name)
    elif not parent.exchange(new, name):
        parent.replace(name, _old(name))
        parent.replace(new, name)


def _settle(parent: OwnedFolder) -> None:
    """Remove the old folders, after the disk has the exchange."""
    # The new folders are in place already: an error of the disk no longer matters.
    with contextlib.suppress(OSError):
        parent.sync()
    for match in map(_TEMPORARY.fullmatch, parent.names()):
        if match:
            _tidy(parent, _old(match["target"]))


def _tidy(parent: OwnedFolder, name: str) -> None:
    """Remove what is no longer needed.

    What cannot be removed is left to the next run, which says why.
    """
    with contextlib.suppress(OSError):
        parent.remove_tree(name)
