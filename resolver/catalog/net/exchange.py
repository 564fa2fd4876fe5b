"""One request and its answer, from the first line of the head to the last byte of the body, as delivered by curl.

Everything happens on the event loop. curl calls back in the middle of its own work; exceptions raised there are kept
and raised again for whoever waits.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import Callable, Mapping
from functools import partial
from http import HTTPStatus
from io import BytesIO
from typing import Final, NamedTuple

import pycurl

from resolver.catalog.net.pace import EndlessError, Pace, PaceError
from resolver.catalog.parse.address import without_credentials

Sink = Callable[[bytes], object]

# How much of an unwanted body is read, and for how long, so that its connection can be reused.
_DRAINED: Final = 64 << 10
_DRAINING: Final = 2.0
_GO_ON: Final[int] = pycurl.PREREQFUNC_OK
_PAUSE: Final[int] = pycurl.WRITEFUNC_PAUSE
_TOO_LARGE: Final = 100  # CURLE_TOO_LARGE, which pycurl has no name for
_HTTP2_STREAM: Final = 92  # CURLE_HTTP2_STREAM, likewise
_CUT: Final = frozenset({pycurl.E_PARTIAL_FILE, pycurl.E_RECV_ERROR})
_BY_STREAM: Final = frozenset({pycurl.E_HTTP2, _HTTP2_STREAM})
# Messages of curl and nghttp2 about HTTP/2, without stream and error numbers, which differ between tries.
_RESET: Final = re.compile(r"HTTP/2 stream \d+ reset by \w+ \(error 0x[0-9a-f]+ (\w+)\)")
_BROKEN_RULE: Final = re.compile(r"(?:\[HTTP2\]|nghttp2) .*?error -?\d+: (.+)", re.DOTALL)
_NO_FIELD: Final = re.compile(r"(Invalid HTTP header field) was received:.*?(name: .+)", re.DOTALL)
_FAR: Final = re.compile(r"Too (?:large|many) response headers\b.*", re.DOTALL)
_MORE_TO_COME: Final = frozenset({100, 102, 103})  # the answer itself follows (RFC 9110, 15.2)
_PHRASES: Final = {status.value: status.phrase for status in HTTPStatus}
_NO_CERTIFICATE: Final = frozenset({pycurl.E_PEER_FAILED_VERIFICATION, pycurl.E_SSL_CACERT_BADFILE})


class WireError(Exception):
    """No answer, or an incomplete one. `certificate`, `unknown_name`: the cause, as far as known.

    `unpackable`: complete, but not compressed as its head says. `stuck`: the answer or its connection is too slow.
    """

    def __init__(
        self,
        why: str,
        *,
        certificate: bool = False,
        unknown_name: bool = False,
        unpackable: bool = False,
        stuck: bool = False,
    ) -> None:
        super().__init__(why)
        self.unpackable = unpackable
        self.stuck = stuck
        self.certificate = certificate
        self.unknown_name = unknown_name


class Head(NamedTuple):
    """Status, its phrase (the standard one if none was sent, as in HTTP/2), and header fields by lower-case name."""

    status: int
    phrase: str
    headers: Mapping[str, str]


class _Enough(Exception):
    """Nothing more is to be read."""


class Exchange:
    """Started by `begin`.

    The body of an answer with the status `wanted` is read up to `limit` as it arrives. Other bodies wait until somebody
    reads them, except those of failures and redirects, of which a little is read and discarded.
    """

    def __init__(self, handle: pycurl.Curl, pace: Pace, *, wanted: int, limit: int) -> None:
        self.handle = handle
        self.pace = pace
        self._loop = asyncio.get_running_loop()
        self._head: asyncio.Future[Head] = self._loop.create_future()
        self._end: asyncio.Future[None] = self._loop.create_future()
        self._transfer: asyncio.Future[pycurl.Curl] | None = None
        self._connected = False
        self._wanted = wanted
        self._limit = limit
        self._sink: Sink | None = None
        self._body: BytesIO | None = None
        self._lines: list[bytes] = []
        self._received = self._came = 0
        self._paused = False
        self._failure: BaseException | None = None
        pace.held = True  # until its head has arrived

    def begin(
        self,
        add: Callable[[pycurl.Curl], asyncio.Future[pycurl.Curl]],
        over: Callable[[Exchange], object],
    ) -> None:
        """Send it: `add` passes the handle to curl, `over` is called at the end."""
        handle = self.handle
        handle.setopt(pycurl.PREREQFUNCTION, self._connects)
        handle.setopt(pycurl.HEADERFUNCTION, self._take_line)
        handle.setopt(pycurl.WRITEFUNCTION, self._take)
        self._transfer = add(handle)
        self._transfer.add_done_callback(partial(self._ended, over))

    async def head(self) -> Head:
        """The head of the answer, after the body if that is read as it arrives. Raises WireError and EndlessError."""
        head = await self._head
        if self._body is not None:
            await self._end
        elif self._sink is not None:
            await asyncio.wait((self._end,), timeout=_DRAINING)
        return head

    async def read(self, limit: int) -> bytes | None:
        """The whole body, decompressed; None for one longer than `limit`. Raises WireError and EndlessError."""
        body = self._body
        if body is None:
            body = self._gather(limit)
            await self._rest()
        self._body, self._sink = BytesIO(), None
        return None if self._received > limit else body.getvalue()  # without copying

    async def into(self, take: Sink) -> None:
        """Pass the body to `take` piece by piece, decompressed. Raises WireError, and what `take` raises."""
        self._sink, self._limit = take, sys.maxsize
        await self._rest()

    @property
    def was_broken_off(self) -> bool:
        """Whether it was ended before curl had finished."""
        return self._transfer is not None and self._transfer.cancelled()

    def wait(self, seconds: float) -> None:
        """Called as time passes: ends an answer that takes too long."""
        if self._paused:  # nobody reads more of it yet
            return
        came, self._came = self._came, 0
        if came:
            self.pace.came(came)
        try:
            self.pace.waited(seconds)
        except PaceError as error:
            self.handle.setopt(pycurl.FORBID_REUSE, 1)  # an HTTP/2 connection would survive
            self._break_off(WireError(str(error), stuck=True))
        except EndlessError as error:
            self._break_off(error)

    def close(self) -> None:
        """Release it, along with its connection if not everything was read."""
        if self._transfer is not None and not self._transfer.done():
            self._transfer.cancel()

    def _break_off(self, failure: BaseException) -> None:
        self._failure = failure
        self.close()

    async def _rest(self) -> None:
        if self._paused and not self._end.done():
            self._paused = False
            try:
                self.handle.pause(pycurl.PAUSE_CONT)
            except pycurl.error:  # aborted by us, as no more was wanted
                self.close()
        await self._end

    def _gather(self, limit: int) -> BytesIO:
        body = BytesIO()
        self._body, self._limit, self._sink = body, limit, body.write
        self.pace.held = True
        return body

    # --- called by curl

    def _connects(self, *_: object) -> int:
        """There is a connection, through a proxy if necessary."""
        self._connected = True
        self.pace.connected()
        return _GO_ON

    def _take_line(self, line: bytes) -> int:
        self._came += len(line)
        if self._head.done() or not self._connected:  # trailers after the last chunk, or a proxy's answer to curl
            return len(line)
        if line.startswith(b"HTTP/"):
            self._lines = [line]
        elif line.strip():
            self._lines.append(line)
        elif self._lines:
            head = _read_head(self._lines)
            if head.status in _MORE_TO_COME:
                return len(line)
            if head.status < HTTPStatus.OK:
                self._failure = WireError(f"It sent the unexpected answer {head.status}")
                return 0
            self._take_head(head)
        return len(line)

    def _take_head(self, head: Head) -> None:
        self.pace.held = False
        if head.status == self._wanted:
            self._gather(self._limit)
        elif head.status not in (HTTPStatus.OK, HTTPStatus.PARTIAL_CONTENT):
            self._limit, self._sink = _DRAINED, _nowhere
        self._head.set_result(head)

    def _take(self, chunk: bytes) -> int:
        size = len(chunk)
        self._came += size
        if self._sink is None:
            self._paused = True
            return _PAUSE
        self._received += size
        if self._received > self._limit:
            self._failure = _Enough()
            return 0
        try:
            self._sink(chunk)
        except BaseException as error:
            self._failure = error
            return 0
        return size

    def _ended(self, over: Callable[[Exchange], object], transfer: asyncio.Future[pycurl.Curl]) -> None:
        try:
            error = self._outcome(transfer)
        except Exception as unexpected:  # passed on to whoever waits, who would otherwise wait for ever
            error = unexpected
        over(self)
        for future in (self._head, self._end):
            if future.done():
                continue
            if error is None:
                future.set_result(None)  # type: ignore[arg-type]  # the head is there where there is no error
            else:
                future.set_exception(error)
                future.exception()  # asyncio complains about exceptions that nobody retrieves

    def _outcome(self, transfer: asyncio.Future[pycurl.Curl]) -> BaseException | None:
        """Why it failed; None if everything wanted arrived."""
        failed = None if transfer.cancelled() else transfer.exception()
        if isinstance(self._failure, _Enough):
            return None
        if transfer.cancelled():
            return self._failure or WireError("The connection was broken off")
        if failed is not None:
            return self._failure or self._explained(failed)
        return None if self._head.done() else WireError("It closed the connection without an answer")

    def _explained(self, error: BaseException) -> WireError:
        """The meaning of a curl failure, for people."""
        code, told = (*error.args, "", "")[:2]
        headers = _read_head(self._lines).headers if self._lines else {}
        length = headers.get("content-length", "")
        size = int(self.handle.getinfo(pycurl.SIZE_DOWNLOAD_T))
        if code in _CUT and length.isdecimal() and size < int(length):
            return WireError(f"It closed the connection after {size} bytes, {int(length) - size} before the end")
        if code in _BY_STREAM and length.isdecimal() and 0 < size < int(length):
            return WireError(f"It broke off its answer after {size} bytes, {int(length) - size} before the end")
        encoding = headers.get("content-encoding", "")
        if code == pycurl.E_BAD_CONTENT_ENCODING or (code == pycurl.E_WRITE_ERROR and encoding):  # data after the end
            return WireError(told or f"Its content is not `{encoding}`-compressed as its header says", unpackable=True)
        if code == pycurl.E_OPERATION_TIMEDOUT:
            return WireError("No connection within the time limit")
        if code == _TOO_LARGE or _FAR.fullmatch(told):
            return WireError("It sends far larger headers than a normal answer")
        if code == pycurl.E_GOT_NOTHING or "unexpected eof" in told:
            return WireError("It closed the connection without an answer")
        if (match := _RESET.fullmatch(told)) is not None:
            return WireError(f"It broke off its answer (HTTP/2: {match[1]})")
        if (match := _BROKEN_RULE.fullmatch(told) or _NO_FIELD.fullmatch(told)) is not None:
            return WireError(f"It violates HTTP/2 ({', '.join(match.groups())})")
        if code == pycurl.E_RECV_ERROR and not told:  # an HTTP/2 connection that ends
            return WireError("It closed the connection before the end of its answer")
        number = self.handle.getinfo(pycurl.OS_ERRNO)
        if number and code in (pycurl.E_COULDNT_CONNECT, pycurl.E_RECV_ERROR, pycurl.E_SEND_ERROR):
            told = os.strerror(number)
        return WireError(
            without_credentials(told) or f"curl gave up ({code})",
            certificate=code in _NO_CERTIFICATE,
            unknown_name=code == pycurl.E_COULDNT_RESOLVE_HOST,
        )


def _nowhere(_: bytes) -> None:
    return None


def _read_head(lines: list[bytes]) -> Head:
    """The head in these lines, the first of which is the status line; repeated fields are joined by commas."""
    _, status, phrase = (*lines[0].decode("latin-1").split(None, 2), "", "")[:3]
    headers: dict[str, str] = {}
    for line in lines[1:]:
        name, _, value = line.decode("latin-1").partition(":")
        name, value = name.strip().lower(), value.strip()
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    number = int(status) if status.isdecimal() else 0
    return Head(number, phrase.strip() or _PHRASES.get(number, ""), headers)
