"""Replace the folders of locks atomically, and compare their files.

A lock has the folder …/<stack>/<target>. New files are written to a temporary folder beside it,
which is synced and then exchanged with the old folder in one system call (renameat2 with
RENAME_EXCHANGE). If the file system does not support that, two renames are used; if a run is
interrupted between them, the next run finishes. The old folder is removed after the exchange was
synced to the disk.

The folders of a stack and of its targets belong to this program. None of them may be a symbolic
link or a mount point.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

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

# The record of an edit, in the folder of a stack, while the stack's file and its locks change
# together (`StackEdit`).
_EDIT = ".edit.json"
# The temporary folders beside the folder of a target while it is replaced.
_TEMPORARY = re.compile(r"\.(?P<target>.+)\.ascend-lock-(new|old)")
_HINT = phrase("choose another folder with --locks DIR")
# The endings of programs, which are executable.
_EXECUTABLE = (".sh", ".py")
# Files that only some locks have. One that the new lock does not have is of an earlier lock.
_SOMETIMES = re.compile(r"(requirements-no-deps|build-requirements(-\d+)?)\.txt\Z")
# The files of the report about a conflict.
_REPORT = re.compile(r"conflict(\.[a-z]+)?\.(md|html|json)")


class StackEdit(NamedTuple):
    """A change of a stack's file, which is written together with the locks of the changed stack."""

    # The file itself, not a symbolic link to it.
    file: Path
    # The content before the change. If the file has another content by now, nothing is written.
    old: bytes
    # The content after the change.
    new: bytes


class _EditRecord(msgspec.Struct, frozen=True):
    """The record of an edit that is being written, by which the next run can finish it."""

    # The sha256 of the stack's file before the change.
    old: str
    # The content of the stack's file after the change.
    new: str
    # The sha256 of the new lock.toml of each target.
    locks: dict[FolderName, str]
    # The modification time of the record itself, in nanoseconds since 1970. It proves that the
    # record was written here: a copy that git or a download made has another time.
    written: int


def replace(
    folders: Mapping[Path, Mapping[str, str]],
    require: Callable[[Path], None] = lambda _: None,
    edit: StackEdit | None = None,
) -> None:
    """Replace the folders of locks. `folders` has the texts of each folder, by relative path.

    Files of others in a folder are kept. `require` is called for each folder when no other run can
    write to it any more, and may raise. All files are written before the first folder is exchanged.

    An `edit` of the stack is written together with the folders. If the run is killed in between, it
    leaves a record, by which the next run finishes (`finish_edit`).

    Raises InputError if the disk fails, which leaves all folders as they were, or if the file to be
    edited was changed meanwhile.
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
                # A mounted file system would be moved away with the old folder.
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
            error_message = phrase(
                "the lock could not be written; what was there before is untouched"
            )
            raise files.input_error(error, error_message, folder, _HINT) from None


def add(folder: Path, contents: Mapping[str, str]) -> None:
    """Write texts into a folder, each file atomically. Raises InputError if the disk fails.

    `contents` has the texts by file name. Other files in the folder are kept.
    """
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
    """Finish or undo what a killed run left beside a folder. Call it before reading the folder.

    Errors of the disk are ignored.
    """
    with contextlib.suppress(OSError), _folder_of_stack(folder.parent) as parent:
        if parent.kind(_old(folder.name)) or parent.kind(_new(folder.name)):
            with parent.exclusive():
                _recover_all(parent)


def outdated(contents: Mapping[str, str], folder: Path) -> tuple[str, ...]:
    """Return the names of the files in `folder` that do not have exactly these texts.

    `contents` has the texts by file name. Missing files, programs that are not executable, and
    symbolic links are included. A link is wrong even if its target has the text: install.sh uses
    the files beside the target.
    """
    unstartable = not_executable(contents, folder)
    names = []
    for name, text in contents.items():
        if name in unstartable or _content(folder / name) != text.encode():
            names.append(name)
    return tuple(names)


def _content(path: Path) -> bytes | None:
    """Return the content of a file; None if it cannot be read, or is a symbolic link."""
    if path.is_symlink():
        return None
    try:
        return files.read(path)
    except OSError:
        return None


def not_executable(contents: Iterable[str], folder: Path) -> tuple[str, ...]:
    """Return the names of programs among these files that are not executable by their owner.

    `contents` has the names of the files. Missing files are left out.
    """
    programs = [name for name in contents if name.endswith(_EXECUTABLE)]
    return tuple(name for name in programs if not _may_be_executed(folder / name))


def _may_be_executed(path: Path) -> bool:
    """Return whether a file is executable by its owner; True if it is missing."""
    try:
        return bool(path.stat().st_mode & stat.S_IXUSR)
    except OSError:
        return True


def foreign(contents: Iterable[str], folder: Path) -> tuple[str, ...]:
    """Return the names of files in a lock's folder that do not belong to the lock.

    `contents` has the names of the lock's files. Their subfolders are searched, too. The names of
    folders end in `/`. Reports of a conflict are left out, since the next lock removes them.
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
    others = [name for name in found if name not in own and name not in parents]
    return tuple(sorted(name for name in others if not _REPORT.fullmatch(name)))


