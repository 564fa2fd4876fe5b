"""Which stacks, targets and locks a command is about, as they are named on its command line; `ascend-lock stacks`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from resolver.cli.console import print_line
from resolver.cli.options import ALL, Settings, settings
from resolver.config.load import read_stack, stack_names
from resolver.errors import InputError, did_you_mean, escaped
from resolver.i18n import translate
from resolver.index.git import files_at
from resolver.lock import file as lock_file
from resolver.model.lock import Lock
from resolver.model.message import verbatim

if TYPE_CHECKING:
    from resolver.model.problem import Problem


def named_stacks(stacks: Iterable[str], matrices: Path) -> list[str]:
    """The stacks, each once; with `all`, those of `matrices` first, sorted.

    Raises InputError if there are none.
    """
    every = stack_names(matrices) if ALL in stacks else []
    if ALL in stacks and not every:
        hint = "give the path of a stack file, or the folder with stacks by --matrices DIR"
        raise InputError("there are no stacks", where=str(matrices / "stacks"), hint=hint)
    return list(dict.fromkeys([*every, *(stack for stack in stacks if stack != ALL)]))


def locked_stacks(stacks: Sequence[str], matrices: Path, locks: Path) -> list[str]:
    """The stacks as in `named_stacks`, where `all` stands for those whose locks belong into `locks`.

    Those are all stacks of `matrices` if the two folders are beside each other; if not, those of
    them that have a lock or a conflict report in `locks`. And a file beside `locks` that is named
    after a lock there is a stack as well.
    """
    if ALL not in stacks:
        return named_stacks(stacks, matrices)
    locked = _with_locks(locks)
    shared = set(stack_names(matrices))
    files = [
        str(path)
        for name in sorted(locked - shared)
        if (path := _file_next_to(locks, name)).is_file()
    ]
    every = named_stacks((ALL,), matrices) if shared or not files else []
    if locks.resolve().parent != matrices.resolve().parent:
        every = [name for name in every if name in locked]
    return list(dict.fromkeys([*every, *files, *(stack for stack in stacks if stack != ALL)]))


def unknown_locks(matrices: Path, locks: Path) -> list[str]:
    """The names in `locks` that `locked_stacks` finds no stack for, sorted."""
    names = _with_locks(locks) - set(stack_names(matrices))
    return sorted(name for name in names if not _file_next_to(locks, name).is_file())


def chosen_targets(problems: Sequence[Problem], targets: Collection[str]) -> Sequence[Problem]:
    """The named targets, which must exist; all without a name. Raises InputError."""
    names = [problem.target.name for problem in problems]
    for unknown in sorted(set(targets).difference(names)):
        hint = f"its targets are {', '.join(names)}"
        raise InputError(f"{problems[0].stack.name} has no target `{unknown}`", hint=hint)
    return [problem for problem in problems if not targets or problem.target.name in targets]


class NamedLock(msgspec.Struct, frozen=True):
    """A lock, its folder, and what people may call it: `STACK/TARGET`, with `@REVISION` if it is not that of now."""

    lock: Lock
    folder: Path
    name: str


def named_locks(name: str, run: Settings) -> list[NamedLock]:
    """The locks that `STACK`, `STACK/TARGET` or a path stands for, at the commit of git behind an `@`, if there is one.

    Sorted by their folders. A path is that of a stack's file, a folder of locks, a lock's folder or
    its lock.toml. Raises InputError if there are none.
    """
    location, at, revision = name.partition("@")
    folder = _folder(location, run)
    if revision:
        texts = files_at(revision, folder, lock_file.NAME)
        found = [
            (lock_file.parse(text, path.parent), path.parent)
            for path, text in sorted(texts.items())
        ]
    else:
        lock_path = folder / lock_file.NAME
        paths = [lock_path] if lock_path.exists() else folder.glob(f"[!.]*/{lock_file.NAME}")
        found = [
            (lock, path.parent)
            for path in sorted(paths)
            if (lock := lock_file.read(path.parent)) is not None
        ]
    if not found:
        stacks = {path.parts[-3] for path in run.locks.glob(f"*/*/{lock_file.NAME}")}
        otherwise = (
            f"{run.command('lock', location)}; or name STACK/TARGET, or the folder of a lock"
        )
        hint = did_you_mean(location, stacks, otherwise)
        hint = f"see `git log -- {folder}`" if revision and location in stacks else hint
        at = f" at `{revision}`" if revision else ""
        raise InputError(f"there is no lock of `{location}`{at}", where=str(folder), hint=hint)
    locks = [
        (lock, path) for lock, path in found if not run.targets or lock.target.name in run.targets
    ]
    if not locks:
        hint = f"there are {', '.join(lock.target.name for lock, _ in found)}"
        raise InputError(
            f"`{name}` has no lock for {', '.join(run.targets)}", where="--target", hint=hint
        )
    return [
        NamedLock(lock, path, f"{lock.stack}/{lock.target.name}{at}{revision}")
        for lock, path in locks
    ]


def _folder(place: str, run: Settings) -> Path:
    path = Path(place)
    if path.name == lock_file.NAME:
        return path.parent
    if path.suffix == ".toml":
        return run.locks / read_stack(place, run.matrices).content.stack.name
    inside = run.locks / place
    return (
        path
        if path.is_relative_to(run.locks) or (path.is_dir() and not inside.is_dir())
        else inside
    )


def _with_locks(locks: Path) -> set[str]:
    return {
        path.parts[-3]
        for name in (lock_file.NAME, "conflict.json")
        for path in locks.glob(f"*/*/{name}")
    }


def _file_next_to(locks: Path, name: str) -> Path:
    return locks.parent / f"{name}.toml"


@click.command("stacks")
@settings("language", "own_matrices")
def stacks(run: Settings) -> int:
    """List the stacks, one per line."""
    names = stack_names(run.matrices)
    width = max(map(len, names), default=0)
    for name in names:
        stack = read_stack(name, run.matrices).content.stack
        summary = translate(verbatim(stack.summary, stack.summary_zh), run.language)
        print_line(f"  {escaped(name):<{width}}  {escaped(summary)}".rstrip())
    return 0
