"""Links of a report to the files of facts and stacks.

They are made where they lead somewhere, and left out elsewhere. What makes a document knows only
where a line is within that folder; who writes it knows where the folder is.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from msgspec.structs import replace

from resolver.report.document import Span, with_parts

# The path to `matrices` from a target's folder, if `locks` is beside it.
BESIDE: Final = "../../../matrices"


def way_to_matrices(locks: Path, matrices: Path) -> str:
    """Return the relative path from a target's folder in `locks` to `matrices`.

    It is empty if no link may lead there. No link leaves the folder that has `locks`: it would be
    dead in any other clone, and tell of the machine.
    """
    project = locks.resolve().parent
    folder = matrices.resolve()
    if not folder.is_relative_to(project):
        return ""
    path = Path(os.path.relpath(folder, locks.resolve() / "stack" / "target"))
    return quote(path.as_posix())


def linked(part: Any, matrices: str) -> Any:
    """Return a block, or whatever is part of one, with its links to files from the report's folder.

    `matrices` is the path from there; without one these links are plain text.
    """
    if isinstance(part, Span):
        return replace(part, href=full_link(part.href, matrices))
    return with_parts(part, lambda inner: linked(inner, matrices))


def full_link(href: str, matrices: str) -> str:
    """Return an address as it is from the report's folder.

    The address of a file is empty if no path leads to `matrices`.
    """
    if not href or href.startswith(("https://", "http://", "#")):
        return href
    return f"{matrices}/{href}" if matrices else ""
