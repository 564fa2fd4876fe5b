"""Servers that go on for ever: byte by byte, line by line, or with all that they have."""

from __future__ import annotations

import asyncio
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from resolver.errors import IndexFailure, Unreachable
from resolver.index.net.client import Client
from resolver.index.net.failures import Patience
from resolver.index.net.pipconfig import PipConfig
from resolver.index.protocol import Meter

FAR = "It violates HTTP .(Too many headers received|Got more than 8190 bytes)"
CUT = "It broke off its answer|It stopped answering"
CHUNK = f"It violates HTTP .Invalid character in chunk size|{CUT}"
LATE = "Its answer did not begin within"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"


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
        patience = Patience(tries=1, connect=0.2)
        client = Client(PipConfig(index_url="", timeout=timeout), Meter(), patience=patience)
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
    ("head", "why"),
    [
        pytest.param(b"HTTP/1.1 200 ", LATE, id="status"),
        pytest.param(HEAD, LATE, id="header"),
        pytest.param(HEAD + b"Content-Length: 100000\r\n\r\n", "It sends less than 100 bytes a second", id="body"),
        pytest.param(
            HEAD + b"Transfer-Encoding: chunked\r\n\r\n",
            CHUNK,
            id="chunk",
        ),
        pytest.param(HEAD + b"\r\n", "It sends less than 100 bytes a second", id="body without length"),
    ],
)
def test_a_server_that_sends_a_byte_now_and_then(head: bytes, why: str) -> None:
    with speaking(trickle(head)) as url:
        assert re.match(why, failure(url, Unreachable, timeout=0.2))


@pytest.mark.parametrize(
    ("head", "line", "why"),
    [
        pytest.param(b"", b"HTTP/1.1 100 Continue\r\n\r\n", LATE, id="continue"),
        pytest.param(HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"x: y\r\n", f"{FAR}|{CUT}", id="trailers"),
        pytest.param(b"HTTP/1.1 200 OK\r\n", b"x: y\r\n", FAR, id="head"),
        pytest.param(b"HTTP/1.1 200 OK\r\n", b"x" * 1000, FAR, id="line"),
        pytest.param(
            HEAD + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n",
            b"x" * 9,
            CHUNK,
            id="below 0",
        ),
        pytest.param(b"", b"x" * 1000, "It violates HTTP .Bad status line", id="no head"),
    ],
)
def test_a_server_that_says_nothing_for_ever(head: bytes, line: bytes, why: str) -> None:
    """The limits are aiohttp's own."""
    with speaking(lines(head, line)) as url:
        assert re.match(why, failure(url, Unreachable, timeout=1.0))


def test_an_answer_that_has_a_pace_and_no_end() -> None:
    def talk(connection: socket.socket) -> None:
        connection.sendall(HEAD + b"\r\n")
        for_ever(connection, b"x" * 1000, 0.01)

    with speaking(talk) as url:
        assert failure(url, IndexFailure, timeout=0.2) == "It was not complete after 8 seconds."


@pytest.mark.parametrize("status", [101, 104, 199])
@pytest.mark.parametrize("body", [b"", b"x" * 100])
def test_an_answer_that_nobody_asked_for(status: int, body: bytes) -> None:
    with speaking(lambda connection: connection.sendall(b"HTTP/1.1 %d x\r\n\r\n" % status + body)) as url:
        assert failure(url, Unreachable, timeout=0.2) in (
            f"It sent the unexpected answer {status} (1 try).",
            "It closed the connection without an answer (1 try).",
            "It violates HTTP (Bad status line) (1 try).",
        )
