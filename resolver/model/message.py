"""Messages as data: a code, and values for the text that `locale/` has for the code.

Locks and reports store messages. `i18n.translate` turns a message into a text of one language.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Union

import msgspec

from resolver.phrase import Phrase

# A value of a message. The number with the key `count` chooses the plural form of the text.
Value = Union[str, int, "Message", tuple[Union[str, "Message"], ...]]

# The code of a text that is not in `locale/`, such as the reason of a fact. The values of such a
# message are the texts by language. They have at least the key `en`.
TEXT: Final = "text"
# The code of a list in one text. The value `items` has the parts. `by` is the code of the text that
# joins two parts, and `last` the code of the text before the last part.
JOINED: Final = "joined"
# The code of a phrase: its values are the English `template` and the values of its placeholders.
PHRASE: Final = "phrase"


class Message(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A text for people, as the code of the text and the values of its placeholders."""

    # The `msgid` of the text in `locale/`, or TEXT, JOINED or PHRASE.
    code: str
    # The values by the name of the placeholder. A tuple is shown as a list.
    values: dict[str, Value] = {}

    def __hash__(self) -> int:
        return hash((self.code, frozenset(self.values.items())))


def message(code: str, /, **values: object) -> Message:
    """Return the message with this code and these values.

    Numbers and messages are kept. A phrase becomes a message (see `of_phrase`), a list or tuple
    becomes a tuple of texts and messages, and any other value becomes its `str`.
    """
    return Message(code, {key: _value(value) for key, value in values.items()})


def verbatim(en: str, zh: str = "") -> Message:
    """Return a message for a text that is not in `locale/`, such as the reason of a fact.

    `zh` is the Chinese text. Without it, the English text is shown in Chinese reports.
    """
    values: dict[str, Value] = {"en": en}
    if zh:
        values["zh"] = zh
    return Message(TEXT, values)


def of_phrase(sentence: Phrase) -> Message:
    """Return a message that stands for a phrase, such as the text of an error."""
    values = {name: _value(value) for name, value in sentence.values.items()}
    return Message(PHRASE, {"template": sentence.template, **values})


def joined(by: str, items: Iterable[str | Message], last: str = "") -> Message:
    """Return a message that shows all items in one text.

    `by` is the code of the text between two items, such as a comma. `last` is the code of the text
    before the last item, such as "and"; empty for the same as `by`.
    """
    return Message(JOINED, {"by": by, "items": tuple(items), "last": last or by})


def first_of(items: Sequence[str | Message], most: int) -> Message:
    """Return a message that lists at most `most` items, and says how many more there are."""
    listed = joined("comma", items[:most])
    hidden = len(items) - most
    return message("and-more", items=listed, count=hidden) if hidden > 0 else listed


def quoted(names: Iterable[str]) -> list[str]:
    """Return each name once, in backticks."""
    return [f"`{name}`" for name in dict.fromkeys(names)]


def _value(value: object) -> Value:
    """Return a value in a form that a message can have (see `message`)."""
    if isinstance(value, (int, Message)):
        return value
    if isinstance(value, Phrase):
        return of_phrase(value)
    if isinstance(value, (tuple, list)):
        return tuple(map(_item, value))
    return str(value)


def _item(value: object) -> str | Message:
    """Return an item of a list in a form that a message can have."""
    if isinstance(value, Phrase):
        return of_phrase(value)
    return value if isinstance(value, Message) else str(value)
