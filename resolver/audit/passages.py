"""Places of a text that belong together: a row of a table, an item, a section, or a few lines.

A row counts as one place, whatever is above and below it. Where a Markdown table names its columns,
a value counts only in the column of its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final

import msgspec

from resolver.audit.version_words import (
    Wanted,
    has_name,
    name_pattern,
    stated_versions,
    versions_in,
)
from resolver.model.source import Lines

# Lines above and below that are near a line.
_NEAR: Final = 3
# A citation of at most so many lines is one place as a whole, unless it is of a table.
_SHORT: Final = 12
# Lines of a row of an HTML table or a list-table, of such a table, and of its head.
_LONGEST_ROW: Final = 48
_LONGEST_TABLE: Final = 400
_LONGEST_HEAD: Final = 24
# Characters of a line that are read, and of an excerpt.
_LONGEST_LINE: Final = 20_000
_LONGEST_EXCERPT: Final = 160
# What is shown of a file that is no text.
_BINARY: Final = "a binary file"

_HEADING: Final = re.compile(r"(#{1,6})\s+\S")
_UNDERLINE: Final = re.compile(r"([=\-~^\"'*+#.])\1{2,}\s*")
# The characters that underline headings of reStructuredText, in the usual order of their levels.
_UNDERLINES: Final = "=-~^\"'*+#."
_LOWEST_MARKDOWN_LEVEL: Final = 10
_ITEM: Final = re.compile(r"(\s*)\* -( |$)")


class Text:
    """The lines of a file. Line numbers begin with 1."""

    def __init__(self, content: str) -> None:
        self.content = content
        # What looks like a version in a binary file is none.
        self.is_binary = "\0" in content
        self.lines = [line[:_LONGEST_LINE] for line in content.splitlines()] or [""]

    def __len__(self) -> int:
        return len(self.lines)

    def line(self, number: int) -> str:
        """Return a line."""
        return self.lines[number - 1]

    def joined(self, place: range) -> str:
        """Return the lines of a place as one text."""
        return "\n".join(self.lines[place.start - 1 : place.stop - 1])

    def region(self, lines: Lines | None) -> range:
        """Return the numbers of cited lines; of all lines without a citation."""
        if lines is None:
            return range(1, len(self) + 1)
        return range(lines.first, min(lines.last, len(self)) + 1)

    def around(self, number: int, region: range) -> range:
        """Return the lines of the place that a line is in.

        A section ends with the cited region at the latest. Other places that are no rows extend
        beyond it only by lines that are near.
        """
        row = self._table_row(number) or self._html_row(number) or self._list_row(number)
        if row is not None:
            return row
        section = self._section(number)
        if section is not None:
            return range(section.start, min(section.stop, region.stop))
        is_short_citation = len(region) <= _SHORT and len(region) < len(self)
        if is_short_citation:
            return self._with_near_lines(region)
        return self._with_near_lines(range(number, number + 1))

    def whole(self, region: range) -> range:
        """Return a region with the lines that are near it; a single row of a table stays alone."""
        if len(region) == 1 and self.is_row(region.start):
            return region
        return self._with_near_lines(region)

    def _with_near_lines(self, region: range) -> range:
        first = max(1, region.start - _NEAR)
        stop = min(len(self) + 1, region.stop + _NEAR)
        return range(first, stop)

    def excerpt(self, place: range) -> str:
        """Return the beginning of a place on one line. Nothing of a binary file is shown."""
        if self.is_binary:
            return _BINARY
        words = " ".join(self.joined(place).split())
        if len(words) <= _LONGEST_EXCERPT:
            return words
        return f"{words[:_LONGEST_EXCERPT]}…"

    # --- rows of tables

    def is_row(self, number: int) -> bool:
        """Return whether a line is a row of a Markdown table."""
        line = self.line(number)
        return line.lstrip().startswith("|") and line.count("|") > 1

    def _table_row(self, number: int) -> range | None:
        return range(number, number + 1) if self.is_row(number) else None

    def _html_row(self, number: int) -> range | None:
        """Return the lines of an HTML row; None if a line is in no such row."""
        first = number
        while "<tr" not in self.line(first):
            if first == 1 or number - first > _LONGEST_ROW:
                return None
            if "</tr>" in self.line(first - 1):
                return None
            first -= 1
        last = number
        while "</tr>" not in self.line(last):
            if last == len(self) or last - number > _LONGEST_ROW:
                return None
            last += 1
        return range(first, last + 1)

    def _list_row(self, number: int) -> range | None:
        """Return the lines of a row of a list-table (reStructuredText); None outside of one."""
        first = number
        while not _ITEM.match(self.line(first)):
            if first == 1 or number - first > _LONGEST_ROW:
                return None
            if not self.line(first).startswith(" "):
                return None
            first -= 1
        indent = _indent(self.line(first))
        stop = first + 1
        while stop <= len(self) and stop - first <= _LONGEST_ROW:
            line = self.line(stop)
            if _ITEM.match(line) or _indent(line) <= indent:
                break
            stop += 1
        return range(first, max(stop, number + 1))

    def _section(self, number: int) -> range | None:
        """Return the lines of the section that a line is the heading of; None for other lines."""
        level = self._level(number)
        if not level:
            return None
        stop = number + 1
        while stop <= len(self):
            if 0 < self._level(stop) <= level:
                break
            stop += 1
        return range(number, stop)

    def _level(self, number: int) -> int:
        """Return the level of a heading, the highest being 1; 0 for a line that is no heading."""
        line = self.line(number)
        heading = _HEADING.match(line)
        if heading is not None:
            return len(heading[1])
        if number == len(self) or not line.strip() or self.is_row(number):
            return 0
        if _UNDERLINE.fullmatch(line):
            return 0
        underline = _UNDERLINE.fullmatch(self.line(number + 1))
        if underline is None:
            return 0
        return _LOWEST_MARKDOWN_LEVEL + _UNDERLINES.index(underline[1])

    def head_of(self, number: int) -> int:
        """Return the line that names the columns of a line's table; 0 outside of tables."""
        if self.is_row(number):
            return self._heads[number]
        is_in_list = self._list_row(number) is not None
        for above in range(number, max(0, number - _LONGEST_TABLE), -1):
            line = self.line(above)
            if "<table" in line or "list-table::" in line:
                return above
            if "</table>" in line:
                return 0
            ends_list = line.strip() and not line.startswith(" ")
            if is_in_list and ends_list:
                return 0
        return 0

    @cached_property
    def _heads(self) -> dict[int, int]:
        """Return the first row of its table for each row of a Markdown table."""
        heads: dict[int, int] = {}
        for number in range(1, len(self) + 1):
            if self.is_row(number):
                heads[number] = heads.get(number - 1, number)
        return heads

    def head_text(self, number: int) -> str:
        """Return the text that names the columns of a line's table; empty outside of tables."""
        head = self.head_of(number)
        if not head:
            return ""
        if self.is_row(head):
            return self.line(head)
        stop = min(number, head + _LONGEST_HEAD)
        return " ".join(self.lines[head - 1 : stop - 1])

    def cells_named(self, number: int, names: Sequence[str]) -> list[str]:
        """Return the cells of a Markdown row in the columns that have one of these names.

        If a title consists of a name, titles that only contain one do not count.
        """
        titles = self._cells(self.head_of(number))
        columns = [column for column, title in enumerate(titles) if _is_title(title, names)]
        if not columns:
            columns = [column for column, title in enumerate(titles) if has_name(title, names)]
        cells = self._cells(number)
        return [cells[column] if column < len(cells) else "" for column in columns]

    def _cells(self, number: int) -> list[str]:
        return [cell.strip() for cell in self.line(number).strip().strip("|").split("|")]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _is_title(title: str, names: Sequence[str]) -> bool:
    plain = title.strip("*` ")
    return any(name_pattern(name).fullmatch(plain) for name in names)


