"""The command line of verify.py, and what it prints: a line for each group while the checks run, then what differs."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from resolver.pip import print_pip_variables
from resolver.verify.ascend import NpuTool, ask_npu_smi, check_cann, check_hdk, check_npu, check_soc
from resolver.verify.checkouts import check_checkouts, print_changed_files
from resolver.verify.distributions import installed_distributions
from resolver.verify.environment import (
    check_distributions,
    check_lock,
    check_machine,
    check_python,
    check_requirements,
)
from resolver.verify.findings import (
    SECONDS_TO_START,
    CheckContext,
    Group,
    LockedStack,
    run_program,
    show_nothing,
)
from resolver.verify.imports import check_imports
from resolver.verify.record import check_collisions, check_files, read_records
from resolver.verify.starter import START_OPTION, serve_starts
from resolver.verify.starts import check_starts
from resolver.verify.strays import check_strays

_USAGE = 2
_INTERRUPTED = 130
_TERMINATED = 143
_WORD = "python"
_ENDS = (
    "lock-differs",
    "system-differs",
    "processor-differs",
    "python-differs",
    "environment-other",
)
_SYSTEM = ("machine", "cann", "hdk", "soc")
# Findings that do not fail
WARNINGS = (
    "cann-file-unreadable",
    "cann-half-active",
    "checkout-uncompared",
    "distribution-conda",
    "distribution-extra",
    "distribution-leftover",
    "file-added",
    "hdk-file-unreadable",
    "hdk-not-running",
    "hdk-unmet",
    "import-untried",
    "lock-unreadable",
    "module-extra",
    "npu-absent",
    "pip-missing",
    "python-shared",
    "soc-unknown",
    "soc-unnamed",
    "start-untried",
    "startup-extra",
)


def run(text: str, file: str, arguments: Sequence[str]) -> int:
    """Check this machine and environment against the lock in `text`; the exit status.

    0: as locked; 1: something differs; 2: the command is wrong.
    """
    if sys.stdout is None:  # it is closed, and no other file may get its number
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.stdout = os.fdopen(1, "w", closefd=False)
    if list(arguments) == [START_OPTION]:  # this program runs itself so, not isolated
        return serve_starts(file)
    lock = LockedStack.parse(text)
    options = _options(arguments, sorted(lock.texts))
    if (
        options.python or not sys.flags.isolated
    ):  # what is on PYTHONPATH or in the user's folder is not installed here
        return _become(options.python or sys.executable, file, arguments)
    if options.pip_settings:
        return print_pip_variables()
    if options.changed_files:
        return print_changed_files(lock.pins[options.changed_files])
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(_TERMINATED))  # what was begun here ends, too
    folder = os.path.dirname(os.path.abspath(file))
    context = CheckContext(
        lock,
        folder,
        dict(os.environ),
        ascend=options.ascend,
        wheelhouse=os.path.abspath(options.wheelhouse) if options.wheelhouse else _bundle(folder),
        full=options.full,
        language=_language(options.lang, lock.texts),
        program=os.path.abspath(file),
        quick=options.quick,
        seconds=options.seconds,
        progress=show_nothing if options.json or not sys.stderr.isatty() else _show_progress,
    )
    report = Report(context, as_json=options.json, lenient=options.skip_system_checks)
    if options.machine:
        sys.stdout.write(
            "".join(map(report.for_install, check_system(context, ask_npu_smi(context))))
        )
        return 0
    try:
        report.begin()
        for group in checks(context):
            report.add(group)
            if report.is_hopeless:
                break
        return report.end()
    except UnwritableError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if str(error):
            sys.stderr.write(f"error: the report cannot be written: {error}\n")
            return _USAGE
        return 1  # `verify.py | head` has read enough
    except MemoryError:
        sys.stderr.write(
            "error: out of memory\nhint: check `ulimit -v`, or a container's limit of memory\n"
        )
        return _USAGE
    except KeyboardInterrupt:
        sys.stderr.write("interrupted; nothing was changed\n")
        return _INTERRUPTED


def _bundle(folder: str) -> str:
    """The bundle (`ascend-lock bundle`) that holds this lock's folder as `locks/STACK/TARGET`; nothing elsewhere."""
    top = os.path.dirname(os.path.dirname(os.path.dirname(folder)))
    return top if os.path.isfile(os.path.join(top, "bundle.json")) else ""


def checks(context: CheckContext) -> Iterator[Group]:
    """Every check that the lock gives a reason for, the cheap ones first."""
    yield check_lock(context)
    tool = ask_npu_smi(context)
    system = check_system(context, tool)
    yield next(system)
    paths = [path for path in sys.path if os.path.isdir(path)]
    installed, broken = installed_distributions(context, paths)
    yield check_python(context, installed)
    yield from system
    records, unreadable = read_records(context, installed)
    collisions, overwritten = check_collisions(context, installed, records)
    colliding = {finding.values["other"] for finding in collisions.findings}
    yield check_distributions(context, installed, broken, colliding)
    yield check_files(context, installed, records, unreadable, overwritten)
    if any(pin.editable for pin in context.lock.pins.values()):
        yield check_checkouts(context, installed)
    yield collisions
    yield check_strays(context, installed, records)
    yield check_requirements(context)
    if context.lock.imports:
        yield check_imports(context, installed, paths, on_npu=tool.has_npu)
    if not context.quick:
        yield check_starts(context, installed, records, paths, on_npu=tool.has_npu)
    if "torch-npu" in context.lock.pins:
        yield check_npu(context, tool)


