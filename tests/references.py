"""References of facts, as tests write them."""

from __future__ import annotations

from resolver.config.source_text import read_reference
from resolver.model.source import References


def read_source(*texts: str) -> References:
    """The references in some texts, one for each."""
    return References(tuple(read_reference(text) for text in texts))
