"""Read the requirements of a requirements file as one list."""

from __future__ import annotations

from collections.abc import Mapping

from packaging.requirements import InvalidRequirement

from resolver.audit.upstream.entry import Entry, TextFile
from resolver.errors import InputError
from resolver.model import text
from resolver.phrase import cause, phrase


def parse(file: TextFile, columns: Mapping[str, str]) -> list[Entry]:  # noqa: ARG001
    """Return all requirements as the column `lines` of one entry. Options of pip are left out.

    Raises InputError for an invalid line, for a file that includes another one, and for a file
    without requirements.
    """
    lines = []
    count = len(file.lines())
    for number, line in text.file_lines(file.text):
        if line.startswith("-"):
            option, name = text.file_option(line)
            if option:
                raise InputError(
                    phrase("it includes another file, `{name}`", name=name), where=file.at(number)
                )
            continue
        plain = file.value(line, number, phrase("the line"))
        try:
            text.requirement(plain)
        except InvalidRequirement as error:
            message = phrase("`{line}` is no requirement", line=plain)
            raise InputError(message, where=file.at(number), why=cause(error)) from None
        lines.append(plain)
    if not lines:
        raise InputError(phrase("the file has no requirements"), where=file.where)
    return [Entry(values={"lines": tuple(lines)}, first=1, last=count)]
