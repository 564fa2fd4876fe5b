"""Send HTTP requests with retries, limits for size and time, and rules for redirects."""

from __future__ import annotations

import asyncio
import random
import sys
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from io import BytesIO
from typing import Final, NamedTuple, TypeVar

import httpx

from resolver.errors import IndexFailure, Unreachable
from resolver.index.net.credentials import Credentials
from resolver.index.net.no_answer import ERRORS, NoAnswerError, no_answer
from resolver.index.net.pipconfig import PipConfig
from resolver.index.net.redirects import redirected, require_allowed, shown_route
from resolver.index.net.slots import Lane, Slots
from resolver.index.net.transport import Transport
from resolver.index.parse.address import Origin, Root, origin_of, without_credentials
from resolver.index.protocol import Meter
from resolver.phrase import EMPTY, Phrase, cause, literal, phrase
from resolver.redaction import shown_address

if sys.version_info >= (3, 11):
    from asyncio import timeout
else:  # which aiohttp brings there
    from async_timeout import timeout  # type: ignore[import-not-found]

T = TypeVar("T")
# Header fields of a request, or a function that returns them for each try.
Headers = Mapping[str, str] | Callable[[], Mapping[str, str]]

# Concurrent requests to a server. With 50 connections, a mirror was ten times slower than with 16.
PAGES: Final = 16
# Concurrent requests to a distant server that is not overloaded by them (see `slots`).
MOST_PAGES: Final = 48
# Concurrent requests for whole files to a server. They take long, and must not delay pages.
FILES: Final = 8
# The lowest rate of an answer in bytes a second. It is low, since a proxy that scans a file sends
# little until it passes the file on.
_SLOWEST: Final = 100
# The time over which the rate is measured, and the limit until an answer begins. The unit is the
# timeout of pip's configuration.
_WINDOW: Final = 4
# The time limit for an answer that is held in memory, in the same unit.
_WHOLE: Final = 40
# HTTP statuses.
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_BUSY: Final = frozenset({408, 429, 500, 502, 503, 504})
_LONGEST_WAIT: Final = 20.0  # seconds that a Retry-After may ask for
_PIECE: Final = 256 << 10  # bytes unpacked at once
_GZIP: Final = "gzip"
_FIELDS: Final = {"User-Agent": "ascend-lock", "Accept": "*/*", "Accept-Encoding": _GZIP}
# For requests for files, which must not be compressed: their ranges and lengths are compared.
IDENTITY_ENCODING: Final = {"Accept-Encoding": "identity"}


def _now() -> float:
    """Return the time of the event loop's clock in seconds."""
    return asyncio.get_running_loop().time()


def conditions(etag: str, modified: str) -> dict[str, str]:
    """Return the header fields of a conditional request (RFC 9110, 13).

    The server answers 304 if the validators `etag` and `modified` (Last-Modified) still hold. Empty
    and invalid validators are left out.
    """
    fields = {"If-None-Match": etag, "If-Modified-Since": modified}
    return {name: value for name, value in fields.items() if value and value.isascii()}


class RetryPolicy(NamedTuple):
    """How often a request is tried, and with which pauses."""

    # The number of tries.
    tries: int = 4
    # The time limit for making a connection, in seconds.
    connect: float = 10.0
    # The pause after the first try, in seconds. Each further pause is three times as long.
    pause: float = 0.4

    def wait(self, number: int, retry_after: str = "") -> float:
        """Return the number of seconds to wait after a try. `number` counts the tries from 1.

        The length is partly random. If the server demands a pause with Retry-After (RFC 9110,
        10.2.3), the result is at least that, but no more than _LONGEST_WAIT for this reason.
        """
        pause: float = self.pause * 3 ** (number - 1) * random.uniform(0.6, 1.2)  # noqa: S311
        if retry_after.isdecimal():  # few servers send a date
            requested = min(float(retry_after), _LONGEST_WAIT)
            return max(pause, requested)
        return pause


# For a server that may be replaced by another one.
QUICK_RETRY: Final = RetryPolicy(tries=2, connect=3.0)


class TooLongAnswer(IndexFailure):
    """An answer exceeds the limit for its size."""


class _Busy(Exception):
    """A server demands a pause before the next request."""

    def __init__(self, seconds: float) -> None:
        """Give the length of the pause in seconds."""
        super().__init__()
        self.seconds = seconds


