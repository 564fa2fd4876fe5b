"""A live catalog and a recording of it answer alike."""

from __future__ import annotations

import contextlib
import datetime as dt
from pathlib import Path

import pytest
from packaging.utils import NormalizedName

from resolver.index import snapshot as snapshot_file
from resolver.index.live import LiveCatalog, Pool
from resolver.index.net.pipconfig import PipConfig
from resolver.index.protocol import Catalog, UnusableFile
from resolver.index.snapshot import Recording, RecordingCatalog, SnapshotCatalog
from resolver.index.store.cache import Cache
from resolver.model.message import Message
from resolver.model.problem import Index, Indexes
from resolver.model.release import Archive
from resolver.model.target import Target
from tests.loopback import (
    LoopbackIndex,
)
from tests.seeded import seed_cache


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
