"""Start modules and commands, each in a process of its own.

verify.py runs itself for this, not isolated. The process imports torch once and forks for each
target, so that only what is not yet imported takes time, and no target can harm another one. A
child gets a session of its own, which is killed with everything that the child started, except for
what made itself another session. The child reports with one line in a pipe how it went. The line is
shorter than what a pipe holds unread.

This process runs no Python thread. Libraries that torch loads may have threads: OpenBLAS handles
forks itself, and OpenMP starts threads only with the first computation. If a child hangs
nevertheless, it is late like any other.
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
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from resolver.verify.findings import signal_name

START_OPTION = "--start"
# The longest text of an error, so that a row fits into a pipe, which holds 64 KiB.
_LONGEST_TEXT = 700
_LONGEST_CHAIN = 20
# Seconds between two looks at the children.
_PAUSE = 0.02
# Seconds beyond the limit in which a child has to end.
_GRACE = 5


class _Child(NamedTuple):
    """A child that runs."""

    # The index of its target in the request.
    number: int
    # The end of its pipe that is read.
    pipe: int
    # When it was started, by the monotonic clock.
    begun: float


def serve_starts(file: str) -> int:
    """Start the targets of the request on standard input, and write a row for each of them.

    The request is a JSON object. `preload` has modules to import first, `targets` has what to start
    (`module` or `module:attribute`), `seconds` is the limit of each target, and `workers` is how
    many run at once.

    Each row is a JSON object on a line. The first one says that the preload is `ready`, the last
    one that all is `done`. The row of a target has its `number`, the `seconds` that it took, and
    one of: the `path` of its module; an `error` with `cause`, `missing` and `where`; a `signal`; an
    exit `status`; or `late`.

    `file` is this program. Its folder is taken off the path, as a user would not have it there.
    Return the exit status.
    """
    request = json.loads(sys.stdin.read())
    output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    _silence_streams()
    folder = os.path.dirname(os.path.abspath(file))
    sys.path[:] = [path for path in sys.path if path and os.path.abspath(path) != folder]

    def write(row: Mapping[str, Any]) -> None:
        output.write(json.dumps(row) + "\n")
        output.flush()

    seconds = float(request["seconds"])
    # it ends this process if an import of the preload hangs
    signal.alarm(int(seconds) + 1)
    for module in request["preload"]:
        importlib.import_module(module)
    signal.alarm(0)
    write({"ready": True})
    _Children(request["targets"], seconds, int(request["workers"]), write).run()
    write({"done": True})
    return 0


class _Children:
    """Runs a child for each target, a limited number at once."""

    def __init__(
        self,
        targets: list[str],
        seconds: float,
        workers: int,
        write: Callable[[Mapping[str, Any]], None],
    ) -> None:
        self._waiting = deque(enumerate(targets))
        self._seconds = seconds
        self._workers = workers
        self._write = write
        # By process id.
        self._running: dict[int, _Child] = {}
        self._parent = os.getppid()

    def run(self) -> None:
        """Start everything. Kill all children if this process is terminated or loses its parent."""
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
        try:
            while self._waiting or self._running:
                while self._waiting and len(self._running) < self._workers:
                    number, target = self._waiting.popleft()
                    self._fork(number, target)
                if not self._report_ended():
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

    def _report_ended(self) -> bool:
        """Write the rows of children that ended or were killed as late; return if there were any.

        A child that waits for a driver may not end when it is killed: it is reported and left.
        """
        any_ended = False
        for process, child in list(self._running.items()):
            age = time.monotonic() - child.begun
            is_late = age > self._seconds
            if is_late:
                _kill_session(process)
            ended, status = os.waitpid(process, os.WNOHANG)
            if not ended and age <= self._seconds + _GRACE:
                continue
            # what the child left behind
            _kill_group(process)
            del self._running[process]
            result = {"late": True} if is_late else _result_of(child.pipe, status)
            os.close(child.pipe)
            self._write({"number": child.number, "seconds": round(age, 2), **result})
            any_ended = True
        return any_ended


def _result_of(pipe: int, status: int) -> dict[str, Any]:
    """Return what a child that ended wrote into its pipe, or else its signal or exit status."""
    os.set_blocking(pipe, False)
    try:
        text = os.read(pipe, 1 << 16).decode()
    except BlockingIOError:
        # it wrote nothing, and a process that it left behind has the pipe
        text = ""
    if text.endswith("\n"):
        result: dict[str, Any] = json.loads(text)
        return result
    if os.WIFSIGNALED(status):
        return {"signal": signal_name(os.WTERMSIG(status))}
    return {"status": os.WEXITSTATUS(status)}


def _kill_session(process: int) -> None:
    """Kill a child that is not reaped yet, and what it started."""
    # it may not have its session yet
    os.kill(process, signal.SIGKILL)
    _kill_group(process)


def _kill_group(process: int) -> None:
    """Kill what is in the process group of a child. The child itself may be gone."""
    # there may be no such group
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process, signal.SIGKILL)


def _start_and_exit(target: str, pipe: int, seconds: int) -> None:
    """Start the target in this child, write the result, and exit without Python's finalization."""
    try:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        # it ends this child if the parent is killed
        signal.alarm(seconds)
        sys.argv[:] = [target.partition(":")[0]]
        try:
            result: dict[str, Any] = {"path": _load(target)}
        except BaseException as error:
            result = _failure(error)
        os.write(pipe, (json.dumps(result) + "\n").encode())
    finally:
        os._exit(0)


