"""Lines for a terminal, wrapped by display width: a Chinese character is two columns wide."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from resolver.errors import shown
from resolver.report.text import one_line, padded, width, wrapped

_GAP = 2
_LEAST = 36  # of the left column
_STACKED = 80  # on a terminal narrower than this the origin is below the sentence


def wrap(text: str, columns: int) -> list[str]:
    """The text on lines of at most so many columns; what cannot be broken overflows."""
    return wrapped(shown(one_line(text)), "", "", columns) or [""]


def paragraph(text: str, columns: int, indent: str, hanging: str | None = None) -> Iterator[str]:
    """The text wrapped, the first line indented by `indent` and the others by `hanging` (None: the same)."""
    rest = indent if hanging is None else hanging
    for number, line in enumerate(wrap(text, columns - max(width(indent), width(rest)))):
        yield f"{rest if number else indent}{line}"


Row = tuple[str, str, Sequence[str]]  # a label, a text, the lines of the right column


def two_columns(rows: Sequence[Row], columns: int) -> list[list[str]]:
    """The printed lines of each row; texts and right columns are wrapped.

    On a narrow terminal the right column is below the text.
    """
    label = max((width(row[0]) for row in rows), default=0) + _GAP
    if columns < _STACKED:
        return [list(_stacked(row, columns, label)) for row in rows]
    left = _left_width(rows, columns - label - _GAP)
    return [list(_beside(row, columns, label, left)) for row in rows]


def _beside(row: Row, columns: int, label: int, left: int) -> Iterator[str]:
    head, text, right = row
    lefts = wrap(text, left)
    rights = [line for one in right for line in wrap(one, columns - label - left - _GAP)]
    for lead, one, other in zip_longest([head], lefts, rights, fillvalue=""):
        yield f"{padded(lead, label)}{padded(one, left + _GAP)}{other}".rstrip()


def _stacked(row: Row, columns: int, label: int) -> Iterator[str]:
    head, text, right = row
    yield from paragraph(text, columns, padded(head, label), " " * label)
    for one in right:
        yield from paragraph(one, columns, " " * label + "  ")


def _left_width(rows: Sequence[Row], room: int) -> int:
    """The width of the left column with the least overflow, then the fewest printed lines."""

    def cost(left: int) -> tuple[int, int, int]:
        overflow = lines = 0
        for _, text, right in rows:
            lefts = wrap(text, left)
            rights = [line for one in right for line in wrap(one, room - left)]
            overflow += sum(max(0, width(line) - left) for line in lefts)
            overflow += sum(max(0, width(line) - room + left) for line in rights)
            lines += max(len(lefts), len(rights))
        return overflow, lines, -left

    longest = max((width(one_line(text)) for _, text, _ in rows), default=0)
    return min(range(min(_LEAST, longest), min(longest, room - _LEAST) + 1), key=cost, default=_LEAST)
