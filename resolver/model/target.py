"""The machine that a lock is for: its marker environment and tags, and why a wheel is not for it.

Everything is derived from the stack; nothing from the interpreter or machine that runs the
resolver.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from typing import Annotated, Final, Literal, get_args

import msgspec
from packaging import tags as packaging_tags
from packaging.version import Version

from resolver.model import patterns
from resolver.model.requirement import Value, parse_value
from resolver.model.source import References
from resolver.model.text import matching
from resolver.model.variant import TargetFeature

# PEP 599, PEP 571, PEP 513: the glibc that the older names stand for.
_LEGACY: Final = {"manylinux2014": (2, 17), "manylinux2010": (2, 12), "manylinux1": (2, 5)}
_OLDEST_GLIBC: Final = {"aarch64": 17, "x86_64": 5}  # that a tag of PEP 600 may name
_TITLES: Final = {"cann": "CANN", "hdk": "HDK", "soc": "SoC", "python": "Python"}
_LAST_PATCH = 99  # of a line of Python: beyond any that there is

Platform = Literal["linux-aarch64", "linux-x86_64"]
Glibc = Annotated[str, matching(patterns.GLIBC)]
PLATFORMS: tuple[Platform, ...] = get_args(Platform)


def component_name(component: str) -> str:
    """`CANN` for `cann`."""
    return _TITLES.get(component, component)


@dataclass(frozen=True, kw_only=True)
class Target:
    """A machine to lock for.

    `python` is `3.11` or `3.11.14`; without a patch number it is .0 in markers, as pip and uv have
    it, and Requires-Python must admit every patch release. `system` are the components, `python`
    and `glibc` included, and `places` the file:line of each. `name` is that of the lock's folder.
    `features` are what it has of the properties of wheel variants (PEP 825).
    """

    name: str
    python: str
    platform: Platform
    glibc: tuple[int, int]
    system: Mapping[str, Value] = field(default_factory=dict, hash=False)
    places: Mapping[str, str] = field(default_factory=dict, hash=False, compare=False)
    features: tuple[TargetFeature, ...] = ()

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
        """The version in markers."""
        release = Version(self.python).release
        return Version(".".join(map(str, (*release, 0)[: max(3, len(release))])))

    def pythons(self, requires_python: str) -> tuple[Version, ...]:
        """The versions that this Requires-Python must all admit.

        A target without a patch number is for machines with any: `<=3.11` admits 3.11.0, but pip on
        3.11.7 refuses it. The first and the last one stand for those between them, unless one of
        these is named.
        """
        if len(Version(self.python).release) > 2:
            return (self.python_full,)
        return (
            self._patches
            if f"{self.python}." in requires_python
            else (self.python_full, self._patches[-1])
        )

    @cached_property
    def _patches(self) -> tuple[Version, ...]:
        return (
            self.python_full,
            *(Version(f"{self.python}.{patch}") for patch in range(1, _LAST_PATCH + 1)),
        )

    @cached_property
    def markers(self) -> dict[str, str]:
        """The PEP 508 marker environment; empty are `extra` and what is not known while locking: about the kernel."""
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
        for number in range(minor, _OLDEST_GLIBC[self.machine] - 1, -1):
            yield f"manylinux_{major}_{number}_{self.machine}"
            yield from (
                f"{name}_{self.machine}"
                for name, glibc in _LEGACY.items()
                if glibc == (major, number)
            )
        yield f"linux_{self.machine}"

    @property
    def parts(self) -> list[str]:
        """A description of the machine, without glibc."""
        others = {
            component_name(key): value
            for key, value in self.system.items()
            if key not in ("python", "glibc")
        }
        return [
            self.platform,
            f"Python {self.python}",
            *(f"{name} {value}" for name, value in others.items()),
        ]

    def __str__(self) -> str:
        return ", ".join(self.parts)


def component_text(component: str, text: str) -> str:
    """The text of a value of a component; raises ValueError."""
    parse_value(component, text)
    return text


class Image(msgspec.Struct, frozen=True, kw_only=True):
    """A container image with CANN and Python, for locks of these components.

    `name` includes registry and tag.
    """

    name: Annotated[str, matching(patterns.IMAGE)]
    cann: Annotated[str, partial(component_text, "cann")]
    soc: Annotated[str, partial(component_text, "soc")]
    python: Annotated[str, matching(patterns.PYTHON_LINE)]
    glibc: Glibc
    source: References


@lru_cache
def _ranks(python_line: tuple[int, int], platforms: tuple[str, ...]) -> Mapping[str, int]:
    """The tags of a machine, computed once for all targets with the same."""
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
    """The name of a target that has none in the stack: linux-aarch64-py311-cann8.5.0-a2."""
    release = Version(python).release
    parts = [platform, f"py{release[0]}{release[1]}"]
    parts += [f"{key}{system[key]}" for key in ("cann", "hdk") if key in system]
    parts += [str(system["soc"])] if "soc" in system else []
    return re.sub(r"[^a-z0-9._-]", "-", "-".join(parts).lower())


# --- what a wheel's tags require that a target does not have (PEP 425, 600, 656)

_GLIBC = re.compile(r"manylinux_([0-9]+)_([0-9]+)_(.+)")
_PYTHON = re.compile(r"(cp|py|pp)([0-9])([0-9]*)")
_SYSTEMS: Final = (("musllinux", "musl"), ("macosx", "macOS"), ("win", "Windows"))


def tag_values(target: Target) -> Mapping[str, str]:
    """What wheels are built for, of a target: `processor`, `glibc` and `python`."""
    python = ".".join(map(str, target.python_line))
    return {
        "processor": target.machine,
        "glibc": ".".join(map(str, target.glibc)),
        "python": python,
    }


def missing_on_machine(filename: str, machine: Mapping[str, str]) -> Mapping[str, str]:
    """What a wheel needs and the machine (of `tag_values`) does not have; empty if the name does not say.

    Besides the keys of the machine there may be `system`: one other than Linux with glibc.
    """
    parts = filename.removesuffix(".whl").split("-")
    if len(parts) == 7 or (len(parts) == 6 and not parts[2][:1].isdigit()):
        parts = parts[:-1]  # the label of a variant (PEP 825)
    if not filename.endswith(".whl") or len(parts) not in (5, 6):
        return {}
    pythons, abis, platforms = (part.lower().split(".") for part in parts[-3:])
    if not all(re.fullmatch(r"[a-z]+[a-z0-9_]*", platform) for platform in platforms):
        return {}  # something unknown
    return {**_platform(platforms, machine), **_python(pythons, abis, machine["python"])}


def newer_glibc(filenames: Iterable[str], machine: Mapping[str, str]) -> str:
    """The lowest glibc with which the machine could use one of these wheels; empty if none."""
    missing = (missing_on_machine(filename, machine) for filename in filenames)
    return min(
        (parts["glibc"] for parts in missing if parts.keys() == {"glibc"}), key=_numbers, default=""
    )


def wheel_glibc(filenames: Iterable[str], platform: Platform) -> str:
    """The lowest glibc needed by one of these wheels on this platform, for whatever Python; empty if none is for it."""
    oldest = {"processor": platform.partition("-")[2], "glibc": "0", "python": "0"}
    missing = (missing_on_machine(filename, oldest) for filename in filenames)
    return min((parts["glibc"] for parts in missing if "glibc" in parts), key=_numbers, default="")


def _platform(platforms: list[str], machine: Mapping[str, str]) -> dict[str, str]:
    if "any" in platforms:
        return {}
    builds = [_build(platform) for platform in platforms]
    linux = [(arch, glibc) for system, arch, glibc in builds if not system]
    if not linux:
        return {"system": builds[0][0]} if builds[0][0] else {}
    glibcs = [glibc for arch, glibc in linux if arch == machine["processor"]]
    if not glibcs:
        return {"processor": linux[0][0]} if linux[0][0] else {}
    oldest = min(glibcs, key=_numbers)
    return {"glibc": oldest} if _numbers(oldest) > _numbers(machine["glibc"]) else {}


def _build(platform: str) -> tuple[str, str, str]:
    """System (empty for Linux with glibc), processor and glibc of a platform tag."""
    for begin, system in _SYSTEMS:
        if platform.startswith(begin):
            return system, "", ""
    if match := _GLIBC.fullmatch(platform):
        return "", match[3], f"{match[1]}.{match[2]}"
    name, _, arch = platform.partition("_")
    return "", arch, ".".join(map(str, _LEGACY.get(name, ())))


def _python(pythons: list[str], abis: list[str], line: str) -> dict[str, str]:
    """The first Python of the tags, if none of them is for this line of CPython."""
    names, python = [], _numbers(line)
    for tag in pythons:
        match = _PYTHON.fullmatch(tag)
        if match is None:
            return {}
        numbers = [int(part) for part in (match[2], match[3]) if part]
        version = ".".join(map(str, numbers))
        same = numbers == python or (match[1] == "py" and numbers == python[:1])
        stable = "abi3" in abis or (match[1] == "py" and "none" in abis)
        if match[1] != "pp" and (
            same or (stable and numbers[0] == python[0] and numbers <= python)
        ):
            free_threaded = f"{tag}t" in abis and tag not in abis and "abi3" not in abis
            return {"python": f"{version} (free-threaded)"} if free_threaded else {}
        names.append(f"PyPy {version}" if match[1] == "pp" else version)
    return {"python": names[0]}


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".") if part.isdigit()]
