"""Hosts' addresses: asked for once, tried one after the other, and only what was found is kept."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from resolver.errors import Unreachable
from resolver.index.net.client import Client, Reply
from resolver.index.net.failures import Patience
from resolver.index.parse.address import is_local
from tests.loopback import LoopbackIndex
from tests.unit.index.clients import with_client

HOST = "index.localhost"  # a name that may be asked over plain http is one of this machine


class Resolver:
    """Answers for HOST in the place of the system's; everything else, addresses among it, goes on to that."""

    def __init__(self, *addresses: str) -> None:
        self.addresses = addresses
        self.asked = 0
        self.number = socket.EAI_AGAIN
        self.silent = threading.Event()
        self.silent.set()
        self.system = socket.getaddrinfo

    def __call__(self, host: str, port: int | None, *rest: Any, **more: Any) -> Any:
        if host != HOST:
            return self.system(host, port, *rest, **more)
        self.asked += 1
        self.silent.wait(20)
        if not self.addresses:
            raise socket.gaierror(self.number, "not now")
        return [row for address in self.addresses for row in self.system(address, port, *rest, **more)]


@pytest.fixture
def resolver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Resolver]:
    found = Resolver("127.0.0.1")
    monkeypatch.setattr(socket, "getaddrinfo", found)
    monkeypatch.setattr("resolver.index.parse.address.is_loopback", is_local)
    yield found
    found.silent.set()


@pytest.fixture
def index() -> Iterator[LoopbackIndex]:
    with LoopbackIndex() as served:
        served.add_wheel("demo", "1.0")
        yield served


def ask(index: LoopbackIndex, times: int = 1, **patience: float) -> list[Reply]:
    """The index's page, asked under the name of a host."""

    async def replies(client: Client) -> list[Reply]:
        url = index.url.replace("127.0.0.1", HOST) + "demo/"
        return await asyncio.gather(*(client.get(url, headers={}, limit=1 << 20) for _ in range(times)))

    return with_client(replies, patience=Patience(tries=1)._replace(**patience))  # type: ignore[arg-type]


def test_a_host_is_asked_for_once_however_many_connections_are_opened(resolver: Resolver, index: LoopbackIndex) -> None:
    assert [reply.status for reply in ask(index, times=20)] == [200] * 20
    assert resolver.asked == 1
    assert {request.host.partition(":")[0] for request in index.requests} == {HOST}  # not the address


def test_the_next_address_is_tried_where_one_refuses(resolver: Resolver, index: LoopbackIndex) -> None:
    resolver.addresses = ("127.0.0.2", "127.0.0.1")
    assert ask(index)[0].status == 200


def test_where_all_refuse_it_is_told(resolver: Resolver, index: LoopbackIndex) -> None:
    resolver.addresses = ("127.0.0.2", "127.0.0.3")
    with pytest.raises(Unreachable) as caught:
        ask(index)
    assert "Connection refused (1 try)" in caught.value.why


@pytest.mark.parametrize("number", [socket.EAI_AGAIN, socket.EAI_NONAME])
def test_a_failure_is_not_kept(resolver: Resolver, index: LoopbackIndex, number: int) -> None:
    resolver.addresses = ()
    resolver.number = number

    async def reply(client: Client) -> Reply:
        url = index.url.replace("127.0.0.1", HOST) + "demo/"
        asked = asyncio.ensure_future(client.get(url, headers={}, limit=1 << 20))
        while not resolver.asked:
            await asyncio.sleep(0.01)
        resolver.addresses = ("127.0.0.1",)
        return await asked

    assert with_client(reply, patience=Patience(tries=3, pause=0.3)).status == 200
    assert resolver.asked == 2


def test_a_resolver_that_is_silent_is_not_waited_for(resolver: Resolver, index: LoopbackIndex) -> None:
    resolver.silent.clear()
    threading.Timer(2, resolver.silent.set).start()
    with pytest.raises(Unreachable) as caught:
        ask(index, connect=0.2)
    assert caught.value.why == "No connection within the time limit (1 try)."
