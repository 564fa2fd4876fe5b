"""The lines of a stack's file that require something, numbered in the order of the file's tables.

Edits name a line by its number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from msgspec.structs import replace

from resolver.config.schema import GroupTable, StackFile


class FileLine(NamedTuple):
    """A line of `requires` of the stack or of one of its groups."""

    # The requirement.
    text: str
    # The keys that lead to it.
    path: tuple[str | int, ...]
    # The name of its group; empty for a line of every group.
    group: str


def stack_lines(content: StackFile) -> tuple[FileLine, ...]:
    """Return the lines of a stack's file: first those of every group, then of each group."""
    groups = {name: table.requires for name, table in content.group.items()}
    return tuple(number_lines(content.stack.requires, groups))


def number_lines(
    requires: Iterable[str], groups: Mapping[str, Iterable[str]]
) -> Iterable[FileLine]:
    """Yield lines in the order of their numbers, from 0."""
    for position, text in enumerate(requires):
        yield FileLine(text, ("stack", "requires", position), "")
    for name, lines in groups.items():
        for position, text in enumerate(lines):
            yield FileLine(text, ("group", name, "requires", position), name)


def with_lines(content: StackFile, lines: Iterable[tuple[str, str]]) -> StackFile:
    """Return the content with these lines in place of its own: the group and the text of each."""
    by_group: dict[str, list[str]] = {"": [], **{name: [] for name in content.group}}
    for group, text in lines:
        by_group[group].append(text)
    table = replace(content.stack, requires=tuple(by_group.pop("")))
    groups = {name: GroupTable(requires=tuple(texts)) for name, texts in by_group.items()}
    return replace(content, stack=table, group=groups)
