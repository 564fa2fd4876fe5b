"""Parse addresses for httpx. No other module calls the parser of httpx."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from resolver import address
from resolver.address import AddressError

if TYPE_CHECKING:
    import httpx

# Results are cached, since a run requests the same addresses several times. Longer addresses are
# not cached, since an index may send any number of them.
_LONGEST_KEPT: Final = 1000  # characters
_KEPT: Final = 1000  # addresses


def sendable(url: str) -> tuple[httpx.URL, str, str]:
    """Return an address as httpx needs it, its host as it is sent (IDNA), and its decoded host.

    Raises AddressError if it is invalid.
    """
    return _sendable(url) if len(url) > _LONGEST_KEPT else _sendable_and_keep(url)


def _sendable(url: str) -> tuple[httpx.URL, str, str]:
    """Return what `sendable` returns, without its cache."""
    # Imported late: it takes 60 ms, and offline runs do not need it.
    import httpx

    # Refuses invalid ports, which httpx would accept.
    address.split(url)
    try:
        parsed = httpx.URL(url)
        # The property `host` decodes IDNA, and raises if that is invalid.
        return parsed, parsed.raw_host.decode("ascii"), parsed.host
    except (httpx.InvalidURL, ValueError):
        raise AddressError from None


_sendable_and_keep = lru_cache(_KEPT)(_sendable)
