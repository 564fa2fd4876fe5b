"""Lines for a terminal, wrapped by display width: a Chinese character is two columns wide."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

from resolver.errors import shown
from resolver.render.text import one_line

_GAP = 2
_LEAST = 36  # of the left column
_STACKED = 80  # on a terminal narrower than this the origin is below the sentence
# A word; or one wide character with what must stay with it: closing punctuation after it, an opening bracket
# before it.
_WIDE = r"\u2e80-\u9fff\uff01-\uff60"
_CLOSING = r"[，。；：、）》”！？]*"
_PIECE = re.compile(rf"\s+|[（《“]*(?:[{_WIDE}]{_CLOSING}|[^\s{_WIDE}]+{_CLOSING})")


def display_width(text: str) -> int:
    """The width of the text in columns."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def wrap(text: str, width: int) -> list[str]:
    """The text on lines of at most `width` columns; what cannot be broken overflows."""
    lines: list[str] = []
    line = ""
    for piece in _PIECE.findall(shown(one_line(text))):
        if line and display_width(line + piece.rstrip()) > width:
            lines.append(line.rstrip())
            line = ""
        line += piece if line else piece.lstrip()
    return [*lines, line.rstrip()] if line.strip() or not lines else lines


def paragraph(text: str, width: int, indent: str, hanging: str | None = None) -> Iterator[str]:
    """The text wrapped, the first line indented by `indent` and the others by `hanging` (None: the same)."""
    rest = indent if hanging is None else hanging
    for number, line in enumerate(wrap(text, width - max(display_width(indent), display_width(rest)))):
        yield f"{rest if number else indent}{line}"


Row = tuple[str, str, Sequence[str]]  # a label, a text, the lines of the right column


def two_columns(rows: Sequence[Row], width: int) -> list[list[str]]:
    """The printed lines of each row; texts and right columns are wrapped.

    On a narrow terminal the right column is below the text.
    """
    label = max((display_width(row[0]) for row in rows), default=0) + _GAP
    if width < _STACKED:
        return [list(_stacked(row, width, label)) for row in rows]
    left = _left_width(rows, width - label - _GAP)
    return [list(_beside(row, width, label, left)) for row in rows]


def _beside(row: Row, width: int, label: int, left: int) -> Iterator[str]:
    head, text, right = row
    lefts = wrap(text, left)
    rights = [line for one in right for line in wrap(one, width - label - left - _GAP)]
    for number in range(max(len(lefts), len(rights))):
        one = lefts[number] if number < len(lefts) else ""
        other = rights[number] if number < len(rights) else ""
        lead = "" if number else head
        yield f"{_pad(lead, label)}{_pad(one, left + _GAP)}{other}".rstrip()


def _stacked(row: Row, width: int, label: int) -> Iterator[str]:
    head, text, right = row
    yield from paragraph(text, width, _pad(head, label), " " * label)
    for one in right:
        yield from paragraph(one, width, " " * label + "  ")


def _left_width(rows: Sequence[Row], room: int) -> int:
    """The width of the left column with the least overflow, then the fewest printed lines."""

    def cost(left: int) -> tuple[int, int, int]:
        overflow = lines = 0
        for _, text, right in rows:
            lefts = wrap(text, left)
            rights = [line for one in right for line in wrap(one, room - left)]
            overflow += sum(max(0, display_width(line) - left) for line in lefts)
            overflow += sum(max(0, display_width(line) - room + left) for line in rights)
            lines += max(len(lefts), len(rights))
        return overflow, lines, -left

    longest = max((display_width(one_line(text)) for _, text, _ in rows), default=0)
    return min(range(min(_LEAST, longest), min(longest, room - _LEAST) + 1), key=cost, default=_LEAST)


def _pad(text: str, width: int) -> str:
    return text + " " * (width - display_width(text))
