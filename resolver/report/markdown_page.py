"""Lay out a page of the documentation for a terminal."""

from __future__ import annotations

import io
from typing import ClassVar

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import Markdown, TableElement
from rich.table import Table


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


def laid_out(source: str, width: int) -> str:
    """Return Markdown as plain text whose lines have at most `width` columns."""
    text = io.StringIO()
    console = Console(file=text, width=width, color_system=None)
    console.print(_Page(source, hyperlinks=False))
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())
