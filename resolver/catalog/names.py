"""Hosts' addresses, asked for once a run: sixteen connections that are opened at once would each ask.

A resolver was seen to drop questions that come so many at once, and a question that is dropped costs five seconds.
"""

from __future__ import annotations

import socket
import threading
from typing import Any, Final

_FIRST: Final = 0  # of what getaddrinfo says of an address: the address itself


class Names:
    """Addresses by host. May be used from any thread; failures are not kept."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asking: dict[str, threading.Lock] = {}
        self._known: dict[str, tuple[str, ...]] = {}

    def addresses(self, host: str) -> tuple[str, ...]:
        """In the order in which they are to be tried; raises socket.gaierror, and UnicodeError for what is no name."""
        with self._lock:
            asking = self._asking.setdefault(host, threading.Lock())
        with asking:
            if host not in self._known:
                from urllib3.util.connection import allowed_gai_family

                rows = socket.getaddrinfo(host, None, allowed_gai_family(), socket.SOCK_STREAM)
                if not rows:
                    raise socket.gaierror(socket.EAI_NONAME, "It has no address")
                self._known[host] = tuple(dict.fromkeys(str(row[4][_FIRST]) for row in rows))
            return self._known[host]

    def of(self, connection: Any) -> Any:
        """The class of connections, made to ask here. What goes through a SOCKS proxy asks the proxy, and stays."""
        from urllib3.connection import HTTPConnection
        from urllib3.exceptions import ConnectTimeoutError, NameResolutionError, NewConnectionError

        if connection._new_conn is not HTTPConnection._new_conn:
            return connection
        names = self

        class Named(connection):  # type: ignore[misc]  # a class that is known at run time only
            _dns_host: str

            def _new_conn(self) -> socket.socket:
                host = self._dns_host
                try:
                    addresses = names.addresses(host.strip("[]"))
                except socket.gaierror as error:
                    raise NameResolutionError(host, self, error) from error
                except UnicodeError:
                    return super()._new_conn()  # type: ignore[no-any-return]  # which says what is wrong with it
                for number, address in enumerate(addresses, 1):
                    self._dns_host = address
                    try:
                        return super()._new_conn()  # type: ignore[no-any-return]
                    except (NewConnectionError, ConnectTimeoutError):
                        if number == len(addresses):
                            raise
                    finally:
                        self._dns_host = host  # the name that its certificate must have
                raise AssertionError("a host has an address")

        return Named
