"""Tables in Markdown: of each that has all wanted columns, the rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from resolver.audit.upstream.entry import Entry, TextFile
from resolver.errors import InputError

_RULE = re.compile(r":?-+:?")
_BORDER = re.compile(r"(?<!\\)\|")


def parse(file: TextFile, columns: Mapping[str, str]) -> list[Entry]:
    """Return the rows of all tables that have these columns.

    Raises InputError if there is none, or a row is odd.
    """
    entries: list[Entry] = []
    found = False
    for number, header, rows in _tables(file):
        if not set(columns) <= set(header):
            continue
        repeated = sorted({name for name in header if name in columns and header.count(name) > 1})
        if repeated:
            raise InputError(f"the table has two columns `{repeated[0]}`", where=file.at(number))
        found = True
        entries += (_entry(file, columns, header, at, cells) for at, cells in rows)
    if not found:
        why = f"wanted are {', '.join(f'`{name}`' for name in columns)}"
        hint = "if upstream has renamed a column, change `columns` of the table in matrices/upstream.toml"
        raise InputError("no table has these columns", where=file.where, why=why, hint=hint)
    return entries


def _tables(file: TextFile) -> Iterator[tuple[int, list[str], list[tuple[int, list[str]]]]]:
    """Yield the line of each table's header, the header, and its rows with their lines."""
    lines = file.lines()
    number = 0
    while number + 1 < len(lines):
        header, rule = _cells(lines[number]), _cells(lines[number + 1])
        number += 1
        if not header or len(rule) != len(header) or not all(map(_RULE.fullmatch, rule)):
            continue
        first = number
        rows: list[tuple[int, list[str]]] = []
        number += 1
        while number < len(lines) and (cells := _cells(lines[number])):
            rows.append((number + 1, cells))
            number += 1
        yield first, header, rows


def _cells(line: str) -> list[str]:
    """Return the cells of a row; none if the line is not one."""
    parts = _BORDER.split(line.strip())
    if len(parts) < 2:
        return []
    if not parts[0].strip():
        parts = parts[1:]
    if parts and not parts[-1].strip() and line.rstrip().endswith("|"):
        parts = parts[:-1]
    return [part.replace("\\|", "|").strip().strip("*`").strip() for part in parts]


def _entry(
    file: TextFile,
    columns: Mapping[str, str],
    header: Sequence[str],
    number: int,
    cells: Sequence[str],
) -> Entry:
    if len(cells) != len(header):
        why = f"it has {len(cells)} cells, and the table has {len(header)} columns"
        raise InputError("a row of the table cannot be read", where=file.at(number), why=why)
    by_header = dict(zip(header, cells, strict=True))
    values = {
        column: file.value(by_header[name], number, f"the cell in `{name}`")
        for name, column in columns.items()
    }
    return Entry(values=values, first=number, last=number)