def reports(folder: Path) -> tuple[str, ...]:
    """Return the names of the files of a conflict report in the folder of a lock.

    The next successful lock removes them.
    """
    if not folder.is_dir():
        return ()
    names = (path.name for path in folder.iterdir())
    return tuple(sorted(name for name in names if _REPORT.fullmatch(name)))


class MadeFrom(NamedTuple):
    """The inputs of a lock or of a conflict report, to see whether it is up to date."""

    # The digest of the input files and the policy; empty if there is no lock and no report.
    digest: str = ""
    # The cut-off in ISO 8601; empty if there is none.
    exclude_newer: str = ""
    # The day whose releases are preferred: `auto`, `newest` or a date.
    as_of: str = AUTO


def lock_inputs(lock: Lock) -> MadeFrom:
    """Return the inputs of a lock."""
    return MadeFrom(lock.inputs, lock.exclude_newer, lock.as_of.policy)


def report_inputs(folder: Path) -> MadeFrom:
    """Return the inputs of the conflict report in a folder.

    If the report is missing or invalid, return a `MadeFrom` with its defaults.
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


class ReportedFix(NamedTuple):
    """A way out in a conflict report."""

    # Its letter.
    name: str
    # What it changes, in the English of the report.
    changes: str
    # For each stack that it makes, the name and the text of its TOML file.
    files: tuple[tuple[str, str], ...]


def reported_fixes(folder: Path) -> tuple[ReportedFix, ...]:
    """Return the ways out of the conflict report in a folder; none if it is missing or invalid."""
    try:
        report = json.loads(files.read(folder / "conflict.json"))
        rows = [*report["fixes"], *report.get("awaiting", ())]
        return tuple(map(_reported_fix, rows))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return ()


def _reported_fix(row: Mapping[str, Any]) -> ReportedFix:
    """Return a way out as it is in conflict.json. Raises KeyError or TypeError for another form."""
    changes = "; ".join([change["text"] for change in row["changes"]])
    stacks = [(str(file["name"]), str(file["text"])) for file in row["files"]]
    return ReportedFix(str(row["name"]), changes, tuple(stacks))


def finish_edit(folder: Path, file: Path) -> bool:
    """Finish an edit that a killed run had begun to write, and return whether that was done.

    `folder` has the locks of the stack, `file` is the stack's file. If somebody changed the file
    since, it is left as it is, and False is returned. Without a record of an edit, False is
    returned. Raises InputError if the disk fails, or if the record was not written on this machine.
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
                is_old = files.sha256(content) == record.old
                if is_old:
                    files.write(file, new)
                parent.remove(_EDIT)
                return is_old or content == new
    except (FileNotFoundError, NotADirectoryError, LinkInTheWay, MountInTheWay):
        return False
    except OSError as error:
        error_message = phrase("an edit that was interrupted cannot be finished")
        raise files.input_error(error, error_message, file, _HINT) from None


@contextlib.contextmanager
def _edited(
    edit: StackEdit, folders: Mapping[Path, Mapping[str, str]], parents: Mapping[Path, OwnedFolder]
) -> Iterator[None]:
    """Write an edit of a stack's file at the end of the body of `with`.

    Before the body begins, the new content of the file and a record of the edit are written to the
    disk. `folders` are the folders of the stack's targets. Without any, no lock changes, and no
    record is written. Raises InputError if the file was changed meanwhile.
    """
    locks = {
        folder.name: files.sha256(contents[NAME].encode()) for folder, contents in folders.items()
    }
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
    """Write the record of an edit into the folder of a stack. It contains its modification time."""

    def content_of(written: int) -> bytes:
        """Return the content of the record for a modification time."""
        record = _EditRecord(files.sha256(edit.old), edit.new.decode(), locks, written)
        return files.json_text(msgspec.to_builtins(record)).encode()

    parent.write_dated(_EDIT, content_of)


def _read_record(parent: OwnedFolder) -> _EditRecord | None:
    """Return the record of an edit in the folder of a stack.

    None if there is none, if it is damaged, or if it was not written here.
    """
    try:
        with parent.open_file(_EDIT) as file:
            record = msgspec.json.decode(file.read(files.LARGEST), type=_EditRecord)
            is_ours = os.fstat(file.fileno()).st_mtime_ns == record.written
    except (OSError, msgspec.MsgspecError, ValueError, RecursionError):
        return None
    return record if is_ours else None


