"""Messages: data that is compared, also with what was read from a file, which has its keys in another order."""

from __future__ import annotations

from resolver.model.message import Message, joined, message


def test_equal_messages_have_one_hash() -> None:
    told = message("code", names=joined("comma", ["a", message("b", x=1)]), count=2)
    again = Message(told.code, dict(reversed(told.values.items())))
    assert told == again
    assert len({told, again}) == 1
