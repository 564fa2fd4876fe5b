"""`ascend-lock tree STACK`: who requires what in a lock."""

from __future__ import annotations

import click
from packaging.utils import canonicalize_name

from resolver.cli import options
from resolver.cli.console import print_data, print_json, print_text
from resolver.cli.options import Settings, settings
from resolver.cli.selection import named_locks
from resolver.errors import InputError, did_you_mean
from resolver.report.tree import Tree

_formats = click.Choice(["text", "mermaid"])


@click.command("tree")
@options.stack
@click.option(
    "--package",
    "packages",
    multiple=True,
    metavar="NAME",
    help="Only below this project; may be repeated.",
)
@click.option(
    "--invert", is_flag=True, help="Who requires the projects, up to the lines of the stack."
)
@click.option(
    "--depth",
    type=click.IntRange(min=0),
    metavar="N",
    help="No more than N levels below the first.",
)
@click.option("--format", "form", type=_formats, default="text", help="Format (default: text).")
@settings("targets", "language", "own_matrices", "locks", "as_json")
def command(
    run: Settings, stack: str, packages: tuple[str, ...], invert: bool, depth: int | None, form: str
) -> int:
    """Show who requires what in STACK's lock.

    STACK may be STACK/TARGET, and STACK@REVISION, as for `diff`. What is below a project is shown
    once; `(*)` marks where it would come again.
    """
    names = tuple(map(canonicalize_name, packages))
    locks = {row.name: row.lock for row in named_locks(stack, run)}
    pins = {name: {pin.name for pin in lock.pin} for name, lock in locks.items()}
    for unknown in sorted(set(names).difference(*pins.values())):
        hint = did_you_mean(
            unknown, set[str]().union(*pins.values()), "see the tree without --package"
        )
        raise InputError(f"the lock has no project `{unknown}`", where="--package", hint=hint)
    trees = {
        name: Tree(
            lock, [package for package in names if package in pins[name]], depth, inverted=invert
        )
        for name, lock in locks.items()
        if not names or not pins[name].isdisjoint(names)
    }
    if run.as_json:
        print_json({"targets": [tree.json() for tree in trees.values()]})
    elif form == "mermaid":
        if len(trees) > 1:
            raise InputError(f"{stack} has several targets", hint=f"choose one: {', '.join(trees)}")
        print_data(next(iter(trees.values())).mermaid())
    else:
        several = len(trees) > 1 and bool(names)
        texts = [
            (f"{name}:\n" if several else "") + tree.text(run.language)
            for name, tree in trees.items()
        ]
        print_text("\n".join(texts))
    return 0
