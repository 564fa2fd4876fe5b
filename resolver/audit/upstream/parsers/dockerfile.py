"""Dockerfiles: the image that they begin with, and the values of variables where the build ends.

An image of CANN has a tag such as `9.1.0-beta.1-310p-ubuntu22.04-py3.12`, of which the parts are
`cann`, `chip`, `os` and `python`; `image` is all of its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from resolver.audit.upstream.entry import Entry, TextFile
from resolver.errors import InputError

_TAG = re.compile(
    r"(?P<cann>\d[0-9A-Za-z._-]*?)-(?P<chip>[0-9a-z]+)-(?P<os>[a-z]+[0-9.]+)-py(?P<python>\d+\.\d+)"
)
_VARIABLE = re.compile(r"\$(?:\{(?P<braced>\w+)(?::-(?P<otherwise>[^}]*))?\}|(?P<plain>\w+))")
_ASSIGNMENT = re.compile(r"""(?P<name>[A-Za-z_]\w*)=(?P<value>"[^"]*"|'[^']*'|[^\s"']*)""")
_EXPORT = re.compile(r"\bexport\s+" + _ASSIGNMENT.pattern)
_FROM = re.compile(
    r"(?:--platform=\S+\s+)?(?P<image>\S+)(?:\s+AS\s+(?P<stage>\S+))?\s*\Z", re.IGNORECASE
)

_LONGEST = 20_000


def parse(file: TextFile, columns: Mapping[str, str]) -> list[Entry]:
    """Return the image's parts, and the variables in `columns` by their names there.

    Raises InputError.

    A variable is that of the last ARG, ENV or `export` with its name. One that is not set, or to
    nothing, has no value.
    """
    variables: dict[str, tuple[str, int]] = {}
    stages: dict[str, tuple[str, int]] = {}
    image: tuple[str, int] | None = None
    for number, instruction, rest in _instructions(file):
        if instruction == "FROM":
            image = _base(file, number, _expanded(rest, variables, file.at(number)), stages)
        elif instruction in ("ARG", "ENV"):
            for match in _ASSIGNMENT.finditer(rest):
                variables[match["name"]] = (
                    _expanded(_bare(match["value"]), variables, file.at(number)),
                    number,
                )
        elif instruction == "RUN":
            for match in _EXPORT.finditer(rest):
                if match["name"] in columns:
                    variables[match["name"]] = (
                        _expanded(_bare(match["value"]), variables, file.at(number)),
                        number,
                    )
    if image is None:
        raise InputError("the Dockerfile begins with no image", where=file.where)
    name, line = image
    tag = _TAG.fullmatch(name.rpartition(":")[2])
    if tag is None:
        why = f"`{name}` has no tag such as 9.0.0-910b-ubuntu22.04-py3.11"
        raise InputError(
            "the Dockerfile begins with no image of CANN", where=file.at(line), why=why
        )
    values = {"image": name, **tag.groupdict()}
    lines = [line]
    for variable, column in columns.items():
        value, number = variables.get(variable, ("", 0))
        values[column] = file.value(value, number or line, f"`{variable}`")
        lines += [number] if number else []
    return [Entry(values=values, first=min(lines), last=max(lines))]


def _instructions(file: TextFile) -> Iterator[tuple[int, str, str]]:
    """Yield each instruction with the number of its first line; lines that end in a backslash go on."""
    first, joined = 0, ""
    for number, line in enumerate(file.lines(), 1):
        if line.lstrip().startswith("#") or (not joined and not line.strip()):
            continue
        first = first or number
        if line.rstrip().endswith("\\"):
            joined += line.rstrip()[:-1] + " "
            continue
        instruction, _, rest = (joined + line).strip().partition(" ")
        yield first, instruction.upper(), rest.strip()
        first, joined = 0, ""


def _base(
    file: TextFile, number: int, rest: str, stages: dict[str, tuple[str, int]]
) -> tuple[str, int]:
    """Return the image that a FROM means, and its line; that of a stage is what the stage began with."""
    match = _FROM.match(rest)
    if match is None:
        raise InputError(
            "a FROM cannot be read",
            where=file.at(number),
            why=f"`{file.value(rest, number, 'FROM')}`",
        )
    base = stages.get(match["image"], (file.value(match["image"], number, "the image"), number))
    if match["stage"]:
        stages[match["stage"]] = base
    return base


def _expanded(text: str, variables: Mapping[str, tuple[str, int]], where: str) -> str:
    """Return a text with the values of variables, or with nothing for those that are not set.

    Raises InputError if it gets so long that it is none of ours: variables can double again and
    again.
    """

    def value(match: re.Match[str]) -> str:
        name = match["braced"] or match["plain"]
        known, _ = variables.get(name, ("", 0))
        return known or match["otherwise"] or ""

    expanded = _VARIABLE.sub(value, text)
    if len(expanded) > _LONGEST:
        why = f"with its variables it has {len(expanded)} characters"
        raise InputError("a value is too long", where=where, why=why)
    return expanded


def _bare(text: str) -> str:
    return text[1:-1] if text[:1] in ('"', "'") else text
