"""What `lock` says when it is done."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from resolver.errors import shown
from resolver.model.lock import Lock
from resolver.model.problem import Problem
from resolver.render.text import count, one_line

_WIDTH = 100
_CHANGES = 10


def lock_json(lock: Lock, folder: Path, *, moved: bool) -> dict[str, Any]:
    """One target's answer for `--json`. `pins` is all that scripts need; the rest is in lock.toml.

    `moved` tells whether a pin changed since the lock before: the lock itself keeps what changed when it last did.
    """
    return {
        "status": "locked",
        "stack": lock.stack,
        "target": lock.target.name,
        "folder": str(folder),
        "pins": {pin.name: pin.version for pin in lock.pin},
        "warnings": list(lock.cautions),
        "changes": [{"name": row.name, "old": row.old, "new": row.new} for row in lock.change if moved],
    }


def summary(
    lock: Lock, problem: Problem, folder: Path, *, written: bool, moved: bool, told: Collection[str] = ()
) -> str:
    """The closing words on a terminal: what was locked, what changed, what to do next.

    `moved` tells whether a pin changed since the lock before; `told` are warnings that the reader has seen already,
    with another target.
    """
    built = [pin for pin in lock.pin if pin.mode != "wheels"]
    size = f"{count(len(lock.pin), 'distribution')} in {count(len(lock.stage), 'stage')}"
    sources = f", {len(built)} of them built from source ({', '.join(pin.name for pin in built)})" if built else ""
    lines = [f"Locked {lock.stack} for {problem.target}: {size}{sources}"]
    asked = [ask.need.name for ask in problem.stack.asks if hasattr(ask.need, "name")]
    shown = ", ".join(f"{pin.name} {pin.version}" for pin in lock.pin if pin.name in asked)
    lines += textwrap.wrap(shown, _WIDTH, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
    if not written:
        lines.append(f"Nothing changed: {folder} is as it was.")
    elif not moved or (not lock.first and not lock.change):
        lines.append(f"Written to {folder}; no pin changed.")
    elif lock.first:
        lines.append(f"Written to {folder}, which had no lock before.")
    else:
        moves = [f"{row.name} {row.old or '(new)'} -> {row.new or '(gone)'}" for row in lock.change[:_CHANGES]]
        more = f", and {len(lock.change) - _CHANGES} more" if len(lock.change) > _CHANGES else ""
        text = f"Written to {folder}; {count(len(lock.change), 'pin')} changed: {', '.join(moves)}{more}"
        lines += textwrap.wrap(text, _WIDTH, subsequent_indent="  ", break_on_hyphens=False)
    new = [warning for warning in lock.cautions if warning not in told]
    if lock.cautions:
        known = len(lock.cautions) - len(new)
        above = f", {known} of them told above" if known and new else ", all told above" if known else ""
        lines.append(f"{count(len(lock.cautions), 'warning')}{above}{':' if new else '.'}")
    for warning in new:
        lines += textwrap.wrap(one_line(warning), _WIDTH, initial_indent="  - ", subsequent_indent="    ")
    lines += [
        "Next:",
        f"  read     {folder}/report.md",
        f"  try      {folder}/install.sh --dry-run   on the target, in a fresh environment",
        f"  install  {folder}/install.sh",
        f"  use      . {folder}/activate.sh   in bash, with the environment active",
    ]
    return "\n".join(lines) + "\n"


class Row(NamedTuple):
    """What came of one target: a line of the table of several. `kind` is what it is counted as."""

    stack: str
    target: str
    seconds: float
    changes: str
    outcome: str
    kind: str


def table(rows: Sequence[Row]) -> str:
    """A line for each target, the outcome last as it may be long."""
    cells = [("stack", "target", "seconds", "changes", "outcome")]
    cells += [
        (shown(row.stack), shown(row.target or "-"), f"{row.seconds:.1f}", row.changes, shown(row.outcome))
        for row in rows
    ]
    widths = [max(len(row[column]) for row in cells) for column in range(4)]
    return "".join(
        f"{stack:<{widths[0]}}  {target:<{widths[1]}}  {seconds:>{widths[2]}}  {changes:<{widths[3]}}  {outcome}\n"
        for stack, target, seconds, changes, outcome in cells
    )


def closing_line(rows: Sequence[Row]) -> str:
    """How many of each kind."""
    kinds = {kind: sum(row.kind == kind for row in rows) for kind in ("locked", "without a solution", "failed")}
    told = ", ".join(f"{number} {kind}" for kind, number in kinds.items() if number)
    stacks, targets = len({row.stack for row in rows}), sum(bool(row.target) for row in rows)
    return f"{count(stacks, 'stack')}, {count(targets, 'target')}: {told}\n"
