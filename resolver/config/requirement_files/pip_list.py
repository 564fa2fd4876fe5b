"""The table that `pip list` writes, which people keep in place of a requirements file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from packaging.utils import canonicalize_name

_HEAD: Final = re.compile(r"Package +Version( .*)?")
_RULE: Final = re.compile(r"-+( +-+)+ *")
_FOLDER: Final = "Editable project location"
# `pip freeze` leaves them out, too: they are the tools of an environment.
_TOOLS: Final = frozenset(("distribute", "pip", "setuptools", "wheel"))


class ListedDistribution(NamedTuple):
    """A row of the table."""

    # The distribution with its version, as a requirement.
    pin: str
    # Whether it is installed from a folder of that machine.
    is_editable: bool
    # Whether it is a tool that installs others.
    is_tool: bool


def is_table(lines: Sequence[str]) -> bool:
    """Return whether lines have the head of such a table."""
    return _head(lines) is not None


def rows(lines: Sequence[str]) -> Iterator[tuple[int, ListedDistribution | None]]:
    """Yield the lines of a table, without its head, each with its number in the file.

    None stands for a line that is no row, such as a notice of pip.
    """
    head = _head(lines)
    if head is None:
        return
    columns = _columns(lines[head], lines[head + 1])
    for position, line in enumerate(lines):
        if not line.strip() or position in (head, head + 1):
            continue
        yield position + 1, _distribution(line, columns) if position > head else None


def _distribution(line: str, columns: Mapping[str, slice]) -> ListedDistribution | None:
    """Return what a row lists; None if it has no name and version."""
    cells = {title: line[place].strip() for title, place in columns.items()}
    name, version = cells.get("Package", ""), cells.get("Version", "")
    if not name or not version or " " in f"{name}{version}":
        return None
    return ListedDistribution(
        f"{name}=={version}",
        is_editable=cells.get(_FOLDER, "") != "",
        is_tool=canonicalize_name(name) in _TOOLS,
    )


def _head(lines: Sequence[str]) -> int | None:
    """Return the place of the head of a table; None without one."""
    for position, (line, following) in enumerate(pairwise(lines)):
        if _HEAD.fullmatch(line.rstrip()) and _RULE.fullmatch(following):
            return position
    return None


def _columns(head: str, rule: str) -> dict[str, slice]:
    """Return where the text of each column is: from where its dashes begin to the next ones."""
    begins = [match.start() for match in re.finditer("-+", rule)]
    ends: list[int | None] = [*begins[1:], None]
    places = [slice(begin, end) for begin, end in zip(begins, ends, strict=True)]
    return {head[place].strip(): place for place in places}
