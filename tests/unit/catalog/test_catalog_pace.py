"""Servers that go on for ever: byte by byte, line by line, or with all that they have."""

from __future__ import annotations

import asyncio
import io
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from resolver.catalog.http import Client, Patience, Unreachable
from resolver.catalog.meter import Meter
from resolver.catalog.pace import Lines, Paced, PaceError
from resolver.catalog.pipconfig import PipConfig
from resolver.errors import IndexFailure

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"


class Clock:
    """Time that passes where it is told to."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


class Drops(io.RawIOBase):
    """So many bytes after so many seconds, and nothing after `count` times."""

    def __init__(self, clock: Clock, size: int, seconds: float, count: int = 1000) -> None:
        self._clock, self._size, self._seconds, self._count = clock, size, seconds, count

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:
        self._clock.now += self._seconds
        self._count -= 1
        return self._size if self._count >= 0 else 0


@pytest.mark.parametrize(
    ("size", "seconds", "count", "passes"),
    [
        (1, 14, 1000, False),
        (1000, 14, 1000, False),
        (2000, 14, 1000, True),
        (100, 0.5, 1000, True),
        (40, 0.5, 1000, False),
        (1, 14, 4, True),  # slow, and soon over
        (0, 90, 1, True),
    ],
)
def test_an_answer_has_a_pace(size: int, seconds: float, count: int, passes: bool) -> None:
    clock = Clock()
    reader = Lines(Paced(Drops(clock, size, seconds, count), 60, clock), 1)
    if passes:
        assert len(reader.read()) == size * count
    else:
        with pytest.raises(PaceError, match="It sends less than 100 bytes a second"):
            reader.read()
        assert clock.now < 60 + 2 * seconds


def test_time_that_is_not_spent_waiting_does_not_count() -> None:
    clock = Clock()
    reader = Paced(Drops(clock, 1, 1), 60, clock)
    for _ in range(50):
        reader.read(1)
        clock.now += 1000  # a disk that is slow, a laptop that sleeps


def test_lines_in_a_row_are_counted() -> None:
    reader = Lines(io.BytesIO(b"x\n" * 1500 + b"yy" + b"x\n" * 1500))  # type: ignore[arg-type]
    for _ in range(1000):
        reader.readline()
    with pytest.raises(PaceError, match="more than 1000 lines that belong to no content"):
        reader.readline()
    reader.read(1)
    assert reader.readline() == b"\n"


@contextmanager
def speaking(talk: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server that says whatever `talk` says, to each who connects."""
    server = socket.create_server(("127.0.0.1", 0))

    def speak(connection: socket.socket) -> None:
        with connection:
            try:
                connection.recv(1 << 16)
                talk(connection)
            except OSError:
                pass  # the client has gone

    def serve() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            threading.Thread(target=speak, args=(connection,), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.getsockname()[1]}/a"
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()


def failure(url: str, kind: type[IndexFailure], timeout: float = 5.0) -> str:
    async def run() -> None:
        client = Client(PipConfig(index_url="", timeout=timeout), Meter(), patience=Patience(tries=1))
        try:
            await client.get(url, headers={}, limit=1 << 30)
        finally:
            await client.close()

    begin = time.monotonic()
    with pytest.raises(kind) as caught:
        asyncio.run(run())
    assert time.monotonic() - begin < 30
    return caught.value.why


def for_ever(connection: socket.socket, content: bytes, pause: float = 0.0) -> None:
    while True:
        connection.sendall(content)
        time.sleep(pause)


def trickle(head: bytes) -> Callable[[socket.socket], None]:
    def talk(connection: socket.socket) -> None:
        connection.sendall(head)
        for_ever(connection, b"x", 0.02)

    return talk


def lines(head: bytes, line: bytes) -> Callable[[socket.socket], None]:
    def talk(connection: socket.socket) -> None:
        connection.sendall(head)
        for_ever(connection, line * 100)

    return talk


@pytest.mark.parametrize(
    "head",
    [
        pytest.param(b"", id="status"),
        pytest.param(HEAD, id="header"),
        pytest.param(HEAD + b"Content-Length: 100000\r\n\r\n", id="body"),
        pytest.param(HEAD + b"Transfer-Encoding: chunked\r\n\r\n9\r\n", id="chunk"),
        pytest.param(HEAD + b"\r\n", id="body without length"),
    ],
)
def test_a_server_that_sends_a_byte_now_and_then(head: bytes) -> None:
    with speaking(trickle(head)) as url:
        assert failure(url, Unreachable, timeout=0.2) == "It sends less than 100 bytes a second (1 try)."


@pytest.mark.parametrize(
    ("head", "line"),
    [
        pytest.param(b"", b"HTTP/1.1 100 Continue\r\n\r\n", id="continue"),
        pytest.param(HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"x: y\r\n", id="trailers"),
    ],
)
def test_a_server_that_sends_lines_for_ever(head: bytes, line: bytes) -> None:
    with speaking(lines(head, line)) as url:
        why = failure(url, Unreachable)
    assert why == "It sends more than 1000 lines that belong to no content (1 try)."


@pytest.mark.parametrize("line", [b"x: y\r\n", b"x" * 1000])
def test_a_head_without_end(line: bytes) -> None:
    with speaking(lines(b"HTTP/1.1 200 OK\r\n", line)) as url:
        assert failure(url, Unreachable).startswith("got more than ")  # http.client's own limits


@pytest.mark.parametrize("size", [b"-1", b"-5"])
def test_a_chunk_below_nothing(size: bytes) -> None:
    """To http.client -1 is all that comes, whatever it was asked for."""
    with speaking(lines(HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + size + b"\r\n", b"x" * 1000)) as url:
        assert failure(url, Unreachable) == "It sends a chunk of a size below nothing (1 try)."


def test_an_answer_that_has_a_pace_and_no_end() -> None:
    def talk(connection: socket.socket) -> None:
        connection.sendall(HEAD + b"\r\n")
        for_ever(connection, b"x" * 1000, 0.01)

    with speaking(talk) as url:
        assert failure(url, IndexFailure, timeout=0.2) == "It was not whole after 8 seconds."
