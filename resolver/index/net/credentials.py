"""Find the user and password for a request, in the address of an index or in the netrc file."""

from __future__ import annotations

import netrc
import os
from base64 import b64encode
from pathlib import Path

from resolver.errors import InputError
from resolver.files import is_special
from resolver.index.parse.address import Origin, Root, origin_of
from resolver.phrase import literal, phrase


class Credentials:
    """Users and passwords for requests.

    Credentials in the address of an index are sent to the origin of that index only. Credentials of
    an entry in netrc are sent to the host that the entry names. Credentials of the `default` entry
    are sent to the hosts of configured indexes only. So no other host to which an index links or
    redirects gets them.
    """

    def __init__(self) -> None:
        """Read the netrc file. Raises InputError if it cannot be read."""
        # The value of the header field Authorization.
        self._of_indexes: dict[Origin, str] = {}
        # The hosts of configured indexes.
        self._hosts: set[str] = set()
        self._netrc = _read_netrc()

    def remember(self, root: Root) -> None:
        """Use the credentials in the address of an index for its origin.

        If the address has only a user, an entry of netrc for the host is preferred, as in pip;
        without one the user is sent as a token, with an empty password.
        """
        origin = origin_of(root.url)
        self._hosts.add(origin.host)
        is_token = bool(root.user) and not self._of_netrc(origin)
        if root.password or is_token:
            self._of_indexes[origin] = _basic(root.user, root.password)

    def header(self, origin: Origin) -> dict[str, str]:
        """Return the header field Authorization for an origin; no field without credentials."""
        value = self._of_indexes.get(origin) or self._of_netrc(origin)
        return {"Authorization": value} if value else {}

    def _of_netrc(self, origin: Origin) -> str:
        """Return the value of Authorization for a host from netrc; "" if netrc has no entry."""
        if self._netrc is None:
            return ""
        entries = dict(self._netrc.hosts)
        default = entries.pop("default", None)
        entry = entries.get(origin.host)
        if entry is None and origin.host in self._hosts:
            entry = default
        if entry is None:
            return ""
        user, _, password = entry
        return _basic(user, password or "")


def _basic(user: str, password: str) -> str:
    """Return the value of Authorization for a user and password (RFC 7617)."""
    return "Basic " + b64encode(f"{user}:{password}".encode()).decode()


def _read_netrc() -> netrc.netrc | None:
    """Return the entries of the netrc file; None if there is no file that can be opened.

    Raises InputError if it is not a valid netrc file, or if others may read it.
    """
    file = os.environ.get("NETRC")
    where = file or "~/.netrc"
    path = os.path.expanduser(where)  # noqa: PTH111 -- Path raises RuntimeError without a home
    hint = phrase(
        "an entry is `machine HOST login USER password PASSWORD` (NETRC names another file)"
    )
    try:
        if not is_special(Path(path)):
            return netrc.netrc(file and path)
        why = phrase("It is not a regular file.")
    except OSError:
        return None
    except UnicodeDecodeError:
        why = phrase("It is not UTF-8.")
    except netrc.NetrcParseError as error:
        # An error with a line quotes that line, which may have a password.
        if error.lineno is None:
            # The file belongs to another user, or is accessible to others.
            why = literal(error.msg)
            hint = phrase("make it accessible only to you: chmod 600 {file}", file=where)
        else:
            why = phrase(
                "Line {line} or the one before it does not have that form.", line=error.lineno
            )
    raise InputError(phrase("The netrc file cannot be read."), where=where, why=why, hint=hint)
