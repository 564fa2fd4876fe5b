"""Markdown for pages that are made."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

_CODE: Final = re.compile(r"(`[^`]*`)")
_SPECIAL: Final = re.compile(r"([\\*_\[\]<>#])")


def cell(text: str) -> str:
    """Return a text for a cell of a table: nothing but `code` is markup."""
    parts = _CODE.split(" ".join(text.split()))
    escaped = [part if part.startswith("`") else _SPECIAL.sub(r"\\\1", part) for part in parts]
    return "".join(escaped).replace("|", "\\|")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table whose cells are Markdown."""
    lines = [_line(head), _line(["---"] * len(head)), *map(_line, rows)]
    return "\n".join(lines) + "\n"


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
