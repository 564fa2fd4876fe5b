"""`ascend-lock stacks`: the stacks that can be locked; and which of them, and of their targets, a command is about."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from resolver.cli.console import print_line
from resolver.cli.options import ALL, Settings, settings
from resolver.config.load import read_stack, stack_names
from resolver.errors import InputError, escaped
from resolver.i18n import translate
from resolver.model.message import verbatim

if TYPE_CHECKING:
    from resolver.model.problem import Problem


@click.command("stacks")
@settings("language", "own_matrices")
def command(run: Settings) -> int:
    """List the stacks, one per line."""
    names = stack_names(run.matrices)
    width = max(map(len, names), default=0)
    for name in names:
        stack = read_stack(name, run.matrices).content.stack
        summary = translate(verbatim(stack.summary, stack.summary_zh), run.language)
        print_line(f"  {escaped(name):<{width}}  {escaped(summary)}".rstrip())
    return 0


def named_stacks(stacks: Iterable[str], matrices: Path) -> list[str]:
    """The stacks, each once; with `all`, those of `matrices` first, sorted. Raises InputError if there are none."""
    known = stack_names(matrices) if ALL in stacks else []
    if ALL in stacks and not known:
        raise InputError(
            "there are no stacks",
            where=str(matrices / "stacks"),
            hint="give the path of a stack file, or the folder with stacks by --matrices DIR",
        )
    return list(dict.fromkeys([*known, *(stack for stack in stacks if stack != ALL)]))


def locked_stacks(stacks: Sequence[str], matrices: Path, locks: Path) -> list[str]:
    """The stacks as in `named_stacks`, where `all` stands for those whose locks belong into `locks`.

    Those are all stacks of `matrices` if the two folders are beside each other; if not, those of them that have a lock
    or a conflict report in `locks`. And a file beside `locks` that is named after a lock there is a stack as well.
    """
    if ALL not in stacks:
        return named_stacks(stacks, matrices)
    here = _with_locks(locks)
    names = set(stack_names(matrices))
    files = [str(path) for name in sorted(here - names) if (path := _file_next_to(locks, name)).is_file()]
    known = named_stacks((ALL,), matrices) if names or not files else []
    if locks.resolve().parent != matrices.resolve().parent:
        known = [name for name in known if name in here]
    return list(dict.fromkeys([*known, *files, *(stack for stack in stacks if stack != ALL)]))


def unknown_locks(matrices: Path, locks: Path) -> list[str]:
    """The names in `locks` that `locked_stacks` finds no stack for, sorted."""
    names = _with_locks(locks) - set(stack_names(matrices))
    return sorted(name for name in names if not _file_next_to(locks, name).is_file())


def chosen_targets(problems: Sequence[Problem], targets: Collection[str]) -> Sequence[Problem]:
    """The named targets, which must exist; all without a name. Raises InputError."""
    known = [problem.target.name for problem in problems]
    for unknown_locks in sorted(set(targets).difference(known)):
        raise InputError(
            f"{problems[0].stack.name} has no target `{unknown_locks}`", hint=f"its targets are {', '.join(known)}"
        )
    return [problem for problem in problems if not targets or problem.target.name in targets]


def _with_locks(locks: Path) -> set[str]:
    return {path.parts[-3] for file in ("lock.toml", "conflict.json") for path in locks.glob(f"*/*/{file}")}


def _file_next_to(locks: Path, name: str) -> Path:
    return locks.parent / f"{name}.toml"
