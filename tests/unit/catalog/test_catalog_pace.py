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

from resolver.catalog.meter import Meter
from resolver.catalog.net.http import Client, Patience, Unreachable
from resolver.catalog.net.pace import EndlessError, Pace, PaceError
from resolver.catalog.net.pipconfig import PipConfig
from resolver.errors import IndexFailure

FAR = "It sends far larger headers than a normal answer"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"


@pytest.mark.parametrize(
    ("size", "seconds", "times", "passes"),
    [
        (1, 14, 1000, False),
        (1000, 14, 1000, False),
        (2000, 14, 1000, True),
        (100, 0.5, 1000, True),
        (40, 0.5, 1000, False),
        (1, 14, 4, True),  # slow, and soon over
        (1000, 14, 4, True),
        (0, 16, 1, False),  # silent
    ],
)
def test_an_answer_has_a_pace(size: int, seconds: float, times: int, passes: bool) -> None:
    pace = Pace(timeout=15.0, connect=10.0)
    pace.connected()

    def go_on() -> None:
        for _ in range(times):
            pace.waited(seconds)
            if size:
                pace.came(size)

    if passes:
        go_on()
    else:
        with pytest.raises(PaceError):
            go_on()


def test_a_connection_has_its_own_time() -> None:
    pace = Pace(timeout=15.0, connect=10.0)
    pace.waited(24.0)
    pace.connected()
    pace.waited(14.0)
    with pytest.raises(PaceError, match="It stopped answering"):
        pace.waited(2.0)


def test_what_is_held_in_memory_must_be_whole_some_time() -> None:
    for held in (False, True):
        pace = Pace(timeout=1.0, connect=0.0)
        pace.held = held

        def go_on(pace: Pace = pace) -> None:
            for _ in range(100):
                pace.waited(0.5)
                pace.came(1000)

        if held:
            with pytest.raises(EndlessError, match="It was not complete after 40 seconds"):
                go_on()
        else:
            go_on()


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
    ("head", "why"),
    [
        pytest.param(b"HTTP/1.1 200 ", "It stopped answering", id="status"),
        pytest.param(HEAD, "It stopped answering", id="header"),
        pytest.param(HEAD + b"Content-Length: 100000\r\n\r\n", "It sends less than 100 bytes a second", id="body"),
        pytest.param(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", "chunk hex-length|Malformed encoding", id="chunk"),
        pytest.param(HEAD + b"\r\n", "It sends less than 100 bytes a second", id="body without length"),
    ],
)
def test_a_server_that_sends_a_byte_now_and_then(head: bytes, why: str) -> None:
    with speaking(trickle(head)) as url:
        assert re.match(why, failure(url, Unreachable, timeout=0.2))


@pytest.mark.parametrize(
    ("head", "line", "why"),
    [
        pytest.param(b"", b"HTTP/1.1 100 Continue\r\n\r\n", FAR, id="continue"),
        pytest.param(HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"x: y\r\n", FAR, id="trailers"),
        pytest.param(b"HTTP/1.1 200 OK\r\n", b"x: y\r\n", FAR, id="head"),
        pytest.param(b"HTTP/1.1 200 OK\r\n", b"x" * 1000, FAR, id="line"),
        pytest.param(HEAD + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n", b"x" * 9, "chunk hex-length", id="below 0"),
        pytest.param(b"", b"x" * 1000, "Received HTTP/0.9 when not allowed", id="no head"),
    ],
)
def test_a_server_that_says_nothing_for_ever(head: bytes, line: bytes, why: str) -> None:
    """The limits are curl's own."""
    with speaking(lines(head, line)) as url:
        assert re.match(why, failure(url, Unreachable))


def test_an_answer_that_has_a_pace_and_no_end() -> None:
    def talk(connection: socket.socket) -> None:
        connection.sendall(HEAD + b"\r\n")
        for_ever(connection, b"x" * 1000, 0.01)

    with speaking(talk) as url:
        assert failure(url, IndexFailure, timeout=0.2) == "It was not complete after 8 seconds."


@pytest.mark.parametrize(
    ("head", "line"),
    [
        pytest.param(b"", b"HTTP/1.1 100 Continue\r\n\r\n", id="continue"),
        pytest.param(b"HTTP/1.1 200 OK\r\n", b"x: yyyyyyyyyy\r\n", id="head"),
    ],
)
def test_a_head_that_has_a_pace_and_no_end(head: bytes, line: bytes) -> None:
    def talk(connection: socket.socket) -> None:
        connection.sendall(head)
        for_ever(connection, line, 0.05)

    with speaking(talk) as url:
        assert failure(url, IndexFailure, timeout=0.2) == "It was not complete after 8 seconds."


@pytest.mark.parametrize("status", [101, 104, 199])
@pytest.mark.parametrize("body", [b"", b"x" * 100])
def test_an_answer_that_nobody_asked_for(status: int, body: bytes) -> None:
    with speaking(lambda connection: connection.sendall(b"HTTP/1.1 %d x\r\n\r\n" % status + body)) as url:
        assert failure(url, Unreachable) == f"It sent the unexpected answer {status} (1 try)."
