"""Texts for users in each language that has a `.po` file in `locale/`.

Results have codes: code and data store the code of a text and its values, and only output looks up
the text, in English as well (`locale/en.po`). Texts have placeholders in braces. A text that is
used with a count has a plural form.

Errors and help have phrases (see `phrase`): their English text is in the code, and `locale/phrases`
has the translations by the English text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from gettext import GNUTranslations
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Final

from resolver.errors import ResolverError, harmless
from resolver.model.message import JOINED, PHRASE, TEXT, Message, Value
from resolver.model.text import Language
from resolver.phrase import Phrase

# Errors and help in English need no catalog, so polib is imported only where it is used.
if TYPE_CHECKING:
    import polib

_LOCALE: Final = Path(__file__).with_name("locale")
LANGUAGES: Final[tuple[Language, ...]] = (
    "en",
    *sorted(path.stem for path in _LOCALE.glob("*.po") if path.stem != "en"),
)

# The spaces that Chinese does not have, after full-width punctuation and between two characters.
# They can appear where a value is put into a text.
_NO_SPACE = re.compile("(?<=[）：，。；、]) +|(?<=[\u4e00-\u9fff]) +(?=[\u4e00-\u9fff])")


def translate(
    code_or_message: str | Message,
    language: Language,
    count: int | None = None,
    /,
    **values: object,
) -> str:
    """Return the text of a code or a message in a language.

    `values` fill in the placeholders of a code's text. `count` chooses the plural form, and is also
    the value of the placeholder `count`. A message has values of its own. Control characters in
    values are escaped, since values may come from an index. Raises KeyError if there is no such
    code, or no value for a placeholder.
    """
    if isinstance(code_or_message, Message):
        return _message_text(code_or_message, language)
    catalogue = _catalogue(language)
    # gettext returns its argument if the catalog does not have it.
    template = code_or_message
    if count is not None:
        template = catalogue.ngettext(code_or_message, code_or_message, count)
        values["count"] = count
    if template is code_or_message:
        template = catalogue.gettext(code_or_message)
    if template is code_or_message:
        raise KeyError(code_or_message)
    for name, value in values.items():
        if isinstance(value, str):
            values[name] = harmless(value)
    return _spaced(template.format(**values), language)


def translate_phrase(sentence: Phrase, language: Language) -> str:
    """Return the text of a phrase in a language, with its values filled in.

    The text is English if the phrase has no translation. Values that are phrases are translated,
    too.
    """
    if language == "en":
        return str(sentence)
    template = _phrases(language).get(sentence.template, sentence.template)
    values: dict[str, object] = {}
    for name, value in sentence.values.items():
        if isinstance(value, Phrase):
            values[name] = translate_phrase(value, language)
        else:
            values[name] = value
    return template.format(**values)


def error_text(error: ResolverError, language: Language) -> str:
    """Return the lines of an error for people, in a language."""
    if language == "en":
        return str(error)
    return error.text(partial(translate_phrase, language=language))


@lru_cache
def templates(prefix: str, language: Language) -> dict[str, str]:
    """Return the texts whose codes begin with a prefix, by the code without the prefix.

    Placeholders in the texts are not filled in.
    """
    entries = [entry for entry in _read(language) if entry.msgid.startswith(prefix)]
    return {entry.msgid.removeprefix(prefix): entry.msgstr for entry in entries}


def _message_text(shown: Message, language: Language) -> str:
    """Return the text of a message: one in several languages, a phrase, a list or a code's text."""
    if shown.code == TEXT:
        return harmless(str(shown.values.get(language) or shown.values["en"]))
    if shown.code == PHRASE:
        filled = _value_texts(shown.values, language)
        return translate_phrase(Phrase(filled.pop("template"), filled), language)
    match shown.values:
        case {"by": str(by), "items": tuple(items), "last": str(last)} if shown.code == JOINED:
            texts = [_value_text(item, language) for item in items]
            return _spaced(_joined_text(texts, language, by, last), language)
        case {"count": int(count), **others}:
            return translate(shown.code, language, count, **_value_texts(others, language))
        case values:
            return translate(shown.code, language, **_value_texts(values, language))


def _value_texts(values: Mapping[str, Value], language: Language) -> dict[str, str]:
    """Return the texts of a message's values, by placeholder."""
    return {name: _value_text(value, language) for name, value in values.items()}


def _value_text(value: Value, language: Language) -> str:
    """Return the text of a value, with control characters escaped. A tuple becomes a list."""
    if isinstance(value, tuple):
        texts = [_value_text(item, language) for item in value]
        return _joined_text(texts, language, "comma", "and")
    if isinstance(value, Message):
        return translate(value, language)
    return harmless(str(value))


def _joined_text(texts: Sequence[str], language: Language, by: str, last: str) -> str:
    """Return texts as one text: `a`, `a and b` or `a, b and c`.

    `by` is the code of the comma, and `last` the code of the word before the last text.
    """
    if len(texts) < 2:
        return "".join(texts)
    beginning = translate(by, language).join(texts[:-1])
    return beginning + translate(last, language) + texts[-1]


def _spaced(text: str, language: Language) -> str:
    """Return a text without the spaces that Chinese does not have; English is unchanged."""
    return text if language == "en" else _NO_SPACE.sub("", text)


@lru_cache
def _catalogue(language: Language) -> GNUTranslations:
    """Return the gettext catalogue of a language: the texts of messages by their codes."""
    return GNUTranslations(BytesIO(_read(language).to_binary()))


@lru_cache
def _phrases(language: Language) -> dict[str, str]:
    """Return the translations of phrases by their English template; none without a file."""
    path = _LOCALE / "phrases" / f"{language}.po"
    if not path.is_file():
        return {}
    return {entry.msgid: entry.msgstr for entry in _entries(path)}


@lru_cache
def _read(language: Language) -> polib.POFile:
    return _entries(_LOCALE / f"{language}.po")


def _entries(path: Path) -> polib.POFile:
    import polib

    return polib.pofile(path.read_text(encoding="utf-8"))
