"""Digests as indexes write them."""

from __future__ import annotations

import re

_SHA256 = re.compile(r"[0-9a-f]{64}")


def read_sha256(text: str) -> str:
    """A sha256 in lower-case hex digits; empty if `text` is not one."""
    if _SHA256.fullmatch(text) is not None:
        return text
    text = text.strip().lower()
    return text if _SHA256.fullmatch(text) is not None else ""
