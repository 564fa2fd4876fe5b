"""The command line of verify.py."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Collection, Iterator, Sequence

from resolver.verify.ascend import NpuTool, ask_npu_smi, check_cann, check_hdk, check_npu, check_soc
from resolver.verify.environment import (
    check_distributions,
    check_machine,
    check_python,
    check_requirements,
    installed_distributions,
)
from resolver.verify.findings import Asked, Group, LockedStack, run_program
from resolver.verify.imports import check_imports
from resolver.verify.output import Report, UnwritableError
from resolver.verify.record import check_collisions, check_files, read_records

_USAGE = 2
_INTERRUPTED = 130
_TERMINATED = 143
_WORD = "python"


def run(text: str, file: str, arguments: Sequence[str]) -> int:
    """Check this machine and environment against the lock in `text`; the exit status.

    0: as locked; 1: something differs; 2: the command is wrong.
    """
    if sys.stdout is None:  # it is closed: the exit status tells, and no other file may get its number
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.stdout = os.fdopen(1, "w", closefd=False)
    lock = LockedStack.parse(text)
    given = _arguments(arguments, sorted(lock.texts))
    if given.python or not sys.flags.isolated:  # what is on PYTHONPATH or in the user's folder is not installed here
        return _become(given.python or sys.executable, file, arguments)
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(_TERMINATED))  # what was begun here ends, too
    folder = os.path.dirname(os.path.abspath(file))
    asked = Asked(
        lock,
        folder,
        dict(os.environ),
        ascend=given.ascend,
        wheelhouse=os.path.abspath(given.wheelhouse) if given.wheelhouse else _bundle(folder),
        full=given.full,
        language=_language(given.lang, lock.texts),
    )
    report = Report(asked, as_json=given.json, lenient=given.skip_system_checks)
    if given.machine:
        sys.stdout.write("".join(map(report.for_install, check_system(asked, ask_npu_smi(asked)))))
        return 0
    try:
        report.begin()
        for group in checks(asked):
            report.add(group)
            if report.is_hopeless:
                break
        return report.end()
    except UnwritableError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if str(error):
            sys.stderr.write(f"error: the report cannot be written: {error}\n")
            return _USAGE
        return 1  # `verify.py | head`: what is left to say has no reader
    except MemoryError:
        sys.stderr.write("error: out of memory\nhint: check `ulimit -v`, or a container's limit of memory\n")
        return _USAGE
    except KeyboardInterrupt:
        sys.stderr.write("interrupted; nothing was changed\n")
        return _INTERRUPTED


def _bundle(folder: str) -> str:
    """The bundle (`ascend-lock bundle`) that holds this lock's folder as `locks/STACK/TARGET`; nothing elsewhere."""
    top = os.path.dirname(os.path.dirname(os.path.dirname(folder)))
    return top if os.path.isfile(os.path.join(top, "bundle.json")) else ""


def checks(asked: Asked) -> Iterator[Group]:
    """Every check that the lock gives a reason for, the cheap ones first."""
    tool = ask_npu_smi(asked)
    system = check_system(asked, tool)
    yield next(system)
    paths = [path for path in sys.path if os.path.isdir(path)]
    found, trouble = installed_distributions(asked, paths)
    yield check_python(asked, found)
    yield from system
    records, broken = read_records(asked, found)
    collisions, excused = check_collisions(asked, found, records)
    colliding = {finding.values["other"] for finding in collisions.findings}
    yield check_distributions(asked, found, trouble, colliding)
    yield check_files(asked, found, records, broken, excused)
    yield collisions
    yield check_requirements(asked)
    if asked.lock.imports:
        yield check_imports(asked, found, paths, on_npu=tool.has_npu)
    if "torch-npu" in asked.lock.pins:
        yield check_npu(asked, tool)


def check_system(asked: Asked, tool: NpuTool) -> Iterator[Group]:
    """What `--skip-system-checks` is about: the machine, then CANN, driver and SoC where the lock asks for them."""
    system = asked.lock.system
    yield check_machine(asked)
    if "cann" in system:
        yield check_cann(asked)
    if "torch-npu" in asked.lock.pins or "hdk" in system or asked.lock.driver:
        yield check_hdk(asked, tool)
    if "soc" in system:
        yield check_soc(asked, tool)


def _become(python: str, file: str, arguments: Sequence[str]) -> int:
    """Go on as that Python, isolated; returns only where it is none. Another program might end as if all were well."""
    path = os.path.abspath(python)
    ran = run_program([path, "-I", "-c", f"print({_WORD!r})"], os.environ)
    if ran.output.split() == [_WORD]:
        os.execv(path, [path, "-I", os.path.abspath(file), *arguments, "--python="])  # noqa: S606
    why = ran.ending if ran.status is None else "it does not run as Python"
    sys.stderr.write(f"error: {path} cannot be run: {why}\nhint: pass --python PATH of an environment\n")
    return _USAGE


def _language(wanted: str | None, known: Collection[str]) -> str:
    for value in (wanted, *map(os.environ.get, ("LC_ALL", "LC_MESSAGES", "LANG"))):
        if value:
            return value[:2].lower() if value[:2].lower() in known else "en"
    return "en"


def _arguments(arguments: Sequence[str], languages: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="verify.py",
        description="Check whether this machine and environment match the lock. Changes nothing.",
        epilog="Exit status: 0 matches, 1 something differs, 2 invalid command.",
        allow_abbrev=False,
    )
    parser.add_argument("--python", metavar="PATH", help="the environment's Python (default: the one that runs this)")
    parser.add_argument("--full", action="store_true", help="compare the content of every file, not just of a sample")
    parser.add_argument(
        "--machine", action="store_true", help="print what is wrong with the machine, CANN, driver and SoC, a line each"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    parser.add_argument("--lang", choices=languages, help="the language (default: by locale)")
    parser.add_argument(
        "--skip-system-checks", action="store_true", help="only warn if the machine does not match the lock"
    )
    parser.add_argument("--wheelhouse", metavar="DIR", help="use this folder in the commands that fix things")
    parser.add_argument(
        "--ascend",
        metavar="DIR",
        default=os.environ.get("ASCEND_LOCK_ROOT") or "/usr/local/Ascend",
        help="where driver and CANN are installed (default: $ASCEND_LOCK_ROOT, else /usr/local/Ascend)",
    )
    return parser.parse_args(arguments)
