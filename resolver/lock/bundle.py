"""Read and write bundles: folders with all files of some locks, for machines without a network.

A bundle contains:

<file>…                     wheels, archives and git bundles (`install.sh --wheelhouse <folder>`)
locks/<stack>/<target>/…    the locks that the bundle is for
install.sh                  installs one of these locks from the bundle
built/…                     wheels that install.sh built from source, with built.toml
simple/…                    the pages of an index of the files (PEP 503)
bundle.json                 the manifest: every file with its sha256, size and pins
SHA256SUMS                  the same files, and bundle.json, for `sha256sum -c`
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
FORMAT = 1  # of the manifest

# Bytes of a file name; the usual limit of file systems.
_LONGEST_NAME = 255
# Characters of a path in a bundle.
_LONGEST_PATH = 1000
# The name of a file whose download is not complete.
_PART = re.compile(r"(?P<file>.+)\.[0-9a-f]{16}\.part")


class BundledLock(msgspec.Struct, frozen=True, kw_only=True):
    """A lock that a bundle is for, as the manifest describes it."""

    stack: FolderName
    target: FolderName
    # The platform and the Python of the machines that the lock is for.
    platform: Platform
    python: PythonVersion
    # The folder of the lock in the bundle.
    folder: str

    @classmethod
    def of(cls, lock: Lock) -> BundledLock:
        """Return the description of a lock for a manifest."""
        return cls(
            stack=lock.stack,
            target=lock.target.name,
            platform=lock.target.platform,
            python=lock.target.python_line,
            folder=f"locks/{lock.stack}/{lock.target.name}",
        )


class ManifestFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of a bundle that `ascend-lock bundle` made, such as install.sh or a lock.toml."""

    # The path in the bundle.
    path: str
    sha256: Sha256
    # In bytes.
    size: Annotated[int, msgspec.Meta(ge=0)]


class BundledFile(ManifestFile, frozen=True, kw_only=True):
    """A file of a bundle that was downloaded: a wheel, a source archive or a git bundle."""

    # The name of the index that the file is from; empty for a git bundle.
    index: str = ""
    # The pins that need the file, such as "numpy==1.26.4".
    pins: tuple[str, ...]
    # The folders, in the bundle, of the locks that have these pins.
    locks: tuple[str, ...]


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """The list of all files of a bundle, sorted by path: the content of bundle.json."""

    # The version of the format.
    format: int
    locks: tuple[BundledLock, ...]
    # The files that were downloaded.
    files: tuple[BundledFile, ...]
    # The files that `ascend-lock bundle` made.
    texts: tuple[ManifestFile, ...]
    # The paths of files that no lock of the bundle needs any more, and of files that a run is about
    # to make.
    leftover: tuple[str, ...] = msgspec.field(default=(), name="left")

    @property
    def paths(self) -> set[str]:
        """Return the paths of all files that the manifest names."""
        return {entry.path for entry in rows_of(self)}.union(self.leftover)


def read(folder: OwnedFolder) -> Manifest | None:
    """Return the manifest of the bundle in a folder; None if there is none.

    Raises InputError if it is invalid or cannot be read.
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
    """Raise ValueError for a manifest that `write` could not have written."""
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
    """Raise ValueError if a text in a JSON value has characters that do not print.

    Each path becomes a line of SHA256SUMS, and install.sh contains the names of locks, so a line
    break in them would be dangerous.
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
    """Return whether a path in a manifest is below the bundle's folder, by its text alone."""
    if len(path) > _LONGEST_PATH or "\0" in path:
        return False
    for part in path.split("/"):
        if part in ("", ".", "..") or len(part.encode()) > _LONGEST_NAME:
            return False
    return True


def merged(
    old: Manifest | None, locks: Iterable[BundledLock], files: Iterable[BundledFile]
) -> tuple[list[BundledLock], list[BundledFile]]:
    """Return these locks and files, with the other locks of the old manifest and their files.

    Both are sorted by path. Raises InputError if two locks need different files with the same name.
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
    """Add a file. If its path is there already, add its pins and locks to that entry.

    Raises InputError if the two have different sha256.
    """
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
    """Return whether a bundle has the pages of an index; False without a manifest."""
    return manifest is not None and any(
        entry.path.startswith("simple/") for entry in manifest.texts
    )


def rows_of(manifest: Manifest) -> tuple[ManifestFile, ...]:
    """Return all files of a bundle but the leftovers, the manifest and SHA256SUMS."""
    return (*manifest.files, *manifest.texts)


def write(
    folder: OwnedFolder,
    locks: Iterable[BundledLock],
    entries: Iterable[BundledFile],
    texts: Mapping[str, str],
    leftover: Iterable[str],
) -> Manifest:
    """Write the texts of a bundle, then its manifest and SHA256SUMS, and return the manifest.

    `entries` are the downloaded files, which are in the folder already. `texts` has the texts by
    path. Each file is written atomically. Raises InputError if the disk fails.
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
        # All files that the manifest names must be synced to the disk before the manifest.
        parents = {str(PurePosixPath(entry.path).parent) for entry in rows_of(manifest)}
        for parent in sorted(parents - {"."}):
            with folder.folder(parent) as inner:
                inner.sync()
        _write_manifest(folder, manifest)
    except OSError as error:
        raise write_error(error, folder) from None
    return manifest


