"""Read the version in a file that has nothing else, such as version.txt."""

from __future__ import annotations

from collections.abc import Mapping

from resolver.audit.upstream.entry import Entry, TextFile
from resolver.errors import InputError
from resolver.phrase import phrase


def parse(file: TextFile, columns: Mapping[str, str]) -> list[Entry]:  # noqa: ARG001
    """Return the only line as the column `version` of one entry.

    Empty lines, and lines that begin with #, are skipped. Raises InputError unless exactly one line
    remains.
    """
    found = []
    for number, line in enumerate(file.lines(), 1):
        stripped = line.strip()
        if stripped and not stripped.startswith("#"):
            found.append((number, stripped))
    if len(found) != 1:
        why = phrase("it has {count} lines of text, not one", count=len(found))
        raise InputError(phrase("the file has no version"), where=file.where, why=why)
    number, line = found[0]
    version = file.value(line, number, phrase("the version"))
    return [Entry(values={"version": version}, first=number, last=number)]
