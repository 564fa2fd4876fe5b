"""A bundle: the files of locks in one folder, for machines without network access, with a manifest of them.

<file>…                     what pip installs from, `install.sh --wheelhouse <folder>`
locks/<stack>/<target>/…    the locks that it is for install.sh                  installs one of
them from here bundle.json                 every file with sha256, size and the pins that need it
SHA256SUMS                  the same for `sha256sum -c`, bundle.json included
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

import msgspec

from resolver import files
from resolver.errors import InputError
from resolver.files import json_text
from resolver.model.lock import FolderName, Lock, PythonVersion
from resolver.model.message import Message, message
from resolver.model.target import Platform
from resolver.openat import Kind
from resolver.owned_folder import OwnedFolder

MANIFEST = "bundle.json"
SUMS = "SHA256SUMS"
FORMAT = 1

_LONGEST_NAME = 255  # bytes, the limit of file systems
_LONGEST_PATH = 1000  # characters
_PART = re.compile(r"\.[0-9a-f]{16}\.part$|\.partial$")


class BundledLock(msgspec.Struct, frozen=True, kw_only=True):
    """A lock that the bundle is for, in `folder`; `platform` and `python` say for which machines."""

    stack: FolderName
    target: FolderName
    platform: Platform
    python: PythonVersion
    folder: str

    @classmethod
    def of(cls, lock: Lock) -> BundledLock:
        """The row of a lock."""
        name, platform, python = lock.target.name, lock.target.platform, lock.target.python_line
        return cls(
            stack=lock.stack,
            target=name,
            platform=platform,
            python=python,
            folder=f"locks/{lock.stack}/{name}",
        )


class ManifestFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file by its path in the bundle.

    As such, a written one: of a lock's folder, or the bundle's install.sh.
    """

    path: str
    sha256: str
    size: int


class BundledFile(ManifestFile, frozen=True, kw_only=True):
    """A file that was fetched. `pins` need it ("numpy==1.26.4"), in the locks in these folders.

    A file that is not from an index (a source from git) is in a folder of its own, but is a row
    like any other.
    """

    index: str = ""
    pins: tuple[str, ...]
    locks: tuple[str, ...]


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a bundle, sorted by path.

    `leftover` are the files that none of its locks needs any more.
    """

    format: int
    locks: tuple[BundledLock, ...]
    files: tuple[BundledFile, ...]
    texts: tuple[ManifestFile, ...]
    leftover: tuple[str, ...] = msgspec.field(default=(), name="left")


def read(folder: OwnedFolder) -> Manifest | None:
    """The manifest of a bundle; None if there is none. Raises InputError if it cannot be read."""
    path = folder.path / MANIFEST
    try:
        manifest = msgspec.json.decode(folder.read(MANIFEST, files.LARGEST), type=Manifest)
        if manifest.format != FORMAT:
            raise ValueError(f"it has format {manifest.format}, but this program reads {FORMAT}")
        for name in (*(row.path for row in rows_of(manifest)), *manifest.leftover):
            if not is_inside(name):
                raise ValueError(f"it names a file outside of the bundle: {name}")
        for lock in manifest.locks:  # they go into install.sh
            if lock.folder != f"locks/{lock.stack}/{lock.target}":
                raise ValueError(f"`{lock.folder}` is not the folder of its lock")
        return manifest
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, RecursionError) as error:
        hint = "remove it and bundle again; existing files are not downloaded again"
        raise files.input_error(error, "the bundle's manifest cannot be read", path, hint) from None


def is_inside(path: str) -> bool:
    """Whether a path, judged by its text, is that of a file below the bundle's folder."""
    parts = path.split("/")
    return len(path) <= _LONGEST_PATH and all(
        part not in ("", ".", "..") and "\0" not in part and len(part.encode()) <= _LONGEST_NAME
        for part in parts
    )


def merged(
    old: Manifest | None, locks: Iterable[BundledLock], files: Iterable[BundledFile]
) -> tuple[list[BundledLock], list[BundledFile]]:
    """These locks with their files, and the other locks in the old manifest with theirs, sorted.

    Raises InputError if two locks need different files with the same name.
    """
    new_locks = {lock.folder: lock for lock in locks}
    old_locks = {
        lock.folder: lock for lock in (old.locks if old else ()) if lock.folder not in new_locks
    }
    old_files = (
        msgspec.structs.replace(row, locks=tuple(sorted(old_locks.keys() & {*row.locks})))
        for row in (old.files if old else ())
    )
    rows: dict[str, BundledFile] = {}
    for row in (*files, *(row for row in old_files if row.locks)):
        other = rows.get(row.path, row)
        if other.sha256 != row.sha256:
            raise InputError(
                f"two locks need different files named {row.path}",
                why=f"{other.locks[0]} has sha256 {other.sha256}, {row.locks[0]} has {row.sha256}.",
                hint="bundle them into separate folders",
            )
        pins, folders = sorted({*other.pins, *row.pins}), sorted({*other.locks, *row.locks})
        rows[row.path] = msgspec.structs.replace(other, pins=tuple(pins), locks=tuple(folders))
    every = new_locks | old_locks
    return [every[folder] for folder in sorted(every)], [rows[path] for path in sorted(rows)]


def rows_of(manifest: Manifest) -> tuple[ManifestFile, ...]:
    """Everything that the manifest names."""
    return (*manifest.files, *manifest.texts)


