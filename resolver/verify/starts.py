"""Whether what is installed starts: every module of the lock's distributions, and the commands of those it is for.

The excuses of what may fail come from facts, as the lock has them: it needs a project that nobody
asked for, or an NPU.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from resolver.verify.distributions import InstalledDistribution
from resolver.verify.findings import CheckContext, Excuse, Finding, Group, list_and_count
from resolver.verify.imports import (
    homes_of,
    import_environ,
    is_on_disk,
    is_within,
    missing_library,
    shown_command,
)
from resolver.verify.modules import Startable, startables
from resolver.verify.record import RecordRow
from resolver.verify.starter import START_OPTION

_MOST_WORKERS = 4
# seconds beyond the limit of one start in which the process that starts has to say something
_SILENCE = 15
_END_SECONDS = 5  # for a process to end
_LISTED_STARTS = 6
_NPU_MODULE = "torch_npu"  # who can import it has CANN and a driver


class Started(NamedTuple):
    """How it went with something that was started."""

    # What was started.
    what: Startable
    # The row of the process that started it; see `serve_starts`.
    row: Mapping[str, Any]

    @property
    def failed(self) -> bool:
        """Whether it did not start."""
        return "path" not in self.row

    @property
    def title(self) -> str:
        """What it is called in a list: `import x`, or the command's name."""
        return f"import {self.what.name}" if self.what.kind == "module" else self.what.name


class StartRequest(NamedTuple):
    """What a process is to start, and how."""

    # The program's file, which runs itself.
    program: str
    # The Python of the environment.
    python: str
    # The variables of the process.
    environ: Mapping[str, str]
    # The limit for each.
    seconds: float
    # Called with the number of those that have ended, and with the last one.
    progress: Callable[[int, Startable], None]


def start_all(
    request: StartRequest, whats: Sequence[Startable], preload: Sequence[str] = ()
) -> list[Started]:
    """Start each of these, and return how it went, in the same order.

    The modules of `preload` are imported once for all of them, if they can be.
    """
    rows = _answers(request, whats, preload)
    if rows is None and preload:
        rows = _answers(request, whats, [])
    unknown = {
        "error": "the process that starts it has ended",
        "cause": "",
        "where": "",
        "missing": [],
    }
    return [Started(what, (rows or {}).get(number, unknown)) for number, what in enumerate(whats)]


