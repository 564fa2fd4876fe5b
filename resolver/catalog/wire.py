"""One request and its answer, by urllib3: connections, proxies, what an exception means.

HTTP/1.1 over some connections, read in threads, costs a quarter of the CPU time of
HTTP/2 in Python (benchmarks/FINDINGS.md), and no more wall time.
"""

from __future__ import annotations

import os
import socket
import ssl
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import ExitStack, suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from resolver.catalog.address import beginning, is_loopback, without_credentials
from resolver.catalog.names import Names
from resolver.catalog.pace import hold, whole_within
from resolver.catalog.pipconfig import PipConfig
from resolver.catalog.threads import Threads
from resolver.catalog.tls import trust
from resolver.errors import InputError

if TYPE_CHECKING:
    import urllib3

T = TypeVar("T")

CONNECTIONS: Final = 16  # with more than some 24 at once a resolver was seen to drop questions for a host's name
_CHUNK: Final = 256 << 10
_LARGE: Final = (
    4 << 20
)  # of answers that are longer, one is read after the other: they are in memory twice for a moment
_WINDOW: Final = 4  # time limits of a read, over which an answer's pace is taken
_WHOLE: Final = 40  # time limits of a read, after which an answer that is held in memory must be whole


class WireError(Exception):
    """No answer, or not all of it. `certificate`, `unknown_name`: whose fault it is, as far as it is known."""

    def __init__(self, why: str, *, certificate: bool = False, unknown_name: bool = False) -> None:
        super().__init__(why)
        self.certificate = certificate
        self.unknown_name = unknown_name


class Body(NamedTuple):
    """A body that was read: None where it was longer than it may be."""

    content: bytes | None


class Response:
    """An answer whose body is still to be read, unless it was with the head; `aclose` must be awaited."""

    def __init__(self, wire: Wire, raw: urllib3.BaseHTTPResponse, url: str, body: Body | None) -> None:
        self._wire = wire
        self._raw = raw
        self._body = body
        self.url = url
        self.status_code = raw.status
        self.reason_phrase = raw.reason or ""
        self.headers: Mapping[str, str] = raw.headers  # compares names without case

    async def read(self, limit: int) -> bytes | None:
        """The whole body, decompressed; None where it is longer than `limit` bytes.

        Raises WireError, and EndlessError where it takes far longer than any.
        """
        if self._body is None:
            self._body = await self._wire.run(lambda: self._wire.read(self._raw, limit))
        return self._body.content

    async def into(self, take: Callable[[bytes], object]) -> None:
        """Hand over the body piece by piece, decompressed, all of it in another thread.

        Raises WireError, and what `take` raises, which must be no OSError.
        """

        def read() -> None:
            while chunk := self._raw.read(_CHUNK, decode_content=True):
                take(chunk)

        await self._wire.run(read)

    async def aiter_bytes(self) -> AsyncIterator[bytes]:
        """The body piece by piece as it comes, decompressed; raises WireError."""
        while chunk := await self._wire.run(lambda: self._raw.read1(_CHUNK, decode_content=True)):
            yield chunk

    async def aclose(self) -> None:
        """Let go of the connection: for further use where all was read."""
        self._wire.let_go(self._raw)


