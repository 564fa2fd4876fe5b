"""Run `ascend-lock bundle STACK… DIR`: download every file of locks, for use without network."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple

import click
import msgspec
from packaging.utils import canonicalize_name

from resolver import files
from resolver.cli import options
from resolver.cli.binaries import from_folder, judge_lock
from resolver.cli.bundle_parts import BundlePart, chosen_parts, opened_wheels, wheels_built_of
from resolver.cli.catalogs import Catalogs
from resolver.cli.common import Command
from resolver.cli.console import print_error, print_json, print_line
from resolver.cli.options import Settings, settings
from resolver.cli.words import SERVE
from resolver.config.find_stack import own_stack_names, stack_names
from resolver.errors import (
    IndexFailure,
    InputError,
    ResolverError,
    StaleLock,
    WrongRelease,
    escaped,
)
from resolver.i18n import translate
from resolver.index.locked_files import offered, save_sources
from resolver.index.parse.distribution import FileRelease
from resolver.index.parse.metadata import read as read_metadata
from resolver.index.parse.wheel import wheel_metadata
from resolver.index.protocol import UnusableFile
from resolver.index.repositories import NoSuchCommit, Repositories
from resolver.index.store.cache import default_folder
from resolver.lock import built, bundle
from resolver.lock.built import BuiltWheel
from resolver.lock.bundle import BundledFile, BundledLock, Manifest, ManifestFile
from resolver.model.lock import LockedPin
from resolver.model.message import joined, message
from resolver.model.release import File
from resolver.owned_folder import OwnedFolder
from resolver.phrase import literal, phrase
from resolver.report.index_pages import IndexedFile, index_pages
from resolver.report.linkage import fault_sentence
from resolver.report.script import bundle_script

# So many missing files are named in an error.
_NAMED: Final = 3


@click.command("bundle", cls=Command, short_help="Download every file of locks into one folder.")
@options.stacks("names", "[STACK...] DIR")
@click.option(
    "--check",
    "only_check",
    is_flag=True,
    help="Only compare DIR with its manifest; no network.",
)
@click.option(
    "--prune",
    is_flag=True,
    help="Remove what no STACK of this run needs, such as files of an earlier lock.",
)
@click.option(
    "--built",
    "built_folder",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="WHEELS",
    help="Put wheels in that `install.sh --build-wheels WHEELS` left (default: those in DIR).",
)
@click.option(
    "--index",
    "with_index",
    is_flag=True,
    help="Write pages into DIR/simple, so that a web server makes DIR an index for pip and uv.",
)
@settings("targets")
def command(
    run: Settings,
    names: tuple[str, ...],
    only_check: bool,
    prune: bool,
    built_folder: Path | None,
    with_index: bool,
) -> int:
    """Download every file that the locks of each STACK, or of `all`, need into DIR.

    Each file is checked by its hash. Files already there are kept, and interrupted downloads are
    resumed. DIR/install.sh then installs without network access.
    """
    *stacks, folder_name = names
    folder = Path(folder_name)
    if only_check:
        return _check(folder, run)
    if not stacks:
        raise _without_stack(folder_name, run)
    parts = chosen_parts(stacks, run)
    _require_apart(folder, run.locks)
    with _opened(folder) as owned:
        # Another run may have to end first.
        run.progress.label("cli.bundling", folder=folder)
        with owned.exclusive():
            made = _make(parts, owned, built_folder, run, prune=prune, with_index=with_index)
    run.progress.clear()
    if run.as_json:
        print_json(_json(folder, made))
    else:
        _report(folder, made, run, is_pruned=prune)
    return max((error.exit_status for error in made.content.failed.values()), default=0)


def _without_stack(folder_name: str, run: Settings) -> InputError:
    """Return the error to raise if the command has only one name, which counts as the folder."""
    example = f"STACK {shlex.quote(folder_name)}"
    known = (*own_stack_names(run.matrices), *stack_names(run.matrices))
    if folder_name in known or folder_name.endswith(".toml"):
        example = f"{shlex.quote(folder_name)} DIR"
    hint = literal(f"ascend-lock bundle {example}")
    if folder_name == "serve":
        hint = SERVE
    return InputError(phrase("a stack and a folder are needed"), hint=hint)


def _require_apart(folder: Path, locks: Path) -> None:
    """Raise InputError if the bundle's folder and the folder of locks are not apart.

    Neither may contain the other: a bundle has a folder `locks` of its own.
    """
    bundle_folder, locks_folder = folder.resolve(), locks.resolve()
    if bundle_folder.is_relative_to(locks_folder) or locks_folder.is_relative_to(bundle_folder):
        raise InputError(
            phrase("a bundle needs its own folder"),
            where=str(folder),
            why=phrase("the locks are in {folder}", folder=locks_folder),
            hint=phrase("choose a folder that neither contains the locks folder nor is inside it"),
        )


def _opened(folder: Path) -> OwnedFolder:
    """Open the folder of a bundle. It is made unless it exists. Raises InputError if that fails."""
    try:
        return OwnedFolder.open(folder, make=True)
    except OSError as error:
        message = phrase("the bundle folder cannot be created")
        raise files.input_error(error, message, folder, phrase("choose another folder")) from None


class _Content(msgspec.Struct, frozen=True):
    """The content of a bundle."""

    # The locks, of this run and of earlier ones.
    locks: Sequence[BundledLock]
    # The files that these locks need.
    entries: Sequence[BundledFile]
    # The texts of install.sh and of the files in the folders of locks, by path.
    texts: dict[str, str]
    # The names of the files that this run has downloaded.
    fetched: Sequence[str]
    # The errors of locks that are not in the bundle, by the folder of the lock.
    failed: dict[str, ResolverError]


class _Made(NamedTuple):
    """A bundle that was written."""

    # Its content.
    content: _Content
    # Its manifest.
    manifest: Manifest
    # The files in its folder that its locks do not need. If it was pruned, they were removed.
    leftover: Sequence[str]


def _make(
    parts: Sequence[BundlePart],
    folder: OwnedFolder,
    built_folder: Path | None,
    run: Settings,
    *,
    prune: bool,
    with_index: bool,
) -> _Made:
    """Write a bundle of these parts, and of what the folder has from earlier runs.

    `built_folder` has wheels that were built; None if they are in the bundle. With `prune`, what
    these parts do not need is removed. With `with_index`, the bundle becomes an index.
    """
    old = bundle.read(folder)
    if prune:
        bundle.require_prunable(folder, old)
    # A bundle that has been made an index stays one.
    with_index = with_index or bundle.is_index(old)
    wheels = wheels_built_of(parts, built_folder, folder)
    paths = list(chain.from_iterable(part.paths for part in parts))
    if wheels:
        paths += [built.TEXT_PATH, *(wheel.path for wheel in wheels)]
    old = bundle.announce(folder, old, paths)
    content = _gather(parts, old, folder, wheels, built_folder, run, prune=prune)
    if with_index:
        content.texts.update(_index_texts(content.entries, folder))
        old = bundle.announce(folder, old, content.texts)
    needed = {*(entry.path for entry in content.entries), *content.texts}
    leftover = bundle.left_over(folder, old, needed)
    manifest = bundle.write(folder, content.locks, content.entries, content.texts, leftover)
    # The manifest names leftovers until they are removed, so that the run after a killed one
    # removes them, too.
    if prune and leftover:
        bundle.remove(folder, leftover)
        manifest = bundle.write(folder, content.locks, content.entries, content.texts, ())
    return _Made(content, manifest, leftover)


def _gather(
    parts: Sequence[BundlePart],
    old: Manifest | None,
    folder: OwnedFolder,
    wheels: Sequence[BuiltWheel],
    built_folder: Path | None,
    run: Settings,
    *,
    prune: bool,
) -> _Content:
    """Download the files that a bundle does not have yet, and return its content.

    `wheels` were built, and are in `built_folder`; None if that is the bundle's own. Locks in the
    `old` manifest that are not in `parts` stay, unless `prune` is set. If the files of a lock
    cannot be downloaded, the other locks are still bundled. The error is raised if no lock remains,
    or with `prune`, which might remove files that this lock needs.
    """
    progress = run.progress
    progress.label("cli.comparing", folder=folder.path)
    kept_manifest = None if prune else old
    digests = _digests(parts, kept_manifest, folder)
    with closing(Catalogs(run)) as catalogs:
        found = _find_files(parts, digests, folder, wheels, catalogs, run)
        if found.failed and (prune or not found.parts):
            raise next(iter(found.failed.values()))
        rows = [part.row for part in found.parts]
        locks, entries = bundle.merged(kept_manifest, rows, found.entries)
        kept_texts = _kept_texts(kept_manifest, locks, found.parts)
        for file in (*entries, *kept_texts):
            if file.path not in found.to_fetch:
                _require_unchanged(file, digests, folder)
        fetched = sorted(found.to_fetch)
        if fetched:
            progress.label("cli.bundling", folder=folder.path)
            wanted = [found.to_fetch[name] for name in fetched]
            catalogs.pool.save(wanted, folder, progress.copying)
        _warn_of_binaries(found.parts, folder.path, catalogs, run)
    texts = {file.path: folder.read(file.path, files.LARGEST).decode() for file in kept_texts}
    for part in found.parts:
        texts |= part.texts
    texts |= bundle_script(tuple(locks))
    texts |= _add_wheels(wheels, built_folder, {entry.path for entry in entries}, folder)
    sized = [msgspec.structs.replace(entry, size=folder.size(entry.path)) for entry in entries]
    return _Content(locks, sized, texts, fetched, found.failed)


class _FoundFiles(NamedTuple):
    """The files that the locks of a run need."""

    # The locks of which all files are in the folder or on an index.
    parts: list[BundlePart]
    # The files of these locks.
    entries: list[BundledFile]
    # The files among them that the folder does not have yet, by name.
    to_fetch: dict[str, File]
    # The errors of the other locks, by the folder of the lock.
    failed: dict[str, ResolverError]


def _find_files(
    parts: Sequence[BundlePart],
    digests: dict[str, str],
    folder: OwnedFolder,
    wheels: Sequence[BuiltWheel],
    catalogs: Catalogs,
    run: Settings,
) -> _FoundFiles:
    """Return the files that locks need, and save the sources of commits in the folder.

    The sha256 of these sources and of the built `wheels` is added to `digests`.
    """
    if run.offline:
        _require_all(parts, digests)
    repositories = Repositories(default_folder(), offline=run.offline, warn=run.progress.warn)
    found = _FoundFiles([], [], {}, {})
    for part in parts:
        try:
            sources = save_sources(part.lock, folder, repositories)
            missing = _missing_files(part, digests, found.to_fetch, catalogs)
        except (IndexFailure, NoSuchCommit) as error:
            found.failed[part.row.folder] = error
            continue
        found.to_fetch.update(missing)
        found.parts.append(part)
        for pin in part.pins:
            found.entries.append(part.entry(pin, pin.file[0].name, pin.file[0].sha256))
        for pin, wheel in part.built_pins(wheels):
            digests[wheel.path] = wheel.sha256
            found.entries.append(part.entry(pin, wheel.path, wheel.sha256))
        for name, pin in sources.items():
            digests[name] = bundle.sha256_of(folder, name)
            found.entries.append(part.entry(pin, name, digests[name]))
    return found


def _add_wheels(
    wheels: Sequence[BuiltWheel],
    built_folder: Path | None,
    paths: Collection[str],
    folder: OwnedFolder,
) -> dict[str, str]:
    """Copy built wheels into the bundle if they are in another folder.

    `paths` are the paths of all files of the bundle. Return the text of built.toml by its path, for
    the wheels of this run and of earlier ones. Empty if the bundle has no such wheels.
    """
    if built_folder is not None:
        with opened_wheels(built_folder) as theirs:
            built.copy(wheels, theirs, folder)
    if not any(path.startswith(f"{built.FOLDER}/") for path in paths):
        return {}
    with folder.folder(built.FOLDER) as there:
        every = [*built.read_built(there), *wheels]
    return {built.TEXT_PATH: built.text_of(every, paths)}


def _index_texts(entries: Iterable[BundledFile], folder: OwnedFolder) -> dict[str, str]:
    """Return the pages that make the bundle an index, and the metadata of wheels, by path."""
    listed = []
    for entry in entries:
        file = IndexedFile(entry.path, entry.sha256, entry.size)
        if entry.path.endswith(".whl"):
            file = _with_metadata(file, entry, folder)
        listed.append(file)
    return index_pages(listed)


def _with_metadata(file: IndexedFile, entry: BundledFile, folder: OwnedFolder) -> IndexedFile:
    """Return a wheel with its metadata, or unchanged if these cannot be read as text."""
    name, _, version = entry.pins[0].partition("==")
    release = FileRelease(file.filename, canonicalize_name(name), version)
    try:
        with folder.open_file(entry.path) as content:
            metadata = wheel_metadata(content, release)
        header = read_metadata(metadata, release, entry.path)
        requires_python = header.metadata.requires_python
        return msgspec.structs.replace(
            file, metadata=metadata.decode(), requires_python=requires_python
        )
    except (UnusableFile, WrongRelease, UnicodeDecodeError):
        return file


def _digests(
    parts: Sequence[BundlePart], old: Manifest | None, folder: OwnedFolder
) -> dict[str, str]:
    """Return the sha256 of each file in the folder that a lock or the old manifest names."""
    names: set[str] = set()
    for part in parts:
        names.update(pin.file[0].name for pin in part.pins)
    if old is not None:
        names.update(file.path for file in bundle.rows_of(old))
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        digests = threads.map(partial(bundle.sha256_of, folder), names)
        return dict(zip(names, digests, strict=True))


def _missing_pins(part: BundlePart, digests: Mapping[str, str]) -> dict[str, LockedPin]:
    """Return the pins of a lock whose file the folder does not have, by the file's name."""
    return {
        pin.file[0].name: pin
        for pin in part.pins
        if digests[pin.file[0].name] != pin.file[0].sha256
    }


