"""version.txt: the one version in it."""

from __future__ import annotations

from collections.abc import Mapping

from resolver.audit.upstream.entry import Entry, TextFile
from resolver.errors import InputError


def parse(file: TextFile, columns: Mapping[str, str]) -> list[Entry]:  # noqa: ARG001
    """Return the line as `version`; lines that begin with # do not count.

    Raises InputError unless there is one.
    """
    found = [
        (number, line.strip())
        for number, line in enumerate(file.lines(), 1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    if len(found) != 1:
        raise InputError(
            "the file has no version",
            where=file.where,
            why=f"it has {len(found)} lines of text, not one",
        )
    number, line = found[0]
    return [
        Entry(
            values={"version": file.value(line, number, "the version")}, first=number, last=number
        )
    ]
