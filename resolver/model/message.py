"""Messages as data: a code and its values. The texts are in `locale/` (see `i18n`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Union

import msgspec

Value = Union[str, int, "Message", tuple[Union[str, "Message"], ...]]

# The code of a text that is not the program's: its values are the text in each of its languages,
# `en` at least.
TEXT: Final = "text"
# The code of several `items` that are joined by other words than those of a list: the text of the
# code `by` and, before the last item, of the code `last`.
JOINED: Final = "joined"


class Message(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A text by its code; `values` are those of its placeholders: texts, numbers, messages, or several to be listed."""

    code: str
    values: dict[str, Value] = {}

    def __hash__(self) -> int:
        return hash((self.code, frozenset(self.values.items())))


def message(code: str, /, **values: object) -> Message:
    """A message; values that are of no type of `Value` are converted to texts."""
    return Message(code, {key: _value(value) for key, value in values.items()})


def verbatim(en: str, zh: str = "") -> Message:
    """A text that is not the program's, such as a fact's, in the languages that it has."""
    return Message(TEXT, {"en": en, "zh": zh} if zh else {"en": en})


def joined(by: str, items: Iterable[str | Message], last: str = "") -> Message:
    """Several texts or messages, joined by the text of the code `by`, and of `last` before the last one."""
    return Message(JOINED, {"by": by, "items": tuple(items), "last": last or by})


def first_of(items: Sequence[str | Message], most: int) -> Message:
    """At most so many of several, with commas, and how many more there are."""
    shown = joined("comma", items[:most])
    return message("and-more", items=shown, count=len(items) - most) if len(items) > most else shown


def _value(value: object) -> Value:
    if isinstance(value, (int, Message)):
        return value
    if isinstance(value, (tuple, list)):
        return tuple(item if isinstance(item, Message) else str(item) for item in value)
    return str(value)
