"""Requests by curl: its connections, and what it is told of proxies and certificates.

libcurl reads, decrypts and decompresses beside the interpreter's one lock, a host's requests all over one
connection where its server speaks HTTP/2 (benchmarks/FINDINGS.md).
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

from resolver.catalog.address import beginning, without_credentials
from resolver.catalog.exchange import Exchange, Head, WireError
from resolver.catalog.names import Names
from resolver.catalog.pace import Pace
from resolver.catalog.pipconfig import PipConfig
from resolver.catalog.proxies import Proxies
from resolver.catalog.tls import Trust, trust

__all__ = ["FILES", "PAGES", "Response", "Wire", "WireError"]

# Requests at once to a server that answers one at a time on each connection. Beyond the sum of both they would wait in
# curl, whose time limit for connecting would run meanwhile.
PAGES: Final = 16
FILES: Final = 8  # whole ones, which take long
_BUFFER: Final = 256 << 10
_TICKS: Final = 8  # looks at what is waited for, in one time limit
_COMPRESSED: Final = "gzip, deflate"
_PLAIN: Final = re.compile(r"[!#$%&'()*+,\-./0-9:;=?@A-Z\[\]_a-z~]*")
# The same for servers and for proxies: least version, the system's own store, certificates in a file, here, in folders.
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
    """An answer whose body is still to be read, unless it was with the head; `aclose` must be awaited."""

    def __init__(self, exchange: Exchange, url: str, head: Head) -> None:
        self._exchange = exchange
        self.url = url
        self.status_code = head.status
        self.reason_phrase = head.phrase
        self.headers = head.headers  # their names in lower case

    async def read(self, limit: int) -> bytes | None:
        """The whole body, decompressed; None where it is longer than `limit` bytes.

        Raises WireError, and EndlessError where it takes far longer than any.
        """
        return await self._exchange.read(limit)

    async def into(self, take: Callable[[bytes], object]) -> None:
        """Hand over the body piece by piece, decompressed; raises WireError, and what `take` raises."""
        await self._exchange.into(take)

    async def aclose(self) -> None:
        """Let go of the connection: for further use where all was read."""
        self._exchange.close()


class Wire:
    """Connections, each to be used again. Lives on an event loop; `close` ends what still runs."""

    def __init__(self, pip: PipConfig) -> None:
        self._timeout = pip.timeout
        self._trust = trust(pip, os.environ)
        self._proxies = Proxies(pip)
        self._names = Names()
        try:
            self._multi = pycurl.AsyncCurlMulti()
        except pycurl.error:  # it has no other reason
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
        """Send a GET; raises WireError and EndlessError, and AddressError.

        With a `limit` the body of a 200, or of a 206 where a range is asked for, is read with it, as `Response.read`
        has it. `anew` is for another connection than those that there are.
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
        """Through which proxy an address is asked, for people: no credentials; "" for none."""
        return without_credentials(self._proxies.of(url))

    async def close(self) -> None:
        """Close all connections. What waits for one of them fails."""
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
        # Neither is to come from the environment: what it says was read already, and may not count.
        handle.setopt(pycurl.PROXY, proxy)
        handle.setopt(pycurl.NOPROXY, "")
        if encoding:
            handle.setopt(pycurl.ACCEPT_ENCODING, encoding)
        _show_trust(handle, self._trust, to_proxy=proxy.startswith("https:"))
        return handle

    async def _place(self, url: str, connect: float) -> str:
        """What curl is to know of the addresses of a host, "" where it needs to know nothing; raises WireError."""
        begin = beginning(url)
        if begin not in self._places:
            parts = urlsplit(url)
            try:
                found = await self._names.addresses(parts.hostname or "", connect)
            except socket.gaierror as error:
                raise WireError(str(error), unknown_name=error.errno == socket.EAI_NONAME) from None
            except TimeoutError:
                raise WireError("Its name was not resolved within the time limit") from None
            port = parts.port or _PORTS[parts.scheme]
            addresses = ",".join(f"[{one}]" if ":" in one else one for one in found)
            self._places[begin] = f"{parts.hostname}:{port}:{addresses}" if found else ""
        return self._places[begin]

    def _look_after(self) -> None:
        """See to it that what is waited for is looked at now and then."""
        if self._watch is None:
            loop = asyncio.get_running_loop()
            self._watch = loop.call_later(self._timeout / _TICKS, self._tick, loop.time())

    def _tick(self, before: float) -> None:
        self._watch = None
        # A loop that was busy elsewhere let answers wait, which is no fault of theirs.
        passed = min(asyncio.get_running_loop().time() - before, 2 * self._timeout / _TICKS)
        for exchange in tuple(self._running):
            exchange.wait(passed)
        if self._running:
            self._look_after()

    def _over(self, free: list[pycurl.Curl], exchange: Exchange) -> None:
        self._running.discard(exchange)
        if not exchange.was_broken_off:  # else curl may still have its handle
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
    """An address in which curl might see another host than who allowed it."""


def _escaped(url: str) -> str:
    """An address as it is sent; raises AddressError."""
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
