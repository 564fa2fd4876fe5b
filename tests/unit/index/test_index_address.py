"""Addresses: which may be asked, and what of them may be shown."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from resolver.errors import InputError
from resolver.index.net.pipconfig import PipConfig
from resolver.index.net.proxies import Proxies
from resolver.index.parse import address
from resolver.index.parse.address import Root, is_allowed, is_local, origin_of, read_root, resolve


@pytest.mark.parametrize(
    "host",
    [
        *(
            "localhost",
            "LocalHost.",
            "a.localhost",
            "127.0.0.1",
            "127.1",
            "2130706433",
            "0x7f.1",
            "0177.0.0.1",
            "::1",
        ),
        *("0.0.0.0", "0", "::", "::ffff:127.0.0.1", "169.254.169.254", "fe80::1", "fe80::1%eth0"),
    ],
)
def test_is_local_knows_every_spelling(host: str) -> None:
    assert is_local(host)


@pytest.mark.parametrize(
    "host", ["10.0.0.1", "8.8.8.8", "localhost.example", "a.example", "fd00::1", "7f000001", ""]
)
def test_is_local_denies_other_machines(host: str) -> None:
    assert not is_local(host)


@pytest.mark.parametrize(
    ("url", "allowed"),
    [
        ("https://a.example/", True),
        *(
            (f"http://{host}/", True)
            for host in ("127.0.0.1:8000", "[::1]", "LOCALHOST.", "127.255.0.9")
        ),
        *(
            (f"http://{host}/", False)
            for host in ("localhost.example", "128.0.0.1", "[::2]", "127.0.0.1.example")
        ),
        *((f"http://{host}/", False) for host in ("0.0.0.0", "10.0.0.1", "a.example")),
        ("ftp://a.example/", False),
        ("http://127.0.0.1@a.example/", False),
    ],
)
def test_is_allowed(url: str, allowed: bool) -> None:
    assert is_allowed(origin_of(url)) is allowed


def test_origin_of_an_address() -> None:
    assert origin_of("https://a.example/x") == origin_of("https://me@A.example:443/y")
    assert origin_of("https://[::1]:8443/x") == ("https", "::1", 8443)
    with pytest.raises(ValueError, match="has no host"):
        origin_of("https:///x")


def test_read_root_keeps_credentials_apart() -> None:
    root = read_root(" https://me:p%40ss@a.example/simple?x#y ", "mine")
    assert root == Root("https://a.example/simple/", "me", "p@ss")
    assert root.page("demo") == "https://a.example/simple/demo/"


@pytest.mark.parametrize(
    ("url", "shown", "why"),
    [
        (
            "http://me:pw@a.example/simple",
            "http://a.example/simple",
            "Anyone on the network path could change",
        ),
        (
            "file:///srv/simple",
            "file:///srv/simple",
            "Only https is allowed, and plain http only to this machine.",
        ),
        ("https:///simple", "https:///simple", "`https:///simple` has no host"),
        *(
            (
                f"https://me:hunter2@a.example/sim{char}ple",
                f"https://a.example/sim{char}ple",
                "It has a space or",
            )
            for char in " \n\t\x1b\u202e"
        ),
        # a password that is not escaped
        *(
            (
                f"{scheme}://{secret}@a.example/simple?token",
                f"{scheme}://…@a.example/simple",
                "There is an `@` after",
            )
            for scheme in ("https", "HTTP", "ftp")
            for secret in ("me:12/hunter2", "me:hunter2/x", "me:a@b/hunter2", "/hunter2")
        ),
        *(
            (
                f"{begin}me:hunter2@a.example/simple",
                "…@a.example/simple",
                "It does not begin with a scheme and `://`.",
            )
            for begin in ("https:/", "https//", "https:", "", "//", "https:\\\\", "/")
        ),
        ("https://me:12#hunter2@a.example/simple", "https://…", "There is an `@` after"),
        ("https://hunter2?x@a.example/simple", "https://…", "There is an `@` after"),
        ("https://a.example/?x=@hunter2", "https://…", "There is an `@` after"),
        ("https://a.example/hunter2@x", "https://…@x", "There is an `@` after"),
    ],
)
def test_read_root_refuses(url: str, shown: str, why: str) -> None:
    with pytest.raises(InputError) as caught:
        read_root(url, "mine")
    assert caught.value.where == f"index `mine`: {shown}"
    assert caught.value.why.startswith(why)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("rest", "why"),
    [
        *(("\udcff@a.example/", "It is not UTF-8."), ("@a.example/\udcff", "It is not UTF-8.")),
        *(
            (f"@{host}/", "cannot be read")
            for host in ("a.example:hunter", "[::1", "a\u2100b.example", "[hunter]")
        ),
    ],
)
def test_read_root_shows_no_password(rest: str, why: str) -> None:
    with pytest.raises(InputError, match=why) as caught:
        read_root(f"https://me:hunter2{rest}", "mine")
    assert "hunter2" not in str(caught.value)


HOSTILE = st.text("'\"`<>()[]{};:,.?#@/\\%&=+-_$!~^|* \t\nà aZ9", max_size=6)
WRITTEN = [
    "https://u:{}@h.example/",
    "u:{}@h.example",
    "//u:{}@h.example/",
    "ftp://u:{}@h/",
    "https://h.example:x/?a={}",
]


@given(before=HOSTILE, after=HOSTILE, written=st.sampled_from(WRITTEN))
def test_refused_setting_shows_no_secret(before: str, after: str, written: str) -> None:
    """As the address of an index, of pip.conf or a stack, and as that of a proxy."""
    url = written.format(f"{before}Hunter2{after}")
    shown = []
    for read in (
        lambda: read_root(url, "mine"),
        lambda: Proxies(PipConfig(index_url="", proxy=url)),
    ):
        try:
            read()
        except InputError as error:
            shown.append(f"{error} {error.parts()} {error.args}")
    assert "Hunter2" not in "".join(shown)


BASES = (
    "https://mirror.example/simple/demo/",
    "https://mirror.example:8443/demo",
    "http://127.0.0.1:4000/simple/demo/",
    "https://mirror.example/a//b/",
    "https://mirror.example",
    "https://mirror.example:70000/demo/",
)
# What links are made of, where a fast way might differ from joining.
PARTS = ("..", ".", "/", "//", "https:", "http://", "127.0.0.1", "files.example", ":80", ":99999")
PARTS += ("demo-1.0%2Bcpu.zip", "a", "@", "?", ";", "#", "\\", "[", " ", "\x7f", "ä")


@given(st.sampled_from(BASES), st.lists(st.sampled_from(PARTS), max_size=6).map("".join))
@example(BASES[0], "../../files/demo-1.0.zip")
@example(BASES[0], "../../../../files/demo-1.0.zip")
@example(BASES[0], "https://files.example/demo-1.0.zip")
@example(BASES[0], "http://127.0.0.1/demo-1.0.zip")
@example(BASES[2], "http://127.0.0.1:4000/demo-1.0.zip")
def test_resolve_joins_as_the_library_does(base: str, href: str) -> None:
    def outcome(join: Callable[[str, str], str]) -> str:
        try:
            return join(base, href)
        except ValueError:
            return "refused"

    assert outcome(resolve) == outcome(address._resolved)


def test_resolve_takes_linear_memory() -> None:
    """Of a long address not each folder is kept, and no number of long ones."""
    tracemalloc.start()
    for number in range(100):
        long = f"https://mirror.example/{number}/" + "a/" * 30_000
        assert resolve(long, "demo-1.zip") == f"{long}demo-1.zip"
        assert address.address.split(long).host == "mirror.example"
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 30 << 20, "urllib itself keeps some"
