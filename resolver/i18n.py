"""Texts for users by code, in each language that `locale/` has a `.po` of, English included.

Code and data have codes and values; only output asks for the text. Texts have placeholders in
braces; a code with a count has a plural.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from gettext import GNUTranslations
from io import BytesIO
from pathlib import Path
from typing import Final

import polib

from resolver.errors import harmless
from resolver.model.message import JOINED, TEXT, Message, Value
from resolver.model.text import Language

_LOCALE: Final = Path(__file__).with_name("locale")
LANGUAGES: Final[tuple[Language, ...]] = (
    "en",
    *sorted(path.stem for path in _LOCALE.glob("*.po") if path.stem != "en"),
)

# Chinese has no space after full-width punctuation or between two characters, as may be where a
# value begins or ends.
_NO_SPACE = re.compile("(?<=[）：，。；、]) +|(?<=[\u4e00-\u9fff]) +(?=[\u4e00-\u9fff])")


def translate(
    what: str | Message, language: Language, count: int | None = None, /, **values: object
) -> str:
    """The text of a code or a message. A `count` selects the plural, and is also a value.

    Values are from elsewhere: what a terminal would act on in them is escaped, so that the text has
    no escape sequence.

    Raises KeyError if there is no such code, or a placeholder without a value.
    """
    if isinstance(what, Message):
        return _message_text(what, language)
    catalogue, form = _catalogue(language), what
    if count is not None:
        form, values = catalogue.ngettext(what, what, count), {**values, "count": count}
    if form is what:  # there is no plural
        form = catalogue.gettext(what)
    if form is what:
        raise KeyError(what)
    texts = {
        key: harmless(value) if isinstance(value, str) else value for key, value in values.items()
    }
    return _spaced(form.format(**texts), language)


def join_list(
    items: Sequence[str], language: Language, by: str = "comma", last: str = "and"
) -> str:
    """`a`, `a and b` or `a, b and c`; nothing if there are none."""
    if len(items) < 2:
        return "".join(items)
    return translate(by, language).join(items[:-1]) + translate(last, language) + items[-1]


@lru_cache
def templates(prefix: str, language: Language) -> dict[str, str]:
    """The texts whose codes begin with the prefix, by the rest of the code, with their placeholders."""
    entries = [entry for entry in _read(language) if entry.msgid.startswith(prefix)]
    return {entry.msgid.removeprefix(prefix): entry.msgstr for entry in entries}


def _spaced(text: str, language: Language) -> str:
    return text if language == "en" else _NO_SPACE.sub("", text)


def _message_text(what: Message, language: Language) -> str:
    match what:
        case Message(code=code, values=texts) if code == TEXT:
            return harmless(str(texts.get(language) or texts["en"]))
        case Message(
            code=code, values={"by": str(by), "items": tuple(items), "last": str(last)}
        ) if code == JOINED:
            return _spaced(
                join_list([_value_text(item, language) for item in items], language, by, last),
                language,
            )
        case Message(code=code, values={"count": int(count)}):
            values = {
                key: _value_text(value, language)
                for key, value in what.values.items()
                if key != "count"
            }
            return translate(code, language, count, **values)
        case _:
            values = {key: _value_text(value, language) for key, value in what.values.items()}
            return translate(what.code, language, **values)


def _value_text(value: Value, language: Language) -> str:
    if isinstance(value, tuple):
        return join_list([_value_text(item, language) for item in value], language)
    return translate(value, language) if isinstance(value, Message) else harmless(str(value))


@lru_cache
def _catalogue(language: Language) -> GNUTranslations:
    return GNUTranslations(BytesIO(_read(language).to_binary()))


@lru_cache
def _read(language: Language) -> polib.POFile:
    return polib.pofile((_LOCALE / f"{language}.po").read_text(encoding="utf-8"))
