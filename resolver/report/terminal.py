"""A document for a terminal, wrapped by display width: a Chinese character is two columns wide."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, zip_longest
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

# The columns of a document, and of a line of prose, if those of the terminal are unknown.
WIDTH: Final = 110
COLUMNS: Final = 100
# Between two columns of a table.
_GAP = 2
# The least width of a column of statements.
_LEAST = 36
# On a terminal narrower than this the origin of a statement is below it.
_STACKED = 80
# Units without a line break inside: a Chinese character with attached punctuation, a run of others,
# spaces.
_WORDS = re.compile(
    r"[（「]{0,9}(?:[\u3000-\u9fff\uff00-\uffef](?<![（「])|[^\s\u3000-\u9fff\uff00-\uffef]+)"
    r"[，。；：、）」]*|[（「]|\s+"
)
# Cells that say nothing.
_NOTHING = ("", "-")
_LEAD = re.compile(r"[ │├└─]*(?:- )?")
# How the lines of a tree go on.
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
    """Return the text in a style, if it is to be in `color`."""
    return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if color and text else text


def for_terminal(text: str, *, color: bool) -> str:
    """Return a text that a terminal shows as it is.

    The terminal acts on nothing but line breaks, tabs and, in `color`, the styles above.
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
    """Return the text for a terminal of so many columns, which ends with a line break.

    In `color`, headings and labels are bold; without it, the text is plain and says the same.
    """
    lines: list[str] = []
    # A list is indented below a result that it belongs to.
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
    """Return the text in lines, the first of which begins with `first`, the others with `hanging`.

    Lines are broken at spaces, or between Chinese characters if a line has no space.
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
    """Return the text on lines of at most so many columns; what cannot be broken overflows.

    The first line is indented by `indent` and the others by `hanging` (None: as the first).
    """
    if hanging is None:
        hanging = indent
    return wrapped(escaped(one_line(text)), indent, hanging, columns) or [indent]


def fitted(text: str, columns: int) -> str:
    """Return a text of several lines with none wider than so many columns, broken between words.

    What a broken line goes on with is indented by two more than its beginning; the branches of a
    tree go on. A word that is wider than the terminal is left to it.
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
    """Return the lines of a table; its first row has the names of the columns."""
    lines: list[str] = []
    for group in table_groups(rows, columns, indent, color=color):
        lines += group
    return lines


def table_groups(
    rows: Sequence[Sequence[object]], columns: int, indent: str = "", *, color: bool = False
) -> list[list[str]]:
    """Return the lines of each row of a table, the first of which has the names of the columns.

    If they are too wide together, the cells of the widest columns are wrapped. If not even their
    words fit beside each other, a row is a list of its cells, each after the name of its column.
    """
    head, *body = [[escaped(one_line(str(cell))) for cell in row] for row in rows]
    for width_of_gap in range(_GAP, 0, -1):
        room = columns - len(indent) - width_of_gap * (len(head) - 1)
        widths = _column_widths([head, *body], room)
        if widths:
            gap = " " * width_of_gap
            groups = [_row_lines(row, widths, indent, gap) for row in body]
            return [_row_lines(head, widths, indent, gap, color=color), *groups]
    return [[], *(_record(head, row, columns, indent, color) for row in body)]


def _column_widths(rows: Sequence[Sequence[str]], room: int) -> list[int]:
    """Return the widths of the columns, together at most as wide as the room.

    Returns none if a word would be broken.
    """
    columns = list(zip(*rows, strict=True))
    least = [max(map(_longest_word, column)) for column in columns]
    if sum(least) > room:
        return []
    widths = [max(map(cell_len, column)) for column in columns]
    limit = max(widths)
    while sum(widths) > room:
        limit -= 1
        widths = [max(word, min(width, limit)) for word, width in zip(least, widths, strict=True)]
    return widths


def _longest_word(text: str) -> int:
    return max(map(cell_len, _WORDS.findall(text)), default=0)


def _row_lines(
    row: Sequence[str], widths: Sequence[int], indent: str, gap: str, *, color: bool = False
) -> list[str]:
    """Return the lines of a row of cells; in `color`, they are bold."""
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
    """Return the text with spaces up to this width; a wider one as it is."""
    return text + " " * (width - cell_len(text))


def _record(
    head: Sequence[str], row: Sequence[str], columns: int, indent: str, color: bool
) -> list[str]:
    """Return the lines of a row as a list: its first cell, and below it the others.

    Each is after the name of its column; what says nothing is left out.
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
            # There is more room below the name.
            lines.append(inner + name)
            lines += wrapped(cell, inner + "  ", inner + "  ", columns)
    return lines


def _shown_width(text: str) -> int:
    """Return how many columns a text takes, without the styles in it."""
    return cell_len(_SEQUENCES.sub("", text))


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
    """Yield the lines of an item, and of at most so many inner items."""
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
    """Yield the lines of items with their origins in a right column, or below where it is narrow.

    A source is shown at its first mention.
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
    """Return the widths of two columns.

    The right one has what its texts need, up to half, and what the left one leaves. They are wider
    than there is room for if a word of the right one is too wide.
    """
    room = columns - _GAP
    words: list[str] = []
    for text in rights:
        words += text.split()
    longest_word = max(map(cell_len, words), default=0)
    needed = min(max(map(cell_len, rights)), room // 2)
    right = max(needed, _LEAST, longest_word)
    left = min(max(map(cell_len, lefts)), max(room - right, _LEAST))
    return left, max(room - left, right)
