"""Choose the proxy for a request, from the settings of pip or of the environment."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.request import getproxies, proxy_bypass

import httpx

from resolver import address
from resolver.errors import InputError
from resolver.index.net.pipconfig import PipConfig
from resolver.index.net.sendable import sendable
from resolver.index.parse.address import WrittenError, has_scheme, is_loopback, split_written
from resolver.phrase import cause, phrase
from resolver.redaction import shown_address


class Proxies:
    """The proxy of pip's configuration, or without one the proxies of the environment."""

    def __init__(self, pip: PipConfig) -> None:
        """Read the settings. Raises InputError if a proxy is invalid, even if it is not used."""
        self._is_of_pip = bool(pip.proxy)
        proxies: Mapping[str, str] = {"all": pip.proxy} if pip.proxy else getproxies()
        self._by_scheme: dict[str, str] = {}
        for scheme in ("http", "https", "all"):
            proxy = proxies.get(scheme)
            if proxy:
                self._by_scheme[scheme] = _checked(proxy)
        # By scheme, and host with port. So NO_PROXY is evaluated once for each host.
        self._by_origin: dict[tuple[str, str], str] = {}

    def of(self, url: str) -> str:
        """Return the address of the proxy for a request to `url`; "" for a direct connection.

        It may have a password.
        """
        parts = address.split(url)
        origin = parts.scheme, parts.netloc
        if origin not in self._by_origin:
            self._by_origin[origin] = self._find(*origin, parts.host)
        return self._by_origin[origin]

    def _find(self, scheme: str, netloc: str, host: str) -> str:
        """Return what `of` returns, without its cache."""
        # Requests to this machine may be plain http. A proxy would send them over the network.
        if is_loopback(host):
            return ""
        if not self._is_of_pip and proxy_bypass(netloc):
            return ""
        return self._by_scheme.get(scheme) or self._by_scheme.get("all", "")


def _checked(written: str) -> str:
    """Return the address of a proxy in a setting, with a scheme: by default `http://`.

    Raises InputError if httpx does not accept it.
    """
    url = written if has_scheme(written) else f"http://{written}"
    hint = phrase("the form is http://HOST:PORT or http://USER:PASSWORD@HOST:PORT")
    try:
        why = phrase(
            "`{address}` is not a proxy address", address=shown_address(split_written(url)[1])
        )
        proxy = httpx.Proxy(sendable(url)[0])
        if proxy.url.host and proxy.url.port != 0:
            return url
    except WrittenError as error:
        why = phrase("`{address}` cannot be read. {cause}", address=error.shown, cause=cause(error))
        hint = error.hint
    except ValueError:
        pass
    where = "HTTPS_PROXY, HTTP_PROXY, ALL_PROXY or pip's proxy"
    raise InputError(phrase("The proxy settings cannot be used."), where=where, why=why, hint=hint)
