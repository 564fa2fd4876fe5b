"""Lay out a page of the documentation for a terminal."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, ClassVar, Final

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import Markdown, TableElement
from rich.table import Table

# It comes with rich.
if TYPE_CHECKING:
    from markdown_it.token import Token


# The line that leads to the page in the other language.
_OTHER_LANGUAGE: Final = re.compile(r"(?m)^\[(?:English|中文)\]\([^()]*\)\n\n?")
# The address of another page, in any language, and with or without an anchor.
_PAGE: Final = re.compile(r"(?P<name>[a-z-]+)(?:\.zh-CN)?\.md(?:#.*)?")


class _WrappedTable(TableElement):
    """A table whose cells are wrapped wherever they must be.

    rich wraps at spaces and cuts off what is longer than a column, such as a Chinese sentence.
    """

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for part in super().__rich_console__(console, options):
            if isinstance(part, Table):
                for column in part.columns:
                    column.overflow = "fold"
            yield part


class _Page(Markdown):
    """A page of Markdown with such tables."""

    elements: ClassVar = {**Markdown.elements, "table_open": _WrappedTable}

    def __init__(self, source: str) -> None:
        super().__init__(_OTHER_LANGUAGE.sub("", source, count=1), hyperlinks=False)
        for token in self.parsed:
            if token.children:
                token.children = list(_for_terminal(token.children))


def _for_terminal(tokens: Iterable[Token]) -> Iterator[Token]:
    """Yield what a terminal can show of a text: no images, and links as commands.

    A link to another page becomes its text with the command that shows the page; a link to any
    other file, or within the page, its text alone. Addresses of the web stay.
    """
    address = ""
    for token in tokens:
        if token.type == "link_open":
            address = str(token.attrs.get("href", ""))
        is_of_web = "://" in address
        if token.type == "image" or (token.type == "link_open" and not is_of_web):
            continue
        if token.type == "link_close" and not is_of_web:
            page = _PAGE.fullmatch(address)
            if page is not None:
                command = f" (ascend-lock help {page['name']})"
                yield type(token)("text", "", 0, content=command)
            continue
        yield token


def laid_out(source: str, width: int) -> str:
    """Return Markdown as plain text whose lines have at most `width` columns."""
    text = io.StringIO()
    console = Console(file=text, width=width, color_system=None)
    console.print(_Page(source))
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())
