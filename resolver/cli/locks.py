"""The locks that a command is given by name: a stack's, a target's or those in a folder; now or at a revision."""

from __future__ import annotations

from pathlib import Path

import msgspec

from resolver.cli.options import Settings
from resolver.config.load import read_stack
from resolver.errors import InputError, did_you_mean
from resolver.index.git import files_at
from resolver.lock import file as lock_file
from resolver.model.lock import Lock


class NamedLock(msgspec.Struct, frozen=True):
    """A lock, its folder, and what people may call it: `STACK/TARGET`, with `@REVISION` if it is not that of now."""

    lock: Lock
    folder: Path
    name: str


def named_locks(name: str, run: Settings) -> list[NamedLock]:
    """The locks that `STACK`, `STACK/TARGET` or a path stands for, at the commit of git behind an `@`, if there is one.

    Sorted by their folders. A path is that of a stack's file, a folder of locks, a lock's folder or its lock.toml.
    Raises InputError if there are none.
    """
    place, at, revision = name.partition("@")
    folder = _folder(place, run)
    if revision:
        texts = files_at(revision, folder, lock_file.NAME)
        found = [(lock_file.parse(text, path.parent), path.parent) for path, text in sorted(texts.items())]
    else:
        own = folder / lock_file.NAME
        paths = [own] if own.exists() else folder.glob(f"[!.]*/{lock_file.NAME}")
        found = [(lock, path.parent) for path in sorted(paths) if (lock := lock_file.read(path.parent)) is not None]
    if not found:
        known = {path.parts[-3] for path in run.locks.glob(f"*/*/{lock_file.NAME}")}
        otherwise = f"{run.command('lock', place)}; or name STACK/TARGET, or the folder of a lock"
        hint = did_you_mean(place, known, otherwise)
        hint = f"see `git log -- {folder}`" if revision and place in known else hint
        raise InputError(f"there is no lock of `{name}`", where=str(folder), hint=hint)
    locks = [(lock, path) for lock, path in found if not run.targets or lock.target.name in run.targets]
    if not locks:
        hint = f"there are {', '.join(lock.target.name for lock, _ in found)}"
        raise InputError(f"`{name}` has no lock for {', '.join(run.targets)}", where="--target", hint=hint)
    return [NamedLock(lock, path, f"{lock.stack}/{lock.target.name}{at}{revision}") for lock, path in locks]


def _folder(place: str, run: Settings) -> Path:
    path = Path(place)
    if path.name == lock_file.NAME:
        return path.parent
    if path.suffix == ".toml":
        return run.locks / read_stack(place, run.matrices).content.stack.name
    inside = run.locks / place
    return path if path.is_relative_to(run.locks) or (path.is_dir() and not inside.is_dir()) else inside
