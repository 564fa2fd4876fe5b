"""The errors that users see. Each has an exit status, which is part of the command's contract."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import ClassVar, Final

from resolver.phrase import EMPTY, Phrase, literal, phrase
from resolver.redaction import without_secrets

# The exit status if indexes no longer agree with a lock or a fact.
CHANGED_UPSTREAM: Final = 5

# How similar a name has to be to be suggested, from 0 to 1 as difflib measures it.
_SIMILAR: Final = 0.6
# The longest name in characters that is compared with others.
_LONGEST_NAME: Final = 200
# The longest part of a message in characters. Only a malicious index makes longer ones.
_LONGEST: Final = 1000


def escaped(text: str) -> str:
    """Return the text on one line, truncated, with everything escaped that a terminal acts on."""
    if len(text) > _LONGEST:
        text = text[: _LONGEST - 1] + "…"
    return harmless(text, kept="")


def harmless(text: str, kept: str = "\n") -> str:
    """Return the text with control characters and bidirectional marks escaped.

    The characters in `kept` stay.
    """
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or char in kept else _escaped_char(char) for char in text
    )


def _escaped_char(char: str) -> str:
    # hardly any text needs it, and it takes 2 ms to load
    from unicodedata import category

    if category(char) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"):
        return char.encode("unicode_escape").decode("ascii")
    return char


class ResolverError(Exception):
    """A failure with texts for the user. They keep no secrets of addresses.

    The attributes, like `str()`, are in English; `text` renders the phrases in any language.
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
        # The parts below, as they can be translated.
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
        # What to do. It is our own text, and may show what an address looks like.
        self.hint = str(hint)
        super().__init__(self.phrases["message"])

    def parts(self) -> dict[str, str]:
        """Return the parts of the message by name, in English, for `--json`."""
        return {"message": self.message, "where": self.where, "why": self.why, "hint": self.hint}

    def __str__(self) -> str:
        return _lines(self.parts(), str)

    def text(self, render: Callable[[Phrase], str]) -> str:
        """Return what people read, with each phrase as `render` returns it."""
        parts = {name: render(part) for name, part in self.phrases.items()}
        return _lines(parts, render)


def _lines(parts: Mapping[str, str], render: Callable[[Phrase], str]) -> str:
    """Return the lines of an error with these parts."""
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
    """A stack, fact, option or file on this machine is wrong (exit status 2)."""


class NothingToLock(ResolverError):
    """Nothing of a stack applies to a target (exit status 1)."""

    exit_status = 1


class OtherMachine(ResolverError):
    """A machine does not match the target of a lock (exit status 1)."""

    exit_status = 1


class IndexFailure(ResolverError):
    """An index could not be reached, or answered with something unusable (exit status 3)."""

    exit_status = 3


class Unreachable(IndexFailure):
    """An index did not answer, as opposed to answering something unusable."""


class WrongRelease(IndexFailure):
    """The metadata of a file names another release than the name of the file."""


class StaleLock(ResolverError):
    """A lock is missing or stale, or a bundle is incomplete (exit status 4)."""

    exit_status = 4


class UndecidedError(ResolverError):
    """No engine could decide within its limits (exit status 3). It is not called "no solution"."""

    exit_status = 3


def known_names(names: Iterable[str]) -> Phrase:
    """Return a hint that lists the known names."""
    listed = ", ".join(names)
    return phrase("known are {names}", names=listed) if listed else phrase("known are none")


def closest(name: str, known: Iterable[str], cutoff: float = _SIMILAR) -> str:
    """Return the most similar of the known names, empty if none is as similar as `cutoff`."""
    if len(name) > _LONGEST_NAME:
        return ""
    # most runs have no mistake
    from difflib import get_close_matches

    matches = get_close_matches(name, list(known), n=1, cutoff=cutoff)
    return matches[0] if matches else ""


def did_you_mean(
    name: str, known: Iterable[str], otherwise: Phrase, cutoff: float = _SIMILAR
) -> Phrase:
    """Return a hint with the most similar of the known names; `otherwise` if none is similar."""
    close = closest(name, known, cutoff)
    return phrase("did you mean `{name}`?", name=close) if close else otherwise
