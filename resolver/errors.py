"""The errors that users see, each with an exit status, which is part of the command's contract."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import ClassVar, Final

CHANGED_UPSTREAM: Final = 5  # the exit status if indexes no longer agree with a lock or a fact

_USER = re.compile(r"://[^\s/?#\"']*@")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_KNOWN_SCHEME = re.compile(r"(https?|ssh|file)://", re.IGNORECASE)
# What begins what is no part of the path: a query, a fragment, parameters.
_QUERY = re.compile(r"[?#;]")
_COMMIT = re.compile(r"[0-9a-f]{40}")
# A host with a port, or none, as in file:///path. What is not written so may be part of a password.
_HOST = re.compile(r"(?P<name>[\w.-]*|\[[0-9A-Za-z:.%]+\])(?P<port>:[0-9]+)?")
_PATH = re.compile(r"[^\"'`<>\\@]*")
_REVISION = re.compile(r"[\w.+-]*")
# A text is cut at no other white space: a password may have it.
_WORD = re.compile(r"[^ \t\n]+")
_ADDRESS_MARK = re.compile(r"//.*\w|[A-Za-z]:/|[^@]@+[^@]")
_WORD_PARTS = re.compile(
    r"(?P<opening>[(\[{<\"'`]*)(?P<inner>.*?)(?P<closing>[)\]}>\"'`,.;:]*)", re.DOTALL
)
_LOOSE_MARK = re.compile(r"@\w|[^\W…]@")
_BEFORE_ADDRESS = re.compile(r"[\w.-]*[=(\[<\"'`]*")
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
    return "".join(
        char if char.isprintable() or char in kept else _escaped_char(char) for char in text
    )


def shown_address(address: str) -> str:
    """Return what may be shown of an address: scheme, host and path.

    User and password, query and fragment may be secrets, also where they are not escaped. If it is
    not certain where the host begins, or whether the path is one, only the scheme is left.
    """
    scheme = match[0] if (match := _SCHEME.match(address)) else ""
    location = _QUERY.split(address[len(scheme) :], maxsplit=1)[0]
    after_path = address[len(scheme) + len(location) :]
    authority, slash, path = location.partition("/")
    user, mark, host_port = authority.rpartition("@")
    host = _HOST.fullmatch(host_port)
    before_revision, at, revision = path.partition("@")
    is_path = _PATH.fullmatch(before_revision) is not None
    if at:
        is_name = scheme.startswith("git+") and _REVISION.fullmatch(revision)
        is_path = (
            is_path
            and host is not None
            and not host["port"]
            and bool(_COMMIT.fullmatch(revision) or is_name)
        )
    if host is None or not is_path or "@" in after_path:
        return f"{scheme}…"
    # such a mark is all that is left of a user and password
    hidden = "…@" if user == "…" or (mark and not scheme) else ""
    return f"{scheme}{hidden}{host[0]}{slash}{before_revision}{at}{revision}"


def without_secrets(text: str) -> str:
    """Return the text with each address in it as `shown_address` has it.

    An address goes on to the next white space, whatever quotes are in it, since a password may have
    any character; and to the last `@` of its line that is in no other address, since it may have
    spaces.
    """
    return "\n".join(map(_line_without_secrets, text.split("\n")))


def _line_without_secrets(line: str) -> str:
    shown, end = "", 0
    words = [*_WORD.finditer(line)]
    # the ends of words that may be the last part of an address whose password has spaces
    ends = [
        match.end()
        for match in words
        if _LOOSE_MARK.search(match[0]) and not _KNOWN_SCHEME.search(match[0])
    ]
    for match in words:
        word = match[0]
        if match.start() < end or not _ADDRESS_MARK.search(word):
            continue
        scheme = _SCHEME.search(word)
        last = ends[-1] if scheme is not None and ends else 0
        is_whole = last <= match.end()
        shown += line[end : match.start()] + (
            _shown_word(word) if is_whole or scheme is None else f"{scheme[0]}…"
        )
        end = max(match.end(), last)
    return shown + line[end:]


def _shown_word(word: str) -> str:
    """Return what may be shown of a word that may have an address in it."""
    parts = _WORD_PARTS.fullmatch(word)
    assert parts is not None  # noqa: S101
    inner = parts["inner"]
    before_mark = inner.rpartition("@")[0]
    is_path = inner.startswith("/") and not inner.startswith("//") and ":" not in before_mark
    # `@` by itself, or before a revision
    is_plain = not before_mark and "/" not in inner
    if is_path or is_plain:
        return word
    scheme = _SCHEME.search(inner)
    start = scheme.start() if scheme is not None else 0
    before = inner[:start]
    address = shown_address(inner[start:]) if _BEFORE_ADDRESS.fullmatch(before) else ""
    return f"{parts['opening']}{before}{address}{parts['closing']}" if address else "…"


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

    `message` says what happened; `where` is a file with line and key, or an address; `why` is the
    cause; `hint` says what to do. Of addresses in them only what may be shown is kept, except in
    the hint, which is our own text.
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
