"""Requests: redirects, credentials, certificates, proxies, connections."""

from __future__ import annotations

import asyncio
import base64
import errno
import gzip
import itertools
import os
import socket
import subprocess
import threading
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from resolver.cli.commands import failure as explained
from resolver.errors import IndexFailure, InputError, Unreachable
from resolver.index.net.client import (
    FILES,
    MOST_PAGES,
    PAGES,
    QUICK_RETRY,
    Client,
    RetryPolicy,
    conditions,
)
from resolver.index.net.pipconfig import PipConfig
from resolver.index.net.proxies import Proxies
from resolver.index.parse.address import read_root
from resolver.index.protocol import Meter, Traffic
from tests.hostile.certificates import server_context
from tests.loopback import LoopbackIndex, Response
from tests.unit.index.clients import Reply, failure, fetch, speaking, with_client

Answer = tuple[int, Mapping[str, str], bytes]


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.lower().endswith(
            ("_proxy", "ssl_cert_file", "ssl_cert_dir", "netrc", "_ca_bundle")
        ):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))


class Server(LoopbackIndex):
    """Answers each path from `answers`, after as many seconds as `waits` says.

    With an authority it answers over TLS.
    """

    def __init__(self, authority: Path | None = None) -> None:
        super().__init__()
        self.answers: dict[str, Answer] = {}
        self.waits: dict[str, float] = {}
        self.port = int(self.proxy.rpartition(":")[2])
        self._scheme = "http" if authority is None else "https"
        if authority is not None:
            self._server.socket = server_context(authority).wrap_socket(
                self._server.socket, server_side=True
            )

    def answer(self, path: str, headers: Mapping[str, str]) -> Response:
        code, told, body = self.answers.get(path, (404, {}, b""))
        return Response(code, body, told, delay=self.waits.get(path, 0.0))

    @property
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self.port}"

    @property
    def seen(self) -> list[tuple[str, Mapping[str, str]]]:
        return [(request.path, request.sent) for request in self.requests]


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        yield running


def get(
    url: str, pip: PipConfig | None = None, *, root: str = "", limit: int = 1000, **more: Any
) -> Reply:
    async def ask(client: Client) -> Reply:
        if root:
            client.credentials.remember(read_root(root, "mine"))
        return await fetch(client, url, headers=more.pop("headers", {}), limit=limit, **more)

    return with_client(ask, pip, meter=more.pop("meter", Meter()))


def basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


# --- redirects and addresses


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_client_follows_redirects(server: Server, status: int) -> None:
    server.answers = {"/a": (status, {"Location": "b/c"}, b""), "/b/c": (200, {}, b"here")}
    counted: list[Traffic] = []
    reply = get(f"{server.url}/a", headers={"X-Kept": "1"}, meter=Meter(counted.append))
    assert (reply.status, reply.url, reply.body) == (200, f"{server.url}/b/c", b"here")
    assert [headers["x-kept"] for _, headers in server.seen] == ["1", "1"]
    assert counted[-1] == Traffic(2, 4)


def answering(*answers: httpx.Response) -> tuple[httpx.MockTransport, list[httpx.Request]]:
    """A transport that gives one answer after the other, and the requests that it gets."""
    asked: list[httpx.Request] = []
    rest = iter(answers)

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return next(rest)

    return httpx.MockTransport(answer), asked


def ask(transport: httpx.AsyncBaseTransport, *urls: str, timeout: float = 5.0) -> list[Reply]:
    async def replies(client: Client) -> list[Reply]:
        return [await fetch(client, url, headers={}, limit=1000) for url in urls]

    return with_client(replies, PipConfig(index_url="", timeout=timeout), transport=transport)


@pytest.mark.parametrize(
    "target",
    [
        *(
            "https://localhost/",
            "https://index.example\\@127.0.0.1/",
            "https://index.example%2f@127.0.0.1/",
        ),
        "https://127.0.0.1%2e/",
    ],
)
def test_client_follows_no_redirect_to_this_machine(target: str) -> None:
    transport, asked = answering(httpx.Response(302, headers={"Location": target}))
    assert "redirects to an address" in failure(
        IndexFailure, lambda: ask(transport, "https://index.example/a")
    )
    assert len(asked) == 1


