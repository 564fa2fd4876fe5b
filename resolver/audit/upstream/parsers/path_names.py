"""Read values from the path of a file, such as the tag of an image."""

from __future__ import annotations

import re
from collections.abc import Mapping

from resolver.audit.upstream.entry import Entry, TextFile
from resolver.errors import InputError
from resolver.phrase import literal, phrase


def parse(file: TextFile, columns: Mapping[str, str]) -> list[Entry]:
    """Return an entry with the named groups of a regular expression that matches the whole path.

    The expression is the only key of `columns`. There is no entry if it does not match. Raise
    InputError if there is not exactly one expression.
    """
    if len(columns) != 1:
        raise InputError(phrase("names of paths have one regular expression"), where=file.where)
    (pattern,) = columns
    match = re.fullmatch(pattern, file.path)
    if match is None:
        return []
    values = {}
    for name, value in match.groupdict(default="").items():
        values[name] = file.value(value, 1, literal(f"`{name}`"))
    return [Entry(values=values, first=1, last=1)]
