"""Gathering the files of locks for a bundle."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import msgspec

from resolver.cli.called import command_line
from resolver.cli.catalogs import Catalogs
from resolver.cli.progress import Progress
from resolver.errors import IndexFailure, InputError, ResolverError, StaleLock
from resolver.index.git import NoSuchCommit, Repositories
from resolver.index.locked_files import offered, save_sources
from resolver.index.store.cache import default_folder
from resolver.lock import bundle
from resolver.lock import file as lock_file
from resolver.lock.bundle import Entry, Manifest, Served
from resolver.model.lock import Lock, LockedPin
from resolver.model.problem import Problem
from resolver.model.release import File
from resolver.report import words


class Part(msgspec.Struct, frozen=True):
    """A lock that goes into the bundle."""

    problem: Problem
    lock: Lock

    @property
    def served(self) -> Served:
        """The lock's entry in the manifest."""
        target = self.lock.target
        python = ".".join(target.python.split(".")[:2])
        folder = f"locks/{self.lock.stack}/{target.name}"
        return Served(stack=self.lock.stack, target=target.name, platform=target.platform, python=python, folder=folder)

    @property
    def pins(self) -> tuple[LockedPin, ...]:
        """The pins that are installed and those that build them."""
        return (*self.lock.pin, *self.lock.build_pin)


def parts_of(
    stack: str, problems: Sequence[Problem], locks: Path, targets: Sequence[str], given: Sequence[str]
) -> Iterator[Part]:
    """The wanted targets of the stack, with their locks. Hints repeat the options that were `given`."""
    for problem in problems:
        if targets and problem.target.name not in targets:
            continue
        lock = lock_file.read_own(locks / problem.stack.name / problem.target.name)
        if lock is None:
            raise StaleLock(
                f"{stack} has no lock for {problem.target.name}",
                hint=f"{command_line('lock', stack, *given)}; or name the targets to bundle with --target",
            )
        yield Part(problem, lock)


def refuse_unknown(targets: Sequence[str], problems: Iterable[Problem]) -> None:
    """Raise InputError if no stack has a wanted target."""
    known = list(dict.fromkeys(problem.target.name for problem in problems))
    for name in targets:
        if name not in known:
            hint = f"the targets are: {', '.join(known)}"
            raise InputError(f"no stack named here has a target `{name}`", where="--target", hint=hint)


def wanted(parts: Sequence[Part]) -> tuple[list[Served], list[Entry]]:
    """The locks, with the file of each pin that pip uses; git sources have none."""
    rows = []
    for part in parts:
        for pin in part.pins:
            if pin.git is not None:
                continue
            file = pin.file[0]
            if "/" in file.name or not bundle.is_inside(file.name) or file.name.startswith("."):
                raise InputError(
                    f"the lock of {part.lock.stack} contains an invalid file name",
                    where=f"lock.toml, `{pin.name}`",
                    why=file.name,
                    hint="restore the lock from version control, or lock again",
                )
            pins = (f"{pin.name}=={pin.version}",)
            folder = part.served.folder
            rows.append(Entry(path=file.name, sha256=file.sha256, size=0, index=pin.index, pins=pins, locks=(folder,)))
    return [part.served for part in parts], rows


class Gathered(msgspec.Struct, frozen=True):
    """The locks that are complete in the folder, with all rows of the manifest and the names of files `fetched` now.

    `failed`: why the others of this run are not, by the folder of each.
    """

    parts: tuple[Part, ...]
    served: tuple[Served, ...]
    entries: tuple[Entry, ...]
    fetched: tuple[str, ...]
    failed: dict[str, ResolverError]