def _roll_forward(parent: OwnedFolder) -> _EditRecord | None:
    """Exchange the folders that an unfinished edit had not exchanged yet, and return its record.

    None if there is no record that was written here.
    """
    record = _read_record(parent)
    if record is None:
        return None
    for name, sha256 in record.locks.items():
        is_there = _sha256_of(parent, f"{name}/{NAME}") == sha256
        if not is_there and _sha256_of(parent, f"{_new(name)}/{NAME}") == sha256:
            _swap(parent, name)
    return record


def _sha256_of(folder: OwnedFolder, name: str) -> str:
    """Return the sha256 of a file; empty if it cannot be read."""
    try:
        return files.sha256(folder.read(name, files.LARGEST))
    except OSError:
        return ""


def _swap_all(folders: Iterable[Path], parents: Mapping[Path, OwnedFolder]) -> None:
    """Exchange each of these folders with its new folder."""
    for folder in folders:
        _swap(parents[folder.parent], folder.name)


def _folder_of_stack(path: Path, *, make: bool = False) -> OwnedFolder:
    """Open the folder of a stack's locks for writing. With `make` it is made if it is missing.

    It must not be a symbolic link or a mount point; the folder of all locks, which contains it, may
    be. Raises OSError.
    """
    with OwnedFolder.open(path.parent, make=make) as locks:
        return locks.folder(path.name, make=make, write=True)


def _recover_all(parent: OwnedFolder) -> None:
    """Finish or undo what a killed run left in the folder of a stack, for all targets.

    Targets that no longer exist are included.
    """
    _roll_forward(parent)
    parent.remove(f".{_EDIT}.partial")
    interrupted = {match["target"] for match in map(_TEMPORARY.fullmatch, parent.names()) if match}
    for name in sorted(interrupted):
        _recover(parent, name)


def _recover(parent: OwnedFolder, name: str) -> None:
    """Move the old folder of a target back if it is missing, and remove the temporary folders.

    The caller must hold the exclusive lock of the stack's folder.
    """
    old = _old(name)
    if parent.kind(old) and not parent.kind(name):
        parent.replace(old, name)
    parent.remove_tree(old)
    parent.remove_tree(_new(name))


def _new(name: str) -> str:
    """Return the name of the temporary folder with the new files of a target."""
    return f".{name}.ascend-lock-new"


def _old(name: str) -> str:
    """Return the name under which the old folder of a target is kept between two renames."""
    return f".{name}.ascend-lock-old"


def _fill(new: OwnedFolder, contents: Mapping[str, str]) -> None:
    """Write the texts of a lock into its new folder. Programs are made executable."""
    for name, text in contents.items():
        mode = 0o755 if name.endswith(_EXECUTABLE) else 0o644
        new.create(name, text.encode(), mode)


def _copy_others(
    parent: OwnedFolder, name: str, new: OwnedFolder, contents: Mapping[str, str]
) -> None:
    """Copy files of others from the folder of a target into the new one.

    Files that an earlier lock wrote, and conflict reports, are not copied.
    """
    if parent.kind(name) is not Kind.FOLDER:
        return
    of_lock = {"stages"}
    of_lock.update(path.split("/")[0] for path in contents)
    with parent.folder(name) as before:
        for entry in before.names():
            if entry in of_lock or _SOMETIMES.match(entry):
                continue
            # The temporary file of a report that was not finished counts as a report.
            report = entry.removeprefix(".").removesuffix(".partial")
            if not _REPORT.fullmatch(report):
                new.copy_from(before, entry)


def _swap(parent: OwnedFolder, name: str) -> None:
    """Exchange the new folder of a target with the old one, or rename it if there is no old one."""
    new = _new(name)
    if parent.kind(name) is None:
        parent.replace(new, name)
    elif not parent.exchange(new, name):
        parent.replace(name, _old(name))
        parent.replace(new, name)


def _settle(parent: OwnedFolder) -> None:
    """Sync the exchange of folders to the disk, then remove the old folders."""
    # The new folders are in place already, so an error of the disk is ignored.
    with contextlib.suppress(OSError):
        parent.sync()
    for match in map(_TEMPORARY.fullmatch, parent.names()):
        if match:
            _tidy(parent, _old(match["target"]))


def _tidy(parent: OwnedFolder, name: str) -> None:
    """Remove a temporary folder. If that is not possible, the next run tries again and says why."""
    with contextlib.suppress(OSError):
        parent.remove_tree(name)
