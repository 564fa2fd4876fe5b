"""Versions of system components (CANN, HDK) and what may be asked of them.

They are not PEP 440: `8.5.0.B160` is build 160 of 8.5.0 (PEP 440 would read a
beta), `8.1.RC1.alpha001` and `25.3.rc1.2` are ordinary. The forms come from
torch_npu's csrc/core/npu/GetCANNInfo.cpp and from driver version files; the
order of one release line is

    X.Y.Tn < X.Y.RCn < X.Y.RCn.p < X.Y.Z < X.Y.Z.p

and an alpha, beta or rc suffix stands below the version it is attached to.
That T (test) builds come before RC is an inference from their names.
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
    """Everything but the build, in the order in which it counts."""

    major: int
    minor: int
    stage: tuple[int, int]
    patch: tuple[int, ...]
    pre: tuple[int, int]


@total_ordering
@dataclass(frozen=True, eq=False)
class SystemVersion:
    """One CANN or HDK version. Comparable and hashable; `str` gives the text as written.

    Two texts that differ in letter case or leading zeros only are equal.
    """

    text: str
    _key: _Key
    build: int | None

    @classmethod
    def parse(cls, text: str) -> SystemVersion:
        """Read a version; raises ValueError that names the text."""
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
        pre = (
            (_PRES[match["pre"].lower()], int(match["pre_number"] or 0))
            if match["pre"]
            else _NOT_PRE
        )
        key = _Key(int(match["major"]), int(match["minor"]), stage, patch, pre)
        return cls(text.strip(), key, int(match["build"]) if match["build"] else None)

    @property
    def line(self) -> tuple[int, int]:
        """The release line, (8, 5) for 8.5.0.B160."""
        return self._key.major, self._key.minor

    def same_release(self, other: SystemVersion) -> bool:
        """Whether both are the same release, whatever the build: 8.5.0.B160 and 8.5.0."""
        return self._key == other._key

    def before(self, other: SystemVersion) -> bool:
        """Whether this is an earlier release; two builds of one release are not."""
        return self._key < other._key

    def holds(self, sign: str, other: SystemVersion) -> bool:
        """Whether `self sign other`: of releases, unless `other` names a build."""
        if other.build is not None:
            return SIGNS[sign](self, other)
        return SIGNS[sign](self._key, other._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SystemVersion) and (self._key, self.build) == (
            other._key,
            other.build,
        )

    def __lt__(self, other: SystemVersion) -> bool:
        return (self._key, _build_rank(self.build)) < (other._key, _build_rank(other.build))

    def __hash__(self) -> int:
        return hash((self._key, self.build))

    def __str__(self) -> str:
        return self.text


def _build_rank(build: int | None) -> int:
    """A release without a build comes before its builds, as PEP 440 has it for local versions."""
    return -1 if build is None else build
