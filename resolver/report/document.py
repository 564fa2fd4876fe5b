"""A text for people, before it is written for a terminal, as Markdown or as HTML.

It consists of blocks. Its writer translates the messages to the language of the reader and escapes
the texts, which may be anybody's.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from typing import Any

import msgspec
from msgspec.structs import replace

from resolver.i18n import LANGUAGES, translate
from resolver.model.message import Message
from resolver.model.text import Language

Text = str | Message


class Span(msgspec.Struct, frozen=True):
    """A piece of a line."""

    text: Text
    # Its address; empty if it has none. An address without a scheme is of a file in the folder of
    # facts and stacks (see `resolver/report/links`).
    href: str = ""


Line = tuple[Span, ...]


class Heading(msgspec.Struct, frozen=True):
    """A heading."""

    text: Text
    # 1 is the heading of the document.
    level: int = 2
    # What links lead to.
    anchor: str = ""


class Paragraph(msgspec.Struct, frozen=True):
    """Lines that belong together."""

    lines: tuple[Line, ...]
    # Whether they follow from what is above.
    result: bool = False


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """An item of a list."""

    lines: tuple[Line, ...]
    # A number or letter; empty for a plain item.
    label: str = ""
    # Where the lines come from.
    origin: Line = ()
    # The kind of the origin.
    sort: str = ""
    # What a fact rests on, in short.
    source: str = ""
    # Further lines below.
    details: tuple[Line, ...] = ()
    # What a fact rests on in full, for which a terminal has no room.
    evidence: tuple[Line, ...] = ()
    items: tuple[Item, ...] = ()
    # What puts the item into practice, for a page that can copy it.
    command: str = ""


class Items(msgspec.Struct, frozen=True):
    """A list."""

    items: tuple[Item, ...]
    # How many of them a terminal shows.
    most: int = 40
    # What a terminal says if there are more.
    more: Text = ""


class Code(msgspec.Struct, frozen=True):
    """Lines as they are."""

    lines: tuple[str, ...]
    # What they are written in, such as `diff`.
    syntax: str


class Table(msgspec.Struct, frozen=True):
    """A table."""

    # The names of the columns.
    head: tuple[Text, ...]
    rows: tuple[tuple[Text, ...], ...]


class Details(msgspec.Struct, frozen=True):
    """What only some readers want to see; a terminal leaves it out."""

    summary: Text
    blocks: tuple[Paragraph | Code, ...]


Block = Heading | Paragraph | Items | Code | Table | Details
Document = Iterable[Block]


def one_line(text: str) -> str:
    """Return the text on one line, without control characters and bidirectional marks."""
    if not text.isprintable():
        text = "".join(char for char in text if char in "\r\n\t" or not _is_control(char))
    return " ".join(text.split())


def _is_control(char: str) -> bool:
    return unicodedata.category(char).startswith("C")


def line(text: Text) -> Line:
    """Return a line without links."""
    return (Span(text),)


def plain(spans: Line) -> str:
    """Return the text of a translated line, without its links."""
    return "".join(str(span.text) for span in spans)


def in_every_language(text: Message) -> dict[str, str]:
    """Return a message in each language, by the code of the language."""
    return {language: translate(text, language) for language in LANGUAGES}


def translated(part: Any, language: Language) -> Any:
    """Return a block, or whatever is part of one, with its messages in a language."""
    if isinstance(part, Message):
        return translate(part, language)
    return with_parts(part, lambda inner: translated(inner, language))


def rewritten(part: Any, change: Callable[[str], str]) -> Any:
    """Return a translated block, or whatever is part of one, with each of its texts changed."""
    if isinstance(part, str):
        return change(part)
    return with_parts(part, lambda inner: rewritten(inner, change))


def with_parts(part: Any, change: Callable[[Any], Any]) -> Any:
    """Return a tuple or struct with each of its elements or fields changed; others as they are."""
    match part:
        case tuple():
            return tuple(change(element) for element in part)
        case msgspec.Struct():
            fields = {name: change(getattr(part, name)) for name in part.__struct_fields__}
            return replace(part, **fields)
        case _:
            return part