def announce(folder: OwnedFolder, old: Manifest | None, paths: Collection[str]) -> Manifest | None:
    """Write a manifest that names the files that are about to be made, and return it.

    So every file of a run that is killed is in a manifest. The new files are among the leftovers,
    until `write` lists them. A file that exists, but is not in the old manifest, belongs to
    somebody else and is not listed. If no file is new, nothing is written, and the old manifest is
    returned. Raises InputError if the disk fails, or if a path is a mount point.
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
    """Write the manifest and SHA256SUMS, and sync the folder. Raises OSError."""
    content = json_text(msgspec.to_builtins(manifest), sort_keys=False) + "\n"
    _write(folder, MANIFEST, content)
    _write(folder, SUMS, _sums(manifest, hashlib.sha256(content.encode()).hexdigest()))
    folder.sync()


def _manifest_file(path: str, text: str) -> ManifestFile:
    """Return the entry of the manifest for a text."""
    content = text.encode()
    sha256 = hashlib.sha256(content).hexdigest()
    return ManifestFile(path=path, sha256=sha256, size=len(content))


def write_error(error: OSError, folder: OwnedFolder) -> InputError:
    """Return the error to raise if a file of a bundle cannot be written."""
    hint = phrase("choose another folder; files that are there already are not downloaded again")
    where = error.filename or folder.path
    return files.input_error(error, phrase("the bundle could not be written"), where, hint)


def _sums(manifest: Manifest, of_manifest: str) -> str:
    """Return the content of SHA256SUMS; `of_manifest` is the sha256 of the manifest file."""
    sums = {entry.path: entry.sha256 for entry in rows_of(manifest)}
    sums[MANIFEST] = of_manifest
    return "".join(f"{sums[path]}  {path}\n" for path in sorted(sums))


def left_over(folder: OwnedFolder, old: Manifest | None, needed: Iterable[str]) -> list[str]:
    """Return the paths of the leftovers in a bundle's folder, sorted.

    A leftover is a file or symbolic link that the old manifest names and that is not `needed`.
    Incomplete files of a killed run are leftovers, too: downloads of any file that the manifest
    names, and temporary copies of files that are not needed. All other files in the folder belong
    to somebody else.
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
    """Raise InputError if the path of a file in the old manifest is a mount point.

    Files in a mounted file system belong to somebody else, and must not be removed as leftovers.
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
    """Remove leftovers, and folders that become empty. Raises InputError if the disk fails."""
    try:
        for path in paths:
            folder.remove(path)
            folder.remove_empty_parents(path)
    except OSError as error:
        raise write_error(error, folder) from None


def mismatches(folder: OwnedFolder, manifest: Manifest) -> list[Message]:
    """Return a message for each file that differs from the manifest; none if all are unchanged.

    The first message says if SHA256SUMS does not belong to the manifest.
    """
    messages = []
    try:
        sums = folder.read(SUMS, files.LARGEST)
    except OSError:
        sums = b""
    if sums != _sums(manifest, sha256_of(folder, MANIFEST)).encode():
        messages.append(message("bundle.sums-differ", file=MANIFEST, other=SUMS))
    for entry in rows_of(manifest):
        if sha256_of(folder, entry.path) != entry.sha256:
            code = _fault(folder, entry.path)
            messages.append(message(code, file=entry.path, wanted=entry.sha256))
    return messages


def _fault(folder: OwnedFolder, path: str) -> str:
    """Return the code of the message about a file that differs from the manifest."""
    if folder.is_behind_link(path):
        return "bundle.file-link"
    return "bundle.file-gone" if folder.kind(path) is None else "bundle.file-content"


def sha256_of(folder: OwnedFolder, path: str) -> str:
    """Return the sha256 of a file of a bundle; empty if there is no regular file at the path.

    Symbolic links are not followed, and pipes are not read, since reading one may never end.
    """
    if folder.kind(path) is not Kind.FILE:
        return ""
    digest = hashlib.sha256()
    with folder.open_file(path) as handle:
        while chunk := handle.read(files.MIB):
            digest.update(chunk)
    return digest.hexdigest()


def _write(folder: OwnedFolder, path: str, text: str) -> None:
    """Write a text of a bundle atomically. A shell script is made executable."""
    folder.write(path, text.encode(), 0o755 if path.endswith(".sh") else 0o644)
