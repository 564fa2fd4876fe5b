"""Define documents: texts for people before they are written for a terminal, as Markdown or HTML.

A document consists of blocks. `terminal` and `markup` write it: they translate the messages to the
language of the reader, and escape the texts, which may come from anybody.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from resolver.i18n import LANGUAGES, translate
from resolver.model.message import Message
from resolver.model.text import Language

# A text as it is, or a message that is translated.
Text = str | Message


class Span(msgspec.Struct, frozen=True):
    """A piece of a line, with a link if it has an address."""

    # The text of the piece.
    text: Text
    # The address of the link; empty for none. An address without a scheme is that of a file in the
    # folder `matrices` (see `links`).
    href: str = ""


# How many items of a list a terminal shows, unless the list says otherwise.
SHOWN_ITEMS: Final = 40

# A line of text.
Line = tuple[Span, ...]


class Heading(msgspec.Struct, frozen=True):
    """A heading."""

    # The text of the heading.
    text: Text
    # The level, from 1 for the heading of the document.
    level: int = 2
    # The name by which links lead to the heading; empty for none.
    anchor: str = ""


class Paragraph(msgspec.Struct, frozen=True):
    """A paragraph of several lines."""

    # The lines, in their order.
    lines: tuple[Line, ...]
    # Whether the lines are the conclusion from the block above.
    result: bool = False


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """An item of a list."""

    # The lines of the item itself.
    lines: tuple[Line, ...]
    # The number or letter of the item; empty for a plain item.
    label: str = ""
    # The origin of the lines, such as a file.
    origin: Line = ()
    # The kind of the origin in one word, such as `stack`.
    sort: str = ""
    # The first source of a fact, for a terminal.
    source: str = ""
    # Further lines below.
    details: tuple[Line, ...] = ()
    # The sources of a fact in full. A terminal leaves them out.
    evidence: tuple[Line, ...] = ()
    # The items inside this item.
    items: tuple[Item, ...] = ()
    # The command that does what the item says, for pages with a button that copies it.
    command: str = ""


class Items(msgspec.Struct, frozen=True):
    """A list of items, of which a terminal shows only the first."""

    # The items, in their order.
    items: tuple[Item, ...]
    # How many items a terminal shows.
    most: int = SHOWN_ITEMS
    # The text that a terminal adds if there are more.
    more: Text = ""


class Code(msgspec.Struct, frozen=True):
    """Lines of code, which are written unchanged."""

    # The lines, without line breaks.
    lines: tuple[str, ...]
    # The language of the code, such as `diff`.
    syntax: str


class Table(msgspec.Struct, frozen=True):
    """A table."""

    # The names of the columns.
    head: tuple[Text, ...]
    # The rows, with a cell for each column.
    rows: tuple[tuple[Text, ...], ...]


class Details(msgspec.Struct, frozen=True):
    """Blocks that only some readers want to see, behind a summary. A terminal leaves them out."""

    # The line that is always shown.
    summary: Text
    # The blocks that are shown on demand.
    blocks: tuple[Paragraph | Code, ...]


# A part of a document.
Block = Heading | Paragraph | Items | Code | Table | Details
Document = Iterable[Block]


def one_line(text: str) -> str:
    """Return a text on one line, without control characters and marks of writing direction."""
    if not text.isprintable():
        text = "".join(char for char in text if char in "\r\n\t" or not _is_control(char))
    return " ".join(text.split())


def _is_control(char: str) -> bool:
    """Return whether Unicode counts a character among control and format characters."""
    return unicodedata.category(char).startswith("C")


def line(text: Text) -> Line:
    """Return a line with one text and no link."""
    return (Span(text),)


def paragraph_of(*texts: Text) -> Paragraph:
    """Return a paragraph with one line for each text."""
    return Paragraph(tuple(map(line, texts)))


def conclusion_of(text: Text) -> Paragraph:
    """Return a paragraph with the conclusion from the block above it."""
    return Paragraph((line(text),), result=True)


def plain(spans: Line) -> str:
    """Return the text of a translated line without its links."""
    return "".join(str(span.text) for span in spans)


def in_every_language(text: Message) -> dict[str, str]:
    """Return the translations of a message, by the code of the language."""
    return {language: translate(text, language) for language in LANGUAGES}


def translated(part: Any, language: Language) -> Any:
    """Return a block, or a part of one, with its messages translated to a language."""
    if isinstance(part, Message):
        return translate(part, language)
    return with_parts(part, lambda inner: translated(inner, language))


def rewritten(part: Any, change: Callable[[str], str]) -> Any:
    """Return a translated block, or a part of one, with `change` applied to each text."""
    if isinstance(part, str):
        return change(part)
    return with_parts(part, lambda inner: rewritten(inner, change))


def with_parts(part: Any, change: Callable[[Any], Any]) -> Any:
    """Return a tuple or a struct with `change` applied to its elements or fields.

    Any other value is returned unchanged.
    """
    match part:
        case tuple():
            return tuple(change(element) for element in part)
        case msgspec.Struct():
            fields = {name: change(getattr(part, name)) for name in part.__struct_fields__}
            return replace(part, **fields)
        case _:
            return part