class Wire:
    """Connections, each to be used again. Lives on an event loop; `close` ends what still runs."""

    def __init__(self, pip: PipConfig) -> None:
        import urllib3

        self._timeout = pip.timeout
        self._longest = _WHOLE * pip.timeout
        self._context = trust(pip, os.environ)
        self.threads = Threads(CONNECTIONS)
        self._large = threading.Lock()
        self._names = Names()
        self._closed = False
        self._open: dict[int, urllib3.BaseHTTPResponse] = {}
        self._direct = self._held(urllib3.PoolManager(maxsize=CONNECTIONS, ssl_context=self._context))
        self._proxies = {"all": pip.proxy} if pip.proxy else getproxies()
        self._by_pip = bool(pip.proxy)
        self._bypassed: dict[str, bool] = {}
        self._through: dict[str, urllib3.PoolManager] = {}
        self._managers: dict[str, urllib3.PoolManager] = {}
        for scheme in ("http", "https", "all"):
            if self._proxies.get(scheme):
                self._proxy(self._proxies[scheme])  # one that cannot be used is told at once

    async def send(self, url: str, headers: Mapping[str, str], connect: float, limit: int | None = None) -> Response:
        """Send a GET; raises WireError, and ValueError for what is no address.

        With a `limit` the body of a 200 is read with it, as `Response.read` has it: another turn of
        the event loop for each answer would cost a sixth of what asking does.
        """
        import urllib3

        manager = self._manager(url)
        timeout = urllib3.Timeout(connect=connect, read=self._timeout)

        def send() -> tuple[urllib3.BaseHTTPResponse, Body | None]:
            raw = manager.urlopen(
                "GET", url, headers=headers, redirect=False, retries=False, timeout=timeout, preload_content=False
            )
            self._open[id(raw)] = raw
            if self._closed:  # nobody waits for it any more
                raw.close()
            if limit is None or raw.status != HTTPStatus.OK:
                return raw, None
            try:
                return raw, self.read(raw, limit)
            except BaseException:  # nobody else knows of it
                self._open.pop(id(raw), None)
                raw.close()
                raise

        raw, body = await self.run(send)
        return Response(self, raw, url, body)

    def read(self, raw: urllib3.BaseHTTPResponse, limit: int) -> Body:
        """Read a whole body in this thread."""
        chunks = []
        size = 0
        with ExitStack() as held:
            held.enter_context(whole_within(self._longest))
            while chunk := raw.read(min(_CHUNK, limit + 1 - size), decode_content=True):
                chunks.append(chunk)
                if size <= _LARGE < size + len(chunk):
                    held.enter_context(self._large)
                size += len(chunk)
                if size > limit:
                    return Body(None)
            return Body(b"".join(chunks))

    async def run(self, call: Callable[[], T]) -> T:
        """A blocking call in a thread; raises WireError for all that urllib3 does."""
        import urllib3

        try:
            return await self.threads.run(call)
        except urllib3.exceptions.LocationValueError as error:
            raise ValueError(str(error)) from None
        except (urllib3.exceptions.HTTPError, OSError, ssl.SSLError) as error:
            raise _explained(error) from None

    def let_go(self, raw: urllib3.BaseHTTPResponse) -> None:
        """Put a connection back, or close it where not all was read."""
        self._open.pop(id(raw), None)
        if raw.length_remaining == 0:
            raw.drain_conn()
        elif raw.connection is not None:
            raw.close()

    def close(self) -> None:
        """Close all connections. What waits for one of them fails."""
        self._closed = True
        for raw in list(self._open.values()):
            with suppress(Exception):  # it may be at its end just now
                raw.shutdown()
        self.threads.close()
        for raw in list(self._open.values()):  # those too whose task was cancelled before it had them
            with suppress(Exception):
                raw.close()
        for manager in (self._direct, *self._through.values()):
            manager.clear()

    def _manager(self, url: str) -> urllib3.PoolManager:
        """Who connects to an address, looked at once for all addresses that begin like it."""
        begin = beginning(url)
        if begin not in self._managers:
            self._managers[begin] = self._manager_of(url)
        return self._managers[begin]

    def _manager_of(self, url: str) -> urllib3.PoolManager:
        parts = urlsplit(url)
        host = parts.hostname or ""
        # What is asked over plain http must not leave this machine, not even to a proxy.
        if host not in self._bypassed:
            self._bypassed[host] = is_loopback(host) or (not self._by_pip and bool(proxy_bypass(host)))
        if self._bypassed[host]:
            return self._direct
        address = self._proxies.get(parts.scheme) or self._proxies.get("all")
        return self._proxy(address) if address else self._direct

    def _proxy(self, address: str) -> urllib3.PoolManager:
        if address not in self._through:
            manager = self._open_proxy(address if "://" in address else f"http://{address}")
            self._through[address] = self._held(manager)
        return self._through[address]

    def _held(self, manager: urllib3.PoolManager) -> urllib3.PoolManager:
        hold(manager, _WINDOW * self._timeout, self._names)
        return manager

    def _open_proxy(self, address: str) -> urllib3.PoolManager:
        import urllib3

        try:
            if address.lower().startswith("socks"):
                from urllib3.contrib.socks import SOCKSProxyManager

                return SOCKSProxyManager(address, maxsize=CONNECTIONS, ssl_context=self._context)
            parts = urlsplit(address)
            given = f"{parts.username or ''}:{parts.password or ''}" if parts.username else ""
            headers = urllib3.make_headers(proxy_basic_auth=unquote(given)) if given else None
            return urllib3.ProxyManager(
                without_credentials(address),
                maxsize=CONNECTIONS,
                proxy_headers=headers,
                ssl_context=self._context,
                proxy_ssl_context=self._context,
            )
        except (urllib3.exceptions.HTTPError, ValueError) as error:
            raise InputError(
                "The proxy settings cannot be used.",
                where="HTTPS_PROXY, HTTP_PROXY, ALL_PROXY or pip's proxy",
                why=without_credentials(str(error)),
            ) from None


def _explained(error: Exception) -> WireError:
    """What lies at the bottom of an exception, for people."""
    import urllib3.exceptions as known

    cause = _root(error)
    match error:
        case known.ConnectTimeoutError() if not isinstance(error, known.NewConnectionError):
            return WireError("No connection within the time limit")
        case known.ReadTimeoutError() | TimeoutError():
            return WireError("It stopped answering")
        case _ if isinstance(cause, known.IncompleteRead):
            return WireError(f"It closed the connection after {cause.partial} bytes, {cause.expected} before the end")
        case _:
            why = without_credentials(str(cause)) or type(cause).__name__
            return WireError(
                why,
                certificate="CERTIFICATE_VERIFY_FAILED" in why,
                unknown_name=isinstance(cause, socket.gaierror) and cause.errno == socket.EAI_NONAME,
            )


def _root(error: BaseException) -> BaseException:
    """The exception that others were made from: urllib3 keeps it as an argument, or as a cause."""
    while True:
        inner = next((one for one in reversed(error.args) if isinstance(one, BaseException)), None)
        inner = inner or error.__cause__ or (error.__context__ if not error.__suppress_context__ else None)
        if inner is None or inner is error:
            return error
        error = inner
