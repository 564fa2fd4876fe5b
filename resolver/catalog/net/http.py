"""Requests: which ones are allowed, how often they are tried, whose credentials they carry."""

from __future__ import annotations

import asyncio
import netrc
import os
import random
from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Final, NamedTuple, TypeVar
from urllib.parse import urljoin

from resolver.catalog.meter import Meter
from resolver.catalog.net.pace import EndlessError
from resolver.catalog.net.pipconfig import PipConfig
from resolver.catalog.net.threads import Threads
from resolver.catalog.net.wire import FILES, PAGES, AddressError, Response, Wire, WireError
from resolver.catalog.parse.address import Origin, Root, beginning, is_allowed, is_local, origin, without_credentials
from resolver.disk import is_special
from resolver.errors import IndexFailure, InputError, Unreachable

T = TypeVar("T")

_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_MOST_REDIRECTS: Final = 10
_NETRC: Final = "correct it, or let the variable NETRC name another file"
_BUSY: Final = frozenset({408, 429, 500, 502, 503, 504})
_ASIDE: Final = 2  # a page of 5 MB takes 50 MB while it is parsed
_LONGEST_WAIT: Final = 20.0  # seconds that a Retry-After may ask for
_DEAD: Final = 30.0  # seconds during which a host that never answered is not asked again
_HEADERS: Final = {"User-Agent": "ascend-lock", "Accept-Encoding": "gzip, deflate"}


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
    """What is known about an origin. The first request goes alone, or 150 at once would each wait for a dead host."""

    def __init__(self) -> None:
        self.probe: asyncio.Future[None] | None = None
        self.answered = False
        self._dead: dict[Patience, tuple[float, Unreachable]] = {}

    def give_up(self, patience: Patience, failure: Unreachable) -> None:
        """Do not ask it for a while, as it never answered within that patience."""
        self._dead[patience] = asyncio.get_running_loop().time() + _DEAD, failure

    def require(self, patience: Patience) -> None:
        """Raise Unreachable if a request with the same or more patience gave up, and nobody got an answer since."""
        now = asyncio.get_running_loop().time()
        for known, (until, failure) in self._dead.items():
            if not self.answered and known.tries >= patience.tries and now < until:
                raise failure

    def settle(self) -> None:
        """Release those who wait for the first request."""
        if self.probe is not None:
            self.probe.set_result(None)
            self.probe = None


