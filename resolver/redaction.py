"""What people may see of addresses: no user, password, query or fragment.

This holds however badly an address is written. If it is not certain where its host begins, only
its scheme is shown.
"""

from __future__ import annotations

import re

_USER = re.compile(r"://[^\s/?#\"']*@")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_KNOWN_SCHEME = re.compile(r"(https?|ssh|file)://", re.IGNORECASE)
# The beginning of a query, of a fragment or of parameters.
_QUERY = re.compile(r"[?#;]")
_COMMIT = re.compile(r"[0-9a-f]{40}")
# A host with a port, or nothing, as in file:///path. Anything else may be part of a password.
_HOST = re.compile(r"(?P<name>[\w.-]*|\[[0-9A-Za-z:.%]+\])(?P<port>:[0-9]+)?")
_PATH = re.compile(r"[^\"'`<>\\@]*")
_REVISION = re.compile(r"[\w.+-]*")
# A text is cut at no other white space: a password may have it.
_WORD = re.compile(r"[^ \t\n]+")
# What a word has that may hold an address.
_ADDRESS_MARK = re.compile(r"//.*\w|[A-Za-z]:/|[^@]@+[^@]")
_WORD_PARTS = re.compile(
    r"(?P<opening>[(\[{<\"'`]*)(?P<inner>.*?)(?P<closing>[)\]}>\"'`,.;:]*)", re.DOTALL
)
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
    if host is None or "@" in query:
        return f"{scheme}…"
    if not _is_path(path, is_git=scheme.startswith("git+"), has_port=host["port"] is not None):
        return f"{scheme}…"
    # what is left of user and password
    hidden = "…@" if user == "…" or (at and not scheme) else ""
    return f"{scheme}{hidden}{host_and_port}{slash}{path}"


def _is_path(path: str, *, is_git: bool, has_port: bool) -> bool:
    """Return whether a path, which may end in a revision of git, is certainly no password."""
    before_revision, at, revision = path.partition("@")
    if _PATH.fullmatch(before_revision) is None:
        return False
    if not at:
        return True
    if has_port:
        # `me:12/…@host` has a user and a password
        return False
    is_revision = is_git and _REVISION.fullmatch(revision) is not None
    return is_revision or _COMMIT.fullmatch(revision) is not None


def without_secrets(text: str) -> str:
    """Return the text with each address in it as `shown_address` shows it.

    An address goes on to the next white space, whatever quotes are in it, since a password may have
    any character. If there is an `@` later in its line that is in no other address, it goes on to
    the last such `@`, since a password may have spaces.
    """
    return "\n".join(map(_line_without_secrets, text.split("\n")))


def _line_without_secrets(line: str) -> str:
    loose_end = 0
    for word in _WORD.finditer(line):
        if _LOOSE_MARK.search(word[0]) and not _KNOWN_SCHEME.search(word[0]):
            loose_end = word.end()
    shown = ""
    end = 0
    for word in _WORD.finditer(line):
        if word.start() < end or not _ADDRESS_MARK.search(word[0]):
            continue
        shown += line[end : word.start()]
        scheme = _SCHEME.search(word[0])
        if scheme is not None and word.end() < loose_end:
            shown += f"{scheme[0]}…"
            end = loose_end
        else:
            shown += _shown_word(word[0])
            end = word.end()
    return shown + line[end:]


def _shown_word(word: str) -> str:
    """Return what may be shown of a word that may have an address in it."""
    parts = _WORD_PARTS.fullmatch(word)
    assert parts is not None  # noqa: S101
    inner = parts["inner"]
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
    return f"{parts['opening']}{before}{address}{parts['closing']}" if address else "…"


def without_users(text: str) -> str:
    """Return the text without user and password in its addresses, else unchanged, for a digest."""
    return _USER.sub("://", text)
