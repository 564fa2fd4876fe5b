"""A document for a terminal, wrapped by display width: a Chinese character is two columns wide."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
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

WIDTH: Final = 110  # of a document, if that of the terminal is unknown
COLUMNS: Final = 100  # likewise of a line of prose
_GAP = 2
_LEAST = 36  # of a column
_STACKED = 80  # on a terminal narrower than this the origin is below the sentence
# Units without a line break inside: a Chinese character with attached punctuation, a run of others,
# spaces.
_WORDS = re.compile(
    r"[（「]{0,9}(?:[\u3000-\u9fff\uff00-\uffef](?<![（「])|[^\s\u3000-\u9fff\uff00-\uffef]+)[，。；：、）」]*|[（「]|\s+"
)
_NOTHING = ("", "-")  # cells that say nothing
_LEAD = re.compile(r"[ │├└─]*(?:- )?")
_BRANCHES = str.maketrans("├└─-", "│   ")  # how the lines of a tree go on

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
    """The text in a style, if it is to be in `color`."""
    return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if color and text else text


def for_terminal(text: str, *, color: bool) -> str:
    """Return a text of which a terminal acts on nothing but line breaks, tabs and, in `color`, the styles above."""
    if not color:
        return harmless(text, "\n\t")
    pieces = _SEQUENCES.split(text)  # every second one is a style
    return "".join(piece if at % 2 else harmless(piece, "\n\t") for at, piece in enumerate(pieces))


def terminal_text(
    document: Document, language: Language, columns: int = WIDTH, *, color: bool = False
) -> str:
    """The text for a terminal of so many columns, which ends with a line break.

    In `color`, headings and labels are bold; without it, the text is plain and says the same.
    """
    lines: list[str] = []
    indent = "  "  # of a list, which may belong to the result above it
    for part in document:
        match block := translated(part, language):
            case Heading():
                heading = paragraph(str(block.text), columns)
                lines += [""] * bool(lines) + [styled(text, color, "bold") for text in heading]
            case Paragraph():
                first, hanging = ("   => ", "      ") if block.result else ("", "")
                lines += [""] * (bool(lines) and not block.result)
                for spans in block.lines:
                    lines += paragraph(plain(spans), columns, first, hanging)
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
        if (
            _shown_width(line + word.rstrip()) > columns
            and line.strip()
            and line not in (first, hanging)
        ):
            lines.append(line.rstrip())
            line = hanging + word.lstrip()
        else:
            line += word
    return [*lines, line.rstrip()] if line.strip() else lines


def paragraph(text: str, columns: int, indent: str = "", hanging: str | None = None) -> list[str]:
    """The text on lines of at most so many columns; what cannot be broken overflows.

    The first line is indented by `indent` and the others by `hanging` (None: the same).
    """
    return wrapped(
        escaped(one_line(text)), indent, indent if hanging is None else hanging, columns
    ) or [indent]


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
        lines += wrapped(line[len(indent) :], indent, indent.translate(_BRANCHES) + "  ", columns)
    return "\n".join(lines)


def table_lines(
    rows: Sequence[Sequence[object]], columns: int, indent: str = "", *, color: bool = False
) -> list[str]:
    """Return rows of cells below each other, the first of which has the names of the columns."""
    return [line for group in table_groups(rows, columns, indent, color=color) for line in group]


def table_groups(
    rows: Sequence[Sequence[object]], columns: int, indent: str = "", *, color: bool = False
) -> list[list[str]]:
    """Return the lines of each row of a table, the first of which has the names of the columns.

    If they are too wide together, the cells of the widest columns are wrapped. If not even their
    words fit beside each other, a row is a list of its cells, each after the name of its column.
    """
    head, *body = [[escaped(one_line(str(cell))) for cell in row] for row in rows]
    room = columns - len(indent)
    for gap in range(_GAP, 0, -1):
        if widths := _column_widths([head, *body], room - gap * (len(head) - 1)):
            groups = [_row_lines(row, widths, indent, " " * gap) for row in body]
            return [_row_lines(head, widths, indent, " " * gap, color=color), *groups]
    return [[], *(_record(head, row, columns, indent, color) for row in body)]


def _column_widths(rows: Sequence[Sequence[str]], room: int) -> list[int]:
    """Return the widths of the columns, together as many as there is room for; none if a word would be broken."""
    columns = list(zip(*rows, strict=True))
    widest = [max(map(cell_len, column)) for column in columns]
    least = [max(map(_longest_word, column)) for column in columns]
    if sum(least) > room:
        return []
    limit = max(widest)
    while sum(widths := list(map(max, least, (min(width, limit) for width in widest)))) > room:
        limit -= 1
    return widths


def _longest_word(text: str) -> int:
    return max((cell_len(word) for word in _WORDS.findall(text)), default=0)


def _row_lines(
    row: Sequence[str], widths: Sequence[int], indent: str, gap: str, *, color: bool = False
) -> list[str]:
    """Return the lines of a row of cells; in `color`, they are bold."""
    cells = [wrapped(cell, "", "", width) or [""] for cell, width in zip(row, widths, strict=True)]
    lines = []
    for pieces in zip_longest(*cells, fillvalue=""):
        padded = [
            piece + " " * (width - cell_len(piece))
            for piece, width in zip(pieces, widths, strict=True)
        ]
        lines.append(indent + styled(gap.join(padded).rstrip(), color, "bold"))
    return lines


def _record(
    head: Sequence[str], row: Sequence[str], columns: int, indent: str, color: bool
) -> list[str]:
    """Return a row as a list: its first cell, and below it what else there is after the names of the columns."""
    first, *names = head
    width = max(map(cell_len, names), default=0) + _GAP
    inner = indent + "  "
    lines = [
        styled(line, color, "bold") for line in wrapped(f"{first} {row[0]}", indent, inner, columns)
    ]
    for name, cell in zip(names, row[1:], strict=True):
        if cell in _NOTHING:
            continue
        named, below = inner + set_cell_size(name, width), inner + " " * width
        if cell_len(named) + _longest_word(cell) > columns:  # it has more room below the name
            lines.append(inner + name)
            named = below = inner + "  "
        lines += wrapped(cell, named, below, columns)
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
    first, *further_lines = item.lines
    hanging = indent + (" " * (cell_len(item.label) + 2) if item.label else "  ")
    head = f"{indent}{item.label or '-'}"
    line, *further = paragraph(
        plain(first), columns, set_cell_size(head, cell_len(hanging)), hanging
    )
    yield indent + styled(item.label, color, "bold") + line[len(indent) + len(item.label) :]
    yield from further
    for spans in (*further_lines, *item.details):
        result = plain(spans).startswith("=> ")
        yield from paragraph(plain(spans), columns, hanging, hanging + ("   " if result else "  "))
    for inner in item.items[:most]:
        yield from _item(inner, columns, hanging, most, color)


def _statements(items: Sequence[Item], columns: int) -> Iterator[str]:
    """Items with their origins in a right column, below the text where it is narrow; a source at its first mention."""
    rows: list[tuple[Item, str, list[str]]] = []  # with the texts of both columns
    sources: set[str] = {""}
    for item in items:
        source = [item.source] if item.source not in sources else []
        sources.add(item.source)
        rows.append((item, plain(item.lines[0]), [plain(item.origin), *source]))
    label = max(4, *(2 + cell_len(item.label) for item in items)) + _GAP
    left, right = _widths(
        [text for _, text, _ in rows], [text for row in rows for text in row[2]], columns - label
    )
    is_stacked = columns < _STACKED or label + left + _GAP + right > columns
    for item, text, origins in rows:
        head = set_cell_size(f"  {item.label:>2}", label)
        if is_stacked:
            yield from paragraph(text, columns, head, " " * label)
            for origin in origins:
                yield from paragraph(origin, columns, " " * label + "  ")
        else:
            texts, places = (
                paragraph(text, left),
                [line for origin in origins for line in paragraph(origin, right)],
            )
            for start, line, place in zip_longest([head], texts, places, fillvalue=""):
                yield f"{start or ' ' * label}{line}{' ' * (left + _GAP - cell_len(line))}{place}".rstrip()
        for detail in item.details:
            yield from paragraph(plain(detail), columns, "        ", "          ")


def _widths(lefts: Sequence[str], rights: Sequence[str], columns: int) -> tuple[int, int]:
    """The widths of two columns.

    The right one has what its texts need, up to half, and what the left one leaves.

    They are wider than there is room for if a word of the right one is too wide.
    """
    room = columns - _GAP
    words = [cell_len(word) for text in rights for word in text.split()]
    right = max([min(max(map(cell_len, rights)), room // 2), _LEAST, *words])
    left = min(max(map(cell_len, lefts)), max(room - right, _LEAST))
    return left, max(room - left, right)
