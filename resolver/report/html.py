"""A document as one page of HTML, without network access or scripts."""

from __future__ import annotations

from typing import Any

import msgspec

from resolver.i18n import translate
from resolver.model.text import Language
from resolver.report.document import Document, Span, told
from resolver.report.sanitize import one_line, piece
from resolver.report.template import environment

_LANGUAGES = {"zh": "zh-Hans"}


def html_text(document: Document, language: Language) -> str:
    """The page; the first block is its heading."""
    title, *blocks = (_view(told(block, language)) for block in document)
    return (
        environment()
        .overlay(autoescape=True, finalize=None)
        .get_template("document.html.j2")
        .render(
            title=title,
            blocks=blocks,
            translate=lambda code: translate(code, language),
            lang=_LANGUAGES.get(language, language),
        )
    )


def _view(value: Any) -> Any:
    """A block, with its kind, for the template: all texts on one line each, without what a browser acts on."""
    match value:
        case Span():
            return {"text": piece(str(value.text)), "href": value.href}
        case str():
            return one_line(value)
        case tuple():
            return [_view(one) for one in value]
        case msgspec.Struct():
            fields = {name: _view(getattr(value, name)) for name in value.__struct_fields__}
            return {"kind": type(value).__name__, **fields}
        case _:
            return value
