"""Addresses that are requested, as lists: an address and its redirects, the last one requested."""

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
_HOST: Final = re.compile(r"[A-Za-z0-9._-]+|[0-9A-Fa-f:.]+")


def require_allowed(urls: list[str]) -> tuple[httpx.URL, Origin]:  # noqa: TID251  as a type
    """Return the last address as it is sent, and its origin.

    Raises IndexFailure if it must not be requested.
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
    # Libraries might read another form of host as a host other than the one that was checked.
    is_plain_host = _HOST.fullmatch(sent_host) is not None
    is_checked_host = origin.host in (decoded_host, sent_host)
    if url.userinfo or not is_plain_host or not is_checked_host:
        raise _refusal(
            urls,
            phrase("It cannot be read: `{host}` is not a host.", host=shown_address(origin.host)),
        )
    return url, origin


def redirected(urls: list[str], location: str) -> str:
    """Return the address of a redirect.

    Raises IndexFailure if it is invalid, or there are too many.
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
    """Return the first and the last of these addresses, for messages."""
    first = shown_address(urls[0])
    if urls[0] == urls[-1]:
        return first
    return f"{first} -> {shown_address(urls[-1])}"


def _refusal(urls: list[str], why: Phrase) -> IndexFailure:
    """Return the failure of an address that must not be requested."""
    message = phrase("The address is not allowed.")
    if len(urls) > 1:
        message = phrase("An index redirects to an address that is not allowed.")
    return IndexFailure(
        message,
        where=shown_route(urls),
        why=why,
        hint=phrase("check the address of the index and what it redirects to"),
    )
