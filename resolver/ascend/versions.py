"""Versions of CANN and HDK, and their order.

They do not follow PEP 440: `8.5.0.B160` is build 160 of 8.5.0, where PEP 440 would read a beta, and
`8.1.RC1.alpha001` and `25.3.rc1.2` are ordinary versions. Their forms are taken from torch_npu's
csrc/core/npu/GetCANNInfo.cpp and from version files of drivers. The order of a release line is

    X.Y.Tn < X.Y.RCn < X.Y.RCn.p < X.Y.Z < X.Y.Z.p

and a version with a suffix alpha, beta or rc comes before the same version without it. That T
(test) builds come before RC is an inference from their names.
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


def parse_version(text: str) -> SystemVersion:
    """Return the version of CANN or HDK that a text spells.

    Raises ValueError, which quotes the text.
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
