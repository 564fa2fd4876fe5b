"""Parsing file names of wheels and source archives, without creating an object per file."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

from packaging.utils import NormalizedName

ARCHIVE_ENDINGS: Final = (".tar.gz", ".zip")

_BUILD = re.compile(r"([0-9]{1,18})(.*)", re.DOTALL)
_DISTRIBUTION = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._]*[A-Za-z0-9])?")
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
    if not filename.endswith(".whl"):
        return None
    parts = filename[:-4].split("-")
    count = len(parts)
    if count == 5:
        distribution, version, python, abi, platform = parts
        build: tuple[int, str] | tuple[()] = ()
    elif count in (6, 7):
        distribution, version = parts[0], parts[1]
        match = _BUILD.fullmatch(parts[2])
        build = (int(match[1]), match[2]) if match else ()
        tags = parts[3:] if match else parts[2:]
        if len(tags) < 3:
            return None
        python, abi, platform = tags[:3]
        if len(tags) == 4:
            label = tags[3].replace(".", "_")
            platform = ".".join(f"{one}-{label}" for one in platform.split("."))
        elif len(tags) > 4:
            return None
    else:
        return None
    if not (version and python and abi and platform) or not is_distribution(distribution):
        return None
    return WheelParts(distribution, version, build, python, abi, platform)


@lru_cache(4096)
def is_distribution(name: str) -> bool:
    """Whether this can be the distribution part of a wheel's file name."""
    return _DISTRIBUTION.fullmatch(name) is not None


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
