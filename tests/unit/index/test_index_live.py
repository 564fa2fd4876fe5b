"""The live catalog against servers on this machine: what it asks, answers, keeps; how it fails."""

from __future__ import annotations

import hashlib
import io
import json
import os
import random
import struct
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest
from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName

from resolver.errors import IndexFailure
from resolver.index import live
from resolver.index.live import LiveCatalog
from resolver.index.net import online
from resolver.index.net.client import QUICK_RETRY, Client, RetryPolicy
from resolver.index.net.connection import AHEAD
from resolver.index.net.pipconfig import PipConfig
from resolver.index.parse.binaries import Limits
from resolver.index.pool import CatalogPool
from resolver.index.protocol import Lookup, UnusableFile
from resolver.index.store.cache import Cache
from resolver.model.message import Message, message
from resolver.model.problem import Binding, Index, Indexes
from resolver.model.release import CoreMetadata, File
from tests.builders import build_wheel, core_metadata
from tests.elf import elf
from tests.loopback import LoopbackIndex, Response, altered, status
from tests.problems import PYPI_ONLY
from tests.unit.index.clients import failure
from tests.variants import serve as serve_variants

DEMO = NormalizedName("demo")
Opener = Callable[..., LiveCatalog]


@pytest.fixture(autouse=True)
def _no_long_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        Client.__init__, "__kwdefaults__", {"patience": RetryPolicy(pause=0.01), "transport": None}
    )
    monkeypatch.setattr(online, "QUICK_RETRY", QUICK_RETRY._replace(pause=0.01))


@pytest.fixture
def warnings() -> list[Message]:
    return []


@pytest.fixture
def opened(index: LoopbackIndex, tmp_path: Path, warnings: list[Message]) -> Iterator[Opener]:
    """Opens catalogs of one cache; each is a run of its own."""
    catalogs = []
    pools = []

    def open_catalog(
        indexes: Indexes | None = None, *, url: str = "", offline: bool = False
    ) -> LiveCatalog:
        pip = PipConfig(index_url=url or index.url, timeout=5)
        pool = CatalogPool(
            Cache(tmp_path / "cache", warnings.append),
            offline=offline,
            warn=warnings.append,
            pip=pip,
        )
        catalog = LiveCatalog(indexes or PYPI_ONLY, "linux-aarch64", pool)
        pools.append(pool)
        catalogs.append(catalog)
        return catalog

    yield open_catalog
    for closed in (*catalogs, *pools):
        closed.close()


def files(lookup: Lookup) -> list[File]:
    return [
        file
        for page in lookup.pages
        for key in sorted(page.releases)
        for file in page.releases[key]
    ]


def asked(index: LoopbackIndex) -> list[str]:
    """Status, path and range of each request so far; forgets them."""
    lines = [
        f"{one.status} {one.path} {one.sent.get('range', '')}".rstrip() for one in index.requests
    ]
    index.clear()
    return lines


# --- pages and their revalidation


@pytest.mark.parametrize("form", ["json", "html", "negotiate"])
def test_lookup_requests_a_page_once_a_run(
    index: LoopbackIndex, opened: Opener, form: Literal["json", "html", "negotiate"]
) -> None:
    index.pages = form
    index.add_wheel("demo", "1.0")
    first = opened()
    found = first.lookup(DEMO)
    assert first.lookup(DEMO) is found
    assert asked(index) == ["200 /simple/pypi/demo/"]
    (file,) = files(found)
    assert (
        file.url
        == f"{index.url.removesuffix('/simple/pypi/')}/files/pypi/demo-1.0-py3-none-any.whl"
    )
    second = opened()
    assert files(second.lookup(DEMO)) == [file]
    assert asked(index) == ["304 /simple/pypi/demo/"]
    assert second._pool.meter.traffic == (1, 0)
    index.add_wheel("demo", "2.0")
    assert len(files(opened().lookup(DEMO))) == 2
    assert asked(index) == ["200 /simple/pypi/demo/"]


