"""Find the stacks, targets and locks that a command line names."""

from __future__ import annotations

import datetime as dt
import platform
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from resolver.cli.console import print_json, print_line
from resolver.cli.options import ALL, Settings
from resolver.config.compile import compile_problems
from resolver.config.find_stack import (
    OWN_FOLDERS,
    find_stack,
    own_stack_names,
    stack_name,
    stack_names,
)
from resolver.config.load import Inputs, load, read_stack
from resolver.config.toml_files import list_files
from resolver.errors import InputError, did_you_mean, escaped
from resolver.i18n import translate
from resolver.index.git import files_at
from resolver.lock import file as lock_file
from resolver.lock.folder import MadeFrom, lock_inputs
from resolver.model.lock import Lock
from resolver.model.message import message, verbatim
from resolver.model.problem import NO_OPTIONS, PolicyOptions, Problem
from resolver.phrase import phrase


def named_stacks(stacks: Iterable[str], run: Settings) -> list[str]:
    """Return the named stacks, each once. `all` stands for all stacks in the folder of facts.

    The stacks of `all` come first, sorted. Raises InputError if there are none for `all`.
    """
    names: list[str] = []
    if ALL in stacks:
        names += stack_names(run.matrices)
        if not names:
            raise InputError(
                phrase("there are no stacks"),
                where=str(run.matrices / "stacks"),
                hint=phrase(
                    "give the path of a stack file, or the folder with stacks by --matrices DIR"
                ),
            )
    names += [stack for stack in stacks if stack != ALL]
    return list(dict.fromkeys(names))


def stacks_to_lock(stacks: Sequence[str], run: Settings) -> list[str]:
    """Return the named stacks, each once, for a run that locks them.

    `all` means every stack in the user's own folder of facts. A user without such a folder gets the
    stacks that have a lock and the stack files beside the folder of locks. Raises InputError if
    `all` means no stack.
    """
    if ALL not in stacks or run.has_own_matrices:
        return named_stacks(stacks, run)
    locked = _locked_names(run)
    names = [name for name in stack_names(run.matrices) if name in locked]
    for folder in _own_folders(run):
        names += [str(path) for path in list_files(folder) if stack_name(path)]
    if not names:
        raise InputError(
            phrase("no stack has a lock here"),
            where=str(run.locks),
            hint=phrase("name the stacks to lock: {command}", command=run.command("lock", "STACK")),
        )
    return list(dict.fromkeys([*names, *(stack for stack in stacks if stack != ALL)]))


def require_stack_of_lock(stack: str, run: Settings) -> None:
    """Raise InputError if there is a lock of this name, but no stack."""
    try:
        find_stack(stack, run.matrices)
    except InputError as error:
        folder = run.locks / stack
        if not Path(stack).is_absolute() and any(folder.glob(f"[!.]*/{lock_file.NAME}")):
            path = f"path/to/{stack}.toml"
            raise InputError(
                error.phrases["message"],
                where=error.where,
                hint=phrase(
                    "{folder} has its lock; give the path of the stack's file: {path}",
                    folder=folder,
                    path=path,
                ),
            ) from None
        raise


def locked_stacks(stacks: Sequence[str], run: Settings) -> list[str]:
    """Return the named stacks, each once. `all` stands for all stacks that may have locks.

    If the folders of facts and of locks are side by side, these are all stacks in the folder of
    facts. Otherwise they are the stacks with a lock or a conflict report. In both cases, stack
    files beside the folder of locks that are named like a lock are included.
    """
    if ALL not in stacks:
        return named_stacks(stacks, run)
    locked = _locked_names(run)
    shared = set(stack_names(run.matrices))
    own_files = [_own_file(name, run) for name in sorted(locked - shared)]
    own = [str(path) for path in own_files if path is not None]
    names: list[str] = []
    if shared or not own:
        names = named_stacks((ALL,), run)
    if run.locks.resolve().parent != run.matrices.resolve().parent:
        names = [name for name in names if name in locked]
    names += own
    names += [stack for stack in stacks if stack != ALL]
    return list(dict.fromkeys(names))


