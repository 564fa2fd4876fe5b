"""The errors that users see.

Each type of error has an exit status of the command. Scripts rely on it, so it must not change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import ClassVar, Final

from resolver.phrase import EMPTY, Phrase, literal, phrase
from resolver.redaction import without_secrets

# The exit status if what an index has now contradicts a lock or a fact.
CHANGED_UPSTREAM: Final = 5

# How similar a name must be to be suggested, from 0 to 1, as difflib measures it.
_SIMILAR: Final = 0.6
# The longest name, in characters, for which a similar name is looked for.
_LONGEST_NAME: Final = 200
# The most characters of a part of a message. Only a malicious index causes longer parts.
_LONGEST: Final = 1000


def escaped(text: str) -> str:
    """Return a text on one line that is safe to show in a terminal.

    Line breaks, control characters and bidirectional marks are escaped. A text of more than 1000
    characters is cut, and ends with `…`.
    """
    if len(text) > _LONGEST:
        text = text[: _LONGEST - 1] + "…"
    return harmless(text, kept="")


def harmless(text: str, kept: str = "\n") -> str:
    """Return a text with control characters and bidirectional marks escaped.

    The characters in `kept` are not escaped.
    """
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or char in kept else _escaped_char(char) for char in text
    )


def _escaped_char(char: str) -> str:
    """Return the escape of a character if a terminal could act on it, else the character."""
    # Loading this module takes 2 ms, and few texts need it.
    from unicodedata import category

    if category(char) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"):
        return char.encode("unicode_escape").decode("ascii")
    return char


class ResolverError(Exception):
    """A failure with a message for the user.

    The secrets of addresses are removed from its texts, except for the hint (see `redaction`).
    `str` and the attributes are in English; `text` renders the error in another language.
    """

    exit_status: ClassVar[int] = 2

    def __init__(
        self,
        message: Phrase,
        *,
        where: str | Phrase = "",
        why: Phrase = EMPTY,
        hint: Phrase = EMPTY,
    ) -> None:
        place = where if isinstance(where, Phrase) else literal(where)
        # The parts of the message by name, as phrases that can be translated.
        self.phrases = {
            "message": message.with_values(without_secrets),
            "where": place.with_values(without_secrets),
            "why": why.with_values(without_secrets),
            "hint": hint,
        }
        # What happened.
        self.message = without_secrets(str(self.phrases["message"]))
        # A file with line and key, or an address.
        self.where = without_secrets(str(self.phrases["where"]))
        # The cause.
        self.why = without_secrets(str(self.phrases["why"]))
        # What to do. The program itself writes the hint, and it may contain an example of an
        # address.
        self.hint = str(hint)
        super().__init__(self.phrases["message"])

    def parts(self) -> dict[str, str]:
        """Return the parts of the message by name, in English, for the option `--json`."""
        return {"message": self.message, "where": self.where, "why": self.why, "hint": self.hint}

    def __str__(self) -> str:
        return _lines(self.parts(), str)

    def text(self, render: Callable[[Phrase], str]) -> str:
        """Return the lines of the error for people.

        `render` returns the text of a phrase in their language.
        """
        parts = {name: render(part) for name, part in self.phrases.items()}
        return _lines(parts, render)


def _lines(parts: Mapping[str, str], render: Callable[[Phrase], str]) -> str:
    """Return the lines of an error with these parts, escaped for a terminal.

    `render` translates the words around the parts, such as "hint: ".
    """
    lines = [escaped(parts["message"])]
    if parts["where"]:
        lines.append("  " + escaped(render(phrase("at {place}", place=parts["where"]))))
    if parts["why"]:
        lines.append("  " + escaped(parts["why"]))
    if parts["hint"]:
        hint = render(phrase("hint: {hint}", hint=parts["hint"]))
        lines += map(escaped, hint.split("\n"))
    return "\n".join(lines)


class InputError(ResolverError):
    """A stack, a fact, an option or a file of this machine is wrong (exit status 2)."""


class NothingToLock(ResolverError):
    """No requirement of a stack applies to a target (exit status 1)."""

    exit_status = 1


class UnknownProject(ResolverError):
    """No index has a project that a line to add names (exit status 1)."""

    exit_status = 1


class OtherMachine(ResolverError):
    """A machine does not match the target of a lock (exit status 1)."""

    exit_status = 1


class IndexFailure(ResolverError):
    """An index could not be reached, or its answer cannot be used (exit status 3)."""

    exit_status = 3


class Unreachable(IndexFailure):
    """An index did not answer (exit status 3)."""


class WrongRelease(IndexFailure):
    """The metadata of a file names another release than the file's name (exit status 3)."""


class StaleLock(ResolverError):
    """A lock is missing or stale, or a bundle is incomplete (exit status 4)."""

    exit_status = 4


class UndecidedError(ResolverError):
    """No engine found an answer within its limits (exit status 3).

    It does not mean that there is no solution.
    """

    exit_status = 3


def known_names(names: Iterable[str]) -> Phrase:
    """Return a hint that lists the names that a user could have written."""
    listed = ", ".join(names)
    return phrase("known are {names}", names=listed) if listed else phrase("known are none")


def closest(name: str, known: Iterable[str], cutoff: float = _SIMILAR) -> str:
    """Return the known name that is most similar to `name`.

    Empty if no name is as similar as `cutoff`, which is a ratio of difflib from 0 to 1.
    """
    if len(name) > _LONGEST_NAME:
        return ""
    # Few runs need this module, so it is loaded only here.
    from difflib import get_close_matches

    matches = get_close_matches(name, list(known), n=1, cutoff=cutoff)
    return matches[0] if matches else ""


def did_you_mean(
    name: str, known: Iterable[str], otherwise: Phrase, cutoff: float = _SIMILAR
) -> Phrase:
    """Return a hint that suggests the most similar known name.

    Return `otherwise` if no known name is similar (see `closest`).
    """
    close = closest(name, known, cutoff)
    return phrase("did you mean `{name}`?", name=close) if close else otherwise
