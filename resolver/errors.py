"""The errors that users see. Each has an exit status, which is part of the command's contract."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Final

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
    """A failure with a message for the user. The texts keep no secrets of addresses."""

    exit_status: ClassVar[int] = 2

    def __init__(self, message: str, *, where: str = "", why: str = "", hint: str = "") -> None:
        # What happened.
        self.message = without_secrets(message)
        # A file with line and key, or an address.
        self.where = without_secrets(where)
        # The cause.
        self.why = without_secrets(why)
        # What to do. It is our own text, and may show what an address looks like.
        self.hint = hint
        super().__init__(self.message)

    def parts(self) -> dict[str, str]:
        """Return the parts of the message by name, for `--json`."""
        return {"message": self.message, "where": self.where, "why": self.why, "hint": self.hint}

    def __str__(self) -> str:
        lines = [escaped(self.message)]
        if self.where:
            lines.append(f"  at {escaped(self.where)}")
        if self.why:
            lines.append(f"  {escaped(self.why)}")
        if self.hint:
            hints = [escaped(line) for line in self.hint.split("\n")]
            lines += ["hint: " + hints[0], *hints[1:]]
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


def closest(name: str, known: Iterable[str], cutoff: float = _SIMILAR) -> str:
    """Return the most similar of the known names, empty if none is as similar as `cutoff`."""
    if len(name) > _LONGEST_NAME:
        return ""
    # most runs have no mistake
    from difflib import get_close_matches

    matches = get_close_matches(name, list(known), n=1, cutoff=cutoff)
    return matches[0] if matches else ""


def did_you_mean(name: str, known: Iterable[str], otherwise: str, cutoff: float = _SIMILAR) -> str:
    """Return a hint with the most similar of the known names; `otherwise` if none is similar."""
    close = closest(name, known, cutoff)
    return f"did you mean `{close}`?" if close else otherwise