def check_system(context: CheckContext, tool: NpuTool) -> Iterator[Group]:
    """The checks of `--skip-system-checks`: the machine, then CANN, driver and SoC if the lock has them."""
    system = context.lock.system
    yield check_machine(context)
    if "cann" in system:
        yield check_cann(context)
    if "torch-npu" in context.lock.pins or "hdk" in system or context.lock.driver:
        yield check_hdk(context, tool)
    if "soc" in system:
        yield check_soc(context, tool)


def _become(python: str, file: str, arguments: Sequence[str]) -> int:
    """Go on as that Python, isolated; returns only where it is none.

    Another program might end as if all were well.
    """
    path = os.path.abspath(python)
    result = run_program([path, "-I", "-c", f"print({_WORD!r})"], os.environ)
    if result.output.split() == [_WORD]:
        os.execv(path, [path, "-I", os.path.abspath(file), *arguments, "--python="])  # noqa: S606
    why = result.ending if result.status is None else "it does not run as Python"
    sys.stderr.write(
        f"error: {path} cannot be run: {why}\nhint: pass --python PATH of an environment\n"
    )
    return _USAGE


def _language(option: str | None, languages: Collection[str]) -> str:
    locale = next(
        filter(None, (option, *map(os.environ.get, ("LC_ALL", "LC_MESSAGES", "LANG")))), "en"
    )
    return locale[:2].lower() if locale[:2].lower() in languages else "en"


def _options(arguments: Sequence[str], languages: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="verify.py",
        description="Check whether this machine and environment match the lock. Changes nothing.",
        epilog="Exit status: 0 matches, 1 something differs, 2 invalid command.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--python",
        metavar="PATH",
        help="the environment's Python (default: the one that runs this)",
    )
    parser.add_argument(
        "--full",
        action="store_true",
        help="compare the content of every file, not just of a sample",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="import only the modules that the stack lists, instead of all of them",
    )
    parser.add_argument(
        "--seconds",
        type=_positive,
        metavar="N",
        default=SECONDS_TO_START,
        help="how long each module or command may take to start (default: %(default)s)",
    )
    parser.add_argument(
        "--machine",
        action="store_true",
        help="print what is wrong with the machine, CANN, driver and SoC, a line each",
    )
    parser.add_argument(
        "--pip-settings",
        action="store_true",
        help="print the variables that pip gets from install.sh",
    )
    parser.add_argument(
        "--changed-files",
        metavar="NAME",
        help="print what install.sh notes of an editable checkout that it has built",
    )
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object and nothing else"
    )
    parser.add_argument("--lang", choices=languages, help="the language (default: by locale)")
    parser.add_argument(
        "--skip-system-checks",
        action="store_true",
        help="only warn if the machine does not match the lock",
    )
    parser.add_argument(
        "--wheelhouse", metavar="DIR", help="use this folder in the commands that fix things"
    )
    parser.add_argument(
        "--ascend",
        metavar="DIR",
        default=os.environ.get("ASCEND_LOCK_ROOT") or "/usr/local/Ascend",
        help="where driver and CANN are installed (default: $ASCEND_LOCK_ROOT, else /usr/local/Ascend)",
    )
    return parser.parse_args(arguments)


