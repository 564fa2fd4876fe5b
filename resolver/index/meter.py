"""How much a run has used network and cache so far."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import NamedTuple


class Traffic(NamedTuple):
    """Requests sent, bytes of bodies received, answers from the cache, and how many of these were unchanged pages."""

    requests: int = 0
    bytes: int = 0
    hits: int = 0
    revalidated: int = 0


class Meter:
    """Counters; calls `progress` for each change, from whichever thread it happens in."""

    def __init__(self, progress: Callable[[Traffic], None] | None = None) -> None:
        self.traffic = Traffic()
        self._progress = progress
        self._lock = threading.Lock()

    def add(self, *, requests: int = 0, received: int = 0, hits: int = 0, revalidated: int = 0) -> None:
        """Add to the counters."""
        with self._lock:
            old = self.traffic
            self.traffic = Traffic(
                old.requests + requests, old.bytes + received, old.hits + hits, old.revalidated + revalidated
            )
        if self._progress is not None:
            self._progress(self.traffic)
