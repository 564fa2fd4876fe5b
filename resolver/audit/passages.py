"""Find versions and names in the lines of a text that belong together, for `source_checks`.

A place is a range of lines that belong together: a row of a table, a section, or a few lines. A row
is a place of its own, whatever is above and below it. If a Markdown table names its columns, a
value counts only in the column with its name.
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

# So many lines above and below a line are near it.
_NEAR: Final = 3
# Cited lines are one place if there are at most so many, and they are no rows of a table.
_SHORT: Final = 12
# The longest row of an HTML table or a list-table, the longest table, and the longest head of a
# table, in lines.
_LONGEST_ROW: Final = 48
_LONGEST_TABLE: Final = 400
_LONGEST_HEAD: Final = 24
# How many characters of a line are read, and how many are shown as an excerpt.
_LONGEST_LINE: Final = 20_000
_LONGEST_EXCERPT: Final = 160
# What is shown in place of an excerpt from a binary file.
_BINARY: Final = "a binary file"

_HEADING: Final = re.compile(r"(#{1,6})\s+\S")
_UNDERLINE: Final = re.compile(r"([=\-~^\"'*+#.])\1{2,}\s*")
# The characters that underline headings of reStructuredText, in the usual order of their levels.
_UNDERLINES: Final = "=-~^\"'*+#."
_LOWEST_MARKDOWN_LEVEL: Final = 10
_ITEM: Final = re.compile(r"(\s*)\* -( |$)")


class Text:
    """The text of a file, with line numbers from 1.

    Methods take and return ranges of line numbers. A *region* is the range that a reference cites.
    A *place* is the range of a table row, a section or an item of a list.
    """

    def __init__(self, content: str) -> None:
        self.content = content
        # In a binary file, what looks like a version may be anything.
        self.is_binary = "\0" in content
        self.lines = [line[:_LONGEST_LINE] for line in content.splitlines()] or [""]

    def __len__(self) -> int:
        return len(self.lines)

    def line(self, number: int) -> str:
        """Return the line with this number."""
        return self.lines[number - 1]

    def joined(self, place: range) -> str:
        """Return the lines of a place as one text."""
        return "\n".join(self.lines[place.start - 1 : place.stop - 1])

    def region(self, lines: Lines | None) -> range:
        """Return the region of cited lines; of all lines if none are cited.

        Lines beyond the end of the text are left out.
        """
        if lines is None:
            return range(1, len(self) + 1)
        return range(lines.first, min(lines.last, len(self)) + 1)

    def around(self, number: int, region: range) -> range:
        """Return the place that a line belongs to.

        A section ends with the cited region, at the latest. A place that is neither a row nor a
        section is the line, or a short region as a whole, with the lines near it.
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
        """Return a region with the lines near it. A single row of a table stays alone."""
        if len(region) == 1 and self.is_row(region.start):
            return region
        return self._with_near_lines(region)

    def _with_near_lines(self, region: range) -> range:
        """Return a region with the lines near it, as far as the text has them."""
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
        """Return the place of a row of a Markdown table; None if the line is no such row."""
        return range(number, number + 1) if self.is_row(number) else None

    def _html_row(self, number: int) -> range | None:
        """Return the place of the HTML row that a line is in; None if it is in no such row."""
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
        """Return the place of the row that a line is in; None if it is in no list-table.

        A list-table is a table that reStructuredText writes as a list.
        """
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
        """Return the section below a heading; None for a line that is no heading."""
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
        """Return the level of a heading, 1 for the highest; 0 for a line that is no heading."""
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
        """Return the number of the line that begins a line's table; 0 outside of tables."""
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
        """Return the first row of the table, for each row of a Markdown table."""
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

        If the title of a column is exactly one of the names, titles that only contain one are
        ignored.
        """
        titles = self._cells(self.head_of(number))
        columns = [column for column, title in enumerate(titles) if _is_title(title, names)]
        if not columns:
            columns = [column for column, title in enumerate(titles) if has_name(title, names)]
        cells = self._cells(number)
        return [cells[column] if column < len(cells) else "" for column in columns]

    def _cells(self, number: int) -> list[str]:
        """Return the cells of a Markdown row without the white space around them."""
        return [cell.strip() for cell in self.line(number).strip().strip("|").split("|")]


def _indent(line: str) -> int:
    """Return how many characters of white space a line begins with."""
    return len(line) - len(line.lstrip())


def _is_title(title: str, names: Sequence[str]) -> bool:
    """Return whether the title of a column is one of these names."""
    plain = title.strip("*` ")
    return any(name_pattern(name).fullmatch(plain) for name in names)


class Found(msgspec.Struct, frozen=True):
    """The result of looking for a version in a place."""

    # Whether the place has it.
    is_there: bool
    # The version that the place states for the same name instead; empty if it states none.
    instead: str = ""


def find(text: Text, place: range, names: Sequence[str], wanted: Wanted | None) -> Found:
    """Return whether a place has the wanted version of something with one of these names.

    If the place states versions of the name, the wanted one must be among them. Otherwise it is
    enough if the version is there, and a name is near it or in the head of the table. Without a
    version, only a name is looked for.
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
    """Yield the versions that a place states for a name, in a comparison or in its column."""
    for number in place:
        yield from stated_versions(text.line(number), names)
        if text.is_row(number) and number != text.head_of(number):
            for cell in text.cells_named(number, names):
                yield from versions_in(cell)


def _has_version(
    text: Text, number: int, place: range, names: Sequence[str], wanted: Wanted
) -> bool:
    """Return whether a line has a version with one of the names near it.

    The name may also be in the head of the table.
    """
    if not wanted.is_in(text.line(number)):
        return False
    first = max(place.start, number - _NEAR)
    stop = min(place.stop, number + _NEAR + 1)
    near = text.joined(range(first, stop))
    return has_name(near, names) or has_name(text.head_text(number), names)


def places_about(text: Text, region: range, names: Sequence[str], wanted: Wanted) -> list[range]:
    """Return the places of a region that name a release, in order, each once."""
    if text.is_binary:
        return []
    places: dict[range, None] = {}
    for number in region:
        if _names_release(text, number, names, wanted):
            place = text.around(number, region)
            places[place] = None
    return list(places)


def _names_release(text: Text, number: int, names: Sequence[str], wanted: Wanted) -> bool:
    """Return whether a line names a release.

    In a row, its version must be in the column of the project, if there is one. For a set of
    releases, any other line must also have a name of the project.
    """
    line = text.line(number)
    if not wanted.is_in(line):
        return False
    if text.is_row(number):
        cells = text.cells_named(number, names)
        if cells:
            return any(map(wanted.is_in, cells))
    return wanted.admitted is None or has_name(line, names)
