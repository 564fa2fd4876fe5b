"""Run an event loop in a background thread, and wait for its coroutines from other threads."""

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

# The constant of that name in malloc.h of glibc.
_M_ARENA_MAX: Final = -8
# Threads for blocking work of the loop: resolving host names, reading pages and archives.
_THREADS: Final = 8
# Iterations of the event loop after everything is closed.
_LAST_TURNS: Final = 5
# Seconds to cancel all work when the thread is closed; usually it takes a thousandth of that.
_PATIENCE: Final = 10.0

T = TypeVar("T")


class LoopThread:
    """A thread with an event loop, which runs until it is closed.

    If the machine runs out of memory, the event loop itself may raise an exception. Then all calls
    of `wait` raise it, and the loop is started again, since closing needs it. Tracebacks that
    asyncio would print are suppressed.
    """

    def __init__(self) -> None:
        """Start the thread."""
        _share_heap()
        self._loop = asyncio.new_event_loop()
        self._loop.set_exception_handler(lambda _, __: None)
        self._threads = ThreadPoolExecutor(_THREADS, "ascend-lock")
        self._loop.set_default_executor(self._threads)
        self._waiting: set[Future[Any]] = set()
        self._thread = threading.Thread(target=self._run, name="ascend-lock-network", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        """Run the loop until it is stopped, and pass its own exceptions to all calls of `wait`."""
        while True:
            try:
                self._loop.run_forever()
            except Exception as error:
                for future in tuple(self._waiting):
                    with suppress(Exception):  # the future has a result already
                        future.set_exception(error)
            else:
                return

    def wait(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run the coroutine that `work` returns in the thread, wait for it, and return its result.

        Raises the exception of the coroutine. An exception in the waiting thread, such as
        KeyboardInterrupt, cancels the coroutine.
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
        """Call a function in the thread, without waiting for it."""
        self._loop.call_soon_threadsafe(call)

    def close(self, cleanup: Callable[[], Awaitable[None]]) -> None:
        """Cancel all coroutines, await `cleanup`, and end the thread.

        Blocking work in the helper threads of the loop is not waited for.
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
            # An interrupt left a lock held. The thread ends with the process.
            hangs = True
        finally:
            self._threads.shutdown(wait=False, cancel_futures=True)
            self._loop.call_soon_threadsafe(self._loop.stop)
            if not hangs:
                self._thread.join()
                self._loop.close()


def _share_heap() -> None:
    """Let all threads share one heap of glibc.

    By default each thread has a heap of its own, which never gives back the memory that it once
    needed.
    """
    # Other C libraries do not have the function `mallopt`.
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)
