"""Read the requirements of a requirements file as one list."""

from __future__ import annotations

from collections.abc import Mapping

from packaging.requirements import InvalidRequirement

from resolver.audit.upstream.entry import Entry, TextFile
from resolver.errors import InputError
from resolver.model import text


def parse(file: TextFile, columns: Mapping[str, str]) -> list[Entry]:  # noqa: ARG001
    """Return the requirements as `lines`. Options of pip are left out.

    Raise InputError for what is neither.
    """
    lines = []
    count = len(file.lines())
    for number, line in text.file_lines(file.text):
        if line.startswith("-"):
            option, name = text.file_option(line)
            if option:
                raise InputError(f"it includes another file, `{name}`", where=file.at(number))
            continue
        plain = file.value(line, number, "the line")
        try:
            text.requirement(plain)
        except InvalidRequirement as error:
            why, _, _ = str(error).partition("\n")
            what = f"`{plain}` is no requirement"
            raise InputError(what, where=file.at(number), why=why) from None
        lines.append(plain)
    if not lines:
        raise InputError("the file has no requirements", where=file.where)
    return [Entry(values={"lines": tuple(lines)}, first=1, last=count)]
