"""What `lock` says when it is done."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

from resolver.model.lock import Lock
from resolver.model.problem import Problem
from resolver.render.text import count, one_line

_WIDTH = 100
_CHANGES = 10


def lock_json(lock: Lock, folder: Path, *, written: bool) -> dict[str, Any]:
    """One target's answer for `--json`. `pins` is all that scripts need; the rest is in lock.toml.

    The status of a target is "solved" where another one's conflict kept it from being written.
    """
    return {
        "status": "locked" if written else "solved",
        "stack": lock.stack,
        "target": lock.target.name,
        "folder": str(folder),
        "pins": {pin.name: pin.version for pin in lock.pin},
        "warnings": list(lock.cautions),
        "changes": [{"name": row.name, "old": row.old, "new": row.new} for row in lock.change],
    }


def summary(lock: Lock, problem: Problem, folder: Path, *, written: bool, moved: bool) -> str:
    """The closing words on a terminal: what was locked, what changed, what to do next.

    `moved` tells whether a pin changed since the lock before.
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
    if lock.cautions:
        lines.append(f"{count(len(lock.cautions), 'warning')}:")
    for warning in lock.cautions:
        lines += textwrap.wrap(one_line(warning), _WIDTH, initial_indent="  - ", subsequent_indent="    ")
    lines += [
        "Next:",
        f"  read     {folder}/report.md",
        f"  try      {folder}/install.sh --dry-run   on the target, in a fresh environment",
        f"  install  {folder}/install.sh",
    ]
    return "\n".join(lines) + "\n"
