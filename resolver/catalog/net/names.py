"""Addresses of hosts, looked up once a run, in threads that nobody waits for when the run is cancelled."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from typing import Final

from resolver.catalog.net.threads import Threads
from resolver.catalog.net.worker import Once

_ADDRESS: Final = 4  # index in getaddrinfo's tuples
_AT_ONCE: Final = 4


class Names:
    """Addresses by host. Lives on an event loop; failures are not kept."""

    def __init__(self) -> None:
        self._threads = Threads(_AT_ONCE)
        self._once = Once(again=True)

    async def addresses(self, host: str, patience: float) -> tuple[str, ...]:
        """The addresses in the order to try them; none if the host is an address itself.

        Raises socket.gaierror and, after so many seconds, TimeoutError.
        """
        try:
            ipaddress.ip_address(host)
        except ValueError:
            asked = self._once.do(host, lambda: self._threads.run(lambda: _addresses(host)))
            try:
                return await asyncio.wait_for(asked, patience)
            except asyncio.TimeoutError:  # not the built-in one before Python 3.11
                raise TimeoutError from None
        return ()

    def close(self) -> None:
        """Let the threads end."""
        self._threads.close()


def _addresses(host: str) -> tuple[str, ...]:
    try:
        rows = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except UnicodeError as error:
        raise socket.gaierror(socket.EAI_NONAME, str(error)) from None
    if not rows:
        raise socket.gaierror(socket.EAI_NONAME, "It has no address")
    return tuple(dict.fromkeys(str(row[_ADDRESS][0]) for row in rows))
