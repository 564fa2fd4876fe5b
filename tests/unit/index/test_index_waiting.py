"""Waiting for an answer, with a look at the clock in between."""

from __future__ import annotations

from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError

import pytest

from resolver.index.protocol import answer_of, looking


class LateFuture(Future[int]):
    """Done just after a wait for it timed out."""

    def result(self, timeout: float | None = None) -> int:
        if timeout is not None and not self.done():
            self.set_result(1)
            raise FutureTimeoutError
        return super().result(timeout)


def test_an_answer_that_comes_right_after_the_wait_is_no_timeout() -> None:
    with looking(pytest.fail):
        assert answer_of(LateFuture()) == 1


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
