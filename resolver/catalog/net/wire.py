"""Requests by curl: its connections, and its settings for proxies and certificates.

libcurl reads, decrypts and decompresses outside the interpreter's lock, with all requests to a host over one
connection if the server speaks HTTP/2 (benchmarks/FINDINGS.md).
"""

from __future__ import annotations

import asyncio
import os
import re
import socket
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final
from urllib.parse import quote, urlsplit

import pycurl

from resolver.catalog.net.exchange import Exchange, Head, WireError
from resolver.catalog.net.names import Names
from resolver.catalog.net.pace import Pace
from resolver.catalog.net.pipconfig import PipConfig
from resolver.catalog.net.proxies import Proxies
from resolver.catalog.net.tls import Trust, trust
from resolver.catalog.parse.address import beginning, without_credentials

__all__ = ["FILES", "PAGES", "Response", "Wire", "WireError"]

# Concurrent requests to a server that answers one at a time per connection. Beyond the sum of both, requests would
# wait inside curl, with its time limit for connecting running.
PAGES: Final = 16
FILES: Final = 8  # whole files, which take long
_BUFFER: Final = 256 << 10
_TICKS: Final = 8  # checks of waiting requests during one time limit
_COMPRESSED: Final = "gzip, deflate"
_PLAIN: Final = re.compile(r"[!#$%&'()*+,\-./0-9:;=?@A-Z\[\]_a-z~]*")
# The same for servers and proxies: minimum version, the system's own store, certificates in a file, memory, folders.
_TRUST: Final = pycurl.SSLVERSION, pycurl.SSL_OPTIONS, pycurl.CAINFO, pycurl.CAINFO_BLOB, pycurl.CAPATH
_TRUST_OF_PROXIES: Final = (
    pycurl.PROXY_SSLVERSION,
    pycurl.PROXY_SSL_OPTIONS,
    pycurl.PROXY_CAINFO,
    pycurl.PROXY_CAINFO_BLOB,
    pycurl.PROXY_CAPATH,
)
_PORTS: Final = {"http": 80, "https": 443}
_HOST: Final = re.compile(r"[A-Za-z0-9._-]+|[0-9A-Fa-f:.]+")


class Response:
    """An answer whose body is still to be read, unless it was read with the head. `aclose` must be awaited."""

    def __init__(self, exchange: Exchange, url: str, head: Head) -> None:
        self._exchange = exchange
        self.url = url
        self.status_code = head.status
        self.reason_phrase = head.phrase
        self.headers = head.headers  # by lower-case name

    async def read(self, limit: int) -> bytes | None:
        """The whole body, decompressed; None if it is longer than `limit` bytes.

        Raises WireError, and EndlessError if it takes unreasonably long.
        """
        return await self._exchange.read(limit)

    async def into(self, take: Callable[[bytes], object]) -> None:
        """Pass the body to `take` piece by piece, decompressed. Raises WireError, and what `take` raises."""
        await self._exchange.into(take)

    async def aclose(self) -> None:
        """Release the connection, for reuse if everything was read."""
        self._exchange.close()