def unknown_locks(run: Settings) -> list[str]:
    """Return the names in the folder of locks for which there is no stack, sorted."""
    names = _locked_names(run).difference(stack_names(run.matrices))
    return sorted(name for name in names if _own_file(name, run) is None)


def named_targets(given: Iterable[str], known: Iterable[str]) -> set[str]:
    """Return the targets that values of --target stand for.

    A value is a name, the beginning of only one name, or the end of names after a `-`, such as a
    group. A value that fits no known target is returned unchanged. Raises InputError if several
    names begin with it.
    """
    known = list(known)
    names: set[str] = set()
    for value in given:
        if value in known or not value:
            names.add(value)
            continue
        fitting = [name for name in known if name.startswith(value)]
        if not fitting:
            names.update([name for name in known if name.endswith(f"-{value}")] or [value])
        if len(fitting) > 1:
            raise InputError(
                phrase("several targets begin with `{value}`", value=value),
                where="--target",
                hint=phrase("choose one of {names}", names=", ".join(fitting)),
            )
        names.update(fitting)
    return names


def chosen_targets(problems: Sequence[Problem], targets: Collection[str]) -> Sequence[Problem]:
    """Return the problems of the named targets, or all if none is named.

    Raises InputError if the stack does not have one of the targets.
    """
    names = [problem.target.name for problem in problems]
    targets = named_targets(targets, names)
    for unknown in sorted(targets.difference(names)):
        raise InputError(
            phrase(
                "{stack} has no target `{target}`", stack=problems[0].stack.name, target=unknown
            ),
            hint=phrase("its targets are {names}", names=", ".join(names)),
        )
    return [problem for problem in problems if not targets or problem.target.name in targets]


def with_options_of(made_from: MadeFrom, inputs: Inputs, problem: Problem) -> Problem:
    """Return a problem with the options of the command that made its lock or conflict report.

    These are a cut-off, if the stack has none, and an as-of that is not the stack's. The problem
    was compiled from `inputs`.
    """
    cutoff = None
    if problem.policy.exclude_newer is None and made_from.exclude_newer:
        cutoff = dt.datetime.fromisoformat(made_from.exclude_newer)
    as_of = "" if made_from.as_of == problem.policy.as_of else made_from.as_of
    options = PolicyOptions(exclude_newer=cutoff, as_of=as_of)
    if options == NO_OPTIONS:
        return problem
    problems = compile_problems(inputs, options=options)
    return chosen_targets(problems, (problem.target.name,))[0]


def warn_if_outdated(
    stack: str, lock: Lock, inputs: Inputs, problem: Problem, run: Settings
) -> None:
    """Warn once for a stack if it or the facts have changed since a lock was made.

    The comparison is that of `check`, and solves nothing. `stack` is the stack on the command line,
    and `problem` the lock's target as compiled from `inputs`.
    """
    if is_outdated(lock, inputs, problem):
        command = run.command("lock", stack)
        run.progress.warn(message("cli.outdated-lock", stack=lock.stack, command=command))


def is_outdated(lock: Lock, inputs: Inputs, problem: Problem) -> bool:
    """Return whether the stack or the facts have changed since a lock was made.

    `problem` is the lock's target as compiled from `inputs`. Options of the command that made the
    lock are no change.
    """
    return lock.inputs != with_options_of(lock_inputs(lock), inputs, problem).digest


def warn_if_known_outdated(stack: str, locks: Iterable[Lock], run: Settings) -> None:
    """Warn once if the stack or the facts have changed since one of these locks was made.

    Nothing is known if the locks were named by their folder or a commit, or if the stack's file is
    not on this machine or cannot be read.
    """
    with suppress(InputError):
        inputs = load(stack, run.matrices)
        problems = {problem.target.name: problem for problem in compile_problems(inputs)}
        for lock in locks:
            problem = problems.get(lock.target.name)
            if problem is None or inputs.stack.content.stack.name != lock.stack:
                continue
            warn_if_outdated(stack, lock, inputs, problem, run)


