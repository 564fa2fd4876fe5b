"""What people may see of addresses: no user, password, query or fragment.

This holds however badly an address is written. If it is not certain where its host begins, only
its scheme is shown.

The texts are anybody's, so a long one is cut before it is looked at, and every regular expression
takes time in proportion to the length of its text.

verify.py contains this module, so it uses only the standard library.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

# The most characters of a text that are looked at. A path has at most 4,096.
LONGEST = 5_000

_USER = re.compile(r"://[^\s/?#\"']*@")
# No scheme is longer; without a limit, each letter of a long text would be tried as its beginning.
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,30}://")
_KNOWN_SCHEME = re.compile(r"(https?|ssh|file)://", re.IGNORECASE)
# The beginning of a query, of a fragment or of parameters.
_QUERY = re.compile(r"[?#;]")
_COMMIT_HASH = re.compile(r"[0-9a-f]{40}")
# A host with a port, or nothing, as in file:///path. Anything else may be part of a password.
_HOST = re.compile(r"(?P<name>[\w.-]*|\[[0-9A-Za-z:.%]+\])(?P<port>:[0-9]+)?")
# What ends in `…` was cut, perhaps before the `@` after a password.
_PATH = re.compile(r"[^\"'`<>\\@…]*")
_REVISION = re.compile(r"[\w.+-]*")
# A revision that is no name of a host.
_TAG = re.compile(r"v[0-9][\w.+-]*")
# A text is cut at no other white space: a password may have it.
_WORD = re.compile(r"[^ \t\n]+")
# What a word has that may hold an address, besides `//` before a letter or digit.
_ADDRESS_MARK = re.compile(r"[A-Za-z]:/|[^@]@+[^@]")
_WORD_CHARACTER = re.compile(r"\w")
_OPENING = "([{<\"'`"
_CLOSING = ")]}>\"'`,.;:"
# What a word has that may end an address whose password has spaces.
_LOOSE_MARK = re.compile(r"@\w|[^\W…]@")
_BEFORE_ADDRESS = re.compile(r"[\w.-]*[=(\[<\"'`]*")


def shown_address(address: str) -> str:
    """Return what may be shown of an address: scheme, host and path.

    User, password, query and fragment may be secrets, and need not be escaped properly. If it is
    not certain where the host begins, or whether the path is one, only the scheme is left.
    """
    match = _SCHEME.match(address)
    scheme = match[0] if match else ""
    location = _QUERY.split(address[len(scheme) :], maxsplit=1)[0]
    query = address[len(scheme) + len(location) :]
    authority, slash, path = location.partition("/")
    user, at, host_and_port = authority.rpartition("@")
    host = _HOST.fullmatch(host_and_port)
    lacks_host = at != "" and host_and_port == ""
    if host is None or lacks_host or "@" in query:
        return f"{scheme}…"
    # `me:12/…@host` has a user and a password
    may_be_user = host["port"] is not None and not at
    if not _is_path(path, is_git=scheme.startswith("git+"), may_follow_user=may_be_user):
        return f"{scheme}…"
    # what is left of user and password
    hidden = "…@" if user == "…" or (at and not scheme) else ""
    return f"{scheme}{hidden}{host_and_port}{slash}{path}"


def _is_path(path: str, *, is_git: bool, may_follow_user: bool) -> bool:
    """Return whether a path, which may end in a revision of git, is certainly no password."""
    before_revision, at, revision = path.partition("@")
    if _PATH.fullmatch(before_revision) is None:
        return False
    if not at:
        return True
    form = _TAG if may_follow_user else _REVISION
    is_revision = is_git and form.fullmatch(revision) is not None
    return is_revision or _COMMIT_HASH.fullmatch(revision) is not None


def is_certain(address: str) -> bool:
    """Return whether it is certain what of an address is host and path, and what a secret."""
    return "…" not in shown_address(address)


def without_secrets(text: str) -> str:
    """Return the text with each address in it as `shown_address` shows it.

    An address goes on to the next white space, whatever quotes are in it, since a password may have
    any character. If there is an `@` later in its line that is in no other address, it goes on to
    the last such `@`, since a password may have spaces.

    Of a text of more than `LONGEST` characters, only the beginning is looked at and returned. The
    word that is cut is left out, and the last address of the line is taken to go on behind the cut.
    """
    if len(text) <= LONGEST:
        return _redacted(text)
    beginning = text[: LONGEST - 1]
    end_of_word = max(map(beginning.rfind, " \t\n"))
    *lines, cut_line = beginning[: end_of_word + 1].split("\n")
    shown = [_line_without_secrets(line) for line in lines]
    end = _line_without_secrets(cut_line, is_cut=True).rstrip("…")
    return "\n".join([*shown, f"{end}…"])


def _redacted(text: str) -> str:
    return "\n".join(map(_line_without_secrets, text.split("\n")))


def _line_without_secrets(line: str, *, is_cut: bool = False) -> str:
    return "".join(_shown_pieces(line, len(line) + 1 if is_cut else _loose_end(line)))


def _loose_end(line: str) -> int:
    """Return where the last word ends that may end an address before it, 0 if there is none."""
    end = 0
    for word in _WORD.finditer(line):
        if _LOOSE_MARK.search(word[0]) and not _KNOWN_SCHEME.search(word[0]):
            end = word.end()
    return end


def _shown_pieces(line: str, loose_end: int) -> Iterator[str]:
    """Yield what may be shown of a line.

    An address with a scheme goes on to `loose_end` if it ends before it.
    """
    end = 0
    for word in _WORD.finditer(line):
        if word.start() < end or not _may_hold_address(word[0]):
            continue
        yield line[end : word.start()]
        scheme = _SCHEME.search(word[0])
        if scheme is not None and word.end() < loose_end:
            yield f"{scheme[0]}…"
            end = loose_end
        else:
            yield _shown_word(word[0])
            end = word.end()
    yield line[end:]


def _may_hold_address(word: str) -> bool:
    slashes = word.find("//")
    has_location = slashes >= 0 and _WORD_CHARACTER.search(word, slashes) is not None
    return has_location or _ADDRESS_MARK.search(word) is not None


def _shown_word(word: str) -> str:
    """Return what may be shown of a word that may have an address in it."""
    opened = word.lstrip(_OPENING)
    inner = opened.rstrip(_CLOSING)
    opening = word[: len(word) - len(opened)]
    closing = opened[len(inner) :]
    before_at = inner.rpartition("@")[0]
    is_file = inner.startswith("/") and not inner.startswith("//") and ":" not in before_at
    # `@` by itself, or before a revision
    is_revision = not before_at and "/" not in inner
    if is_file or is_revision:
        return word
    scheme = _SCHEME.search(inner)
    start = scheme.start() if scheme is not None else 0
    before = inner[:start]
    if _BEFORE_ADDRESS.fullmatch(before) is None:
        return "…"
    address = shown_address(inner[start:])
    return f"{opening}{before}{address}{closing}" if address else "…"


def without_users(text: str) -> str:
    """Return the text without user and password in its addresses, else unchanged, for a digest."""
    return _USER.sub("://", text)
