"""A document as Markdown, for review on a code forge, and as one page of HTML, without network access.

The page's only script copies commands. Its policy admits that one by its digest, so that no text
can bring another.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from resolver.i18n import translate
from resolver.model.text import Language
from resolver.report.document import (
    Block,
    Code,
    Details,
    Document,
    Heading,
    Item,
    Items,
    Line,
    Paragraph,
    Span,
    Table,
    Text,
    one_line,
    plain,
    translated,
)
from resolver.report.template import render_page

# What has a meaning inside a line of CommonMark and GitHub's tables; `_` only at the edge of a
# word, `#`, `>`, `+` and `-` only at the start.
_MARKDOWN = re.compile(r"([\\`*~\[\]<|&]|(?<!\w)_|_(?!\w)|^[#>+-])")
_LANGUAGES = {"zh": "zh-Hans"}
_NAMED = re.compile(r"`([^`]+)`")  # what splits a text by it has the names at its odd places
_SCRIPT = (Path(__file__).with_name("templates") / "copy.js").read_text(encoding="utf-8")


def markdown(text: str) -> str:
    """The text on one line, escaped so that Markdown shows it unchanged."""
    return _MARKDOWN.sub(r"\\\1", one_line(text))


def markdown_text(document: Document, language: Language) -> str:
    """The text, which ends with a line break."""
    return (
        "\n\n".join(text for block in document for text in _block(translated(block, language)))
        + "\n"
    )


def _block(block: Block) -> Iterator[str]:
    match block:
        case Heading():
            yield f"{'#' * block.level} {markdown(str(block.text))}"
        case Paragraph():
            for spans in block.lines:
                yield f"**{_line(spans)}**" if block.result else _line(spans)
        case Items():
            yield "\n".join(line for item in block.items for line in _item(item, ""))
        case Code():
            yield _fenced(block.lines, block.syntax)
        case Table():
            yield "\n".join(
                [_row(block.head), "|" + "---|" * len(block.head), *map(_row, block.rows)]
            )
        case Details():
            yield f"<details><summary>{html.escape(one_line(str(block.summary)))}</summary>"
            for inner in block.blocks:
                yield from _block(inner)
            yield "</details>"


def _item(item: Item, indent: str) -> Iterator[str]:
    number = item.label.isdigit()
    mark = f"{item.label}. " if number else f"- **{item.label}** " if item.label else "- "
    text = "<br>".join(map(_line, item.lines))
    origin = _line(item.origin)
    yield f"{indent}{mark}{text} — {origin}" if origin else f"{indent}{mark}{text}"
    inner = indent + ("   " if number else "  ")
    for spans in (*item.details, *item.evidence):
        yield f"{inner}- {_line(spans)}"
    for nested in item.items:
        yield from _item(nested, inner)


def _row(cells: Sequence[Text]) -> str:
    return "|" + "".join(f" {markdown(str(cell))} |" if cell else " |" for cell in cells)


def _line(spans: Line) -> str:
    return (
        markdown(plain(spans))
        if len(spans) == 1 and not spans[0].href
        else "".join(map(_span, spans))
    )


def _span(span: Span) -> str:
    text = str(span.text)
    return (
        f"[{markdown(text)}]({span.href})"
        if span.href
        else _piece(text).replace(one_line(text), markdown(text))
    )


def _piece(text: str) -> str:
    """The text of a span on one line: spaces at its ends are kept, as other spans are beside it."""
    stripped = one_line(text)
    return f"{' ' if text[:1].isspace() else ''}{stripped}{' ' if text[-1:].isspace() and stripped else ''}"


def _fenced(lines: Sequence[str], syntax: str) -> str:
    """A code block whose fence is longer than any run of backticks in it."""
    longest = max((len(run) for line in lines for run in re.findall(r"`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([f"{fence}{syntax}", *lines, fence])


def html_text(document: Document, language: Language) -> str:
    """The page; the first block is its heading."""
    title, *blocks = (_view(translated(block, language)) for block in document)
    return render_page(
        "document.html.j2",
        title=title,
        blocks=blocks,
        translate=lambda code: translate(code, language),
        lang=_LANGUAGES.get(language, language),
        pieces=_NAMED.split,
        without_marks=_without_marks,
        script=_SCRIPT,
        script_digest=_digest(_SCRIPT),
    )


def _without_marks(text: str) -> str:
    """The text without these pairs, for a place that has no code: the title of a window."""
    return _NAMED.sub(r"\1", text)


def _digest(script: str) -> str:
    """The digest of a script as a Content-Security-Policy has it."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")


def _view(value: Any) -> Any:
    """A block, with its kind, for the template: all texts on one line each, without what a browser acts on."""
    match value:
        case Span():
            return {"text": _piece(str(value.text)), "href": value.href}
        case str():
            return one_line(value)
        case tuple():
            return [_view(element) for element in value]
        case msgspec.Struct():
            fields = {name: _view(getattr(value, name)) for name in value.__struct_fields__}
            return {"kind": type(value).__name__, **fields}
        case _:
            return value
