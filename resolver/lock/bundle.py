"""A bundle: the files of locks in one folder, for machines without network access, with a manifest of them.

<file>…                     what pip installs from, `install.sh --wheelhouse <folder>`
locks/<stack>/<target>/…    the locks that it is for
install.sh                  installs one of them from here
bundle.json                 every file with sha256, size and the pins that need it
SHA256SUMS                  the same for `sha256sum -c`, bundle.json included
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

import msgspec

from resolver import files
from resolver.errors import InputError
from resolver.files import json_text
from resolver.model.lock import FolderName, Lock, PythonVersion
from resolver.model.message import Message, message
from resolver.model.target import Platform

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
        return cls(stack=lock.stack, target=name, platform=platform, python=python, folder=f"locks/{lock.stack}/{name}")


class ManifestFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file by its path in the bundle. As such, a written one: of a lock's folder, or the bundle's install.sh."""

    path: str
    sha256: str
    size: int


class BundledFile(ManifestFile, frozen=True, kw_only=True):
    """A file that was fetched. `pins` need it ("numpy==1.26.4"), in the locks in these folders.

    A file that is not from an index (a source from git) is in a folder of its own, but is a row like any other.
    """

    index: str = ""
    pins: tuple[str, ...]
    locks: tuple[str, ...]


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a bundle, sorted by path. `leftover` are the files that none of its locks needs any more."""

    format: int
    locks: tuple[BundledLock, ...]
    files: tuple[BundledFile, ...]
    texts: tuple[ManifestFile, ...]
    leftover: tuple[str, ...] = msgspec.field(default=(), name="left")


def read(folder: Path) -> Manifest | None:
    """The manifest of a bundle; None if there is none. Raises InputError if it cannot be read."""
    path = folder / MANIFEST
    try:
        manifest = msgspec.json.decode(files.read(path), type=Manifest)
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
        part not in ("", ".", "..") and "\0" not in part and len(part.encode()) <= _LONGEST_NAME for part in parts
    )


def merged(
    old: Manifest | None, locks: Iterable[BundledLock], files: Iterable[BundledFile]
) -> tuple[list[BundledLock], list[BundledFile]]:
    """These locks with their files, and the other locks in the old manifest with theirs, sorted.

    Raises InputError if two locks need different files with the same name.
    """
    new_locks = {lock.folder: lock for lock in locks}
    old_locks = {lock.folder: lock for lock in (old.locks if old else ()) if lock.folder not in new_locks}
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
    folder: Path,
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
        ManifestFile(path=path, sha256=hashlib.sha256(text.encode()).hexdigest(), size=len(text.encode()))
        for path, text in sorted(texts.items())
    ]
    manifest = Manifest(
        format=FORMAT, locks=tuple(locks), files=entries, texts=tuple(written), leftover=tuple(leftover)
    )
    content = json_text(msgspec.to_builtins(manifest), sort_keys=False) + "\n"
    try:
        for path, text in texts.items():
            _write(folder / path, text)
        for parent in sorted({(folder / path).parent for path in (*texts, *(row.path for row in entries))}):
            files.sync_folder(parent)
        _write(folder / MANIFEST, content)
        _write(folder / SUMS, _sums(manifest, hashlib.sha256(content.encode()).hexdigest()))
        files.sync_folder(folder)
    except OSError as error:
        hint = "choose another folder; files that are there already are not downloaded again"
        raise files.input_error(error, "the bundle could not be written", folder, hint) from None
    return manifest


def _sums(manifest: Manifest, of_manifest: str) -> str:
    """The content of SHA256SUMS; `of_manifest` is the sha256 of the manifest file."""
    sums = {row.path: row.sha256 for row in rows_of(manifest)} | {MANIFEST: of_manifest}
    return "".join(f"{sha256}  {path}\n" for path, sha256 in sorted(sums.items()))


def left_over(folder: Path, old: Manifest | None, needed: Iterable[str]) -> list[str]:
    """The paths of leftovers of earlier locks: from the old manifest, partial downloads, everything below `locks`.

    Anything else in the folder belongs to somebody else. The temporary files of `write` are overwritten by the next
    run.
    """
    paths = {*(row.path for row in rows_of(old)), *old.leftover} if old else set()
    paths |= {path.name for path in folder.iterdir() if _PART.search(path.name)}
    paths |= {path.relative_to(folder).as_posix() for path in (folder / "locks").rglob("*")}
    for path in map(PurePosixPath, (*needed, MANIFEST, SUMS)):
        paths -= {str(path), str(path.with_name(f".{path.name}.partial"))}
    return sorted(path for path in paths if (folder / path).is_file())


def mismatches(folder: Path, manifest: Manifest) -> list[Message]:
    """What differs from the manifest, and whether the manifest differs from the sums."""
    messages = []
    try:
        sums = files.read(folder / SUMS)
    except OSError:
        sums = b""
    if sums != _sums(manifest, sha256_of(folder / MANIFEST)).encode():
        messages.append(message("bundle.sums-differ", file=MANIFEST, other=SUMS))
    for row in rows_of(manifest):
        if sha256_of(folder / row.path) != row.sha256:
            code = "bundle.file-content" if (folder / row.path).exists() else "bundle.file-gone"
            messages.append(message(code, file=row.path, wanted=row.sha256))
    return messages


def sha256_of(path: Path) -> str:
    """The sha256 of a file; empty if there is none, or a pipe or a device, whose reading might not end."""
    if files.is_special(path):
        return ""
    digest = hashlib.sha256()
    try:
        with path.open("rb") as handle:
            while chunk := handle.read(files.MIB):
                digest.update(chunk)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return ""
    return digest.hexdigest()


def _write(path: Path, text: str) -> None:
    files.make_folder(path.parent)
    files.write(path, text.encode())
    path.chmod(0o755 if path.suffix == ".sh" else 0o644)
