"""Servers that go on for ever: byte by byte, line by line, or with all that they have."""

from __future__ import annotations

import re
import time

import pytest

from resolver.errors import IndexFailure, Unreachable
from resolver.index.net import client
from resolver.index.net.client import RetryPolicy
from resolver.index.net.pipconfig import PipConfig
from tests.unit.index.clients import endless, fetch, saying, speaking, with_client

FAR = "It violates HTTP .(Too many headers received|Got more than 8190 bytes)"
CUT = "It broke off its answer|It stopped answering"
CHUNK = f"It violates HTTP .Invalid character in chunk size|{CUT}"
LATE = "Its answer did not begin within"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"


def failure(address: str, kind: type[IndexFailure], timeout: float = 5.0) -> str:
    begin = time.monotonic()
    with pytest.raises(kind) as caught:
        with_client(
            lambda client: fetch(client, f"http://{address}/a", headers={}, limit=1 << 30),
            PipConfig(index_url="", timeout=timeout),
            patience=RetryPolicy(tries=1, connect=0.2),
        )
    assert time.monotonic() - begin < 30
    return caught.value.why


@pytest.mark.parametrize(
    ("head", "why"),
    [
        pytest.param(b"HTTP/1.1 200 ", LATE, id="status"),
        pytest.param(HEAD, LATE, id="header"),
        pytest.param(
            HEAD + b"Content-Length: 100000\r\n\r\n",
            "It sends less than 100 bytes a second",
            id="body",
        ),
        pytest.param(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", CHUNK, id="chunk"),
        pytest.param(
            HEAD + b"\r\n", "It sends less than 100 bytes a second", id="body without length"
        ),
    ],
)
def test_client_ends_a_trickle(head: bytes, why: str) -> None:
    with speaking(endless(head, b"x", 0.02)) as address:
        assert re.match(why, failure(address, Unreachable, timeout=0.1))


@pytest.mark.parametrize(
    ("head", "line", "why"),
    [
        pytest.param(b"", b"HTTP/1.1 100 Continue\r\n\r\n", LATE, id="continue"),
        pytest.param(
            HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n",
            b"x: y\r\n",
            f"{FAR}|{CUT}",
            id="trailers",
        ),
        pytest.param(b"HTTP/1.1 200 OK\r\n", b"x: y\r\n", FAR, id="head"),
        pytest.param(b"HTTP/1.1 200 OK\r\n", b"x" * 1000, FAR, id="line"),
        pytest.param(
            HEAD + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n", b"x" * 9, CHUNK, id="below 0"
        ),
        pytest.param(b"", b"x" * 1000, "It violates HTTP .Bad status line", id="no head"),
    ],
)
def test_client_ends_silence(head: bytes, line: bytes, why: str) -> None:
    """The limits are aiohttp's own."""
    with speaking(endless(head, line * 100)) as address:
        assert re.match(why, failure(address, Unreachable, timeout=0.1))


def test_client_ends_an_endless_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "_WHOLE", 5)
    with speaking(endless(HEAD + b"\r\n", b"x" * 1000, 0.01)) as address:
        assert failure(address, IndexFailure, timeout=0.2) == "It was not complete after 1 seconds."


@pytest.mark.parametrize("status", [101, 104, 199])
@pytest.mark.parametrize("body", [b"", b"x" * 100])
def test_client_refuses_an_unexpected_answer(status: int, body: bytes) -> None:
    with speaking(saying(b"HTTP/1.1 %d x\r\n\r\n" % status, body)) as address:
        assert failure(address, Unreachable, timeout=0.2) in (
            f"It sent the unexpected answer {status} (1 try).",
            "It closed the connection without an answer (1 try).",
            "It violates HTTP (Bad status line) (1 try).",
        )
