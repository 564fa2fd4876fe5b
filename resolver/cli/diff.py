"""`ascend-lock diff A [B]`: what differs between two locks."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

import click

from resolver.cli.console import for_stream, print_data, print_text
from resolver.cli.options import Settings, settings
from resolver.cli.outcome import print_targets
from resolver.cli.selection import NamedLock, named_locks
from resolver.errors import InputError
from resolver.lock.difference import Difference, difference
from resolver.model.message import message
from resolver.report.document import Block, Heading, Paragraph, line
from resolver.report.markup import markdown_text
from resolver.report.summary import difference_blocks, difference_json

_formats = click.Choice(["text", "markdown"])


@click.command("diff", short_help="Show what differs between two locks.")
@click.argument("before", metavar="A")
@click.argument("after", metavar="[B]", required=False)
@click.option("--format", "form", type=_formats, default="text", help="Format (default: text).")
@settings("targets", "language", "own_matrices", "locks", "as_json")
def command(run: Settings, before: str, after: str | None, form: str) -> int:
    """Show what differs between two locks: pins, files, facts, warnings.

    A and B are stacks, STACK/TARGET, or folders of locks, each as it is now or, with @REVISION, as
    a commit of git has it. Without B, A as it is now is compared with A@HEAD, or with the revision
    that A names. Targets are compared by name; where A and B are one lock each, whatever its name.
    """
    if after is None:
        after = before.partition("@")[0]
        before = before if "@" in before else f"{before}@HEAD"
    new_locks = named_locks(after, run)
    pairs = _pairs(named_locks(before, run), new_locks)
    compared = [
        (old, new, difference(old.lock, new.lock) if old and new else None) for old, new in pairs
    ]
    if run.as_json:
        rows = [
            {
                "before": old and old.name,
                "after": new and new.name,
                **({} if changes is None else difference_json(changes)),
            }
            for old, new, changes in compared
        ]
        is_same = all(changes is not None and not changes for _, _, changes in compared)
        print_targets("same" if is_same else "different", rows)
        return 0
    blocks = [block for row in compared for block in _blocks(*row)]
    if form == "markdown":
        print_data(markdown_text(blocks, run.language))
    else:
        print_text(for_stream(blocks, run.language, sys.stdout))
    return 0


def _pairs(
    before: Sequence[NamedLock], after: Sequence[NamedLock]
) -> list[tuple[NamedLock | None, NamedLock | None]]:
    if len(before) == len(after) == 1:
        return [(before[0], after[0])]
    old, new = ({lock.lock.target.name: lock for lock in locks} for locks in (before, after))
    if not old.keys() & new.keys():
        hint = f"compare one of each, such as {before[0].name} and {after[0].name}"
        raise InputError("the two have no target in common", hint=hint)
    return [(old.get(name), new.get(name)) for name in sorted({*old, *new})]


def _blocks(
    old: NamedLock | None, new: NamedLock | None, changes: Difference | None
) -> Iterator[Block]:
    yield Heading(" -> ".join(lock.name for lock in (old, new) if lock is not None))
    if changes is not None:
        yield from difference_blocks(changes)
    else:
        yield Paragraph(
            (line(message("difference.no-target-after" if old else "difference.no-target-before")),)
        )
