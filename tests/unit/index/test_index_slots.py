"""A host that is slow, or says to wait, holds up no other: nobody waits in a slot."""

from __future__ import annotations

import asyncio
import socket
import time
from pathlib import Path
from typing import Any

import pytest

from resolver.index.net.client import FILES, PAGES, Client, RetryPolicy
from resolver.index.net.slots import Lane, Slots
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


def lane_after(*seconds: float) -> Lane:
    lane = Lane(2, 5)
    for each in (0.9, 0.9, *seconds):
        lane.answered(each)
    return lane


def test_lane_grows_while_answers_are_late_and_no_later_than_the_quickest() -> None:
    assert lane_after().count == 2, "connections are made for the first answers"
    assert lane_after(0.05, 0.05, 0.05).count == 2, "a server near by"
    assert lane_after(0.3, 0.31).count == 4
    assert lane_after(*[0.3] * 9).count == 5
    assert lane_after(0.05, *[0.3] * 9).count == 2, "it does not keep up"
    assert lane_after(*[0.3] * 9, *[3.0] * 9).count == 2, "it is overtaxed"


def test_lane_that_refused_gets_no_more_slots() -> None:
    lane = lane_after(*[0.3] * 9)
    lane.refused()
    for _ in range(9):
        lane.answered(0.3)
    assert lane.count == 2


def test_lane_takes_slots_away_as_they_are_free() -> None:
    async def check() -> None:
        lane = lane_after(*[0.3] * 9)
        held = 0
        most = 0

        async def hold() -> None:
            nonlocal held, most
            async with lane:
                held += 1
                most = max(most, held)
                await asyncio.sleep(0.01)
                held -= 1

        first = [asyncio.ensure_future(hold()) for _ in range(5)]
        await asyncio.sleep(0)
        assert held == 5
        lane.refused()
        await asyncio.gather(*first)
        most = 0
        await asyncio.gather(*(hold() for _ in range(9)))
        assert most == 2

    asyncio.run(check())


def test_client_has_few_bodies_of_a_distant_server_in_memory() -> None:
    """More requests than that wait for their answers."""
    held = 0
    most_held = 0
    connected = 0
    most_connected = 0

    def talk(connection: socket.socket) -> None:
        nonlocal connected, most_connected
        connected += 1
        most_connected = max(most_connected, connected)
        says(HERE, 0.2)(connection)
        connected -= 1

    async def consume(response: Any) -> None:
        nonlocal held, most_held
        held += 1
        most_held = max(most_held, held)
        await asyncio.sleep(0.1)
        held -= 1

    with speaking(talk) as distant:

        async def ask(client: Client) -> None:
            urls = [f"http://{distant}/{at}" for at in range(5 * PAGES)]
            await asyncio.gather(*(client.request(url, consume, headers={}) for url in urls))

        with_client(ask)
    assert most_connected > PAGES
    assert most_held == PAGES


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
