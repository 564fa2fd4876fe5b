"""Check that all modules of the locked distributions can be imported, and that commands start.

To start a command means to import its module and to look up the function that it would call. Only
the commands of distributions that the stack itself names are started. Facts in the lock excuse
modules and commands that may fail, because they need an optional project or an accelerator.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from resolver.ascend.libraries import is_on_disk, missing_library
from resolver.ascend.names import DEVICE_MODULE
from resolver.verify.distributions import Installed
from resolver.verify.findings import CheckContext, Excuse, Finding, Group, list_and_count
from resolver.verify.imports import import_environ, module_origins, shown_command
from resolver.verify.modules import Startable, startables
from resolver.verify.ownership import Ownership
from resolver.verify.starter import START_OPTION

_MOST_WORKERS = 4  # targets that are started at a time
# If the process that starts targets writes nothing for this many seconds beyond the time limit of
# one start, it is given up.
_SILENCE = 15
# Seconds within which a terminated process should end; then it is killed.
_END_SECONDS = 5
# The number of modules and commands that a message names.
_LISTED_STARTS = 6


class Started(NamedTuple):
    """A module or command that was started, and the result."""

    target: Startable
    # The row that `starter.serve_starts` wrote about it.
    row: Mapping[str, Any]

    @property
    def failed(self) -> bool:
        """Return whether the module or command could not be started."""
        return "path" not in self.row

    @property
    def title(self) -> str:
        """Return a name for messages: `import x`, or the name of the command."""
        return f"import {self.target.name}" if self.target.kind == "module" else self.target.name


class StartRequest(NamedTuple):
    """How to start modules and commands."""

    # The path of verify.py, which is run with the option --start.
    program: str
    # The path of the environment's Python.
    python: str
    # The environment variables.
    environ: Mapping[str, str]
    # The time limit of each start.
    seconds: float
    # Called when a start has ended, with the number of all that have ended so far.
    progress: Callable[[int, Startable], None]


def start_all(
    request: StartRequest, targets: Sequence[Startable], preload: Sequence[str] = ()
) -> list[Started]:
    """Start modules and commands, and return the results in the same order.

    The modules of `preload` are imported once for all targets. If that fails, the targets are
    started without it.
    """
    rows = _start(request, targets, preload)
    if rows is None and preload:
        rows = _start(request, targets, [])
    unknown = {
        "error": "the process that starts it has ended",
        "cause": "",
        "where": "",
        "missing": [],
    }
    if rows is None:
        rows = {}
    return [Started(target, rows.get(number, unknown)) for number, target in enumerate(targets)]


def _start(
    request: StartRequest, targets: Sequence[Startable], preload: Sequence[str]
) -> dict[int, dict[str, Any]] | None:
    """Start the targets, and return their rows by index; None if the preload failed.

    A target has no row if the process ended before it.
    """
    text = json.dumps(
        {
            "preload": preload,
            "targets": [target.reference for target in targets],
            "seconds": request.seconds,
            "workers": min(_MOST_WORKERS, os.cpu_count() or 1),
        }
    )
    process = subprocess.Popen(  # noqa: S603
        [request.python, request.program, START_OPTION],
        env=dict(request.environ),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        return _read_rows(process, text, targets, request)
    finally:
        _end(process)


def _read_rows(
    process: subprocess.Popen[bytes], text: str, targets: Sequence[Startable], request: StartRequest
) -> dict[int, dict[str, Any]] | None:
    """Send the request `text` to the start process, and return the rows that it writes.

    There is a row for each target, by the position of the target in `targets`. Reading ends when
    the process says that it is done or closes its pipe, or when it has written nothing for the time
    limit of a start and _SILENCE. None if it did not import the modules of the preload.
    """
    if process.stdin is None or process.stdout is None:
        raise AssertionError("both are pipes")
    # if the process has ended already, it has no rows
    with suppress(BrokenPipeError):
        process.stdin.write(text.encode())
        process.stdin.close()
    rows: dict[int, dict[str, Any]] | None = None
    for line in _lines(process.stdout.fileno(), request.seconds + _SILENCE):
        row = json.loads(line)
        if row.get("done"):
            break
        if row.get("ready"):
            rows = {}
        elif rows is not None:
            rows[row["number"]] = row
            request.progress(len(rows), targets[row["number"]])
    return rows


def _lines(pipe: int, seconds: float) -> Iterator[bytes]:
    """Yield the lines of a pipe until it is closed, or until nothing comes for `seconds`.

    The time limit is needed: a process that waits for a driver may not end even if it is killed,
    and keeps the pipe open.
    """
    incomplete = b""
    while select.select([pipe], [], [], seconds)[0]:
        content = os.read(pipe, 1 << 16)
        if not content:
            return
        *lines, incomplete = (incomplete + content).split(b"\n")
        yield from lines


def _end(process: subprocess.Popen[bytes]) -> None:
    """Terminate a process, which ends its children first; kill it if it does not end.

    If it does not end even then, it is left behind.
    """
    for end in (process.terminate, process.kill):
        end()
        with suppress(subprocess.TimeoutExpired):
            process.wait(_END_SECONDS)
            break
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()


class Verdict(NamedTuple):
    """The verdict on the start of a module or command."""

    # "ok"; "elsewhere" if the module does not come from the lock; "excused" if it may fail;
    # "untried" if a library of the toolkit or driver is missing; or "failed".
    outcome: str
    # For "excused" the reason, for "untried" the library, for "elsewhere" the code of the finding.
    reason: str = ""
    # For "elsewhere" the path from which the module was imported.
    found: str = ""


def check_starts(
    context: CheckContext, installed: Installed, ownership: Ownership, *, has_device: bool
) -> Group:
    """Start the modules and commands of the locked distributions, and judge the results.

    Modules that the lock lists are left out, since `check_imports` imports them. `has_device` says
    whether the machine has an accelerator.
    """
    locked = {name: installed[name] for name in context.lock.pins if name in installed}
    targets = [
        target
        for target in startables(locked, context.lock.requested)
        if target.reference not in context.lock.imports
    ]
    modules = [target.name for target in targets if target.kind == "module"]
    origins = module_origins(context, modules)
    preload = ["torch"] if "torch" in locked else []
    started = start_all(_request(context, len(targets), has_device=has_device), targets, preload)
    context.progress("")
    device_works = has_device or any(
        start.target.reference == DEVICE_MODULE and not start.failed for start in started
    )
    judged = [
        (start, _judge(context, start, ownership, origins, device_works=device_works))
        for start in started
    ]
    started_kinds = [start.target.kind for start, verdict in judged if verdict.outcome == "ok"]
    remarks = [
        {"what": start.title, "why": verdict.reason}
        for start, verdict in judged
        if verdict.outcome == "excused"
    ]
    note = "starts-but" if remarks else ""
    if not locked:
        note = "nothing"
    return Group(
        "starts",
        list(_start_findings(context, judged)),
        {
            "modules": str(started_kinds.count("module")),
            "scripts": str(started_kinds.count("script")),
            "excused": str(len(remarks)),
        },
        note=note,
        counted=True,
        remarks=remarks,
        results=[_result(start, verdict) for start, verdict in judged],
    )


def _request(context: CheckContext, count: int, *, has_device: bool) -> StartRequest:
    """Return how to start `count` targets. Without a device, torch does not load its plugin."""
    environ = import_environ(context)
    if not has_device:
        environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

    def progress(done: int, target: Startable) -> None:
        """Show how many targets were started."""
        context.progress(f"{done}/{count} {target.name}")

    return StartRequest(context.program, sys.executable, environ, context.seconds, progress)


def _judge(
    context: CheckContext,
    start: Started,
    ownership: Ownership,
    origins: Mapping[str, str],
    *,
    device_works: bool,
) -> Verdict:
    """Return the verdict on a start.

    `origins` has the path from which each module would be imported, by name. With `device_works`,
    excuses that need a missing accelerator do not count.
    """
    row, name = start.row, start.target.name
    if not start.failed:
        if start.target.kind == "module":
            found, fault = ownership.fault_in(name, origins.get(name), row["path"])
            if fault:
                return Verdict("elsewhere", fault, found)
        return Verdict("ok")
    excuse = excuse_of(start.target, context.lock.excuses, device_works=device_works)
    if excuse is not None:
        return Verdict("excused", excuse.reason[context.language])
    library = missing_library(f"{row.get('error', '')} {row.get('cause', '')}")
    if library and not device_works and not is_on_disk(context, library):
        return Verdict("untried", library)
    return Verdict("failed")


def excuse_of(target: Startable, excuses: Iterable[Excuse], *, device_works: bool) -> Excuse | None:
    """Return the excuse for a module or command that failed; None if none applies.

    With `device_works`, excuses that need a missing accelerator do not apply.
    """
    for excuse in excuses:
        names = excuse.modules if target.kind == "module" else excuse.scripts
        is_about = excuse.project == target.project and target.name in names
        if is_about and not (excuse.device and device_works):
            return excuse
    return None


def _start_findings(
    context: CheckContext, judged: Sequence[tuple[Started, Verdict]]
) -> Iterator[Finding]:
    """Yield the findings about starts. Starts that failed for the same reason share a finding."""
    groups: dict[tuple[str, str], list[Started]] = {}
    for start, verdict in judged:
        if verdict.outcome == "elsewhere":
            values = {"name": start.target.name, "found": verdict.found}
            yield Finding(verdict.reason, values)
        elif verdict.outcome == "untried":
            groups.setdefault(("start-untried", verdict.reason), []).append(start)
        elif verdict.outcome == "failed":
            groups.setdefault(_code_and_reason(start.row), []).append(start)
    for (code, reason), group in groups.items():
        first = group[0]
        values = {
            **list_and_count([start.title for start in group], _LISTED_STARTS),
            "error": reason,
            "library": reason,
            "where": str(first.row.get("where", "")) or first.target.project,
            "seconds": f"{context.seconds:g}",
            "command": shown_command(context, _python_code(first.target)),
        }
        yield Finding(code, values)


def _code_and_reason(row: Mapping[str, Any]) -> tuple[str, str]:
    """Return the code of the finding about a failed start, and the reason for its message.

    `row` is the row of the start.
    """
    if row.get("late"):
        return "start-late", ""
    if "signal" in row:
        return "start-died", f"killed by {row['signal']}"
    if "status" in row:
        return "start-died", f"exit status {row['status']}"
    return "start-failed", str(row["cause"] or row["error"])


def _python_code(target: Startable) -> str:
    """Return a line of Python code that starts a module or command, for users to try."""
    module, _, attribute = target.reference.partition(":")
    return f"import {module}; {module}.{attribute}" if attribute else f"import {module}"


def _result(start: Started, verdict: Verdict) -> dict[str, Any]:
    """Return the object about a start for the JSON report."""
    result: dict[str, Any] = {
        "project": start.target.project,
        "kind": start.target.kind,
        "name": start.target.name,
        "target": start.target.reference,
        "outcome": verdict.outcome,
    }
    if verdict.reason and verdict.outcome != "elsewhere":
        result["reason"] = verdict.reason
    how = {key: value for key, value in start.row.items() if key not in ("number", "path")}
    return {**result, **how}
