"""The loopback server does what it says: otherwise every test that stands on it means nothing."""

from __future__ import annotations

import contextlib
import datetime as dt
import hashlib
import io
import tarfile
import threading
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from packaging.metadata import parse_email
from packaging.utils import NormalizedName, parse_wheel_filename

from resolver.catalog import snapshot_file
from resolver.catalog.live import LiveCatalog
from resolver.catalog.net.pipconfig import PipConfig
from resolver.catalog.parse import simple
from resolver.catalog.protocol import Catalog, Lookup, UnusableFile
from resolver.catalog.recording import RecordingCatalog
from resolver.catalog.snapshot import Snapshot, sorted_page
from resolver.catalog.snapshot_catalog import SnapshotCatalog
from resolver.catalog.store.cache import Cache
from resolver.model.index import Index, Indexes
from resolver.model.release import Archive, File, Metadata
from resolver.model.target import Target
from tests.builders import build_archive, build_wheel
from tests.loopback import (
    JSON,
    LoopbackIndex,
    Request,
    cut,
    delayed,
    empty,
    other_version,
    reset,
    status,
    truncated,
    wrong_hashes,
)
from tests.seeded import seed_cache

DEMO = NormalizedName("demo")


@pytest.fixture
def index() -> Iterator[LoopbackIndex]:
    with LoopbackIndex() as running:
        yield running


@pytest.fixture
def client(index: LoopbackIndex) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=index.url.removesuffix("/simple/pypi/"), trust_env=False, timeout=5) as opened:
        yield opened


def read_page(client: httpx.Client, project: NormalizedName = DEMO, index: str = "pypi") -> dict[str, File]:
    """The project's page as the catalog reads it, by file name."""
    response = client.get(f"/simple/{index}/{project}/").raise_for_status()
    page = simple.parse(
        response.content, response.headers["Content-Type"], project=project, index=index, url=str(response.url)
    ).page(project, index)
    assert not page.set_aside
    return {file.filename: file for files in page.releases.values() for file in files}


# Builders


def test_wheel_is_a_wheel() -> None:
    built = build_wheel(
        "Demo.Pack",
        "1.2",
        requires=["numpy>=1"],
        requires_python=">=3.10",
        extras={"fast": ["numba", "cupy; sys_platform == 'linux' or os_name == 'nt'"]},
        tags="cp311-cp311-manylinux_2_17_aarch64.manylinux2014_aarch64",
        build="3",
    )
    name, version, build, tags = parse_wheel_filename(built.filename)
    assert (name, str(version), build, len(tags)) == ("demo-pack", "1.2", (3, ""), 2)
    archive = zipfile.ZipFile(io.BytesIO(built.content))
    assert archive.testzip() is None
    assert archive.read("Demo_Pack-1.2.dist-info/METADATA") == built.metadata
    assert archive.read("Demo_Pack-1.2.dist-info/WHEEL").count(b"\nTag: cp311-cp311-manylinux") == 2
    listed = {line.partition(b",")[0].decode() for line in archive.read("Demo_Pack-1.2.dist-info/RECORD").splitlines()}
    assert listed == set(archive.namelist())
    raw, unparsed = parse_email(built.metadata)
    assert not unparsed
    assert raw["requires_dist"] == [
        "numpy>=1",
        "numba ; extra == 'fast'",
        "cupy ; (sys_platform == 'linux' or os_name == 'nt') and extra == 'fast'",
    ]


@pytest.mark.parametrize("ending", [".tar.gz", ".zip"])
def test_archive_has_its_members_below_one_folder(ending: str) -> None:
    built = build_archive("demo", "1", members={"requirements/common.txt": "numpy\n"}, ending=ending)
    if ending == ".zip":
        with zipfile.ZipFile(io.BytesIO(built.content)) as packed:
            names = packed.namelist()
    else:
        with tarfile.open(fileobj=io.BytesIO(built.content)) as packed:
            names = packed.getnames()
    assert set(names) == {
        f"demo-1/{path}" for path in ("PKG-INFO", "setup.py", "pyproject.toml", "requirements/common.txt")
    }


