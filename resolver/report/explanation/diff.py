"""Changes as diff lines, and texts of files line by line."""

from __future__ import annotations

from resolver.errors import shown
from resolver.model.explanation import Change, ChangeKind
from resolver.report.text import one_line


def change_diff(change: Change) -> list[str]:
    """A change as diff lines after its place; none for a split, which changes no line."""
    if change.kind is ChangeKind.SPLIT:
        return []
    lines = [f"@@ {shown(one_line(change.where))} @@"] if change.where else []
    if change.kind not in (ChangeKind.ADD, ChangeKind.STATE):  # those remove nothing
        lines += [f"-{line}" for line in safe_lines(change.before)]
    return lines + [f"+{line}" for line in safe_lines(change.after)]


def safe_lines(text: str) -> list[str]:
    """The lines of a file or of several requirements, without characters that a terminal or browser acts on."""
    return [shown(line.expandtabs(4)) for line in text.splitlines()]