def test_client_sends_no_cookies_back() -> None:
    cookie = {"Set-Cookie": "who=me; Path=/"}
    transport, asked = answering(
        *(httpx.Response(200, headers=cookie, stream=httpx.ByteStream(b"")) for _ in range(2))
    )
    ask(transport, "https://index.example/a", "https://index.example/b")
    assert ["cookie" in request.headers for request in asked] == [False, False]


def test_client_limits_the_time_of_a_transport() -> None:
    """As aiohttp does with some connections that it closed itself."""

    class Silent(httpx.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            yield b"<html>"
            await asyncio.sleep(3600)

    transport, asked = answering(*(httpx.Response(200, stream=Silent()) for _ in range(4)))
    message = failure(Unreachable, lambda: ask(transport, "https://index.example/a", timeout=0.02))
    assert "It stopped answering (4 tries)." in message
    assert len(asked) == 4


# --- patience


@pytest.mark.parametrize(
    ("encoding", "body", "why"),
    [
        ("br", b"here" * 100, "`br` was not asked for."),
        ("gzip, gzip", b"here", "`gzip, gzip` was not asked for."),
        ("gzip", b"here", "Incorrect header check."),
        ("gzip", gzip.compress(b"", mtime=0) + b"and more", "It continues after its end."),
        ("gzip", gzip.compress(b"", mtime=0)[:-1], "It ends too early."),
    ],
    ids=["br", "twice", "not packed", "more", "less"],
)
def test_client_body_that_cannot_be_unpacked(
    server: Server, encoding: str, body: bytes, why: str
) -> None:
    server.answers = {"/a": (200, {"Content-Encoding": encoding}, body)}

    async def ask(client: Client) -> None:
        await fetch(
            client, f"{server.url}/b", headers={}, limit=9
        )  # a known host: bodies come with their heads
        await fetch(client, f"{server.url}/a", headers={}, limit=9)

    message = failure(IndexFailure, lambda: with_client(ask))
    assert message.startswith(
        f"An index sent data that cannot be decompressed.\n  at {server.url}/a\n  {why}\n"
    )
    assert [path for path, _ in server.seen] == ["/b", "/a"]


def test_conditions_have_ascii_validators_only(server: Server) -> None:
    for etag, sent in (('"cafe"', '"cafe"'), ('"caf\xe9"', None)):
        server.answers = {"/a": (200, {"ETag": etag}, b"here")}
        got = get(f"{server.url}/a").headers["etag"]
        get(f"{server.url}/a", headers=conditions(got, ""))
        assert (got, server.seen[-1][1].get("if-none-match")) == (etag, sent)


def test_retry_policy_heeds_retry_after(server: Server) -> None:
    server.answers = {"/a": (429, {"Retry-After": "1"}, b"")}
    begin = time.monotonic()
    failure(Unreachable, lambda: get(f"{server.url}/a", patience=RetryPolicy(tries=2, pause=0.01)))
    assert 1 <= time.monotonic() - begin < 5
    assert len(server.seen) == 2


def test_client_gives_a_dead_host_up() -> None:
    """150 look-ups would otherwise wait for it 150 times."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # not listening: connections are refused
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        meter = Meter()

        async def ask(client: Client) -> list[Any]:
            asked = (fetch(client, f"{url}/{n}", headers={}, limit=9) for n in range(150))
            return await asyncio.gather(*asked, return_exceptions=True)

        answers = with_client(ask, meter=meter)
    assert {type(answer) for answer in answers} == {Unreachable}
    assert meter.traffic.requests == 4 * PAGES


def test_client_quick_retry_gives_up_for_itself_alone() -> None:
    """An index that one binding may pass over may be the one that another cannot do without."""
    numbers = itertools.count()

    def talk(connection: socket.socket) -> None:
        if next(numbers) >= 2 * QUICK_RETRY.tries and connection.recv(1 << 16):
            connection.sendall(
                b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"
            )

    brief = QUICK_RETRY._replace(pause=0.01)
    with speaking(talk) as address:

        async def ask(client: Client) -> list[object]:
            url = f"http://{address}/a"
            asked = [
                fetch(client, url, headers={}, limit=9, patience=one)
                for one in (brief, brief, None, brief)
            ]
            return [(await asyncio.gather(one, return_exceptions=True))[0] for one in asked]

        first, again, strict, last = with_client(ask)
    assert isinstance(first, Unreachable)
    assert again is first, "it is not asked again for the same"
    assert [reply.body for reply in (strict, last) if isinstance(reply, Reply)] == [b"ok", b"ok"]


# --- credentials


def test_credentials_of_a_redirect_are_not_used(server: Server) -> None:
    server.answers = {
        "/a": (302, {"Location": f"http://me:pw@127.0.0.1:{server.port}/b"}, b""),
        "/b": (200, {}, b""),
    }
    assert get(f"{server.url}/a").url == f"{server.url}/b"
    assert [headers.get("authorization") for _, headers in server.seen] == [None, None]


@pytest.mark.parametrize("variable", [False, True])
def test_credentials_from_netrc(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: bool
) -> None:
    path = tmp_path / ("elsewhere" if variable else ".netrc")
    path.write_text("machine 127.0.0.1 login me password pw\n")
    path.chmod(0o600)
    if variable:
        monkeypatch.setenv("NETRC", str(path))
    server.answers = {"/a": (200, {}, b"")}
    get(f"{server.url}/a")
    for root in ("me@", "me:other@", "token@"):
        get(f"{server.url}/a", root=server.url.replace("//", f"//{root}"))
    path.unlink()
    get(f"{server.url}/a", root=server.url.replace("//", "//token@"))
    told = [
        basic(*one)
        for one in (("me", "pw"), ("me", "pw"), ("me", "other"), ("me", "pw"), ("token", ""))
    ]
    assert [one[1]["authorization"] for one in server.seen] == told


def test_credentials_default_is_for_configured_indexes(tmp_path: Path) -> None:
    """Any host can be what an index redirects to."""
    (tmp_path / ".netrc").write_text(
        "machine named.example login it password its\ndefault login me password pw\n"
    )
    (tmp_path / ".netrc").chmod(0o600)
    answers = [
        httpx.Response(302, headers={"Location": "https://other.example/b"}),
        httpx.Response(302, headers={"Location": "https://default/b"}),
        httpx.Response(302, headers={"Location": "https://named.example/b"}),
        httpx.Response(200, stream=httpx.ByteStream(b"")),
    ]
    transport, asked = answering(*answers)

    async def ask_index(client: Client) -> Reply:
        client.credentials.remember(read_root("https://index.example/simple", "mine"))
        return await fetch(client, "https://index.example/simple/a/", headers={}, limit=9)

    assert with_client(ask_index, transport=transport).status == 200
    sent = {request.url.host: request.headers.get("authorization") for request in asked}
    assert sent == {
        "index.example": basic("me", "pw"),
        "other.example": None,
        "default": None,
        "named.example": basic("it", "its"),
    }


@pytest.mark.parametrize(
    ("content", "mode", "why"),
    [
        (
            "machine a.example login me password hunter 2 x\n",
            0o600,
            "Line 1 or the one before it does not have",
        ),
        ("machine a.example login me password hunter2\n", 0o644, "~/.netrc access too permissive"),
    ],
)
def test_credentials_of_a_bad_netrc_are_not_shown(
    tmp_path: Path, content: str, mode: int, why: str
) -> None:
    (tmp_path / ".netrc").write_text(content)
    (tmp_path / ".netrc").chmod(mode)
    message = failure(InputError, lambda: get("https://a.example/"))
    assert message.startswith(f"The netrc file cannot be read.\n  at ~/.netrc\n  {why}")
    assert "hunter" not in message


def test_credentials_netrc_may_be_a_pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / ".netrc")
    for where in ("~/.netrc", f"{tmp_path}/.netrc"):
        told = f"The netrc file cannot be read.\n  at {where}\n  It is not a regular file.\n"
        assert failure(InputError, lambda: get("https://a.example/")).startswith(told)
        monkeypatch.setenv("NETRC", f"{tmp_path}/.netrc")


# --- proxies


def test_proxy_is_not_used_for_this_machine(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    server.answers = {"/a": (200, {}, b"here")}
    assert get(f"{server.url}/a").body == b"here"
    assert (
        get(f"{server.url}/a", PipConfig(index_url="", proxy="http://127.0.0.1:1")).body == b"here"
    )


def test_proxy_that_requires_a_password(monkeypatch: pytest.MonkeyPatch) -> None:
    def talk(connection: socket.socket) -> None:
        connection.recv(1 << 16)
        connection.sendall(
            b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n"
        )

    with speaking(talk) as address:
        monkeypatch.setenv("HTTPS_PROXY", f"http://me:secret@{address}")
        message = failure(Unreachable, lambda: get("https://index.example/simple/"))
        monkeypatch.setenv("HTTPS_PROXY", f"http://{address}")
        without_user = failure(Unreachable, lambda: get("https://index.example/simple/"))
    why = (
        "The proxy answered 407 Proxy Authentication Required "
        f"(through the proxy http://{address}, 1 try)."
    )
    assert why in message
    assert why in without_user
    assert "hint: the proxy refused user `me`: check the name and the password" in message
    assert "hint: the proxy requires a login" in without_user
    assert "secret" not in message


@contextmanager
def leading(port: int) -> Iterator[tuple[str, list[bytes]]]:
    """A SOCKS proxy that leads every connection to one port of this machine.

    Yields its address, and what it was told.
    """
    told: list[bytes] = []

    def lead(connection: socket.socket) -> None:
        with socket.create_connection(("127.0.0.1", port)) as other:
            for answer in (
                b"\5\2",
                b"\1\0",
                b"\5\0\0\1\0\0\0\0\0\0",
            ):  # with user and password (RFC 1928, 1929)
                told.append(connection.recv(1 << 16))
                connection.sendall(answer)
            back = threading.Thread(target=_copy, args=(other, connection), daemon=True)
            back.start()
            _copy(connection, other)
            back.join()

    with speaking(lead) as address:
        yield address, told


def _copy(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while content := source.recv(1 << 16):
            sink.sendall(content)
        sink.shutdown(socket.SHUT_WR)


def test_proxy_of_socks_with_a_password(authority: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Server(authority) as server, leading(server.port) as (address, sent):
        server.answers = {"/a": (200, {}, b"here")}
        monkeypatch.setenv("HTTPS_PROXY", f"socks5h://me:se%40cret@{address}")
        pip = PipConfig(index_url="", cert=str(authority))
        reply = get("https://index.example/a", pip, root="https://u:p@index.example/")
    assert (reply.status, reply.body) == (200, b"here")
    assert [headers["authorization"] for _, headers in server.seen] == [basic("u", "p")]
    told = b"".join(sent)
    assert b"se@cret" in told
    assert b"index.example" in told, "the proxy looks the name up"


def test_proxy_is_not_used_for_excluded_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "proxy.example:3128")
    monkeypatch.setenv("NO_PROXY", "inner.example,other.example:8443")
    proxies = Proxies(PipConfig(index_url=""))
    hosts = (
        "index.example",
        "inner.example",
        "inner.example:8443",
        "other.example",
        "other.example:8443",
    )
    proxy = "http://proxy.example:3128"
    assert [proxies.of(f"https://{host}/") for host in hosts] == [proxy, "", "", proxy, ""]
    of_pip = Proxies(PipConfig(index_url="", proxy="http://other.example:1"))
    assert of_pip.of("https://index.example/") == "http://other.example:1"


@pytest.mark.parametrize(
    "address",
    [
        *("gopher://me:secret@a.example", "http://", "http://a.example:x", "http://a.example:0"),
        *(
            "http://a.example:65536",
            "a.example:99999/?token=secret",
            "gopher://a.example/?token=secret",
        ),
    ],
)
def test_proxy_setting_that_is_invalid(address: str) -> None:
    with pytest.raises(InputError, match="The proxy settings cannot be used") as caught:
        Proxies(PipConfig(index_url="", proxy=address))
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("address", "told"),
    [("me:12/hunter2", "http://…@"), ("socks5://me:hunter2@12/x", "socks5://…@")],
)
def test_proxy_with_an_unescaped_password(address: str, told: str) -> None:
    with pytest.raises(InputError) as caught:
        Proxies(PipConfig(index_url="", proxy=f"{address}@proxy.example:1"))
    assert caught.value.why.startswith(
        f"`{told}proxy.example:1` cannot be read. There is an `@` after"
    )


def test_proxy_is_shown_without_its_query(monkeypatch: pytest.MonkeyPatch) -> None:
    with speaking(lambda connection: connection.recv(1 << 16)) as address:
        monkeypatch.setenv("HTTPS_PROXY", f"http://me:secret@{address}/?token=secret#secret")
        message = failure(Unreachable, lambda: get("https://index.example/simple/"))
    assert f"through the proxy http://{address}/, " in message
    assert "secret" not in message


# --- certificates and connections


def test_client_with_too_few_open_files() -> None:
    told = explained(OSError(errno.EMFILE, "Too many open files", "/dev/null"))
    assert (told.where, told.hint) == ("", "allow more open files: `ulimit -n 1024`")


@pytest.mark.parametrize("setting", ["cert", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "SSL_CERT_DIR"])
@pytest.mark.parametrize("name", ["ca.pem", "证书.pem", os.fsdecode(b"caf\xe9.pem")])
def test_certificates_of_pip_are_trusted(
    authority: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, setting: str, name: str
) -> None:
    path = tmp_path / name
    path.write_bytes(authority.read_bytes())
    pip = PipConfig(index_url="", cert=str(path) if setting == "cert" else "")
    if setting == "SSL_CERT_DIR":
        folder = path.with_suffix(".d")
        folder.mkdir()
        subprocess.run(["openssl", "rehash", str(tmp_path)], check=True, capture_output=True)
        monkeypatch.setenv(setting, f"{folder}:{tmp_path}")
    elif setting != "cert":
        monkeypatch.setenv(setting, str(path))
    with Server(authority) as server:
        server.answers = {"/a": (200, {}, b"here")}
        assert get(f"{server.url}/a", pip).body == b"here"


def test_certificate_that_nobody_trusts(authority: Path) -> None:
    with Server(authority) as server:
        message = failure(Unreachable, lambda: get(f"{server.url}/a"))
    assert "Its certificate is not trusted: unable to get local issuer certificate" in message
    assert "(1 try).\nhint: if your proxy re-signs TLS connections, set its certificate" in message


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "No such file or directory."),
        ("no certificate", "It has no usable certificate in PEM form."),
    ],
)
def test_certificates_that_cannot_be_read(tmp_path: Path, content: str | None, why: str) -> None:
    path = tmp_path / "cert.pem"
    if content:
        path.write_text(content)
    with pytest.raises(
        InputError, match=r"The certificates named by pip's cert cannot be read\."
    ) as caught:
        get("https://a.example/", PipConfig(index_url="", cert=str(path)))
    assert (caught.value.where, caught.value.why) == (str(path), why)


def test_client_reuses_connections(authority: Path) -> None:
    with Server(authority) as server:
        server.answers = {f"/{n}": (200, {}, b"here") for n in range(200)} | {
            "/same": (304, {}, b"")
        }

        async def ask(client: Client) -> list[Reply]:
            names = [str(n) for n in range(200)] + ["same"] * 50
            return await asyncio.gather(
                *(fetch(client, f"{server.url}/{n}", headers={}, limit=9) for n in names)
            )

        replies = with_client(ask, PipConfig(index_url="", cert=str(authority)))
    assert [reply.body for reply in replies] == [b"here"] * 200 + [b""] * 50
    assert server.connections <= MOST_PAGES


def test_client_files_do_not_hold_up_pages() -> None:
    """Who has little time for a page must not wait for a connection that all have."""
    few = RetryPolicy(tries=1, connect=0.3)
    with Server() as server:
        server.answers = {"/page": (200, {}, b"here"), "/file": (200, {}, b"here")}
        server.waits = {"/page": 0.1, "/file": 0.8}

        async def status(response: httpx.Response) -> int:
            return response.status_code

        async def ask(client: Client) -> list[int]:
            await fetch(client, f"{server.url}/a", headers={}, limit=9)
            request = partial(client.request, f"{server.url}/file", status, headers={}, long=True)
            files = [asyncio.ensure_future(request()) for _ in range(2 * FILES)]
            await asyncio.sleep(0.1)
            pages = (
                fetch(client, f"{server.url}/page", headers={}, limit=9, patience=few)
                for _ in range(2 * PAGES)
            )
            return [reply.status for reply in await asyncio.gather(*pages)] + await asyncio.gather(
                *files
            )

        assert with_client(ask) == [200] * (2 * PAGES + 2 * FILES)


def test_client_cancelled_request_ends_at_once() -> None:
    """A read that would last for its whole time limit does not keep a run from ending."""
    met = threading.Event()
    with speaking(lambda _: (met.set(), time.sleep(30))) as address:

        async def begin(client: Client) -> float:
            task = asyncio.ensure_future(fetch(client, f"http://{address}/a", headers={}, limit=9))
            await asyncio.to_thread(met.wait, 10)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            return time.monotonic()

        begun = with_client(begin, PipConfig(index_url="", timeout=60))
        assert time.monotonic() - begun < 5