class NamedLock(msgspec.Struct, frozen=True):
    """A lock that a command line names."""

    # The lock.
    lock: Lock
    # The folder of the lock.
    folder: Path
    # Its name for people: `STACK/TARGET`, with `@REVISION` if it is read from a commit.
    name: str


def named_locks(name: str, run: Settings) -> list[NamedLock]:
    """Return the locks that a name stands for, sorted by their folders.

    The name is `STACK`; `STACK/TARGET`, where TARGET is a value of --target; or the path of a
    stack's file, of a folder of locks, of a lock's folder or of a lock.toml. After an `@` it may
    name a commit of git from which the locks are read. Raises InputError if there are none.
    """
    location, separator, revision = name.partition("@")
    folder = _folder(location, run)
    locks = _read_locks(folder, revision) or _locks_of_target(location, revision, run)
    if not locks:
        raise _no_lock(location, revision, folder, run)
    chosen = locks
    if run.targets:
        targets = named_targets(run.targets, dict.fromkeys(_target_names(locks)))
        chosen = {path: lock for path, lock in locks.items() if lock.target.name in targets}
    if not chosen:
        raise InputError(
            phrase("`{name}` has no lock for {targets}", name=name, targets=", ".join(run.targets)),
            where="--target",
            hint=phrase("there are {names}", names=", ".join(_target_names(locks))),
        )
    return [
        NamedLock(lock, path, f"{lock.stack}/{lock.target.name}{separator}{revision}")
        for path, lock in chosen.items()
    ]


def all_locks(run: Settings, revision: str = "") -> list[NamedLock]:
    """Return all locks in the folder of locks, sorted; with a revision, as that commit has them.

    With --target, only the locks of these targets are returned.
    """
    if revision:
        locks = _locks_at(revision, run.locks)
    else:
        paths = sorted(path.parent for path in run.locks.glob(f"[!.]*/[!.]*/{lock_file.NAME}"))
        locks = {path: lock for path in paths if (lock := lock_file.read(path)) is not None}
    targets = named_targets(run.targets, dict.fromkeys(_target_names(locks)))
    mark = f"@{revision}" if revision else ""
    return [
        NamedLock(lock, path, f"{lock.stack}/{lock.target.name}{mark}")
        for path, lock in locks.items()
        if not targets or lock.target.name in targets
    ]


def lock_of_machine(stack: str, run: Settings) -> NamedLock:
    """Return the lock of a stack that is for this machine's processor, or its only lock.

    Raises InputError if that leaves no lock, or several.
    """
    locks = named_locks(stack, run)
    if len(locks) > 1:
        names = ", ".join(named.lock.target.name for named in locks)
        this_platform = f"linux-{platform.machine()}"
        locks = [named for named in locks if named.lock.target.platform == this_platform]
        if len(locks) != 1:
            raise InputError(
                phrase("{stack} is locked for several targets", stack=stack),
                where="--target",
                hint=phrase("choose this machine's target: {names}", names=names),
            )
    return locks[0]


def _target_names(locks: Mapping[Path, Lock]) -> list[str]:
    """Return the names of the targets of locks."""
    return [lock.target.name for lock in locks.values()]


def _read_locks(folder: Path, revision: str) -> dict[Path, Lock]:
    """Return the locks in a folder, by their folders; with a revision, in that commit."""
    return _locks_at(revision, folder) if revision else _locks_in(folder)


def _locks_of_target(location: str, revision: str, run: Settings) -> dict[Path, Lock]:
    """Return the locks of `STACK/TARGET`, where TARGET is a value of --target."""
    stack, slash, target = location.rpartition("/")
    if not slash:
        return {}
    locks = _read_locks(_folder(stack, run), revision)
    names = named_targets((target,), dict.fromkeys(_target_names(locks)))
    return {path: lock for path, lock in locks.items() if lock.target.name in names}


def _locks_at(revision: str, folder: Path) -> dict[Path, Lock]:
    """Return the locks below a folder in a commit, by their folders."""
    texts = files_at(revision, folder, lock_file.NAME)
    return {path.parent: lock_file.parse(texts[path], path.parent) for path in sorted(texts)}


