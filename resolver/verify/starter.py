"""Start modules and commands, each in a process of its own: verify.py runs itself for this, not isolated.

The process imports torch once and forks for each thing that is started, so that only what is not
yet imported takes time, and nothing that is started can do harm to the rest. A child gets a session
of its own: whatever it leaves behind is killed with it, unless it made a session of its own. It
says with one line in a pipe how it went, no longer than what a pipe holds without a reader.

This process runs no Python thread. Libraries that torch loads may have threads: those of OpenBLAS
see to forks themselves, those of OpenMP begin with the first computation. A child that hangs
nevertheless is late, like any other.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import sysconfig
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

START_OPTION = "--start"
_LONGEST_TEXT = 700  # characters of an error: an answer fits into a pipe, which holds 64 KiB
_LONGEST_CHAIN = 20
_PAUSE = 0.02
_GRACE = 5  # seconds beyond the limit in which a child has to end


class _Child(NamedTuple):
    """A child that runs."""

    # Which of the request's rows it starts.
    number: int
    # The end of its pipe that is read.
    pipe: int
    # When it was started, by the monotonic clock.
    begun: float


def serve_starts(file: str) -> int:
    """Start what the request on standard input lists, and write a row for each; return the status.

    The request is an object: `preload` are modules to be imported first, `targets` what is started
    (`module` or `module:attribute`), `seconds` the limit for each, `workers` how many run at once.
    The first row says that the preload is `ready`, the last one that all is `done`. A row of a
    target has its `number` and `seconds`, and how it ended: `path`, `error` (with `cause`,
    `missing` and `where`), `signal`, `status`, or `late`. `file` is this program, whose folder is
    nothing that a user would have on the path.
    """
    request = json.loads(sys.stdin.read())
    rows = os.fdopen(os.dup(1), "w", encoding="utf-8")
    _be_silent()
    folder = os.path.dirname(os.path.abspath(file))
    sys.path[:] = [path for path in sys.path if path and os.path.abspath(path) != folder]

    def tell(row: Mapping[str, Any]) -> None:
        rows.write(json.dumps(row) + "\n")
        rows.flush()

    seconds = float(request["seconds"])
    signal.alarm(int(seconds) + 1)  # it ends this process if an import of the preload hangs
    for module in request["preload"]:
        importlib.import_module(module)
    signal.alarm(0)
    tell({"ready": True})
    _Children(request["targets"], seconds, int(request["workers"]), tell).run()
    tell({"done": True})
    return 0


class _Children:
    """Runs a child for each target, so many at once."""

    def __init__(
        self,
        targets: list[str],
        seconds: float,
        workers: int,
        tell: Callable[[Mapping[str, Any]], None],
    ) -> None:
        self._targets = targets
        self._seconds = seconds
        self._workers = workers
        self._tell = tell
        self._running: dict[int, _Child] = {}  # by process
        self._parent = os.getppid()

    def run(self) -> None:
        """Start everything; end all children if this process is to end, or its parent is gone."""
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
        waiting = list(enumerate(self._targets))[::-1]
        try:
            while waiting or self._running:
                while waiting and len(self._running) < self._workers:
                    self._fork(*waiting.pop())
                if not self._end_some():
                    time.sleep(_PAUSE)
                if os.getppid() != self._parent:
                    break
        finally:
            for process in list(self._running):
                _kill_session(process)

    def _fork(self, number: int, target: str) -> None:
        reader, writer = os.pipe()
        process = os.fork()
        if process == 0:
            os.close(reader)
            _start_and_exit(target, writer, int(self._seconds) + _GRACE)
        os.close(writer)
        self._running[process] = _Child(number, reader, time.monotonic())

    def _end_some(self) -> bool:
        """Tell of the children that have ended, and end those that are late; return if there were any.

        A child that waits for a driver may not end when it is killed: it is told late, and left.
        """
        ended = False
        for process, child in list(self._running.items()):
            age = time.monotonic() - child.begun
            late = age > self._seconds
            if late:
                _kill_session(process)
            done, status = os.waitpid(process, os.WNOHANG)
            if done == 0 and age <= self._seconds + _GRACE:
                continue
            _kill_group(process)  # what it left behind
            del self._running[process]
            spent = round(time.monotonic() - child.begun, 2)
            row = {"late": True} if late else _answer(child.pipe, status)
            os.close(child.pipe)
            self._tell({"number": child.number, "seconds": spent, **row})
            ended = True
        return ended


def _answer(pipe: int, status: int) -> dict[str, Any]:
    """Return what a child that has ended said, or how it ended without a word."""
    os.set_blocking(pipe, False)
    try:
        text = os.read(pipe, 1 << 16).decode()
    except BlockingIOError:  # it said nothing, and a process that it left behind has the pipe
        text = ""
    if text.endswith("\n"):
        answer: dict[str, Any] = json.loads(text)
        return answer
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        names = {known.value: known.name for known in signal.Signals}
        return {"signal": names.get(number, str(number))}
    return {"status": os.WEXITSTATUS(status)}


def _kill_session(process: int) -> None:
    """Kill a child that is not reaped yet, and what it started."""
    os.kill(process, signal.SIGKILL)  # it may not have its session yet
    _kill_group(process)


def _kill_group(process: int) -> None:
    """Kill what is in the group of a child, which may be gone itself."""
    with suppress(ProcessLookupError, PermissionError):  # there is nothing
        os.killpg(process, signal.SIGKILL)


def _start_and_exit(target: str, pipe: int, seconds: int) -> None:
    """Start the target in this child, say how it went, and exit without what Python does at its end."""
    try:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.alarm(seconds)  # if this child's parent is killed
        sys.argv[:] = [target.partition(":")[0]]
        try:
            row = {"path": _load(target)}
        except BaseException as error:
            row = _failure_row(error)
        os.write(pipe, (json.dumps(row) + "\n").encode())
    finally:
        os._exit(0)


def _load(target: str) -> str:
    """Import the module, look up the attribute, and return where the module is from."""
    name, _, attributes = target.partition(":")
    module = importlib.import_module(name)
    found: Any = module
    for attribute in filter(None, attributes.split(".")):
        found = getattr(found, attribute)
    path = getattr(module, "__file__", None)
    return str(path or next(iter(getattr(module, "__path__", [])), ""))


def _failure_row(error: BaseException) -> dict[str, Any]:
    """Return what there is to say of an exception.

    `error` is its text, `cause` that of the first exception of its chain, `where` the line that
    raised this one, `missing` the modules, distributions and names that the chain says are missing.
    """
    chain = list(_chain(error))
    missing = [
        str(link.name)
        for link in chain
        if isinstance(link, (ImportError, NameError)) and getattr(link, "name", None)
    ]
    return {
        "error": _said(error),
        "cause": _said(chain[-1]),
        "where": _raised_at(chain[-1])[-200:],
        "missing": [name[:100] for name in missing[:_LONGEST_CHAIN]],
    }


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception, and what it was caused by or raised during the handling of."""
    link: BaseException | None = error
    for _ in range(_LONGEST_CHAIN):
        if link is None:
            return
        yield link
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)


def _said(error: BaseException) -> str:
    """Return an exception as Python's last line has it, on one line."""
    try:
        said = " ".join(str(error).split())
    except Exception:
        said = ""
    text = f"{type(error).__name__}: {said}" if said else type(error).__name__
    return text if len(text) <= _LONGEST_TEXT else f"{text[: _LONGEST_TEXT - 1]}…"


def _raised_at(error: BaseException) -> str:
    """Return file and line of an exception, relative to site-packages where it is in there.

    Lines of Python's importer and of this program do not count: without others it is nothing.
    """
    home = sysconfig.get_path("purelib") + "/"
    own = _raised_at.__code__.co_filename
    places = [
        f"{frame.filename[len(home) :] if frame.filename.startswith(home) else frame.filename}:{frame.lineno}"
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith("<frozen") and frame.filename != own
    ]
    return places[-1] if places else ""


def _be_silent() -> None:
    """Give this process and its children no standard input, output and error."""
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)
