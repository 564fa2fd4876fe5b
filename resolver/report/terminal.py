"""A document for a terminal, wrapped by display width: a Chinese character is two columns wide."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from io import StringIO
from itertools import zip_longest
from typing import Final

from rich.cells import cell_len, set_cell_size

from resolver.errors import escaped
from resolver.model.text import Language
from resolver.report.document import Document, Heading, Item, Items, Paragraph, Table, one_line, plain, translated

WIDTH: Final = 110  # of a document, if that of the terminal is unknown
COLUMNS: Final = 100  # likewise of a line of prose
_GAP = 2
_LEAST = 36  # of the left column
_STACKED = 80  # on a terminal narrower than this the origin is below the sentence
# Units without a line break inside: a Chinese character with attached punctuation, a run of others, spaces.
_WORDS = re.compile(
    r"[（「]{0,9}(?:[\u3000-\u9fff\uff00-\uffef](?<![（「])|[^\s\u3000-\u9fff\uff00-\uffef]+)[，。；：、）」]*|[（「]|\s+"
)


def styled(text: str, color: bool, style: str) -> str:
    """The text in a style of rich, if it is to be in `color`."""
    if not (color and text):
        return text
    from rich.color import ColorSystem
    from rich.style import Style

    return Style.parse(style).render(text, color_system=ColorSystem.STANDARD)


def terminal_text(document: Document, language: Language, columns: int = WIDTH, *, color: bool = False) -> str:
    """The text for a terminal of so many columns, which ends with a line break.

    In `color`, headings and labels are bold; without it, the text is plain and says the same.
    """
    lines: list[str] = []
    indent = "  "  # of a list, which may belong to the result above it
    for block in (translated(one, language) for one in document):
        match block:
            case Heading():
                heading = paragraph(str(block.text), columns)
                lines += [""] * bool(lines) + [styled(text, color, "bold") for text in heading]
            case Paragraph():
                first, rest = ("   => ", "      ") if block.result else ("", "")
                lines += [""] * (bool(lines) and not block.result)
                for spans in block.lines:
                    lines += paragraph(plain(spans), columns, first, rest)
            case Items():
                lines += _items(block, columns, indent, color)
            case Table():
                lines += table_lines([block.head, *block.rows], columns, "  ", color=color)
            case _:
                pass  # code and details are left out
        indent = "      " if isinstance(block, Paragraph) and block.result else "  "
    return "\n".join(lines) + "\n"


def wrapped(text: str, first: str, hanging: str, columns: int = COLUMNS) -> list[str]:
    """The text in lines, broken at spaces, or between Chinese characters if a line has no space."""
    lines, line = [], first
    for word in _WORDS.findall(text):
        if cell_len(line + word.rstrip()) > columns and line.strip() and line not in (first, hanging):
            lines.append(line.rstrip())
            line = hanging + word.lstrip()
        else:
            line += word
    return [*lines, line.rstrip()] if line.strip() else lines


def paragraph(text: str, columns: int, indent: str = "", hanging: str | None = None) -> list[str]:
    """The text on lines of at most so many columns; what cannot be broken overflows.

    The first line is indented by `indent` and the others by `hanging` (None: the same).
    """
    return wrapped(escaped(one_line(text)), indent, indent if hanging is None else hanging, columns) or [indent]


def table_lines(rows: Sequence[Sequence[object]], columns: int, indent: str = "", *, color: bool = False) -> list[str]:
    """Rows of cells below each other, the first of which has the names of the columns.

    If they are too wide together, the widest ones are wrapped.
    """
    from rich.console import Console  # only where there is a table: it takes 30 ms to load
    from rich.table import Table as Grid

    head, *others = [[escaped(one_line(str(cell))) for cell in row] for row in rows]
    grid = Grid(box=None, padding=(0, _GAP, 0, 0), pad_edge=False, header_style="bold")
    for name in head:
        grid.add_column(name, overflow="fold")
    for row in others:
        grid.add_row(*row)
    out = StringIO()
    console = Console(
        file=out,
        width=columns - len(indent),
        force_terminal=color,
        color_system="standard" if color else None,
        markup=False,
        emoji=False,
        highlight=False,
    )
    console.print(grid)
    return [f"{indent}{line.rstrip()}" for line in out.getvalue().splitlines()]


def _items(block: Items, columns: int, indent: str, color: bool) -> Iterator[str]:
    items = block.items[: block.most]
    if any(item.origin or item.source for item in items):
        yield from _statements(items, columns)
    else:
        for item in items:
            yield from _item(item, columns, indent, block.most, color)
    if len(block.items) > len(items):
        yield f"     {block.more}"


def _item(item: Item, columns: int, indent: str, most: int, color: bool) -> Iterator[str]:
    first, *others = item.lines
    hanging = indent + (" " * (cell_len(item.label) + 2) if item.label else "  ")
    head = f"{indent}{item.label or '-'}"
    line, *further = paragraph(plain(first), columns, set_cell_size(head, cell_len(hanging)), hanging)
    yield indent + styled(item.label, color, "bold") + line[len(indent) + len(item.label) :]
    yield from further
    for spans in (*others, *item.details):
        result = plain(spans).startswith("=> ")
        yield from paragraph(plain(spans), columns, hanging, hanging + ("   " if result else "  "))
    for one in item.items[:most]:
        yield from _item(one, columns, hanging, most, color)


def _statements(items: Sequence[Item], columns: int) -> Iterator[str]:
    """Items with their origins in a right column; a source at its first mention."""
    rows = []
    sources: set[str] = {""}
    for item in items:
        right = [plain(item.origin), *([item.source] if item.source not in sources else [])]
        sources.add(item.source)
        rows.append((f"  {item.label:>2}", plain(item.lines[0]), right))
    for lines, item in zip(two_columns(rows, columns), items, strict=True):
        yield from lines
        for detail in item.details:
            yield from paragraph(plain(detail), columns, "        ", "          ")


Row = tuple[str, str, Sequence[str]]  # a label, a text, the lines of the right column


def two_columns(rows: Sequence[Row], columns: int) -> list[list[str]]:
    """The printed lines of each row; texts and right columns are wrapped.

    On a narrow terminal the right column is below the text.
    """
    label = max((cell_len(row[0]) for row in rows), default=0) + _GAP
    if columns < _STACKED:
        return [list(_stacked(row, columns, label)) for row in rows]
    left = _left_width(rows, columns - label - _GAP)
    return [list(_side_by_side(row, columns, label, left)) for row in rows]


def _side_by_side(row: Row, columns: int, label: int, left: int) -> Iterator[str]:
    head, text, right = row
    lefts = paragraph(text, left)
    rights = [line for one in right for line in paragraph(one, columns - label - left - _GAP)]
    for lead, one, other in zip_longest([head], lefts, rights, fillvalue=""):
        yield f"{set_cell_size(lead, label)}{one}{' ' * (left + _GAP - cell_len(one))}{other}".rstrip()


def _stacked(row: Row, columns: int, label: int) -> Iterator[str]:
    head, text, right = row
    yield from paragraph(text, columns, set_cell_size(head, label), " " * label)
    for one in right:
        yield from paragraph(one, columns, " " * label + "  ")


def _left_width(rows: Sequence[Row], room: int) -> int:
    """The width of the left column with the least overflow, then the fewest printed lines."""

    def cost(left: int) -> tuple[int, int, int]:
        overflow = lines = 0
        for _, text, right in rows:
            lefts = paragraph(text, left)
            rights = [line for one in right for line in paragraph(one, room - left)]
            overflow += sum(max(0, cell_len(line) - left) for line in lefts)
            overflow += sum(max(0, cell_len(line) - room + left) for line in rights)
            lines += max(len(lefts), len(rights))
        return overflow, lines, -left

    longest = max((cell_len(one_line(text)) for _, text, _ in rows), default=0)
    return min(range(min(_LEAST, longest), min(longest, room - _LEAST) + 1), key=cost, default=_LEAST)
