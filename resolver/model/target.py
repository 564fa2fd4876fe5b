"""The machine that a lock is for: its marker environment and tags, and why a wheel is not for it.

Everything is derived from the stack, and nothing from the machine and interpreter that run the
resolver.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Annotated, Final, Literal, NamedTuple, get_args

import msgspec
from packaging import tags as packaging_tags
from packaging.version import Version

from resolver.model import patterns
from resolver.model.component import BUILT_IN, Components, Value
from resolver.model.source import References
from resolver.model.text import matching
from resolver.model.variant import TargetFeature

# The glibc that older platform tags stand for (PEP 599, PEP 571, PEP 513).
_LEGACY: Final = {"manylinux2014": (2, 17), "manylinux2010": (2, 12), "manylinux1": (2, 5)}
# The minor number of the oldest glibc that a tag may name for a processor (PEP 600).
_OLDEST_GLIBC: Final = {"aarch64": 17, "x86_64": 5}
# A patch number of Python that no release reaches.
_LAST_PATCH: Final = 99

Platform = Literal["linux-aarch64", "linux-x86_64"]
Glibc = Annotated[str, matching(patterns.GLIBC)]
_Value = Annotated[str, matching(patterns.VALUE)]
PLATFORMS: tuple[Platform, ...] = get_args(Platform)


@dataclass(frozen=True, kw_only=True)
class Target:
    """A machine to lock for."""

    # The name of the lock's folder.
    name: str
    # `3.11` or `3.11.14`. Without a patch number it is .0 in markers, as with pip and uv, and
    # Requires-Python must admit every patch release.
    python: str
    platform: Platform
    # The major and the minor number.
    glibc: tuple[int, int]
    # The values of the components, `python` and `glibc` included.
    system: Mapping[str, Value] = field(default_factory=dict, hash=False)
    # The components that targets can have.
    components: Components = field(default_factory=lambda: BUILT_IN, hash=False, compare=False)
    # The file:line of each component.
    places: Mapping[str, str] = field(default_factory=dict, hash=False, compare=False)
    # The properties of wheel variants that the machine has (PEP 825).
    features: tuple[TargetFeature, ...] = ()

    def of_group(self, group: str) -> Target:
        """Return the machine under the name of a group's lock; unchanged without a group."""
        if not group:
            return self
        return dataclasses.replace(self, name=f"{self.name}-{group}")

    @cached_property
    def release_lines(self) -> Mapping[str, Value]:
        """Return the values of the components of which releases of one line go together."""
        return {name: value for name, value in self.system.items() if self.components[name].by_line}

    @cached_property
    def machine(self) -> str:
        """Return the processor: `aarch64` for linux-aarch64."""
        return self.platform.partition("-")[2]

    @cached_property
    def python_line(self) -> tuple[int, int]:
        """Return the major and the minor number: (3, 11) for Python 3.11.14."""
        release = Version(self.python).release
        return release[0], release[1]

    @cached_property
    def python_full(self) -> Version:
        """Return the Python in markers: 3.11.0 for 3.11."""
        release = Version(self.python).release
        return Version(f"{self.python}.0" if len(release) == 2 else self.python)

    def pythons(self, requires_python: str) -> tuple[Version, ...]:
        """Return the versions of Python that a Requires-Python must all admit.

        A target without a patch number is for machines with any patch release: `<=3.11` admits
        3.11.0, but pip on 3.11.7 refuses it. The first and the last patch release stand for all
        between them, unless the Requires-Python names a patch number of this line.
        """
        if len(Version(self.python).release) > 2:
            return (self.python_full,)
        if f"{self.python}." in requires_python:
            return self._patches
        return self._patches[0], self._patches[-1]

    @cached_property
    def _patches(self) -> tuple[Version, ...]:
        patches = range(_LAST_PATCH + 1)
        return tuple(Version(f"{self.python}.{patch}") for patch in patches)

    @cached_property
    def markers(self) -> dict[str, str]:
        """Return the marker environment (PEP 508).

        `extra` is empty, and so are the two variables about the kernel, which is not known while
        locking.
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
        """Return each tag that the target accepts (PEP 425) with its rank; 0 is the best."""
        return _tag_ranks(self.python_line, self.machine, self.glibc)

    @property
    def stated(self) -> Mapping[str, Value]:
        """Return the values of the components other than Python and glibc."""
        return {name: value for name, value in self.system.items() if name not in BUILT_IN}

    def __str__(self) -> str:
        """Return what describes the machine, in English, without glibc."""
        parts = [self.platform, f"Python {self.python}"]
        parts += [f"{self.components[name].title} {value}" for name, value in self.stated.items()]
        return ", ".join(parts)


class Image(msgspec.Struct, frozen=True, kw_only=True):
    """A container image, and the components that locks must have to be installed in it."""

    # The name with registry and tag.
    name: Annotated[str, matching(patterns.IMAGE)]
    # The values of components other than Python and glibc.
    system: dict[Annotated[str, matching(patterns.COMPONENT)], _Value]
    python: Annotated[str, matching(patterns.PYTHON_LINE)]
    glibc: Glibc
    # Where the components of the image can be looked up.
    source: References


@lru_cache
def _tag_ranks(
    python_line: tuple[int, int], machine: str, glibc: tuple[int, int]
) -> Mapping[str, int]:
    """Return each tag that a machine accepts with its rank, in the order of packaging."""
    interpreter = f"cp{python_line[0]}{python_line[1]}"
    platforms = _platform_tags(machine, glibc)
    tags = [
        *packaging_tags.cpython_tags(python_line, [interpreter], platforms),
        *packaging_tags.compatible_tags(python_line, interpreter, platforms),
    ]
    ranks: dict[str, int] = {}
    for tag in tags:
        ranks.setdefault(str(tag), len(ranks))
    return ranks


def _platform_tags(machine: str, glibc: tuple[int, int]) -> list[str]:
    """Return the platform tags that a machine accepts, the newest glibc first (PEP 600)."""
    tags = []
    major, minor = glibc
    for number in range(minor, _OLDEST_GLIBC[machine] - 1, -1):
        tags.append(f"manylinux_{major}_{number}_{machine}")
        legacy_names = [name for name, legacy in _LEGACY.items() if legacy == (major, number)]
        tags.extend(f"{name}_{machine}" for name in legacy_names)
    tags.append(f"linux_{machine}")
    return tags


def default_name(
    python: str, platform: str, system: Mapping[str, Value], components: Components
) -> str:
    """Return the name of a target to which the stack gives none.

    An example is linux-x86_64-py311-cuda12.4-h100: a value that is a name stands alone, others
    after the name of their component.
    """
    release = Version(python).release
    parts = [platform, f"py{release[0]}{release[1]}"]
    for name, component in components.items():
        if name in system and name not in BUILT_IN:
            label = name if component.grammar.is_ordered else ""
            parts.append(f"{label}{system[name]}")
    return re.sub(r"[^a-z0-9._-]", "-", "-".join(parts).lower())


# --- what a wheel's tags require that a target does not have (PEP 425, 600, 656)

_MANYLINUX: Final = re.compile(r"manylinux_([0-9]+)_([0-9]+)_(.+)")
_PLATFORM_TAG: Final = re.compile(r"[a-z]+[a-z0-9_]*")
_PYTHON_TAG: Final = re.compile(r"(cp|py|pp)([0-9])([0-9]*)")
# The systems other than Linux with glibc, by the first letters of their platform tags.
_OTHER_SYSTEMS: Final = {"musllinux": "musl", "macosx": "macOS", "win": "Windows"}


def tag_values(target: Target) -> Mapping[str, str]:
    """Return what a target has of what wheels are built for: `processor`, `glibc` and `python`."""
    return {
        "processor": target.machine,
        "glibc": ".".join(map(str, target.glibc)),
        "python": ".".join(map(str, target.python_line)),
    }


def missing_on_machine(filename: str, machine: Mapping[str, str]) -> Mapping[str, str]:
    """Return what a wheel needs and a machine does not have; empty if its name does not say.

    `machine` has what `tag_values` returns. The result has some of these keys, with what the wheel
    needs, and may have `system`: a system other than Linux with glibc.
    """
    tags = _wheel_tags(filename)
    if tags is None:
        return {}
    pythons, abis, platforms = tags
    if not all(_PLATFORM_TAG.fullmatch(platform) for platform in platforms):
        return {}
    missing = _missing_platform(platforms, machine)
    python = _missing_python(pythons, abis, machine["python"])
    if python:
        missing["python"] = python
    return missing


def newer_glibc(filenames: Iterable[str], machine: Mapping[str, str]) -> str:
    """Return the lowest glibc with which a machine could use one of these wheels; empty if none."""
    glibcs = []
    for filename in filenames:
        missing = missing_on_machine(filename, machine)
        if missing.keys() == {"glibc"}:
            glibcs.append(missing["glibc"])
    return min(glibcs, key=_numbers, default="")


def wheel_glibc(filenames: Iterable[str], platform: Platform) -> str:
    """Return the lowest glibc that one of these wheels needs on a platform, for any Python.

    Empty if none of them is for the platform.
    """
    oldest_machine = {"processor": platform.partition("-")[2], "glibc": "0", "python": "0"}
    glibcs = []
    for filename in filenames:
        missing = missing_on_machine(filename, oldest_machine)
        if "glibc" in missing:
            glibcs.append(missing["glibc"])
    return min(glibcs, key=_numbers, default="")


def _wheel_tags(filename: str) -> tuple[list[str], list[str], list[str]] | None:
    """Return the tags of Pythons, ABIs and platforms in a wheel's name; None if it has none."""
    if not filename.endswith(".whl"):
        return None
    parts = filename.removesuffix(".whl").split("-")
    has_build_tag = len(parts) > 5 and parts[2][:1].isdigit()
    if len(parts) == 7 or (len(parts) == 6 and not has_build_tag):
        # The last part is the label of a variant (PEP 825).
        parts.pop()
    if len(parts) not in (5, 6):
        return None
    pythons, abis, platforms = (part.lower().split(".") for part in parts[-3:])
    return pythons, abis, platforms


