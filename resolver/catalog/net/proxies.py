"""Proxies: which one is used for an address, according to pip and the environment."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx

from resolver.catalog.net.pipconfig import PipConfig
from resolver.catalog.parse.address import WrittenError, has_scheme, is_loopback, split_written
from resolver.errors import InputError


class Proxies:
    """Raises InputError for a proxy that cannot be used, even if no address needs it."""

    def __init__(self, pip: PipConfig) -> None:
        self._by_pip = bool(pip.proxy)
        given: Mapping[str, str] = {"all": pip.proxy} if pip.proxy else getproxies()
        self._given = {scheme: _checked(given[scheme]) for scheme in ("http", "https", "all") if given.get(scheme)}
        self._known: dict[tuple[str, str], str] = {}

    def of(self, url: str) -> str:
        """The address of the proxy, "" for none; determined once for each origin."""
        parts = urlsplit(url)
        known = self._known.get(parts[:2])
        if known is None:
            # Plain http must not leave this machine, not even to a proxy.
            direct = is_loopback(parts.hostname or "") or (not self._by_pip and proxy_bypass(parts.netloc))
            known = "" if direct else self._given.get(parts.scheme) or self._given.get("all", "")
            self._known[parts[:2]] = known
        return known


def _checked(written: str) -> str:
    """The address as httpx takes it; a password in it is unescaped there. Raises InputError."""
    address = written if has_scheme(written) else f"http://{written}"
    why = hint = ""
    try:
        _, shown = split_written(address)
        proxy = httpx.Proxy(address)
        if proxy.url.host and proxy.url.port != 0:
            return address
        why = f"`{shown}` is not a proxy address"
    except WrittenError as error:
        why, hint = f"`{error.shown}` cannot be read. {error}", error.hint
    except (ValueError, httpx.InvalidURL):
        why = f"`{shown}` is not a proxy address"
    raise InputError(
        "The proxy settings cannot be used.",
        where="HTTPS_PROXY, HTTP_PROXY, ALL_PROXY or pip's proxy",
        why=why,
        hint=hint,
    )
