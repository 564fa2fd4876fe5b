"""Parsing file names of wheels and source archives, without creating an object per file."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

from packaging.utils import NormalizedName

ARCHIVE_ENDINGS: Final = (".tar.gz", ".zip")

# Distribution, version, number and suffix of a build, tags for Python, ABI, platform, label of a variant (PEP 427, 825)
_WHEEL = re.compile(
    r"([A-Za-z0-9](?:[A-Za-z0-9._]*[A-Za-z0-9])?)-([^-]+)(?:-([0-9]{1,18})([^-]*))?-([^-]+)-([^-]+)-([^-]+)(?:-([^-]+))?\.whl"
)
_LONGEST: Final = 255
# The characters of normalized names, versions (PEP 440), build numbers and tags; no name of a file is shorter.
_NAME = re.compile(rf"[\w.+!-]{{3,{_LONGEST}}}", re.ASCII)


class WheelParts(NamedTuple):
    """The parts of a wheel's file name, as written.

    `build` is empty or the pair that PEP 427 sorts by. Each tag may be a set
    joined by dots.
    """

    distribution: str
    version: str
    build: tuple[int, str] | tuple[()]
    python: str
    abi: str
    platform: str


def is_readable(filename: str) -> bool:
    """Whether a file name has only characters that the specifications of wheels and source archives allow.

    Another name may mean something else to a shell, a terminal or a file system.
    """
    return _NAME.fullmatch(filename) is not None


def wheel_parts(filename: str) -> WheelParts | None:
    """The parts of a wheel's file name, or None if it is not one.

    A variant wheel (PEP 825: `…-<platform>-<label>.whl`) keeps its label on each
    of its platform tags, so that none of them is plain: no target accepts `manylinux_2_24_x86_64-910b`.
    """
    match = _WHEEL.fullmatch(filename)
    if match is None:
        return None
    distribution, version, number, suffix, python, abi, platform, label = match.groups()
    if label is not None:
        label = label.replace(".", "_")
        platform = ".".join(f"{one}-{label}" for one in platform.split("."))
    return WheelParts(distribution, version, (int(number), suffix) if number else (), python, abi, platform)


def archive_version(filename: str, project: NormalizedName) -> str | None:
    """The version text in the name of a source archive of `project`; None if it belongs to another.

    The name alone does not tell where the project's name ends: `a-b-1.tar.gz` is version `1` of `a-b` and version
    `b-1` (which is invalid) of `a`.
    """
    for ending in ARCHIVE_ENDINGS:
        if filename.endswith(ending):
            match = _prefix(project).match(filename)
            return filename[match.end() : -len(ending)] or None if match else None
    return None


def starts_with_project(filename: str, project: NormalizedName) -> bool:
    """Whether the name of a file, of any kind, is that of a file of `project`."""
    return _prefix(project).match(filename) is not None


@lru_cache(4096)
def _prefix(project: NormalizedName) -> re.Pattern[str]:
    return re.compile(r"[-_.]+".join(map(re.escape, project.split("-"))) + "-", re.IGNORECASE | re.ASCII)