def _answers(
    request: StartRequest, whats: Sequence[Startable], preload: Sequence[str]
) -> dict[int, dict[str, Any]] | None:
    """Return the row of each by its number; None if nothing was started, as the preload failed."""
    text = {
        "preload": preload,
        "targets": [what.target for what in whats],
        "seconds": request.seconds,
        "workers": min(_MOST_WORKERS, os.cpu_count() or 1),
    }
    command = [request.python, request.program, START_OPTION]
    process = subprocess.Popen(  # noqa: S603
        command,
        env=dict(request.environ),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        return _read_answers(process, json.dumps(text), whats, request)
    finally:
        _end(process)


def _read_answers(
    process: subprocess.Popen[bytes], text: str, whats: Sequence[Startable], request: StartRequest
) -> dict[int, dict[str, Any]] | None:
    """Give the process its request, and read its rows until the last one, or until it ends or says nothing any more."""
    if process.stdin is None or process.stdout is None:
        raise AssertionError("both are pipes")
    with suppress(BrokenPipeError):  # it has ended, and has no rows
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
            request.progress(len(rows), whats[row["number"]])
    return rows


def _lines(pipe: int, seconds: float) -> Iterator[bytes]:
    """Yield the lines of a pipe until it is closed, or nothing came for so long.

    A process that waits for a driver may not end when it is killed, and keeps the pipe open.
    """
    rest = b""
    while select.select([pipe], [], [], seconds)[0]:
        content = os.read(pipe, 1 << 16)
        if not content:
            return
        *lines, rest = (rest + content).split(b"\n")
        yield from lines


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process, which ends its children first; leave it if it cannot be ended."""
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
    """What is to be said of something that was started."""

    # "ok", "elsewhere" (it is not this environment's), "excused", "untried" (without a library of
    # CANN) or "failed".
    outcome: str
    # Why it is excused, or the library that it is untried without.
    reason: str = ""


def check_starts(
    context: CheckContext,
    installed: Mapping[str, InstalledDistribution],
    records: Mapping[str, Sequence[RecordRow]],
    paths: Iterable[str],
    *,
    on_npu: bool,
) -> Group:
    """Start what the lock's distributions have, apart from the imports that the lock lists itself."""
    pinned = {name: installed[name] for name in context.lock.pins if name in installed}
    found = startables(pinned, records, context.lock.requested)
    whats = [what for what in found if what.target not in context.lock.imports]
    starts = start_all(
        _request(context, len(whats), on_npu=on_npu), whats, preload=_preload(pinned)
    )
    context.progress("")
    works = on_npu or any(
        started.what.target == _NPU_MODULE and not started.failed for started in starts
    )
    homes = homes_of(installed, paths)
    judged = [(started, _judge(context, started, homes, npu_works=works)) for started in starts]
    excused = [(started, verdict) for started, verdict in judged if verdict.outcome == "excused"]
    fine = [started.what.kind for started, verdict in judged if verdict.outcome == "ok"]
    return Group(
        "starts",
        list(_findings(context, judged)),
        {
            "modules": str(fine.count("module")),
            "scripts": str(fine.count("script")),
            "excused": str(len(excused)),
        },
        note="starts-but" if excused else "",
        counted=True,
        remarks=[{"what": started.title, "why": verdict.reason} for started, verdict in excused],
        results=[_result(started, verdict) for started, verdict in judged],
    )


def _preload(installed: Container[str]) -> list[str]:
    return ["torch"] if "torch" in installed else []


def _request(context: CheckContext, count: int, *, on_npu: bool) -> StartRequest:
    environ = import_environ(context)
    if not on_npu:
        environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

    def progress(done: int, what: Startable) -> None:
        context.progress(f"{done}/{count} {what.name}")

    return StartRequest(context.program, sys.executable, environ, context.seconds, progress)


def _judge(
    context: CheckContext, started: Started, homes: list[str], *, npu_works: bool
) -> Verdict:
    """Return the verdict on something that was started.

    Excuses for want of an NPU do not count if the NPU works.
    """
    what, row = started.what, started.row
    if not started.failed:
        is_ours = what.kind == "script" or not row["path"] or is_within(str(row["path"]), homes)
        return Verdict("ok" if is_ours else "elsewhere")
    excuse = excuse_of(what, context.lock.excuses, npu_works=npu_works)
    if excuse is not None:
        return Verdict("excused", excuse.reason[context.language])
    library = missing_library(f"{row.get('error', '')} {row.get('cause', '')}")
    if library and not npu_works and not is_on_disk(context, library):
        return Verdict("untried", library)
    return Verdict("failed")


def excuse_of(what: Startable, excuses: Iterable[Excuse], *, npu_works: bool) -> Excuse | None:
    """Return the excuse for something that fails, None if there is none that holds."""
    for excuse in excuses:
        names = excuse.modules if what.kind == "module" else excuse.scripts
        if excuse.project == what.project and what.name in names and not (excuse.npu and npu_works):
            return excuse
    return None


def _findings(
    context: CheckContext, judged: Sequence[tuple[Started, Verdict]]
) -> Iterator[Finding]:
    """Yield a finding for all that fails for one reason: much fails where one module does."""
    groups: dict[tuple[str, str], list[Started]] = {}
    for started, verdict in judged:
        if verdict.outcome == "elsewhere":
            values = {"name": started.what.name, "found": str(started.row["path"])}
            yield Finding("import-elsewhere", values)
        elif verdict.outcome == "untried":
            groups.setdefault(("start-untried", verdict.reason), []).append(started)
        elif verdict.outcome == "failed":
            groups.setdefault(_ending(started.row), []).append(started)
    for (code, why), alike in groups.items():
        first = alike[0]
        values = {
            **list_and_count([started.title for started in alike], _LISTED_STARTS),
            "error": why,
            "library": why,
            "where": str(first.row.get("where", "")) or first.what.project,
            "seconds": f"{context.seconds:g}",
            "command": shown_command(context, _code(first.what)),
        }
        yield Finding(code, values)


def _ending(row: Mapping[str, Any]) -> tuple[str, str]:
    """Return the code of the finding about something that failed, and what is said of it."""
    if row.get("late"):
        return "start-late", ""
    if "signal" in row:
        return "start-died", f"killed by {row['signal']}"
    if "status" in row:
        return "start-died", f"exit status {row['status']}"
    return "start-failed", str(row["cause"] or row["error"])


def _code(what: Startable) -> str:
    """Return the line of Python that starts it."""
    module, _, attribute = what.target.partition(":")
    return f"import {module}; {module}.{attribute}" if attribute else f"import {module}"


def _result(started: Started, verdict: Verdict) -> dict[str, Any]:
    """Return what the JSON says of something that was started."""
    what = started.what
    row = {key: value for key, value in started.row.items() if key not in ("number", "path")}
    reason = {"reason": verdict.reason} if verdict.reason else {}
    return {
        "project": what.project,
        "kind": what.kind,
        "name": what.name,
        "target": what.target,
        "outcome": verdict.outcome,
        **reason,
        **row,
    }
