"""Hosts' addresses: asked for once, tried one after the other, and only what was found is kept."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import urllib3

from resolver.catalog.names import Names
from resolver.catalog.pace import hold
from tests.loopback import LoopbackIndex

HOST = "index.example"


class Resolver:
    """Answers for HOST in the place of the system's; everything else, addresses among it, goes on to that."""

    def __init__(self, *addresses: str) -> None:
        self.addresses = addresses
        self.asked = 0
        self.system = socket.getaddrinfo

    def __call__(self, host: str, port: int | None, *rest: Any) -> Any:
        if host != HOST:
            return self.system(host, port, *rest)
        self.asked += 1
        if not self.addresses:
            raise socket.gaierror(socket.EAI_AGAIN, "not now")
        return [row for address in self.addresses for row in self.system(address, port, *rest)]


@pytest.fixture
def resolver(monkeypatch: pytest.MonkeyPatch) -> Resolver:
    found = Resolver("127.0.0.1")
    monkeypatch.setattr(socket, "getaddrinfo", found)
    return found


@pytest.fixture
def index() -> Iterator[LoopbackIndex]:
    with LoopbackIndex() as served:
        served.add_wheel("demo", "1.0")
        yield served


def get(names: Names, index: LoopbackIndex) -> int:
    """The status of the index's page, asked under the name of a host, over a connection of its own."""
    with urllib3.PoolManager() as manager:
        hold(manager, 60.0, names)
        return manager.request("GET", index.url.replace("127.0.0.1", HOST) + "demo/", retries=False, timeout=10).status


def test_a_host_is_asked_for_once_however_many_connections_are_opened(resolver: Resolver, index: LoopbackIndex) -> None:
    names = Names()
    threads = [threading.Thread(target=get, args=(names, index)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert get(names, index) == 200
    assert resolver.asked == 1


def test_the_next_address_is_tried_where_one_refuses(resolver: Resolver, index: LoopbackIndex) -> None:
    resolver.addresses = ("127.0.0.2", "127.0.0.1")
    assert get(Names(), index) == 200
    assert {request.host.partition(":")[0] for request in index.requests} == {HOST}  # not the address


def test_where_all_refuse_it_is_told_of_the_last(resolver: Resolver, index: LoopbackIndex) -> None:
    resolver.addresses = ("127.0.0.2", "127.0.0.3")
    with pytest.raises(urllib3.exceptions.NewConnectionError, match="refused"):
        get(Names(), index)


def test_a_failure_is_not_kept(resolver: Resolver, index: LoopbackIndex) -> None:
    names = Names()
    resolver.addresses = ()
    with pytest.raises(urllib3.exceptions.NameResolutionError):
        get(names, index)
    resolver.addresses = ("127.0.0.1",)
    assert get(names, index) == 200
