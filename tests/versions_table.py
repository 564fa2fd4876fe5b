"""The table of docs/stacks.md, in both languages, that says which versions each shipped lock pins, made from `locks/`.

To write it anew: `.venv/bin/python -m tests.versions_table`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import takewhile
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
    """The table as that page must have it."""
    head = HEADS[page]
    return "".join([_row(head), f"|{'---|' * len(head)}\n", *map(_row, _rows())])


def shown(page: str) -> str:
    """The table as that page has it."""
    return _parts((REPOSITORY / page).read_text(encoding="utf-8"), page)[1]


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |\n"


def _rows() -> Iterator[tuple[str, ...]]:
    """Every lock with a CANN, by stack and target."""
    for folder in sorted(REPOSITORY.glob("locks/*/*-cann*")):
        lock = file.read(folder)
        if lock is not None:
            machine = lock.target.platform.partition("-")[2]
            versions = (_version(lock, name) for name in PROJECTS)
            where = f"{lock.target.system.get('soc', '')}, {machine}, Python {lock.target.python}"
            yield f"`{lock.stack}`", where, lock.target.system["cann"], *versions


def _version(lock: Lock, name: str) -> str:
    pin = next((pin for pin in lock.pin if pin.name == name), None)
    if pin is None:
        return "-"
    return f"{pin.version.partition('+')[0]} (git)" if pin.git is not None else pin.version


def _parts(text: str, page: str) -> tuple[str, str, str]:
    """What is before the table, the table (its head and all rows below), and the rest."""
    before, head, rest = text.partition(_row(HEADS[page]))
    rows = list(takewhile(lambda line: line.startswith("|"), rest.splitlines(keepends=True)))
    return before, "".join([head, *rows]), rest[len("".join(rows)) :]


def main() -> None:
    """Write the tables."""
    for page in HEADS:
        path = REPOSITORY / page
        before, _, after = _parts(path.read_text(encoding="utf-8"), page)
        path.write_text(before + table(page) + after, encoding="utf-8")


if __name__ == "__main__":
    main()
