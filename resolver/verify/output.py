"""What is printed: a line for each group while the checks run, then what differs; or one JSON object."""

from __future__ import annotations

import json
import sys
import unicodedata
from collections import Counter
from collections.abc import Mapping
from typing import Any

from resolver.verify.findings import Asked, Group

_ENDS = ("system-differs", "processor-differs", "python-differs", "environment-other")
_SYSTEM = ("machine", "cann", "hdk", "soc")
# What does not fail
WARNINGS = (
    "cann-file-unreadable",
    "cann-half-active",
    "distribution-conda",
    "distribution-extra",
    "distribution-leftover",
    "hdk-file-unreadable",
    "hdk-not-running",
    "hdk-unmet",
    "import-untried",
    "npu-absent",
    "pip-missing",
    "python-shared",
    "soc-unknown",
    "soc-unnamed",
)


class UnwritableError(Exception):
    """Standard output takes no more; the reason as the system tells it, empty where only the reader has gone."""


class Report:
    """Tells of groups. `lenient` makes warnings of what is wrong with the machine, as `--skip-system-checks` asks."""

    def __init__(self, asked: Asked, *, as_json: bool, lenient: bool) -> None:
        self._asked = asked
        self._texts = asked.lock.texts[asked.language]
        self._as_json = as_json
        self._lenient = lenient
        self._groups: list[dict[str, Any]] = []
        self.is_hopeless = False  # all that is still to be looked at would follow from what was found

    def begin(self) -> None:
        """The line above all."""
        lock = self._asked.lock
        self._say(self._fill("label-head", {"stack": lock.stack, "target": lock.target}))

    def add(self, group: Group) -> None:
        """The line of a group that was checked."""
        told = self._told(group)
        self._groups.append(told)
        codes = Counter(finding.code for finding in group.findings)
        counted = [f"{code} ({count})" if count > 1 else code for code, count in codes.items()]
        note = ", ".join(counted) or self._note(group)
        state = self._texts[f"state-{told['state']}"]
        self._say("  " + "  ".join([_padded(self._texts[f"group-{group.name}"], 13), _padded(state, 7), note]).rstrip())
        self.is_hopeless = any(row["code"] in _ENDS and row["state"] == "wrong" for row in told["findings"])

    def for_install(self, group: Group) -> str:
        """A line for each finding, for install.sh: its state, what differs and why, and what mends it, between tabs.

        What is fine has one, too, and so has a SoC that is unknown, as where an image is built.
        """
        rows = [
            ("ok", row["what"], "")
            if row["code"] in ("soc-unknown", "soc-unnamed")
            else (row["state"], self._fill("label-because", row), row["mend"])
            for row in self._told(group)["findings"]
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
            self._write(json.dumps(self._object(wrong, len(rows) - wrong), indent=2, ensure_ascii=True))
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

    def _object(self, wrong: int, warnings: int) -> dict[str, Any]:
        lock = self._asked.lock
        return {
            "schema": 1,
            "language": self._asked.language,
            "status": "differs" if wrong else "as-locked",
            "stack": lock.stack,
            "target": lock.target,
            "python": sys.executable,
            "wrong": wrong,
            "warnings": warnings,
            "ended": self.is_hopeless,
            "groups": self._groups,
        }

    def _told(self, group: Group) -> dict[str, Any]:
        """A group and its findings as they are told, in the form of the JSON."""
        asked = self._asked
        commands = {"python": asked.python, "install": asked.install, "fresh": asked.fresh}
        rows = []
        for finding in group.findings:
            values = {**commands, "again": asked.again(finding.values.get("name", "")), **finding.values}
            what, why, mend = (self._fill(f"{finding.code}-{part}", values) for part in ("what", "why", "mend"))
            is_warning = finding.code in WARNINGS or (self._lenient and group.name in _SYSTEM)
            state = "warning" if is_warning else "wrong"
            row = {"code": finding.code, "state": state, "what": what, "why": why, "mend": finding.mend or mend}
            rows.append({**row, "values": dict(finding.values)})
        states = {row["state"] for row in rows}
        state = "wrong" if "wrong" in states else "warning" if states else "ok"
        return {"name": group.name, "state": state, "values": dict(group.values), "findings": rows}

    def _note(self, group: Group) -> str:
        """What is told of a group that is fine."""
        return self._fill(f"note-{group.note or group.name}", group.values)

    def _fill(self, code: str, values: Mapping[str, Any]) -> str:
        """The text of a code; there is none for what a command says alone, and for a note of nothing."""
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
    return "".join(ch if ch.isprintable() else ch.encode("unicode_escape", "surrogatepass").decode() for ch in text)


def _padded(text: str, width: int) -> str:
    taken = sum(2 if unicodedata.east_asian_width(ch) in "WF" else 1 for ch in text)
    return text + " " * max(width - taken, 0)
