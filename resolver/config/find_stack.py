"""Functions that find the file of a stack by a name or a path, and list the stacks there are."""

from __future__ import annotations

import os
import re
import shlex
from contextlib import suppress
from pathlib import Path
from typing import Final

from resolver import toml
from resolver.config.toml_files import display_name, file_text, list_files, toml_tables
from resolver.errors import InputError, did_you_mean
from resolver.phrase import literal, phrase

# The endings of requirements files and environments of other tools.
_FOREIGN: Final = (".txt", ".in", ".yml", ".yaml", ".lock")
# The names of TOML files of other tools.
_FOREIGN_TOML: Final = re.compile(r"(pyproject|pylock(\.[^.]+)?)\.toml")

# The folders with stacks of one's own: the current one, and one of a repository without facts.
OWN_FOLDERS: Final = (Path(), Path("matrices", "stacks"))


def stack_name(path: Path) -> str:
    """Return the name of the stack in a file, even if the stack is not valid.

    Empty if the file cannot be read, or contains no stack.
    """
    try:
        tables = toml_tables(file_text(path, str(path)), str(path), toml.STACK)
    except InputError:
        return ""
    stack = tables.get("stack")
    name = stack.get("name") if isinstance(stack, dict) else None
    return name if isinstance(name, str) else ""


def stack_names(matrices: Path) -> list[str]:
    """Return the names of the stacks in `matrices`, sorted. Raises InputError."""
    return [path.stem for path in list_files(matrices / "stacks") if not path.is_dir()]


def own_stack_names(matrices: Path) -> list[str]:
    """Return the names by which `find_stack` finds the stacks of OWN_FOLDERS, sorted in each.

    They are names of files without `.toml`. If `matrices` has a stack of the same name, it is the
    path, since the name alone would mean the stack of `matrices`.
    """
    names: list[str] = []
    for folder in OWN_FOLDERS:
        # A folder that cannot be listed counts as empty.
        with suppress(InputError):
            for path in list_files(folder):
                shared = matrices / "stacks" / path.name
                is_hidden = os.path.lexists(shared)
                if (is_hidden and path.samefile(shared)) or not stack_name(path):
                    continue
                names.append(str(path) if is_hidden or path.stem in names else path.stem)
    return names


def find_stack(stack: str, matrices: Path) -> Path:
    """Return the path of a stack's file.

    `stack` is a path, if it ends in .toml or contains a slash, or else a name. A name means a file
    in matrices/stacks, or else in one of OWN_FOLDERS. Raises InputError, with a hint, if there is
    no such file, or if it is a requirements file.
    """
    _require_no_requirements(Path(stack))
    if stack.endswith(".toml") or os.sep in stack:
        return _find_by_path(Path(stack), stack, matrices)
    path = matrices / "stacks" / f"{stack}.toml"
    # A broken link counts as a file: the error of reading it says what is wrong.
    if os.path.lexists(path):
        return path
    for folder in OWN_FOLDERS:
        local_path = folder / f"{stack}.toml"
        if local_path.is_file():
            _require_no_requirements(local_path)
            return local_path
    if not matrices.is_dir():
        hint = phrase("give the folder of facts and stacks with --matrices DIR")
        raise InputError(phrase("there is no folder `{matrices}`", matrices=matrices), hint=hint)
    known = [*own_stack_names(matrices), *stack_names(matrices)]
    all_names = phrase("known stacks are {names}", names=", ".join(known))
    if not known:
        all_names = phrase("it has none: give another folder with --matrices DIR")
    hint = did_you_mean(stack, known, all_names, cutoff=0.5)
    if Path(stack).is_file():
        hint = phrase("the name of a stack's file ends in .toml")
    elif Path(stack).is_dir():
        raise _is_folder(Path(stack), stack)
    elif Path(stack).with_suffix(".toml").is_file():
        hint = phrase("did you mean `{name}`?", name=Path(stack).with_suffix(".toml"))
    where = display_name(matrices / "stacks", matrices)
    raise InputError(phrase("there is no stack `{stack}`", stack=stack), where=where, hint=hint)


def _is_folder(folder: Path, given: str) -> InputError:
    """Return the error that a folder is no stack, with the stacks that are in it."""
    names: list[str] = []
    # A folder that cannot be listed counts as empty.
    with suppress(InputError):
        names = [str(path) for path in list_files(folder) if path.is_file() and stack_name(path)]
    hint = phrase("give the path of a stack, a .toml file with a table [stack]")
    if names:
        hint = phrase("its stacks are {names}", names=", ".join(names))
    return InputError(phrase("`{given}` is a folder", given=given), where=given, hint=hint)


def _require_no_requirements(path: Path) -> None:
    """Raise InputError if a path is a file of another tool, which `import` can make a stack of."""
    is_foreign = path.suffix in _FOREIGN or _FOREIGN_TOML.fullmatch(path.name)
    if is_foreign and path.is_file():
        raise InputError(
            phrase("`{path}` is no stack; one can be made of it", path=path),
            where=str(path),
            hint=literal(f"ascend-lock import {shlex.quote(str(path))}"),
        )


def _find_by_path(path: Path, given: str, matrices: Path) -> Path:
    """Return a path if a file has it, and raise InputError otherwise.

    `given` is the text that the user wrote.
    """
    if path.is_file():
        return path
    if path.is_dir():
        raise _is_folder(path, given)
    known = [*own_stack_names(matrices), *stack_names(matrices)]
    hint = did_you_mean(path.stem, known, phrase("give a path to a .toml file"))
    stack, _, target = given.partition(os.sep)
    if stack in known and target:
        option = f"{stack} --target {shlex.quote(target)}"
        hint = phrase("a target or a group is named so: {option}", option=option)
    neighbours = [neighbour.name for neighbour in list_files(path.parent)]
    hint = did_you_mean(path.name, neighbours, hint)
    raise InputError(
        phrase("there is no stack file `{given}`", given=given), where=given, hint=hint
    )
