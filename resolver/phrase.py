"""Phrases: texts of errors and of help, written in English and translated when they are shown.

The English text is the key of its translations, as in gettext. `i18n.translate_phrase` looks them
up in `locale/phrases/`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Phrase:
    """An English text with placeholders, and their values.

    It is not a `str`, so that mypy finds each place where an error would lose its translations.
    """

    # The English text, with placeholders in braces.
    template: str
    # The values by placeholder. Values that are phrases are translated, too.
    values: Mapping[str, object]

    def __str__(self) -> str:
        """Return the text in English, with the values filled in."""
        return self.template.format(**self.values)

    def __bool__(self) -> bool:
        """Return whether the text is not empty."""
        return bool(str(self))

    def with_values(self, change: Callable[[str], str]) -> Phrase:
        """Return the phrase with each value replaced by `change(value)`.

        `change` removes secrets, for example. In a phrase without values, the template is changed:
        it may be a text of a library that quotes anything (see `as_phrase`).
        """
        if not self.values:
            return Phrase(change(self.template), {})
        values: dict[str, object] = {}
        for name, value in self.values.items():
            if isinstance(value, Phrase):
                values[name] = value.with_values(change)
            else:
                values[name] = change(str(value))
        return Phrase(self.template, values)


# The template of a text that is the same in every language.
LITERAL: Final = "{text}"


def phrase(template: str, /, **values: object) -> Phrase:
    """Return a phrase with this English template and these values.

    The template must be a literal in the code: a test collects all templates and checks that they
    are translated.
    """
    return Phrase(template, values)


def literal(text: str) -> Phrase:
    """Return a phrase for a text that is the same in every language, such as a command."""
    return Phrase(LITERAL, {"text": text})


def cause(error: BaseException) -> Phrase:
    """Return the text of an exception as a phrase.

    It is the phrase that the exception was raised with, or else the text of an OSError, or else the
    first line of its message. In later lines, packaging and OpenSSL quote their input.
    """
    if error.args and isinstance(error.args[0], Phrase):
        return error.args[0]
    if isinstance(error, OSError) and error.strerror:
        return as_phrase(error.strerror)
    return as_phrase(str(error).partition("\n")[0])


def as_phrase(text: str) -> Phrase:
    """Return a phrase for a text of the operating system or a library.

    The catalogs have translations of frequent texts of this kind. All others stay English.
    """
    return Phrase(text.replace("{", "{{").replace("}", "}}"), {})


def listed(phrases: Iterable[Phrase]) -> Phrase:
    """Return several phrases as one, with semicolons between them; empty if there are none."""
    joined = EMPTY
    for each in phrases:
        joined = phrase("{first}; {second}", first=joined, second=each) if joined else each
    return joined


# The phrase without a text. It is false.
EMPTY: Final = Phrase("", {})
