"""Addresses made ready to be sent: only this module calls httpx's parser."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from resolver import address
from resolver.address import AddressError

if TYPE_CHECKING:
    import httpx

# A run asks for the same addresses several times. Longer ones, of which an index may send any
# number, are not kept.
_LONGEST_KEPT: Final = 1000
_KEPT: Final = 1000


def sendable(url: str) -> tuple[httpx.URL, str, str]:
    """Return an address for httpx, with its host as it is sent (IDNA) and as people read it.

    Raises AddressError.
    """
    return _sendable(url) if len(url) > _LONGEST_KEPT else _sendable_and_keep(url)


def _sendable(url: str) -> tuple[httpx.URL, str, str]:
    # it takes 60 ms, which a run without the network saves
    import httpx

    # httpx accepts ports that no connection has
    address.split(url)
    try:
        parsed = httpx.URL(url)
        # httpx decodes the host, which may be no IDNA, only here
        return parsed, parsed.raw_host.decode("ascii"), parsed.host
    except (httpx.InvalidURL, ValueError):
        raise AddressError from None


_sendable_and_keep = lru_cache(_KEPT)(_sendable)