def test_lookup_without_validators_parses_once(
    index: LoopbackIndex, opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.etags = False
    index.add_wheel("demo", "1.0")
    found = files(opened().lookup(DEMO))
    monkeypatch.setattr("resolver.index.parse.simple.read", None)
    assert files(opened().lookup(DEMO)) == found
    assert asked(index) == ["200 /simple/pypi/demo/"] * 2


def test_metadata_offline_without_a_hash(index: LoopbackIndex, opened: Opener) -> None:
    index.add_wheel("demo", "1.0", metadata_sidecar=False, sha256=False)
    online = opened()
    (wheel,) = files(online.lookup(DEMO))
    online.metadata(wheel)
    asked(index)
    offline = opened(offline=True)
    offline.lookup(DEMO)
    assert "\n  Its index gives no sha256" in failure(IndexFailure, lambda: offline.metadata(wheel))
    assert asked(index) == []


def test_metadata_of_release_after_release_is_read_ahead(
    index: LoopbackIndex, opened: Opener
) -> None:
    for number in range(1, 41):
        index.add_wheel("demo", f"{number}.0")
    catalog = opened()
    (page,) = catalog.lookup(DEMO).pages
    wheels = [files_of_release[0] for files_of_release in page.releases.values()]
    asked(index)
    for wheel in wheels[:3]:
        catalog.metadata(wheel)
    time.sleep(0.3)
    assert len(asked(index)) == 6, "three that were asked for, and three ahead"
    for wheel in wheels[3:6]:
        catalog.metadata(wheel)
    assert asked(index) == []
    for wheel in wheels[6:]:
        catalog.metadata(wheel)
    assert len(asked(index)) == 34, "each once"


@pytest.mark.parametrize("code", [404, 410])
def test_lookup_of_an_absent_project(index: LoopbackIndex, opened: Opener, code: int) -> None:
    index.fault("/simple/*", status(code))
    assert opened().lookup(DEMO) == Lookup(())
    index.fault(
        "/simple/*",
        lambda _: Response(200, b'{"meta":{"api-version":"1.0"},"name":"demo","files":[]}'),
    )
    assert len(opened().lookup(DEMO).pages) == 1


def test_lookup_of_one_address_under_two_names(index: LoopbackIndex, opened: Opener) -> None:
    """The cache keeps pages by address; the name is that of whoever asks."""
    index.add_wheel("demo", "1.0")
    for name in ("a", "b"):
        bound = Binding(packages=("demo",), indexes=(name,))
        catalog = opened(
            Indexes(indexes={name: Index(name=name, url=index.url)}, bindings=(bound,))
        )
        assert [page.index for page in catalog.lookup(DEMO).pages] == [name]


# --- the metadata of wheels

BODY = "/files/pypi/demo-1.0-py3-none-any.whl"
TAIL = "bytes=-65536"


def wheel_of(catalog: LiveCatalog) -> File:
    (file,) = files(catalog.lookup(DEMO))
    return file


LIE = core_metadata("demo", "1.0", requires=["evil"])


def with_a_metadata_file(sha256: str | None) -> Callable[[bytes], bytes]:
    """Return a change of a page: no size, and a `.metadata` file with this sha256.

    The sha256 may be empty; with None there is no such file.
    """

    def change(body: bytes) -> bytes:
        page = json.loads(body)
        page["files"][0]["core-metadata"] = {"sha256": sha256} if sha256 else sha256 is not None
        del page["files"][0]["size"]
        return json.dumps(page).encode()

    return change


@pytest.mark.parametrize(
    "fault", [status(404), status(403), altered(lambda _: b"<html>not here</html>")]
)
def test_metadata_file_that_is_missing(
    index: LoopbackIndex, opened: Opener, fault: Callable[[Response], Response]
) -> None:
    index.add_wheel("demo", "1.0", requires=["numpy"])
    index.fault("*.metadata", fault)
    index.fault("/simple/*", altered(with_a_metadata_file("")))
    catalog = opened()
    assert catalog.metadata(wheel_of(catalog)).requires_dist == ("numpy",)
    assert asked(index)[-1] == f"206 {BODY} {TAIL}"


@pytest.mark.parametrize(("members", "requests"), [(1, 1), (1500, 3)])
def test_metadata_by_ranges(
    index: LoopbackIndex, opened: Opener, members: int, requests: int
) -> None:
    """The list of a wheel with many files is longer than the tail."""
    content = {f"demo/module_with_a_long_name_{n}.py": "" for n in range(members)}
    index.add_wheel("demo", "1.0", requires=["numpy"], metadata_sidecar=False, files=content)
    catalog = opened()
    assert catalog.metadata(wheel_of(catalog)).requires_dist == ("numpy",)
    assert [line[:3] for line in asked(index)[1:]] == ["206"] * requests
    assert opened().metadata(wheel_of(catalog)).requires_dist == ("numpy",)
    assert asked(index) == []


def without_ranges(response: Response) -> Response:
    return replace(
        response,
        headers={key: value for key, value in response.headers.items() if key != "Content-Range"},
    )


def moved_range(response: Response) -> Response:
    return replace(response, headers={**response.headers, "Content-Range": "bytes 0-9/10"})


@pytest.mark.parametrize(
    ("fault", "lines"),
    [
        (status(416), [f"416 {BODY} {TAIL}", f"200 {BODY}"]),
        (status(501), [f"501 {BODY} {TAIL}", f"200 {BODY}"]),
        (without_ranges, [f"206 {BODY} {TAIL}", f"200 {BODY}"]),
        (moved_range, [f"206 {BODY} {TAIL}", f"200 {BODY}"]),
        (altered(lambda body: body[:-1] + b"x"), [f"206 {BODY} {TAIL}", f"200 {BODY}"]),
        (altered(lambda body: body + b"x"), [f"206 {BODY} {TAIL}", f"200 {BODY}"]),
    ],
)
def test_metadata_by_ranges_that_are_wrong(
    index: LoopbackIndex, opened: Opener, fault: Callable[[Response], Response], lines: list[str]
) -> None:
    index.add_wheel("demo", "1.0", requires=["numpy"], metadata_sidecar=False)
    index.fault(BODY, fault, times=1)
    catalog = opened()
    assert catalog.metadata(wheel_of(catalog)).requires_dist == ("numpy",)
    assert asked(index)[1:] == lines


def test_metadata_of_a_file_that_changes(index: LoopbackIndex, opened: Opener) -> None:
    content = {f"demo/module_with_a_long_name_{n}.py": "" for n in range(1500)}
    index.add_wheel("demo", "1.0", requires=["numpy"], metadata_sidecar=False, files=content)
    index.fault(
        BODY,
        lambda response: replace(response, headers={**response.headers, "ETag": '"old"'}),
        times=1,
    )
    catalog = opened()
    assert catalog.metadata(wheel_of(catalog)).requires_dist == ("numpy",)
    assert [line[:3] for line in asked(index)[1:]] == ["206", "206", "200"]


@pytest.mark.parametrize(
    "way", ["file of its own hash", "file without hash", "file of the honest hash", "ranges"]
)
@pytest.mark.parametrize("sidecar", [True, False])
def test_metadata_of_one_index_is_not_used_for_another(
    index: LoopbackIndex, opened: Opener, way: str, sidecar: bool
) -> None:
    """The cache is no way from a hostile index to what is locked from an honest one."""
    files_of_it = {"model.bin": os.urandom(100_000).hex()}  # more than the first range has
    for name in ("pypi", "evil"):
        honest = index.add_wheel(
            "demo",
            "1.0",
            requires=["true"],
            index=name,
            files=files_of_it,
            metadata_sidecar=sidecar,
        )
    other = build_wheel("demo", "1.0", requires=["evil"], files=files_of_it)
    lies = {
        "file of its own hash": hashlib.sha256(LIE).hexdigest(),
        "file without hash": "",
        "file of the honest hash": hashlib.sha256(honest.metadata).hexdigest(),
    }
    index.fault("/simple/evil/*", altered(with_a_metadata_file(lies.get(way))))
    if way in ("ranges", "file of the honest hash"):
        index.fault("/files/evil/*.metadata", status(404))
        index.fault(
            "/files/evil/*.whl",
            lambda response: ranged(replace(response, status=200, body=other.content)),
        )
    else:
        index.fault("/files/evil/*.metadata", lambda response: Response(200, LIE))
    evil = opened(url=index.url_of("evil"))
    file = wheel_of(evil)
    assert (file.sha256, evil.metadata(file).requires_dist) == (honest.sha256, ("evil",))
    for _ in range(2):
        catalog = opened()
        assert catalog.metadata(wheel_of(catalog)).requires_dist == ("true",)
    assert opened(offline=True).metadata(wheel_of(catalog)).requires_dist == ("true",)


def ranged(response: Response) -> Response:
    """The end of a file, as the first request for a wheel asks for it."""
    total = len(response.body)
    headers = {**response.headers, "Content-Range": f"bytes {total - 65536}-{total - 1}/{total}"}
    return replace(response, status=206, body=response.body[-65536:], headers=headers)


def test_lookup_reads_variants_without_a_cache(index: LoopbackIndex) -> None:
    serve_variants(index, "demo", "1.0", "a3")
    pool = CatalogPool(Cache(None, print), pip=PipConfig(index_url=index.url))
    with closing(pool), closing(LiveCatalog(PYPI_ONLY, "linux-aarch64", pool)) as catalog:
        (page,) = catalog.lookup(DEMO).pages
    assert set(page.variants["1.0"].variants) == {"a3"}


# --- looking ahead


class Newest:
    """Follows everything, and remembers what it was asked."""

    def __init__(self, broken: bool = False, target: str = "here") -> None:
        self.picked: list[str] = []
        self.broken = broken
        self.target = target

    def likely_file(
        self, project: NormalizedName, lookup: Lookup, specifier: SpecifierSet
    ) -> File | None:
        self.picked.append(f"{project}{specifier}")
        if self.broken:
            raise RuntimeError("a bug in the solver")
        return next(iter(files(lookup)), None)

    def next_requirements(
        self, project: NormalizedName, metadata: CoreMetadata
    ) -> Iterable[tuple[NormalizedName, SpecifierSet]]:
        return [(NormalizedName(line), SpecifierSet()) for line in metadata.requires_dist]


def test_prefetch_follows_requirements(index: LoopbackIndex, opened: Opener) -> None:
    index.add_wheel("a", "1.0", requires=["b", "c"])
    index.add_wheel("b", "1.0", requires=["a", "absent"], metadata_sidecar=False)
    index.add_archive("c", "1.0", requires=["d"], build_requires=["tool>=2"])
    index.add_wheel("d", "1.0", requires=["c"])
    index.fault("/simple/pypi/absent/", status(403))
    look_ahead = Newest()
    catalog = opened()
    wanted = [(NormalizedName("a"), SpecifierSet(">=1"))]
    for _ in range(2):
        catalog.prefetch(wanted, look_ahead)
    wait_until(lambda: len(look_ahead.picked) == 4 and len(index.requests) >= 9)
    for name in "abcd":
        (file,) = files(catalog.lookup(NormalizedName(name)))
        (catalog.metadata if file.is_wheel else catalog.archive)(file)
    assert sorted(look_ahead.picked) == ["a>=1", "b", "c", "d"]
    lines = asked(index)
    assert len(lines) == len(set(lines)) == 9
    assert failure(IndexFailure, lambda: catalog.lookup(NormalizedName("absent"))).startswith(
        "Index `pypi` did not answer for absent."
    )
    assert asked(index) == []


def test_prefetch_waits_without_a_slot(index: LoopbackIndex, opened: Opener) -> None:
    """There are fewer slots for looking ahead than waiters, with or without a release to follow."""
    index.serve("demo 1.0: numpy", "numpy 1.0", "slow 1.0")
    index.fault("/simple/*/slow/", lambda response: replace(response, delay=30.0))
    for waiting in (None, Newest(target="there")):
        catalog = opened()
        catalog.lookup(NormalizedName("numpy"))  # the first answer tells what the connection can do
        look_ahead = Newest()
        catalog.prefetch(
            [(NormalizedName("slow"), SpecifierSet(f">={n}")) for n in range(2 * AHEAD)], waiting
        )
        catalog.prefetch([(DEMO, SpecifierSet())], look_ahead)
        wait_until(lambda look_ahead=look_ahead: len(look_ahead.picked) == 2)  # type: ignore[misc]
        catalog.close()


def wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.005)


