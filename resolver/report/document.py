"""A text for people, before it is written for a terminal, as Markdown or as HTML: blocks in their order.

Texts are in the language of the reader already, and may be anybody's: who writes a document makes them harmless there.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec


class Span(msgspec.Struct, frozen=True):
    """A piece of a line, and its address; empty if it has none."""

    text: str
    href: str = ""


Line = tuple[Span, ...]


class Heading(msgspec.Struct, frozen=True):
    """A heading; 1 is that of the document. `anchor` is what links lead to."""

    text: str
    level: int = 2
    anchor: str = ""


class Paragraph(msgspec.Struct, frozen=True):
    """Lines that belong together; those of a `result` follow from what is above."""

    lines: tuple[Line, ...]
    result: bool = False


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """An item of a list: its lines, and where they come from.

    `label` is its number or letter, empty for a plain one; `sort` is the kind of its origin. `source` cites what a fact
    rests on; `evidence` says the same in full, which a terminal has no room for.
    """

    lines: tuple[Line, ...]
    label: str = ""
    origin: Line = ()
    sort: str = ""
    source: str = ""
    details: tuple[Line, ...] = ()
    evidence: tuple[Line, ...] = ()
    items: tuple[Item, ...] = ()


class Items(msgspec.Struct, frozen=True):
    """A list. A terminal shows at most `most` of it, and says how many there are `more`."""

    items: tuple[Item, ...]
    most: int = 40
    more: str = ""


class Code(msgspec.Struct, frozen=True):
    """Lines as they are, in a `syntax` such as `diff`."""

    lines: tuple[str, ...]
    syntax: str


class Table(msgspec.Struct, frozen=True):
    """Rows of cells below the names of the columns; only Markdown shows it."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class Details(msgspec.Struct, frozen=True):
    """What only some readers want to see; a terminal leaves it out."""

    summary: str
    blocks: tuple[Paragraph | Code, ...]


Block = Heading | Paragraph | Items | Code | Table | Details
Document = Iterable[Block]


def line(text: str) -> Line:
    """A line without links."""
    return (Span(text),)


def plain(spans: Line) -> str:
    """A line without its links."""
    return "".join(span.text for span in spans)
