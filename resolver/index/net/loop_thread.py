"""The background thread of an event loop."""

from __future__ import annotations

import asyncio
import ctypes
import sys
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError  # built-in from Python 3.11 on
from contextlib import suppress
from typing import Any, Final, TypeVar

from resolver.index.protocol import result_of

# Of glibc's malloc.h.
_M_ARENA_MAX: Final = -8
_THREADS: Final = 8  # for names of hosts, and for reading pages and archives
_LAST_TURNS: Final = 5
_PATIENCE: Final = 10.0  # seconds to cancel everything; a thousandth is normally enough

T = TypeVar("T")


class LoopThread:
    """A thread that runs coroutines until it is closed.

    If memory is short, the event loop and its callbacks fail anywhere. All `wait` calls then raise
    the error, and the loop goes on, as it is needed for closing; asyncio's own tracebacks are not
    for the user.
    """

    def __init__(self) -> None:
        _share_heap()
        self._loop = asyncio.new_event_loop()
        self._loop.set_exception_handler(lambda _, __: None)
        self._threads = ThreadPoolExecutor(_THREADS, "ascend-lock")
        self._loop.set_default_executor(self._threads)
        self._waiting: set[Future[Any]] = set()
        self._thread = threading.Thread(target=self._run, name="ascend-lock-network", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while True:
            try:
                self._loop.run_forever()
            except Exception as error:
                for future in tuple(self._waiting):
                    with suppress(Exception):  # it is done
                        future.set_exception(error)
            else:
                return

    def wait(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run the coroutine that `work` returns in the thread, and return its result.

        An interrupt cancels it.
        """
        future: Future[T] = Future()
        self._waiting.add(future)

        async def run() -> None:
            try:
                future.set_result(await work())
            except Exception as error:
                future.set_exception(error)
            except asyncio.CancelledError:
                future.cancel()

        running = asyncio.run_coroutine_threadsafe(run(), self._loop)
        try:
            return result_of(future)
        except BaseException:
            running.cancel()
            raise
        finally:
            self._waiting.discard(future)

    def call_soon(self, call: Callable[[], None]) -> None:
        """Call something in the thread, without waiting."""
        self._loop.call_soon_threadsafe(call)

    def close(self, cleanup: Callable[[], Awaitable[None]]) -> None:
        """Cancel running work, await `cleanup`, and end the thread.

        Work in other threads is not waited for.
        """

        async def finish() -> None:
            running = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
            await cleanup()
            # Closed connections release their sockets in later iterations of the loop.
            for _ in range(_LAST_TURNS):
                await asyncio.sleep(0)
            await self._loop.shutdown_asyncgens()

        hangs = False
        try:
            asyncio.run_coroutine_threadsafe(finish(), self._loop).result(_PATIENCE)
        except FutureTimeoutError:
            # An interrupt left something locked; the thread ends with the process.
            hangs = True
        finally:
            self._threads.shutdown(wait=False, cancel_futures=True)
            self._loop.call_soon_threadsafe(self._loop.stop)
            if not hangs:
                self._thread.join()
                self._loop.close()


def _share_heap() -> None:
    """Let all threads share one heap of glibc. Each of its own keeps what it once needed."""
    # Another C library has no such function.
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)