def test_prefetch_never_fails(index: LoopbackIndex, opened: Opener) -> None:
    index.add_wheel("demo", "1.0")
    catalog = opened()
    look_ahead = Newest(broken=True)
    catalog.prefetch([(DEMO, SpecifierSet())], look_ahead)
    wait_until(lambda: bool(look_ahead.picked))
    assert wheel_of(catalog).filename == "demo-1.0-py3-none-any.whl"


def test_close_cancels_prefetching(index: LoopbackIndex, opened: Opener) -> None:
    index.fault("/simple/*", lambda response: replace(response, delay=30.0))
    catalog = opened()
    catalog.prefetch([(NormalizedName(f"p{n}"), SpecifierSet()) for n in range(40)], Newest())
    wait_until(lambda: catalog._pool.meter.traffic.requests > 0)
    begun = time.monotonic()
    catalog.close()
    catalog.close()
    assert time.monotonic() - begun < 10  # the answers take three times as long


def test_fingerprints_cover_unusable_files(opened: Opener, index: LoopbackIndex) -> None:
    index.add_file("demo", "demo-2.0-py3-none-any.whl", b"no wheel")
    index.add_archive("demo", "3.0", members={"setup.py": ""})
    for requests in (True, False):
        catalog = opened()
        archive, wheel = sorted(files(catalog.lookup(DEMO)), key=lambda file: file.is_wheel)
        index.clear()
        with pytest.raises(UnusableFile):
            catalog.metadata(wheel)
        with pytest.raises(UnusableFile, match=r"demo-3.0.tar.gz has no file none.txt"):
            catalog.member(archive, "none.txt")
        assert catalog.used_fingerprints() is not None
        assert bool(index.requests) is requests


