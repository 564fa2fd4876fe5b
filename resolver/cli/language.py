"""Which language a run speaks."""

from __future__ import annotations

import os

from resolver.model.language import Language


def language_of(wanted: str | None) -> Language:
    """The language of reports: as wanted, else Chinese where the locale is, else English."""
    if wanted in ("en", "zh"):
        return "zh" if wanted == "zh" else "en"
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if value := os.environ.get(name):
            return "zh" if value.lower().startswith("zh") else "en"
    return "en"