class Wire:
    """Reusable connections. Lives on an event loop; `close` ends running requests."""

    def __init__(self, pip: PipConfig) -> None:
        self._timeout = pip.timeout
        self._trust = trust(pip, os.environ)
        self._proxies = Proxies(pip)
        self._names = Names()
        try:
            self._multi = pycurl.AsyncCurlMulti()
        except pycurl.error:  # its only reason to fail
            raise MemoryError from None
        self._multi.setopt(pycurl.M_PIPELINING, pycurl.PIPE_MULTIPLEX)
        self._multi.setopt(pycurl.M_MAX_HOST_CONNECTIONS, PAGES + FILES)
        self._running: set[Exchange] = set()
        self._idle: dict[tuple[str, str], list[pycurl.Curl]] = {}  # by proxy and encoding
        self._places: dict[str, str] = {}
        self._watch: asyncio.TimerHandle | None = None

    async def send(
        self, url: str, headers: Mapping[str, str], connect: float, limit: int | None = None, *, anew: bool = False
    ) -> Response:
        """Send a GET. Raises WireError, EndlessError and AddressError.

        With a `limit`, the body of a 200, or of a 206 if a range is requested, is read as well, as by `Response.read`.
        `anew` requires a new connection.
        """
        asked = _escaped(url)
        proxy = self._proxies.of(url)
        place = await self._place(proxy or asked, connect)
        fields = dict(headers)
        encoding = fields.pop("Accept-Encoding") if fields.get("Accept-Encoding") == _COMPRESSED else ""
        free = self._idle.setdefault((proxy, encoding), [])
        handle = free.pop() if free else self._handle(proxy, encoding)
        handle.setopt(pycurl.URL, asked)
        handle.setopt(pycurl.HTTPHEADER, [f"{name}: {value}".encode("latin-1") for name, value in fields.items()])
        handle.setopt(pycurl.CONNECTTIMEOUT_MS, int(connect * 1000))
        handle.setopt(pycurl.FRESH_CONNECT, int(anew))
        if place:
            handle.setopt(pycurl.RESOLVE, [place])
        exchange = Exchange(
            handle,
            Pace(self._timeout, connect),
            wanted=0 if limit is None else 206 if "Range" in fields else 200,
            limit=limit or 0,
        )
        exchange.begin(self._multi.add_handle, partial(self._over, free))
        self._running.add(exchange)
        self._look_after()
        try:
            head = await exchange.head()
        except BaseException:
            exchange.close()
            raise
        return Response(exchange, url, head)

    def way(self, url: str) -> str:
        """The proxy for an address, to show to people: without credentials, "" for none."""
        return without_credentials(self._proxies.of(url))

    async def close(self) -> None:
        """Close all connections. Requests waiting for one fail."""
        if self._watch is not None:
            self._watch.cancel()
        self._names.close()
        await self._multi.aclose()

    def _handle(self, proxy: str, encoding: str) -> pycurl.Curl:
        handle = pycurl.Curl()
        handle.setopt(pycurl.NOSIGNAL, 1)
        handle.setopt(pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS)
        handle.setopt(pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_2TLS)
        handle.setopt(pycurl.PIPEWAIT, 1)
        handle.setopt(pycurl.BUFFERSIZE, _BUFFER)
        # Neither may come from the environment, which has been read already and may not apply.
        handle.setopt(pycurl.PROXY, proxy)
        handle.setopt(pycurl.NOPROXY, "")
        if encoding:
            handle.setopt(pycurl.ACCEPT_ENCODING, encoding)
        _show_trust(handle, self._trust, to_proxy=proxy.startswith("https:"))
        return handle

    async def _place(self, url: str, connect: float) -> str:
        """The addresses of a host as an option for curl, "" if it needs none. Raises WireError."""
        begin = beginning(url)
        if begin not in self._places:
            parts = urlsplit(url)
            try:
                found = await self._names.addresses(parts.hostname or "", connect)
            except socket.gaierror as error:
                raise WireError(error.strerror or str(error), unknown_name=error.errno == socket.EAI_NONAME) from None
            except TimeoutError:
                raise WireError("Its name was not resolved within the time limit") from None
            port = parts.port or _PORTS[parts.scheme]
            addresses = ",".join(f"[{one}]" if ":" in one else one for one in found)
            self._places[begin] = f"{parts.hostname}:{port}:{addresses}" if found else ""
        return self._places[begin]

    def _look_after(self) -> None:
        """Have waiting requests checked now and then."""
        if self._watch is None:
            loop = asyncio.get_running_loop()
            self._watch = loop.call_later(self._timeout / _TICKS, self._tick, loop.time())

    def _tick(self, before: float) -> None:
        self._watch = None
        # If the loop was busy elsewhere, answers had to wait, which is not their fault.
        passed = min(asyncio.get_running_loop().time() - before, 2 * self._timeout / _TICKS)
        for exchange in tuple(self._running):
            exchange.wait(passed)
        if self._running:
            self._look_after()

    def _over(self, free: list[pycurl.Curl], exchange: Exchange) -> None:
        self._running.discard(exchange)
        if not exchange.was_broken_off:  # otherwise curl may still use its handle
            free.append(exchange.handle)


def _show_trust(handle: pycurl.Curl, known: Trust, *, to_proxy: bool) -> None:
    native = pycurl.SSLOPT_NATIVE_CA if known.native else 0
    values = pycurl.SSLVERSION_TLSv1_2, native, known.file, known.content, known.folders
    for options in (_TRUST, _TRUST_OF_PROXIES) if to_proxy else (_TRUST,):
        for option, value in zip(options, values, strict=True):
            if value:
                handle.setopt(option, os.fsencode(value) if isinstance(value, str) else value)
    if known.client:
        handle.setopt(pycurl.SSLCERT, os.fsencode(known.client))
        handle.setopt(pycurl.SSLKEY, os.fsencode(known.client))


class AddressError(ValueError):
    """An address in which curl might see another host than the one that was checked."""


def _escaped(url: str) -> str:
    """An address as sent. Raises AddressError."""
    if not _PLAIN.fullmatch(url):
        scheme, mark, rest = url.partition("://")
        host, slash, path = rest.partition("/")
        try:
            host = host if host.isascii() else host.encode("idna").decode()
        except UnicodeError as error:
            raise AddressError(str(error)) from None
        url = scheme + mark + host + slash + quote(path, safe="!#$%&'()*+,-./:;=?@[]_~")
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise AddressError(str(error)) from None
    if not _HOST.fullmatch(parts.hostname or "") or "@" in parts.netloc:
        raise AddressError(f"`{without_credentials(parts.netloc)}` is not a host")
    return url
