"""Which stacks a run is about: those named, each once; with `all`, every one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from resolver.errors import InputError
from resolver.matrix.names import stack_names

ALL: Final = "all"


def named(stacks: Sequence[str], matrices: Path) -> list[str]:
    """The stacks, each once; with `all`, those of `matrices` come first, sorted by name.

    Raises InputError if there are none, or one of them is called `all`.
    """
    if ALL not in stacks:
        return list(dict.fromkeys(stacks))
    known = stack_names(matrices)
    if ALL in known:
        raise InputError(
            f"`{ALL}` stands for every stack, so no stack can have that name",
            where=str(matrices / "stacks" / f"{ALL}.toml"),
            hint="give the file another name",
        )
    if not known:
        raise InputError(
            "there are no stacks",
            where=str(matrices / "stacks"),
            hint="give the path of a stack file, or the folder with stacks by --matrices DIR",
        )
    return list(dict.fromkeys([*known, *(stack for stack in stacks if stack != ALL)]))
