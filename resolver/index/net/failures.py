"""Why there is no answer, in words for people; how often a host is asked again, and when it is left alone."""

from __future__ import annotations

import asyncio
import os
import random
import socket
import ssl
from collections.abc import Iterator
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Final, NamedTuple

import aiohttp
import httpx

from resolver.errors import Unreachable

_NOTHING: Final = "It closed the connection without an answer"
_PART: Final = "It broke off its answer"
_LONGEST: Final = 200  # characters
# What a transport raises. asyncio.TimeoutError is not the built-in one before Python 3.11.
ERRORS: Final = (httpx.HTTPError, aiohttp.ClientError, asyncio.TimeoutError, OSError, RuntimeError, ValueError)


class NoAnswerError(Exception):
    """No answer, or an incomplete one. `certificate`, `unknown_name`: the cause, as far as known."""

    def __init__(self, why: str, *, certificate: bool = False, unknown_name: bool = False) -> None:
        super().__init__(why)
        self.certificate = certificate
        self.unknown_name = unknown_name


def no_answer(error: BaseException) -> NoAnswerError:
    """What an error of a transport means: the system's reason if there is one, else the library's words."""
    causes = list(_causes(error))
    for one in causes:
        if isinstance(one, ssl.SSLCertVerificationError):
            return NoAnswerError(f"Its certificate is not trusted: {one.verify_message}", certificate=True)
        if isinstance(one, socket.gaierror):
            return NoAnswerError(one.strerror or str(one), unknown_name=one.errno == socket.EAI_NONAME)
        if isinstance(one, ssl.SSLError) and one.reason:
            return NoAnswerError(f"TLS failed: {one.reason.replace('_', ' ').lower()}")
        if isinstance(one, OSError) and one.errno:
            return NoAnswerError(os.strerror(one.errno))
    told = next(_causes(error, of_aiohttp=True), error)  # what httpx-aiohttp makes of it says less
    match told:
        case httpx.ReadTimeout() | aiohttp.SocketTimeoutError():
            return NoAnswerError("It stopped answering")
        case httpx.TimeoutException() | aiohttp.ServerTimeoutError():
            return NoAnswerError("No connection within the time limit")
        case httpx.ProxyError():
            return NoAnswerError(f"The proxy answered {_text(told)}")
        case aiohttp.ServerDisconnectedError():
            return NoAnswerError(_NOTHING)
        case aiohttp.ClientPayloadError() | RuntimeError():  # aiohttp's for a connection that it closed itself
            return NoAnswerError(_PART)
        case httpx.RemoteProtocolError() if "closed" in str(told) or "disconnected" in str(told):
            return NoAnswerError(_PART if "complete" in str(told) else _NOTHING)
        case aiohttp.ClientResponseError():
            return NoAnswerError(f"It violates HTTP ({_text(told.message)})")
        case _:
            return NoAnswerError(f"It violates HTTP ({_text(told)})")


def _text(told: object) -> str:
    """The beginning of a message, as the rest quotes what the server sent."""
    return " ".join(str(told).partition(":")[0].split())[:_LONGEST].rstrip(".")


def _causes(error: BaseException, *, of_aiohttp: bool = False) -> Iterator[BaseException]:
    """An error, what caused it, and so on. Those of aiohttp pass for the errors of the system that they wrap."""
    one: BaseException | None = error
    while one is not None:
        if isinstance(one, aiohttp.ClientError) == of_aiohttp:
            yield one
        cause = one.__cause__ or (one.__context__ if one.__suppress_context__ else None)  # httpcore's `from None`
        one = next(iter(getattr(cause, "exceptions", ())), cause)  # of several addresses, the first


BUSY: Final = frozenset({408, 429, 500, 502, 503, 504})
_LONGEST_WAIT: Final = 20.0  # seconds that a Retry-After may ask for
_DEAD: Final = 30.0  # seconds during which a host that never answered is not asked again


class Patience(NamedTuple):
    """How long and how often an index is tried. Seconds; `pause` is the first wait between tries."""

    tries: int = 4
    connect: float = 10.0
    pause: float = 0.4

    def wait(self, number: int, retry_after: str = "") -> float:
        """The seconds after that try, at least those of a Retry-After (RFC 9110, 10.2.3) up to a limit."""
        own: float = self.pause * 3 ** (number - 1) * random.uniform(0.6, 1.2)  # noqa: S311
        return max(own, _seconds(retry_after))


BRIEF: Final = Patience(tries=2, connect=3.0)


class Host:
    """What is known about an origin. The first request goes alone, or 150 at once would each wait for a dead host."""

    def __init__(self) -> None:
        self.has_answered = False
        self._first: asyncio.Future[None] | None = None
        self._dead: dict[Patience, tuple[float, Unreachable]] = {}

    async def begin(self, patience: Patience) -> None:
        """Wait for the first request, or be it. Raises Unreachable if one with as much patience just gave up."""
        while self._first is not None:
            await asyncio.shield(self._first)
        if self.has_answered:
            return
        now = asyncio.get_running_loop().time()
        for known, (until, failure) in self._dead.items():
            if known.tries >= patience.tries and now < until:
                raise failure
        self._first = asyncio.get_running_loop().create_future()

    def answered(self) -> None:
        """There is an answer: the others need not wait for its body."""
        self.has_answered = True
        self.end()

    def end(self) -> None:
        """Release those who wait for the first request."""
        if self._first is not None:
            self._first.set_result(None)
            self._first = None

    def give_up(self, patience: Patience, failure: Unreachable) -> None:
        """Do not ask it for a while, if it never answered within that patience."""
        if not self.has_answered:
            self._dead[patience] = asyncio.get_running_loop().time() + _DEAD, failure


def _seconds(value: str) -> float:
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = (parsedate_to_datetime(value) - datetime.now(timezone.utc)).total_seconds()
        except (TypeError, ValueError, OverflowError):
            return 0.0
    return min(max(seconds, 0.0), _LONGEST_WAIT) if seconds == seconds else 0.0
