"""A conflict as text and as JSON."""

from __future__ import annotations

from typing import Any

from resolver.errors import shown
from resolver.model.conflict import Conflict
from resolver.render.text import one_line

_WIDTH = 72


def conflict_text(conflict: Conflict) -> str:
    """The page for a terminal."""
    problem = conflict.problem
    lines = [f"No environment satisfies {problem.stack.name} for {problem.target}.", ""]
    lines.append(f"Why: these {len(conflict.clashes)} cannot hold together")
    for number, clash in enumerate(conflict.clashes, 1):
        text = shown(one_line(clash.text))
        where = shown(one_line(clash.where)) + (f" ({clash.strength})" if clash.strength else "")
        lines.append(f"  {number:>2}  {text:<{_WIDTH}}  {where}".rstrip())
        if clash.evidence:
            lines.append(f"      {'':<{_WIDTH}}  {shown(one_line(clash.evidence))}")
    lines += ["", "hint: change one of the stack's lines or the target; nothing was written, an old lock stays"]
    return "\n".join(lines) + "\n"


def conflict_json(conflict: Conflict) -> dict[str, Any]:
    """One target's answer for `--json`."""
    return {
        "status": "conflict",
        "stack": conflict.problem.stack.name,
        "target": conflict.problem.target.name,
        "clashes": [
            {"text": clash.text, "where": clash.where, "evidence": clash.evidence, "strength": clash.strength}
            for clash in conflict.clashes
        ],
    }