def test_sha256_of_a_file_without_a_hash(
    index: LoopbackIndex, opened: Opener, warnings: list[Message]
) -> None:
    built = index.add_wheel("demo", "1.0", sha256=False)
    catalog = opened()
    file = wheel_of(catalog)
    assert file.sha256 == ""
    expected = (built.sha256, len(built.content))
    assert [(one.sha256, one.size) for one in (catalog.sha256(file), catalog.sha256(file))] == [
        expected,
        expected,
    ]
    assert asked(index) == ["200 /simple/pypi/demo/", f"200 {BODY}"]
    (warning,) = warnings
    told = {"file": "demo-1.0-py3-none-any.whl", "size": expected[1], "sha256": built.sha256}
    assert warning == message("index.unhashed", **told)
    assert opened().sha256(file).sha256 == built.sha256
    assert asked(index) == [f"304 {BODY}"]
    assert opened(offline=True).sha256(file).sha256 == built.sha256
    assert len(warnings) == 1


# --- binaries


def serve_binaries(
    index: LoopbackIndex, version: str, *members: tuple[zipfile.ZipInfo, bytes]
) -> None:
    """Serve a wheel of demo with these members, the last of which is far from its end."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for info, content in members:
            archive.writestr(info, content)
        archive.writestr("demo/filler.bin", random.Random(version).randbytes(200_000))
        archive.writestr(f"demo-{version}.dist-info/METADATA", core_metadata("demo", version))
    index.add_file(
        "demo", f"demo-{version}-cp311-cp311-manylinux_2_17_aarch64.whl", made.getvalue()
    )


def binary(extra: bytes = b"", size: int = 0) -> tuple[zipfile.ZipInfo, bytes]:
    info = zipfile.ZipInfo("demo/_C.so")
    info.extra = extra
    return info, elf(needs=["libc.so.6"]) + bytes(size)


def test_linkage_failure_is_remembered(index: LoopbackIndex, opened: Opener):
    serve_binaries(index, "1.0", binary())
    catalog = opened()
    (wheel,) = files(catalog.lookup(DEMO))
    index.fault("/files/*", status(403), times=1)
    assert catalog.linkage(wheel) is None
    assert catalog.linkage(wheel) is None
    assert catalog.used_fingerprints() is None
    assert opened().linkage(wheel) is not None


def test_known_linkage_is_remembered(index: LoopbackIndex, opened: Opener):
    serve_binaries(index, "1.0", binary())
    catalog = opened()
    (wheel,) = files(catalog.lookup(DEMO))
    assert catalog.known_linkage(wheel) is None
    assert catalog.linkage(wheel) is not None
    assert catalog.known_linkage(wheel) is None
    assert opened().known_linkage(wheel) is not None


def test_linkage_of_a_wheel_beyond_the_limit(
    index: LoopbackIndex, opened: Opener, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(live, "LINKAGE_LIMITS", Limits(packed=100_000, unpacked=100_000))
    serve_binaries(index, "1.0", binary(size=90_000))
    serve_binaries(index, "2.0", binary(size=150_000))
    catalog = opened()
    small, large = files(catalog.lookup(DEMO))
    assert catalog.linkage(small) is not None
    assert catalog.linkage(large) is None
    assert catalog.used_fingerprints() is not None, "each run leaves it unread"
    again = opened()
    again.lookup(DEMO)
    assert again.linkage(large) is None


def test_linkage_beyond_the_guard(
    index: LoopbackIndex, opened: Opener, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(live, "LINKAGE_BUDGET", Limits(packed=300_000, unpacked=1 << 20))
    serve_binaries(index, "1.0", binary(size=150_000))
    serve_binaries(index, "2.0", binary(size=150_000))
    catalog = opened()
    first, second = files(catalog.lookup(DEMO))
    assert catalog.linkage(first) is not None
    assert catalog.linkage(second) is None
    assert catalog.used_fingerprints() is None, "another run has more left for it"


@pytest.mark.parametrize("ranges", [True, False])
def test_linkage_after_a_long_header(index: LoopbackIndex, opened: Opener, ranges: bool):
    index.ranges = ranges
    serve_binaries(index, "1.0", binary(struct.pack("<HH", 0xCAFE, 4096) + bytes(4096)))
    catalog = opened()
    (wheel,) = files(catalog.lookup(DEMO))
    linkage = catalog.linkage(wheel)
    assert linkage is not None
    assert linkage.is_complete


def test_linkage_of_a_whole_wheel_beyond_a_limit(
    index: LoopbackIndex, opened: Opener, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(live, "LINKAGE_LIMITS", Limits(packed=1 << 20, unpacked=100_000))
    index.ranges = False
    serve_binaries(index, "1.0", binary(size=150_000))
    catalog = opened()
    (wheel,) = files(catalog.lookup(DEMO))
    assert catalog.linkage(wheel) is None
