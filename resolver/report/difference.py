"""What differs between two locks, as a document and for `--json`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from resolver.lock.previous import Difference, DifferenceRow
from resolver.model.message import joined, message
from resolver.report.document import Block, Heading, Item, Items, Paragraph, Table, line, translated

_NAMED: Final = {"pins": "project", "tools": "project", "files": "file", "facts": "fact"}  # what has the names of rows


def difference_blocks(found: Difference) -> Iterator[Block]:
    """A part for each kind of thing that differs, below headings of the third level."""
    if not found:
        yield Paragraph((line(message("difference.none")),))
    for part in found.__struct_fields__[:-1]:
        if rows := getattr(found, part):
            yield Heading(message(f"difference.{part}", count=len(rows)), level=3)
            yield _table(part, rows) if rows[0].name else Items(tuple(map(_item, rows)), most=len(rows))
    if found.others:
        yield Paragraph((line(message("difference.others", names=joined("comma", found.others))),))


def _table(part: str, rows: Sequence[DifferenceRow]) -> Table:
    came, gone = message("report.came"), message("report.gone")
    cells = [(row.name, row.old or came, row.new or gone) for row in rows]
    return Table(
        tuple(message(f"report.column-{name}") for name in (_NAMED.get(part, "what"), "was", "is")), tuple(cells)
    )


def _item(row: DifferenceRow) -> Item:
    return Item(lines=(line(row.new or row.old),), label="+" if row.new else "-")


def difference_json(found: Difference) -> dict[str, Any]:
    """The parts by name; each row has of `name`, `old` and `new` those that there are."""
    return {part: msgspec.to_builtins(translated(getattr(found, part), "en")) for part in found.__struct_fields__}
