"""Messages as data: a code, and values for the text of that code in `locale/` (see `i18n`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Union

import msgspec

from resolver.phrase import Phrase

Value = Union[str, int, "Message", tuple[Union[str, "Message"], ...]]

# The code of a text that is not the program's. Its values are the text by language, at least `en`.
TEXT: Final = "text"
# The code of several `items` that are joined: by the text of the code `by`, and before the last
# item by the text of the code `last`.
JOINED: Final = "joined"
# The code of a phrase: its values are the English `template` and the values of its placeholders.
PHRASE: Final = "phrase"


class Message(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A text by its code."""

    # The text's `msgid` in `locale/`.
    code: str
    # The values of the text's placeholders. A tuple is shown as a list.
    values: dict[str, Value] = {}

    def __hash__(self) -> int:
        return hash((self.code, frozenset(self.values.items())))


def message(code: str, /, **values: object) -> Message:
    """Return a message. Phrases in its values stay phrases; other values become texts."""
    return Message(code, {key: _value(value) for key, value in values.items()})


def verbatim(en: str, zh: str = "") -> Message:
    """Return a message with a text that is not the program's, such as the reason of a fact."""
    values: dict[str, Value] = {"en": en}
    if zh:
        values["zh"] = zh
    return Message(TEXT, values)


def of_phrase(sentence: Phrase) -> Message:
    """Return a message with the text of a phrase, such as that of an error."""
    values = {name: _value(value) for name, value in sentence.values.items()}
    return Message(PHRASE, {"template": sentence.template, **values})


def joined(by: str, items: Iterable[str | Message], last: str = "") -> Message:
    """Return a message that joins texts or messages by the text of the code `by`.

    Before the last item it has the text of the code `last`, if one is passed.
    """
    return Message(JOINED, {"by": by, "items": tuple(items), "last": last or by})


def first_of(items: Sequence[str | Message], most: int) -> Message:
    """Return a message that lists the first `most` items, and says how many more there are."""
    listed = joined("comma", items[:most])
    more = len(items) - most
    return message("and-more", items=listed, count=more) if more > 0 else listed


def _value(value: object) -> Value:
    if isinstance(value, (int, Message)):
        return value
    if isinstance(value, Phrase):
        return of_phrase(value)
    if isinstance(value, (tuple, list)):
        return tuple(item if isinstance(item, Message) else str(item) for item in value)
    return str(value)