def _positive(text: str) -> float:
    """Return the number of an option. Raises ArgumentTypeError if it is none, or not above 0."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < 1e6:
        raise argparse.ArgumentTypeError(f"`{text}` is no number of seconds above 0")
    return number


def _show_progress(line: str) -> None:
    """Show a line on the terminal in the place of the one before, or none."""
    sys.stderr.write(f"\r{printable(line)[:70]}\x1b[K" if line else "\r\x1b[K")
    sys.stderr.flush()


class UnwritableError(Exception):
    """Standard output cannot be written; the reason is that of the system, and empty for a closed pipe."""


class Report:
    """Prints groups.

    `lenient` makes warnings of what is wrong with the machine, as `--skip-system-checks` asks.
    """

    def __init__(self, context: CheckContext, *, as_json: bool, lenient: bool) -> None:
        self._context = context
        self._texts = context.lock.texts[context.language]
        self._as_json = as_json
        self._lenient = lenient
        self._groups: list[dict[str, Any]] = []
        self.is_hopeless = False  # all further findings would follow from those so far

    def begin(self) -> None:
        """The line above all."""
        lock = self._context.lock
        self._say(self._fill("label-head", {"stack": lock.stack, "target": lock.target}))

    def add(self, group: Group) -> None:
        """The line of a group that was checked."""
        row = self._row(group)
        self._groups.append(row)
        codes = Counter(finding.code for finding in group.findings)
        counts = [f"{code} ({count})" if count > 1 else code for code, count in codes.items()]
        note = ", ".join([self._note(group)] * (group.counted or not counts) + counts)
        state = self._texts[f"state-{row['state']}"]
        self._say(
            "  "
            + "  ".join(
                [_padded(self._texts[f"group-{group.name}"], 13), _padded(state, 7), note]
            ).rstrip()
        )
        for remark in group.remarks:
            self._say(self._fill("label-left-out", remark))
        self.is_hopeless = any(
            part["code"] in _ENDS and part["state"] == "wrong" for part in row["findings"]
        )

    def for_install(self, group: Group) -> str:
        """A line for each finding, for install.sh: its state, what differs and why, and its remedy, with tabs between.

        A group without findings has one, too, and so has a SoC that is unknown, as where an image
        is built.
        """
        rows = [
            ("ok", row["what"], "")
            if row["code"] in ("soc-unknown", "soc-unnamed")
            else (row["state"], self._fill("label-because", row), row["mend"])
            for row in self._row(group)["findings"]
        ]
        fine = {"what": self._texts[f"group-{group.name}"], "why": self._note(group)}
        rows = rows or [("ok", self._fill("label-because", fine), "")]
        return "".join("\t".join(map(printable, cells)) + "\n" for cells in rows)

    def end(self) -> int:
        """Everything that differs, and the exit status."""
        rows = [row for group in self._groups for row in group["findings"]]
        rows.sort(key=lambda row: row["state"] == "warning")
        wrong = sum(row["state"] == "wrong" for row in rows)
        if self._as_json:
            lock = self._context.lock
            report = {
                "schema": 1,
                "language": self._context.language,
                "status": "differs" if wrong else "as-locked",
                "stack": lock.stack,
                "target": lock.target,
                "python": sys.executable,
                "wrong": wrong,
                "warnings": len(rows) - wrong,
                "ended": self.is_hopeless,
                "groups": self._groups,
            }
            self._write(json.dumps(report, indent=2, ensure_ascii=True))
        for row in rows:
            self._say("")
            self._say(self._fill(f"label-{row['state']}", row) + f"  [{row['code']}]")
            self._say(self._fill("label-why", row))
            self._say(self._fill("label-mend", row))
        self._say("")
        if self.is_hopeless:
            self._say(self._texts["label-ended"])
        counts = {"wrong": str(wrong), "warnings": str(len(rows) - wrong)}
        self._say(self._fill("label-differs" if wrong else "label-as-locked", counts))
        return 1 if wrong else 0

    def _row(self, group: Group) -> dict[str, Any]:
        """A group and its findings as in the JSON."""
        context = self._context
        commands = {
            "python": context.python,
            "install": context.install_command,
            "fresh": context.venv_command,
        }
        rows = []
        for finding in group.findings:
            values = {
                **commands,
                "again": context.reinstall_command(finding.values.get("name", "")),
                **finding.values,
            }
            what, why, remedy = (
                self._fill(f"{finding.code}-{part}", values) for part in ("what", "why", "mend")
            )
            is_warning = finding.code in WARNINGS or (self._lenient and group.name in _SYSTEM)
            state = "warning" if is_warning else "wrong"
            row = {
                "code": finding.code,
                "state": state,
                "what": what,
                "why": why,
                "mend": finding.remedy or remedy,
            }
            rows.append({**row, "values": dict(finding.values)})
        states = {row["state"] for row in rows}
        state = "wrong" if "wrong" in states else "warning" if states else "ok"
        report = {
            "name": group.name,
            "state": state,
            "values": dict(group.values),
            "findings": rows,
        }
        return {**report, "results": list(group.results)} if group.results else report

    def _note(self, group: Group) -> str:
        """The text for a group without findings."""
        return self._fill(f"note-{group.note or group.name}", group.values)

    def _fill(self, code: str, values: Mapping[str, Any]) -> str:
        """The text of a code; empty if a remedy is always a command, or a group has no note."""
        return self._texts.get(code, "").format(**values)

    def _say(self, line: str) -> None:
        if not self._as_json:
            self._write(printable(line))

    def _write(self, text: str) -> None:
        try:
            sys.stdout.write(text + "\n")
            sys.stdout.flush()
        except BrokenPipeError:
            raise UnwritableError from None
        except OSError as error:
            raise UnwritableError(error.strerror or str(error)) from None


def printable(text: str) -> str:
    """The text on one line, what a terminal would act on as escapes."""
    if text.isprintable():
        return text
    return "".join(
        ch if ch.isprintable() else ch.encode("unicode_escape", "surrogatepass").decode()
        for ch in text
    )


def _padded(text: str, width: int) -> str:
    taken = sum(2 if unicodedata.east_asian_width(ch) in "WF" else 1 for ch in text)
    return text + " " * max(width - taken, 0)
