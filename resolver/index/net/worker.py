"""One background thread with an event loop, for all use of the network."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError  # not the built-in one before Python 3.11
from contextlib import suppress
from typing import Any, Final, TypeVar

from resolver.index.protocol import answer_of

T = TypeVar("T")

_THREADS: Final = 8  # for names of hosts, and for reading pages and archives
_LAST_TURNS: Final = 5
_PATIENCE: Final = 10.0  # seconds to cancel everything; a thousandth is normally enough


class Worker:
    """A thread that runs coroutines until it is closed.

    Where memory is short, the event loop and its callbacks fail anywhere. Whoever waits is told, and the loop goes on,
    as it is needed for closing; asyncio's own tracebacks are not for the user.
    """

    def __init__(self) -> None:
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
                    with suppress(Exception):  # it has just ended
                        future.set_exception(error)
            else:
                return

    def wait(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run the coroutine that `work` returns in the thread, and return its result. An interrupt cancels it."""
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
            return answer_of(future)
        except BaseException:
            running.cancel()
            raise
        finally:
            self._waiting.discard(future)

    def tell(self, call: Callable[[], None]) -> None:
        """Call something in the thread, without waiting."""
        self._loop.call_soon_threadsafe(call)

    def close(self, farewell: Callable[[], Awaitable[None]]) -> None:
        """Cancel running work, await `farewell`, end the thread. What runs in other threads is not waited for."""

        async def finish() -> None:
            running = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
            await farewell()
            for _ in range(_LAST_TURNS):  # closed connections release their sockets in later iterations of the loop
                await asyncio.sleep(0)
            await self._loop.shutdown_asyncgens()

        hangs = False
        try:
            asyncio.run_coroutine_threadsafe(finish(), self._loop).result(_PATIENCE)
        except FutureTimeoutError:
            hangs = True  # because of something left locked by an interrupt; it ends with the process
        finally:
            self._threads.shutdown(wait=False, cancel_futures=True)
            self._loop.call_soon_threadsafe(self._loop.stop)
            if not hangs:
                self._thread.join()
                self._loop.close()


class Once:
    """Work that is done once per key, however many wait for it. Lives on one event loop."""

    def __init__(self) -> None:
        self._tasks: dict[Hashable, asyncio.Task[Any]] = {}

    async def do(self, key: Hashable, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """The result of `work`, which is started unless it was before; its failure is raised for all who wait."""
        task: asyncio.Task[T] | None = self._tasks.get(key)
        if task is None:
            task = self._tasks[key] = asyncio.ensure_future(work())
            # Retrieve the failure, as asyncio complains about failures that nobody retrieves.
            task.add_done_callback(lambda done: done.cancelled() or done.exception())
        # Shielded, since one of those who wait may be cancelled.
        return await asyncio.shield(task)
