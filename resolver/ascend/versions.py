"""Parse versions of CANN and of the driver (HDK), so that they can be compared.

They do not follow PEP 440: `8.5.0.B160` is build 160 of 8.5.0, where PEP 440 would read a beta, and
`8.1.RC1.alpha001` and `25.3.rc1.2` are valid. The grammar is taken from
csrc/core/npu/GetCANNInfo.cpp of torch_npu, and from version files of drivers. The order of the
versions of a release line X.Y is

    X.Y.Tn < X.Y.RCn < X.Y.RCn.p < X.Y.Z < X.Y.Z.p

A version with the suffix alpha, beta or rc precedes the same version without it. That T (test)
precedes RC is concluded from their names alone.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from resolver.model.system import SystemVersion

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
# The ranks of the stages of a release line; versions with a third number come last.
_STAGES = {"T": 0, "RC": 1}
_FINAL_STAGE = 2
# The ranks of suffixes; versions without a suffix come last.
_PRES = {"alpha": 0, "beta": 1, "rc": 2}
_NOT_PRE = (3, 0)


class _Key(NamedTuple):
    """The sort key of a version: all its parts except the build, the most important first."""

    major: int
    minor: int
    # The rank of the stage, and its number (RC1) or the third number of the version.
    stage: tuple[int, int]
    # Further numbers, without zeros at the end.
    patch: tuple[int, ...]
    # The rank of the suffix, and its number.
    pre: tuple[int, int]


def parse_version(text: str) -> SystemVersion:
    """Return the version of CANN or HDK in a text.

    Raises ValueError, which quotes the text, if it is not such a version.
    """
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
    return SystemVersion(text.strip(), key, key[:2], build)
