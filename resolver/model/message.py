"""What people are to be told, as data: a code and its values. The texts are in `locale/` (see `i18n`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Union

import msgspec

Value = Union[str, int, "Message", tuple[Union[str, "Message"], ...]]

# The code of a text that is not the program's: its values are the text in each language that it has, `en` at least.
TEXT: Final = "text"
# The code of several in one place with other words between them than those of a list: `items`, and the codes of the
# words `by` and, before the last one, `last`.
JOINED: Final = "joined"


class Message(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A text by its code; `values` are those of its placeholders. Several in one place are listed in the language.

    A message among the values is told in the same language.
    """

    code: str
    values: dict[str, Value] = {}

    def __hash__(self) -> int:
        return hash((self.code, frozenset(self.values.items())))


def message(code: str, /, **values: object) -> Message:
    """A message whose values are texts, numbers, messages, or several of them; whatever else is its text."""
    return Message(code, {key: _value(value) for key, value in values.items()})


def verbatim(en: str, zh: str = "") -> Message:
    """A text that is not the program's, such as a fact's, in the languages that it has."""
    return Message(TEXT, {"en": en, "zh": zh} if zh else {"en": en})


def joined(by: str, items: Iterable[str | Message], last: str = "") -> Message:
    """Several texts or messages with the text of a code between them, and that of another before the last one."""
    return Message(JOINED, {"by": by, "items": tuple(items), "last": last or by})


def _value(value: object) -> Value:
    if isinstance(value, (int, Message)):
        return value
    if isinstance(value, (tuple, list)):
        return tuple(one if isinstance(one, Message) else str(one) for one in value)
    return str(value)
