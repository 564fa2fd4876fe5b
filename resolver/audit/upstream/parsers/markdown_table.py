"""Read the rows of Markdown tables that have all wanted columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from resolver.audit.upstream.entry import Entry, TextFile
from resolver.errors import InputError
from resolver.phrase import phrase

# A cell of the line below a header.
_RULE = re.compile(r":?-+:?")
# A bar that separates two cells.
_BORDER = re.compile(r"(?<!\\)\|")


def parse(file: TextFile, columns: Mapping[str, str]) -> list[Entry]:
    """Return an entry for each row of the tables that have all wanted columns.

    Raises InputError if there is no such table, or a row cannot be read.
    """
    tables = [table for table in _tables(file) if set(columns) <= set(table.header.cells)]
    if not tables:
        wanted = ", ".join(f"`{name}`" for name in columns)
        raise InputError(
            phrase("no table has these columns"),
            where=file.where,
            why=phrase("wanted are {columns}", columns=wanted),
            hint=phrase(
                "if upstream has renamed a column, change `columns` of the table in "
                "matrices/upstream.toml"
            ),
        )
    entries: list[Entry] = []
    for table in tables:
        _check_header(file, columns, table.header)
        entries += [_entry(file, columns, table.header, row) for row in table.rows]
    return entries


class _Row(NamedTuple):
    """A line of a file, split into the cells of a table's row."""

    # The number of the line, from 1.
    line: int
    # The cells; empty if the line is no row.
    cells: list[str]


class _Table(NamedTuple):
    """A table of a file."""

    # The row with the names of the columns.
    header: _Row
    # The rows below the rule.
    rows: list[_Row]


def _tables(file: TextFile) -> Iterator[_Table]:
    """Yield the tables of a file: a header, a rule such as `|---|---|`, and rows."""
    rows = [_Row(number, _cells(line)) for number, line in enumerate(file.lines(), 1)]
    position = 0
    while position + 1 < len(rows):
        header, rule = rows[position], rows[position + 1]
        position += 1
        if not _is_rule(rule, header):
            continue
        position += 1
        body = []
        while position < len(rows) and rows[position].cells:
            body.append(rows[position])
            position += 1
        yield _Table(header, body)


def _is_rule(row: _Row, header: _Row) -> bool:
    """Return whether a row is a rule with as many cells as the header."""
    if not header.cells or len(row.cells) != len(header.cells):
        return False
    return all(_RULE.fullmatch(cell) for cell in row.cells)


def _cells(line: str) -> list[str]:
    """Return the cells of a line; empty if the line is no row of a table."""
    parts = _BORDER.split(line.strip())
    if len(parts) < 2:
        return []
    if not parts[0].strip():
        parts = parts[1:]
    if parts and not parts[-1].strip() and line.rstrip().endswith("|"):
        parts = parts[:-1]
    return [part.replace("\\|", "|").strip().strip("*`").strip() for part in parts]


def _check_header(file: TextFile, columns: Mapping[str, str], header: _Row) -> None:
    """Raise InputError if a header has a wanted column twice."""
    for name in sorted(columns):
        if header.cells.count(name) > 1:
            where = file.at(header.line)
            raise InputError(phrase("the table has two columns `{name}`", name=name), where=where)


def _entry(file: TextFile, columns: Mapping[str, str], header: _Row, row: _Row) -> Entry:
    """Return the entry of a row. Raises InputError if it has too few or too many cells."""
    count, expected = len(row.cells), len(header.cells)
    if count != expected:
        why = phrase(
            "it has {count} cells, and the table has {expected} columns",
            count=count,
            expected=expected,
        )
        raise InputError(
            phrase("a row of the table cannot be read"), where=file.at(row.line), why=why
        )
    by_header = dict(zip(header.cells, row.cells, strict=True))
    values = {}
    for name, column in columns.items():
        values[column] = file.value(
            by_header[name], row.line, phrase("the cell in `{name}`", name=name)
        )
    return Entry(values=values, first=row.line, last=row.line)