def _locks_in(folder: Path) -> dict[Path, Lock]:
    """Return the lock in a folder or the locks in its folders, by their folders."""
    folders = [folder]
    if not (folder / lock_file.NAME).exists():
        folders = sorted(path.parent for path in folder.glob(f"[!.]*/{lock_file.NAME}"))
    locks = {path: lock_file.read(path) for path in folders}
    return {path: lock for path, lock in locks.items() if lock is not None}


def _no_lock(location: str, revision: str, folder: Path, run: Settings) -> InputError:
    """Return the error that a location has no lock, now or in a commit."""
    stacks = {path.parts[-3] for path in run.locks.glob(f"*/*/{lock_file.NAME}")}
    stack = _stack_of(location, folder, run)
    below = sorted({str(path.parent.parent) for path in folder.glob(f"*/*/{lock_file.NAME}")})
    if below:
        names = ", ".join(below)
        hint = phrase("it has the locks of several stacks; name one: {names}", names=names)
    elif revision and location in stacks:
        hint = phrase("see `git log -- {folder}`", folder=folder)
    else:
        otherwise = phrase(
            "{command}; or name STACK/TARGET, or the folder of a lock",
            command=run.command("lock", stack),
        )
        is_known = stack != location and stack in stacks
        hint = otherwise if is_known else did_you_mean(location, stacks, otherwise)
    reports = sorted(map(str, (*folder.glob("conflict.md"), *folder.glob("*/conflict.md"))))
    if reports and not revision:
        hint = phrase(
            "there is no solution so far; its report is {reports}", reports=", ".join(reports)
        )
    what = phrase("there is no lock of `{name}`", name=location)
    if revision:
        what = phrase(
            "there is no lock of `{name}` at `{revision}`", name=location, revision=revision
        )
    return InputError(
        what,
        where=str(folder),
        hint=hint,
    )


def _stack_of(location: str, folder: Path, run: Settings) -> str:
    """Return the stack to lock, given a location without a lock."""
    if location.endswith(".toml") or not folder.is_relative_to(run.locks):
        return location
    names = folder.relative_to(run.locks).parts
    return names[0] if names else location


def _folder(location: str, run: Settings) -> Path:
    """Return the folder that a location without a revision stands for."""
    path = Path(location)
    if path.name == lock_file.NAME:
        return path.parent
    if path.suffix == ".toml":
        return run.locks / read_stack(location, run.matrices).content.stack.name
    in_locks = run.locks / location
    if path.is_relative_to(run.locks) or (path.is_dir() and not in_locks.is_dir()):
        return path
    return in_locks


def _locked_names(run: Settings) -> set[str]:
    """Return the names of stacks that have a lock or a conflict report."""
    names: set[str] = set()
    for file in (lock_file.NAME, "conflict.json"):
        names.update(path.parts[-3] for path in run.locks.glob(f"*/*/{file}"))
    return names


def _own_folders(run: Settings) -> tuple[Path, ...]:
    """Return the folders where stacks may be that belong to the folder of locks."""
    return tuple(run.locks.parent / folder for folder in OWN_FOLDERS)


def _own_file(name: str, run: Settings) -> Path | None:
    """Return the file of a stack that is beside the folder of locks; None if there is none."""
    paths = (folder / f"{name}.toml" for folder in _own_folders(run))
    return next(filter(Path.is_file, paths), None)


def print_stacks(run: Settings) -> None:
    """Print the name and summary of each stack. Stacks of the current folder come first."""
    names = [*own_stack_names(run.matrices), *stack_names(run.matrices)]
    width = max(map(len, names), default=0)
    rows = []
    for name in names:
        stack = read_stack(name, run.matrices).content.stack
        summary = translate(verbatim(stack.summary, stack.summary_zh), run.language)
        rows.append({"name": name, "summary": summary})
        if not run.as_json:
            print_line(f"  {escaped(name):<{width}}  {escaped(summary)}".rstrip())
    if run.as_json:
        print_json({"status": "listed", "stacks": rows})
