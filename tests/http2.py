"""An HTTP/2 server (RFC 9113) that follows the rules only as far as a test wants.

Frames are written by hand, as a library that knows the rules would not send frames that break them; hpack encodes and
decodes header fields. One thread serves a connection, answers one request after the other, and reads what the client
sends when it needs room to continue.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from hpack import Decoder, Encoder

DATA: Final = 0x0
HEADERS: Final = 0x1
PRIORITY: Final = 0x2
RST_STREAM: Final = 0x3
SETTINGS: Final = 0x4
PUSH_PROMISE: Final = 0x5
PING: Final = 0x6
GOAWAY: Final = 0x7
WINDOW_UPDATE: Final = 0x8
CONTINUATION: Final = 0x9

END_STREAM: Final = 0x1
ACK: Final = 0x1
END_HEADERS: Final = 0x4
PADDED: Final = 0x8

NO_ERROR: Final = 0x0
INTERNAL_ERROR: Final = 0x2
REFUSED_STREAM: Final = 0x7
CANCEL: Final = 0x8
ENHANCE_YOUR_CALM: Final = 0xB
HTTP_1_1_REQUIRED: Final = 0xD

_PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_INITIAL_WINDOW: Final = 65_535
_FRAME: Final = 16_384
_INITIAL_WINDOW_SIZE: Final = 0x4


class GoneError(Exception):
    """The client is gone, or the server is ending."""


@dataclass(frozen=True)
class Asked:
    """A request. `headers` are by lower-case name, pseudo-header fields with their colon."""

    stream: int
    headers: Mapping[str, str]


class Session:
    """A connection. `settings` are sent at its start."""

    def __init__(
        self, connection: socket.socket, closing: threading.Event, settings: Mapping[int, int] | None = None
    ) -> None:
        self._connection = connection
        self._closing = closing
        self._encoder = Encoder()
        self._decoder = Decoder()
        self._asked: deque[Asked] = deque()
        self._fields: dict[int, bytearray] = {}
        self._windows: dict[int, int] = {0: _INITIAL_WINDOW}
        self._window = _INITIAL_WINDOW
        self._reset: set[int] = set()
        self._settings = settings or {}

    def serve(self, answer: Callable[[Stream], None]) -> None:
        """Answer requests until the client leaves, or an answer says that this is the end."""
        with contextlib.suppress(GoneError, OSError):
            if self._exactly(len(_PREFACE)) != _PREFACE:
                return
            self.frame(SETTINGS, 0, 0, b"".join(struct.pack(">HI", *one) for one in self._settings.items()))
            while True:
                while not self._asked:
                    self.take()
                asked = self._asked.popleft()
                with contextlib.suppress(_ResetError):
                    answer(Stream(self, asked))

    def frame(self, kind: int, flags: int, stream: int, payload: bytes = b"") -> None:
        """Send a frame unchanged, whatever the rules say."""
        self.raw(struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload)

    def raw(self, content: bytes) -> None:
        """Send bytes that need not be a frame."""
        self._connection.sendall(content)

    def fields(self, fields: Iterable[tuple[str, str]]) -> bytes:
        """Encoded header fields."""
        return self._encoder.encode(list(fields))

    def go_away(self, last: int, code: int = NO_ERROR, told: bytes = b"") -> None:
        """Send GOAWAY with the last stream that is answered."""
        self.frame(GOAWAY, 0, 0, struct.pack(">II", last, code) + told)

    def close(self) -> None:
        """End the connection."""
        raise GoneError

    def room(self, stream: int, wanted: int) -> int:
        """How many of the wanted bytes of a body may be sent now; waits until some may."""
        while (free := min(wanted, self._windows[0], self._windows.get(stream, self._window), _FRAME)) <= 0:
            if stream in self._reset:
                raise _ResetError
            self.take()
        self._windows[0] -= free
        self._windows[stream] = self._windows.get(stream, self._window) - free
        return free

    def take(self) -> None:
        """Process a frame of the client."""
        head = self._exactly(9)
        length, kind, flags = int.from_bytes(head[:3], "big"), head[3], head[4]
        stream = int.from_bytes(head[5:], "big") & 0x7FFF_FFFF
        payload = self._exactly(length)
        if kind == HEADERS:
            self._fields[stream] = bytearray(payload[5:] if flags & 0x20 else payload)  # 0x20: with a priority
        elif kind == CONTINUATION:
            self._fields[stream] += payload
        elif kind == SETTINGS and not flags & ACK:
            self._take_settings(payload)
            self.frame(SETTINGS, ACK, 0)
        elif kind == PING and not flags & ACK:
            self.frame(PING, ACK, 0, payload)
        elif kind == WINDOW_UPDATE:
            known = self._windows.get(stream, self._window)
            self._windows[stream] = known + int.from_bytes(payload, "big")
        elif kind == RST_STREAM:
            self._reset.add(stream)
        elif kind == GOAWAY:
            raise GoneError
        if kind in (HEADERS, CONTINUATION) and flags & END_HEADERS:
            decoded = self._decoder.decode(bytes(self._fields.pop(stream)))
            self._asked.append(Asked(stream, {str(name): str(value) for name, value in decoded}))

    def _take_settings(self, payload: bytes) -> None:
        for name, value in struct.iter_unpack(">HI", payload):
            if name == _INITIAL_WINDOW_SIZE:
                for stream in self._windows.keys() - {0}:
                    self._windows[stream] += value - self._window
                self._window = value

    def _exactly(self, size: int) -> bytes:
        got = b""
        while len(got) < size:
            more = self._connection.recv(size - len(got))
            if not more:
                raise GoneError
            got += more
        return got

    def wait(self, seconds: float) -> None:
        """Do nothing for so many seconds."""
        if self._closing.wait(seconds):
            raise GoneError


class _ResetError(Exception):
    """The client has reset a stream."""


class Stream:
    """A request, and the frames sent for it. Each method sends immediately, in any order."""

    def __init__(self, session: Session, asked: Asked) -> None:
        self.session = session
        self.number = asked.stream
        self.asked = asked.headers

    def head(self, status: int, fields: Mapping[str, str], *, end: bool = False) -> None:
        """The head of an answer."""
        named = [(":status", str(status)), *((name.lower(), value) for name, value in fields.items())]
        self.headers(self.session.fields(named), end=end)

    def headers(self, packed: bytes, *, end: bool = False) -> None:
        """Send encoded header fields, in as many frames as needed."""
        first, *more = [packed[at : at + _FRAME] for at in range(0, len(packed), _FRAME)] or [b""]
        flags = (END_STREAM if end else 0) | (0 if more else END_HEADERS)
        self.session.frame(HEADERS, flags, self.number, first)
        for at, piece in enumerate(more, 1):
            self.session.frame(CONTINUATION, END_HEADERS if at == len(more) else 0, self.number, piece)

    def data(self, body: bytes, *, end: bool = True) -> None:
        """Send a body, as fast as the client accepts it."""
        at = 0
        while at < len(body):
            size = self.session.room(self.number, len(body) - at)
            self.session.frame(DATA, 0, self.number, body[at : at + size])
            at += size
        if end:
            self.session.frame(DATA, END_STREAM, self.number)

    def reset(self, code: int) -> None:
        """Reset the stream."""
        self.session.frame(RST_STREAM, 0, self.number, struct.pack(">I", code))
