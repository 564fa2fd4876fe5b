"""Processes beside: the same answers as here, whatever becomes of them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.utils import NormalizedName

from resolver.catalog import archive, sidecar
from resolver.catalog.archive import Contents
from resolver.catalog.frozen import Frozen, freeze
from resolver.catalog.metadata import Release
from resolver.catalog.protocol import UnusableFile
from resolver.catalog.sidecar import ArchiveJob, PageJob, Sidecars
from resolver.catalog.simple import parse
from resolver.errors import IndexFailure
from tests.builders import build_archive

JSON = "application/vnd.pypi.simple.v1+json"
URL = "https://mirror.example/simple/demo/"
DEMO = NormalizedName("demo")
JOB = PageJob(JSON, "demo", "mirror", URL)


def page(releases: int = 3) -> bytes:
    files = [
        {"filename": f"demo-{number}.tar.gz", "url": f"demo-{number}.tar.gz", "hashes": {"sha256": "0" * 64}}
        for number in range(releases)
    ]
    return json.dumps({"meta": {"api-version": "1.1"}, "name": "demo", "files": files}).encode()


@pytest.fixture
def beside(monkeypatch: pytest.MonkeyPatch) -> Iterator[Sidecars]:
    """One process for everything: what is done here all the same fails."""
    monkeypatch.setattr(sidecar, "parse", None)
    monkeypatch.setattr(archive, "read_archive", None)
    sidecars = Sidecars(most=1, worth=0)
    yield sidecars
    sidecars.close()
    assert alive(sidecars) == []


def alive(sidecars: Sidecars) -> list[int]:
    return [one._process.pid for one in sidecars._all if one._process.poll() is None]


@pytest.mark.parametrize(
    ("body", "content_type"), [(page(), JSON), (b"<a href=demo-1.zip>demo-1.zip</a>", "text/html; charset=utf-8")]
)
def test_a_page_is_what_it_is_here(beside: Sidecars, body: bytes, content_type: str) -> None:
    found = beside.page(PageJob(content_type, "demo", "mirror", URL), body)
    assert isinstance(found, Frozen)
    assert found == freeze(parse(body, content_type, project=DEMO, index="mirror", url=URL))


def test_an_archive_is_what_it_is_here(beside: Sidecars, tmp_path: Path) -> None:
    path = tmp_path / "demo-1.0.tar.gz"
    path.write_bytes(build_archive("demo", "1.0", requires=["numpy"], members={"requirements.txt": "torch\n"}).content)
    release = Release(path.name, DEMO, "1.0")
    found = beside.archive(ArchiveJob(str(path), release, URL), path.stat().st_size)
    assert isinstance(found, Contents)
    assert found.archive.metadata is not None
    assert (found.archive.metadata.requires_dist, dict(found.texts)) == (("numpy",), {"requirements.txt": "torch\n"})


def test_what_fails_is_told_as_it_is_told_here(tmp_path: Path) -> None:
    sidecars = Sidecars(most=1, worth=0)
    with pytest.raises(IndexFailure) as told:
        sidecars.page(JOB, b"{")
    with pytest.raises(IndexFailure) as expected:
        JOB.do(b"{")
    assert str(told.value) == str(expected.value)
    path = tmp_path / "demo-1.0.tar.gz"
    path.write_bytes(b"no archive")
    job = ArchiveJob(str(path), Release(path.name, JOB.project, "1.0"), URL)  # type: ignore[arg-type]
    with pytest.raises(UnusableFile, match=r"demo-1\.0\.tar\.gz is no readable archive"):
        sidecars.archive(job, 10)
    assert len(alive(sidecars)) == 1, "the process goes on after a failure"
    sidecars.close()


def test_for_little_work_no_process_is_begun() -> None:
    sidecars = Sidecars(most=1, worth=10 * len(page()))
    for _ in range(9):
        sidecars.page(JOB, page())
    assert alive(sidecars) == []
    sidecars.page(JOB, page())
    assert len(alive(sidecars)) == 1
    sidecars.close()


def test_many_threads_share_few_processes(beside: Sidecars) -> None:
    found: list[Frozen] = []
    threads = [threading.Thread(target=lambda: found.append(beside.page(JOB, page(500)))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(found), len(set(found)), len(alive(beside))) == (8, 1, 1)


def test_a_process_that_was_killed_is_not_missed() -> None:
    sidecars = Sidecars(most=2, worth=0)
    sidecars.page(JOB, page())
    (pid,) = alive(sidecars)
    os.kill(pid, signal.SIGKILL)
    assert sidecars.page(JOB, page()) == JOB.do(page())
    assert sidecars.page(JOB, page()) == JOB.do(page()), "by another one"
    (other,) = alive(sidecars)
    os.kill(other, signal.SIGKILL)
    assert sidecars.page(JOB, page()) == JOB.do(page())
    assert sidecars.page(JOB, page()) == JOB.do(page())
    assert alive(sidecars) == [], "what was killed twice is left alone"
    sidecars.close()


def test_where_none_can_be_begun_all_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")
    sidecars = Sidecars(most=2, worth=0)
    assert sidecars.page(JOB, page()) == JOB.do(page())
    sidecars.close()


def test_closing_does_not_wait_for_what_runs() -> None:
    sidecars = Sidecars(most=1, worth=0)
    sidecars.page(JOB, page())
    (pid,) = alive(sidecars)
    os.kill(pid, signal.SIGSTOP)  # it would answer never
    found: list[Frozen] = []
    thread = threading.Thread(target=lambda: found.append(sidecars.page(JOB, page())))
    thread.start()
    while sidecars._free:
        time.sleep(0.001)
    sidecars.close()
    thread.join(10)
    assert found == [JOB.do(page())]
    assert sidecars.page(JOB, page()) == JOB.do(page()), "and what comes later is done here"


ORPHAN = """
import os, signal, sys
from tests.unit.catalog.test_catalog_sidecar import JOB, alive, page
from resolver.catalog.sidecar import Sidecars
sidecars = Sidecars(most=1, worth=0)
sidecars.page(JOB, page())
print(*alive(sidecars), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_it_ends_with_the_process_that_began_it() -> None:
    told = subprocess.run([sys.executable, "-c", ORPHAN], capture_output=True, text=True, check=False)
    pid = int(told.stdout)
    end = time.monotonic() + 10
    while _runs(pid):
        assert time.monotonic() < end, "it outlives who began it"
        time.sleep(0.01)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")  # where nobody reaps orphans, what has ended is still there
    return not (state.exists() and state.read_text("ascii").rpartition(")")[2].split()[0] == "Z")