def test_archive_without_static_metadata_says_so() -> None:
    assert parse_email(build_archive("demo", "1").metadata)[0].get("dynamic") is None
    assert parse_email(build_archive("demo", "1", static=False).metadata)[0]["dynamic"] == [
        "Requires-Dist",
        "Provides-Extra",
    ]


def test_same_arguments_give_the_same_bytes() -> None:
    first = build_wheel("demo", "1", requires=["a"]), build_archive("demo", "1", members={"a": "b"})
    time.sleep(1.1)  # gzip and tar keep seconds
    assert first == (build_wheel("demo", "1", requires=["a"]), build_archive("demo", "1", members={"a": "b"}))


# Pages and files


@pytest.mark.parametrize("form", ["json", "html"])
def test_page_says_what_was_added(index: LoopbackIndex, client: httpx.Client, form: str) -> None:
    index.pages = form  # type: ignore[assignment]
    wheel = index.add_wheel("demo", "1.0+cpu", requires=["numpy"], requires_python=">=3.10,<4", yanked='bad "one" <&')
    archive = index.add_archive("demo", "0.9", sha256=False)
    files = read_page(client)

    assert list(files) == [wheel.filename, archive.filename]
    listed = files[wheel.filename]
    assert (listed.sha256, listed.requires_python, listed.yanked) == (wheel.sha256, ">=3.10,<4", 'bad "one" <&')
    assert listed.metadata == hashlib.sha256(wheel.metadata).hexdigest()
    assert (files[archive.filename].sha256, files[archive.filename].metadata) == ("", None)
    assert client.get(listed.url).content == wheel.content
    assert client.get(listed.url + ".metadata").content == wheel.metadata
    assert client.get(files[archive.filename].url).content == archive.content


def test_wheel_without_sidecar_offers_none(index: LoopbackIndex, client: httpx.Client) -> None:
    index.add_wheel("demo", "1", metadata_sidecar=False)
    (file,) = read_page(client).values()
    assert file.metadata is None
    assert client.get(file.url + ".metadata").status_code == 404


def test_negotiates_the_form(index: LoopbackIndex, client: httpx.Client) -> None:
    index.pages = "negotiate"
    index.add_wheel("demo", "1")
    forms = [client.get("/simple/pypi/demo/", headers={"Accept": accept}) for accept in (simple.ACCEPT, "text/html")]
    assert [each.headers["Content-Type"].partition(";")[0] for each in forms] == [JSON, "text/html"]


def test_indexes_are_apart(index: LoopbackIndex, client: httpx.Client) -> None:
    index.add_wheel("demo", "1", index="vendor")
    assert index.url_of("vendor").endswith("/simple/vendor/")
    assert client.get("/simple/pypi/demo/").status_code == 404
    assert len(read_page(client, index="vendor")) == 1


def test_log_has_method_path_and_status(index: LoopbackIndex, client: httpx.Client) -> None:
    index.add_wheel("demo", "1")
    client.head("/simple/pypi/demo/")
    client.get("/simple/pypi/none/")
    assert index.requests == [Request("HEAD", "/simple/pypi/demo/", 200), Request("GET", "/simple/pypi/none/", 404)]
    index.clear()
    assert index.requests == []


def test_an_unchanged_page_is_304(index: LoopbackIndex, client: httpx.Client) -> None:
    index.add_wheel("demo", "1")
    etag = client.get("/simple/pypi/demo/").headers["ETag"]
    again = client.get("/simple/pypi/demo/", headers={"If-None-Match": etag})
    assert (again.status_code, again.content) == (304, b"")
    index.add_wheel("demo", "2")
    assert client.get("/simple/pypi/demo/", headers={"If-None-Match": etag}).status_code == 200
    index.etags = False
    assert "ETag" not in client.get("/simple/pypi/demo/").headers


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ("bytes=0-3", slice(0, 4)),
        ("bytes=10-", slice(10, None)),
        ("bytes=-7", slice(-7, None)),
        ("bytes=-999999", slice(None)),
    ],
)
def test_ranges(index: LoopbackIndex, client: httpx.Client, wanted: str, expected: slice) -> None:
    content = index.add_wheel("demo", "1").content
    (file,) = read_page(client).values()
    part = client.get(file.url, headers={"Range": wanted})
    assert (part.status_code, part.content) == (206, content[expected])
    start = range(len(content))[expected].start
    assert part.headers["Content-Range"] == f"bytes {start}-{start + len(part.content) - 1}/{len(content)}"
    index.ranges = False
    whole = client.get(file.url, headers={"Range": wanted})
    assert (whole.status_code, whole.content) == (200, content)