class Found(msgspec.Struct, frozen=True):
    """Whether a place has what is wanted, and what it states instead."""

    is_there: bool
    # The version that the place states of the same name; empty if it states none.
    instead: str = ""


def find(text: Text, place: range, names: Sequence[str], wanted: Wanted | None) -> Found:
    """Return whether a place has the wanted version of something with one of these names.

    Without a version, only a name is looked for. The name may be in the head of the table, or in a
    line near the version.
    """
    if wanted is None:
        words = text.joined(place) + "\n" + text.head_text(place.start)
        return Found(has_name(words, names))
    if text.is_binary:
        return Found(False)
    stated = list(_stated(text, place, names))
    if stated:
        is_there = any(map(wanted.is_met_by, stated))
        return Found(is_there, "" if is_there else stated[0])
    return Found(any(_has_version(text, number, place, names, wanted) for number in place))


def _stated(text: Text, place: range, names: Sequence[str]) -> Iterator[str]:
    """Yield the versions that a place states of a name, in a comparison or in its column."""
    for number in place:
        yield from stated_versions(text.line(number), names)
        if text.is_row(number) and number != text.head_of(number):
            for cell in text.cells_named(number, names):
                yield from versions_in(cell)


def _has_version(
    text: Text, number: int, place: range, names: Sequence[str], wanted: Wanted
) -> bool:
    """Return whether a line has a version, and whether one of the names is near it."""
    if not wanted.is_in(text.line(number)):
        return False
    first = max(place.start, number - _NEAR)
    stop = min(place.stop, number + _NEAR + 1)
    near = text.joined(range(first, stop))
    return has_name(near, names) or has_name(text.head_text(number), names)


def places_about(text: Text, region: range, names: Sequence[str], wanted: Wanted) -> list[range]:
    """Return the places of a region that name a release, in their order, each once."""
    if text.is_binary:
        return []
    places: dict[range, None] = {}
    for number in region:
        if _names_release(text, number, names, wanted):
            place = text.around(number, region)
            places[place] = None
    return list(places)


def _names_release(text: Text, number: int, names: Sequence[str], wanted: Wanted) -> bool:
    """Return whether a line has a release: in the project's column if there is one, else anywhere.

    For a set of releases such a line must also have a name of the project.
    """
    line = text.line(number)
    if not wanted.is_in(line):
        return False
    if text.is_row(number):
        cells = text.cells_named(number, names)
        if cells:
            return any(map(wanted.is_in, cells))
    return wanted.admitted is None or has_name(line, names)
