"""A client for a test, and servers that say whatever a test wants, byte by byte."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple, TypeVar

import httpx
import pytest

from resolver.index.net.client import Client, RetryPolicy
from resolver.index.net.pipconfig import PipConfig
from resolver.index.protocol import Meter

T = TypeVar("T")
QUICK = RetryPolicy(pause=0.01)


def with_client(
    work: Callable[[Client], Awaitable[T]], pip: PipConfig | None = None, **settings: Any
) -> T:
    """What the work comes to with a client, which is closed then."""

    async def run() -> T:
        client = Client(
            pip or PipConfig(index_url=""),
            settings.pop("meter", Meter()),
            **{"patience": QUICK, **settings},
        )
        try:
            return await work(client)
        finally:
            await client.close()

    return asyncio.run(run())


class Reply(NamedTuple):
    """A whole answer; `url` is its address after redirects."""

    status: int
    url: str
    headers: Mapping[str, str]
    body: bytes


async def fetch(
    client: Client,
    url: str,
    *,
    headers: Mapping[str, str],
    limit: int,
    patience: RetryPolicy | None = None,
) -> Reply:
    """Request a whole answer, whose body is empty unless the status is 200."""

    async def consume(response: httpx.Response) -> Reply:
        body = await client.body(response, limit) if response.status_code == 200 else b""
        return Reply(response.status_code, response.extensions["address"], response.headers, body)

    return await client.request(url, consume, headers=headers, patience=patience)


def failure(kind: type[Exception], call: Callable[[], object]) -> str:
    with pytest.raises(kind) as caught:
        call()
    return str(caught.value)


@contextmanager
def speaking(talk: Callable[[socket.socket], object]) -> Iterator[str]:
    """The address of a server on which `talk` deals with each connection, apart from the others."""
    server = socket.create_server(("127.0.0.1", 0))

    def speak(connection: socket.socket) -> None:
        with connection, suppress(OSError):  # the client has gone
            talk(connection)

    def serve() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=speak, args=(server.accept()[0],), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"127.0.0.1:{server.getsockname()[1]}"
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()


def saying(*content: bytes) -> Callable[[socket.socket], None]:
    """Return what a server does that answers each request with this content."""

    def talk(connection: socket.socket) -> None:
        connection.recv(1 << 16)
        connection.sendall(b"".join(content))

    return talk


def endless(head: bytes, content: bytes, pause: float = 0.0) -> Callable[[socket.socket], None]:
    """Return what a server does that repeats the content after the head.

    It pauses for so many seconds after each time.
    """

    def talk(connection: socket.socket) -> None:
        saying(head)(connection)
        while True:
            connection.sendall(content)
            time.sleep(pause)

    return talk
