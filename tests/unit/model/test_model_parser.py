"""packaging's parser is used by one thread at a time."""

from __future__ import annotations

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from resolver.index.parse import metadata
from resolver.index.parse.distribution import FileRelease
from resolver.model import text


@pytest.mark.parametrize("reader", ["text", "metadata"])
def test_parser_is_held_by_one_thread(monkeypatch: pytest.MonkeyPatch, reader: str) -> None:
    """Two threads that read strings of markers at once may fail before Python 3.11.8."""
    held: list[bool] = []

    class Recorded(Requirement):
        def __init__(self, line: str) -> None:
            held.append(text.PARSER.locked())
            super().__init__(line)

    line = 'demo>=1; python_version < "3.7.1.2.3"'
    if reader == "text":
        monkeypatch.setattr(text, "_PackagingRequirement", Recorded)
        text.requirement(line)
    else:
        monkeypatch.setattr(metadata, "Requirement", Recorded)
        metadata._of_extra(
            line, "fast", FileRelease("demo-1.tar.gz", canonicalize_name("demo"), "1")
        )
    assert held == [True]
    assert not text.PARSER.locked()