def _require_all(parts: Iterable[BundlePart], digests: Mapping[str, str]) -> None:
    """Raise IndexFailure if a file is not in the folder yet: an offline run downloads none."""
    missing: set[str] = set()
    for part in parts:
        missing.update(_missing_pins(part, digests))
    if missing:
        words = [word for word in sys.argv[1:] if word != "--offline"]
        raise IndexFailure(
            phrase(
                "--offline downloads nothing, and files are missing: {count}", count=len(missing)
            ),
            where=", ".join(sorted(missing)[:_NAMED]) + ("…" if len(missing) > _NAMED else ""),
            hint=literal(shlex.join(("ascend-lock", *words))),
        )


def _missing_files(
    part: BundlePart,
    digests: Mapping[str, str],
    to_fetch: Container[str],
    catalogs: Catalogs,
) -> dict[str, File]:
    """Return the files that a lock needs and the folder does not have, by name.

    Files in `to_fetch` are left out. Raises IndexFailure if an index no longer offers a file.
    """
    pins = _missing_pins(part, digests)
    missing = {name: pin for name, pin in pins.items() if name not in to_fetch}
    if not missing:
        return {}
    with closing(catalogs.live(part.problem)) as catalog:
        offers = offered(missing.values(), catalog)
    return {name: offers[name] for name in missing}


