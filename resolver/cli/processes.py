"""Start processes that work for this one, and end with it."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from typing import Final

# A fork would share the locks of threads and the connection to the cache.
SPAWN: Final = multiprocessing.get_context("spawn")


@contextmanager
def processes(number: int) -> Iterator[Executor]:
    """Yield an executor with this number of processes, which end with this one."""
    executor = ProcessPoolExecutor(number, mp_context=SPAWN, initializer=follow_parent)
    try:
        yield executor
    finally:
        # Otherwise `shutdown` would wait for a process that started while another was killed.
        for child in multiprocessing.active_children():
            child.kill()  # SIGTERM may be ignored, as in this process
        executor.shutdown(cancel_futures=True)
        # Python would report the executor's semaphores as leaked.
        del executor
        gc.collect()


def follow_parent() -> None:
    """Make this process end when the process that started it ends.

    It ignores ^C, which interrupts its parent.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()

    def follow() -> None:
        """Wait for the end of the parent, then end this process."""
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=follow, daemon=True).start()
