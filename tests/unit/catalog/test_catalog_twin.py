"""A copy of a process: it does its work, apart from all that happens to the other one."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from resolver.catalog.net.twin import Twin
from tests.loopback import LoopbackIndex
from tests.processes import is_running

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a process is not copied")

ECHO = """
import os, signal, sys, time
from resolver.catalog.net.twin import Twin
held = os.dup2(os.open("/dev/null", os.O_RDONLY), 99)
def echo(source, sink):
    while line := source.readline():
        if line == b"held\\n":
            line = b" ".join(b"%d" % int(one) for one in os.listdir("/proc/self/fd")) + b"\\n"
        if line == b"who\\n":
            line = b"%d %d %d\\n" % (os.getpid(), os.getsid(0), os.stat(1).st_rdev)
        sink.write(line)
twin = Twin.begin(echo)
assert twin is not None
def ask(line):
    twin.stdin.write(line + b"\\n")
    return twin.stdout.readline()
"""


def script(text: str, *, interrupt: bool = False, before: str = "") -> str:
    """What a process that has a twin prints; `interrupt` sends it SIGINT when it has printed a line."""
    with subprocess.Popen(
        [sys.executable, "-c", before + ECHO + text], stdout=subprocess.PIPE, start_new_session=True, text=True
    ) as process:
        assert process.stdout is not None
        told = ""
        if interrupt:
            told = process.stdout.readline()
            os.killpg(process.pid, signal.SIGINT)
        told += process.stdout.read()
    return told


@LINUX
def test_it_works_in_a_session_of_its_own_and_prints_nothing() -> None:
    told = script("print(*ask(b'who').decode().split(), twin.pid, os.getsid(0), twin.poll())")
    pid, session, output, known, ours, status = told.split()
    assert pid == session == known != ours
    assert (int(output), status) == (Path(os.devnull).stat().st_rdev, "None")


@LINUX
def test_it_holds_nothing_that_the_other_one_does() -> None:
    """A lock of a file would be held for as long as it lives."""
    told = script("print(held, os.listdir('/proc/self/fd').count(str(held)), ask(b'held').decode())")
    held, here, *there = told.split()
    assert here == "1"
    assert held not in there
    assert len(there) == 6, "three streams, two pipes, and the folder that is listed"


@LINUX
def test_its_end_may_be_noted_by_the_system_alone() -> None:
    """SIGCHLD is ignored where whoever began the process had it so."""
    before = "import signal\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
    assert script("twin.kill(); twin.wait(); twin.kill(); print(twin.poll())", before=before) == "0\n"
    assert script("twin.stdin.close(); time.sleep(0.2); print(twin.poll())", before=before) == "0\n"
    assert script("twin.close(); print(twin.poll(), twin.stdin.closed)", before=before) == "0 True\n"


@LINUX
@pytest.mark.parametrize("closed", [(0,), (1,), (0, 1, 2)])
def test_a_stream_may_be_closed(closed: tuple[int, ...], tmp_path: Path) -> None:
    before = f"import os\nfor one in {closed}: os.close(one)\n"
    script(f"open({str(tmp_path / 'told')!r}, 'wb').write(ask(b'hello'))", before=before)
    assert (tmp_path / "told").read_bytes() == b"hello\n"


@LINUX
def test_it_ends_when_it_is_told_to() -> None:
    told = script("twin.kill(); twin.wait(); twin.kill(); twin.wait(); print(twin.poll(), ask.__name__)")
    assert told == "0 ask\n"
    assert script("twin.stdin.close(); twin.wait(); print(twin.poll())") == "0\n"
    assert script("twin.stdin.close(); time.sleep(0.2); print(twin.poll(), twin.poll())") == "0 0\n"


@LINUX
def test_it_ends_with_the_process_that_it_is_a_copy_of() -> None:
    pid = int(script("print(twin.pid, flush=True); os.kill(os.getpid(), signal.SIGKILL)"))
    end = time.monotonic() + 10
    while is_running(pid):
        assert time.monotonic() < end, "it outlives who began it"
        time.sleep(0.01)


@LINUX
def test_an_interrupt_from_the_terminal_is_not_for_it() -> None:
    told = script(
        "ask(b'x')\ntry: print('begun', flush=True); time.sleep(20)\nexcept KeyboardInterrupt: print(ask(b'on'))",
        interrupt=True,
    )
    assert told == "begun\nb'on\\n'\n"


@LINUX
def test_what_fails_in_it_is_nobody_elses() -> None:
    told = script("twin.stdin.write(b'x'); os.kill(twin.pid, signal.SIGTERM); twin.wait(); print('here')")
    assert told == "here\n"
    told = script(
        "other = Twin.begin(lambda source, sink: 1 / 0); other.wait(); print('once')",
    )
    assert told == "once\n"


def test_where_there_are_threads_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fork", lambda: pytest.fail("a copy of a process with threads"))
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    try:
        assert Twin.begin(lambda _source, _sink: None) is None
    finally:
        stop.set()
        thread.join()


def test_where_nothing_is_gained_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fork", lambda: pytest.fail("a copy"))
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {1}, raising=False)
    assert Twin.begin(lambda _source, _sink: None) is None
    monkeypatch.delattr(os, "sched_getaffinity")
    for count in (1, None):
        monkeypatch.setattr(os, "cpu_count", lambda count=count: count)
        assert Twin.begin(lambda _source, _sink: None) is None
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(sys, "platform", "darwin")
    assert Twin.begin(lambda _source, _sink: None) is None


def test_where_none_can_be_made_nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    def full() -> int:
        raise BlockingIOError

    monkeypatch.setattr(os, "fork", full)
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ()), len(list(Path("/dev/fd").iterdir()))
    assert Twin.begin(lambda _source, _sink: None) is None
    assert (signal.pthread_sigmask(signal.SIG_BLOCK, ()), len(list(Path("/dev/fd").iterdir()))) == before


NO_TEXT = """
import asyncio, warnings
from resolver.catalog.net.twin import Twin
from resolver.catalog.net.serve import serve
warnings.simplefilter("error")
twin = Twin.begin(serve)
from resolver.catalog.net.beside import Beside
from resolver.catalog.net.frames import Hello
from resolver.catalog.meter import Meter
from resolver.catalog.net.pipconfig import PipConfig

