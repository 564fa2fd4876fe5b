"""The lines of a stack (`requires` of the stack and its groups) with their numbers.

Edits name a line by its number (see `model/edit`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from msgspec.structs import replace

from resolver.config.schema import GroupTable, StackFile


class FileLine(NamedTuple):
    """A line of `requires`, of the stack or of one of its groups."""

    # The requirement, as written.
    text: str
    # The keys and the position that lead to the line in the file.
    path: tuple[str | int, ...]
    # The name of the group; empty for a line of every group.
    group: str


def stack_lines(content: StackFile) -> tuple[FileLine, ...]:
    """Return the lines of a stack's file in the order of their numbers, which begin with 0.

    The lines of the table `stack` come first, and then the lines of each group.
    """
    groups = {name: table.requires for name, table in content.group.items()}
    return tuple(number_lines(content.stack.requires, groups))


def number_lines(
    requires: Iterable[str], groups: Mapping[str, Iterable[str]]
) -> Iterable[FileLine]:
    """Yield lines in the order of their numbers, which begin with 0.

    `requires` are the lines of the table `stack`, and `groups` has the lines of each group.
    """
    for position, text in enumerate(requires):
        yield FileLine(text, ("stack", "requires", position), "")
    for name, lines in groups.items():
        for position, text in enumerate(lines):
            yield FileLine(text, ("group", name, "requires", position), name)


def with_lines(content: StackFile, lines: Iterable[tuple[str, str]]) -> StackFile:
    """Return the content with these lines in place of its own.

    A line is given by its group, empty for a line of every group, and its text.
    """
    by_group: dict[str, list[str]] = {"": [], **{name: [] for name in content.group}}
    for group, text in lines:
        by_group[group].append(text)
    table = replace(content.stack, requires=tuple(by_group.pop("")))
    groups = {name: GroupTable(requires=tuple(texts)) for name, texts in by_group.items()}
    return replace(content, stack=table, group=groups)
