"""Connections: certificates, proxies, and the meaning of errors.

aiohttp, which takes a third of the time of httpx's own connections, is used where there is no
proxy.
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
from urllib.request import getproxies, proxy_bypass

import aiohttp
import httpx
from httpx_aiohttp import AiohttpTransport

from resolver import address
from resolver.errors import InputError
from resolver.index.net.pipconfig import PipConfig
from resolver.index.parse.address import WrittenError, has_scheme, is_loopback, split_written
from resolver.redaction import shown_address

# Variables that pip, curl and OpenSSL read; behind a corporate proxy at least one is set.
_VARIABLES: Final = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
# The stores of distributions, for a Python whose OpenSSL was built for another distribution.
_STORES: Final = (
    "/etc/ssl/certs/ca-certificates.crt",  # Debian, Ubuntu
    "/etc/pki/tls/certs/ca-bundle.crt",  # openEuler, Kylin, Fedora
    "/etc/ssl/ca-bundle.pem",  # SUSE
    "/etc/ssl/cert.pem",  # Alpine
)


def ssl_context(pip: PipConfig) -> ssl.SSLContext:
    """Trust in the system's store and the bundles of pip and the environment.

    Raises InputError for an invalid one.
    """
    context = _system_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    for source, bundle in _bundles(pip):
        hint = "name a file with certificates in PEM form, or a folder of such files"
        with _readable(f"The certificates named by {source} cannot be read.", bundle, hint):
            folder, file = (bundle, None) if Path(bundle).is_dir() else (None, bundle)
            context.load_verify_locations(file, folder)
    if pip.client_cert:
        hint = "name a PEM file with certificate and key: `pip config set global.client-cert FILE`"
        with _readable(
            "The client certificate of pip's configuration cannot be read.", pip.client_cert, hint
        ):
            context.load_cert_chain(pip.client_cert, password="")  # without a prompt
    return context


def _system_context() -> ssl.SSLContext:
    """A context that trusts the system's store."""
    if sys.platform in (
        "darwin",
        "win32",
    ):  # elsewhere truststore would read the store for each connection
        import truststore

        return truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_default_verify_paths()  # SSL_CERT_FILE replaces the system's store, as in OpenSSL
    store = next((path for path in _STORES if Path(path).is_file()), None)
    if store is not None and not ssl.get_default_verify_paths().cafile:
        context.load_verify_locations(cafile=store)
    return context


def _bundles(pip: PipConfig) -> Iterator[tuple[str, str]]:
    """The setting and the path of each bundle.

    SSL_CERT_DIR may name several folders, as in OpenSSL.
    """
    bundles = [("pip's cert", pip.cert)]
    for name in _VARIABLES:
        value = os.environ.get(name, "")
        bundles += [
            (name, path)
            for path in (value.split(os.pathsep) if name == "SSL_CERT_DIR" else (value,))
        ]
    return ((name, path) for name, path in bundles if path)


@contextmanager
def _readable(message: str, where: str, hint: str) -> Iterator[None]:
    """Turns a failure to load certificates into InputError; OpenSSL's own words name the line of its source."""
    try:
        yield
    except ssl.SSLError:
        why = "It has no usable certificate in PEM form."
        raise InputError(message, where=where, why=why, hint=hint) from None
    except OSError as error:
        raise InputError(
            message, where=where, why=f"{error.strerror or error}.", hint=hint
        ) from None


_KEEPALIVE: Final = 60.0  # seconds


