"""Places of a text that belong together: a row of a table, an item, a section, or a few lines.

A row counts as one place whatever is above and below it; where a table of Markdown names its
columns, a value counts only in the column of its name.
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
# Lines of a row of a table that is not written on one, and of such a table.
_LONGEST_ROW: Final = 48
_LONGEST_TABLE: Final = 400
_LONGEST_LINE: Final = 20_000
# What stands for the content of a file that is no text.
_BINARY: Final = "a binary file"

_HEADING: Final = re.compile(r"(#{1,6})\s+\S")
_UNDERLINE: Final = re.compile(r"([=\-~^\"'*+#.])\1{2,}\s*")
_ITEM: Final = re.compile(r"(\s*)\* -( |$)")


class Text:
    """The lines of a file; line numbers begin with 1."""

    def __init__(self, content: str) -> None:
        self.content = content
        # Whether it is no text: what looks like a version in such a file is none.
        self.is_binary = "\0" in content
        self.lines = [line[:_LONGEST_LINE] for line in content.splitlines()] or [""]

    def __len__(self) -> int:
        return len(self.lines)

    def line(self, number: int) -> str:
        """Return a line."""
        return self.lines[number - 1]

    def region(self, lines: Lines | None) -> range:
        """Return the numbers of the lines that a citation is about."""
        return (
            range(1, len(self) + 1)
            if lines is None
            else range(lines.first, min(lines.last, len(self)) + 1)
        )

    def around(self, number: int, region: range) -> range:
        """Return the lines of the place that a line is in, beyond a cited region only by lines that are near."""
        row = self._table_row(number) or self._html_row(number) or self._list_row(number)
        if row is not None:
            return row
        section = self._section(number)
        if section is not None:
            return range(section.start, min(section.stop, region.stop))
        if len(region) <= _SHORT and len(region) < len(self):
            return range(max(1, region.start - _NEAR), min(len(self) + 1, region.stop + _NEAR))
        return range(max(1, number - _NEAR), min(len(self) + 1, number + _NEAR + 1))

    def whole(self, region: range) -> range:
        """Return a region with the lines that are near it; a single row of a table stays alone."""
        row = self._table_row(region.start)
        if row is not None and len(region) == 1:
            return row
        return range(max(1, region.start - _NEAR), min(len(self) + 1, region.stop + _NEAR))

    def excerpt(self, place: range, longest: int = 160) -> str:
        """Return the beginning of a place on one line; nothing of a binary file, which is not for people."""
        if self.is_binary:
            return _BINARY
        words = " ".join(" ".join(self.lines[place.start - 1 : place.stop - 1]).split())
        return words if len(words) <= longest else f"{words[:longest]}…"

    # --- rows of tables

    def is_row(self, number: int) -> bool:
        """Return whether a line is a row of a table of Markdown."""
        return self.line(number).lstrip().startswith("|") and self.line(number).count("|") > 1

    def _table_row(self, number: int) -> range | None:
        return range(number, number + 1) if self.is_row(number) else None

    def _html_row(self, number: int) -> range | None:
        """Return the lines of a row of HTML."""
        first = number
        while "<tr" not in self.line(first):
            if first == 1 or "</tr>" in self.line(first - 1) or number - first > _LONGEST_ROW:
                return None
            first -= 1
        last = number
        while "</tr>" not in self.line(last):
            if last == len(self) or last - number > _LONGEST_ROW:
                return None
            last += 1
        return range(first, last + 1)

    def _list_row(self, number: int) -> range | None:
        """Return the lines of a row of a list-table of reStructuredText."""
        first = number
        while (item := _ITEM.match(self.line(first))) is None:
            if first == 1 or not self.line(first).startswith(" ") or number - first > _LONGEST_ROW:
                return None
            first -= 1
        last = first + 1
        while (
            last <= len(self)
            and last - first <= _LONGEST_ROW
            and _indent(self.line(last)) > len(item[1])
        ):
            if _ITEM.match(self.line(last)):
                break
            last += 1
        return range(first, max(last, number + 1))

    def _section(self, number: int) -> range | None:
        """Return the lines of the section whose heading a line is."""
        level = self._level(number)
        if not level:
            return None
        last = number + 1
        while last <= len(self) and not 0 < self._level(last) <= level:
            last += 1
        return range(number, last)

    def _level(self, number: int) -> int:
        """Return the level of a heading, 0 for a line that is none."""
        heading = _HEADING.match(self.line(number))
        if heading is not None:
            return len(heading[1])
        is_title = number < len(self) and self.line(number).strip() and not self.is_row(number)
        if not is_title or _UNDERLINE.fullmatch(self.line(number)):
            return 0
        underline = _UNDERLINE.fullmatch(self.line(number + 1))
        return 10 + "=-~^\"'*+#.".index(underline[1]) if underline is not None else 0

    def head_of(self, number: int) -> int:
        """Return the line with the names of the columns of the table that a line is in, 0 if it is in none."""
        if self.is_row(number):
            return self._heads[number]
        in_list = self._list_row(number) is not None
        for other in range(number, max(0, number - _LONGEST_TABLE), -1):
            line = self.line(other)
            if "<table" in line or "list-table::" in line:
                return other
            if "</table>" in line or (in_list and line.strip() and not line.startswith(" ")):
                return 0
        return 0

    @cached_property
    def _heads(self) -> dict[int, int]:
        """The first row of its table for each row of a table of Markdown."""
        heads: dict[int, int] = {}
        for number in range(1, len(self) + 1):
            if self.is_row(number):
                heads[number] = heads.get(number - 1, number)
        return heads

    def head_text(self, number: int) -> str:
        """Return the text that names the columns of the table that a line is in; empty if it is in none."""
        head = self.head_of(number)
        if not head:
            return ""
        if self.is_row(head):
            return self.line(head)
        return " ".join(self.lines[head - 1 : min(number, head + _SHORT * 2) - 1])

    def cells(self, number: int) -> list[str]:
        """Return the cells of a row of a table of Markdown."""
        return [cell.strip() for cell in self.line(number).strip().strip("|").split("|")]

    def columns_of(self, number: int, names: Sequence[str]) -> list[int]:
        """Return the columns of a row's table that have one of these names; those of this name alone if there are."""
        titles = self.cells(self.head_of(number))
        alone = [at for at, title in enumerate(titles) if _is_title(title, names)]
        return alone or [at for at, title in enumerate(titles) if has_name(title, names)]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _is_title(title: str, names: Sequence[str]) -> bool:
    return any(name_pattern(name).fullmatch(title.strip("*` ")) is not None for name in names)


