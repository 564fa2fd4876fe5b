"""The thread of the event loop, and waiting for what runs on it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError

import pytest

from resolver.index.net import loop_thread
from resolver.index.net.loop_thread import LoopThread
from resolver.index.protocol import polling, result_of


@pytest.fixture
def worker() -> Iterator[LoopThread]:
    async def nothing() -> None:
        return None

    worker = LoopThread()
    yield worker
    worker.close(nothing)


async def answered() -> str:
    return "answer"


def test_loop_thread_goes_on_after_a_failure(
    worker: LoopThread, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    # It makes a list, for which there may be no memory.
    selector = worker._loop._selector  # type: ignore[attr-defined]
    select = selector.select
    failures = [MemoryError()]

    def failing(timeout: float | None) -> object:
        if failures:
            raise failures.pop()
        return select(timeout)

    async def broken() -> str:
        monkeypatch.setattr(selector, "select", failing)
        await asyncio.sleep(60)
        return "late"

    end = time.monotonic() + 5

    def look() -> None:
        assert time.monotonic() < end

    with polling(look):
        with pytest.raises(MemoryError):
            worker.wait(broken)
        assert worker.wait(answered) == "answer"
    assert not caplog.records


HANGING = """
import threading
from resolver.index.net import loop_thread
loop_thread._PATIENCE = 0.2
held = threading.Lock()
held.acquire()
thread = loop_thread.LoopThread()
thread.call_soon(held.acquire)

async def farewell():
    print("never")

thread.close(farewell)
print("closed")
"""


def test_loop_thread_that_hangs_lets_a_run_end() -> None:
    assert loop_thread._PATIENCE > 1
    done = subprocess.run(
        [sys.executable, "-c", HANGING], stdout=subprocess.PIPE, text=True, check=True, timeout=60
    )
    assert done.stdout == "closed\n"


def test_loop_thread_raises_what_cleanup_raises(recwarn: pytest.WarningsRecorder) -> None:
    async def farewell() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        LoopThread().close(farewell)
    assert [str(one.message) for one in recwarn] == []


# --- waiting


def test_result_of_raises_a_timeout_of_the_work() -> None:
    future: Future[int] = Future()
    future.set_exception(FutureTimeoutError("its own"))
    with polling(pytest.fail), pytest.raises(FutureTimeoutError, match="its own"):
        result_of(future)


def test_result_of_ends_with_an_exception_of_poll() -> None:
    def look() -> None:
        raise RuntimeError("time is up")

    with polling(look), pytest.raises(RuntimeError, match="time is up"):
        result_of(Future())
