"""Whose user and password go to which server."""

from __future__ import annotations

import netrc
import os
from base64 import b64encode
from pathlib import Path

from resolver.errors import InputError
from resolver.files import is_special
from resolver.index.parse.address import Origin, Root, origin


class Credentials:
    """User and password of an index for its own origin, those of netrc for its host, and none for any other.

    Raises InputError if there is a netrc file that cannot be read.
    """

    def __init__(self) -> None:
        self._given: dict[Origin, str] = {}
        self._netrc = _read_netrc()

    def remember(self, root: Root) -> None:
        """Send the credentials of an index to its own origin, and nowhere else.

        If an address has only a user, netrc may have both, as in pip; otherwise it is a token.
        """
        where = origin(root.url)
        if root.password or (root.user and not self._of_netrc(where)):
            self._given[where] = _basic(root.user, root.password)

    def header(self, where: Origin) -> dict[str, str]:
        """The header field of a request to an origin, if it has one."""
        value = self._given.get(where) or self._of_netrc(where)
        return {"Authorization": value} if value else {}

    def _of_netrc(self, where: Origin) -> str:
        """The entry of netrc for a host; "" if there is none."""
        entry = self._netrc.authenticators(where.host) if self._netrc is not None else None
        return _basic(entry[0], entry[2] or "") if entry else ""


def _basic(user: str, password: str) -> str:
    return "Basic " + b64encode(f"{user}:{password}".encode()).decode()


def _read_netrc() -> netrc.netrc | None:
    named = os.environ.get("NETRC")
    where = named or "~/.netrc"
    hint = "an entry is `machine HOST login USER password PASSWORD` (NETRC names another file)"
    try:
        if not is_special(Path(where).expanduser()):
            return netrc.netrc(named)
        why = "It is not a regular file."
    except OSError:
        return None
    except UnicodeDecodeError:
        why = "It is not UTF-8."
    except netrc.NetrcParseError as error:  # with a line, the message quotes what may be a password
        if error.lineno is None:  # Python reads passwords from nobody's file but the user's
            why, hint = error.msg, f"make it accessible only to you: chmod 600 {where}"
        else:
            why = f"Line {error.lineno} or the one before it does not have that form."
    raise InputError("The netrc file cannot be read.", where=where, why=why, hint=hint)