class Found(msgspec.Struct, frozen=True):
    """Whether a place has what is wanted, and what it states instead."""

    is_there: bool
    # The version that the place states of the same name; empty if it states none.
    instead: str = ""


def find(text: Text, place: range, names: Sequence[str], wanted: Wanted | None) -> Found:
    """Return whether a place has a version of something with one of these names, or without a version the name.

    The name may be in the row's head, or in a line that is near. Without names any such version
    will do.
    """
    if wanted is None:
        words = "\n".join(text.line(number) for number in place)
        return Found(has_name(words, names) or has_name(text.head_text(place.start), names))
    if text.is_binary:
        return Found(False)
    stated = list(_stated(text, place, names)) if names else []
    if stated:
        is_there = any(wanted.is_met_by(version) for version in stated)
        return Found(is_there, "" if is_there else stated[0])
    return Found(any(_has_version(text, number, place, names, wanted) for number in place))


def _stated(text: Text, place: range, names: Sequence[str]) -> Iterator[str]:
    """Yield the versions that a place states of a name: by a comparison, or in the column of that name."""
    for number in place:
        yield from stated_versions(text.line(number), names)
        if text.is_row(number) and number != text.head_of(number):
            cells = text.cells(number)
            for column in text.columns_of(number, names):
                yield from versions_in(cells[column]) if column < len(cells) else ()


def _has_version(
    text: Text, number: int, place: range, names: Sequence[str], wanted: Wanted
) -> bool:
    """Return whether a line has a version, and names near it what that is a version of."""
    if not any(wanted.is_met_by(version) for version in versions_in(text.line(number))):
        return False
    if not names:
        return True
    first, last = max(place.start, number - _NEAR), min(place.stop, number + _NEAR + 1)
    near = "\n".join(text.line(other) for other in range(first, last))
    return has_name(near, names) or has_name(text.head_text(number), names)


class Anchors(msgspec.Struct, frozen=True, dict=True):
    """The places of a text that are about a release."""

    text: Text
    region: range
    names: tuple[str, ...]
    wanted: Wanted

    @cached_property
    def places(self) -> list[range]:
        """The places in their order, each once."""
        found: dict[range, None] = {}
        for number in () if self.text.is_binary else self.region:
            if self._is_about_it(number):
                found[self.text.around(number, self.region)] = None
        return list(found)

    def _is_about_it(self, number: int) -> bool:
        """Return whether a line has the release: in its column if the table has one, else anywhere."""
        line = self.text.line(number)
        if not any(self.wanted.is_met_by(version) for version in versions_in(line)):
            return False
        if self.text.is_row(number):
            columns = self.text.columns_of(number, self.names)
            cells = self.text.cells(number)
            if columns:
                named = " ".join(cells[column] for column in columns if column < len(cells))
                return any(self.wanted.is_met_by(version) for version in versions_in(named))
        return self.wanted.admitted is None or has_name(line, self.names)
