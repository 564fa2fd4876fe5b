"""Connections to servers.

aiohttp, which takes a third of the time of httpx's own connections, is used where there is no
proxy.
"""

from __future__ import annotations

import ssl
from functools import cached_property
from typing import Final

import aiohttp
import httpx
from httpx_aiohttp import AiohttpTransport

from resolver import address
from resolver.index.net.certificates import ssl_context
from resolver.index.net.pipconfig import PipConfig
from resolver.index.net.proxies import Proxies
from resolver.index.net.sendable import sendable
from resolver.redaction import shown_address

_KEEPALIVE: Final = 60.0  # seconds


class Transport(httpx.AsyncBaseTransport):
    """Connections on an event loop, as many as are asked for at once.

    Certificates are read for the first https request: that takes as long as a small run without
    one. Raises InputError for unusable settings.
    """

    def __init__(self, pip: PipConfig) -> None:
        self._pip = pip
        self._proxies = Proxies(pip)
        # By proxy, and whether there is TLS.
        self._transports: dict[tuple[str, bool], httpx.AsyncBaseTransport] = {}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request. Raises httpx.TransportError, aiohttp.ClientError and InputError."""
        proxy = self._proxies.of(str(request.url))
        secure = "https" in (request.url.scheme, address.split(proxy).scheme)
        transport = self._transports.get((proxy, secure))
        if transport is None:
            transport = self._connected(proxy, secure)
            self._transports[proxy, secure] = transport
        return await transport.handle_async_request(request)

    def proxy(self, url: str) -> str:
        """Return the proxy for an address, as it may be shown; "" for none."""
        return shown_address(self._proxies.of(url))

    async def aclose(self) -> None:
        """Close all connections."""
        for transport in self._transports.values():
            await transport.aclose()

    @cached_property
    def _context(self) -> ssl.SSLContext:
        return ssl_context(self._pip)

    def _connected(self, proxy: str, secure: bool) -> httpx.AsyncBaseTransport:
        """Return a transport through a proxy, or without one."""
        # Without TLS, a context that trusts nobody.
        context = self._context if secure else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        if not proxy:
            connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEEPALIVE, ssl=context)
            session = aiohttp.ClientSession(
                connector=connector, cookie_jar=aiohttp.DummyCookieJar()
            )
            return AiohttpTransport(verify=context, client=session)
        url = sendable(proxy)[0]
        proxy_context = context if url.scheme == "https" else None
        return httpx.AsyncHTTPTransport(
            verify=context,
            limits=httpx.Limits(keepalive_expiry=_KEEPALIVE),
            trust_env=False,
            proxy=httpx.Proxy(url, ssl_context=proxy_context),
        )
