"""Write a document as Markdown, for review on a code forge, and as a page of HTML.

The page needs no network. Its only script copies commands. Its Content-Security-Policy admits that
script by its digest, so that no text can bring another one.
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

# The characters with a meaning in a line of CommonMark or of GitHub's tables: `_` only at the edge
# of a word, and `#`, `>`, `+` and `-` only at the start.
_MARKDOWN = re.compile(r"([\\`*~\[\]<|&]|(?<!\w)_|_(?!\w)|^[#>+-])")
# What a forge takes for a mention of a person or an issue, such as `owner/project#1`. A commit's
# hash after `@` is no mention, and neither is the epoch of a version (`1!2.0`).
_MENTION = re.compile(
    r"(?P<epoch>(?<![\w./-])[0-9]+!(?=[0-9]))|[#!](?=[0-9])"
    r"|(?<![0-9A-Za-z])(?:@(?=[0-9A-Za-z_])(?![0-9a-f]{40}\b)|GH-(?=[0-9]))"
)
_LANGUAGES = {"zh": "zh-Hans"}
# A name in backticks. If a text is split by it, every second part is a name.
_NAMED = re.compile(r"`([^`]+)`")
_SCRIPT = (Path(__file__).with_name("templates") / "copy.js").read_text(encoding="utf-8")


def markdown(text: str) -> str:
    """Return a text on one line, escaped so that Markdown shows it unchanged."""
    return _without_mentions(_link_text(text))


def _link_text(text: str) -> str:
    """Return a text escaped for the text of a link, in which no forge looks for mentions."""
    return _MARKDOWN.sub(r"\\\1", one_line(text))


def _without_mentions(text: str) -> str:
    """Return an escaped text that notifies no person and refers to no issue on a forge.

    Forges look for mentions in the text that Markdown shows, so escapes do not help. A space
    without width does.
    """
    return _MENTION.sub(lambda match: match[0] if match["epoch"] else f"{match[0]}&#8203;", text)


def markdown_text(document: Document, language: Language) -> str:
    """Return a document as Markdown. It ends with a line break."""
    texts: list[str] = []
    for block in document:
        texts += _block(translated(block, language))
    return "\n\n".join(texts) + "\n"


def _block(block: Block) -> Iterator[str]:
    """Yield the parts of a translated block. Empty lines are written between them."""
    match block:
        case Heading():
            yield f"{'#' * block.level} {markdown(str(block.text))}"
        case Paragraph():
            for spans in block.lines:
                yield f"**{_line(spans)}**" if block.result else _line(spans)
        case Items():
            lines: list[str] = []
            for item in block.items:
                lines += _item(item, "")
            yield "\n".join(lines)
        case Code():
            yield _fenced(block.lines, block.syntax)
        case Table():
            rule = "|" + "---|" * len(block.head)
            yield "\n".join([_row(block.head), rule, *map(_row, block.rows)])
        case Details():
            summary = _without_mentions(html.escape(one_line(str(block.summary))))
            yield f"<details><summary>{summary}</summary>"
            for inner in block.blocks:
                yield from _block(inner)
            yield "</details>"


def _item(item: Item, indent: str) -> Iterator[str]:
    """Yield the lines of an item. An item with a number becomes one of an ordered list."""
    is_numbered = item.label.isdigit()
    if is_numbered:
        mark = f"{item.label}."
    elif item.label:
        mark = f"- **{item.label}**"
    else:
        mark = "-"
    text = "<br>".join(map(_line, item.lines))
    origin = _line(item.origin)
    yield f"{indent}{mark} {text} — {origin}" if origin else f"{indent}{mark} {text}"
    inner = indent + ("   " if is_numbered else "  ")
    for spans in (*item.details, *item.evidence):
        yield f"{inner}- {_line(spans)}"
    for nested in item.items:
        yield from _item(nested, inner)


def _row(cells: Sequence[Text]) -> str:
    """Return a row of a table."""
    texts = [markdown(str(cell)) for cell in cells]
    return "|" + "".join(f" {text} |" if text else " |" for text in texts)


def _line(spans: Line) -> str:
    """Return a line with its links."""
    if len(spans) == 1 and not spans[0].href:
        return markdown(plain(spans))
    return "".join(map(_span, spans))


def _span(span: Span) -> str:
    """Return a piece of a line, as a link if it has an address."""
    text = str(span.text)
    if span.href:
        return f"[{_link_text(text)}]({span.href})"
    return _piece(text).replace(one_line(text), markdown(text))


def _piece(text: str) -> str:
    """Return a text on one line that keeps a space at its beginning and at its end.

    Other pieces of the line are next to it, so these spaces matter.
    """
    piece = one_line(text)
    if piece and text[-1:].isspace():
        piece += " "
    return " " + piece if text[:1].isspace() else piece


def _fenced(lines: Sequence[str], syntax: str) -> str:
    """Return a code block. Its fence is longer than any run of backticks in it."""
    runs: list[str] = []
    for line in lines:
        runs += re.findall(r"`+", line)
    longest = max(map(len, runs), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([f"{fence}{syntax}", *lines, fence])


def html_text(document: Document, language: Language) -> str:
    """Return a document as a page of HTML. Its first block must be the heading of the page."""
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
    """Return a text without backticks, for the title of a window."""
    return _NAMED.sub(r"\1", text)


def _digest(script: str) -> str:
    """Return the digest of a script in the form of a Content-Security-Policy."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")


def _view(value: Any) -> Any:
    """Return a block, or a part of one, as values for the template.

    A struct becomes a dictionary, with the name of its type as `kind`. Texts are on one line,
    without characters that a browser would act on.
    """
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
