"""Write an export of many files into a folder, and overwrite only what an export wrote.

A folder has a note of the files that exports wrote, each with its sha256. A file that is not in
there, or has other bytes, is somebody's: a playbook of theirs, or defaults that were edited.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from resolver import files
from resolver.errors import InputError
from resolver.files import json_text
from resolver.openat import Kind
from resolver.owned_folder import OwnedFolder
from resolver.phrase import literal, phrase

_NOTE: Final = ".ascend-lock-export.json"
_FORMAT: Final = 1
# How many files are named that are not overwritten.
_NAMED: Final = 5


class _Note(msgspec.Struct, frozen=True):
    """What exports wrote into a folder."""

    # The version of the format.
    format: int
    # The sha256 of each file that was written, by path. After an interrupted export, a file may
    # have the sha256 of the previous export as well.
    files: dict[str, list[str]]


def write_export(output: Path, texts: Mapping[str, str], *, force: bool) -> None:
    """Write files into a folder, and remove what an earlier export wrote and this one has not.

    Raises InputError, before anything is changed, if a file would be lost that no export wrote or
    that was edited since; with `force`, such files are overwritten. Raises OSError if the folder
    cannot be written.
    """
    contents = {path: text.encode() for path, text in texts.items()}
    with OwnedFolder.open(output, make=True) as folder:
        before = _read_note(folder)
        theirs = [path for path in contents if _is_theirs(folder, path, contents, before)]
        gone = [path for path in before if path not in contents and folder.kind(path)]
        theirs += [path for path in gone if _is_theirs(folder, path, contents, before)]
        if theirs and not force:
            raise _would_be_lost(output, theirs)
        after = {path: [files.sha256(content)] for path, content in contents.items()}
        both = {path: [*before.get(path, []), *after.get(path, [])] for path in {**before, **after}}
        _write_note(folder, both)
        for path in gone:
            folder.remove(path)
            folder.remove_empty_parents(path)
        for path, content in contents.items():
            folder.write(path, content, 0o755 if path.endswith(".sh") else 0o644)
        _write_note(folder, after)


def _is_theirs(
    folder: OwnedFolder,
    path: str,
    contents: Mapping[str, bytes],
    before: Mapping[str, list[str]],
) -> bool:
    """Return whether there is a file that no export wrote, or that was edited since."""
    if folder.kind(path) is not Kind.FILE:
        # Nothing is there, or what cannot be overwritten: writing says so.
        return False
    content = folder.read(path, files.LARGEST)
    return content != contents.get(path) and files.sha256(content) not in before.get(path, [])


def _would_be_lost(output: Path, paths: list[str]) -> InputError:
    """Return the error about files that would be overwritten."""
    names = ", ".join(paths[:_NAMED]) + (", …" if len(paths) > _NAMED else "")
    return InputError(
        phrase("no export wrote these files, or they were edited since"),
        where=str(output),
        why=literal(names),
        hint=phrase(
            "export into another folder, keep variables in the inventory, or overwrite with --force"
        ),
    )


def _read_note(folder: OwnedFolder) -> dict[str, list[str]]:
    """Return what exports wrote into a folder; nothing if that is not known."""
    try:
        note = msgspec.json.decode(folder.read(_NOTE, files.LARGEST), type=_Note)
    except (OSError, ValueError, RecursionError):
        return {}
    return note.files if note.format == _FORMAT else {}


def _write_note(folder: OwnedFolder, hashes: Mapping[str, list[str]]) -> None:
    """Write what exports wrote into a folder."""
    note = {"format": _FORMAT, "files": {path: hashes[path] for path in sorted(hashes)}}
    folder.write(_NOTE, json_text(note).encode(), 0o644)
