"""Whatever fails on the event loop's thread, whoever waits for it is told; waiting, with a look at the clock."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Any

import pytest

from resolver.index.net.network import Worker
from resolver.index.protocol import answer_of, looking

SECONDS = 5.0

Work = Callable[[], Coroutine[Any, Any, str]]


@pytest.fixture
def worker() -> Iterator[Worker]:
    async def nothing() -> None:
        return None

    worker = Worker()
    yield worker
    worker.close(nothing)


def outcome(worker: Worker, work: Work) -> object:
    """What comes of the work, or its failure; None if nothing does."""
    found: list[object] = []

    def wait() -> None:
        try:
            found.append(worker.wait(work))
        except Exception as error:
            found.append(type(error))

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    thread.join(SECONDS)
    return found[0] if found else None


async def answered() -> str:
    return "answer"


def test_a_loop_that_fails_ends_the_wait_and_goes_on(
    worker: Worker, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    selector = worker._loop._selector  # type: ignore[attr-defined]  # it makes a list, for which there may be no memory
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

    assert outcome(worker, broken) is MemoryError
    assert outcome(worker, answered) == "answer"
    assert not caplog.records


# --- waiting


def test_a_timeout_of_what_was_waited_for_is_its_failure() -> None:
    future: Future[int] = Future()
    future.set_exception(FutureTimeoutError("its own"))
    with looking(pytest.fail), pytest.raises(FutureTimeoutError, match="its own"):
        answer_of(future)


def test_what_a_look_raises_ends_the_wait() -> None:
    def look() -> None:
        raise RuntimeError("time is up")

    with looking(look), pytest.raises(RuntimeError, match="time is up"):
        answer_of(Future())
