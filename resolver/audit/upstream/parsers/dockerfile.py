"""Read a Dockerfile: the image that it is built from, and the final values of variables.

An image of CANN has a tag such as `9.1.0-beta.1-310p-ubuntu22.04-py3.12`. Its parts are the columns
`cann`, `chip`, `os` and `python`; the column `image` is the whole name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from resolver.audit.upstream.entry import Entry, TextFile
from resolver.errors import InputError
from resolver.phrase import literal, phrase

_TAG = re.compile(
    r"(?P<cann>\d[0-9A-Za-z._-]*?)-(?P<chip>[0-9a-z]+)-(?P<os>[a-z]+[0-9.]+)-py(?P<python>\d+\.\d+)"
)
_VARIABLE = re.compile(r"\$(?:\{(?P<braced>\w+)(?::-(?P<otherwise>[^}]*))?\}|(?P<plain>\w+))")
_ASSIGNMENT = re.compile(r"""(?P<name>[A-Za-z_]\w*)=(?P<value>"[^"]*"|'[^']*'|[^\s"']*)""")
_EXPORT = re.compile(r"\bexport\s+" + _ASSIGNMENT.pattern)
_FROM = re.compile(
    r"(?:--platform=\S+\s+)?(?P<image>\S+)(?:\s+AS\s+(?P<stage>\S+))?\s*\Z", re.IGNORECASE
)

# The longest value after its variables are replaced, in characters.
_LONGEST = 20_000


class _Instruction(NamedTuple):
    """An instruction of a Dockerfile."""

    # The number of its first line, from 1.
    line: int
    # The name in capitals, such as FROM.
    name: str
    # The rest of the instruction, joined to one line.
    arguments: str


class _Set(NamedTuple):
    """A value, and the line that sets it."""

    # The value.
    value: str
    # The number of the line.
    line: int


def parse(file: TextFile, columns: Mapping[str, str]) -> list[Entry]:
    """Return one entry with the parts of the image, and with the wanted variables.

    A variable has the value of the last ARG, ENV or `export` with its name; its column is empty if
    it is not set. Raises InputError if the Dockerfile begins with no image of CANN.
    """
    image, variables = _read(file, columns)
    tag = _TAG.fullmatch(image.value.rpartition(":")[2])
    if tag is None:
        raise InputError(
            phrase("the Dockerfile begins with no image of CANN"),
            where=file.at(image.line),
            why=phrase(
                "`{image}` has no tag such as 9.0.0-910b-ubuntu22.04-py3.11", image=image.value
            ),
        )
    values = {"image": image.value, **tag.groupdict()}
    lines = [image.line]
    for name, column in columns.items():
        variable = variables.get(name, _Set("", image.line))
        values[column] = file.value(variable.value, variable.line, literal(f"`{name}`"))
        lines.append(variable.line)
    return [Entry(values=values, first=min(lines), last=max(lines))]


def _read(file: TextFile, columns: Mapping[str, str]) -> tuple[_Set, Mapping[str, _Set]]:
    """Return the image that the last stage is built from, and the final values of variables."""
    variables: dict[str, _Set] = {}
    stages: dict[str, _Set] = {}
    image: _Set | None = None
    for instruction in _instructions(file):
        line = instruction.line
        if instruction.name == "FROM":
            arguments = _expanded(instruction.arguments, variables, file.at(line))
            image = _base(file, line, arguments, stages)
        for name, text in _assignments(instruction, columns):
            variables[name] = _Set(_expanded(text, variables, file.at(line)), line)
    if image is None:
        raise InputError(phrase("the Dockerfile begins with no image"), where=file.where)
    return image, variables


def _assignments(
    instruction: _Instruction, columns: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Yield the variables that an instruction sets, with their values.

    Of variables that a shell exports, only the wanted ones are yielded.
    """
    if instruction.name in ("ARG", "ENV"):
        for match in _ASSIGNMENT.finditer(instruction.arguments):
            yield match["name"], _bare(match["value"])
    elif instruction.name == "RUN":
        for match in _EXPORT.finditer(instruction.arguments):
            if match["name"] in columns:
                yield match["name"], _bare(match["value"])


def _instructions(file: TextFile) -> Iterator[_Instruction]:
    """Yield the instructions. A line that ends in a backslash continues on the next line."""
    first, joined = 0, ""
    for number, line in enumerate(file.lines(), 1):
        if line.lstrip().startswith("#") or (not joined and not line.strip()):
            continue
        first = first or number
        if line.rstrip().endswith("\\"):
            joined += line.rstrip()[:-1] + " "
            continue
        name, _, arguments = (joined + line).strip().partition(" ")
        yield _Instruction(first, name.upper(), arguments.strip())
        first, joined = 0, ""


def _base(file: TextFile, number: int, arguments: str, stages: dict[str, _Set]) -> _Set:
    """Return the image that a FROM starts from, and remember the stage that it begins.

    If FROM names an earlier stage, it is the image that this stage started from.
    """
    match = _FROM.match(arguments)
    if match is None:
        why = literal(f"`{file.value(arguments, number, literal('FROM'))}`")
        raise InputError(phrase("a FROM cannot be read"), where=file.at(number), why=why)
    image = file.value(match["image"], number, phrase("the image"))
    base = stages.get(match["image"], _Set(image, number))
    if match["stage"]:
        stages[match["stage"]] = base
    return base


def _expanded(text: str, variables: Mapping[str, _Set], where: str) -> str:
    """Return a text with variables replaced by their values; by nothing if they are not set.

    Raises InputError if the result is too long: variables can double the text again and again.
    """

    def value(match: re.Match[str]) -> str:
        """Return the value that replaces one variable."""
        name = match["braced"] or match["plain"]
        variable = variables.get(name)
        if variable is not None and variable.value:
            return variable.value
        return match["otherwise"] or ""

    expanded = _VARIABLE.sub(value, text)
    if len(expanded) > _LONGEST:
        why = phrase("with its variables it has {count} characters", count=len(expanded))
        raise InputError(phrase("a value is too long"), where=where, why=why)
    return expanded


def _bare(text: str) -> str:
    """Return a value without the quotes around it."""
    return text[1:-1] if text[:1] in ('"', "'") else text
