"""Where the time of a run goes, for `--profile`.

`@counts("solving")` assigns a function to a part of the work. Time counts for the innermost active part, so the
parts add up to the whole. Nothing is measured unless `begin` was called.
"""

from __future__ import annotations

import builtins
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Any, Final, NamedTuple, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

# What each part is, in the order of the output.
PARTS: Final[Mapping[str, str]] = {
    "start": "the interpreter, until the command line was read",
    "imports": "importing modules, of libraries and of ascend-lock",
    "inputs": "the stack, the facts, the previous lock",
    "pages": "waiting for index pages; its CPU time is all of HTTP",
    "files": "waiting for metadata and archives",
    "parsing": "pages and metadata, from network or cache",
    "beside": "the helper process, which requests and reads pages and reads archives",
    "versions": "ordering releases and matching requirements against them",
    "solving": "search, complete engine, explanations",
    "checking": "the independent check",
    "writing": "the lock and everything rendered from it",
    "other": "everything else",
}


class Span(NamedTuple):
    """Seconds of a part: on the clock, of processors."""

    wall: float
    cpu: float


class Profile(NamedTuple):
    """What a run took: in total, and by part; `peak` is the most memory that the process had, in bytes."""

    whole: Span
    parts: Mapping[str, Span]
    peak: int


class _Watch:
    """The active parts of one thread, and what each took there. At first `base` is active."""

    def __init__(self, base: str) -> None:
        self.on = [base]
        self.wall = dict.fromkeys(PARTS, 0.0)
        self.cpu = dict.fromkeys(PARTS, 0.0)
        self._then = time.perf_counter(), time.thread_time()

    def turn(self) -> None:
        """Count the time since the last call for the active part."""
        wall, cpu = time.perf_counter(), time.thread_time()
        self.wall[self.on[-1]] += wall - self._then[0]
        self.cpu[self.on[-1]] += cpu - self._then[1]
        self._then = wall, cpu


class _Recorder:
    """A watch for each thread; the first belongs to the thread whose wall time counts."""

    def __init__(self) -> None:
        self._local = threading.local()
        self._watches: list[_Watch] = []
        self.import_before = builtins.__import__
        self.start = Span(_age(), time.process_time())
        self._beside = _children()
        self.watch()

    def watch(self) -> _Watch:
        """The watch of this thread."""
        watch: _Watch | None = getattr(self._local, "watch", None)
        if watch is None:
            watch = self._local.watch = _Watch("pages" if self._watches else "other")
            self._watches.append(watch)
        return watch

    def count(self, part: str, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call, and count the time for a part."""
        watch = self.watch()
        watch.turn()
        watch.on.append(part)
        try:
            return call(*args, **kwargs)
        finally:
            watch.turn()
            watch.on.pop()

    def profile(self) -> Profile:
        """What the parts took so far. Time that no thread accounts for is HTTP."""
        ours = self.watch()
        ours.turn()
        cpu = {part: sum(watch.cpu[part] for watch in self._watches) for part in PARTS}
        wall = dict(ours.wall)
        wall["start"], cpu["start"] = self.start
        own = time.process_time()
        cpu["pages"] += max(own - sum(cpu.values()), 0.0)
        cpu["beside"] = _children() - self._beside
        whole = Span(sum(wall.values()), own + cpu["beside"])
        return Profile(whole, {part: Span(wall[part], cpu[part]) for part in PARTS}, _peak())


_recorder: _Recorder | None = None


def begin() -> None:
    """Measure from now on; imports count as such wherever they happen. Does nothing if it is already measuring."""
    global _recorder
    if _recorder is None:
        recorder = _recorder = _Recorder()

        def imported(*args: Any, **kwargs: Any) -> Any:
            return recorder.count("imports", recorder.import_before, *args, **kwargs)

        builtins.__import__ = imported


def end() -> Profile:
    """What was measured since `begin`; measuring ends."""
    global _recorder
    assert _recorder is not None, "begin comes before end"  # noqa: S101
    recorder, _recorder = _recorder, None
    builtins.__import__ = recorder.import_before
    return recorder.profile()


def counts(part: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Make the time in a function count for a part of the work."""
    assert part in PARTS, part  # noqa: S101

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            if _recorder is None:
                return function(*args, **kwargs)
            return _recorder.count(part, function, *args, **kwargs)

        return call

    return decorate


def _age() -> float:
    """For how many seconds this process has run; 0 if the system does not say."""
    try:
        begun = int(Path("/proc/self/stat").read_text("ascii").rpartition(")")[2].split()[19])
        return max(time.clock_gettime(time.CLOCK_BOOTTIME) - begun / os.sysconf("SC_CLK_TCK"), 0.0)
    except (OSError, ValueError, IndexError, AttributeError):
        return 0.0


def _children() -> float:
    """The CPU time of child processes that have ended."""
    times = os.times()
    return times.children_user + times.children_system


def _peak() -> int:
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