class Client:
    """An HTTP client for one event loop, on which `close` must be awaited at the end.

    It uses a transport of httpx and not httpx's own client. That one parses the address of a
    redirect even if it should not follow it, and it keeps cookies.
    """

    def __init__(
        self,
        pip: PipConfig,
        meter: Meter,
        *,
        patience: RetryPolicy | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """Use the settings of pip, and count traffic with `meter`.

        `patience` is the policy for requests that have none of their own. Tests pass a `transport`.
        Raises InputError if settings of pip or the netrc file are invalid.
        """
        self.patience = patience or RetryPolicy()
        self._timeout = pip.timeout
        self._meter = meter
        self.credentials = Credentials()
        self._transport = transport or Transport(pip)
        self._page_slots = Slots(PAGES, MOST_PAGES)
        # Limits the number of bodies in memory, which `_page_slots` may exceed.
        self._body_slots = Slots(PAGES)
        self._file_slots = Slots(FILES)
        # The time of the loop's clock until which a server demanded a pause.
        self._pauses: dict[Origin, float] = {}
        # The servers that answered a request.
        self._answered: set[Origin] = set()
        # The servers that never answered: the number of tries, and the failure.
        self._dead: dict[Origin, tuple[int, Unreachable]] = {}

    async def close(self) -> None:
        """Close all connections."""
        await self._transport.aclose()

    def use(self, root: Root) -> None:
        """Send the credentials of an index to its server, and give that server its own slots."""
        self.credentials.remember(root)
        self._page_slots.reserve(root.url)
        self._body_slots.reserve(root.url)
        self._file_slots.reserve(root.url)

    async def request(
        self,
        url: str,
        consume: Callable[[httpx.Response], Awaitable[T]],
        *,
        headers: Headers,
        patience: RetryPolicy | None = None,
        long: bool = False,
    ) -> T:
        """Send a GET request, follow redirects, and return the result of `consume(response)`.

        If the network fails or the server is busy, all of that is tried again, as `patience` says.
        The extension `address` of the response is its address after redirects, without credentials.
        `headers` may be a function, which is called for each try. `long` must be set for whole
        files. At most PAGES responses of one host (FILES with `long`) are consumed at a time.

        Raises Unreachable after the last try, IndexFailure for an address that must not be
        requested, and the exceptions of `consume`.
        """
        patience = patience or self.patience
        origin = require_allowed([url])[1]
        slots = self._file_slots if long else self._page_slots
        if not long:
            consume = self._one_of_few(url, consume)
        # The numbers of the tries that are left.
        numbers = iter(range(1, patience.tries + 1))
        while True:
            await self._wait_for(origin)
            try:
                lane = slots.of(url)
                async with lane:
                    return await self._try(url, consume, headers, patience, numbers, lane)
            except _Busy as busy:
                # While this request waits as the server demands, it takes no slot.
                until = _now() + busy.seconds
                self._pauses[origin] = max(self._pauses.get(origin, 0.0), until)

    def _one_of_few(
        self, url: str, consume: Callable[[httpx.Response], Awaitable[T]]
    ) -> Callable[[httpx.Response], Awaitable[T]]:
        """Return a function that waits for a slot for a body in memory, then calls `consume`."""

        async def consume_in_turn(response: httpx.Response) -> T:
            async with self._body_slots.of(url):
                return await consume(response)

        return consume_in_turn

    async def _wait_for(self, origin: Origin) -> None:
        """Wait until the pause is over that a server demanded in answer to any request."""
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
        lane: Lane,
    ) -> T:
        """Try a request with the remaining numbers of tries, and pause after each failure.

        Raises _Busy if the server demands a pause, so that the caller frees the slot (`lane`) and
        calls again. Raises Unreachable after the last try.
        """
        origin = origin_of(url)
        tries, failure = self._dead.get(origin, (0, None))
        if failure is not None and tries >= patience.tries:
            raise failure
        for number in numbers:
            urls = [url]
            try:
                return await self._answer(urls, consume, headers, patience, lane)
            except NoAnswerError as error:
                lane.refused()
                failure = self._unreachable(urls, error, number)
                is_final = _is_final(error, patience)
                seconds = patience.wait(number, error.retry_after)
                is_told_to_wait = bool(error.retry_after)
            if is_final:
                break
            if number < patience.tries:
                if is_told_to_wait:
                    raise _Busy(seconds)
                await asyncio.sleep(seconds)
        assert failure is not None, "it is tried at least once"  # noqa: S101
        if origin not in self._answered:
            self._dead[origin] = patience.tries, failure
        raise failure

    async def _answer(
        self,
        urls: list[str],
        consume: Callable[[httpx.Response], Awaitable[T]],
        headers: Headers,
        patience: RetryPolicy,
        lane: Lane,
    ) -> T:
        """Try a request once, and return the result of `consume`.

        Redirects are added to `urls`. Raises NoAnswerError if there is no answer or the server is
        busy, IndexFailure for an address that must not be requested, and the exceptions of
        `consume`.
        """
        origin = origin_of(urls[0])
        fields = headers() if callable(headers) else headers
        begun = _now()
        response = await self._send(urls, fields, patience)
        if len(urls) == 1:
            lane.answered(_now() - begun)
        self._answered.add(origin)
        self._dead.pop(origin, None)
        try:
            if response.status_code not in _BUSY:
                return await consume(response)
        finally:
            await response.aclose()
            seconds = _now() - begun
            self._meter.answered(shown_address(urls[-1]), response.status_code, seconds)
        status = f"{response.status_code} {response.reason_phrase}".rstrip()
        retry_after = response.headers.get("retry-after", "")
        raise NoAnswerError(phrase("It answered {status}", status=status), retry_after=retry_after)

    async def body(self, response: httpx.Response, limit: int) -> bytes:
        """Return the body of a response, decompressed.

        Raises TooLongAnswer for more than `limit` bytes, IndexFailure if it takes too long or
        cannot be decompressed, and NoAnswerError if it breaks off.
        """
        body = BytesIO()
        where = shown_address(response.extensions["address"])
        most_seconds = _WHOLE * self._timeout
        until = _now() + most_seconds

        def take(piece: bytes) -> None:
            """Append a piece, and check the limits."""
            body.write(piece)
            if body.tell() > limit:
                raise TooLongAnswer(
                    phrase("An index sent far more data than such an answer can contain."),
                    where=where,
                    why=phrase("The download was stopped after {limit} MiB.", limit=limit >> 20),
                    hint=phrase(
                        "check the address of the index; a proxy may have answered in its place"
                    ),
                )
            if _now() > until:
                raise IndexFailure(
                    phrase("An index did not finish its answer."),
                    where=where,
                    why=phrase(
                        "It was not complete after {seconds} seconds.",
                        seconds=f"{most_seconds:.0f}",
                    ),
                    hint=phrase(
                        "on a slow connection, increase pip's timeout, which also applies "
                        "here: `pip config set global.timeout SECONDS`"
                    ),
                )

        await self.stream_body(response, take)
        return body.getvalue()  # without copying

    async def stream_body(self, response: httpx.Response, take: Callable[[bytes], None]) -> None:
        """Call `take` with each piece of a response's body as it arrives.

        If the request accepted gzip, the pieces are decompressed. Raises NoAnswerError if the body
        breaks off or is too slow, IndexFailure if it cannot be decompressed, and the exceptions of
        `take`.
        """
        encoding = "identity"
        if response.request.headers["Accept-Encoding"] == _GZIP:
            encoding = response.headers.get("content-encoding", encoding).strip().lower()
        if encoding in ("", "identity"):
            await self._receive(response, take)
            return
        if encoding not in (_GZIP, f"x-{_GZIP}"):
            raise _unpackable(
                response,
                phrase("`{encoding}` was not asked for", encoding=encoding[:40].rstrip(", ")),
            )
        unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)

        def unpack(piece: bytes) -> None:
            """Decompress a piece, and pass on its content in parts of limited size."""
            while piece and not unpacker.eof:
                try:
                    content = unpacker.decompress(piece, _PIECE)
                except zlib.error as error:
                    why = literal(str(error).rpartition(": ")[2].capitalize())
                    raise _unpackable(response, why) from None
                take(content)
                piece = unpacker.unconsumed_tail
            if piece or unpacker.unused_data:
                raise _unpackable(response, phrase("It continues after its end"))

        await self._receive(response, unpack)
        if not unpacker.eof:
            raise _unpackable(response, phrase("It ends too early"))

    async def _receive(self, response: httpx.Response, take: Callable[[bytes], None]) -> None:
        """Call `take` with each piece of a response's body as it was sent.

        Raises NoAnswerError if the body breaks off, or if it is sent at less than _SLOWEST bytes a
        second: a timeout for single reads alone would allow one byte in each.
        """
        window = _WINDOW * self._timeout
        pieces = response.aiter_raw()
        while True:
            until = _now() + window
            received = 0
            # The timeout of aiohttp does not work after it has closed the connection itself,
            # because the server sent something invalid.
            async with _limit(2 * window, phrase("It stopped answering")):
                while _now() < until:
                    try:
                        piece = await anext(pieces, b"")
                    except ERRORS as error:
                        raise no_answer(error) from None
                    if not piece:
                        return
                    received += len(piece)
                    self._meter.add(received=len(piece))
                    take(piece)
            if received < _SLOWEST * window:
                raise NoAnswerError(
                    phrase("It sends less than {limit} bytes a second", limit=_SLOWEST)
                )

    async def _send(
        self, urls: list[str], headers: Mapping[str, str], patience: RetryPolicy
    ) -> httpx.Response:
        """Request the last of `urls`, follow redirects, and return the last response.

        Redirects are added to `urls`. The caller must close the response. Raises NoAnswerError, and
        IndexFailure for an address that must not be requested.
        """
        timeouts = httpx.Timeout(self._timeout, connect=patience.connect, pool=patience.connect)
        seconds = patience.connect + _WINDOW * self._timeout
        while True:
            url, origin = require_allowed(urls)
            fields = {**_FIELDS, **headers, **self.credentials.header(origin)}
            request = httpx.Request(
                "GET", url, headers=fields, extensions={"timeout": timeouts.as_dict()}
            )
            self._meter.add(requests=1)
            async with _limit(
                seconds,
                phrase(
                    "Its answer did not begin within {seconds} seconds", seconds=f"{seconds:.0f}"
                ),
            ):
                try:
                    response = await self._transport.handle_async_request(request)
                except ERRORS as error:
                    raise no_answer(error) from None
            response.request = request
            response.extensions["address"] = without_credentials(urls[-1])
            if response.status_code < 200:
                await response.aclose()
                raise NoAnswerError(
                    phrase("It sent the unexpected answer {status}", status=response.status_code)
                )
            location = response.headers.get("location")
            if response.status_code not in _REDIRECTS or not location:
                return response
            await response.aclose()
            urls.append(redirected(urls, location))

    def _unreachable(self, urls: list[str], error: NoAnswerError, tries: int) -> Unreachable:
        """Return the failure for the last of these addresses after a number of tries."""
        proxy = user = ""
        if isinstance(self._transport, Transport):
            proxy = self._transport.proxy(urls[-1])
            user = self._transport.proxy_user(urls[-1])
        through = phrase("through the proxy {proxy}, ", proxy=proxy) if proxy else EMPTY
        count = phrase("1 try") if tries == 1 else phrase("{count} tries", count=tries)
        return Unreachable(
            phrase("{host} cannot be reached.", host=origin_of(urls[-1]).host),
            where=shown_route(urls),
            why=phrase(
                "{cause} ({through}{tries}).", cause=cause(error), through=through, tries=count
            ),
            hint=_hint(error, proxy, user),
        )