def gather(
    parts: Sequence[Part], old: Manifest | None, folder: Path, matrices: Path, progress: Progress, *, prune: bool
) -> Gathered:
    """Download what the folder lacks of these locks and of the others in the `old` manifest.

    A lock of which something cannot be had leaves the others alone. Its failure is raised if no lock is left, or with
    `prune`, which might remove what that lock needs.
    """
    failed: dict[str, ResolverError] = {}

    def checked() -> list[Part]:
        ready = [part for part in parts if part.served.folder not in failed]
        if failed and (prune or not ready):
            raise next(iter(failed.values()))
        return ready

    sources = _fetch_sources(parts, folder, progress, failed)
    served, entries = _rows(checked(), sources, None if prune else old)
    progress.label(words.COMPARING(progress.language, folder=folder))
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        there = threads.map(lambda row: bundle.sha256_of(folder / row.path) == row.sha256, entries)
        missing = {row.path for row, found in zip(entries, there, strict=True) if not found}
    if not missing:
        return Gathered(tuple(checked()), served, entries, (), failed)
    progress.label(words.LOOKING_UP(progress.language, files=words.FILES(progress.language, len(missing))))
    with closing(Catalogs(matrices, progress)) as catalogs:
        files: dict[str, File] = {}
        for part in checked():
            try:
                pins = [pin for pin in part.pins if pin.file and pin.file[0].name in missing - files.keys()]
                with closing(catalogs.live(part.problem)) as catalog:
                    files |= offered(pins, catalog)
            except IndexFailure as error:
                failed[part.served.folder] = error
        ready = checked()
        served, entries = _rows(ready, sources, None if prune else old)
        rows = {row.path: row for row in entries if row.path in missing}
        if lost := sorted(rows.keys() - files.keys()):
            raise _damaged(folder / lost[0], rows[lost[0]].locks[0])
        progress.label(words.BUNDLING(progress.language, folder=folder))
        catalogs.pool.save([files[name] for name in rows], folder, progress.copying)
    return Gathered(tuple(ready), served, entries, tuple(sorted(rows)), failed)


def _rows(
    parts: Sequence[Part], sources: Sequence[Entry], old: Manifest | None
) -> tuple[tuple[Served, ...], tuple[Entry, ...]]:
    """All locks and files of the manifest, sorted: those of the parts, and those that stay from the old one."""
    served, files = wanted(parts)
    ours = {lock.folder for lock in served}
    told = bundle.merged(old, served, [*files, *(row for row in sources if ours.issuperset(row.locks))])
    return tuple(told[0]), tuple(told[1])


def _fetch_sources(
    parts: Sequence[Part], folder: Path, progress: Progress, failed: dict[str, ResolverError]
) -> list[Entry]:
    """Save git sources below the folder; complete ones that are there already are kept. Adds to `failed`."""
    repositories = Repositories(default_folder(), warn=progress.warn)
    rows = []
    for part in parts:
        try:
            saved = save_sources(part.lock, folder, repositories)
        except (IndexFailure, NoSuchCommit) as error:
            failed[part.served.folder] = error
            continue
        for path, pin in saved.items():
            name = path.relative_to(folder).as_posix()
            digest = bundle.sha256_of(path)
            needs = (f"{pin.name}=={pin.version}",)
            rows.append(Entry(path=name, sha256=digest, size=0, pins=needs, locks=(part.served.folder,)))
    return rows


def kept_texts(folder: Path, old: Manifest | None, locks: set[str]) -> dict[str, str]:
    """The texts written earlier for locks that are kept."""
    texts = {}
    for row in old.texts if old else ():
        lock = next((lock for lock in locks if row.path.startswith(f"{lock}/")), None)
        if lock is None:
            continue
        if bundle.sha256_of(folder / row.path) != row.sha256:
            raise _damaged(folder / row.path, lock)
        texts[row.path] = (folder / row.path).read_text(encoding="utf-8")
    return texts


def _damaged(path: Path, lock: str) -> InputError:
    return InputError(
        f"`{path.name}` was changed after it was bundled for {lock.removeprefix('locks/')}",
        where=str(path),
        hint="name that stack as well, or drop it with --prune",
    )
