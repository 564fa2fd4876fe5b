"""`ascend-lock bundle STACK… DIR`: every file of locks in one folder, for machines without network."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import click
import msgspec

from resolver import files
from resolver.cli import options
from resolver.cli.binaries import from_folder, judge_lock
from resolver.cli.catalogs import Catalogs
from resolver.cli.console import print_line, print_to_stderr
from resolver.cli.options import ALL, Settings, settings
from resolver.cli.selection import locked_stacks, named_stacks
from resolver.config.compile import compile_problems
from resolver.config.load import load, stack_names
from resolver.errors import IndexFailure, InputError, ResolverError, StaleLock, escaped
from resolver.i18n import translate
from resolver.index.locked_files import offered, save_sources
from resolver.index.repositories import NoSuchCommit, Repositories
from resolver.index.store.cache import default_folder
from resolver.lock import bundle
from resolver.lock import file as lock_file
from resolver.lock.bundle import BundledFile, BundledLock, Manifest
from resolver.model.lock import Lock, LockedPin
from resolver.model.message import Message, joined, message
from resolver.model.problem import Problem
from resolver.model.release import File
from resolver.owned_folder import OwnedFolder
from resolver.report import render
from resolver.report.linkage import fault_sentence
from resolver.report.script import bundle_script


@click.command("bundle", short_help="Download every file of locks into one folder.")
@options.stacks("names", "[STACK...] DIR")
@click.option(
    "--check", "only_check", is_flag=True, help="Only compare DIR with its manifest; no network."
)
@click.option(
    "--prune",
    is_flag=True,
    help="Remove what no STACK of this run needs, such as files of an earlier lock.",
)
@settings("targets", "language", "own_matrices", "locks")
def command(run: Settings, names: tuple[str, ...], only_check: bool, prune: bool) -> int:
    """Download every file that the locks of each STACK, or of `all`, need into DIR.

    Each file is checked by its hash. Files already there are kept, and interrupted downloads are
    resumed. DIR/install.sh then installs without network access.
    """
    *stacks, last = names
    folder = Path(last)
    if only_check:
        return _check(folder, run)
    if not stacks:
        example = (
            f"{last} DIR" if last in stack_names(run.matrices) else f"STACK {shlex.quote(last)}"
        )
        raise InputError("a stack and a folder are needed", hint=f"ascend-lock bundle {example}")
    parts = _parts(stacks, run)
    bundle_folder, locks_folder = folder.resolve(), run.locks.resolve()
    # a bundle has a folder `locks` of its own
    if bundle_folder.is_relative_to(locks_folder) or locks_folder.is_relative_to(bundle_folder):
        raise InputError(
            "a bundle needs its own folder",
            where=str(folder),
            why=f"the locks are in {locks_folder}",
            hint="choose a folder that neither contains the locks folder nor is inside it",
        )
    with _opened(folder) as owned:
        run.progress.label("cli.bundling", folder=folder)  # another run may have to end first
        with owned.exclusive():
            old = bundle.read(owned)
            if prune:
                bundle.require_prunable(owned, old)
            content = _gather(parts, old, owned, run, prune=prune)
            leftover = bundle.left_over(
                owned, old, {*(row.path for row in content.entries), *content.texts}
            )
            manifest = bundle.write(owned, content.locks, content.entries, content.texts, leftover)
            if (
                prune and leftover
            ):  # in the manifest until they are removed, so that a killed run leaves none for good
                bundle.remove(owned, leftover)
                manifest = bundle.write(owned, content.locks, content.entries, content.texts, ())
    run.progress.clear()
    _report(folder, manifest, content, leftover, run, pruned=prune)
    return max((error.exit_status for error in content.failed.values()), default=0)


def _opened(folder: Path) -> OwnedFolder:
    """Open the folder of a bundle, which is made. Raises InputError."""
    try:
        return OwnedFolder.open(folder, make=True)
    except OSError as error:
        raise files.input_error(
            error, "the bundle folder cannot be created", folder, "choose another folder"
        ) from None


class _Part(msgspec.Struct, frozen=True):
    """A lock for the bundle, its row, and its pins from indexes; pip uses the first file of each."""

    problem: Problem
    lock: Lock
    row: BundledLock
    pins: Sequence[LockedPin]

    def entry(self, pin: LockedPin, path: str, sha256: str) -> BundledFile:
        """The row of a file of a pin."""
        pins = (f"{pin.name}=={pin.version}",)
        return BundledFile(
            path=path, sha256=sha256, size=0, index=pin.index, pins=pins, locks=(self.row.folder,)
        )


class _Content(msgspec.Struct, frozen=True):
    """All locks, rows and texts of the manifest, and the names of files `fetched` now.

    `failed`: why locks of this run are not in the bundle, by the folder of each.
    """

    locks: Sequence[BundledLock]
    entries: Sequence[BundledFile]
    texts: dict[str, str]
    fetched: Sequence[str]
    failed: dict[str, ResolverError]


def _parts(stacks: Sequence[str], run: Settings) -> list[_Part]:
    """The targets of the stacks, with their locks. `all` stands for the stacks that have one."""
    every = locked_stacks((ALL,), run.matrices, run.locks) if ALL in stacks else []
    every = [name for name in every if any(run.locks.glob(f"{Path(name).stem}/*/{lock_file.NAME}"))]
    names = [*every, *named_stacks([stack for stack in stacks if stack != ALL], run.matrices)]
    if not names:
        hint = run.command("lock", "STACK")
        raise InputError("there are no locks to bundle", where=str(run.locks), hint=hint)
    problems = [
        (name, problem)
        for name in dict.fromkeys(names)
        for problem in compile_problems(load(name, run.matrices))
    ]
    targets = list(dict.fromkeys(problem.target.name for _, problem in problems))
    for target in run.targets:
        if target not in targets:
            hint = f"the targets are: {', '.join(targets)}"
            raise InputError(
                f"no stack named here has a target `{target}`", where="--target", hint=hint
            )
    parts = []
    for name, problem in problems:
        if run.targets and problem.target.name not in run.targets:
            continue
        lock = lock_file.read_own(run.locks / problem.stack.name / problem.target.name)
        if lock is None:
            hint = f"{run.command('lock', name)}; or name the targets to bundle with --target"
            raise StaleLock(f"{name} has no lock for {problem.target.name}", hint=hint)
        pins = [pin for pin in (*lock.pin, *lock.build_pin) if pin.git is None]
        parts.append(_Part(problem, lock, BundledLock.of(lock), pins))
    return parts


def _gather(
    parts: Sequence[_Part], old: Manifest | None, folder: OwnedFolder, run: Settings, *, prune: bool
) -> _Content:
    """Download what the folder lacks of these locks; the others in the `old` manifest stay, unless it is pruned.

    A lock whose files cannot be downloaded does not affect the others. Its failure is raised if no
    lock remains, or with `prune`, which might remove what that lock needs.
    """
    progress = run.progress
    progress.label("cli.comparing", folder=folder.path)
    names = {pin.file[0].name for part in parts for pin in part.pins}
    names.update(row.path for row in (bundle.rows_of(old) if old else ()))
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        digests = dict(
            zip(names, threads.map(lambda name: bundle.sha256_of(folder, name), names), strict=True)
        )
    repositories = Repositories(default_folder(), warn=progress.warn)
    failed: dict[str, ResolverError] = {}
    complete: list[_Part] = []
    entries: list[BundledFile] = []
    to_fetch: dict[str, File] = {}
    with closing(Catalogs(run)) as catalogs:
        for part in parts:
            missing = [pin for pin in part.pins if digests[pin.file[0].name] != pin.file[0].sha256]
            missing = [pin for pin in missing if pin.file[0].name not in to_fetch]
            try:
                sources = save_sources(part.lock, folder, repositories)
                if missing:
                    with closing(catalogs.live(part.problem)) as catalog:
                        offers = offered(missing, catalog)
                    to_fetch |= {pin.file[0].name: offers[pin.file[0].name] for pin in missing}
            except (IndexFailure, NoSuchCommit) as error:
                failed[part.row.folder] = error
                continue
            complete.append(part)
            entries += [part.entry(pin, pin.file[0].name, pin.file[0].sha256) for pin in part.pins]
            for name, pin in sources.items():
                digests[name] = bundle.sha256_of(folder, name)
                entries.append(part.entry(pin, name, digests[name]))
        if failed and (prune or not complete):
            raise next(iter(failed.values()))
        locks, rows = bundle.merged(
            None if prune else old, [part.row for part in complete], entries
        )
        old_folders = tuple(
            f"{lock.folder}/" for lock in locks if all(lock != part.row for part in complete)
        )
        old_texts = [row for row in (old.texts if old else ()) if row.path.startswith(old_folders)]
        for row in (*rows, *old_texts):
            if row.path not in to_fetch and digests[row.path] != row.sha256:
                hint = "name its stack as well, or drop it with --prune"
                raise InputError(
                    f"`{row.path}` was changed after it was bundled",
                    where=str(folder.path),
                    hint=hint,
                )
        fetched = sorted(to_fetch)
        if fetched:
            progress.label("cli.bundling", folder=folder.path)
            catalogs.pool.save([to_fetch[name] for name in fetched], folder, progress.copying)
        _warn_of_binaries(complete, folder.path, catalogs, run)
    texts = {row.path: folder.read(row.path, files.LARGEST).decode() for row in old_texts}
    for part in complete:
        texts |= {f"{part.row.folder}/{name}": text for name, text in render(part.lock).items()}
    rows = [msgspec.structs.replace(row, size=folder.size(row.path)) for row in rows]
    return _Content(locks, rows, texts | bundle_script(tuple(locks)), fetched, failed)


def _warn_of_binaries(
    parts: Sequence[_Part], folder: Path, catalogs: Catalogs, run: Settings
) -> None:
    """Warn of what the binaries in the folder need and their locks do not have."""
    warned: set[Message] = set()
    for part in parts:
        judged = judge_lock(part.lock, part.problem, from_folder(folder, catalogs))
        sentences = [fault_sentence(wheel, fault) for wheel, fault in judged.faults]
        sentences += [message("linkage.unread", names=judged.unread)] if judged.unread else []
        for sentence in sentences:
            if sentence not in warned:
                warned.add(sentence)
                run.progress.warn(sentence)


def _check(folder: Path, run: Settings) -> int:
    """Report where a bundle differs from its manifest."""
    missing = InputError(
        "there is no bundle",
        where=str(folder / bundle.MANIFEST),
        hint="make one with: ascend-lock bundle STACK DIR",
    )
    try:
        owned = OwnedFolder.open(folder)
    except OSError:
        raise missing from None
    with owned:
        try:
            manifest = bundle.read(owned)
        except InputError as error:  # the manifest itself may be damaged
            raise StaleLock(
                error.message, where=error.where, why=error.why, hint=error.hint
            ) from None
        if manifest is None:
            raise missing
        faults = bundle.mismatches(owned, manifest)
        leftover = bundle.left_over(owned, manifest, {row.path for row in bundle.rows_of(manifest)})
    for fault in faults:
        print_line(escaped(translate(fault, run.language)))
    for name in leftover:
        run.print_message("cli.stray", name=escaped(name))
    if not faults:
        run.print_message("cli.whole", folder=folder, **_totals(manifest), manifest=bundle.MANIFEST)
        return 0
    run.print_message("cli.damaged", folder=folder, faults=message("cli.faults", count=len(faults)))
    return StaleLock.exit_status


def _totals(manifest: Manifest) -> dict[str, object]:
    """How many files there are, and their size."""
    size = f"{sum(row.size for row in manifest.files) / 1e6:.1f} MB"
    return {"files": message("cli.files", count=len(manifest.files)), "size": size}


def _report(
    folder: Path,
    manifest: Manifest,
    content: _Content,
    leftover: Sequence[str],
    run: Settings,
    *,
    pruned: bool,
) -> None:
    locks = [message("cli.for", stack=lock.stack, target=lock.target) for lock in manifest.locks]
    fetched = message("cli.files", count=len(content.fetched))
    run.print_message(
        "cli.bundled",
        folder=folder,
        **_totals(manifest),
        locks=joined("comma", locks),
        fetched=fetched,
    )
    for name in leftover:
        run.print_message("cli.pruned" if pruned else "cli.left", name=name)
    for lock, error in content.failed.items():
        _, stack, target = lock.split("/")
        print_to_stderr(
            f"{translate('cli.for', run.language, stack=stack, target=target)}: error: {error}"
        )
    if content.failed:
        run.print_message("cli.not-bundled", locks=message("cli.locks", count=len(content.failed)))
    run.print_message("cli.copy", folder=folder, name=folder.name)