def _is_final(error: NoAnswerError, patience: RetryPolicy) -> bool:
    """Return whether trying a request again is useless."""
    is_quick = patience.tries <= QUICK_RETRY.tries
    unknown = error.unknown_name and is_quick
    return error.certificate or unknown or _is_refused_by_proxy(error)


def _is_refused_by_proxy(error: NoAnswerError) -> bool:
    """Return whether a proxy asks for a login. More tries may lock the account of the user."""
    return "answered 407" in str(error)


def _hint(error: NoAnswerError, proxy: str, user: str) -> Phrase:
    """Return the hint for the user about an address that cannot be reached.

    `proxy` is the proxy of the request; empty without one. `user` is the user of its setting.
    """
    why = str(error)
    if proxy and user and _is_refused_by_proxy(error):
        return phrase(
            "the proxy refused user `{user}`: check the name and the password in HTTPS_PROXY, "
            "HTTP_PROXY or pip's proxy (write `@` in them as %40)",
            user=user,
        )
    if proxy and _is_refused_by_proxy(error):
        return phrase(
            "the proxy requires a login: HTTPS_PROXY=http://USER:PASSWORD@HOST:PORT "
            "(write `@` in them as %40)"
        )
    if error.certificate and "mismatch" in why:
        return phrase(
            "the server's certificate is for another host: "
            "check the address, or what answers in its place"
        )
    if error.certificate:
        return phrase(
            "if your proxy re-signs TLS connections, set its certificate: "
            "`pip config set global.cert FILE`"
        )
    return phrase(
        "check the network and proxy (HTTPS_PROXY, NO_PROXY), or lock from the cache with --offline"
    )


@asynccontextmanager
async def _limit(seconds: float, why: Phrase) -> AsyncIterator[None]:
    """Limit the time of the body of `async with`. Raises NoAnswerError, with `why`, after it."""
    try:
        async with timeout(seconds):
            yield
    except asyncio.TimeoutError:
        raise NoAnswerError(why) from None


def _unpackable(response: httpx.Response, why: Phrase) -> IndexFailure:
    """Return the failure of a response whose body cannot be decompressed."""
    return IndexFailure(
        phrase("An index sent data that cannot be decompressed."),
        where=shown_address(response.extensions["address"]),
        why=phrase("{cause}.", cause=why),
        hint=phrase(
            "a proxy or mirror may declare the wrong compression; try again or use another index"
        ),
    )
