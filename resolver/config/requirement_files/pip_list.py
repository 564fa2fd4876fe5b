"""Reader of the table that `pip list` prints. Some people keep it as their requirements file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from packaging.utils import canonicalize_name

_HEAD: Final = re.compile(r"Package +Version( .*)?")
_RULE: Final = re.compile(r"-+( +-+)+ *")
_PIN: Final = re.compile(r"([A-Za-z0-9._-]+)==[^\s;]+")
_FOLDER: Final = "Editable project location"
# The tools of an environment, which `pip freeze` leaves out.
_TOOLS: Final = frozenset(("distribute", "pip", "setuptools", "wheel"))


class ListedDistribution(NamedTuple):
    """A distribution in the table that `pip list` prints."""

    # The distribution with its version, as a requirement `NAME==VERSION`.
    pin: str
    # Whether it was installed editable, from a folder of that machine.
    is_editable: bool
    # Whether it is a tool such as pip, which installs other distributions.
    is_tool: bool


def is_table(lines: Sequence[str]) -> bool:
    """Return whether lines contain the head of a table of `pip list`."""
    return _head(lines) is not None


def is_list(requirements: Iterable[str]) -> bool:
    """Return whether requirements are what `pip list --format=freeze` or `pip freeze --all` prints.

    They are pins of all that is installed, pip among them, which no project requires itself.
    """
    names = []
    for line in requirements:
        pin = _PIN.fullmatch(line)
        if pin is None:
            return False
        names.append(pin[1])
    return "pip" in names


def is_tool(requirement: str) -> bool:
    """Return whether a pin is about a tool such as pip."""
    return canonicalize_name(requirement.partition("=")[0]) in _TOOLS


def rows(lines: Sequence[str]) -> Iterator[tuple[int, ListedDistribution | None]]:
    """Yield the line number and the distribution of each line, except for the head of the table.

    The distribution is None for a line that has none, such as a notice of pip. Empty lines are left
    out.
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
    """Return the distribution in a line; None if it has no name and version.

    `columns` has the place of each column by its title.
    """
    cells = {title: line[place].strip() for title, place in columns.items()}
    name, version = cells.get("Package", ""), cells.get("Version", "")
    if not name or not version or " " in f"{name}{version}":
        return None
    return ListedDistribution(
        f"{name}=={version}",
        is_editable=cells.get(_FOLDER, "") != "",
        is_tool=is_tool(name),
    )


def _head(lines: Sequence[str]) -> int | None:
    """Return the position of the head of a table among lines; None if there is none."""
    for position, (line, following) in enumerate(pairwise(lines)):
        if _HEAD.fullmatch(line.rstrip()) and _RULE.fullmatch(following):
            return position
    return None


def _columns(head: str, rule: str) -> dict[str, slice]:
    """Return the place of each column in a line, by its title.

    A column begins where its dashes begin in the line `rule`, and ends where the next column
    begins.
    """
    begins = [match.start() for match in re.finditer("-+", rule)]
    ends: list[int | None] = [*begins[1:], None]
    places = [slice(begin, end) for begin, end in zip(begins, ends, strict=True)]
    return {head[place].strip(): place for place in places}
