"""Send requests over connections to servers, directly or through a proxy.

Direct connections are made by aiohttp, which takes a third of the time of httpx's own connections.
Connections through a proxy are made by httpx.
"""

from __future__ import annotations

import ssl
from functools import cached_property
from typing import Final
from urllib.parse import unquote

import aiohttp
import httpx
from httpx_aiohttp import AiohttpTransport

from resolver import address
from resolver.index.net.certificates import ssl_context
from resolver.index.net.pipconfig import PipConfig
from resolver.index.net.proxies import Proxies
from resolver.index.net.sendable import sendable
from resolver.redaction import shown_address

_KEEPALIVE: Final = 60.0  # seconds for which an idle connection stays open


class Transport(httpx.AsyncBaseTransport):
    """The connections of one event loop. Their number is not limited here (see `slots`).

    The trusted certificates are read for the first https request, since reading them takes as long
    as all else of a small run.
    """

    def __init__(self, pip: PipConfig) -> None:
        """Use the settings of pip. Raises InputError if a proxy is invalid."""
        self._pip = pip
        self._proxies = Proxies(pip)
        # The key is the address of the proxy ("" for none), and whether TLS is used.
        self._transports: dict[tuple[str, bool], httpx.AsyncBaseTransport] = {}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request, and return its response, whose body is not read yet.

        Raises one of `no_answer.ERRORS` if there is no response, and InputError if certificates
        cannot be read.
        """
        proxy = self._proxies.of(str(request.url))
        secure = "https" in (request.url.scheme, address.split(proxy).scheme)
        transport = self._transports.get((proxy, secure))
        if transport is None:
            transport = self._connected(proxy, secure)
            self._transports[proxy, secure] = transport
        return await transport.handle_async_request(request)

    def proxy(self, url: str) -> str:
        """Return the proxy for a request to `url`, without its password; "" for none."""
        return shown_address(self._proxies.of(url))

    def proxy_user(self, url: str) -> str:
        """Return the user in the setting of the proxy for a request to `url`; "" for none."""
        return unquote(address.split(self._proxies.of(url)).user or "")

    async def aclose(self) -> None:
        """Close all connections."""
        for transport in self._transports.values():
            await transport.aclose()

    @cached_property
    def _context(self) -> ssl.SSLContext:
        """Return the TLS settings for all connections. Raises InputError."""
        return ssl_context(self._pip)

    def _connected(self, proxy: str, secure: bool) -> httpx.AsyncBaseTransport:
        """Return a new transport through a proxy, or without one if `proxy` is empty.

        `secure` says whether the server or the proxy uses TLS. Raises InputError.
        """
        # If TLS is not used, reading the certificates is saved: this context trusts none.
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
