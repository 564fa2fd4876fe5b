"""JSON of the one writer is what was written, and acts on no terminal."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from resolver.json_text import json_text

VALUES = st.recursive(
    st.text() | st.booleans() | st.none() | st.integers(),
    lambda more: st.lists(more) | st.dictionaries(st.text(), more),
)


@given(VALUES)
def test_it_is_read_as_it_was_written_and_prints(value: object) -> None:
    told = json_text(value)
    assert json.loads(told) == value
    assert told.replace("\n", "").isprintable()


def test_what_people_read_stays_legible() -> None:
    assert json_text({"b": "中文 é", "a": ["\x9b\u202e\x7f\ud800\n"]}, indent=None) == (
        '{"a": ["\\u009b\\u202e\\u007f\\ud800\\n"], "b": "中文 é"}'
    )
