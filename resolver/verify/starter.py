"""Start modules and commands, each in a child process. `starts` judges the results.

verify.py runs itself for this, not isolated, with the option --start. That process imports torch
once, and then forks a child for each target. So time is spent only on what is not imported yet, and
no target can harm another one. Each child has a session of its own. When the child ends or is late,
all processes that it started are killed, except for those that made a session of their own. A child
writes its result into a pipe as one line, which is shorter than what a pipe can hold unread.

The parent has no Python threads. Libraries that torch loads may have threads: OpenBLAS handles
forks itself, and OpenMP starts threads only for the first computation. If a child hangs
nevertheless, it is killed after the time limit like any other.
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

# The option with which verify.py runs `serve_starts`.
START_OPTION = "--start"
# Characters of the text of an error, so that a row fits into a pipe, which holds 64 KiB.
_LONGEST_TEXT = 700
# The exceptions of a chain that are followed.
_LONGEST_CHAIN = 20
# Seconds between two checks whether a child has ended.
_PAUSE = 0.02
# Seconds after the time limit within which a killed child should end.
_GRACE = 5


class _Child(NamedTuple):
    """A child process that is running."""

    # The index of its target in the request.
    number: int
    # The file descriptor from which its result is read.
    pipe: int
    # The time at which it was started, by the monotonic clock.
    begun: float


def serve_starts(file: str) -> int:
    """Start the targets of a request, and write a row for each; return the exit status.

    The request is a JSON object on standard input. `preload` has the modules to import first,
    `targets` has the modules and commands to start (`module` or `module:attribute`), `seconds` is
    the time limit of each target, and `workers` is the number of targets that run at a time.

    A row is a JSON object on a line of standard output. The first row has `ready`, when the preload
    is imported, and the last row has `done`. The row of a target has its `number`, the `seconds`
    that it took, and one of: the `path` of its module; an `error` with `cause`, `missing` and
    `where`; a `signal`; an exit `status`; or `late`.

    `file` is the path of verify.py. Its folder is removed from `sys.path`, since a user's program
    would not have it there.
    """
    request = json.loads(sys.stdin.read())
    output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    _silence_streams()
    folder = os.path.dirname(os.path.abspath(file))
    sys.path[:] = [path for path in sys.path if path and os.path.abspath(path) != folder]

    def write(row: Mapping[str, Any]) -> None:
        """Write a row as a line of JSON."""
        output.write(json.dumps(row) + "\n")
        output.flush()

    seconds = float(request["seconds"])
    # ends this process if an import of the preload hangs
    signal.alarm(int(seconds) + 1)
    for module in request["preload"]:
        importlib.import_module(module)
    signal.alarm(0)
    write({"ready": True})
    _Children(request["targets"], seconds, int(request["workers"]), write).run()
    write({"done": True})
    return 0


class _Children:
    """Runs a child process for each target, a limited number at a time."""

    def __init__(
        self,
        targets: list[str],
        seconds: float,
        workers: int,
        write: Callable[[Mapping[str, Any]], None],
    ) -> None:
        """Start these targets with a time limit in seconds; `write` is called with each row."""
        self._waiting = deque(enumerate(targets))
        self._seconds = seconds
        self._workers = workers
        self._write = write
        # The children that are running, by process id.
        self._running: dict[int, _Child] = {}
        self._parent = os.getppid()

    def run(self) -> None:
        """Start all targets, and write their rows.

        If this process is terminated, or its parent ends, all children are killed.
        """
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
        """Start a child for the target with this number."""
        reader, writer = os.pipe()
        process = os.fork()
        if process == 0:
            os.close(reader)
            _start_and_exit(target, writer, int(self._seconds) + _GRACE)
        os.close(writer)
        self._running[process] = _Child(number, reader, time.monotonic())

    def _report_ended(self) -> bool:
        """Write the row of each child that has ended or is late; return whether there was any.

        Late children are killed. A child that waits for a driver may not end even then; it is
        reported and left behind.
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
            # processes that the child left behind
            _kill_group(process)
            del self._running[process]
            result = {"late": True} if is_late else _result_of(child.pipe, status)
            os.close(child.pipe)
            self._write({"number": child.number, "seconds": round(age, 2), **result})
            any_ended = True
        return any_ended


def _result_of(pipe: int, status: int) -> dict[str, Any]:
    """Return the result that a child wrote into its pipe, or else its signal or exit status.

    `status` is the status that `os.waitpid` returned.
    """
    os.set_blocking(pipe, False)
    try:
        text = os.read(pipe, 1 << 16).decode()
    except BlockingIOError:
        # it wrote nothing, and a process that it left behind keeps the pipe open
        text = ""
    if text.endswith("\n"):
        result: dict[str, Any] = json.loads(text)
        return result
    if os.WIFSIGNALED(status):
        return {"signal": signal_name(os.WTERMSIG(status))}
    return {"status": os.WEXITSTATUS(status)}


def _kill_session(process: int) -> None:
    """Kill a child that was not waited for yet, and the processes of its session."""
    # it may not have a session of its own yet
    os.kill(process, signal.SIGKILL)
    _kill_group(process)


def _kill_group(process: int) -> None:
    """Kill all processes in the process group of a child, which itself may have ended."""
    # there may be no such group any more
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process, signal.SIGKILL)


def _start_and_exit(target: str, pipe: int, seconds: int) -> None:
    """Start a target in this process, a child, write the result into a pipe, and exit.

    The process exits at once, without running Python's exit handlers. After `seconds` it is killed.
    """
    try:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        # ends this child even if the parent was killed
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
    """Import the module of a target, look up its attribute, and return the path of the module.

    Empty if the module has no path.
    """
    name, _, attributes = target.partition(":")
    module = importlib.import_module(name)
    if attributes:
        found: Any = module
        for attribute in attributes.split("."):
            found = getattr(found, attribute)
    path = getattr(module, "__file__", None)
    if path:
        return str(path)
    # a namespace package has folders, but no file
    for folder in getattr(module, "__path__", []):
        return str(folder)
    return ""


def _failure(error: BaseException) -> dict[str, Any]:
    """Return the keys of a row about an exception.

    `error` is its text. `cause` is the text of the original exception, at the end of its chain, and
    `where` is the file and line that raised that one. `missing` has the modules and names that are
    missing, as the exceptions of the chain say.
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
    """Yield an exception, then the one that caused it or was being handled, and so on."""
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
    """Return the type and the message of an exception on one line, cut if it is long."""
    text = type(error).__name__
    # a faulty __str__ may raise any exception
    with suppress(Exception):
        message = " ".join(str(error).split())
        if message:
            text = f"{text}: {message}"
    if len(text) > _LONGEST_TEXT:
        return f"{text[: _LONGEST_TEXT - 1]}…"
    return text


def _raised_at(error: BaseException) -> str:
    """Return the file and line that raised an exception, relative to site-packages if it is there.

    Lines of Python's import system and of verify.py are skipped. Empty if there are no others.
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
