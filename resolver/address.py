"""Addresses (URLs) taken apart, joined, and made ready to be sent.

No other module calls urllib's or httpx's parser, as ruff's rule TID251 sees to: whatever a text
holds, a function here returns a result or raises AddressError. The libraries have four kinds of
exceptions for it, some of them only when a part of the result is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urljoin, urlsplit, urlunsplit

if TYPE_CHECKING:
    import httpx


class AddressError(ValueError):
    """A text is no address. Its message is a clause, in which nothing of the text is quoted."""


class Address(NamedTuple):
    """The parts of an address. All but `port` are empty where the address has no such part."""

    scheme: str
    """In lower case."""
    netloc: str
    """Credentials, host and port, as written."""
    host: str
    """In lower case, without the brackets of IPv6."""
    port: int | None
    path: str
    query: str
    fragment: str
    user: str | None
    """None if there is no `@`, not even one with an empty user."""
    password: str | None

    def without_query(self) -> str:
        """Return the address without query and fragment."""
        return urlunsplit((self.scheme, self.netloc, self.path, "", ""))


def split(url: str) -> Address:
    """Return the parts of an address. Raises AddressError."""
    try:
        parts = urlsplit(url)
        return Address(
            scheme=parts.scheme,
            netloc=parts.netloc,
            host=parts.hostname or "",
            port=parts.port,  # which is read, and may be refused, only now
            path=parts.path,
            query=parts.query,
            fragment=parts.fragment,
            user=parts.username,
            password=parts.password,
        )
    except ValueError:
        raise AddressError("it cannot be read") from None


def join(base: str, reference: str) -> str:
    """Return the address that a reference on the page at `base` names. Raises AddressError."""
    try:
        return urljoin(base, reference)
    except ValueError:
        raise AddressError("it cannot be read") from None


def sendable(url: str) -> tuple[httpx.URL, str, str]:
    """Return an address as httpx sends it, and its host as it is sent and as it is read.

    Raises AddressError.
    """
    import httpx  # takes 60 ms, which a run without the network saves

    split(url)  # httpx accepts ports that no connection has
    try:
        parsed = httpx.URL(url)
        return (
            parsed,
            parsed.raw_host.decode("ascii"),
            parsed.host,
        )  # what is no IDNA shows only here
    except (httpx.InvalidURL, ValueError):
        raise AddressError("it cannot be read") from None
