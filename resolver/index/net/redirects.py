"""Follow redirects, and refuse addresses that must not be requested.

The functions get a list of addresses: the address that was requested first, and those to which it
was redirected, one after the other. The last address is the one to request now.
"""

from __future__ import annotations

import re
from typing import Final

import httpx

from resolver import address
from resolver.errors import IndexFailure
from resolver.index.net.sendable import sendable
from resolver.index.parse.address import (
    Origin,
    is_allowed,
    is_local,
    origin_of,
    without_credentials,
)
from resolver.phrase import Phrase, cause, phrase
from resolver.redaction import shown_address

_MOST_REDIRECTS: Final = 10
# A host name in ASCII, or an IP address.
_HOST: Final = re.compile(r"[A-Za-z0-9._-]+|[0-9A-Fa-f:.]+")


def require_allowed(urls: list[str]) -> tuple[httpx.URL, Origin]:  # noqa: TID251  as a type
    """Return the last of these addresses as httpx needs it, and its origin.

    Raises IndexFailure if it must not be requested: it is invalid, it is neither https nor http to
    this machine, or an index elsewhere redirects to this machine.
    """
    try:
        origin = origin_of(urls[-1])
        url, sent_host, decoded_host = sendable(urls[-1])
    except address.AddressError:
        raise _refusal(urls, phrase("It cannot be read.")) from None
    except ValueError as error:
        raise _refusal(urls, cause(error)) from None
    is_redirect = len(urls) > 1
    leads_to_this_machine = is_local(origin.host) or is_local(sent_host)
    if is_redirect and leads_to_this_machine and not is_local(origin_of(urls[0]).host):
        raise _refusal(
            urls,
            phrase(
                "It is an address on this machine or its local link; only an index on this "
                "machine may redirect there."
            ),
        )
    if not is_allowed(origin):
        raise _refusal(urls, phrase("Only https is allowed, and plain http only to this machine."))
    # A library could read any other form of a host as another host than the one checked here.
    is_plain_host = _HOST.fullmatch(sent_host) is not None
    is_checked_host = origin.host in (decoded_host, sent_host)
    if url.userinfo or not is_plain_host or not is_checked_host:
        raise _refusal(
            urls,
            phrase("It cannot be read: `{host}` is not a host.", host=shown_address(origin.host)),
        )
    return url, origin


def redirected(urls: list[str], location: str) -> str:
    """Return the address to which the last of these addresses redirects, without credentials.

    `location` is the header field of the response. Raises IndexFailure if it is invalid, or after
    too many redirects. `require_allowed` must check the result.
    """
    if len(urls) > _MOST_REDIRECTS:
        raise IndexFailure(
            phrase("An index redirects in a loop."),
            where=shown_address(urls[0]),
            why=phrase("There were more than {limit} redirects.", limit=_MOST_REDIRECTS),
            hint=phrase("check the address of the index; a proxy or mirror may be set up wrongly"),
        )
    try:
        return without_credentials(address.join(urls[-1], location))
    except address.AddressError:
        raise _refusal([*urls, location], phrase("It cannot be read.")) from None


def shown_route(urls: list[str]) -> str:
    """Return the first and the last of these addresses for a message, without passwords."""
    first = shown_address(urls[0])
    if urls[0] == urls[-1]:
        return first
    return f"{first} -> {shown_address(urls[-1])}"


def _refusal(urls: list[str], why: Phrase) -> IndexFailure:
    """Return the failure for the last of these addresses, which must not be requested."""
    message = phrase("The address is not allowed.")
    if len(urls) > 1:
        message = phrase("An index redirects to an address that is not allowed.")
    return IndexFailure(
        message,
        where=shown_route(urls),
        why=why,
        hint=phrase("check the address of the index and what it redirects to"),
    )
