"""Which addresses may be requested, at first and after a redirect, and with whose user and password.

Those of an index go to its own origin, those of netrc to its host, and none anywhere else.
"""

from __future__ import annotations

import netrc
import os
import re
from base64 import b64encode
from pathlib import Path
from typing import Final
from urllib.parse import urljoin

import httpx

from resolver.errors import IndexFailure, InputError
from resolver.files import is_special
from resolver.index.parse.address import Origin, Root, is_allowed, is_local, origin, without_credentials

STATUSES: Final = frozenset({301, 302, 303, 307, 308})
MOST: Final = 10
_HOST: Final = re.compile(r"[A-Za-z0-9._-]+|[0-9A-Fa-f:.]+")


def allowed(hops: list[str]) -> tuple[httpx.URL, Origin]:
    """The last of these addresses as it is sent, and its origin. Raises IndexFailure if it must not be requested."""
    first, hop = hops[0], hops[-1]
    try:
        where = origin(hop)
        url = httpx.URL(hop)
    except httpx.InvalidURL as error:
        raise refused(hops, f"It cannot be read: {error}.") from None
    except ValueError as error:
        raise refused(hops, str(error)) from None
    sent = url.raw_host.decode("ascii")
    if len(hops) > 1 and (is_local(where.host) or is_local(sent)) and not is_local(origin(first).host):
        raise refused(
            hops,
            "It is an address on this machine or its local link; only an index on this machine may redirect there.",
        )
    if not is_allowed(where):
        raise refused(hops, "Only https is allowed, and plain http only to this machine.")
    # In another form of host, a library might see another one than the one that was checked.
    if url.userinfo or not _HOST.fullmatch(sent) or where.host not in (url.host, sent):
        raise refused(hops, f"It cannot be read: `{without_credentials(where.host)}` is not a host.")
    return url, where


def target(hops: list[str], location: str) -> str:
    """The address that a redirect leads to. Raises IndexFailure if it has none, or there are too many."""
    if len(hops) > MOST:
        raise IndexFailure(
            "An index redirects in a loop.",
            where=shown(hops[0]),
            why=f"There were more than {MOST} redirects.",
            hint="check the address of the index; a proxy or mirror may be set up wrongly",
        )
    try:
        return without_credentials(urljoin(hops[-1], location))
    except ValueError:
        raise refused([*hops, location], "It cannot be read.") from None


def refused(hops: list[str], why: str) -> IndexFailure:
    """The failure of an address that must not be requested."""
    return IndexFailure(
        "The address is not allowed." if len(hops) == 1 else "An index redirects to an address that is not allowed.",
        where=way(hops),
        why=why,
        hint="check the address of the index and what it redirects to",
    )


def way(hops: list[str]) -> str:
    """The first and the last of these addresses, for people."""
    return shown(hops[0]) if hops[0] == hops[-1] else f"{shown(hops[0])} -> {shown(hops[-1])}"


def shown(url: str) -> str:
    """An address for people: without credentials and query, which may be a signature."""
    return without_credentials(url).partition("?")[0]


class Credentials:
    """Raises InputError if there is a netrc file that cannot be read."""

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
        if is_special(Path(where).expanduser()):
            why = "It is not a regular file."
        else:
            return netrc.netrc(named)
    except OSError:
        return None
    except netrc.NetrcParseError as error:  # with a line, the message quotes what may be a password
        why = (
            error.msg if error.lineno is None else f"Line {error.lineno} or the one before it does not have that form."
        )
        if error.lineno is None:  # Python reads passwords from nobody's file but the user's
            hint = f"make it accessible only to you: chmod 600 {where}"
    except UnicodeDecodeError:
        why = "It is not UTF-8."
    raise InputError("The netrc file cannot be read.", where=where, why=why, hint=hint)