def _load(target: str) -> str:
    """Import the module, look up the attribute, and return the path of the module."""
    name, _, attributes = target.partition(":")
    module = importlib.import_module(name)
    if attributes:
        found: Any = module
        for attribute in attributes.split("."):
            found = getattr(found, attribute)
    path = getattr(module, "__file__", None)
    if path:
        return str(path)
    # a namespace package has folders only
    for folder in getattr(module, "__path__", []):
        return str(folder)
    return ""


def _failure(error: BaseException) -> dict[str, Any]:
    """Return the row of an exception.

    `error` is its text, `cause` the text of the first exception in its chain, `where` the line that
    raised this one. `missing` has the modules and names that the chain says are missing.
    """
    chain = list(_chain(error))
    missing = [
        str(link.name)[:100]
        for link in chain
        if isinstance(link, (ImportError, NameError)) and getattr(link, "name", None)
    ]
    return {
        "error": _text_of(error),
        "cause": _text_of(chain[-1]),
        "where": _raised_at(chain[-1])[-200:],
        "missing": missing,
    }


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception, and then each that it was caused by or raised while handling."""
    link: BaseException | None = error
    for _ in range(_LONGEST_CHAIN):
        if link is None:
            return
        yield link
        if link.__cause__ is not None or link.__suppress_context__:
            link = link.__cause__
        else:
            link = link.__context__


def _text_of(error: BaseException) -> str:
    """Return an exception as the last line of a traceback shows it, on one line."""
    text = type(error).__name__
    # a broken __str__ raises anything
    with suppress(Exception):
        message = " ".join(str(error).split())
        if message:
            text = f"{text}: {message}"
    if len(text) > _LONGEST_TEXT:
        return f"{text[: _LONGEST_TEXT - 1]}…"
    return text


def _raised_at(error: BaseException) -> str:
    """Return file and line of an exception, relative to site-packages if it is in there.

    Lines of Python's importer and of this program do not count. Without others, it is empty.
    """
    site_packages = sysconfig.get_path("purelib") + "/"
    this_program = _raised_at.__code__.co_filename
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = frame.filename
        if path.startswith("<frozen") or path == this_program:
            continue
        if path.startswith(site_packages):
            path = path[len(site_packages) :]
        return f"{path}:{frame.lineno}"
    return ""


def _silence_streams() -> None:
    """Connect the standard streams of this process and its children to the null device."""
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)
