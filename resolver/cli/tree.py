"""Run `ascend-lock tree STACK`: show who requires what in a lock."""

from __future__ import annotations

import shlex

import click
from packaging.utils import canonicalize_name

from resolver.cli import options
from resolver.cli.common import Command
from resolver.cli.console import print_data, print_json, print_text
from resolver.cli.options import Settings, settings
from resolver.cli.selection import all_locks, named_locks, warn_if_known_outdated
from resolver.errors import InputError, did_you_mean
from resolver.phrase import literal, phrase
from resolver.report.tree import Tree

_formats = click.Choice(["text", "mermaid"])


@click.command("tree", cls=Command)
@options.stack
@click.option(
    "--package",
    "packages",
    multiple=True,
    metavar="NAME",
    shell_complete=options.completed("projects"),
    help="Only below this project; may be repeated.",
)
@click.option(
    "--invert",
    is_flag=True,
    help="Who requires the projects, up to the lines of the stack.",
)
@click.option(
    "--depth",
    type=click.IntRange(min=0),
    metavar="N",
    help="No more than N levels below the first.",
)
@click.option("--format", "form", type=_formats, default="text", help="Format (default: text).")
@settings("targets")
def command(
    run: Settings,
    stack: str,
    packages: tuple[str, ...],
    invert: bool,
    depth: int | None,
    form: str,
) -> int:
    """Show who requires what in STACK's lock.

    STACK may be STACK/TARGET, and STACK@REVISION, as for `diff`. What is below a project is shown
    once; `(*)` marks where it would come again.
    """
    projects = [canonicalize_name(package) for package in packages]
    trees: dict[str, Tree] = {}
    locked: set[str] = set()
    try:
        locks = named_locks(stack, run)
    except InputError:
        _require_no_project(stack, run, inverted=invert)
        raise
    warn_if_known_outdated(stack, [named.lock for named in locks], run)
    for named in locks:
        pinned = {pin.name for pin in named.lock.pin}
        locked |= pinned
        roots = [project for project in projects if project in pinned]
        if roots or not projects:
            trees[named.name] = Tree(named.lock, roots, depth, inverted=invert)
    for unknown in sorted(set(projects) - locked):
        raise InputError(
            phrase("the lock has no project `{name}`", name=unknown),
            where="--package",
            hint=did_you_mean(unknown, locked, phrase("see the tree without --package")),
        )
    if run.as_json:
        print_json({"targets": [tree.json() for tree in trees.values()]})
    elif form == "mermaid":
        if len(trees) > 1:
            raise InputError(
                phrase("{stack} has several targets", stack=stack),
                hint=phrase("choose one: {names}", names=", ".join(trees)),
            )
        for tree in trees.values():
            print_data(tree.mermaid())
    else:
        texts = [tree.text(run.language) for tree in trees.values()]
        # A tree below a project does not say which lock it is of.
        if len(trees) > 1 and projects:
            texts = [f"{name}:\n{text}" for name, text in zip(trees, texts, strict=True)]
        print_text("\n".join(texts))
    return 0


def _require_no_project(name: str, run: Settings, *, inverted: bool) -> None:
    """Raise InputError if what was named as a stack without a lock is a project of another lock."""
    project = canonicalize_name(name)
    command = f"ascend-lock tree STACK --package {shlex.quote(name)}"
    if inverted:
        command += " --invert"
    for named in all_locks(run):
        if any(pin.name == project for pin in named.lock.pin):
            raise InputError(
                phrase("a stack is needed"),
                where=f"ascend-lock tree {name}",
                hint=literal(command),
            )