def _kept_texts(
    old: Manifest | None, locks: Iterable[BundledLock], parts: Iterable[BundlePart]
) -> list[ManifestFile]:
    """Return the texts in folders of locks that only earlier runs have bundled."""
    if old is None:
        return []
    new = [part.row for part in parts]
    folders = tuple(f"{lock.folder}/" for lock in locks if lock not in new)
    return [text for text in old.texts if text.path.startswith(folders)]


def _require_unchanged(file: ManifestFile, digests: Mapping[str, str], folder: OwnedFolder) -> None:
    """Raise InputError if a file in the folder has another hash than in the manifest."""
    if digests[file.path] != file.sha256:
        raise InputError(
            phrase("`{path}` was changed after it was bundled", path=file.path),
            where=str(folder.path),
            hint=phrase("name its stack as well, or drop it with --prune"),
        )


def _warn_of_binaries(
    parts: Sequence[BundlePart], folder: Path, catalogs: Catalogs, run: Settings
) -> None:
    """Print a warning for everything that binaries need and their locks do not have."""
    for part in parts:
        judged = judge_lock(part.lock, part.problem, from_folder(folder, catalogs))
        for wheel, fault in judged.faults:
            run.progress.warn(fault_sentence(wheel, fault))
        if judged.unread:
            run.progress.warn(message("linkage.unread", names=judged.unread))


