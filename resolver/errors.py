"""The errors that users see, each with an exit status, which is part of the command's contract."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import ClassVar, Final

CHANGED_UPSTREAM: Final = 5  # the exit status if indexes no longer agree with a lock or a fact

_SECRET = re.compile(r"://[^\s/?#\"']*@")
_SIMILAR: Final = 0.6  # from 0 to 1, as difflib measures it
_LONGEST = 1000  # characters of one part of a message; longer ones are from a malicious index


def escaped(text: str) -> str:
    """The text on one line, truncated, with control characters and bidirectional marks escaped."""
    shown = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    return shown if shown.isprintable() else "".join(map(_escaped_char, shown))


def harmless(text: str, kept: str = "\n") -> str:
    """Return the whole text with control characters and bidirectional marks escaped, except for those of `kept`."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char in kept else _escaped_char(char) for char in text)


def without_secrets(text: str) -> str:
    """The text without user and password in its addresses."""
    return _SECRET.sub("://", text)


def _escaped_char(char: str) -> str:
    from unicodedata import category  # hardly any text needs it, and it takes 2 ms to load

    # Cc, Cf, Cs, Co, Cn; and the separators of lines and paragraphs
    is_control = category(char)[0] == "C" or category(char) in ("Zl", "Zp")
    return char.encode("unicode_escape").decode("ascii") if is_control else char


class ResolverError(Exception):
    """A failure with a message for the user.

    `message` says what happened; `where` is a file with line and key, or an address without credentials; `why` is the
    cause; `hint` says what to do.
    """

    exit_status: ClassVar[int] = 2

    def __init__(self, message: str, *, where: str = "", why: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.why = why
        self.hint = hint

    def parts(self) -> dict[str, str]:
        """The parts of the message by name, for `--json`."""
        return {"message": self.message, "where": self.where, "why": self.why, "hint": self.hint}

    def __str__(self) -> str:
        lines = [escaped(self.message)]
        if self.where:
            lines.append(f"  at {escaped(self.where)}")
        if self.why:
            lines.append(f"  {escaped(self.why)}")
        if self.hint:
            first, *others = self.hint.split("\n")
            lines += [f"hint: {escaped(first)}", *map(escaped, others)]
        return "\n".join(lines)


class InputError(ResolverError):
    """A stack, fact, option or file on this machine is wrong (exit status 2)."""


class NothingToLock(ResolverError):
    """Nothing of a stack applies to a target (exit status 1)."""

    exit_status = 1


class IndexFailure(ResolverError):
    """An index could not be reached, or answered with something unusable (exit status 3)."""

    exit_status = 3


class Unreachable(IndexFailure):
    """An index did not answer, as opposed to answering something unusable."""


class WrongRelease(IndexFailure):
    """A file's metadata names another release than the file's name does."""


class StaleLock(ResolverError):
    """A lock is missing or stale, or a bundle is incomplete (exit status 4)."""

    exit_status = 4


class UndecidedError(ResolverError):
    """No engine could decide within its limits (exit status 3): never reported as "no solution"."""

    exit_status = 3


def closest(name: str, known: Iterable[str], cutoff: float = _SIMILAR) -> str:
    """The most similar of the known names; "" if none is as similar as `cutoff`."""
    from difflib import get_close_matches  # most runs have no mistake

    return next(iter(get_close_matches(name, [*known], n=1, cutoff=cutoff)), "")


def did_you_mean(name: str, known: Iterable[str], otherwise: str, cutoff: float = _SIMILAR) -> str:
    """A hint with the most similar of the known names; `otherwise` if none is similar."""
    close = closest(name, known, cutoff)
    return f"did you mean `{close}`?" if close else otherwise
