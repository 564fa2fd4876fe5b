"""Read the build requirements in a pyproject.toml (PEP 518)."""

from __future__ import annotations

from collections.abc import Mapping

from resolver import toml
from resolver.audit.upstream.entry import Entry, TextFile
from resolver.errors import InputError
from resolver.phrase import cause, phrase


def parse(file: TextFile, columns: Mapping[str, str]) -> list[Entry]:  # noqa: ARG001
    """Parse the list `build-system.requires` of a pyproject.toml.

    Return one entry, whose column `lines` is the list. `columns`, which all parsers have, is not
    used. Raises InputError if the file is no TOML or has no such list.
    """
    count = len(file.lines())
    try:
        tables = toml.loads(file.text, toml.SOURCE_TREE)
    except (ValueError, RecursionError) as error:
        message = phrase("it is not TOML that can be read")
        raise InputError(message, where=file.where, why=cause(error)) from None
    table = tables.get("build-system")
    lines = table.get("requires") if isinstance(table, dict) else None
    if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
        raise InputError(phrase("it has no list `requires` in [build-system]"), where=file.where)
    return [Entry(values={"lines": tuple(lines)}, first=1, last=count)]