def _check(folder: Path, run: Settings) -> int:
    """Print how a bundle differs from its manifest, and return the exit status."""
    missing = InputError(
        phrase("there is no bundle"),
        where=str(folder / bundle.MANIFEST),
        hint=phrase("make one with: ascend-lock bundle STACK DIR"),
    )
    try:
        owned = OwnedFolder.open(folder)
    except OSError:
        raise missing from None
    with owned:
        # The manifest itself may be damaged.
        try:
            manifest = bundle.read(owned)
        except InputError as error:
            raise StaleLock(**error.phrases) from None
        # A first run that was killed has announced files for no lock yet.
        if manifest is None or not manifest.locks:
            raise missing
        faults = bundle.mismatches(owned, manifest)
        needed = {file.path for file in bundle.rows_of(manifest)}
        leftover = bundle.left_over(owned, manifest, needed)
    if run.as_json:
        texts = [translate(fault, run.language) for fault in faults]
        status = "damaged" if faults else "whole"
        print_json(
            {
                "status": status,
                "folder": str(folder),
                "faults": texts,
                "unneeded": list(leftover),
            }
        )
        return StaleLock.exit_status if faults else 0
    for fault in faults:
        print_line(escaped(translate(fault, run.language)))
    for name in leftover:
        run.print_message("cli.stray", name=escaped(name))
    if not faults:
        run.print_message(
            "cli.whole",
            folder=folder,
            **_totals(manifest),
            manifest=bundle.MANIFEST,
        )
        return 0
    run.print_message(
        "cli.damaged",
        folder=folder,
        faults=message("cli.faults", count=len(faults)),
    )
    return StaleLock.exit_status


