"""A process beside: the same answers as here, whatever becomes of it."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TypeVar

import msgspec
import pytest
from packaging.utils import NormalizedName

from resolver.catalog.meter import Meter
from resolver.catalog.net.beside import Beside
from resolver.catalog.net.frames import Hello, Raised
from resolver.catalog.net.http import BRIEF, Client
from resolver.catalog.net.jobs import ArchiveJob, PageJob
from resolver.catalog.net.pipconfig import PipConfig
from resolver.catalog.net.reader import Reader
from resolver.catalog.parse.metadata import Release
from resolver.catalog.protocol import UnusableFile
from resolver.catalog.store.answers import ArchiveAnswer, PageAnswer
from resolver.catalog.store.cache import Cache, Lent
from resolver.errors import IndexFailure, InputError, StaleLock, Unreachable, WrongRelease
from tests.builders import build_archive
from tests.loopback import LoopbackIndex, status
from tests.processes import is_running

T = TypeVar("T")

DEMO = NormalizedName("demo")
PIP = PipConfig(index_url="", timeout=5)


class Idle(Reader):
    """Does nothing: what is done here all the same fails."""

    async def page(self, job: PageJob) -> PageAnswer:
        raise AssertionError(job)

    async def archive(self, job: ArchiveJob) -> ArchiveAnswer:
        raise AssertionError(job)


@pytest.fixture
def index() -> Iterator[LoopbackIndex]:
    with LoopbackIndex() as served:
        for number in range(3):
            served.add_wheel("demo", f"1.{number}")
        yield served


def job(index: LoopbackIndex, **more: object) -> PageJob:
    return PageJob("demo", "pypi", index.url, "", "", "the place", BRIEF, **more)  # type: ignore[arg-type]


def alive(beside: Beside) -> list[int]:
    process = beside._process
    return [] if process is None or process._process.poll() is not None else [process._process.pid]


def run(
    work: Callable[[Beside], Awaitable[T]],
    *,
    reader: type[Reader] = Reader,
    worth: int = 0,
    meter: Meter | None = None,
    cache: Path | None = None,
) -> T:
    """What comes of work with a process; where `worth` is 0 it is there before."""
    meter = meter or Meter()

    async def run() -> T:
        client = Client(PIP, meter)
        beside = Beside(reader(client, client.aside), Hello(PIP, os.fsencode(cache or "")), meter, worth)
        try:
            if not worth:
                await begun(beside)
            return await work(beside)
        finally:
            beside.close()
            await client.close()
            assert alive(beside) == []

    return asyncio.run(run())


async def begun(beside: Beside) -> None:
    """Have the process, and wait until it does jobs."""
    await beside._done(ArchiveJob("", Release("", DEMO, ""), ""), ArchiveAnswer)
    while beside._process is not None and not beside._process.is_ready:
        await asyncio.sleep(0.001)


def here(work: Callable[[Beside], Awaitable[T]]) -> T:
    """What comes of the same work without one."""
    return run(work, worth=sys.maxsize)


def test_a_page_is_what_it_is_here(index: LoopbackIndex) -> None:
    meter = Meter()
    found = run(lambda beside: beside.page(job(index)), reader=Idle, meter=meter)
    assert found == here(lambda beside: beside.page(job(index)))
    assert isinstance(found.files, bytes)
    assert (found.status, bool(found.releases), bool(found.files)) == (200, True, True)
    assert (meter.traffic.requests, meter.traffic.bytes > 100) == (1, True)


def test_a_page_that_is_known_is_not_sent(index: LoopbackIndex) -> None:
    first = here(lambda beside: beside.page(job(index)))
    known = job(index, known=first.key, before=first.url, etag=first.etag, modified=first.modified)
    assert run(lambda beside: beside.page(known), reader=Idle).status == 304
    again = run(lambda beside: beside.page(job(index, known=first.key)), reader=Idle)
    assert (again.status, again.key, again.releases, again.files) == (200, first.key, b"", b"")


def test_an_archive_is_what_it_is_here(tmp_path: Path) -> None:
    path = tmp_path / "demo-1.0.tar.gz"
    path.write_bytes(build_archive("demo", "1.0", requires=["numpy"], members={"requirements.txt": "torch\n"}).content)
    archive = ArchiveJob(str(path), Release(path.name, DEMO, "1.0"), "https://mirror.example/demo-1.0.tar.gz")
    found = run(lambda beside: beside.archive(archive), reader=Idle)
    assert found.archive.metadata is not None
    assert (found.archive.metadata.requires_dist, found.texts) == (("numpy",), {"requirements.txt": "torch\n"})
    assert found == here(lambda beside: beside.archive(archive))
    path.write_bytes(b"no archive")
    with pytest.raises(UnusableFile, match=r"demo-1\.0\.tar\.gz is not a readable archive"):
        run(lambda beside: beside.archive(archive), reader=Idle)


def test_what_fails_is_told_as_it_is_told_here(index: LoopbackIndex) -> None:
    index.fault("/simple/*", status(503))
    with pytest.raises(Unreachable) as told:
        run(lambda beside: beside.page(job(index)), reader=Idle)
    with pytest.raises(Unreachable) as expected:
        here(lambda beside: beside.page(job(index)))
    assert str(told.value) == str(expected.value)


@pytest.mark.parametrize("kind", [IndexFailure, InputError, Unreachable, WrongRelease])
def test_an_error_is_the_same_on_the_other_side(kind: type[IndexFailure]) -> None:
    error = kind("What.", where="where", why="Why.", hint="hint")
    raised = Raised.of(error)
    assert raised is not None
    again = raised.error()
    assert type(again) is kind
    assert str(again) == str(error)


def test_an_error_that_nobody_expects_is_none_to_tell() -> None:
    assert Raised.of(ZeroDivisionError()) is None
    assert Raised.of(StaleLock("What.")) is None


def test_files_are_left_in_the_cache(index: LoopbackIndex, tmp_path: Path) -> None:
    cache = Cache(tmp_path, pytest.fail)
    found = run(lambda beside: beside.page(job(index)), reader=Idle, cache=tmp_path)
    assert isinstance(found.files, Lent)
    expected = here(lambda beside: beside.page(job(index))).files
    cache.borrow("files", "the place", found.files)
    assert cache.get("files", "the place") == expected
    assert Cache(tmp_path, pytest.fail).get("files", "the place") == expected


def test_names_of_files_may_be_no_text(index: LoopbackIndex, tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    found = run(lambda beside: beside.page(job(index)), reader=Idle, cache=folder)
    assert isinstance(found.files, Lent)
    cache = Cache(folder, pytest.fail)
    cache.borrow("files", "the place", found.files)
    assert cache.get("files", "the place") is not None
    path = tmp_path / os.fsdecode(b"d\xe9mo-1.0.tar.gz")
    path.write_bytes(build_archive("demo", "1.0", requires=["numpy"]).content)
    archive = ArchiveJob(str(path), Release("demo-1.0.tar.gz", DEMO, "1.0"), "https://mirror.example/demo-1.0.tar.gz")
    assert run(lambda beside: beside.archive(archive)) == here(lambda beside: beside.archive(archive))


def test_what_is_damaged_in_the_cache_is_written_anew(index: LoopbackIndex, tmp_path: Path) -> None:
    run(lambda beside: beside.page(job(index)), reader=Idle, cache=tmp_path)
    (data,) = (tmp_path / "v2").glob("*.data")
    data.write_bytes(bytes(data.stat().st_size))
    assert Cache(tmp_path, pytest.fail).get("files", "the place") is None
    run(lambda beside: beside.page(job(index)), reader=Idle, cache=tmp_path)
    assert Cache(tmp_path, pytest.fail).get("files", "the place") is not None


def test_a_volume_that_is_gone_is_no_error(tmp_path: Path) -> None:
    cache = Cache(tmp_path, pytest.fail)
    cache.borrow("files", "the place", Lent(os.fsencode(tmp_path / "v2" / "gone"), 0, 1, b"0" * 16))
    assert cache.get("files", "the place") is None


def test_credentials_go_to_their_index_alone(index: LoopbackIndex) -> None:
    with LoopbackIndex() as other:
        other.add_wheel("demo", "1.0")

        async def work(beside: Beside) -> None:
            await beside.page(PageJob("demo", "pypi", index.url, "user", "secret", "a place", BRIEF))
            await beside.page(PageJob("demo", "pypi", other.url, "", "", "another", BRIEF))

        run(work, reader=Idle)
        assert ["authorization" in one.sent for one in index.requests] == [True]
        assert ["authorization" in one.sent for one in other.requests] == [False]


def test_files_are_asked_for_with_the_credentials_of_their_index(index: LoopbackIndex) -> None:
    async def work(beside: Beside) -> None:
        await beside.page(PageJob("demo", "pypi", index.url, "user", "secret", "a place", BRIEF))
        await beside._reader._client.get(f"{index.url}a/file", headers={}, limit=1 << 20)

    run(work, reader=Idle)
    assert ["authorization" in one.sent for one in index.requests] == [True, True]


def test_for_little_work_no_process_is_begun(index: LoopbackIndex) -> None:
    async def work(beside: Beside) -> list[list[int]]:
        found = []
        for _ in range(4):
            await beside.page(job(index))
            found.append(alive(beside))
        return found

    size = len(here(lambda beside: beside.page(job(index))).files)  # type: ignore[arg-type]
    found = run(work, worth=3 * size)
    assert [len(one) for one in found] == [0, 0, 0, 1]


@pytest.mark.parametrize(("pages", "known", "begun"), [(11, False, 0), (12, False, 1), (50, True, 0)])
def test_where_many_new_pages_are_asked_for_at_once_one_is_begun(
    index: LoopbackIndex, pages: int, known: bool, begun: int
) -> None:
    one = here(lambda beside: beside.page(job(index)))
    known_job = msgspec.structs.replace(job(index), known=one.key)

    async def work(beside: Beside) -> int:
        await asyncio.gather(*(beside.page(known_job if known else job(index)) for _ in range(pages)))
        return len(alive(beside))

    assert run(work, worth=1 << 30) == begun


def test_many_ask_at_once(index: LoopbackIndex) -> None:
    async def work(beside: Beside) -> list[PageAnswer]:
        return await asyncio.gather(*(beside.page(job(index)) for _ in range(50)))

    found = run(work, reader=Idle)
    assert len(found) == 50
    assert all(one == found[0] for one in found)


@pytest.mark.parametrize("busy", [False, True])
def test_a_process_that_was_killed_is_not_missed(index: LoopbackIndex, busy: bool) -> None:
    async def work(beside: Beside) -> list[PageAnswer]:
        (pid,) = alive(beside)
        if busy:
            os.kill(pid, signal.SIGSTOP)
            asked = [asyncio.ensure_future(beside.page(job(index))) for _ in range(3)]
            await asyncio.sleep(0.05)
        os.kill(pid, signal.SIGKILL)
        if not busy:
            asked = [asyncio.ensure_future(beside.page(job(index))) for _ in range(3)]
        found = await asyncio.gather(*asked)
        return [*found, await beside.page(job(index))]

    expected = here(lambda beside: beside.page(job(index)))
    assert run(work) == [expected] * 4


def test_where_none_can_be_begun_all_is_done_here(index: LoopbackIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = here(lambda beside: beside.page(job(index)))
    for program in ("/nonexistent/python", "/bin/true", "/bin/echo"):
        monkeypatch.setattr(sys, "executable", program)

        async def work(beside: Beside) -> PageAnswer:
            return await beside.page(job(index))

        assert run(work, worth=1) == expected
        if program != "/nonexistent/python":
            assert run(_twice(index), worth=1) == expected


def test_where_settings_are_no_text_all_is_done_here(index: LoopbackIndex) -> None:
    async def work() -> tuple[PageAnswer, bool]:
        meter = Meter()
        client = Client(PIP, meter)
        hello = Hello(msgspec.structs.replace(PIP, cert="caf\udce9.pem"), b"")
        beside = Beside(Reader(client, client.aside), hello, meter, 0)
        try:
            return await beside.page(job(index)), alive(beside) == []
        finally:
            beside.close()
            await client.close()

    assert asyncio.run(work()) == (here(lambda beside: beside.page(job(index))), True)


def _twice(index: LoopbackIndex) -> Callable[[Beside], Awaitable[PageAnswer]]:
    async def work(beside: Beside) -> PageAnswer:
        await beside.page(job(index))
        await beside.page(job(index))
        await asyncio.sleep(0.1)
        return await beside.page(job(index))

    return work


def test_closing_does_not_wait_for_what_runs(index: LoopbackIndex) -> None:
    async def work(beside: Beside) -> float:
        (pid,) = alive(beside)
        os.kill(pid, signal.SIGSTOP)  # it would answer never
        asked = asyncio.ensure_future(beside.page(job(index)))
        await asyncio.sleep(0.05)
        begin = time.monotonic()
        beside.close()
        assert (await asked).status == 200, "it is done here"
        assert (await beside.page(job(index))).status == 200, "and what comes later, too"
        return time.monotonic() - begin

    assert run(work) < 5


ORPHAN = """
import asyncio, os, signal
from tests.unit.catalog.test_catalog_beside import alive, begun, run
async def work(beside):
    print(*alive(beside), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
run(work)
"""


def test_it_ends_with_the_process_that_began_it() -> None:
    told = subprocess.run([sys.executable, "-c", ORPHAN], capture_output=True, text=True, check=False)
    pid = int(told.stdout)
    end = time.monotonic() + 10
    while is_running(pid):
        assert time.monotonic() < end, "it outlives who began it"
        time.sleep(0.01)
