"""Versions of CANN and HDK, and their order.

They do not follow PEP 440: `8.5.0.B160` is build 160 of 8.5.0, where PEP 440 would read a beta, and
`8.1.RC1.alpha001` and `25.3.rc1.2` are ordinary versions. Their forms are taken from torch_npu's
csrc/core/npu/GetCANNInfo.cpp and from version files of drivers. The order of a release line is

    X.Y.Tn < X.Y.RCn < X.Y.RCn.p < X.Y.Z < X.Y.Z.p

and a version with a suffix alpha, beta or rc comes before the same version without it. That T
(test) builds come before RC is an inference from their names.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import total_ordering
from typing import Any, NamedTuple

_FORM = re.compile(
    r"""
    (?P<major>\d{1,9}) \. (?P<minor>\d{1,9}) \.
    (?: (?P<stage>RC|T) (?P<stage_number>\d{1,9}) | (?P<micro>\d{1,9}) )
    (?P<patch> (?: \.\d{1,9} )* )
    (?: [.-] (?P<pre>alpha|beta|rc) \.? (?P<pre_number>\d{1,9})? )?
    (?: \.B (?P<build>\d{1,9}) )?
    """,
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
SIGNS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}
_STAGES = {"T": 0, "RC": 1}
_FINAL_STAGE = 2
_PRES = {"alpha": 0, "beta": 1, "rc": 2}
_NOT_PRE = (3, 0)


class _Key(NamedTuple):
    """All parts of a version except the build, the most important first."""

    major: int
    minor: int
    stage: tuple[int, int]
    patch: tuple[int, ...]
    pre: tuple[int, int]


@total_ordering
@dataclass(frozen=True, eq=False)
class SystemVersion:
    """A version of CANN or HDK, with an order. `str` gives it as written.

    Versions that differ only in letter case or leading zeros are equal.
    """

    # The version as written.
    text: str
    _key: _Key
    # The number after `B`; None without one.
    build: int | None

    @classmethod
    def parse(cls, text: str) -> SystemVersion:
        """Return the version that a text spells; raise ValueError, which quotes the text."""
        match = _FORM.fullmatch(text.strip())
        if match is None:
            raise ValueError(
                f"`{text}` is not a CANN or HDK version such as 8.5.0, 8.3.RC1 or 25.3.rc1.2"
            )
        if match["stage"]:
            stage = (_STAGES[match["stage"].upper()], int(match["stage_number"]))
        else:
            stage = (_FINAL_STAGE, int(match["micro"]))
        patch = tuple(int(part) for part in match["patch"].split(".")[1:])
        while patch and patch[-1] == 0:
            patch = patch[:-1]
        pre = _NOT_PRE
        if match["pre"]:
            pre = (_PRES[match["pre"].lower()], int(match["pre_number"] or 0))
        build = int(match["build"]) if match["build"] else None
        key = _Key(int(match["major"]), int(match["minor"]), stage, patch, pre)
        return cls(text.strip(), key, build)

    @property
    def line(self) -> tuple[int, int]:
        """Return the release line: (8, 5) for 8.5.0.B160."""
        return self._key.major, self._key.minor

    def same_release(self, other: SystemVersion) -> bool:
        """Return whether both are the same release, of any build: 8.5.0.B160 and 8.5.0."""
        return self._key == other._key

    def before(self, other: SystemVersion) -> bool:
        """Return whether this is an earlier release; builds of one release are not earlier."""
        return self._key < other._key

    def holds(self, sign: str, other: SystemVersion) -> bool:
        """Return whether `self sign other` is true. Builds count only if `other` has one."""
        if other.build is not None:
            return SIGNS[sign](self, other)
        return SIGNS[sign](self._key, other._key)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SystemVersion):
            return False
        return self._key == other._key and self.build == other.build

    def __lt__(self, other: SystemVersion) -> bool:
        return (self._key, _build_rank(self.build)) < (other._key, _build_rank(other.build))

    def __hash__(self) -> int:
        return hash((self._key, self.build))

    def __str__(self) -> str:
        return self.text


def _build_rank(build: int | None) -> int:
    """Return the rank of a build: a release comes before its builds.

    PEP 440 has the same order for local versions.
    """
    return -1 if build is None else build