def _totals(manifest: Manifest) -> dict[str, object]:
    """Return the number of files and their size, as values of a message."""
    size = f"{sum(file.size for file in manifest.files) / 1e6:.1f} MB"
    return {"files": message("cli.files", count=len(manifest.files)), "size": size}


def _json(folder: Path, made: _Made) -> dict[str, Any]:
    """Return the object for JSON: what is in the bundle, and which locks are not."""
    content, manifest, leftover = made
    locks = [{"stack": lock.stack, "target": lock.target} for lock in manifest.locks]
    failed = [{"folder": name, **error.parts()} for name, error in content.failed.items()]
    return {
        "status": "incomplete" if failed else "bundled",
        "folder": str(folder),
        "locks": locks,
        "files": len(manifest.files),
        "size": sum(file.size for file in manifest.files),
        "fetched": list(content.fetched),
        "unneeded": list(leftover),
        "failed": failed,
    }


def _report(folder: Path, made: _Made, run: Settings, *, is_pruned: bool) -> None:
    """Print what is in the bundle, and which locks are not."""
    content, manifest, leftover = made
    locks = [message("cli.for", stack=lock.stack, target=lock.target) for lock in manifest.locks]
    run.print_note(
        "cli.bundled",
        folder=folder,
        **_totals(manifest),
        locks=joined("comma", locks),
        fetched=message("cli.files", count=len(content.fetched)),
    )
    for name in leftover:
        run.print_note("cli.pruned" if is_pruned else "cli.left", name=name)
    _report_failures(content.failed, run)
    run.print_note("cli.copy", folder=folder, name=folder.name)


def _report_failures(failed: Mapping[str, ResolverError], run: Settings) -> None:
    """Print why some locks are not in the bundle."""
    for folder, error in failed.items():
        _, stack, target = folder.split("/")
        name = translate("cli.for", run.language, stack=stack, target=target)
        print_error(error, run.language, name)
    if failed:
        run.print_message(
            "cli.not-bundled",
            locks=message("cli.locks", count=len(failed)),
        )
