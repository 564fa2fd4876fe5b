"""What an index's legacy JSON tells of vulnerabilities, asked of a real server."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from packaging.utils import NormalizedName

from resolver.catalog.advisories import Silent, Told, Vulnerability, distinct, vulnerabilities
from resolver.catalog.net.pipconfig import PipConfig
from resolver.catalog.parse.address import Root, read_root
from resolver.catalog.pool import Pool
from resolver.catalog.store.cache import Cache
from tests.loopback import Fault, LoopbackIndex, altered, status

RELEASES = [(NormalizedName(name), "1.0+local") for name in ("a", "b", "c", "d")]


@pytest.fixture
def index() -> Iterator[LoopbackIndex]:
    with LoopbackIndex() as served:
        for name, version in RELEASES:
            served.legacy(name, version, {"vulnerabilities": [{"id": f"of-{name}", "severity": {"new": ["field"]}}]})
        yield served


def ask(root: Root) -> Told | Silent:
    with Pool(Cache(None, print), pip=PipConfig(index_url=root.url)) as pool:
        return vulnerabilities(RELEASES, root, pool)


def asked(index: LoopbackIndex) -> list[str]:
    return [request.path for request in index.requests]


def test_each_release_is_asked_for_once(index: LoopbackIndex) -> None:
    index.fault("/pypi/pypi/a/*", status(404))
    index.fault("/pypi/pypi/d/*", status(410))
    index.legacy("c", RELEASES[2][1], {"vulnerabilities": [{"id": "of-c", "aliases": None, "fixed_in": None}]})
    told = ask(read_root(index.beside_legacy(), "pypi"))
    assert told == {
        RELEASES[0]: None,
        RELEASES[1]: (Vulnerability(id="of-b"),),
        RELEASES[2]: (Vulnerability(id="of-c", aliases=None, fixed_in=None),),
        RELEASES[3]: None,
    }
    assert sorted(asked(index)) == [f"/pypi/pypi/{name}/1.0+local/json" for name, _ in RELEASES]


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        (status(404), "it answered 404"),
        (status(403), "it answered 403"),
        (altered(lambda _: b"<html>who are you?</html>"), "what it sent is not such a document"),
        (altered(lambda _: b"[" * 100_000), "what it sent is not such a document"),
        (altered(lambda body: body.replace(b'"1.0', b'"2.0')), "what it sent is of another release"),
        (altered(lambda body: body.replace(b"vulnerabilities", b"urls")), "what it sent has no list of them"),
        (
            status(302, headers={"Location": "http://example.test/"}),
            "Only https is allowed, and plain http only to this machine",
        ),
    ],
)
def test_an_index_that_tells_none(index: LoopbackIndex, fault: Fault, why: str) -> None:
    """Two releases are asked for and no more; nothing is concluded from its silence."""
    index.fault("/pypi/*", fault)
    root = read_root(index.beside_legacy(), "pypi")
    silent = ask(root)
    assert isinstance(silent, Silent)
    assert silent.why.startswith(why)
    assert silent.address == root.url.replace("/simple/", "/pypi/b/1.0%2Blocal/json")
    assert len(asked(index)) == 2


def test_an_address_of_another_form_is_not_asked(index: LoopbackIndex) -> None:
    assert ask(read_root(index.url, "pypi")) == Silent("", "its address does not end in `/simple/`")
    assert asked(index) == []


def test_credentials_of_the_index_are_sent(index: LoopbackIndex) -> None:
    root = read_root(index.beside_legacy().replace("http://", "http://user:secret@"), "pypi")
    assert not isinstance(ask(root), Silent)
    assert {request.sent.get("authorization") for request in index.requests} == {"Basic dXNlcjpzZWNyZXQ="}


def test_one_flaw_in_two_databases_is_told_once() -> None:
    """The entry that knows a fix stays; what was withdrawn does not count."""
    one = Vulnerability(id="GHSA-1", aliases=("CVE-1",))
    same = Vulnerability(id="PYSEC-1", aliases=("CVE-1", "GHSA-1"), fixed_in=("2",))
    gone = Vulnerability(id="PYSEC-0", withdrawn="2026-01-01T00:00:00Z")
    other = Vulnerability(id="AAA-2")
    assert distinct((one, gone, same, other)) == (other, same)


def test_the_time_for_entries_grows_with_their_number_alone() -> None:
    many = [Vulnerability(id=f"X-{number}", aliases=(f"Y-{number}",)) for number in range(50_000)]
    begin = time.process_time()
    assert len(distinct([*many, *(Vulnerability(id=f"Y-{number}") for number in range(50_000))])) == 50_000
    assert time.process_time() - begin < 5
