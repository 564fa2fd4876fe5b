"""A host that is slow, or says to wait, holds up no other: nobody waits in a slot."""

from __future__ import annotations

import asyncio
import socket
import time
from pathlib import Path
from typing import Any

import pytest

from resolver.index.net.client import FILES, PAGES, Client, RetryPolicy
from resolver.index.net.slots import Slots
from tests.functional.workspace import Workspace
from tests.loopback import LoopbackIndex, Response
from tests.unit.index.clients import fetch, speaking, with_client

BUSY = b"HTTP/1.1 429 Too Many\r\nRetry-After: 2\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
HERE = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"
TWICE = RetryPolicy(tries=2, pause=0.01)


def says(answer: bytes, after: float = 0.0) -> Any:
    def talk(connection: socket.socket) -> None:
        connection.recv(1 << 16)
        time.sleep(after)
        connection.sendall(answer)

    return talk


@pytest.mark.parametrize("slow", [says(BUSY), says(HERE, 2.0)], ids=["says to wait", "is slow"])
def test_slots_of_another_host_are_free(slow: Any) -> None:
    with speaking(slow) as busy, speaking(says(HERE)) as quick:

        async def ask(client: Client) -> float:
            first = [
                asyncio.ensure_future(
                    fetch(client, f"http://{busy}/{at}", headers={}, limit=9, patience=TWICE)
                )
                for at in range(2 * PAGES)
            ]
            await asyncio.sleep(0.3)
            begin = time.monotonic()
            await fetch(client, f"http://{quick}/a", headers={}, limit=9)
            seconds = time.monotonic() - begin
            for task in first:
                task.cancel()
            await asyncio.gather(*first, return_exceptions=True)
            return seconds

        assert with_client(ask) < 1


def test_client_waits_as_a_server_says() -> None:
    """By all, not only by those whose requests it refused."""
    asked: list[float] = []

    def talk(connection: socket.socket) -> None:
        asked.append(time.monotonic())
        says(BUSY if len(asked) == 1 else HERE)(connection)

    with speaking(talk) as busy:

        async def ask(client: Client) -> None:
            first = asyncio.ensure_future(fetch(client, f"http://{busy}/a", headers={}, limit=9))
            await asyncio.sleep(0.5)
            await asyncio.gather(first, fetch(client, f"http://{busy}/b", headers={}, limit=9))

        with_client(ask)
    assert len(asked) == 3
    assert asked[1] - asked[0] > 1.9


def test_slots_of_indexes_are_never_shared() -> None:
    async def check() -> None:
        slots = Slots(2)
        hosts = [slots.of(f"https://h{at}.example/x") for at in range(20)]
        assert len(set(map(id, hosts))) == 9
        slots.reserve("https://index.example/simple/")
        assert id(slots.of("https://index.example/other")) not in set(map(id, hosts))
        assert slots.of("https://h0.example/y") is hosts[0]
        assert slots.of("https://h0.example:8443/y") is not hosts[0]
        assert slots.of("\0") is hosts[-1]

    asyncio.run(check())
    assert FILES < PAGES


def test_lookup_does_not_wait_for_another_index(tmp_path: Path, index: LoopbackIndex) -> None:
    """One index says to wait for each of 20 projects; another has the project that comes last."""
    workspace = Workspace(tmp_path, index)
    names = [f"busy{at}" for at in range(20)]
    asked: list[float] = []

    def note(response: Response) -> Response:
        asked.append(time.monotonic())
        return response

    with LoopbackIndex() as other:
        other.serve(*(f"{name} 1.0" for name in names))
        for name in names:
            busy = Response(429, b"", {"Retry-After": "3"})
            other.fault(f"/simple/*/{name}/", lambda _, busy=busy: busy, times=1)
        index.serve("quick 1.0")
        index.fault("/simple/*/quick/", note)
        workspace.indexes(f"[[index]]\nname = 'other'\nurl = '{other.url}'\npackages = {names!r}\n")
        workspace.stack(*names, "quick")
        begin = time.monotonic()
        assert workspace.lock().status == 0
    assert asked[0] - begin < 2.5