def write(
    folder: OwnedFolder,
    locks: Iterable[BundledLock],
    entries: Iterable[BundledFile],
    texts: Mapping[str, str],
    leftover: Iterable[str],
) -> Manifest:
    """Write the texts, the manifest and the sums, each atomically, and the manifest after the files that it names.

    Raises InputError if the disk refuses.
    """
    entries = tuple(entries)
    written = [
        ManifestFile(
            path=path, sha256=hashlib.sha256(text.encode()).hexdigest(), size=len(text.encode())
        )
        for path, text in sorted(texts.items())
    ]
    manifest = Manifest(
        format=FORMAT,
        locks=tuple(locks),
        files=entries,
        texts=tuple(written),
        leftover=tuple(leftover),
    )
    content = json_text(msgspec.to_builtins(manifest), sort_keys=False) + "\n"
    try:
        for path, text in texts.items():
            _write(folder, path, text)
        for parent in sorted(
            {str(PurePosixPath(path).parent) for path in (*texts, *(row.path for row in entries))}
        ):
            if parent != ".":
                with folder.folder(parent) as inner:
                    inner.sync()
        _write(folder, MANIFEST, content)
        _write(folder, SUMS, _sums(manifest, hashlib.sha256(content.encode()).hexdigest()))
        folder.sync()
    except OSError as error:
        raise write_error(error, folder) from None
    return manifest


def write_error(error: OSError, folder: OwnedFolder) -> InputError:
    """Return the error to raise if something cannot be written to a bundle."""
    hint = "choose another folder; files that are there already are not downloaded again"
    return files.input_error(
        error, "the bundle could not be written", error.filename or folder.path, hint
    )


def _sums(manifest: Manifest, of_manifest: str) -> str:
    """The content of SHA256SUMS; `of_manifest` is the sha256 of the manifest file."""
    sums = {row.path: row.sha256 for row in rows_of(manifest)} | {MANIFEST: of_manifest}
    return "".join(f"{sha256}  {path}\n" for path, sha256 in sorted(sums.items()))


def left_over(folder: OwnedFolder, old: Manifest | None, needed: Iterable[str]) -> list[str]:
    """The paths of leftovers of earlier locks: from the old manifest, partial downloads, everything below `locks`.

    Links are among them, and nothing that is behind one or below a mount point. Anything else in
    the folder belongs to somebody else. The temporary files of `write` are removed by the next run.
    """
    paths = {*(row.path for row in rows_of(old)), *old.leftover} if old else set()
    paths |= {name for name in folder.names() if _PART.search(name)}
    paths |= {path for path, _ in folder.walk("locks")}
    for needed_path in map(PurePosixPath, (*needed, MANIFEST, SUMS)):
        paths -= {str(needed_path), str(needed_path.with_name(f".{needed_path.name}.partial"))}
    return sorted(path for path in paths if folder.kind(path) in (Kind.FILE, Kind.LINK))


def require_prunable(folder: OwnedFolder, old: Manifest | None) -> None:
    """Raise InputError if something is mounted where leftovers could be: what is in it is of somebody else."""
    paths = {*(row.path for row in rows_of(old)), *old.leftover} if old else set()
    try:
        for name in sorted({"locks", *(path.split("/")[0] for path in paths)}):
            folder.require_unmounted(name)
    except OSError as error:
        where = error.filename or folder.path
        raise files.input_error(
            error, "the bundle cannot be pruned", where, "leave out --prune"
        ) from None


def remove(folder: OwnedFolder, paths: Iterable[str]) -> None:
    """Remove leftovers, and the folders that are empty without them. Raises InputError."""
    try:
        for path in paths:
            folder.remove(path)
            folder.remove_empty_parents(path)
    except OSError as error:
        raise write_error(error, folder) from None


def mismatches(folder: OwnedFolder, manifest: Manifest) -> list[Message]:
    """What differs from the manifest, and whether the manifest differs from the sums."""
    messages = []
    try:
        sums = folder.read(SUMS, files.LARGEST)
    except OSError:
        sums = b""
    if sums != _sums(manifest, sha256_of(folder, MANIFEST)).encode():
        messages.append(message("bundle.sums-differ", file=MANIFEST, other=SUMS))
    wrong = [row for row in rows_of(manifest) if sha256_of(folder, row.path) != row.sha256]
    messages += [
        message(_fault(folder, row.path), file=row.path, wanted=row.sha256) for row in wrong
    ]
    return messages


def _fault(folder: OwnedFolder, path: str) -> str:
    """Return the code of the message about a file that is not as in the manifest."""
    if folder.is_behind_link(path):
        return "bundle.file-link"
    return "bundle.file-gone" if folder.kind(path) is None else "bundle.file-content"


def sha256_of(folder: OwnedFolder, path: str) -> str:
    """The sha256 of a file; empty if there is none, or only behind a link, or a pipe, whose reading might not end."""
    if folder.kind(path) is not Kind.FILE:
        return ""
    digest = hashlib.sha256()
    with folder.open_file(path) as handle:
        while chunk := handle.read(files.MIB):
            digest.update(chunk)
    return digest.hexdigest()


def _write(folder: OwnedFolder, path: str, text: str) -> None:
    folder.write(path, text.encode(), 0o755 if path.endswith(".sh") else 0o644)
