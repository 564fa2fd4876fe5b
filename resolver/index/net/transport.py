"""How requests leave this machine: through which proxy, with which certificates, and what their errors mean.

aiohttp takes a third of the time of httpx's own connections, which know all kinds of proxies.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import httpx
from httpx_aiohttp import AiohttpTransport

from resolver.errors import InputError
from resolver.index.net.pipconfig import PipConfig
from resolver.index.parse.address import (
    WrittenError,
    has_scheme,
    is_loopback,
    split_written,
    without_credentials,
)

# Variables that pip, curl and OpenSSL read; behind a corporate proxy at least one is set.
_VARIABLES: Final = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
# Where distributions keep their store, for a Python whose OpenSSL was built for another distribution.
_STORES: Final = (
    "/etc/ssl/certs/ca-certificates.crt",  # Debian, Ubuntu
    "/etc/pki/tls/certs/ca-bundle.crt",  # openEuler, Kylin, Fedora
    "/etc/ssl/ca-bundle.pem",  # SUSE
    "/etc/ssl/cert.pem",  # Alpine
)


def ssl_context(pip: PipConfig) -> ssl.SSLContext:
    """The system's store and every bundle named by pip or the environment. Raises InputError for an invalid one."""
    context = _system()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    for source, bundle in _bundles(pip):
        hint = "name a file with certificates in PEM form, or a folder of such files"
        with _readable(f"The certificates named by {source} cannot be read.", bundle, hint):
            folder, file = (bundle, None) if Path(bundle).is_dir() else (None, bundle)
            context.load_verify_locations(file, folder)
    if pip.client_cert:
        hint = "name a PEM file with certificate and key: `pip config set global.client-cert FILE`"
        with _readable("The client certificate of pip's configuration cannot be read.", pip.client_cert, hint):
            context.load_cert_chain(pip.client_cert, password="")  # nobody is asked for one
    return context


def _system() -> ssl.SSLContext:
    """A context that trusts the system's store."""
    if sys.platform in ("darwin", "win32"):  # elsewhere truststore would read the store for each connection
        import truststore

        return truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_default_verify_paths()  # SSL_CERT_FILE replaces the system's store, as in OpenSSL
    store = next((one for one in _STORES if Path(one).is_file()), None)
    if store is not None and not ssl.get_default_verify_paths().cafile:
        context.load_verify_locations(cafile=store)
    return context


def _bundles(pip: PipConfig) -> Iterator[tuple[str, str]]:
    """Who names a bundle, and its path. SSL_CERT_DIR may name several folders, as in OpenSSL."""
    named = [("pip's cert", pip.cert)]
    for name in _VARIABLES:
        value = os.environ.get(name, "")
        named += [(name, one) for one in (value.split(os.pathsep) if name == "SSL_CERT_DIR" else (value,))]
    return ((name, path) for name, path in named if path)


@contextmanager
def _readable(message: str, where: str, hint: str) -> Iterator[None]:
    """Turns a failure to load certificates into InputError; OpenSSL's own words name the line of its source."""
    try:
        yield
    except ssl.SSLError:
        why = "It has no usable certificate in PEM form."
        raise InputError(message, where=where, why=why, hint=hint) from None
    except OSError as error:
        raise InputError(message, where=where, why=f"{error.strerror or error}.", hint=hint) from None


_KEPT: Final = 60.0  # seconds


