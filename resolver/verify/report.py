"""Print the report: a line for each check as it ends, then all findings; or one JSON object."""

from __future__ import annotations

import json
import sys
import time
import unicodedata
from collections import Counter
from collections.abc import Mapping
from typing import Any

from resolver.ascend.names import COMPONENTS, UNSEEN_CODES, WARNING_CODES
from resolver.verify.findings import CheckContext, Finding, Group, printable

# The codes of findings after which nothing else is checked, since they cause further differences.
_FINAL = (
    "lock-differs",
    "system-differs",
    "processor-differs",
    "python-differs",
    "environment-other",
)
# The names of the checks whose findings are warnings with `--skip-system-checks`.
_SYSTEM = ("machine", *COMPONENTS)
# The codes of findings that are warnings: they do not make verify.py fail.
WARNINGS = (
    *WARNING_CODES,
    "checkout-added",
    "checkout-uncompared",
    "distribution-conda",
    "distribution-extra",
    "distribution-leftover",
    "file-added",
    "file-unhashed",
    "import-untried",
    "lock-unreadable",
    "module-extra",
    "path-extra",
    "pip-missing",
    "python-shared",
    "python-unusable",
    "start-untried",
    "startup-added",
    "startup-changed",
    "startup-unknown",
)


class UnwritableError(Exception):
    """Standard output cannot be written. The text is the reason; empty if a pipe was closed."""


