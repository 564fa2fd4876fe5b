"""The one writer of JSON. ruff's rule TID251 refuses others, unless they say beside it why they are harmless."""

from __future__ import annotations

import hashlib
import json


def json_text(value: object, *, indent: int | None = 2, sort_keys: bool = True) -> str:
    """A value as JSON in which what a terminal acts on is escaped and other texts stay legible.

    JSON itself escapes only C0. It allows C1, bidirectional marks and separators of lines. Keys that are not sorted
    must have an order of their own, such as that of a struct's fields.
    """
    written = json.dumps(value, indent=indent, sort_keys=sort_keys, ensure_ascii=False)  # noqa: TID251
    acts = {char for char in set(written) if not char.isprintable()} - {"\n"}
    return written.translate({ord(char): json.dumps(char)[1:-1] for char in acts})  # noqa: TID251


def digest(value: object) -> str:
    """A sha256 of a value, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()  # noqa: TID251
