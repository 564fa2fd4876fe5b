"""How requests leave this machine: directly over aiohttp's connections, or through a proxy.

aiohttp takes a third of the time of httpx's own connections, which know all kinds of proxies.
"""

from __future__ import annotations

import os
from typing import Final

import aiohttp
import httpx
from httpx_aiohttp import AiohttpTransport

from resolver.catalog.net.certificates import ssl_context
from resolver.catalog.net.pipconfig import PipConfig
from resolver.catalog.net.proxies import Proxies
from resolver.catalog.parse.address import without_credentials

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
