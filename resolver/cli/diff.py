"""Run `ascend-lock diff [A] [B]`: show what differs between locks."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import click
import msgspec

from resolver.cli.common import Command
from resolver.cli.console import for_stream, print_data, print_text
from resolver.cli.options import Settings, settings
from resolver.cli.outcome import print_targets
from resolver.cli.selection import NamedLock, all_locks, named_locks
from resolver.errors import InputError
from resolver.lock.difference import Difference, difference
from resolver.model.message import message
from resolver.phrase import phrase
from resolver.report.document import Block, Heading, Paragraph, line
from resolver.report.markup import markdown_text
from resolver.report.summary import difference_blocks, difference_json

_formats = click.Choice(["text", "markdown"])


@click.command("diff", cls=Command, short_help="Show what differs between two locks.")
@click.argument("before", metavar="[A]", required=False)
@click.argument("after", metavar="[B]", required=False)
@click.option("--format", "form", type=_formats, default="text", help="Format (default: text).")
@settings("targets")
def command(run: Settings, before: str | None, after: str | None, form: str) -> int:
    """Show what differs between two locks: pins, files, facts, warnings.

    A and B are stacks, STACK/TARGET, or folders of locks, each as it is now or, with @REVISION, as
    a commit of git has it. Without B, A is compared with the last commit, or with its @REVISION.
    Without A, all locks are, and those that differ are shown. Targets are compared by name; where A
    and B are one lock each, whatever its name.
    """
    if before is None:
        comparisons = _all_comparisons(run)
    else:
        if after is None:
            after, separator, _ = before.partition("@")
            if not separator:
                before = f"{before}@HEAD"
        new_locks = named_locks(after, run)
        comparisons = _comparisons(named_locks(before, run), new_locks)
    if run.as_json:
        status = "same"
        for comparison in comparisons:
            if comparison.changes is None or comparison.changes:
                status = "different"
        print_targets(status, [comparison.json() for comparison in comparisons])
        return 0
    blocks: list[Block] = []
    for comparison in comparisons:
        blocks += comparison.blocks()
    if not comparisons:
        blocks.append(Paragraph((line(message("difference.no-lock-differs")),)))
    if form == "markdown":
        print_data(markdown_text(blocks, run.language))
    else:
        print_text(for_stream(blocks, run.language, sys.stdout))
    return 0


class _Comparison(msgspec.Struct, frozen=True):
    """Two locks for the same target, or a lock whose target the other side does not have."""

    # The lock before; None if there is none for this target.
    old: NamedLock | None
    # The lock after; None if there is none for this target.
    new: NamedLock | None
    # What differs; None if there is only one lock.
    changes: Difference | None = None

    def json(self) -> dict[str, Any]:
        """Return the comparison as an object for JSON."""
        changes = difference_json(self.changes) if self.changes is not None else {}
        return {
            "before": self.old and self.old.name,
            "after": self.new and self.new.name,
            **changes,
        }

    def blocks(self) -> Iterator[Block]:
        """Yield the heading and the differences."""
        names = [lock.name for lock in (self.old, self.new) if lock is not None]
        yield Heading(" -> ".join(names))
        if self.changes is not None:
            yield from difference_blocks(self.changes)
        elif self.old is not None:
            yield Paragraph((line(message("difference.no-target-after")),))
        else:
            yield Paragraph((line(message("difference.no-target-before")),))


def _all_comparisons(run: Settings) -> list[_Comparison]:
    """Return the differences between all locks and the last commit.

    Raises InputError if there are no locks, or if they are in no git repository.
    """
    new = {named.folder: named for named in all_locks(run)}
    old = {named.folder: named for named in all_locks(run, "HEAD")}
    if not new and not old:
        raise InputError(
            phrase("there are no locks"),
            where=str(run.locks),
            hint=phrase("lock a stack first, or give the folder of locks by --locks DIR"),
        )
    compared = [_compared(old.get(folder), new.get(folder)) for folder in sorted(old | new)]
    return [each for each in compared if each.changes is None or each.changes]


def _comparisons(before: Sequence[NamedLock], after: Sequence[NamedLock]) -> list[_Comparison]:
    """Return the comparisons of two lists of locks.

    One lock is compared with one, whatever their targets. Otherwise locks are compared by the name
    of the target, sorted. Raises InputError if they have no target in common.
    """
    if len(before) == len(after) == 1:
        return [_compared(before[0], after[0])]
    old = {named.lock.target.name: named for named in before}
    new = {named.lock.target.name: named for named in after}
    if old.keys().isdisjoint(new):
        raise InputError(
            phrase("the two have no target in common"),
            hint=phrase(
                "compare one of each, such as {before} and {after}",
                before=before[0].name,
                after=after[0].name,
            ),
        )
    return [_compared(old.get(name), new.get(name)) for name in sorted(old | new)]


def _compared(old: NamedLock | None, new: NamedLock | None) -> _Comparison:
    """Return the comparison of two locks, one of which may be missing."""
    if old is None or new is None:
        return _Comparison(old, new)
    return _Comparison(old, new, difference(old.lock, new.lock))
