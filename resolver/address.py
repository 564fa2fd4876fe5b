"""Addresses (URLs): split into parts, and joined.

Whatever a text holds, these functions return a result or raise AddressError. urllib raises several
kinds of exceptions, some of them only when a part of the result is read. So no other module calls
its parser, which ruff's rule TID251 checks; `index/net/sendable` alone calls that of httpx.

verify.py contains this module, so it uses only the standard library.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple
from urllib.parse import urljoin, urlsplit, urlunsplit


class AddressError(ValueError):
    """A text is no address. The message is a clause that quotes nothing of the text."""

    def __init__(self) -> None:
        super().__init__("it cannot be read")


class Address(NamedTuple):
    """The parts of an address. A text is empty if the address has no such part."""

    # In lower case.
    scheme: str
    # User, password, host and port, as written.
    netloc: str
    # In lower case, without the brackets of IPv6.
    host: str
    port: int | None
    path: str
    query: str
    fragment: str
    # None if there is no `@`.
    user: str | None
    # None if there is no `:` before an `@`.
    password: str | None

    def without_query(self) -> str:
        """Return the address without query and fragment."""
        return urlunsplit((self.scheme, self.netloc, self.path, "", ""))


# Each request splits its address several times. Longer ones, of which an index may send any number,
# are not kept.
_LONGEST_KEPT = 1000
_KEPT = 1000


def split(url: str) -> Address:
    """Return the parts of an address. Raises AddressError."""
    return _split(url) if len(url) > _LONGEST_KEPT else _split_and_keep(url)


def _split(url: str) -> Address:
    try:
        parts = urlsplit(url)
        return Address(
            scheme=parts.scheme,
            netloc=parts.netloc,
            host=parts.hostname or "",
            # urllib parses the port only here, and may refuse it
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
    """Return the address of a link on the page at `base`. Raises AddressError."""
    try:
        return urljoin(base, reference)
    except ValueError:
        raise AddressError from None
