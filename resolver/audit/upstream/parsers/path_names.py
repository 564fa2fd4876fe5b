"""Names of folders and files that say what they have, such as tags of images."""

from __future__ import annotations

import re
from collections.abc import Mapping

from resolver.audit.upstream.entry import Entry, TextFile
from resolver.errors import InputError


def parse(file: TextFile, columns: Mapping[str, str]) -> list[Entry]:
    """Return the groups of the regular expression that is the only key of `columns`; nothing unless it matches.

    It is compared with the whole path. Raises InputError if there is not one expression.
    """
    if len(columns) != 1:
        raise InputError("names of paths have one regular expression", where=file.where)
    (pattern,) = columns
    match = re.fullmatch(pattern, file.path)
    if match is None:
        return []
    values = {
        name: file.value(value or "", 1, f"`{name}`") for name, value in match.groupdict().items()
    }
    return [Entry(values=values, first=1, last=1)]