class Client:
    """An HTTP client. It lives on one event loop; `close` must be awaited there."""

    def __init__(self, pip: PipConfig, meter: Meter, *, patience: Patience | None = None) -> None:
        self.patience = patience or Patience()
        self._meter = meter
        self._hosts: dict[Origin, _Host] = {}
        self._auth: dict[Origin, str] = {}
        self._origins: dict[str, Origin] = {}
        self._netrc = _read_netrc()
        self._wire = Wire(pip)
        self._aside = Threads(_ASIDE)
        self._long = Threads(_ASIDE)
        # Files take long, so they must not hold up pages.
        self._few = {long: asyncio.Semaphore(FILES if long else PAGES) for long in (False, True)}

    async def close(self) -> None:
        """Close all connections."""
        await self._wire.close()
        self._aside.close()
        self._long.close()

    async def aside(self, call: Callable[[], T]) -> T:
        """Run a blocking call without blocking the event loop."""
        return await self._aside.run(call)

    async def apart(self, call: Callable[[], T]) -> T:
        """Like `aside`, for calls of about a second: neither pages nor the end of a run wait for them."""
        return await self._long.run(call)

    def remember(self, root: Root) -> None:
        """Send the credentials of an index to its own origin, and nowhere else.

        If an address has only a user, netrc may have both, as in pip; otherwise it is a token.
        """
        where = origin(root.url)
        if root.password or (root.user and not self._of_netrc(where)):
            self._auth[where] = _basic(root.user, root.password)

    async def get(self, url: str, *, headers: Mapping[str, str], limit: int, patience: Patience | None = None) -> Reply:
        """A whole answer with any status. Raises Unreachable, or IndexFailure for more than `limit` bytes."""

        async def whole(response: Response) -> Reply:
            body = await self.body(response, limit) if response.status_code == 200 else b""
            return Reply(response.status_code, without_credentials(response.url), response.headers, body)

        return await self.request(url, whole, headers=headers, patience=patience, limit=limit)

    async def body(self, response: Response, limit: int) -> bytes:
        """The body of an answer. Raises IndexFailure if it is longer than `limit` bytes or takes for ever."""
        try:
            body = await response.read(limit)
        except EndlessError as error:
            raise _endless(response.url, error) from None
        if body is None:
            raise IndexFailure(
                "An index sent far more data than such an answer can contain.",
                where=_shown(response.url),
                why=f"The download was stopped after {limit >> 20} MiB.",
                hint="check the address of the index; a proxy may have answered in its place",
            )
        self._meter.add(received=len(body))
        return body

    async def request(
        self,
        url: str,
        consume: Callable[[Response], Awaitable[T]],
        *,
        headers: Mapping[str, str],
        patience: Patience | None = None,
        long: bool = False,
        limit: int | None = None,
    ) -> T:
        """Send a GET, follow redirects, pass the answer to `consume`; retry all of that if the network fails.

        `long` is for whole files. With a `limit`, `consume` will read the body of a 200, or of a 206 if a range is
        requested. Raises Unreachable after the last try, and what `body` raises.
        """
        patience = patience or self.patience
        host = self._hosts.setdefault(self._allowed(url), _Host())
        while (probe := host.probe) is not None:
            await asyncio.shield(probe)
        host.require(patience)
        if not host.answered:
            host.probe = asyncio.get_running_loop().create_future()
        try:
            async with self._few[long]:
                return await self._tries(url, consume, {**_HEADERS, **headers}, patience, host, limit)
        finally:
            host.settle()

    async def _tries(
        self,
        url: str,
        consume: Callable[[Response], Awaitable[T]],
        headers: Mapping[str, str],
        patience: Patience,
        host: _Host,
        limit: int | None,
    ) -> T:
        stuck = False
        for number in range(1, patience.tries + 1):
            hops = [url]
            wait = patience.pause * 3 ** (number - 1) * random.uniform(0.6, 1.2)  # noqa: S311
            try:
                response = await self._send(hops, headers, patience, host, limit, anew=stuck)
                stuck = False
                try:
                    if response.status_code not in _BUSY:
                        return await consume(response)
                finally:
                    await response.aclose()
                why = f"It answered {response.status_code} {response.reason_phrase}".rstrip() + "."
                wait = max(wait, _retry_after(response.headers.get("retry-after", "")))
            except WireError as error:
                why = str(error)
                stuck = error.stuck
                if error.unpackable:
                    raise _unpackable(hops[-1], why) from None
                hopeless = error.certificate or (patience == BRIEF and error.unknown_name)
                if number == patience.tries or hopeless:
                    failure = self._unreachable(hops, why, number, certificate=error.certificate)
                    if not host.answered:
                        host.give_up(patience, failure)
                    raise failure from None
            if number < patience.tries:
                await asyncio.sleep(wait)
        raise self._unreachable(hops, why, patience.tries, certificate=False)

    async def _send(
        self,
        hops: list[str],
        headers: Mapping[str, str],
        patience: Patience,
        host: _Host,
        limit: int | None,
        *,
        anew: bool,
    ) -> Response:
        """One request with its redirects, which are added to `hops`. The caller must close the answer."""
        url = hop = hops[0]
        for _ in range(_MOST_REDIRECTS + 1):
            where = self._allowed(hop, came_from=url)
            if hop != url and is_local(where.host) and not is_local(origin(url).host):
                raise _refused(
                    hop,
                    "It is an address on this machine or its local link; only an index on this machine may "
                    "redirect there.",
                    url,
                )
            self._meter.add(requests=1)
            try:
                asked = {**headers, **self._credentials(where)}
                # Everybody waits for a host's first answer, but not for its body.
                taken = limit if host.answered else None
                response = await self._wire.send(hop, asked, patience.connect, taken, anew=anew)
            except AddressError as error:
                raise _refused(hop, f"It cannot be read: {error}.", url) from None
            except EndlessError as error:
                raise _endless(hop, error) from None
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
            hops.append(hop)
        raise IndexFailure(
            "An index redirects in a loop.",
            where=_shown(url),
            why=f"There were more than {_MOST_REDIRECTS} redirects.",
            hint="check the address of the index; a proxy or mirror may be set up wrongly",
        )

    def _unreachable(self, hops: list[str], why: str, tries: int, *, certificate: bool) -> Unreachable:
        """The failure of an address, or of the last of its redirects."""
        first, last = hops[0], hops[-1]
        proxy = self._wire.way(last)
        return Unreachable(
            f"{origin(last).host} cannot be reached.",
            where=_shown(last) if first == last else f"{_shown(first)} -> {_shown(last)}",
            why=f"{why.removesuffix('.')} ({f'through the proxy {proxy}, ' if proxy else ''}"
            f"{tries} {'try' if tries == 1 else 'tries'}).",
            hint=_advice(why, certificate=certificate, proxied=bool(proxy)),
        )

    def _allowed(self, url: str, came_from: str = "") -> Origin:
        """The origin of an address that may be requested, checked once for all addresses with the same beginning."""
        begin = beginning(url)
        if begin not in self._origins:
            self._origins[begin] = _allowed(url, came_from)
        return self._origins[begin]

    def _credentials(self, where: Origin) -> dict[str, str]:
        given = self._auth.get(where) or self._of_netrc(where)
        return {"Authorization": given} if given else {}

    def _of_netrc(self, where: Origin) -> str:
        """The entry of netrc for a host; "" if there is none."""
        entry = self._netrc.authenticators(where.host) if self._netrc is not None else None
        return _basic(entry[0], entry[2] or "") if entry else ""


