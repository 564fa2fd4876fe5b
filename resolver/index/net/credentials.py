"""Users and passwords for requests."""

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
    """User and password of an index for its own origin, or of netrc for a host.

    An entry of netrc is for the host that it names, and its `default` entry for the hosts of
    configured indexes alone: whatever else an index links or redirects to is told neither. Raises
    InputError for a bad netrc.
    """

    def __init__(self) -> None:
        self._of_indexes: dict[Origin, str] = {}
        # The hosts of configured indexes.
        self._hosts: set[str] = set()
        self._netrc = _read_netrc()

    def remember(self, root: Root) -> None:
        """Use the credentials of an index for its own origin.

        If an address has only a user, netrc may have both, as in pip; otherwise the user is a
        token.
        """
        origin = origin_of(root.url)
        self._hosts.add(origin.host)
        is_token = bool(root.user) and not self._of_netrc(origin)
        if root.password or is_token:
            self._of_indexes[origin] = _basic(root.user, root.password)

    def header(self, origin: Origin) -> dict[str, str]:
        """Return the header field of a request to an origin; none without credentials."""
        value = self._of_indexes.get(origin) or self._of_netrc(origin)
        return {"Authorization": value} if value else {}

    def _of_netrc(self, origin: Origin) -> str:
        """Return the value for a host from netrc; "" if it has no entry."""
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
    return "Basic " + b64encode(f"{user}:{password}".encode()).decode()


def _read_netrc() -> netrc.netrc | None:
    """Return the netrc file, None if there is none. Raises InputError."""
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
        # With a line, the message quotes what may be a password.
        if error.lineno is None:
            # The file is of another user or accessible to others.
            why = literal(error.msg)
            hint = phrase("make it accessible only to you: chmod 600 {file}", file=where)
        else:
            why = phrase(
                "Line {line} or the one before it does not have that form.", line=error.lineno
            )
    raise InputError(phrase("The netrc file cannot be read."), where=where, why=why, hint=hint)