class _PlatformNeeds(NamedTuple):
    """What a platform tag says; each field is empty if it does not say it."""

    # A system other than Linux with glibc.
    system: str = ""
    processor: str = ""
    glibc: str = ""


def _missing_platform(platforms: list[str], machine: Mapping[str, str]) -> dict[str, str]:
    """Return the system, the processor or the glibc that none of the platform tags finds."""
    if "any" in platforms:
        return {}
    all_needs = [_platform_needs(platform) for platform in platforms]
    linux_needs = [needs for needs in all_needs if not needs.system]
    if not linux_needs:
        return {"system": all_needs[0].system}
    glibcs = [needs.glibc for needs in linux_needs if needs.processor == machine["processor"]]
    if not glibcs:
        processor = linux_needs[0].processor
        return {"processor": processor} if processor else {}
    oldest = min(glibcs, key=_numbers)
    return {"glibc": oldest} if _numbers(oldest) > _numbers(machine["glibc"]) else {}


def _platform_needs(platform: str) -> _PlatformNeeds:
    """Return what a platform tag says of system, processor and glibc."""
    for prefix, system in _OTHER_SYSTEMS.items():
        if platform.startswith(prefix):
            return _PlatformNeeds(system=system)
    if match := _MANYLINUX.fullmatch(platform):
        major, minor, processor = match.groups()
        return _PlatformNeeds(processor=processor, glibc=f"{major}.{minor}")
    name, _, processor = platform.partition("_")
    glibc = ".".join(map(str, _LEGACY.get(name, ())))
    return _PlatformNeeds(processor=processor, glibc=glibc)


def _missing_python(pythons: list[str], abis: list[str], line: str) -> str:
    """Return the Python that a wheel is for, if it is not for this line of CPython.

    Of several the first is returned. Empty if the wheel is for this line, or a tag is unknown.
    """
    python = _numbers(line)
    names = []
    for tag in pythons:
        match = _PYTHON_TAG.fullmatch(tag)
        if match is None:
            return ""
        interpreter, major, minor = match.groups()
        version = f"{major}.{minor}" if minor else major
        if interpreter == "pp":
            names.append(f"PyPy {version}")
        elif _admits(interpreter, _numbers(version), abis, python):
            is_free_threaded = f"{tag}t" in abis and tag not in abis and "abi3" not in abis
            return f"{version} (free-threaded)" if is_free_threaded else ""
        else:
            names.append(version)
    return names[0]


def _admits(interpreter: str, version: list[int], abis: list[str], python: list[int]) -> bool:
    """Return whether a tag `cp` or `py` of a version is for a Python, given the tags of ABIs."""
    is_generic = interpreter == "py"
    if version == python or (is_generic and version == python[:1]):
        return True
    is_stable = "abi3" in abis or (is_generic and "none" in abis)
    return is_stable and version[0] == python[0] and version <= python


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".") if part.isdigit()]
