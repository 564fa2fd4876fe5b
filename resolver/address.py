"""Functions that split and join addresses (URLs).

For any text they return a result or raise AddressError. The parser of urllib raises several kinds
of exceptions, some of them only when a part of the result is read. So no other module calls it,
which ruff's rule TID251 checks. Only `index/net/sendable` calls the parser of httpx.

verify.py contains this module, so it uses only the standard library.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple
from urllib.parse import urljoin, urlsplit, urlunsplit


class AddressError(ValueError):
    """A text is not an address.

    The message is a clause ("it cannot be read"). It does not quote the text, which may contain a
    password.
    """

    def __init__(self) -> None:
        super().__init__("it cannot be read")


class Address(NamedTuple):
    """The parts of an address. A part that the address does not have is an empty text."""

    # The scheme, in lower case.
    scheme: str
    # User, password, host and port, as written.
    netloc: str
    # The host, in lower case and without the brackets of IPv6.
    host: str
    # The port; None if the address has none.
    port: int | None
    # The path, with its first slash.
    path: str
    # The query, without `?`.
    query: str
    # The fragment, without `#`.
    fragment: str
    # The user; None if there is no `@`.
    user: str | None
    # The password; None if there is no `:` before an `@`.
    password: str | None

    def without_query(self) -> str:
        """Return the address as text, without query and fragment."""
        return urlunsplit((self.scheme, self.netloc, self.path, "", ""))


# Each request splits its address several times, so results are cached. Longer addresses are not
# cached, since an index may send any number of them.
_LONGEST_KEPT = 1000
# How many addresses are cached.
_KEPT = 1000


def split(url: str) -> Address:
    """Return the parts of an address. Raises AddressError if the text is not an address."""
    return _split(url) if len(url) > _LONGEST_KEPT else _split_and_keep(url)


def _split(url: str) -> Address:
    """Return the parts of an address, without caching them. Raises AddressError."""
    try:
        parts = urlsplit(url)
        return Address(
            scheme=parts.scheme,
            netloc=parts.netloc,
            host=parts.hostname or "",
            # `urlsplit` does not parse the port; reading this attribute may raise ValueError.
            port=parts.port,
            path=parts.path,
            query=parts.query,
            fragment=parts.fragment,
            user=parts.username,
            password=parts.password,
        )
    except ValueError:
        raise AddressError from None


_split_and_keep = lru_cache(_KEPT)(_split)


def join(base: str, reference: str) -> str:
    """Return the absolute address of a link on the page with the address `base`.

    Raises AddressError if one of the two is not an address.
    """
    try:
        return urljoin(base, reference)
    except ValueError:
        raise AddressError from None
