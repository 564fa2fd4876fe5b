"""Write a document for a terminal, with lines wrapped by their width on the screen.

A Chinese character is two columns wide.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, product, zip_longest
from typing import Final, Literal

from rich.cells import cell_len, set_cell_size

from resolver.errors import escaped, harmless
from resolver.model.text import Language
from resolver.report.document import (
    Document,
    Heading,
    Item,
    Items,
    Paragraph,
    Table,
    one_line,
    plain,
    translated,
)

# The width of a document, and of a line of prose, in columns, if that of the terminal is unknown.
WIDTH: Final = 110
COLUMNS: Final = 100
# The width of the gap between two columns of a table.
_GAP = 2
# A column of at most this width has labels, such as `to decide`.
_LABEL = 12
# The least width of a column with sentences.
_LEAST = 36
# On a terminal narrower than this, the origin of a sentence is written below it.
_STACKED = 80
# Parts that are not broken: a Chinese character with its punctuation, a run of other characters, or
# spaces.
_WORDS = re.compile(
    r"[（「]{0,9}(?:[\u3000-\u9fff\uff00-\uffef](?<![（「])|[^\s\u3000-\u9fff\uff00-\uffef]+)"
    r"[，。；：、）」]*|[（「]|\s+"
)
# The texts of cells without a value.
_NOTHING = ("", "-")
# The indentation of a line, with branches of a tree and the mark of an item.
_LEAD = re.compile(r"[ │├└─]*(?:- )?")
# The characters below the branches of a tree when a line is continued.
_BRANCHES = str.maketrans("├└─-", "│   ")

Style = Literal["bold", "bold red", "bold yellow", "yellow"]
_CODES: Final[Mapping[Style, str]] = {
    "bold": "1",
    "bold red": "1;31",
    "bold yellow": "1;33",
    "yellow": "33",
}
# The escape sequences that this program writes: a style, and its end.
_SEQUENCES: Final = re.compile(rf"(\x1b\[(?:0|{'|'.join(_CODES.values())})m)")


def styled(text: str, color: bool, style: Style) -> str:
    """Return a text in a style. Without `color`, or if it is empty, it is returned unchanged."""
    return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if color and text else text


def for_terminal(text: str, *, color: bool) -> str:
    """Return a text without anything that a terminal would act on.

    Line breaks and tabs stay, and with `color` also the styles of this module.
    """
    if not color:
        return harmless(text, "\n\t")
    pieces = _SEQUENCES.split(text)
    # Every second piece is a style.
    for position in range(0, len(pieces), 2):
        pieces[position] = harmless(pieces[position], "\n\t")
    return "".join(pieces)


def terminal_text(
    document: Document, language: Language, columns: int = WIDTH, *, color: bool = False
) -> str:
    """Return a document as text for a terminal with so many columns.

    It ends with a line break. With `color`, headings and labels are bold. Without it, the text is
    plain and says the same.
    """
    lines: list[str] = []
    # A list is indented more if it follows a result, to which it belongs.
    indent = "  "
    for part in document:
        block = translated(part, language)
        is_result = isinstance(block, Paragraph) and block.result
        if lines and isinstance(block, (Heading, Paragraph)) and not is_result:
            lines.append("")
        match block:
            case Heading():
                heading = paragraph(str(block.text), columns)
                lines += [styled(line, color, "bold") for line in heading]
            case Paragraph():
                for spans in block.lines:
                    if is_result:
                        lines += paragraph(plain(spans), columns, "   => ", "      ")
                    else:
                        lines += paragraph(plain(spans), columns)
            case Items():
                lines += _items(block, columns, indent, color)
            case Table():
                lines += table_lines([block.head, *block.rows], columns, "  ", color=color)
            case _:
                # Code and details are left out.
                pass
        indent = "      " if is_result else "  "
    return "\n".join(lines) + "\n"


def wrapped(text: str, first: str, hanging: str, columns: int = COLUMNS) -> list[str]:
    """Return a text as lines. The first begins with `first`, the others with `hanging`.

    Lines are broken at spaces, or between Chinese characters. A word that is wider than `columns`
    is not broken.
    """
    lines = []
    line = first
    for word in _WORDS.findall(text):
        is_empty = line in (first, hanging) or not line.strip()
        if is_empty or _shown_width(line + word.rstrip()) <= columns:
            line += word
        else:
            lines.append(line.rstrip())
            line = hanging + word.lstrip()
    if line.strip():
        lines.append(line.rstrip())
    return lines


def paragraph(text: str, columns: int, indent: str = "", hanging: str | None = None) -> list[str]:
    """Return a text as lines of at most so many columns. A word that is too wide overflows.

    The first line is indented by `indent`, the others by `hanging`, or by `indent` if that is None.
    Characters that a terminal would act on are escaped.
    """
    if hanging is None:
        hanging = indent
    return wrapped(escaped(one_line(text)), indent, hanging, columns) or [indent]


def fitted(text: str, columns: int) -> str:
    """Return a text with its lines wrapped to `columns` columns.

    The rest of a broken line is indented by two columns more; the vertical lines of a tree are
    repeated in it. A word that is wider than `columns` is not broken.
    """
    lines: list[str] = []
    for line in text.split("\n"):
        if _shown_width(line) <= columns:
            lines.append(line)
            continue
        lead = _LEAD.match(line)
        indent = lead[0] if lead is not None else ""
        hanging = indent.translate(_BRANCHES) + "  "
        lines += wrapped(line.removeprefix(indent), indent, hanging, columns)
    return "\n".join(lines)


def table_lines(
    rows: Sequence[Sequence[object]], columns: int, indent: str = "", *, color: bool = False
) -> list[str]:
    """Return the lines of a table. The first row has the names of the columns."""
    lines: list[str] = []
    for group in table_groups(rows, columns, indent, color=color):
        lines += group
    return lines


def table_groups(
    rows: Sequence[Sequence[object]], columns: int, indent: str = "", *, color: bool = False
) -> list[list[str]]:
    """Return the lines of each row of a table. The first row has the names of the columns.

    If the table is too wide, the cells of the widest columns are wrapped, and labels only if
    nothing else helps. If single words do not fit either, each row is a list of its cells below
    each other, with the names of the columns.
    """
    head, *body = [[escaped(one_line(str(cell))) for cell in row] for row in rows]
    for label, width_of_gap in product((_LABEL, 0), range(_GAP, 0, -1)):
        available = columns - len(indent) - width_of_gap * (len(head) - 1)
        widths = _column_widths([head, *body], available, label)
        if widths:
            gap = " " * width_of_gap
            groups = [_row_lines(row, widths, indent, gap) for row in body]
            return [_row_lines(head, widths, indent, gap, color=color), *groups]
    return [[], *(_record(head, row, columns, indent, color) for row in body)]


def _column_widths(rows: Sequence[Sequence[str]], available: int, label: int) -> list[int]:
    """Return the widths of columns that are together at most `available` columns wide.

    The widest are shortened first, and those of at most `label` columns not at all. Empty if a word
    would have to be broken.
    """
    columns = list(zip(*rows, strict=True))
    widths = [max(map(cell_len, column)) for column in columns]
    least = [
        width if width <= label else max(map(_longest_word, column))
        for width, column in zip(widths, columns, strict=True)
    ]
    if sum(least) > available:
        return []
    limit = max(widths)
    while sum(widths) > available:
        limit -= 1
        widths = [max(word, min(width, limit)) for word, width in zip(least, widths, strict=True)]
    return widths


def _longest_word(text: str) -> int:
    """Return the width of the widest word in a text."""
    return max(map(cell_len, _WORDS.findall(text)), default=0)


def _row_lines(
    row: Sequence[str], widths: Sequence[int], indent: str, gap: str, *, color: bool = False
) -> list[str]:
    """Return the lines of a row of a table; with `color`, they are bold."""
    cells = [wrapped(cell, "", "", width) for cell, width in zip(row, widths, strict=True)]
    height = max(1, *map(len, cells))
    lines = []
    for number in range(height):
        pieces = []
        for cell, width in zip(cells, widths, strict=True):
            piece = cell[number] if number < len(cell) else ""
            pieces.append(_padded(piece, width))
        lines.append(indent + styled(gap.join(pieces).rstrip(), color, "bold"))
    return lines


def _padded(text: str, width: int) -> str:
    """Return a text with spaces up to this width. A wider text is returned unchanged."""
    return text + " " * (width - cell_len(text))


def _record(
    head: Sequence[str], row: Sequence[str], columns: int, indent: str, color: bool
) -> list[str]:
    """Return the lines of a row as a list: its first cell, and the other cells below it.

    Each cell follows the name of its column. Cells without a value are left out.
    """
    names = head[1:]
    width = max(map(cell_len, names), default=0) + _GAP
    inner = indent + "  "
    title = wrapped(f"{head[0]} {row[0]}", indent, inner, columns)
    lines = [styled(line, color, "bold") for line in title]
    for name, cell in zip(names, row[1:], strict=True):
        if cell in _NOTHING:
            continue
        first = inner + _padded(name, width)
        if cell_len(first) + _longest_word(cell) <= columns:
            lines += wrapped(cell, first, inner + " " * width, columns)
        else:
            # Below the name, the line is longer.
            lines.append(inner + name)
            lines += wrapped(cell, inner + "  ", inner + "  ", columns)
    return lines


def _shown_width(text: str) -> int:
    """Return how many columns a text takes on the screen. Styles in it take none."""
    return cell_len(_SEQUENCES.sub("", text))


def _items(block: Items, columns: int, indent: str, color: bool) -> Iterator[str]:
    """Yield the lines of a list."""
    items = block.items[: block.most]
    if any(item.origin or item.source for item in items):
        yield from _statements(items, columns)
    else:
        for item in items:
            yield from _item(item, columns, indent, block.most, color)
    if len(block.items) > len(items):
        yield f"     {block.more}"


def _item(item: Item, columns: int, indent: str, most: int, color: bool) -> Iterator[str]:
    """Yield the lines of an item. Of its inner items, at most so many are shown."""
    label = item.label or "-"
    hanging = indent + (" " * (cell_len(item.label) + 2) if item.label else "  ")
    head = set_cell_size(indent + label, cell_len(hanging))
    text, *further = paragraph(plain(item.lines[0]), columns, head, hanging)
    bold = styled(item.label, color, "bold")
    yield indent + bold + text.removeprefix(indent + item.label)
    yield from further
    for spans in (*item.lines[1:], *item.details):
        line = plain(spans)
        below = hanging + ("   " if line.startswith("=> ") else "  ")
        yield from paragraph(line, columns, hanging, below)
    for inner in item.items[:most]:
        yield from _item(inner, columns, hanging, most, color)


def _statements(items: Sequence[Item], columns: int) -> Iterator[str]:
    """Yield the lines of items with their origins in a right column.

    On a narrow terminal the origins are below the items. The source of a fact is shown only the
    first time.
    """
    origins: list[list[str]] = []
    sources = {""}
    for item in items:
        origins.append([plain(item.origin)])
        if item.source not in sources:
            origins[-1].append(item.source)
            sources.add(item.source)
    texts = [plain(item.lines[0]) for item in items]
    label_width = max(4, *(2 + cell_len(item.label) for item in items)) + _GAP
    left, right = _widths(texts, list(chain.from_iterable(origins)), columns - label_width)
    left = max(left, *map(_longest_word, texts))
    is_stacked = columns < _STACKED or label_width + left + _GAP + right > columns
    for item, text, places in zip(items, texts, origins, strict=True):
        label = set_cell_size(f"  {item.label:>2}", label_width)
        hanging = " " * label_width
        if is_stacked:
            yield from paragraph(text, columns, label, hanging)
            for place in places:
                yield from paragraph(place, columns, hanging + "  ")
        else:
            right_lines: list[str] = []
            for place in places:
                right_lines += paragraph(place, right)
            start = label
            for line, place in zip_longest(paragraph(text, left), right_lines, fillvalue=""):
                yield f"{start}{_padded(line, left + _GAP)}{place}".rstrip()
                start = hanging
        for detail in item.details:
            yield from paragraph(plain(detail), columns, "        ", "          ")


def _widths(lefts: Sequence[str], rights: Sequence[str], columns: int) -> tuple[int, int]:
    """Return the widths of a left and a right column.

    The right one is as wide as its texts need, up to half of all columns, or wider if the left one
    does not need them. Together they may be too wide, if a word of the right one is.
    """
    available = columns - _GAP
    needed = min(max(map(cell_len, rights)), available // 2)
    right = max(needed, _LEAST, *map(_longest_word, rights))
    left = min(max(map(cell_len, lefts)), max(available - right, _LEAST))
    return left, max(available - left, right)
