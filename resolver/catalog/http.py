"""Requests over HTTP/2 or 1.1: which are allowed, how often they are tried, whose credentials they carry."""

from __future__ import annotations

import asyncio
import os
import random
import socket
from collections.abc import Awaitable, Callable, Mapping
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar
from urllib.parse import urljoin

from resolver.catalog.address import Origin, Root, is_allowed, origin, without_credentials
from resolver.catalog.meter import Meter
from resolver.catalog.pipconfig import PipConfig
from resolver.catalog.tls import trust
from resolver.errors import IndexFailure, InputError

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")

_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_MOST_REDIRECTS: Final = 10
_BUSY: Final = frozenset({408, 429, 500, 502, 503, 504})
_LONGEST_WAIT: Final = 20.0  # seconds that a Retry-After may ask for
_CONNECTIONS: Final = 16


class Unreachable(IndexFailure):
    """An index did not answer, as opposed to answering something unusable."""


class Patience(NamedTuple):
    """How long and how often an index is tried. Seconds; `pause` is the first wait between tries."""

    tries: int = 4
    connect: float = 10.0
    pause: float = 0.4


BRIEF: Final = Patience(tries=2, connect=3.0)


class Reply(NamedTuple):
    """A whole answer. `url` is the last one of any redirects, without credentials."""

    status: int
    url: str
    headers: Mapping[str, str]
    body: bytes


class _Host:
    """What is known of an origin. The first request goes alone, as 150 at once would each wait for a dead host."""

    def __init__(self) -> None:
        self.probe: asyncio.Future[None] | None = None
        self.answered = False
        self.dead: Unreachable | None = None

    def settle(self) -> None:
        """Let those pass who wait for the first request."""
        if self.probe is not None:
            self.probe.set_result(None)
            self.probe = None


class Client:
    """An HTTP client. It lives on one event loop; `close` must be awaited there."""

    def __init__(self, pip: PipConfig, meter: Meter, *, patience: Patience | None = None) -> None:
        import httpx

        self.patience = patience or Patience()
        self._meter = meter
        self._hosts: dict[Origin, _Host] = {}
        self._auth: dict[Origin, httpx.Auth] = {}
        self._read_timeout = pip.timeout
        try:
            self._netrc: httpx.Auth | None = httpx.NetRCAuth(os.environ.get("NETRC"))
        except OSError:
            self._netrc = None
        except Exception as error:  # netrc.NetrcParseError, whose module is not worth an import
            raise InputError("The netrc file cannot be read.", why=str(error)) from None
        self._pip = pip
        # A stream of HTTP/2 has a window of 64 kB here, which long files on far servers would wait for.
        self._pages = self._open(http2=True)
        self._long: httpx.AsyncClient | None = None

    def _open(self, *, http2: bool) -> httpx.AsyncClient:
        import httpx

        try:
            return httpx.AsyncClient(
                http2=http2,
                verify=trust(self._pip, os.environ),
                proxy=self._pip.proxy or None,
                limits=httpx.Limits(max_connections=_CONNECTIONS, max_keepalive_connections=_CONNECTIONS),
                headers={"User-Agent": "ascend-lock"},
                follow_redirects=False,
                # What is asked over plain http must not leave this machine, not even to a proxy.
                mounts=dict.fromkeys(("all://127.0.0.1", "all://localhost", "all://[::1]")),
            )
        except ValueError as error:
            raise InputError(
                "The proxy settings cannot be used.",
                where="HTTPS_PROXY, HTTP_PROXY, ALL_PROXY or pip's proxy",
                why=without_credentials(str(error)),
            ) from None

    def _session(self, long: bool) -> httpx.AsyncClient:
        if not long:
            return self._pages
        if self._long is None:
            self._long = self._open(http2=False)
        return self._long

    async def close(self) -> None:
        """Close all connections."""
        await self._pages.aclose()
        if self._long is not None:
            await self._long.aclose()

    def remember(self, root: Root) -> None:
        """Send the credentials of an index to its own origin, and nowhere else."""
        import httpx

        if root.user or root.password:
            self._auth[origin(root.url)] = httpx.BasicAuth(root.user, root.password)

    async def get(self, url: str, *, headers: Mapping[str, str], limit: int, patience: Patience | None = None) -> Reply:
        """A whole answer whatever its status; raises Unreachable, or IndexFailure for more than `limit` bytes."""

        async def whole(response: httpx.Response) -> Reply:
            final = without_credentials(str(response.url))
            body = await self.body(response, limit) if response.status_code == 200 else b""
            return Reply(response.status_code, final, response.headers, body)

        return await self.request(url, whole, headers=headers, patience=patience)

    async def body(self, response: httpx.Response, limit: int) -> bytes:
        """The body of an answer; raises IndexFailure where it is longer than `limit` bytes."""
        chunks = []
        size = 0
        async for chunk in response.aiter_bytes():
            size += len(chunk)
            if size > limit:
                raise IndexFailure(
                    "An index sent far more than such an answer ever has.",
                    where=_shown(str(response.url)),
                    why=f"It was broken off after {limit >> 20} MiB.",
                )
            chunks.append(chunk)
        self._meter.add(received=size)
        return b"".join(chunks)

    async def request(
        self,
        url: str,
        consume: Callable[[httpx.Response], Awaitable[T]],
        *,
        headers: Mapping[str, str],
        patience: Patience | None = None,
        long: bool = False,
    ) -> T:
        """Send a GET, follow redirects, hand the answer to `consume`; all of it again where the network fails.

        `long` is for whole files. Raises Unreachable after the last try.
        """
        patience = patience or self.patience
        host = self._hosts.setdefault(_allowed(url), _Host())
        while (probe := host.probe) is not None:
            await asyncio.shield(probe)
        if host.dead is not None:
            raise host.dead
        if not host.answered:
            host.probe = asyncio.get_running_loop().create_future()
        try:
            return await self._tries(self._session(long), url, consume, headers, patience, host)
        finally:
            host.settle()

    async def _tries(
        self,
        session: httpx.AsyncClient,
        url: str,
        consume: Callable[[httpx.Response], Awaitable[T]],
        headers: Mapping[str, str],
        patience: Patience,
        host: _Host,
    ) -> T:
        import httpx

        for number in range(1, patience.tries + 1):
            wait = patience.pause * 3 ** (number - 1) * random.uniform(0.6, 1.2)  # noqa: S311
            try:
                response = await self._send(session, url, headers, patience, host)
                try:
                    if response.status_code not in _BUSY:
                        return await consume(response)
                finally:
                    await response.aclose()
                why = f"It answered {response.status_code} {response.reason_phrase}".rstrip() + "."
                wait = max(wait, _retry_after(response.headers.get("retry-after", "")))
            except (httpx.TransportError, httpx.DecodingError) as error:
                why = _why(error)
                certificate = "CERTIFICATE_VERIFY_FAILED" in str(error)
                hopeless = certificate or (patience is BRIEF and _is_unknown(error))
                last = number == patience.tries or hopeless
                if last and not host.answered:
                    host.dead = _unreachable(url, why, number, certificate)
                if last:
                    raise _unreachable(url, why, number, certificate) from None
            if number < patience.tries:
                await asyncio.sleep(wait)
        raise _unreachable(url, why, patience.tries, certificate=False)

    async def _send(
        self, session: httpx.AsyncClient, url: str, headers: Mapping[str, str], patience: Patience, host: _Host
    ) -> httpx.Response:
        """One request and its redirects; the answer's body is still to be read, and the answer to be closed."""
        import httpx

        timeout = httpx.Timeout(self._read_timeout, connect=patience.connect, pool=None)
        hop = url
        for _ in range(_MOST_REDIRECTS + 1):
            where = _allowed(hop, came_from=url)
            try:
                request = session.build_request("GET", hop, headers=headers, timeout=timeout)
            except (httpx.InvalidURL, ValueError) as error:
                raise _refused(hop, f"It cannot be read: {error}.", url) from None
            self._meter.add(requests=1)
            response = await session.send(request, stream=True, auth=self._auth.get(where, self._netrc))
            host.answered = True
            host.settle()
            target = response.headers.get("location")
            if response.status_code not in _REDIRECTS or not target:
                return response
            await response.aclose()
            try:
                hop = without_credentials(urljoin(hop, target))
            except ValueError:
                raise _refused(target, "It cannot be read.", url) from None
        raise _refused(hop, f"There were more than {_MOST_REDIRECTS} redirects.", url)


