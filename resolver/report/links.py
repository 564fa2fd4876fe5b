"""Make the links of a report that lead to files of facts and stacks.

A document has the address of such a file relative to the folder `matrices`. Here it becomes
relative to the folder of the report, or is removed where the link would lead nowhere.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from msgspec.structs import replace

from resolver.report.document import Span, with_parts

# The path from a target's folder to `matrices`, if `locks` and `matrices` are in one folder.
BESIDE: Final = "../../../matrices"


def way_to_matrices(locks: Path, matrices: Path) -> str:
    """Return the relative path from a target's folder in `locks` to `matrices`.

    Empty if `matrices` is not in the folder that contains `locks`. A link out of that folder would
    be dead in any other clone, and would reveal paths of this machine.
    """
    project = locks.resolve().parent
    folder = matrices.resolve()
    if not folder.is_relative_to(project):
        return ""
    path = Path(os.path.relpath(folder, locks.resolve() / "stack" / "target"))
    return quote(path.as_posix())


def linked(part: Any, matrices: str) -> Any:
    """Return a block, or a part of one, with its links relative to the report's folder.

    `matrices` is the path from there to `matrices`. If it is empty, links to files there become
    plain text.
    """
    if isinstance(part, Span):
        return replace(part, href=full_link(part.href, matrices))
    return with_parts(part, lambda inner: linked(inner, matrices))


def full_link(href: str, matrices: str) -> str:
    """Return an address relative to the report's folder.

    The address of a file is empty if `matrices` is. Web addresses and anchors are unchanged.
    """
    if not href or href.startswith(("https://", "http://", "#")):
        return href
    return f"{matrices}/{href}" if matrices else ""
