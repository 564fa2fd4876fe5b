"""What differs between two locks, as JSON. As a text it is among the expected reports."""

from __future__ import annotations

import json

from msgspec.structs import replace

from resolver.json_text import json_text
from resolver.lock.previous import difference
from resolver.model.lock import Change
from resolver.report.difference import difference_blocks, difference_json
from resolver.report.terminal import terminal_text
from tests.unit.report.two_locks import locks


def test_as_json_in_english() -> None:
    told = json.loads(json_text(difference_json(difference(*locks()))))
    assert told["pins"][1:3] == [
        {"name": "polars", "new": "2.3.3"},
        {"name": "verl", "old": "0.7.0.dev0 (ccd7d934f91b)"},
    ]
    assert told["facts"][0] == {"name": "new", "new": "it was measured"}
    assert [one for one in told["warnings"] if "numpy:" in str(one)] == [
        {"old": "numpy: is slow (a.toml:1)"},
        {"new": "numpy: is fast (a.toml:2)"},
    ]
    assert told["others"] == ["exclude-newer"]


def test_a_lock_is_the_same_as_itself_whatever_it_tells_of_earlier_changes() -> None:
    lock, _ = locks()
    found = difference(lock, replace(lock, first=False, change=(Change(name="a", new="1"),)))
    assert not found
    assert terminal_text(difference_blocks(found), "en") == "All that lock.toml says is the same.\n"
