"""A bundle: the files of locks in one folder with a manifest, for machines without network access.

<file>…                     what pip installs from, `install.sh --wheelhouse <folder>`
locks/<stack>/<target>/…    the locks that it is for
install.sh                  installs one of them from here
built/…                     wheels that install.sh built from source, with built.toml
simple/…                    the pages of an index of the files
bundle.json                 every file with sha256, size and the pins that need it
SHA256SUMS                  the same for `sha256sum -c`, bundle.json included
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import PurePosixPath
from typing import Annotated, Any

import msgspec
from msgspec.structs import replace

from resolver import files
from resolver.errors import InputError
from resolver.files import json_text
from resolver.model.lock import FolderName, Lock, PythonVersion, Sha256
from resolver.model.message import Message, message
from resolver.model.target import Platform
from resolver.openat import Kind
from resolver.owned_folder import OwnedFolder
from resolver.phrase import phrase

MANIFEST = "bundle.json"
SUMS = "SHA256SUMS"
FORMAT = 1

# In bytes; the limit of file systems.
_LONGEST_NAME = 255
# In characters.
_LONGEST_PATH = 1000
# The name of a file whose download has not ended.
_PART = re.compile(r"(?P<file>.+)\.[0-9a-f]{16}\.part")


class BundledLock(msgspec.Struct, frozen=True, kw_only=True):
    """A lock that the bundle is for."""

    stack: FolderName
    target: FolderName
    # The machines that it is for, by platform and Python.
    platform: Platform
    python: PythonVersion
    # The folder of the lock in the bundle.
    folder: str

    @classmethod
    def of(cls, lock: Lock) -> BundledLock:
        """Return what a manifest says of a lock."""
        return cls(
            stack=lock.stack,
            target=lock.target.name,
            platform=lock.target.platform,
            python=lock.target.python_line,
            folder=f"locks/{lock.stack}/{lock.target.name}",
        )


class ManifestFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that the bundle's writer made: one of a lock's folder, or the bundle's install.sh."""

    # The path in the bundle.
    path: str
    sha256: Sha256
    # In bytes.
    size: Annotated[int, msgspec.Meta(ge=0)]


class BundledFile(ManifestFile, frozen=True, kw_only=True):
    """A file that was fetched; a source from git is in a folder of its own."""

    # The name of the index that it is from; empty for a source from git.
    index: str = ""
    # What needs it, such as "numpy==1.26.4".
    pins: tuple[str, ...]
    # The folders of the locks that have these pins.
    locks: tuple[str, ...]


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a bundle, sorted by path."""

    # The version of the format.
    format: int
    locks: tuple[BundledLock, ...]
    # Files that were fetched.
    files: tuple[BundledFile, ...]
    # Files that the bundle's writer made.
    texts: tuple[ManifestFile, ...]
    # The paths of files that none of its locks needs any more, or that a run is about to make.
    leftover: tuple[str, ...] = msgspec.field(default=(), name="left")

    @property
    def paths(self) -> set[str]:
        """Return the paths of all files that the manifest names."""
        return {row.path for row in rows_of(self)}.union(self.leftover)


def read(folder: OwnedFolder) -> Manifest | None:
    """Return the manifest of a bundle; None if there is none.

    Raises InputError if it cannot be read.
    """
    path = folder.path / MANIFEST
    try:
        manifest = msgspec.json.decode(folder.read(MANIFEST, files.LARGEST), type=Manifest)
        _require_sound(manifest)
        return manifest
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, RecursionError) as error:
        hint = phrase("remove it and bundle again; existing files are not downloaded again")
        raise files.input_error(
            error, phrase("the bundle's manifest cannot be read"), path, hint
        ) from None


def _require_sound(manifest: Manifest) -> None:
    """Raise ValueError for a manifest that `write` would not have written."""
    if manifest.format != FORMAT:
        raise ValueError(
            phrase(
                "it has format {format}, but this program reads {known}",
                format=manifest.format,
                known=FORMAT,
            )
        )
    _require_printable(msgspec.to_builtins(manifest))
    for path in sorted(manifest.paths):
        if not is_inside(path):
            raise ValueError(phrase("it names a file outside of the bundle: {path}", path=path))
    # The bundle's install.sh contains these folders.
    for lock in manifest.locks:
        if lock.folder != f"locks/{lock.stack}/{lock.target}":
            raise ValueError(phrase("`{folder}` is not the folder of its lock", folder=lock.folder))


def _require_printable(value: Any) -> None:
    """Raise ValueError for a text in a value of JSON that a line break or the like would end.

    Each path is a line of SHA256SUMS, and install.sh has names of locks.
    """
    if isinstance(value, str) and not value.isprintable():
        raise ValueError(phrase("`{value}` has characters that do not print", value=value))
    elements: Collection[Any] = ()
    if isinstance(value, dict):
        elements = value.values()
    elif isinstance(value, (list, tuple)):
        elements = value
    for element in elements:
        _require_printable(element)


def is_inside(path: str) -> bool:
    """Return whether a path, judged by its text, is below the bundle's folder."""
    if len(path) > _LONGEST_PATH or "\0" in path:
        return False
    for part in path.split("/"):
        if part in ("", ".", "..") or len(part.encode()) > _LONGEST_NAME:
            return False
    return True


