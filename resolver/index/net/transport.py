"""How requests leave this machine: directly over aiohttp's connections, or through a proxy.

aiohttp takes a third of the time of httpx's own connections, which know all kinds of proxies.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import httpx
from httpx_aiohttp import AiohttpTransport

from resolver.errors import InputError
from resolver.index.net.certificates import ssl_context
from resolver.index.net.pipconfig import PipConfig
from resolver.index.parse.address import WrittenError, has_scheme, is_loopback, split_written, without_credentials

_KEPT: Final = 60.0  # seconds


class Transport(httpx.AsyncBaseTransport):
    """At most `most` connections at once. Lives on an event loop. Raises InputError for unusable settings."""

    def __init__(self, pip: PipConfig, most: int) -> None:
        self._context = ssl_context(pip, os.environ)
        self._proxies = Proxies(pip)
        self._most = most
        self._ways: dict[str, httpx.AsyncBaseTransport] = {}  # by proxy

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send it. Raises httpx.TransportError and aiohttp.ClientError."""
        proxy = self._proxies.of(str(request.url))
        if proxy not in self._ways:
            self._ways[proxy] = self._through(proxy) if proxy else self._direct()
        return await self._ways[proxy].handle_async_request(request)

    def proxy(self, url: str) -> str:
        """The proxy for an address, to show to people: without credentials, "" for none."""
        return without_credentials(self._proxies.of(url))

    async def aclose(self) -> None:
        """Close all connections."""
        for way in self._ways.values():
            await way.aclose()

    def _direct(self) -> httpx.AsyncBaseTransport:
        connector = aiohttp.TCPConnector(limit=self._most, keepalive_timeout=_KEPT, ssl=self._context)
        session = aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())
        return AiohttpTransport(verify=self._context, client=session)

    def _through(self, proxy: str) -> httpx.AsyncBaseTransport:
        limits = httpx.Limits(max_connections=self._most, keepalive_expiry=_KEPT)
        secure = self._context if httpx.URL(proxy).scheme == "https" else None
        return httpx.AsyncHTTPTransport(
            verify=self._context, limits=limits, trust_env=False, proxy=httpx.Proxy(proxy, ssl_context=secure)
        )


class Proxies:
    """Which proxy is used for an address, according to pip and the environment.

    Raises InputError for a proxy that cannot be used, even if no address needs it.
    """

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
