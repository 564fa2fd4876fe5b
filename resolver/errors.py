"""The errors that users see, each with an exit status, which is part of the command's contract."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import ClassVar, Final

CHANGED_UPSTREAM: Final = 5  # the exit status if indexes no longer agree with a lock or a fact

_USER = re.compile(r"://[^\s/?#\"']*@")
# What closes a sentence or a bracket after an address is no part of it.
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s\"'`<>]*[^\s\"'`<>,.;:)]")
_QUERY = re.compile(r"[?#]")
_COMMIT = re.compile(r"[0-9a-f]{40}")
# A host with a port, or none, as in file:///path. What is not written so may be part of a password.
_HOST = re.compile(r"(?P<name>[^\s@:\\]*|\[[0-9A-Za-z:.%]+\])(?P<port>:[0-9]+)?")
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


def shown_address(address: str) -> str:
    """Return what may be shown of an address: scheme, host and path.

    User and password, query and fragment may be secrets, also where they are not escaped. If it is not certain where
    the host begins, only the scheme is left. Text without a scheme is shown only up to its query.
    """
    scheme, mark, location = _QUERY.split(address, maxsplit=1)[0].partition("://")
    if not mark:
        return scheme
    # such a mark is all that is left of a user and password
    hidden = "…@" if location.startswith("…@") else ""
    authority, slash, path = location.partition("/")
    host = _HOST.fullmatch(authority.rpartition("@")[2])
    before_revision, at, revision = path.partition("@")
    is_revision = _COMMIT.fullmatch(revision) or (scheme.startswith("git+") and "@" not in revision)
    if host is None or (at and (host["port"] or not is_revision)):
        return f"{scheme}://…"
    return f"{scheme}://{hidden}{host[0]}{slash}{before_revision}{at}{revision}"


def without_secrets(text: str) -> str:
    """Return the text with each address in it as `shown_address` has it."""
    return _ADDRESS.sub(lambda match: shown_address(match[0]), text)


def without_users(text: str) -> str:
    """Return the text without user and password in its addresses, but otherwise as it is, for a digest."""
    return _USER.sub("://", text)


def _escaped_char(char: str) -> str:
    from unicodedata import category  # hardly any text needs it, and it takes 2 ms to load

    # Cc, Cf, Cs, Co, Cn; and the separators of lines and paragraphs
    is_control = category(char)[0] == "C" or category(char) in ("Zl", "Zp")
    return char.encode("unicode_escape").decode("ascii") if is_control else char


class ResolverError(Exception):
    """A failure with a message for the user.

    `message` says what happened; `where` is a file with line and key, or an address; `why` is the cause; `hint` says
    what to do. Of addresses in them only what may be shown is kept, except in the hint, which is our own text.
    """

    exit_status: ClassVar[int] = 2

    def __init__(self, message: str, *, where: str = "", why: str = "", hint: str = "") -> None:
        self.message = without_secrets(message)
        self.where = without_secrets(where)
        self.why = without_secrets(why)
        self.hint = hint
        super().__init__(self.message)

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