async def work():
    beside = Beside(None, Hello(PipConfig(index_url="", cert="caf\\udce9.pem"), b""), Meter())
    await beside.join(twin)
    print(twin.poll(), twin.stdin.closed, beside._process)

asyncio.run(work())
"""


@LINUX
def test_where_settings_are_no_text_it_ends_at_once() -> None:
    done = subprocess.run([sys.executable, "-c", NO_TEXT], capture_output=True, text=True, check=False, timeout=60)
    assert (done.stderr, done.stdout) == ("", "0 True None\n")


JOINED = """
import asyncio, os, signal, sys
from resolver.catalog.net.twin import Twin
from resolver.catalog.net.serve import serve
twin = Twin.begin(serve)
assert twin is not None
import msgspec
from resolver.catalog.net.beside import Beside
from resolver.catalog.net.frames import Hello
from resolver.catalog.net.http import Client
from resolver.catalog.meter import Meter
from tests.unit.catalog.test_catalog_beside import PIP, Idle, here, job
from resolver.catalog.net.reader import Reader

class Index:
    url = sys.argv[1]

class Counted(Reader):
    pages = 0
    async def page(self, job):
        Counted.pages += 1
        return await super().page(job)

async def work():
    meter = Meter()
    client = Client(PIP, meter)
    beside = Beside(Counted(client, client.aside), Hello(PIP, b""), meter)
    await beside.join(twin)
    expected = await Reader(client, client.aside).page(job(Index))
    known = msgspec.structs.replace(job(Index), known=expected.key)
    assert (await beside.page(known)).releases == b""
    told = [Counted.pages]
    assert await beside.page(job(Index)) == expected
    told.append(Counted.pages)
    assert (await beside.page(known)).releases == b""
    told.append(Counted.pages)
    os.kill(twin.pid, signal.SIGKILL)
    assert await beside.page(job(Index)) == expected
    told.append(Counted.pages)
    beside.close()
    assert twin.poll() == 0
    await client.close()
    print(*told)

asyncio.run(work())
"""


@LINUX
def test_it_reads_pages_from_the_first_one_on_that_is_not_known() -> None:
    with LoopbackIndex() as index:
        index.add_wheel("demo", "1.0")
        done = subprocess.run(
            [sys.executable, "-c", JOINED, index.url], capture_output=True, text=True, check=False, timeout=60
        )
    assert (done.stderr, done.stdout) == ("", "1 1 1 2\n"), "what is known is asked for here, until it is at work"


KNOWN = """
import os, sys
from resolver.catalog.store.cache import Cache
from resolver.catalog.live import LiveCatalog
from resolver.catalog.net.pipconfig import PipConfig
from resolver.model.index import Indexes
from pathlib import Path
from packaging.utils import NormalizedName
fork, copies = os.fork, []
os.fork = lambda: copies.append(1) or fork()
for purpose in ("a lock", "a lock", "another", ""):
    cache = Cache(Path(sys.argv[2]), print)
    pip = PipConfig(index_url=sys.argv[1], timeout=5)
    with LiveCatalog(Indexes(indexes={}, bindings=()), "linux-aarch64", cache, pip=pip, purpose=purpose) as catalog:
        assert catalog.lookup(NormalizedName("demo")).pages
    print(len(copies), end=" ")
"""


@LINUX
def test_for_what_was_asked_before_there_is_none(tmp_path: Path) -> None:
    """To make one takes a second run longer than to read the few pages that changed."""
    with LoopbackIndex() as index:
        index.add_wheel("demo", "1.0")
        done = subprocess.run(
            [sys.executable, "-c", KNOWN, index.url, str(tmp_path)],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
    assert (done.stderr, done.stdout) == ("", "1 1 2 3 ")


def test_where_files_run_out_there_is_none_and_nothing_stays_open(monkeypatch: pytest.MonkeyPatch) -> None:
    duplicate = os.dup
    made: list[int] = []

    def dup(number: int) -> int:
        if made:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        made.append(duplicate(number))
        return made[0]

    monkeypatch.setattr(os, "fork", lambda: pytest.fail("a copy"))
    monkeypatch.setattr(os, "dup", dup)
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {1, 2}, raising=False)
    assert Twin.begin(lambda _source, _sink: None) is None
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(made[0])