def merged(
    old: Manifest | None, locks: Iterable[BundledLock], files: Iterable[BundledFile]
) -> tuple[list[BundledLock], list[BundledFile]]:
    """Return these locks and files with the other locks of the old manifest and theirs, sorted.

    Raises InputError if two locks need different files with the same name.
    """
    by_folder = {lock.folder: lock for lock in locks}
    by_path: dict[str, BundledFile] = {}
    for file in files:
        _add(by_path, file)
    if old is not None:
        kept = {lock.folder: lock for lock in old.locks if lock.folder not in by_folder}
        by_folder |= kept
        for file in old.files:
            users = [folder for folder in file.locks if folder in kept]
            if users:
                _add(by_path, replace(file, locks=tuple(sorted(users))))
    return (
        [by_folder[folder] for folder in sorted(by_folder)],
        [by_path[path] for path in sorted(by_path)],
    )


def _add(by_path: dict[str, BundledFile], file: BundledFile) -> None:
    """Add a file, or the pins and locks that need it if it is there already."""
    other = by_path.setdefault(file.path, file)
    if other.sha256 != file.sha256:
        raise InputError(
            phrase("two locks need different files named {path}", path=file.path),
            why=phrase(
                "{lock} has sha256 {sha256}, {other} has {other_sha256}.",
                lock=other.locks[0],
                sha256=other.sha256,
                other=file.locks[0],
                other_sha256=file.sha256,
            ),
            hint=phrase("bundle them into separate folders"),
        )
    pins = sorted({*other.pins, *file.pins})
    locks = sorted({*other.locks, *file.locks})
    by_path[file.path] = replace(other, pins=tuple(pins), locks=tuple(locks))


def is_index(manifest: Manifest | None) -> bool:
    """Return whether the bundle has the pages of an index."""
    return manifest is not None and any(row.path.startswith("simple/") for row in manifest.texts)


def rows_of(manifest: Manifest) -> tuple[ManifestFile, ...]:
    """Return the files that the locks of a bundle need."""
    return (*manifest.files, *manifest.texts)


def write(
    folder: OwnedFolder,
    locks: Iterable[BundledLock],
    entries: Iterable[BundledFile],
    texts: Mapping[str, str],
    leftover: Iterable[str],
) -> Manifest:
    """Write the texts, then the manifest and the sums, each atomically, and return the manifest.

    Raises InputError if the disk refuses.
    """
    manifest = Manifest(
        format=FORMAT,
        locks=tuple(locks),
        files=tuple(entries),
        texts=tuple(_manifest_file(path, texts[path]) for path in sorted(texts)),
        leftover=tuple(leftover),
    )
    try:
        for path, text in texts.items():
            _write(folder, path, text)
        # What the manifest names must be on the disk before it is.
        parents = {str(PurePosixPath(row.path).parent) for row in rows_of(manifest)}
        for parent in sorted(parents - {"."}):
            with folder.folder(parent) as inner:
                inner.sync()
        _write_manifest(folder, manifest)
    except OSError as error:
        raise write_error(error, folder) from None
    return manifest


def announce(folder: OwnedFolder, old: Manifest | None, paths: Collection[str]) -> Manifest | None:
    """Let the manifest name the files that are about to be made, and return it.

    So a run that is killed leaves nothing that no manifest has. What is there already and that the
    old manifest does not have is somebody else's. Without a new file, the old manifest is returned.
    Raises InputError if the disk refuses, or if something is mounted where a file would be.
    """
    try:
        for path in sorted(paths):
            folder.require_unmounted(path)
    except OSError as error:
        raise write_error(error, folder) from None
    known = old.paths if old is not None else set()
    new = {path for path in set(paths) - known if folder.kind(path) is None}
    if not new:
        return old
    manifest = old or Manifest(format=FORMAT, locks=(), files=(), texts=())
    manifest = replace(manifest, leftover=tuple(sorted({*manifest.leftover, *new})))
    try:
        _write_manifest(folder, manifest)
    except OSError as error:
        raise write_error(error, folder) from None
    return manifest


