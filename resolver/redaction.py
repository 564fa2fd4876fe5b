"""Functions that remove secrets from addresses: user, password, query and fragment.

They also work for addresses that are badly written. If it is uncertain where the host of an address
begins, only its scheme is shown.

The texts may come from anybody. So a long text is cut first, and each regular expression takes time
in proportion to the length of its text.

verify.py contains this module, so it uses only the standard library.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

# The most characters of a text that are looked at. A path has at most 4,096.
LONGEST = 5_000

# User and password of an address.
_USER = re.compile(r"://[^\s/?#\"']*@")
# A scheme. No scheme is longer than 31 characters. Without a limit, the expression would take time
# in proportion to the square of a text's length.
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,30}://")
_KNOWN_SCHEME = re.compile(r"(https?|ssh|file)://", re.IGNORECASE)
# The beginning of a query, of a fragment or of parameters.
_QUERY = re.compile(r"[?#;]")
_COMMIT_HASH = re.compile(r"[0-9a-f]{40}")
# A host with a port, or nothing, as in file:///path. Anything else may be part of a password.
_HOST = re.compile(r"(?P<name>[\w.-]*|\[[0-9A-Za-z:.%]+\])(?P<port>:[0-9]+)?")
# A path. It has no `…`: a text that ends with `…` was cut, perhaps before the `@` after a password.
_PATH = re.compile(r"[^\"'`<>\\@…]*")
_REVISION = re.compile(r"[\w.+-]*")
# A revision that cannot be the name of a host.
_TAG = re.compile(r"v[0-9][\w.+-]*")
# The last label of the name of a host with its domain.
_TOP_LEVEL = re.compile(r"[A-Za-z][A-Za-z-]+")
# A word of a line. Other white space does not end a word, since a password may contain it.
_WORD = re.compile(r"[^ \t\n]+")
# Characters that show that a word may contain an address, besides `//` before a letter or digit.
_ADDRESS_MARK = re.compile(r"[A-Za-z]:/|[^@]@+[^@]")
_WORD_CHARACTER = re.compile(r"\w")
_OPENING = "([{<\"'`"
_CLOSING = ")]}>\"'`,.;:"
# Characters that show that a word may be the end of an address whose password contains spaces.
_LOOSE_MARK = re.compile(r"@\w|[^\W…]@")
# What may stand before an address in a word, such as `url=`.
_BEFORE_ADDRESS = re.compile(r"[\w.-]*[=(\[<\"'`]*")


def shown_address(address: str) -> str:
    """Return the scheme, the host and the path of an address, without secrets.

    User, password, query and fragment may be secrets, and they may be written without proper
    escapes. If it is uncertain where the host begins, or whether the rest is really a path, only
    the scheme and `…` are returned.
    """
    match = _SCHEME.match(address)
    scheme = match[0] if match else ""
    location = _QUERY.split(address[len(scheme) :], maxsplit=1)[0]
    query = address[len(scheme) + len(location) :]
    authority, slash, path = location.partition("/")
    user, at_sign, host_and_port = authority.rpartition("@")
    host = _HOST.fullmatch(host_and_port)
    lacks_host = at_sign != "" and host_and_port == ""
    if host is None or lacks_host or "@" in query:
        return f"{scheme}…"
    # In `me:12/…@host`, `me` is a user and `12/…` a password.
    may_be_user = host["port"] is not None and not at_sign
    # So may it be in `TOKEN/…@host` without a path. The user of ssh is followed by its host.
    is_ssh_host = at_sign != "" and scheme.endswith("ssh://")
    may_be_user |= authority != "" and not is_ssh_host and "/" not in path.partition("@")[0]
    if not _is_path(path, is_git=scheme.startswith("git+"), may_follow_user=may_be_user):
        return f"{scheme}…"
    # `…@` shows that there was a user: it was removed before, or the address has no scheme.
    hidden = "…@" if user == "…" or (at_sign and not scheme) else ""
    return f"{scheme}{hidden}{host_and_port}{slash}{path}"


def _is_path(path: str, *, is_git: bool, may_follow_user: bool) -> bool:
    """Return whether a text is certainly a path, and not a part of a password.

    With `is_git` it may end in `@` and a revision of git. `may_follow_user` is set if what stands
    before it may be a user instead of a host.
    """
    before_revision, at_sign, revision = path.partition("@")
    if _PATH.fullmatch(before_revision) is None:
        return False
    if not at_sign:
        return True
    _, dot, last_label = revision.rpartition(".")
    may_be_host = dot != "" and _TOP_LEVEL.fullmatch(last_label) is not None
    form = _TAG if may_follow_user or may_be_host else _REVISION
    is_revision = is_git and form.fullmatch(revision) is not None
    return is_revision or _COMMIT_HASH.fullmatch(revision) is not None


def is_certain(address: str) -> bool:
    """Return whether it is certain which parts of an address are host, path and secrets."""
    return "…" not in shown_address(address)


def without_secrets(text: str) -> str:
    """Return a text in which each address is replaced by what `shown_address` returns.

    An address ends at the next white space, even if quotes come before it, since a password may
    contain any character. A password may also contain spaces. So if an `@` that belongs to no other
    address follows in the same line, the address ends at the word of the last such `@`.

    A text of more than `LONGEST` characters is cut. A word at the cut is left out, and the last
    address of the cut line counts as if it went on behind the cut.
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
    """Return a text of any length without the secrets of addresses."""
    return "\n".join(map(_line_without_secrets, text.split("\n")))


def _line_without_secrets(line: str, *, is_cut: bool = False) -> str:
    """Return a line without the secrets of addresses.

    With `is_cut`, its last address counts as if it went on behind the end of the line.
    """
    return "".join(_shown_pieces(line, len(line) + 1 if is_cut else _loose_end(line)))


def _loose_end(line: str) -> int:
    """Return the end of the last word in a line that may be the end of an address before it.

    The result is 0 if there is no such word.
    """
    end = 0
    for word in _WORD.finditer(line):
        if _LOOSE_MARK.search(word[0]) and not _KNOWN_SCHEME.search(word[0]):
            end = word.end()
    return end


def _shown_pieces(line: str, loose_end: int) -> Iterator[str]:
    """Yield the pieces of a line without secrets.

    An address with a scheme whose word ends before `loose_end` counts as ending there.
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
    """Return whether a word may contain an address."""
    slashes = word.find("//")
    has_location = slashes >= 0 and _WORD_CHARACTER.search(word, slashes) is not None
    return has_location or _ADDRESS_MARK.search(word) is not None


def _shown_word(word: str) -> str:
    """Return a word that may contain an address, without secrets."""
    opened = word.lstrip(_OPENING)
    inner = opened.rstrip(_CLOSING)
    opening = word[: len(word) - len(opened)]
    closing = opened[len(inner) :]
    before_at = inner.rpartition("@")[0]
    is_file = inner.startswith("/") and not inner.startswith("//") and ":" not in before_at
    # The word is `@` alone, or `@` before a revision.
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
    """Return a text without user and password in its addresses, and otherwise unchanged.

    It is used for digests. It is not safe for showing a text to people: see `without_secrets`.
    """
    return _USER.sub("://", text)
