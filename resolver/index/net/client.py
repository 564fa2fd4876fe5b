"""HTTP requests: with retries, limits of size and time, and rules for redirects."""

from __future__ import annotations

import asyncio
import random
import re
import sys
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from io import BytesIO
from typing import Final, NamedTuple, TypeVar

import httpx

from resolver import address
from resolver.errors import IndexFailure, Unreachable
from resolver.index.net.pipconfig import Credentials, PipConfig
from resolver.index.net.slots import Slots
from resolver.index.net.transport import ERRORS, NoAnswerError, Transport, no_answer
from resolver.index.parse.address import (
    Origin,
    Root,
    is_allowed,
    is_local,
    origin_of,
    without_credentials,
)
from resolver.index.protocol import Meter
from resolver.redaction import shown_address

if sys.version_info >= (3, 11):
    from asyncio import timeout
else:  # which aiohttp brings there
    from async_timeout import timeout  # type: ignore[import-not-found]

T = TypeVar("T")
Headers = Mapping[str, str] | Callable[[], Mapping[str, str]]

# Concurrent requests to a server: 50 connections to a mirror were ten times slower than 16.
PAGES: Final = 16
FILES: Final = 8  # whole files, which take long and must not hold up pages
_SLOWEST: Final = (
    100  # bytes a second; a proxy that scans a file before passing it on sends little for a while
)
_WINDOW: Final = (
    4  # read timeouts: the time over which the rate is measured, and the limit for a head
)
_WHOLE: Final = 40  # read timeouts: the limit for an answer that is held in memory
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_MOST_REDIRECTS: Final = 10
_BUSY: Final = frozenset({408, 429, 500, 502, 503, 504})
_LONGEST_WAIT: Final = 20.0  # seconds that a Retry-After may ask for
_PIECE: Final = 256 << 10  # bytes unpacked at once
_PACKED: Final = "gzip"
_FIELDS: Final = {"User-Agent": "ascend-lock", "Accept": "*/*", "Accept-Encoding": _PACKED}
_HOST: Final = re.compile(r"[A-Za-z0-9._-]+|[0-9A-Fa-f:.]+")
IDENTITY_ENCODING: Final = {
    "Accept-Encoding": "identity"
}  # for files, whose ranges and lengths count


def _now() -> float:
    return asyncio.get_running_loop().time()


def conditions(etag: str, modified: str) -> dict[str, str]:
    """The header fields of a request that is answered only if the validators have changed."""
    fields = {"If-None-Match": etag, "If-Modified-Since": modified}
    return {name: value for name, value in fields.items() if value.isascii() and value}


class RetryPolicy(NamedTuple):
    """How often a request is tried, with the time limit to connect and the first pause between tries, in seconds."""

    tries: int = 4
    connect: float = 10.0
    pause: float = 0.4

    def wait(self, number: int, retry_after: str = "") -> float:
        """The seconds to wait after that try, at least those of a Retry-After (RFC 9110, 10.2.3) up to a limit."""
        pause: float = self.pause * 3 ** (number - 1) * random.uniform(0.6, 1.2)  # noqa: S311
        requested = (
            float(retry_after) if retry_after.isdecimal() else 0.0
        )  # few servers send a date
        return max(pause, min(requested, _LONGEST_WAIT))


QUICK_RETRY: Final = RetryPolicy(tries=2, connect=3.0)


class TooLongAnswer(IndexFailure):
    """An answer has more bytes than it may have."""


class Reply(NamedTuple):
    """A whole answer. `url` is its address after redirects, without credentials."""

    status: int
    url: str
    headers: Mapping[str, str]
    body: bytes