def _write_manifest(folder: OwnedFolder, manifest: Manifest) -> None:
    """Write the manifest and the sums."""
    content = json_text(msgspec.to_builtins(manifest), sort_keys=False) + "\n"
    _write(folder, MANIFEST, content)
    _write(folder, SUMS, _sums(manifest, hashlib.sha256(content.encode()).hexdigest()))
    folder.sync()


def _manifest_file(path: str, text: str) -> ManifestFile:
    content = text.encode()
    sha256 = hashlib.sha256(content).hexdigest()
    return ManifestFile(path=path, sha256=sha256, size=len(content))


def write_error(error: OSError, folder: OwnedFolder) -> InputError:
    """Return the error to raise if something cannot be written to a bundle."""
    hint = phrase("choose another folder; files that are there already are not downloaded again")
    where = error.filename or folder.path
    return files.input_error(error, phrase("the bundle could not be written"), where, hint)


def _sums(manifest: Manifest, of_manifest: str) -> str:
    """Return the content of SHA256SUMS; `of_manifest` is the sha256 of the manifest file."""
    sums = {row.path: row.sha256 for row in rows_of(manifest)}
    sums[MANIFEST] = of_manifest
    return "".join(f"{sums[path]}  {path}\n" for path in sorted(sums))


def left_over(folder: OwnedFolder, old: Manifest | None, needed: Iterable[str]) -> list[str]:
    """Return the paths of leftovers of earlier locks.

    They are files and links that the old manifest names and that are not needed, and what a killed
    run left of them under a temporary name. Anything else in the folder belongs to somebody else.
    The next run removes the temporary files of what is needed.
    """
    listed = old.paths if old is not None else set()
    unneeded = listed - {*needed, MANIFEST, SUMS}
    paths = set(unneeded)
    for path in map(PurePosixPath, unneeded):
        paths.add(str(path.with_name(f".{path.name}.partial")))
    for match in map(_PART.fullmatch, folder.names()):
        if match and match["file"] in listed:
            paths.add(match[0])
    return sorted(path for path in paths if folder.kind(path) in (Kind.FILE, Kind.LINK))


def require_prunable(folder: OwnedFolder, old: Manifest | None) -> None:
    """Raise InputError if something is mounted where a leftover could be.

    What is in it belongs to somebody else.
    """
    try:
        for path in sorted(old.paths if old is not None else ()):
            folder.require_unmounted(path)
    except OSError as error:
        where = error.filename or folder.path
        raise files.input_error(
            error, phrase("the bundle cannot be pruned"), where, phrase("leave out --prune")
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
    """Return what differs from the manifest, and whether the manifest differs from the sums."""
    messages = []
    try:
        sums = folder.read(SUMS, files.LARGEST)
    except OSError:
        sums = b""
    if sums != _sums(manifest, sha256_of(folder, MANIFEST)).encode():
        messages.append(message("bundle.sums-differ", file=MANIFEST, other=SUMS))
    for row in rows_of(manifest):
        if sha256_of(folder, row.path) != row.sha256:
            code = _fault(folder, row.path)
            messages.append(message(code, file=row.path, wanted=row.sha256))
    return messages


def _fault(folder: OwnedFolder, path: str) -> str:
    """Return the code of the message about a file that is not as in the manifest."""
    if folder.is_behind_link(path):
        return "bundle.file-link"
    return "bundle.file-gone" if folder.kind(path) is None else "bundle.file-content"


def sha256_of(folder: OwnedFolder, path: str) -> str:
    """Return the sha256 of a file; empty if there is none.

    What is behind a link does not count, nor does a pipe, whose reading might not end.
    """
    if folder.kind(path) is not Kind.FILE:
        return ""
    digest = hashlib.sha256()
    with folder.open_file(path) as handle:
        while chunk := handle.read(files.MIB):
            digest.update(chunk)
    return digest.hexdigest()


def _write(folder: OwnedFolder, path: str, text: str) -> None:
    folder.write(path, text.encode(), 0o755 if path.endswith(".sh") else 0o644)