class Transport(httpx.AsyncBaseTransport):
    """Connections on an event loop, as many as are asked for at once.

    Raises InputError for unusable settings.

    Certificates are read for the first https request: that takes as long as a small run without
    one.
    """

    def __init__(self, pip: PipConfig) -> None:
        self._pip = pip
        self._proxies = Proxies(pip)
        self._transports: dict[
            tuple[str, bool], httpx.AsyncBaseTransport
        ] = {}  # by proxy, and whether there is TLS

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request. Raises httpx.TransportError, aiohttp.ClientError and InputError."""
        proxy = self._proxies.of(str(request.url))
        secure = "https" in (request.url.scheme, address.split(proxy).scheme)
        if (proxy, secure) not in self._transports:
            context = (
                self._context if secure else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            )  # which trusts nobody
            self._transports[proxy, secure] = (
                self._proxied(proxy, context) if proxy else self._direct(context)
            )
        return await self._transports[proxy, secure].handle_async_request(request)

    def proxy(self, url: str) -> str:
        """The proxy for an address, as it may be shown; "" for none."""
        return shown_address(self._proxies.of(url))

    async def aclose(self) -> None:
        """Close all connections."""
        for transport in self._transports.values():
            await transport.aclose()

    @cached_property
    def _context(self) -> ssl.SSLContext:
        return ssl_context(self._pip)

    def _direct(self, context: ssl.SSLContext) -> httpx.AsyncBaseTransport:
        connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEEPALIVE, ssl=context)
        session = aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())
        return AiohttpTransport(verify=context, client=session)

    def _proxied(self, proxy: str, context: ssl.SSLContext) -> httpx.AsyncBaseTransport:
        limits = httpx.Limits(keepalive_expiry=_KEEPALIVE)
        url = address.sendable(proxy)[0]
        secure = context if url.scheme == "https" else None
        return httpx.AsyncHTTPTransport(
            verify=context,
            limits=limits,
            trust_env=False,
            proxy=httpx.Proxy(url, ssl_context=secure),
        )


class Proxies:
    """The proxies of pip, or else of the environment.

    Raises InputError if one is invalid, even if it is not used.
    """

    def __init__(self, pip: PipConfig) -> None:
        self._of_pip = bool(pip.proxy)
        proxies: Mapping[str, str] = {"all": pip.proxy} if pip.proxy else getproxies()
        self._by_scheme = {
            name: _checked(proxies[name]) for name in ("http", "https", "all") if proxies.get(name)
        }

    def of(self, url: str) -> str:
        """The proxy for an address, "" for none."""
        parts = address.split(url)
        # Plain http must not leave this machine, not even to a proxy.
        direct = is_loopback(parts.host) or (not self._of_pip and proxy_bypass(parts.netloc))
        return "" if direct else self._by_scheme.get(parts.scheme) or self._by_scheme.get("all", "")


def _checked(written: str) -> str:
    """The address of a proxy as httpx accepts it. Raises InputError."""
    url = written if has_scheme(written) else f"http://{written}"
    hint = ""
    try:
        why = f"`{shown_address(split_written(url)[1])}` is not a proxy address"
        proxy = httpx.Proxy(address.sendable(url)[0])
        if proxy.url.host and proxy.url.port != 0:
            return url
    except WrittenError as error:
        why, hint = f"`{error.shown}` cannot be read. {error}", error.hint
    except ValueError:
        pass
    where = "HTTPS_PROXY, HTTP_PROXY, ALL_PROXY or pip's proxy"
    raise InputError("The proxy settings cannot be used.", where=where, why=why, hint=hint)


# Why there is no answer

_LONGEST: Final = 200  # characters
# What a transport raises. asyncio.TimeoutError is not the built-in one before Python 3.11.
ERRORS: Final = (
    httpx.HTTPError,
    aiohttp.ClientError,
    asyncio.TimeoutError,
    OSError,
    RuntimeError,
    ValueError,
)


class NoAnswerError(Exception):
    """No answer, an incomplete one, or one that says to try again.

    `certificate`, `unknown_name`: the known cause.
    """

    def __init__(
        self,
        why: str,
        *,
        certificate: bool = False,
        unknown_name: bool = False,
        retry_after: str = "",
    ) -> None:
        super().__init__(why)
        self.certificate = certificate
        self.unknown_name = unknown_name
        self.retry_after = retry_after


def no_answer(error: BaseException) -> NoAnswerError:
    """The meaning of an error of a transport: the system's reason if there is one, else the library's words."""
    for cause in _causes(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return NoAnswerError(
                f"Its certificate is not trusted: {cause.verify_message}", certificate=True
            )
        if isinstance(cause, socket.gaierror):
            return NoAnswerError(
                cause.strerror or str(cause), unknown_name=cause.errno == socket.EAI_NONAME
            )
        if isinstance(cause, ssl.SSLError) and cause.reason:
            return NoAnswerError(f"TLS failed: {cause.reason.replace('_', ' ').lower()}")
        if isinstance(cause, OSError) and cause.errno:
            return NoAnswerError(os.strerror(cause.errno))
    error = next(_causes(error, of_aiohttp=True), error)  # that of httpx-aiohttp says less
    match error:
        case httpx.ReadTimeout() | aiohttp.SocketTimeoutError():
            why = "It stopped answering"
        case httpx.TimeoutException() | aiohttp.ServerTimeoutError():
            why = "No connection within the time limit"
        case httpx.ProxyError():
            why = f"The proxy answered {_beginning(error)}"
        case (
            aiohttp.ClientPayloadError() | RuntimeError()
        ):  # aiohttp's for a connection that it closed itself
            why = "It broke off its answer"
        case httpx.RemoteProtocolError() if "closed" in str(error) and "complete" in str(error):
            why = "It broke off its answer"
        case httpx.RemoteProtocolError() if "closed" in str(error) or "disconnected" in str(error):
            why = "It closed the connection without an answer"
        case aiohttp.ServerDisconnectedError():
            why = "It closed the connection without an answer"
        case _:
            why = f"It violates HTTP ({_beginning(error)})"
    return NoAnswerError(why)


def _beginning(error: BaseException) -> str:
    """The beginning of a message, as the rest quotes the server."""
    text = str(error.message if isinstance(error, aiohttp.ClientResponseError) else error)
    return " ".join(text.partition(":")[0].split())[:_LONGEST].rstrip(".")


def _causes(error: BaseException, *, of_aiohttp: bool = False) -> Iterator[BaseException]:
    """An error, its cause, and so on; only those of aiohttp, or only others, as aiohttp's wrap errors of the system."""
    current: BaseException | None = error
    while current is not None:
        if isinstance(current, aiohttp.ClientError) == of_aiohttp:
            yield current
        # httpcore raises `from None`
        cause = current.__cause__ or (current.__context__ if current.__suppress_context__ else None)
        current = next(
            iter(getattr(cause, "exceptions", ())), cause
        )  # of several addresses, the first