class _Busy(Exception):
    """A server says to come again after so many seconds."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds


class Client:
    """The HTTP client of an event loop, on which `close` must be awaited.

    Tests pass a `transport` of their own.

    Requests go to the transport. httpx's own client is not used: it reads the address of a redirect
    even if it is not to follow it, and keeps cookies.
    """

    def __init__(
        self,
        pip: PipConfig,
        meter: Meter,
        *,
        patience: RetryPolicy | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.patience = patience or RetryPolicy()
        self._timeout = pip.timeout
        self._meter = meter
        self._answered: set[Origin] = set()
        self._dead: dict[
            Origin, tuple[int, Unreachable]
        ] = {}  # that never answered, with the number of tries
        self.credentials = Credentials()
        self._transport = transport or Transport(pip)
        self._slots = {False: Slots(PAGES), True: Slots(FILES)}
        self._pauses: dict[Origin, float] = {}  # when a server that said to wait may be asked again

    async def close(self) -> None:
        """Close all connections."""
        await self._transport.aclose()

    def use(self, root: Root) -> None:
        """Ask an index with its credentials, and with slots that it shares with no other host."""
        self.credentials.remember(root)
        for slots in self._slots.values():
            slots.reserve(root.url)

    async def get(
        self,
        url: str,
        *,
        headers: Mapping[str, str],
        limit: int,
        patience: RetryPolicy | None = None,
    ) -> Reply:
        """Request a whole answer.

        Raises Unreachable, or IndexFailure for more than `limit` bytes.
        """

        async def whole(response: httpx.Response) -> Reply:
            body = await self.body(response, limit) if response.status_code == 200 else b""
            return Reply(
                response.status_code, response.extensions["address"], response.headers, body
            )

        return await self.request(url, whole, headers=headers, patience=patience)

    async def request(
        self,
        url: str,
        consume: Callable[[httpx.Response], Awaitable[T]],
        *,
        headers: Headers,
        patience: RetryPolicy | None = None,
        long: bool = False,
    ) -> T:
        """Send a GET, follow redirects, pass the answer to `consume`; retry all of that if the network fails.

        The answer's extension `address` is its URL after redirects. `headers` may be a function,
        called for each try. `long` is for whole files. At most PAGES (FILES) of one host are
        answered and consumed at once.

        Raises Unreachable after the last try, and what `consume` raises.
        """
        patience = patience or self.patience
        origin = _require_allowed([url])[1]
        numbers = iter(range(1, patience.tries + 1))
        while True:
            await self._wait_for(origin)
            try:
                async with self._slots[long].of(url):
                    return await self._try(url, consume, headers, patience, numbers)
            except (
                _Busy
            ) as busy:  # whoever waits for as long as a server says does so without a slot
                self._pauses[origin] = max(self._pauses.get(origin, 0.0), _now() + busy.seconds)

    async def _wait_for(self, origin: Origin) -> None:
        """Wait until a server that said so to anyone may be asked again."""
        seconds = self._pauses.get(origin, 0.0) - _now()
        if seconds > 0:
            await asyncio.sleep(seconds)

    async def _try(
        self,
        url: str,
        consume: Callable[[httpx.Response], Awaitable[T]],
        headers: Headers,
        patience: RetryPolicy,
        numbers: Iterator[int],
    ) -> T:
        """Try a request under each of these numbers, with pauses between them.

        Raises _Busy to have a longer one.
        """
        origin = origin_of(url)
        tries, failure = self._dead.get(origin, (0, None))
        if failure is not None and tries >= patience.tries:
            raise failure
        for number in numbers:
            urls = [url]
            try:
                response = await self._send(
                    urls, headers() if callable(headers) else headers, patience
                )
                self._answered.add(origin)
                self._dead.pop(origin, None)
                try:
                    if response.status_code not in _BUSY:
                        return await consume(response)
                finally:
                    await response.aclose()
                status = f"{response.status_code} {response.reason_phrase}".rstrip()
                raise NoAnswerError(
                    f"It answered {status}", retry_after=response.headers.get("retry-after", "")
                )
            except NoAnswerError as error:
                failure = self._unreachable(urls, error, number)
                if error.certificate or (
                    error.unknown_name and patience.tries <= QUICK_RETRY.tries
                ):
                    break
                wait = patience.wait(number, error.retry_after)
                says_to_wait = bool(error.retry_after)
            if number < patience.tries:
                if says_to_wait:
                    raise _Busy(wait)
                await asyncio.sleep(wait)
        assert failure is not None, "it is tried at least once"  # noqa: S101
        if origin not in self._answered:
            self._dead[origin] = patience.tries, failure
        raise failure

    async def body(self, response: httpx.Response, limit: int) -> bytes:
        """Read the body of an answer.

        Raises TooLongAnswer beyond `limit` bytes, IndexFailure if it takes too long.
        """
        body = BytesIO()
        where = shown_address(response.extensions["address"])
        now = asyncio.get_running_loop().time
        until = now() + _WHOLE * self._timeout

        def take(piece: bytes) -> None:
            body.write(piece)
            if body.tell() > limit:
                raise TooLongAnswer(
                    "An index sent far more data than such an answer can contain.",
                    where=where,
                    why=f"The download was stopped after {limit >> 20} MiB.",
                    hint="check the address of the index; a proxy may have answered in its place",
                )
            if now() > until:
                raise IndexFailure(
                    "An index did not finish its answer.",
                    where=where,
                    why=f"It was not complete after {_WHOLE * self._timeout:.0f} seconds.",
                    hint="on a slow connection, increase pip's timeout, which also applies here: "
                    "`pip config set global.timeout SECONDS`",
                )

        await self.stream_body(response, take)
        return body.getvalue()  # without copying

    async def stream_body(self, response: httpx.Response, take: Callable[[bytes], None]) -> None:
        """Pass the body to `take` as it arrives, decompressed if the request accepts that.

        Raises NoAnswerError, IndexFailure if it cannot be decompressed, and what `take` raises.
        """
        accepted = response.request.headers["Accept-Encoding"] == _PACKED
        encoding = (
            response.headers.get("content-encoding", "identity").strip().lower()
            if accepted
            else "identity"
        )
        if encoding in ("", "identity"):
            await self._receive(response, take)
            return
        if encoding not in (_PACKED, f"x-{_PACKED}"):
            raise _unpackable(response, f"`{encoding[:40].rstrip(', ')}` was not asked for")
        unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)

        def unpack(piece: bytes) -> None:
            while piece and not unpacker.eof:
                try:
                    content = unpacker.decompress(piece, _PIECE)
                except zlib.error as error:
                    raise _unpackable(
                        response, str(error).rpartition(": ")[2].capitalize()
                    ) from None
                take(content)
                piece = unpacker.unconsumed_tail
            if piece or unpacker.unused_data:
                raise _unpackable(response, "It continues after its end")

        await self._receive(response, unpack)
        if not unpacker.eof:
            raise _unpackable(response, "It ends too early")

    async def _receive(self, response: httpx.Response, take: Callable[[bytes], None]) -> None:
        """Pass the body to `take` as it is sent, at a minimal rate: limits for single reads would admit a trickle."""
        now = asyncio.get_running_loop().time
        window = _WINDOW * self._timeout
        pieces = response.aiter_raw()
        while True:
            until, recent = now() + window, 0
            # aiohttp's own limit does not hold after it closed the connection because of what was
            # sent.
            async with _limit(2 * window, "It stopped answering"):
                while now() < until:
                    try:
                        piece = await anext(pieces, b"")
                    except ERRORS as error:
                        raise no_answer(error) from None
                    if not piece:
                        return
                    recent += len(piece)
                    self._meter.add(received=len(piece))
                    take(piece)
            if recent < _SLOWEST * window:
                raise NoAnswerError(f"It sends less than {_SLOWEST} bytes a second")

    async def _send(
        self, urls: list[str], headers: Mapping[str, str], patience: RetryPolicy
    ) -> httpx.Response:
        """Request the last of `urls` and follow redirects, which are added.

        The caller must close the answer.
        """
        timeouts = httpx.Timeout(self._timeout, connect=patience.connect, pool=patience.connect)
        time = patience.connect + _WINDOW * self._timeout
        while True:
            url, origin = _require_allowed(urls)
            fields = {**_FIELDS, **headers, **self.credentials.header(origin)}
            request = httpx.Request(
                "GET", url, headers=fields, extensions={"timeout": timeouts.as_dict()}
            )
            self._meter.add(requests=1)
            async with _limit(time, f"Its answer did not begin within {time:.0f} seconds"):
                try:
                    response = await self._transport.handle_async_request(request)
                except ERRORS as error:
                    raise no_answer(error) from None
            response.request = request
            response.extensions["address"] = without_credentials(urls[-1])
            if response.status_code < 200:
                await response.aclose()
                raise NoAnswerError(f"It sent the unexpected answer {response.status_code}")
            location = response.headers.get("location")
            if response.status_code not in _REDIRECTS or not location:
                return response
            await response.aclose()
            urls.append(_redirect(urls, location))

    def _unreachable(self, urls: list[str], error: NoAnswerError, tries: int) -> Unreachable:
        """The failure of an address, or of the last of its redirects."""
        proxy = self._transport.proxy(urls[-1]) if isinstance(self._transport, Transport) else ""
        why = str(error)
        hint = "check the network and proxy (HTTPS_PROXY, NO_PROXY), or lock from the cache with --offline"
        if proxy and "answered 407" in why:
            hint = "the proxy requires a login: HTTPS_PROXY=http://USER:PASSWORD@HOST:PORT (write `@` in them as %40)"
        elif error.certificate and "mismatch" in why:
            hint = "the server's certificate is for another host: check the address, or what answers in its place"
        elif error.certificate:
            hint = "if your proxy re-signs TLS connections, set its certificate: `pip config set global.cert FILE`"
        return Unreachable(
            f"{origin_of(urls[-1]).host} cannot be reached.",
            where=_route(urls),
            why=f"{why.removesuffix('.')} ({f'through the proxy {proxy}, ' if proxy else ''}"
            f"{tries} {'try' if tries == 1 else 'tries'}).",
            hint=hint,
        )


@asynccontextmanager
async def _limit(seconds: float, why: str) -> AsyncIterator[None]:
    """A limit of time. Raises NoAnswerError."""
    try:
        async with timeout(seconds):
            yield
    except asyncio.TimeoutError:
        raise NoAnswerError(why) from None


def _unpackable(response: httpx.Response, why: str) -> IndexFailure:
    return IndexFailure(
        "An index sent data that cannot be decompressed.",
        where=shown_address(response.extensions["address"]),
        why=f"{why}.",
        hint="a proxy or mirror may declare the wrong compression; try again or use another index",
    )


# Addresses and their redirects: a list of which the last one is requested


def _require_allowed(urls: list[str]) -> tuple[httpx.URL, Origin]:  # noqa: TID251  as a type
    """The last address as it is sent, and its origin.

    Raises IndexFailure if it must not be requested.
    """
    try:
        origin = origin_of(urls[-1])
        url, sent, decoded = address.sendable(urls[-1])
    except address.AddressError:
        raise _refusal(urls, "It cannot be read.") from None
    except ValueError as error:
        raise _refusal(urls, str(error)) from None
    if (
        len(urls) > 1
        and (is_local(origin.host) or is_local(sent))
        and not is_local(origin_of(urls[0]).host)
    ):
        why = "It is an address on this machine or its local link; only an index on this machine may redirect there."
        raise _refusal(urls, why)
    if not is_allowed(origin):
        raise _refusal(urls, "Only https is allowed, and plain http only to this machine.")
    # Libraries might read another form of host as a host other than the one that was checked.
    if url.userinfo or not _HOST.fullmatch(sent) or origin.host not in (decoded, sent):
        raise _refusal(urls, f"It cannot be read: `{shown_address(origin.host)}` is not a host.")
    return url, origin


def _redirect(urls: list[str], location: str) -> str:
    """The address of a redirect. Raises IndexFailure if it is invalid, or there are too many."""
    if len(urls) > _MOST_REDIRECTS:
        raise IndexFailure(
            "An index redirects in a loop.",
            where=shown_address(urls[0]),
            why=f"There were more than {_MOST_REDIRECTS} redirects.",
            hint="check the address of the index; a proxy or mirror may be set up wrongly",
        )
    try:
        return without_credentials(address.join(urls[-1], location))
    except address.AddressError:
        raise _refusal([*urls, location], "It cannot be read.") from None


def _refusal(urls: list[str], why: str) -> IndexFailure:
    """The failure of an address that must not be requested."""
    return IndexFailure(
        "The address is not allowed."
        if len(urls) == 1
        else "An index redirects to an address that is not allowed.",
        where=_route(urls),
        why=why,
        hint="check the address of the index and what it redirects to",
    )


def _route(urls: list[str]) -> str:
    """The first and the last of these addresses, for messages."""
    first, last = shown_address(urls[0]), shown_address(urls[-1])
    return first if urls[0] == urls[-1] else f"{first} -> {last}"
