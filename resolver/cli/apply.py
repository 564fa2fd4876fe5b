"""Writing the stacks of a fix beside the original."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path

from resolver import files
from resolver.errors import InputError
from resolver.model.explanation import Explanation, Fix

_OPTION = "--apply"


def named_fix(letter: str, found: Sequence[Explanation]) -> Fix:
    """The fix with this letter. Raises InputError if there is none, or one for each of several targets."""
    if not found:
        raise InputError(
            "there is no conflict, so there is no way out to write", where=_OPTION, hint="lock it as it is"
        )
    fixes = [(one.problem.target.name, fix) for one in found for fix in one.fixes if fix.name.lower() == letter.lower()]
    if not fixes:
        known = ", ".join(dict.fromkeys(fix.name for one in found for fix in one.fixes)) or "none"
        raise InputError(f"there is no way out `{letter}`", where=_OPTION, hint=f"found: {known}")
    if len({fix.files for _, fix in fixes}) > 1:
        names = ", ".join(name for name, _ in fixes)
        raise InputError(
            f"several targets have different ways out `{letter}`",
            where=_OPTION,
            hint=f"choose with --target: {names}",
        )
    return fixes[0][1]


def write_fix(fix: Fix, stack: Path) -> list[Path]:
    """Write the changed stacks beside the original; never over a file with other content."""
    stacks = [(stack.with_name(f"{name}.toml"), content) for name, content in fix.files]
    for path, content in stacks:
        if _is_other(path, content):
            raise InputError(
                f"`{path}` already exists and differs; nothing was written",
                where=str(path),
                hint="move it out of the way first",
            )
    for path, content in stacks:
        files.write(path, content.encode())
    return [path for path, _ in stacks]


def _is_other(path: Path, content: str) -> bool:
    """Whether there is anything else at the path."""
    try:
        return files.read_text(path, len(content.encode()) + files.MIB) != content
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, UnicodeDecodeError):
        return True


def difference(path: Path, stack: Path, text: str) -> str:
    """The changes from the original stack to a written one, as a unified diff."""
    new = path.read_text(encoding="utf-8").splitlines(keepends=True)
    return "\n" + "".join(difflib.unified_diff(text.splitlines(keepends=True), new, str(stack), str(path))) + "\n"
