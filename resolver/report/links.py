"""Links of a report to the files of facts and stacks: made where they lead somewhere, and left out elsewhere.

What makes a document knows only where a line is within that folder; who writes it knows where the
folder is.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import msgspec
from msgspec.structs import replace

from resolver.report.document import Span

BESIDE: Final = "../../../matrices"  # the way where `locks` and `matrices` are beside each other


def way_to_matrices(locks: Path, matrices: Path) -> str:
    """Return the relative path from a target's folder in `locks` to `matrices`; empty if no link may lead there.

    None leaves the folder that has `locks`: it would be dead in any other clone, and tell of the
    machine.
    """
    project, folder = locks.resolve().parent, matrices.resolve()
    if not folder.is_relative_to(project):
        return ""
    return quote(Path(os.path.relpath(folder, locks.resolve() / "stack" / "target")).as_posix())


def linked(part: Any, matrices: str) -> Any:
    """Return a block, or whatever is part of one, with its links to files from the report's folder.

    `matrices` is the way from there; without one these links are plain text.
    """
    match part:
        case Span():
            return replace(part, href=full_link(part.href, matrices))
        case tuple():
            return tuple(linked(element, matrices) for element in part)
        case msgspec.Struct():
            fields = {
                name: linked(getattr(part, name), matrices) for name in part.__struct_fields__
            }
            return replace(part, **fields)
        case _:
            return part


def full_link(href: str, matrices: str) -> str:
    """Return the address as it is from the report's folder; empty if it is that of a file to which no way leads."""
    if not href or href.startswith(("https://", "http://", "#")):
        return href
    return f"{matrices}/{href}" if matrices else ""