def test_a_range_outside_is_416(index: LoopbackIndex, client: httpx.Client) -> None:
    size = len(index.add_wheel("demo", "1").content)
    (file,) = read_page(client).values()
    refused = client.get(file.url, headers={"Range": f"bytes={size}-"})
    assert (refused.status_code, refused.headers["Content-Range"]) == (416, f"bytes */{size}")


def test_compresses_pages_for_who_accepts_it() -> None:
    with LoopbackIndex(compress=True) as index, httpx.Client(trust_env=False) as client:
        index.add_wheel("demo", "1")
        packed = client.get(f"{index.url}demo/")
        plain = client.get(f"{index.url}demo/", headers={"Accept-Encoding": "identity"})
        assert (packed.headers["Content-Encoding"], packed.content) == ("gzip", plain.content)


def test_many_clients_at_once(index: LoopbackIndex) -> None:
    index.add_wheel("demo", "1")
    statuses: list[int] = []

    def ask() -> None:
        statuses.append(httpx.get(f"{index.url}demo/", trust_env=False).status_code)

    threads = [threading.Thread(target=ask) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses == [200] * 20 == [request.status for request in index.requests]


def test_nothing_of_it_is_left() -> None:
    before = set(threading.enumerate())
    with LoopbackIndex() as index, httpx.Client(trust_env=False) as client:
        index.fault("*", delayed(60))
        with pytest.raises(httpx.ReadTimeout):
            client.get(index.url, timeout=0.05)
    assert set(threading.enumerate()) == before
    with pytest.raises(httpx.ConnectError):
        httpx.get(index.url, trust_env=False)


def test_a_client_that_keeps_its_connection_holds_nothing_up() -> None:
    with httpx.Client(trust_env=False) as client:
        with LoopbackIndex() as index:
            client.get(index.url)
            start = time.monotonic()
        assert time.monotonic() - start < 2
        with pytest.raises(httpx.TransportError):
            client.get(index.url)


# Faults


def test_status_for_the_first_requests_only(index: LoopbackIndex, client: httpx.Client) -> None:
    index.add_wheel("demo", "1")
    index.fault("/simple/*/demo/", status(503, retry_after=2), times=2)
    answers = [client.get("/simple/pypi/demo/") for _ in range(3)]
    assert [each.status_code for each in answers] == [503, 503, 200]
    assert [each.headers.get("Retry-After") for each in answers] == ["2", "2", None]


def test_a_fault_is_for_its_paths_only(index: LoopbackIndex, client: httpx.Client) -> None:
    index.add_wheel("demo", "1")
    index.fault("/files/*.metadata", status(404))
    (file,) = read_page(client).values()
    assert client.get(file.url).status_code == 200
    assert client.get(file.url + ".metadata").status_code == 404


def test_empty(index: LoopbackIndex, client: httpx.Client) -> None:
    index.add_wheel("demo", "1")
    index.fault("*", empty())
    assert client.get("/simple/pypi/demo/").content == b""


def test_truncated_breaks_the_promise_of_its_length(index: LoopbackIndex, client: httpx.Client) -> None:
    index.add_wheel("demo", "1")
    index.fault("*", truncated(), times=1)
    with pytest.raises(httpx.RemoteProtocolError, match="without sending complete message body"):
        client.get("/simple/pypi/demo/")
    assert client.get("/simple/pypi/demo/").status_code == 200


def test_cut_keeps_the_promise_of_its_length(index: LoopbackIndex, client: httpx.Client) -> None:
    index.pages = "html"
    index.add_wheel("demo", "1")
    whole = client.get("/simple/pypi/demo/").content
    index.fault("*", cut(0.7))
    answer = client.get("/simple/pypi/demo/")
    assert answer.content == whole[: int(len(whole) * 0.7)]
    assert int(answer.headers["Content-Length"]) == len(answer.content)


def test_reset_in_the_middle(index: LoopbackIndex, client: httpx.Client) -> None:
    index.add_wheel("demo", "1")
    index.fault("*", reset(after=20), times=1)
    with pytest.raises(httpx.ReadError, match="reset"):
        client.get("/simple/pypi/demo/")
    assert client.get("/simple/pypi/demo/").status_code == 200


def test_delayed(index: LoopbackIndex, client: httpx.Client) -> None:
    index.add_wheel("demo", "1")
    index.fault("*", delayed(0.3))
    start = time.monotonic()
    assert client.get("/simple/pypi/demo/").status_code == 200
    assert time.monotonic() - start >= 0.3


@pytest.mark.parametrize("form", ["json", "html"])
def test_wrong_hashes(index: LoopbackIndex, client: httpx.Client, form: str) -> None:
    index.pages = form  # type: ignore[assignment]
    built = index.add_wheel("demo", "1")
    index.fault("/simple/*", wrong_hashes())
    (file,) = read_page(client).values()
    assert file.sha256 != built.sha256
    assert file.metadata != hashlib.sha256(built.metadata).hexdigest()
    assert len(file.sha256) == 64


def test_another_version_in_the_metadata(index: LoopbackIndex, client: httpx.Client) -> None:
    index.add_wheel("demo", "1")
    index.fault("*.metadata", other_version("9"))
    (file,) = read_page(client).values()
    assert parse_email(client.get(file.url + ".metadata").content)[0]["version"] == "9"
    stated = index.add_wheel("demo", "2", stated_version="9")
    assert (stated.filename, parse_email(stated.metadata)[0]["version"]) == ("demo-2-py3-none-any.whl", "9")


def test_page_of_another_project(index: LoopbackIndex, client: httpx.Client) -> None:
    index.add_wheel("demo", "1")
    index.add_wheel("other", "1")
    index.fault("/simple/pypi/demo/", index.page_of("other"))
    assert client.get("/simple/pypi/demo/").content == client.get("/simple/pypi/other/").content


# Snapshots


def test_serves_a_snapshot(tmp_path: Path) -> None:
    wheel = File("demo-1-py3-none-any.whl", "", "a" * 64, 5, ">=3.9", "oh", "2025-01-01T00:00:00Z")
    archive = File("demo-1.tar.gz")
    metadata = Metadata("Demo", "1", ("numpy>=1 ; extra == 'np'",), ">=3.9", ("np",))
    here = sorted_page(DEMO, "vendor", {"1": [wheel, archive]}, ())
    snapshot = Snapshot(
        stack="demo",
        date=dt.date(2026, 11, 20),
        lookups={
            DEMO: {"linux-aarch64": Lookup((here,))},
            NormalizedName("nowhere"): {"linux-aarch64": Lookup(())},
        },
        metadata={wheel.sha256: metadata},
        archives={},
        members={},
        hashed={archive.filename: ("b" * 64, 7)},
    )
    snapshot_file.write(snapshot, tmp_path / "demo.snapshot")

    with (
        LoopbackIndex(snapshot_file.read(tmp_path / "demo.snapshot")) as index,
        httpx.Client(base_url=index.url.removesuffix("/simple/pypi/"), trust_env=False) as client,
    ):
        files = read_page(client, index="vendor")
        assert client.get("/simple/pypi/demo/").status_code == 404
        assert client.get("/simple/vendor/nowhere/").status_code == 404
        found = files[wheel.filename]
        assert (found.sha256, found.size, found.requires_python, found.yanked) == ("a" * 64, 5, ">=3.9", "oh")
        assert found.uploaded == "2025-01-01T00:00:00Z"
        served = client.get(found.url + ".metadata").content
        assert found.metadata == hashlib.sha256(served).hexdigest()
        raw, unparsed = parse_email(served)
        assert not unparsed
        assert (raw["name"], raw["version"], raw["requires_dist"]) == ("Demo", "1", list(metadata.requires_dist))
        assert (raw["provides_extra"], raw["requires_python"]) == (["np"], ">=3.9")
        assert client.get(found.url).status_code == 404
        assert (files[archive.filename].sha256, files[archive.filename].size) == ("b" * 64, 7)
        assert client.get(files[archive.filename].url + ".metadata").status_code == 404


def test_a_live_catalog_over_a_snapshot_answers_as_the_index_that_was_recorded(tmp_path: Path) -> None:
    """The circle: index, live catalog, recording, snapshot, index, live catalog. No file is asked for again."""
    demo, target = NormalizedName("demo"), Target(name="", python="3.11", platform="linux-aarch64", glibc=(2, 28))

    def ask(catalog: Catalog) -> dict[str, object]:
        (page,) = catalog.lookup(demo).pages
        files = {file.filename: file for rows in page.releases.values() for file in rows}
        answers: dict[str, object] = {"nowhere": catalog.lookup(NormalizedName("nowhere")).pages}
        for filename, file in files.items():
            hashed = catalog.sha256(file)
            answers[f"{filename} on the page"] = (hashed.sha256, file.requires_python, file.yanked)
            try:
                answers[filename] = catalog.metadata(hashed) if file.is_wheel else catalog.archive(hashed)
            except UnusableFile as refusal:
                answers[filename] = str(refusal)
        answers["member"] = catalog.member(files["demo-1.tar.gz"], "requirements/common.txt")
        return answers

    def live(index: LoopbackIndex, cache: Cache, warnings: list[str]) -> LiveCatalog:
        indexes = Indexes(indexes={"pypi": Index(name="pypi", url=index.url)}, bindings=())
        return LiveCatalog(indexes, target.platform, cache, warn=warnings.append, pip=PipConfig(index_url=index.url))

    warnings: list[str] = []
    with LoopbackIndex() as index:
        index.add_wheel("demo", "1", requires=["numpy>=1"], requires_python=">=3.9", extras={"x": ["ray"]}, yanked="")
        index.add_archive("demo", "1", requires=["scipy"], members={"requirements/common.txt": "numpy\n"})
        index.add_wheel("demo", "2", metadata_sidecar=False, requires=["pandas"])
        index.add_archive("demo", "3", static=False)
        index.add_wheel("demo", "4", requires=["not a requirement"])
        index.add_archive("demo", "5", sha256=False)
        recording = RecordingCatalog(live(index, Cache(tmp_path / "first", warnings.append), warnings))
        with contextlib.closing(recording):
            expected = ask(recording)
    dynamic = expected["demo-3.tar.gz"]
    assert isinstance(dynamic, Archive)
    assert dynamic.metadata is None
    assert "not a requirement" in str(expected["demo-4-py3-none-any.whl"])
    assert warnings == [next(line for line in warnings if "has no sha256 for demo-5.tar.gz" in line)]

    recorded = recording.snapshot(stack="demo", date=dt.date(2026, 11, 20), target=target)
    snapshot_file.write(recorded, tmp_path / "demo.snapshot")
    snapshot = snapshot_file.read(tmp_path / "demo.snapshot")
    assert ask(SnapshotCatalog(snapshot, target.platform)) == expected

    with LoopbackIndex(snapshot) as index:
        cache = Cache(tmp_path / "second", warnings.append)
        seed_cache(snapshot, cache)
        with live(index, cache, warnings) as catalog:
            assert ask(catalog) == expected
        assert sorted((request.path, request.status) for request in index.requests) == [
            ("/files/pypi/demo-1-py3-none-any.whl.metadata", 200),
            ("/files/pypi/demo-2-py3-none-any.whl.metadata", 200),
            ("/simple/pypi/demo/", 200),
            ("/simple/pypi/nowhere/", 404),
        ]
    assert len(warnings) == 1
