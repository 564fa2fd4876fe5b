"""Explain why a request got no answer, from the error that a transport raised."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from collections.abc import Iterator
from typing import Final

import aiohttp
import httpx

from resolver.phrase import Phrase, as_phrase, phrase

_LONGEST: Final = 200  # characters of a library's message that are shown
# The exceptions of a transport for a request without an answer. Before Python 3.11,
# asyncio.TimeoutError is not the built-in TimeoutError.
ERRORS: Final = (
    httpx.HTTPError,
    aiohttp.ClientError,
    asyncio.TimeoutError,
    OSError,
    RuntimeError,
    ValueError,
)


class NoAnswerError(Exception):
    """A request got no answer, an incomplete one, or one that says to try again."""

    def __init__(
        self,
        why: Phrase,
        *,
        certificate: bool = False,
        unknown_name: bool = False,
        retry_after: str = "",
    ) -> None:
        """Give the reason as a clause, without a full stop."""
        super().__init__(why)
        # True if the certificate of the server is not trusted.
        self.certificate = certificate
        # True if the name of the host cannot be resolved.
        self.unknown_name = unknown_name
        # The value of the header field Retry-After; empty without it.
        self.retry_after = retry_after


def no_answer(error: BaseException) -> NoAnswerError:
    """Return the error to report for an error of a transport (one of `ERRORS`).

    Its text is the reason that the operating system gives, if there is one. Otherwise it describes
    the error of httpx or aiohttp.
    """
    causes = list(_causes(error))
    for cause in causes:
        # aiohttp's errors wrap errors of the system.
        if not isinstance(cause, aiohttp.ClientError):
            system_failure = _of_system(cause)
            if system_failure is not None:
                return system_failure
    for cause in causes:
        # An error of httpx-aiohttp says less than the error of aiohttp that it wraps.
        if isinstance(cause, aiohttp.ClientError):
            return NoAnswerError(_of_library(cause))
    return NoAnswerError(_of_library(error))


def _of_system(cause: BaseException) -> NoAnswerError | None:
    """Return the error to report for an error of the operating system or of TLS.

    None for any other error.
    """
    if isinstance(cause, ssl.SSLCertVerificationError):
        # Without its full stop, since the message goes on with the number of tries.
        reason = cause.verify_message.rstrip(".")
        why = phrase("Its certificate is not trusted: {reason}", reason=reason)
        return NoAnswerError(why, certificate=True)
    if isinstance(cause, socket.gaierror):
        is_unknown = cause.errno == socket.EAI_NONAME
        return NoAnswerError(as_phrase(cause.strerror or str(cause)), unknown_name=is_unknown)
    if isinstance(cause, ssl.SSLError) and cause.reason:
        return NoAnswerError(
            phrase("TLS failed: {reason}", reason=cause.reason.replace("_", " ").lower())
        )
    if isinstance(cause, OSError) and cause.errno:
        return NoAnswerError(as_phrase(os.strerror(cause.errno)))
    return None


def _of_library(error: BaseException) -> Phrase:
    """Return a clause that describes an error of httpx or aiohttp."""
    match error:
        case httpx.ReadTimeout() | aiohttp.SocketTimeoutError():
            return phrase("It stopped answering")
        case httpx.TimeoutException() | aiohttp.ServerTimeoutError():
            return phrase("No connection within the time limit")
        case httpx.ProxyError():
            return phrase("The proxy answered {answer}", answer=_beginning(error))
        # aiohttp raises RuntimeError if it has closed the connection itself.
        case aiohttp.ClientPayloadError() | RuntimeError():
            return phrase("It broke off its answer")
        case aiohttp.ServerDisconnectedError():
            return phrase("It closed the connection without an answer")
        case httpx.RemoteProtocolError():
            text = str(error)
            if "closed" in text and "complete" in text:
                return phrase("It broke off its answer")
            if "closed" in text or "disconnected" in text:
                return phrase("It closed the connection without an answer")
        case _:
            pass
    return phrase("It violates HTTP ({error})", error=_beginning(error))


def _beginning(error: BaseException) -> str:
    """Return the message of an error up to its first colon. The rest would quote the server."""
    text = error.message if isinstance(error, aiohttp.ClientResponseError) else str(error)
    return " ".join(text.partition(":")[0].split())[:_LONGEST].rstrip(".")


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error, its cause, the cause of that, and so on."""
    current: BaseException | None = error
    while current is not None:
        yield current
        cause = current.__cause__
        if cause is None and current.__suppress_context__:
            cause = current.__context__  # httpcore raises `from None`
        # An error about several IP addresses has an error for each of them; the first one counts.
        exceptions = getattr(cause, "exceptions", ())
        current = exceptions[0] if exceptions else cause
