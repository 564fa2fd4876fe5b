"""Versions that do not follow PEP 440, such as the versions of a driver, and their order.

`resolver/ascend/versions.py` parses the texts of such versions. This module compares them.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import total_ordering
from typing import Any

# The function of each comparison operator.
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
    """A version of a component by the rules of its vendor.

    Versions with the same key and build are equal, however they are written. `str` returns the
    version as written.
    """

    # The version as written.
    text: str
    # The sort key of the release: all parts of the version except the build, the most important
    # first.
    key: tuple[Any, ...]
    # The numbers of the release line: (8, 5) for 8.5.0.
    line: tuple[int, ...]
    # The number of a build; None for a release.
    build: int | None = None

    def same_release(self, other: SystemVersion) -> bool:
        """Return whether both are the same release; the build makes no difference.

        8.5.0.B160 and 8.5.0 are the same release.
        """
        return self.key == other.key

    def before(self, other: SystemVersion) -> bool:
        """Return whether this is an earlier release than `other`.

        The build makes no difference: no build of a release is earlier than another one.
        """
        return self.key < other.key

    def holds(self, sign: str, other: SystemVersion) -> bool:
        """Return whether the comparison `self sign other` is true.

        `sign` is a key of SIGNS. The builds are compared only if `other` has a build, so
        8.5.0.B160 == 8.5.0 is true, and 8.5.0 == 8.5.0.B160 is false.
        """
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
    """Return the rank of a build number in the order of versions; None has the lowest rank.

    So a release without a build comes before its builds, as PEP 440 orders local versions.
    """
    return -1 if build is None else build