class Report:
    """Prints the results of checks, in the language of the context or as JSON."""

    def __init__(self, context: CheckContext, *, as_json: bool, lenient: bool) -> None:
        """Print JSON or text. With `lenient`, findings about the machine are only warnings."""
        self._context = context
        self._texts = context.lock.texts[context.language]
        self._as_json = as_json
        self._lenient = lenient
        self._groups: list[dict[str, Any]] = []
        self._machine: dict[str, str] = {}
        # When the checks began. A report that was kept must not pass for one of today.
        self._time = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        # The code of a finding of `_FINAL`, after which nothing else should be checked; else empty.
        self.ended_by = ""

    def begin(self) -> None:
        """Print the first line, which names the stack and the target."""
        lock = self._context.lock
        self._print(self._fill("label-head", {"stack": lock.stack, "target": lock.target}))

    def add(self, group: Group) -> None:
        """Print the line of a check, and keep its findings for `end`."""
        row = self._group_row(group)
        self._groups.append(row)
        self._machine.update(group.machine)
        self._print(self._group_line(group, row["state"]))
        for remark in group.remarks:
            self._print(self._fill("label-left-out", remark))
        for finding in row["findings"]:
            if finding["code"] in _FINAL and finding["state"] == "wrong":
                self.ended_by = finding["code"]

    def end(self) -> int:
        """Print all findings, errors first, and return the exit status: 1 if there is an error."""
        findings: list[dict[str, Any]] = []
        for group in self._groups:
            findings += group["findings"]
        findings.sort(key=lambda finding: finding["state"] == "warning")
        wrong = sum(finding["state"] == "wrong" for finding in findings)
        warnings = len(findings) - wrong
        if self._as_json:
            self._write(json.dumps(self._json_object(wrong, warnings), indent=2, ensure_ascii=True))
        for finding in findings:
            self._print("")
            title = self._fill(f"label-{finding['state']}", finding)
            self._print(f"{title}  [{finding['code']}]")
            self._print(self._fill("label-why", finding))
            self._print(self._fill("label-mend", finding))
        self._print("")
        if self.ended_by:
            self._print(self._fill("label-ended", {"code": self.ended_by}))
        counts = {"wrong": str(wrong), "warnings": str(warnings)}
        self._print(self._fill("label-differs" if wrong else "label-as-locked", counts))
        return 1 if wrong else 0

    def install_lines(self, group: Group) -> str:
        """Return the lines of a check for install.sh: state, text and remedy, separated by tabs.

        There is a line for each finding, or one line without findings. A chip that is not known is
        reported as ok, since an image may be built on a machine without an accelerator.
        """
        rows = []
        for finding in self._group_row(group)["findings"]:
            if finding["code"] in UNSEEN_CODES:
                rows.append(("ok", finding["what"], ""))
            else:
                text = self._fill("label-because", finding)
                rows.append((finding["state"], text, finding["mend"]))
        if not rows:
            values = {"what": self._texts[f"group-{group.name}"], "why": self._note(group)}
            rows.append(("ok", self._fill("label-because", values), ""))
        return "".join("\t".join(map(printable, row)) + "\n" for row in rows)

    def _json_object(self, wrong: int, warnings: int) -> dict[str, Any]:
        """Return the JSON report, with the numbers of errors and of warnings."""
        lock = self._context.lock
        return {
            "schema": 1,
            "language": self._context.language,
            "status": "differs" if wrong else "as-locked",
            "stack": lock.stack,
            "target": lock.target,
            "lock": lock.digest,
            "python": sys.executable,
            "wrong": wrong,
            "warnings": warnings,
            "ended": bool(self.ended_by),
            "checks": self._context.checks,
            "time": self._time,
            "machine": self._machine,
            "groups": self._groups,
        }

    def _group_row(self, group: Group) -> dict[str, Any]:
        """Return the object about the result of a check, as in the JSON report."""
        findings = [self._finding_row(group, finding) for finding in group.findings]
        states = {finding["state"] for finding in findings}
        state = "ok"
        if "wrong" in states:
            state = "wrong"
        elif states:
            state = "warning"
        row = {
            "name": group.name,
            "state": state,
            "values": dict(group.values),
            "findings": findings,
        }
        if group.results:
            row["results"] = list(group.results)
        return row

    def _finding_row(self, group: Group, finding: Finding) -> dict[str, Any]:
        """Return the object about a finding, as in the JSON report, with its messages filled in."""
        context = self._context
        values = {
            "python": context.python,
            "install": context.install_command,
            "fresh": context.venv_command,
            "again": context.reinstall_command(finding.values.get("name", "")),
            **finding.values,
        }
        is_excused = self._lenient and group.name in _SYSTEM
        is_warning = finding.code in WARNINGS or is_excused
        return {
            "code": finding.code,
            "state": "warning" if is_warning else "wrong",
            "what": self._fill(f"{finding.code}-what", values),
            "why": self._fill(f"{finding.code}-why", values),
            "mend": finding.remedy or self._fill(f"{finding.code}-mend", values),
            "values": dict(finding.values),
        }

    def _group_line(self, group: Group, state: str) -> str:
        """Return the line of a check: its title, its state, and its note or what was found."""
        notes = []
        if group.counted or not group.findings:
            notes.append(self._note(group))
        counts: Counter[str] = Counter()
        for finding in group.findings:
            # A finding with a list is about all in it.
            values = finding.values
            counts[finding.code] += int(values.get("count", 1)) if "list" in values else 1
        for code, count in counts.items():
            notes.append(self._fill(f"{code}-brief", {"count": str(count)}))
        title = _padded(self._texts[f"group-{group.name}"], 13)
        state_text = _padded(self._texts[f"state-{state}"], 7)
        return f"  {title}  {state_text}  {', '.join(notes)}".rstrip()

    def _note(self, group: Group) -> str:
        """Return the note of a check: what is shown if there are no findings."""
        return self._fill(f"note-{group.note or group.name}", group.values)

    def _fill(self, code: str, values: Mapping[str, Any]) -> str:
        """Return the message with this code, with the values filled in; empty if there is none.

        Some notes have no message, and neither have remedies that are commands.
        """
        return self._texts.get(code, "").format(**values)

    def _print(self, line: str) -> None:
        """Print a line of the text report; nothing is printed for the JSON report."""
        if not self._as_json:
            self._write(printable(line))

    def _write(self, text: str) -> None:
        """Write a text and a line break to standard output. Raises UnwritableError."""
        try:
            sys.stdout.write(text + "\n")
            sys.stdout.flush()
        except BrokenPipeError:
            raise UnwritableError from None
        except OSError as error:
            raise UnwritableError(error.strerror or str(error)) from None


def _padded(text: str, width: int) -> str:
    """Return a text with spaces appended up to a width in columns. A Chinese character has two."""
    columns = sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)
    return text + " " * max(width - columns, 0)
