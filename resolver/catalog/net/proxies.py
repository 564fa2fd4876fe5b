"""Proxies: which one is used for an address, according to pip and the environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import quote, urlsplit
from urllib.request import getproxies, proxy_bypass

from resolver.catalog.net.pipconfig import PipConfig
from resolver.catalog.parse.address import WrittenError, beginning, has_scheme, is_loopback, split_written
from resolver.errors import InputError

_PORTS: Final = {"http": 80, "https": 443, "socks5": 1080, "socks5h": 1080}  # the default port of a proxy
_AS_IS: Final = "%!$&'()*+,;=:"  # of users and passwords


class Proxies:
    """Raises InputError for a proxy that cannot be used, even if no address needs it."""

    def __init__(self, pip: PipConfig) -> None:
        self._by_pip = bool(pip.proxy)
        given: Mapping[str, str] = {"all": pip.proxy} if pip.proxy else getproxies()
        self._given = {scheme: _checked(given[scheme]) for scheme in ("http", "https", "all") if given.get(scheme)}
        self._known: dict[str, str] = {}

    def of(self, url: str) -> str:
        """The address of the proxy, "" for none; determined once for all addresses with the same beginning."""
        begin = beginning(url)
        if begin not in self._known:
            self._known[begin] = self._of(url)
        return self._known[begin]

    def _of(self, url: str) -> str:
        parts = urlsplit(url)
        host = parts.hostname or ""
        # Plain http must not leave this machine, not even to a proxy.
        if is_loopback(host) or (not self._by_pip and proxy_bypass(parts.netloc.rpartition("@")[2])):
            return ""
        return self._given.get(parts.scheme) or self._given.get("all", "")


def _checked(address: str) -> str:
    address = address if has_scheme(address) else f"http://{address}"
    hint = ""
    try:
        user, clean = split_written(address)
        parts = urlsplit(clean)
        usable = parts.scheme in _PORTS and bool(parts.hostname) and parts.port != 0 and address.isprintable()
        port = parts.port
        place = parts.netloc if parts.netloc.isascii() else parts.netloc.encode("idna").decode()
        why = f"`{clean}` is not a proxy address"
    except WrittenError as error:
        usable, why, hint = False, f"`{error.shown}` cannot be read. {error}", error.hint
    except ValueError as error:
        usable, why = False, str(error)
    if not usable:
        raise InputError(
            "The proxy settings cannot be used.",
            where="HTTPS_PROXY, HTTP_PROXY, ALL_PROXY or pip's proxy",
            why=why,
            hint=hint,
        )
    before = f"{quote(user, safe=_AS_IS)}@" if user else ""
    return f"{parts.scheme}://{before}{place}{'' if port else f':{_PORTS[parts.scheme]}'}"
