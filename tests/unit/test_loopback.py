"""The loopback server does what it says: otherwise every test that stands on it means nothing."""

from __future__ import annotations

import contextlib
import datetime as dt
import hashlib
import io
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from packaging.metadata import parse_email
from packaging.utils import NormalizedName, parse_wheel_filename

from resolver.index import snapshot as snapshot_file
from resolver.index.live import LiveCatalog, Pool
from resolver.index.net.pipconfig import PipConfig
from resolver.index.parse import simple
from resolver.index.protocol import Catalog, UnusableFile
from resolver.index.recording import Recording, RecordingCatalog
from resolver.index.snapshot import SnapshotCatalog
from resolver.index.store.cache import Cache
from resolver.model.message import Message
from resolver.model.problem import Index, Indexes
from resolver.model.release import Archive, File
from resolver.model.target import Target
from tests.builders import build_wheel
from tests.loopback import (
    LoopbackIndex,
    delayed,
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
    )
    assert not page.rejections
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


def test_nothing_of_it_is_left() -> None:
    before = set(threading.enumerate())
    with LoopbackIndex() as index, httpx.Client(trust_env=False) as client:
        index.fault("*", delayed(60))
        with pytest.raises(httpx.ReadTimeout):
            client.get(index.url, timeout=0.05)
    assert set(threading.enumerate()) == before
    with pytest.raises(httpx.ConnectError):
        httpx.get(index.url, trust_env=False)


# Snapshots


def test_a_live_catalog_over_a_snapshot_answers_as_the_index_that_was_recorded(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
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

    def live(index: LoopbackIndex, cache: Cache, warnings: list[Message]) -> LiveCatalog:
        indexes = Indexes(indexes={"pypi": Index(name="pypi", url=index.url)}, bindings=())
        pool = Pool(cache, warn=warnings.append, pip=PipConfig(index_url=index.url))
        request.addfinalizer(pool.close)
        return LiveCatalog(indexes, target.platform, pool)

    warnings: list[Message] = []
    with LoopbackIndex() as index:
        index.add_wheel("demo", "1", requires=["numpy>=1"], requires_python=">=3.9", extras={"x": ["ray"]}, yanked="")
        index.add_archive("demo", "1", requires=["scipy"], members={"requirements/common.txt": "numpy\n"})
        index.add_wheel("demo", "2", metadata_sidecar=False, requires=["pandas"])
        index.add_archive("demo", "3", static=False)
        index.add_wheel("demo", "4", requires=["not a requirement"])
        index.add_archive("demo", "5", sha256=False)
        recording = Recording([target])
        first = live(index, Cache(tmp_path / "first", warnings.append), warnings)
        with contextlib.closing(RecordingCatalog(first, target.platform, recording)) as recorded:
            expected = ask(recorded)
    dynamic = expected["demo-3.tar.gz"]
    assert isinstance(dynamic, Archive)
    assert dynamic.metadata is None
    assert "not a requirement" in str(expected["demo-4-py3-none-any.whl"])
    assert [(one.code, one.values["file"]) for one in warnings] == [("index.unhashed", "demo-5.tar.gz")]

    snapshot_file.write(recording.snapshot("demo", dt.date(2026, 11, 20)), tmp_path / "demo.snapshot")
    snapshot = snapshot_file.read(tmp_path / "demo.snapshot")
    assert ask(SnapshotCatalog(snapshot, target.platform)) == expected

    with LoopbackIndex(snapshot) as index:
        cache = Cache(tmp_path / "second", warnings.append)
        seed_cache(snapshot, cache)
        with contextlib.closing(live(index, cache, warnings)) as catalog:
            assert ask(catalog) == expected
        assert sorted((request.path, request.status) for request in index.requests) == [
            ("/files/pypi/demo-1-py3-none-any.whl.metadata", 200),
            ("/files/pypi/demo-2-py3-none-any.whl.metadata", 200),
            ("/simple/pypi/demo/", 200),
            ("/simple/pypi/nowhere/", 404),
        ]
    assert len(warnings) == 1
