"""Versions that do not follow PEP 440, such as those of a driver, and their order.

The room of a vendor parses them.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import total_ordering
from typing import Any

SIGNS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}


@total_ordering
@dataclass(frozen=True, eq=False)
class SystemVersion:
    """A version of a component by the rules of its vendor. `str` gives it as written.

    Versions with the same key and build are equal, however they are written.
    """

    # The version as written.
    text: str
    # All parts of the version except the build, the most important first.
    key: tuple[Any, ...]
    # The release line: (8, 5) for 8.5.0.
    line: tuple[int, ...]
    # The number of a build; None for a release.
    build: int | None = None

    def same_release(self, other: SystemVersion) -> bool:
        """Return whether both are the same release, of any build: 8.5.0.B160 and 8.5.0."""
        return self.key == other.key

    def before(self, other: SystemVersion) -> bool:
        """Return whether this is an earlier release; builds of one release are not earlier."""
        return self.key < other.key

    def holds(self, sign: str, other: SystemVersion) -> bool:
        """Return whether `self sign other` is true. Builds count only if `other` has one."""
        if other.build is not None:
            return SIGNS[sign](self, other)
        return SIGNS[sign](self.key, other.key)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SystemVersion):
            return False
        return self.key == other.key and self.build == other.build

    def __lt__(self, other: SystemVersion) -> bool:
        return (self.key, _build_rank(self.build)) < (other.key, _build_rank(other.build))

    def __hash__(self) -> int:
        return hash((self.key, self.build))

    def __str__(self) -> str:
        return self.text


def _build_rank(build: int | None) -> int:
    """Return the rank of a build: a release comes before its builds.

    PEP 440 has the same order for local versions.
    """
    return -1 if build is None else build
