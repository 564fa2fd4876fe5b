"""The language of a run's output."""

from __future__ import annotations

import os
import sys

from resolver.model.language import Language


def language_of(wanted: str | None) -> Language:
    """The language of reports: as wanted, otherwise Chinese if the locale is and stdout can show it, or English."""
    if wanted in ("en", "zh"):
        return "zh" if wanted == "zh" else "en"
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if value := os.environ.get(name):
            return "zh" if value.lower().startswith("zh") and _shows_chinese() else "en"
    return "en"


def _shows_chinese() -> bool:
    """Whether the encoding of stdout has the characters, which would otherwise all be escaped."""
    try:
        "中".encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
