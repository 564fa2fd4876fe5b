"""Sentences of errors and of help: in English where they are written, in any language when shown.

The English sentence is the key of its translations, as in gettext. `i18n.translate_phrase` finds
them in `locale/phrases/`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Phrase:
    """An English template and the values of its placeholders. `str()` fills them in.

    It is not a `str`, so that mypy finds each place where an error would lose its translations.
    """

    # English, with placeholders in braces.
    template: str
    # The values by placeholder. Those that are phrases are translated, too.
    values: Mapping[str, object]

    def __str__(self) -> str:
        """Return the sentence in English."""
        return self.template.format(**self.values)

    def __bool__(self) -> bool:
        """Return whether there is a sentence."""
        return bool(str(self))

    def with_values(self, change: Callable[[str], str]) -> Phrase:
        """Return the phrase with each of its values as `change` returns it.

        A text without values is changed itself: it may be a library's, and quote anything.
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


# The template of a text that is not translated.
LITERAL: Final = "{text}"


def phrase(template: str, /, **values: object) -> Phrase:
    """Return a sentence to be translated. A test finds the template, so it must be a literal."""
    return Phrase(template, values)


def literal(text: str) -> Phrase:
    """Return a text that is the same in every language: a command, or the words of a library."""
    return Phrase(LITERAL, {"text": text})


def cause(error: BaseException) -> Phrase:
    """Return the text of an exception: the phrase that it was raised with, else its first line.

    In further lines packaging and OpenSSL repeat and mark what they were given.
    """
    if error.args and isinstance(error.args[0], Phrase):
        return error.args[0]
    if isinstance(error, OSError) and error.strerror:
        return as_phrase(error.strerror)
    return as_phrase(str(error).partition("\n")[0])


def as_phrase(text: str) -> Phrase:
    """Return the phrase of a text that the operating system or a library wrote.

    The catalogs have the usual ones. Another one stays English.
    """
    return Phrase(text.replace("{", "{{").replace("}", "}}"), {})


def listed(phrases: Iterable[Phrase]) -> Phrase:
    """Return several clauses as one phrase; empty if there is none."""
    joined = EMPTY
    for each in phrases:
        joined = phrase("{first}; {second}", first=joined, second=each) if joined else each
    return joined


EMPTY: Final = Phrase("", {})
