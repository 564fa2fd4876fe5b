"""The machine that a lock is for: its marker environment and its tags.

Everything comes from what the stack states; nothing from the interpreter or
machine that runs the resolver.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Literal, get_args

import msgspec
from packaging import tags as packaging_tags
from packaging.version import Version

from resolver.model.component import Value

# PEP 599, PEP 571, PEP 513: the glibc that the older names stand for.
_LEGACY_MANYLINUX = {(2, 17): "manylinux2014", (2, 12): "manylinux2010", (2, 5): "manylinux1"}
# The oldest glibc that a PEP 600 tag may name for a machine.
_TITLES = {"cann": "CANN", "hdk": "HDK", "soc": "SoC"}
_OLDEST_GLIBC = {"x86_64": 5, "i686": 5}
_OLDEST_GLIBC_DEFAULT = 17

_LAST_PATCH = 99  # of a line of Python: beyond any that there is

Platform = Literal["linux-aarch64", "linux-x86_64"]
PLATFORMS: tuple[Platform, ...] = get_args(Platform)


@dataclass(frozen=True, kw_only=True)
class Target:
    """One machine to lock for.

    `python` is `3.11` or `3.11.14`; without a patch number markers take it for .0,
    as those of pip and uv do, and Requires-Python must admit whatever it may be.
    `system` holds the stated components, `python` and `glibc` among them, and
    `places` the file:line of each. `name` is the lock's folder.
    """

    name: str
    python: str
    platform: str
    glibc: tuple[int, int]
    system: Mapping[str, Value] = field(default_factory=dict, hash=False)
    places: Mapping[str, str] = field(default_factory=dict, hash=False, compare=False)

    @cached_property
    def machine(self) -> str:
        """`aarch64` for linux-aarch64."""
        return self.platform.partition("-")[2]

    @cached_property
    def python_line(self) -> tuple[int, int]:
        """(3, 11) for Python 3.11.14."""
        release = Version(self.python).release
        return release[0], release[1]

    @cached_property
    def python_full(self) -> Version:
        """The version that markers go by."""
        release = Version(self.python).release
        return Version(".".join(map(str, (*release, 0)[: max(3, len(release))])))

    def pythons(self, requires_python: str) -> tuple[Version, ...]:
        """The versions that this Requires-Python must admit, each of them.

        Without a patch number a machine may have any: `<=3.11` admits 3.11.0, and pip on 3.11.7 refuses it. Between the
        first and the last one nothing changes, unless one of them is named.
        """
        if len(Version(self.python).release) > 2:
            return (self.python_full,)
        return self._patches if f"{self.python}." in requires_python else (self.python_full, self._patches[-1])

    @cached_property
    def _patches(self) -> tuple[Version, ...]:
        return (self.python_full, *(Version(f"{self.python}.{patch}") for patch in range(1, _LAST_PATCH + 1)))

    @cached_property
    def markers(self) -> dict[str, str]:
        """The PEP 508 marker environment, `extra` left empty.

        A kernel's release and version are not known while locking: empty.
        """
        full = str(self.python_full)
        return {
            "implementation_name": "cpython",
            "implementation_version": full,
            "os_name": "posix",
            "platform_machine": self.machine,
            "platform_python_implementation": "CPython",
            "platform_release": "",
            "platform_system": "Linux",
            "platform_version": "",
            "python_full_version": full,
            "python_version": ".".join(map(str, self.python_line)),
            "sys_platform": "linux",
            "extra": "",
        }

    @cached_property
    def tags(self) -> Mapping[str, int]:
        """Each PEP 425 tag that the target accepts, with its rank (0 is best)."""
        return _ranks(self.python_line, tuple(self._platforms()))

    def _platforms(self) -> Iterator[str]:
        major, minor = self.glibc
        oldest = _OLDEST_GLIBC.get(self.machine, _OLDEST_GLIBC_DEFAULT)
        for number in range(minor, oldest - 1, -1):
            yield f"manylinux_{major}_{number}_{self.machine}"
            if legacy := _LEGACY_MANYLINUX.get((major, number)):
                yield f"{legacy}_{self.machine}"
        yield f"linux_{self.machine}"

    def __str__(self) -> str:
        """One line for people."""
        parts = [self.platform, f"Python {self.python}"]
        parts += [
            f"{_TITLES.get(key, key)} {value}" for key, value in self.system.items() if key not in ("python", "glibc")
        ]
        return ", ".join(parts)


class Image(msgspec.Struct, frozen=True, kw_only=True):
    """A container image that brings CANN and Python, and what a lock must ask for to be installed on it.

    `name` with registry and tag. `cann`, `soc` and `python` as targets state them, `glibc` as `2.35`.
    """

    name: str
    cann: str
    soc: str
    python: str
    glibc: str
    source: str


@lru_cache
def _ranks(python_line: tuple[int, int], platforms: tuple[str, ...]) -> Mapping[str, int]:
    """The tags of a machine, made once for all targets and problems that have them."""
    interpreter = f"cp{python_line[0]}{python_line[1]}"
    ranks: dict[str, int] = {}
    for group in (
        packaging_tags.cpython_tags(python_line, [interpreter], platforms),
        packaging_tags.compatible_tags(python_line, interpreter, platforms),
    ):
        for tag in group:
            ranks.setdefault(str(tag), len(ranks))
    return ranks


def default_name(python: str, platform: str, system: Mapping[str, Value]) -> str:
    """The folder of a target that was not named: linux-aarch64-py311-cann8.5.0-a2."""
    release = Version(python).release
    parts = [platform, f"py{release[0]}{release[1]}"]
    parts += [f"{key}{system[key]}" for key in ("cann", "hdk") if key in system]
    parts += [str(system["soc"])] if "soc" in system else []
    return re.sub(r"[^a-z0-9._-]", "-", "-".join(parts).lower())
