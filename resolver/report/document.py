"""A text for people, before it is written for a terminal, as Markdown or as HTML: blocks in their order.

Its writer translates the messages to the language of the reader and escapes the texts, which may be
anybody's.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from typing import Any

import msgspec
from msgspec.structs import replace

from resolver.i18n import translate
from resolver.model.message import Message
from resolver.model.text import Language

Text = str | Message


class Span(msgspec.Struct, frozen=True):
    """A piece of a line, and its address; empty if it has none.

    One without a scheme is that of a file in the folder of facts and stacks (see
    `resolver/report/links`).
    """

    text: Text
    href: str = ""


Line = tuple[Span, ...]


class Heading(msgspec.Struct, frozen=True):
    """A heading; 1 is that of the document. `anchor` is what links lead to."""

    text: Text
    level: int = 2
    anchor: str = ""


class Paragraph(msgspec.Struct, frozen=True):
    """Lines that belong together; those of a `result` follow from what is above."""

    lines: tuple[Line, ...]
    result: bool = False


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """An item of a list: its lines, and where they come from.

    `label` is its number or letter, empty for a plain one; `sort` is the kind of its origin.
    `source` cites what a fact rests on; `evidence` says the same in full, which a terminal has no
    room for. `command` is what puts it into practice, for a page that can copy it.
    """

    lines: tuple[Line, ...]
    label: str = ""
    origin: Line = ()
    sort: str = ""
    source: str = ""
    details: tuple[Line, ...] = ()
    evidence: tuple[Line, ...] = ()
    items: tuple[Item, ...] = ()
    command: str = ""


class Items(msgspec.Struct, frozen=True):
    """A list. A terminal shows at most `most` of it, and says how many there are `more`."""

    items: tuple[Item, ...]
    most: int = 40
    more: Text = ""


class Code(msgspec.Struct, frozen=True):
    """Lines as they are, in a `syntax` such as `diff`."""

    lines: tuple[str, ...]
    syntax: str


class Table(msgspec.Struct, frozen=True):
    """Rows of cells below the names of the columns; a page of HTML does not show it."""

    head: tuple[Text, ...]
    rows: tuple[tuple[Text, ...], ...]


class Details(msgspec.Struct, frozen=True):
    """What only some readers want to see; a terminal leaves it out."""

    summary: Text
    blocks: tuple[Paragraph | Code, ...]


Block = Heading | Paragraph | Items | Code | Table | Details
Document = Iterable[Block]


def one_line(text: str) -> str:
    """The text on one line, without control characters and bidirectional marks."""
    if text.isprintable():
        return " ".join(text.split())
    return " ".join(
        "".join(ch for ch in text if ch in "\r\n\t" or unicodedata.category(ch)[0] != "C").split()
    )


def line(text: Text) -> Line:
    """A line without links."""
    return (Span(text),)


def plain(spans: Line) -> str:
    """The text of a translated line, without its links."""
    return "".join(str(span.text) for span in spans)


def translated(part: Any, language: Language) -> Any:
    """A block, or whatever is part of one, with its messages in a language."""
    match part:
        case Message():
            return translate(part, language)
        case tuple():
            return tuple(translated(element, language) for element in part)
        case msgspec.Struct():
            return replace(
                part,
                **{
                    name: translated(getattr(part, name), language)
                    for name in part.__struct_fields__
                },
            )
        case _:
            return part


def rewritten(part: Any, change: Callable[[str], str]) -> Any:
    """Return a translated block, or whatever is part of one, with each of its texts changed."""
    match part:
        case str():
            return change(part)
        case tuple():
            return tuple(rewritten(element, change) for element in part)
        case msgspec.Struct():
            return replace(
                part,
                **{name: rewritten(getattr(part, name), change) for name in part.__struct_fields__},
            )
        case _:
            return part
