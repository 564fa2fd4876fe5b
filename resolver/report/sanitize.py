"""Texts from elsewhere, made harmless for comments, terminals and Markdown."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from rich.cells import cell_len

# What has a meaning inside a line of CommonMark and GitHub's tables; `_` only at the edge of a word,
# `#`, `>`, `+` and `-` only at the start.
_MARKDOWN = re.compile(r"([\\`*~\[\]<|&]|(?<!\w)_|_(?!\w)|^[#>+-])")

COLUMNS: Final = 100  # of a line of prose, if the width is unknown
# Units without a line break inside: a Chinese character with attached punctuation, a run of others, spaces.
_WORDS = re.compile(
    r"[（「]{0,9}(?:[\u3000-\u9fff\uff00-\uffef](?<![（「])|[^\s\u3000-\u9fff\uff00-\uffef]+)[，。；：、）」]*|[（「]|\s+"
)


def one_line(text: str) -> str:
    """The text on one line, without control characters and bidirectional marks."""
    if text.isprintable():
        return " ".join(text.split())
    kept = "".join(" " if ch in "\r\n\t" else ch for ch in text if ch in "\r\n\t" or unicodedata.category(ch)[0] != "C")
    return " ".join(kept.split())


def piece(text: str) -> str:
    """The same of a piece of a line: spaces at its ends are kept, as other pieces are beside it."""
    kept = one_line(text)
    return f"{' ' if text[:1].isspace() else ''}{kept}{' ' if text[-1:].isspace() and kept else ''}"


def markdown(text: str) -> str:
    """The text escaped so that Markdown shows it unchanged."""
    return _MARKDOWN.sub(r"\\\1", one_line(text))


def wrapped(text: str, first: str, rest: str, columns: int = COLUMNS) -> list[str]:
    """The text in lines, broken at spaces, or between Chinese characters if a line has no space."""
    lines, line = [], first
    for word in _WORDS.findall(text):
        if cell_len(line + word.rstrip()) > columns and line.strip() and line not in (first, rest):
            lines.append(line.rstrip())
            line = rest + word.lstrip()
        else:
            line += word
    return [*lines, line.rstrip()] if line.strip() else lines