def _basic(user: str, password: str) -> str:
    return "Basic " + b64encode(f"{user}:{password}".encode()).decode()


def _read_netrc() -> netrc.netrc | None:
    named = os.environ.get("NETRC")
    where = named or "~/.netrc"
    if is_special(Path(where).expanduser()):
        raise InputError("The netrc file cannot be read.", where=where, why="It is not a regular file.", hint=_NETRC)
    try:
        return netrc.netrc(named)
    except OSError:
        return None
    except netrc.NetrcParseError as error:
        if error.lineno is None:  # Python reads passwords from nobody's file but the user's
            hint = f"make it accessible only to you: chmod 600 {where}"
            raise InputError("The netrc file cannot be read.", where=where, why=error.msg, hint=hint) from None
        # its message quotes what it failed on, which may be a password
        raise InputError(
            "The netrc file cannot be read.",
            where=f"{where}:{error.lineno}",
            why="This line or the one before it does not have that form.",
            hint="an entry is `machine HOST login USER password PASSWORD`",
        ) from None
    except UnicodeDecodeError:
        raise InputError("The netrc file cannot be read.", where=where, why="It is not UTF-8.", hint=_NETRC) from None


def _allowed(url: str, came_from: str = "") -> Origin:
    try:
        where = origin(url)
    except ValueError as error:
        raise _refused(url, str(error), came_from) from None
    if not is_allowed(where):
        raise _refused(url, "Only https is allowed, and plain http only to this machine.", came_from)
    return where


def _refused(url: str, why: str, came_from: str) -> IndexFailure:
    redirected = came_from and came_from != url
    return IndexFailure(
        "An index redirects to an address that is not allowed." if redirected else "The address is not allowed.",
        where=f"{_shown(came_from)} -> {_shown(url)}" if redirected else _shown(url),
        why=why,
        hint="check the address of the index and what it redirects to",
    )


def _endless(url: str, error: EndlessError) -> IndexFailure:
    return IndexFailure(
        "An index did not finish its answer.",
        where=_shown(url),
        why=str(error),
        hint="on a slow connection, increase pip's timeout, which also applies here: "
        "`pip config set global.timeout SECONDS`",
    )


def _unpackable(url: str, why: str) -> IndexFailure:
    return IndexFailure(
        "An index sent data that cannot be decompressed.",
        where=_shown(url),
        why=f"{why}.",
        hint="a proxy or mirror may declare the wrong compression; try again or use another index",
    )


def _advice(why: str, *, certificate: bool, proxied: bool) -> str:
    """What to do if an address cannot be reached."""
    if proxied and "response 407" in why:
        return "the proxy requires a login: HTTPS_PROXY=http://USER:PASSWORD@HOST:PORT (write `@` in them as %40)"
    if certificate and "no alternative certificate" in why:
        return "the server's certificate is for another host: check the address, or what answers in its place"
    if certificate:
        return "if your proxy re-signs TLS connections, set its certificate: `pip config set global.cert FILE`"
    return "check the network and proxy (HTTPS_PROXY, NO_PROXY), or lock from the cache with --offline"


def _shown(url: str) -> str:
    """An address for people: without credentials and query, which may be a signature."""
    return without_credentials(url).partition("?")[0]


def _retry_after(value: str) -> float:
    """The seconds of a Retry-After header, within limits (RFC 9110, 10.2.3)."""
    try:
        seconds = float(value)
    except ValueError:
        try:
            from datetime import datetime, timezone

            seconds = (parsedate_to_datetime(value) - datetime.now(timezone.utc)).total_seconds()
        except (TypeError, ValueError, OverflowError):
            return 0.0
    return min(max(seconds, 0.0), _LONGEST_WAIT) if seconds == seconds else 0.0
