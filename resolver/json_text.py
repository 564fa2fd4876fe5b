"""The one writer of JSON. ruff's rule TID251 forbids others, unless a comment says why they are harmless."""

from __future__ import annotations

import hashlib
import json


def json_text(value: object, *, indent: int | None = 2, sort_keys: bool = True) -> str:
    """A value as JSON in which all characters are escaped that do not print, and no others.

    JSON itself requires that only of C0, not of C1, bidirectional marks and line separators. Keys that are not sorted
    must have a defined order, such as that of a struct's fields.
    """
    text = json.dumps(value, indent=indent, sort_keys=sort_keys, ensure_ascii=False)  # noqa: TID251
    controls = {char for char in set(text) if not char.isprintable()} - {"\n"}
    return text.translate({ord(char): json.dumps(char)[1:-1] for char in controls})  # noqa: TID251


def digest(value: object) -> str:
    """The sha256 of a value, independent of the order of its keys."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()  # noqa: TID251
