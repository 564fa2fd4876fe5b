"""results.json, RESULTS.md and mirrors.svg: the last figures of each case, with their date."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ratios import ratios_svg

HERE = Path(__file__).resolve().parent
DATA = HERE / "results.json"
REPORT = HERE / "RESULTS.md"
PLOT = HERE / "mirrors.svg"

Row = dict[str, Any]

_HEAD = """\
# Measured

Written by `make bench`; how it is measured, and what makes the sets equal, is in \
[README.md](README.md). Each figure
is a median; a ratio is the median of the ratios of neighbours, ours / theirs, with the least \
and the greatest. Wall and
CPU in seconds, peak memory in MiB.
"""
_COLUMNS = (
    "| case | | ours / theirs | ratio (min..max) | target | rounds, date, load before and after |\n"
    "|---|---|---:|---:|---|---|"
)
# How many of the pins that differ are named.
_NAMED = 4


def write(rows: Sequence[Row], machine: str, versions: Sequence[str]) -> None:
    """Replace the rows of the same set, case and program, and write all three files."""
    known: dict[str, Row] = json.loads(DATA.read_text("utf-8")) if DATA.exists() else {}
    for row in rows:
        key = f"{row['set']} {row['case']} {row['other']}"
        known[key] = row | {"machine": machine, "versions": list(versions)}
    DATA.write_text(json.dumps(known, indent=1) + "\n", "utf-8")
    REPORT.write_text(report(list(known.values())), "utf-8")
    mirrors = [row for row in known.values() if row["set"] == "mirror"]
    if mirrors:
        PLOT.write_text(ratios_svg(mirrors), "utf-8")


def report(rows: Sequence[Row]) -> str:
    """Return RESULTS.md."""
    parts = [_HEAD]
    for set_name in dict.fromkeys(row["set"] for row in rows):
        parts += _section(set_name, [row for row in rows if row["set"] == set_name])
    return "\n".join(parts)


def _section(set_name: str, rows: Sequence[Row]) -> list[str]:
    """Return the lines about a set."""
    lines = [f"## {set_name}\n", _COLUMNS]
    for row in rows:
        lines += _lines(row)
    if set_name == "mirror":
        lines.append(f"\n![ratios to uv; a ring is the target]({PLOT.name})")
    lines.append("")
    lines += dict.fromkeys(f"- `{row['case']}`: {row['what']}." for row in rows)
    for row in rows:
        if row["pins"]:
            lines.append(f"- Pins, {row['case']}, {row['other']}: {_pins(row)}.")
    machines = dict.fromkeys(f"{row['machine']}; {', '.join(row['versions'])}" for row in rows)
    lines.append(f"- Made on: {' / '.join(machines)}.")
    command = ".venv/bin/python benchmarks/bench.py"
    option = "only"
    if set_name == "mirror":
        command += " --only mirror"
        option = "mirror"
    elif set_name not in ("all", "native"):
        command += f" --set {set_name}"
    for case in dict.fromkeys(row["case"] for row in rows):
        command += f" --{option} {case}"
    lines.append(f"- Again: `{command}`\n")
    return lines


def _lines(row: Row) -> list[str]:
    """Return a line of the table for each measure of a case."""
    case = f"{row['case']}, {row['other']}"
    when = f"{row['rounds']}, {row['date']}, {row['load']['before']}; {row['load']['after']}"
    lines = []
    for measure, figures in row["ratios"].items():
        form = ".0f" if measure == "peak" else ".2f"
        values = f"{figures['ours']:{form}} / {figures['theirs']:{form}}"
        ratio = f"{figures['ratio']:.2f} ({figures['least']:.2f}..{figures['most']:.2f})"
        target = ""
        if figures["target"] is not None:
            target = f"{figures['target']:g}: {'met' if figures['met'] else 'not met'}"
        lines.append(f"| {case} | {measure} | {values} | {ratio} | {target} | {when} |")
        # Only the first line tells the case.
        case = when = ""
    return lines


def _pins(row: Row) -> str:
    ours, theirs = row["pins"]
    if not row["differ"]:
        return f"{ours}, the same"
    differences = row["differ"]
    named = differences[:_NAMED]
    if len(differences) > _NAMED:
        named.append("…")
    return f"{ours} and {theirs}, {len(differences)} differ ({'; '.join(named)})"
