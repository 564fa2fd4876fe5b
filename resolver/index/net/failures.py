"""Why there is no answer, in words for people; how often a host is asked again."""

from __future__ import annotations

import asyncio
import os
import random
import socket
import ssl
from collections.abc import Iterator
from typing import Final, NamedTuple

import aiohttp
import httpx

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


def _seconds(value: str) -> float:
    """What a Retry-After of seconds asks for; 0 for a date, which few servers send."""
    try:
        seconds = float(value)
    except ValueError:
        return 0.0
    return min(max(seconds, 0.0), _LONGEST_WAIT) if seconds == seconds else 0.0