def _allowed(url: str, came_from: str = "") -> Origin:
    try:
        where = origin(url)
    except ValueError as error:
        raise _refused(url, str(error), came_from) from None
    if not is_allowed(where):
        raise _refused(url, "Only https is asked, and http on this machine itself.", came_from)
    return where


def _refused(url: str, why: str, came_from: str) -> IndexFailure:
    redirected = came_from and came_from != url
    return IndexFailure(
        "An index redirects to an address that must not be asked." if redirected else "An address must not be asked.",
        where=f"{_shown(came_from)} -> {_shown(url)}" if redirected else _shown(url),
        why=why,
    )


def _unreachable(url: str, why: str, tries: int, certificate: bool) -> Unreachable:
    if certificate:
        hint = "if a proxy of yours signs connections anew, name its certificate: `pip config set global.cert FILE`"
    else:
        hint = "check network and proxy (HTTPS_PROXY, NO_PROXY), or lock from the cache with --offline"
    host = origin(url).host
    return Unreachable(
        f"{host} cannot be reached.",
        where=_shown(url),
        why=f"{why.removesuffix('.')} ({tries} {'try' if tries == 1 else 'tries'}).",
        hint=hint,
    )


def _shown(url: str) -> str:
    """An address for people: no credentials, no query, which may be a signature."""
    return without_credentials(url).partition("?")[0]


def _is_unknown(error: BaseException | None) -> bool:
    """Whether a host's name is not known here, as that of an index that cannot be reached from this network."""
    while error is not None:
        if isinstance(error, socket.gaierror):
            return error.errno == socket.EAI_NONAME
        error = error.__cause__ or error.__context__
    return False


def _why(error: Exception) -> str:
    import httpx

    match error:
        case httpx.ConnectTimeout():
            return "No connection within the time limit"
        case httpx.TimeoutException():
            return "It stopped answering"
        case _:
            return without_credentials(str(error)) or type(error).__name__


def _retry_after(value: str) -> float:
    """The seconds that a Retry-After header asks for, within limits (RFC 9110, 10.2.3)."""
    try:
        seconds = float(value)
    except ValueError:
        try:
            from datetime import datetime, timezone

            seconds = (parsedate_to_datetime(value) - datetime.now(timezone.utc)).total_seconds()
        except (TypeError, ValueError):
            return 0.0
    return min(max(seconds, 0.0), _LONGEST_WAIT) if seconds == seconds else 0.0