class Transport(httpx.AsyncBaseTransport):
    """At most `most` connections at once. Lives on an event loop. Raises InputError for unusable settings.

    Certificates are read for the first https request: that takes as long as a small run without one.
    """

    def __init__(self, pip: PipConfig, most: int) -> None:
        self._pip = pip
        self._proxies = Proxies(pip)
        self._most = most
        self._ways: dict[tuple[str, bool], httpx.AsyncBaseTransport] = {}  # by proxy, and whether there is TLS

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send it. Raises httpx.TransportError, aiohttp.ClientError and InputError."""
        proxy = self._proxies.of(str(request.url))
        secure = "https" in (request.url.scheme, urlsplit(proxy).scheme)
        if (proxy, secure) not in self._ways:
            context = self._context if secure else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # which trusts nobody
            self._ways[proxy, secure] = self._through(proxy, context) if proxy else self._direct(context)
        return await self._ways[proxy, secure].handle_async_request(request)

    def proxy(self, url: str) -> str:
        """The proxy for an address, to show to people: without credentials, "" for none."""
        return without_credentials(self._proxies.of(url))

    async def aclose(self) -> None:
        """Close all connections."""
        for way in self._ways.values():
            await way.aclose()

    @cached_property
    def _context(self) -> ssl.SSLContext:
        return ssl_context(self._pip)

    def _direct(self, context: ssl.SSLContext) -> httpx.AsyncBaseTransport:
        connector = aiohttp.TCPConnector(limit=self._most, keepalive_timeout=_KEPT, ssl=context)
        session = aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())
        return AiohttpTransport(verify=context, client=session)

    def _through(self, proxy: str, context: ssl.SSLContext) -> httpx.AsyncBaseTransport:
        limits = httpx.Limits(max_connections=self._most, keepalive_expiry=_KEPT)
        secure = context if httpx.URL(proxy).scheme == "https" else None
        return httpx.AsyncHTTPTransport(
            verify=context, limits=limits, trust_env=False, proxy=httpx.Proxy(proxy, ssl_context=secure)
        )


class Proxies:
    """Which proxy is used for an address, according to pip and the environment.

    Raises InputError for a proxy that cannot be used, even if no address needs it.
    """

    def __init__(self, pip: PipConfig) -> None:
        self._by_pip = bool(pip.proxy)
        given: Mapping[str, str] = {"all": pip.proxy} if pip.proxy else getproxies()
        self._given = {scheme: _checked(given[scheme]) for scheme in ("http", "https", "all") if given.get(scheme)}

    def of(self, url: str) -> str:
        """The address of the proxy, "" for none."""
        parts = urlsplit(url)
        # Plain http must not leave this machine, not even to a proxy.
        direct = is_loopback(parts.hostname or "") or (not self._by_pip and proxy_bypass(parts.netloc))
        return "" if direct else self._given.get(parts.scheme) or self._given.get("all", "")


def _checked(written: str) -> str:
    """The address as httpx takes it; a password in it is unescaped there. Raises InputError."""
    address = written if has_scheme(written) else f"http://{written}"
    hint = ""
    try:
        why = f"`{split_written(address)[1]}` is not a proxy address"
        proxy = httpx.Proxy(address)
        if proxy.url.host and proxy.url.port != 0:
            return address
    except WrittenError as error:
        why, hint = f"`{error.shown}` cannot be read. {error}", error.hint
    except (ValueError, httpx.InvalidURL):
        pass
    where = "HTTPS_PROXY, HTTP_PROXY, ALL_PROXY or pip's proxy"
    raise InputError("The proxy settings cannot be used.", where=where, why=why, hint=hint)


# Why there is no answer, in words for people

_LONGEST: Final = 200  # characters
# What a transport raises. asyncio.TimeoutError is not the built-in one before Python 3.11.
ERRORS: Final = (httpx.HTTPError, aiohttp.ClientError, asyncio.TimeoutError, OSError, RuntimeError, ValueError)


class NoAnswerError(Exception):
    """No answer, or an incomplete one. `certificate`, `unknown_name`: the cause, as far as known."""

    def __init__(self, why: str, *, certificate: bool = False, unknown_name: bool = False) -> None:
        super().__init__(why)
        self.certificate = certificate
        self.unknown_name = unknown_name


def no_answer(error: BaseException) -> NoAnswerError:
    """What an error of a transport means: the system's reason if there is one, else the library's words."""
    causes = list(_causes(error))
    for one in causes:
        if isinstance(one, ssl.SSLCertVerificationError):
            return NoAnswerError(f"Its certificate is not trusted: {one.verify_message}", certificate=True)
        if isinstance(one, socket.gaierror):
            return NoAnswerError(one.strerror or str(one), unknown_name=one.errno == socket.EAI_NONAME)
        if isinstance(one, ssl.SSLError) and one.reason:
            return NoAnswerError(f"TLS failed: {one.reason.replace('_', ' ').lower()}")
        if isinstance(one, OSError) and one.errno:
            return NoAnswerError(os.strerror(one.errno))
    told = next(_causes(error, of_aiohttp=True), error)  # what httpx-aiohttp makes of it says less
    match told:
        case httpx.ReadTimeout() | aiohttp.SocketTimeoutError():
            why = "It stopped answering"
        case httpx.TimeoutException() | aiohttp.ServerTimeoutError():
            why = "No connection within the time limit"
        case httpx.ProxyError():
            why = f"The proxy answered {_beginning(told)}"
        case aiohttp.ClientPayloadError() | RuntimeError():  # aiohttp's for a connection that it closed itself
            why = "It broke off its answer"
        case httpx.RemoteProtocolError() if "closed" in str(told) and "complete" in str(told):
            why = "It broke off its answer"
        case httpx.RemoteProtocolError() if "closed" in str(told) or "disconnected" in str(told):
            why = "It closed the connection without an answer"
        case aiohttp.ServerDisconnectedError():
            why = "It closed the connection without an answer"
        case _:
            why = f"It violates HTTP ({_beginning(told)})"
    return NoAnswerError(why)


def _beginning(told: BaseException) -> str:
    """The beginning of a message, as the rest quotes what the server sent."""
    words = str(told.message if isinstance(told, aiohttp.ClientResponseError) else told)
    return " ".join(words.partition(":")[0].split())[:_LONGEST].rstrip(".")


def _causes(error: BaseException, *, of_aiohttp: bool = False) -> Iterator[BaseException]:
    """An error, what caused it, and so on. Those of aiohttp pass for the errors of the system that they wrap."""
    one: BaseException | None = error
    while one is not None:
        if isinstance(one, aiohttp.ClientError) == of_aiohttp:
            yield one
        cause = one.__cause__ or (one.__context__ if one.__suppress_context__ else None)  # httpcore's `from None`
        one = next(iter(getattr(cause, "exceptions", ())), cause)  # of several addresses, the first
