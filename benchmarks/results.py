"""results.json and RESULTS.md: what was measured last of each case, with when, on what and how."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
DATA = HERE / "results.json"
REPORT = HERE / "RESULTS.md"

Row = dict[str, Any]

_HEAD = """\
# Measured

Written by `make bench`; how it is measured, and what makes the sets equal, is in [README.md](README.md). Each figure
is a median; a ratio is the median of the ratios of neighbours, ours / theirs, with the least and the greatest. Wall and
CPU in seconds, peak memory in MiB.
"""


def write(rows: Sequence[Row], machine: str, versions: Sequence[str]) -> None:
    """Put rows in the place of those of the same set, case and program, and write both files."""
    known: dict[str, Row] = json.loads(DATA.read_text("utf-8")) if DATA.exists() else {}
    for row in rows:
        key = f"{row['set']} {row['case']} {row['other']}"
        known[key] = row | {"machine": machine, "versions": list(versions)}
    DATA.write_text(json.dumps(known, indent=1) + "\n", "utf-8")
    REPORT.write_text(report(list(known.values())), "utf-8")


def report(rows: Sequence[Row]) -> str:
    """RESULTS.md."""
    parts = [_HEAD]
    for name in dict.fromkeys(row["set"] for row in rows):
        mine = [row for row in rows if row["set"] == name]
        parts.append(f"## {name}\n")
        parts.append(
            "| case | | ours / theirs | ratio (min..max) | target | rounds, date, load before and after |"
        )
        parts.append("|---|---|---:|---:|---|---|")
        for row in mine:
            parts += _lines(row)
        parts.append("")
        for what in dict.fromkeys(f"- `{row['case']}`: {row['what']}." for row in mine):
            parts.append(what)
        for row in mine:
            if row["pins"]:
                parts.append(f"- Pins, {row['case']}, {row['other']}: {_pins(row)}.")
        made = dict.fromkeys(f"{row['machine']}; {', '.join(row['versions'])}" for row in mine)
        parts.append(f"- Made on: {' / '.join(made)}.")
        chosen = "" if name in ("all", "native") else f" --set {name}"
        cases = " ".join(f"--only {case}" for case in dict.fromkeys(row["case"] for row in mine))
        parts.append(f"- Again: `.venv/bin/python benchmarks/bench.py{chosen} {cases}`\n")
    return "\n".join(parts)


def _lines(row: Row) -> list[str]:
    lines = []
    for measured, one in row["ratios"].items():
        form = ".0f" if measured == "peak" else ".2f"
        target = (
            ""
            if one["target"] is None
            else f"{one['target']:g}: {'met' if one['met'] else 'not met'}"
        )
        first = f"{row['case']}, {row['other']}" if measured == "wall" else ""
        when = f"{row['rounds']}, {row['date']}, {row['load']['before']}; {row['load']['after']}"
        lines.append(
            f"| {first} | {measured} | {one['ours']:{form}} / {one['theirs']:{form}} "
            f"| {one['ratio']:.2f} ({one['least']:.2f}..{one['most']:.2f}) | {target} "
            f"| {when if measured == 'wall' else ''} |"
        )
    return lines


def _pins(row: Row) -> str:
    ours, theirs = row["pins"]
    if not row["differ"]:
        return f"{ours}, the same"
    few = "; ".join(row["differ"][:4])
    return f"{ours} and {theirs}, {len(row['differ'])} differ ({few}{'; …' if len(row['differ']) > 4 else ''})"
