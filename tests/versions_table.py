"""The table of the versions that each shipped lock pins, for docs/stacks.md in both languages.

To write it anew: `.venv/bin/python -m tests.versions_table`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from resolver.lock import file
from resolver.model.lock import Lock

REPOSITORY = Path(__file__).resolve().parents[1]
PROJECTS = ("torch", "torch-npu", "vllm", "vllm-ascend", "verl")
HEADS = {
    "docs/stacks.md": ("stack", "target", "CANN", *PROJECTS),
    "docs/stacks.zh-CN.md": ("软件栈", "目标", "CANN", *PROJECTS),
}


def table(page: str) -> str:
    """Return the table of a page."""
    head = HEADS[page]
    return "".join([_row(head), f"|{'---|' * len(head)}\n", *map(_row, _rows())])


def updated(page: str) -> str:
    """Return the text of a page with the table as it must be."""
    old = re.escape(_row(HEADS[page])) + r"(?:\|.*\n)*"
    text, number = re.subn(
        old, lambda _: table(page), (REPOSITORY / page).read_text(encoding="utf-8")
    )
    assert number == 1
    return text


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |\n"


def _rows() -> Iterator[tuple[str, ...]]:
    """Yield the row of each lock with a CANN, by stack and target."""
    for folder in sorted(REPOSITORY.glob("locks/*/*-cann*")):
        lock = file.read(folder)
        if lock is not None:
            machine = lock.target.platform.partition("-")[2]
            versions = (_version(lock, name) for name in PROJECTS)
            where = f"{lock.target.system.get('soc', '')}, {machine}, Python {lock.target.python}"
            yield f"`{lock.stack}`", where, lock.target.system["cann"], *versions


def _version(lock: Lock, name: str) -> str:
    """Return the version that a lock pins; "-" if it does not pin the project."""
    for pin in lock.pin:
        if pin.name == name:
            is_from_git = pin.git is not None
            return f"{pin.version.partition('+')[0]} (git)" if is_from_git else pin.version
    return "-"


if __name__ == "__main__":
    for page in HEADS:
        (REPOSITORY / page).write_text(updated(page), encoding="utf-8")
