"""Hide the `default` entry of netrc from git.

Git reads netrc through curl, which tells the user and password of the `default` entry to any host
that asks for them: the host of a repository that a stack names, and any other to which that one
redirects. No setting of git or curl prevents it. So where netrc has such an entry, git gets a home
in which everything is a link to what the user's home has, except for netrc.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from resolver.files import is_special

_NAME: Final = ".netrc"
# curl reads keywords in any case. The bytes of a file are one character each.
_ENCODING: Final = "latin-1"
_MACRO: Final = re.compile(r"(?<!\S)macdef\s.*?(?:\n[ \t\r]*\n|\Z)", re.DOTALL | re.IGNORECASE)
_COMMENT: Final = re.compile(r"^[ \t]*#.*$", re.MULTILINE)
_TOKEN: Final = re.compile(r'"(?:\\.|[^"\\])*"|\S+', re.DOTALL)
_KEYWORDS: Final = frozenset(("machine", "login", "account", "password"))


@contextmanager
def without_default_entry() -> Iterator[dict[str, str]]:
    """Yield the environment variables by which git finds no `default` entry in netrc.

    There are none if the netrc file of the user has no such entry. Otherwise they name a home that
    is removed in the end. It lacks netrc altogether if that is no regular file.
    """
    try:
        home = Path.home().absolute()
        netrc = home / _NAME
        text = "default" if is_special(netrc) else netrc.read_bytes().decode(_ENCODING)
    except (OSError, RuntimeError):
        # git finds no netrc, either.
        yield {}
        return
    if "default" not in text.lower():
        yield {}
        return
    with TemporaryDirectory(prefix=".ascend-lock-", ignore_cleanup_errors=True) as temporary:
        _fill(Path(temporary), home, named_entries(text))
        yield {"HOME": temporary}


def _fill(folder: Path, home: Path, netrc: str) -> None:
    """Make links in a folder to all that a home has, but netrc, which gets another text."""
    with suppress(OSError):
        for path in home.iterdir():
            if path.name != _NAME:
                (folder / path.name).symlink_to(path)
    file = folder / _NAME
    file.touch(mode=0o600)
    file.write_bytes(netrc.encode(_ENCODING))


def named_entries(text: str) -> str:
    """Return the entries of a netrc file that name a machine.

    An entry is left out if it is not certain where it ends, as for curl any word `default` may
    begin one: also a password.
    """
    entries: list[list[str]] = []
    for token in _TOKEN.findall(_COMMENT.sub("", _MACRO.sub("\n", text))):
        if token.strip('"').lower() in ("machine", "default") or not entries:
            entries.append([])
        entries[-1].append(token)
    return "".join(f"{' '.join(entry)}\n" for entry in entries if _is_of_machine(entry))


def _is_of_machine(entry: list[str]) -> bool:
    """Return whether the tokens are `machine NAME`, and keywords with one value each."""
    keywords = [token.lower() for token in entry[::2]]
    return keywords[0] == "machine" and len(entry) % 2 == 0 and _KEYWORDS.issuperset(keywords)
