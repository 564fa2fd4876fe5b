"""Targets: the machines that locks are for, with their marker environment and wheel tags.

Everything is derived from the stack's file. Nothing is read from the machine or the interpreter
that runs this program. The second half says what a wheel needs that a target does not have.
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

# The glibc of a target that states none.
DEFAULT_GLIBC: Final = "2.28"
# The glibc that older platform tags stand for (PEP 599, PEP 571, PEP 513).
_LEGACY: Final = {"manylinux2014": (2, 17), "manylinux2010": (2, 12), "manylinux1": (2, 5)}
# The minor number of the oldest glibc for which a processor has tags (PEP 600): 17 for 2.17.
_OLDEST_GLIBC: Final = {"aarch64": 17, "x86_64": 5}
# A patch number that is higher than the patch number of any release of Python.
_LAST_PATCH: Final = 99

Platform = Literal["linux-aarch64", "linux-x86_64"]
Glibc = Annotated[str, matching(patterns.GLIBC)]
_Value = Annotated[str, matching(patterns.VALUE)]
PLATFORMS: tuple[Platform, ...] = get_args(Platform)


@dataclass(frozen=True, kw_only=True)
class Target:
    """A kind of machine to lock for."""

    # The name of the target, and of the folder of its lock.
    name: str
    # The version of Python: `3.11` or `3.11.14`. Without a patch number, markers are evaluated for
    # patch release 0, as pip and uv do, and Requires-Python must admit every patch release.
    python: str
    # The operating system and the processor.
    platform: Platform
    # The oldest glibc of its machines, as major and minor number.
    glibc: tuple[int, int]
    # The value of each component that the target states, `python` and `glibc` included.
    system: Mapping[str, Value] = field(default_factory=dict, hash=False)
    # All components that targets can have.
    components: Components = field(default_factory=lambda: BUILT_IN, hash=False, compare=False)
    # file:line of the value of each component in the stack's file.
    places: Mapping[str, str] = field(default_factory=dict, hash=False, compare=False)
    # The features of wheel variants, with the values that the machines have (PEP 825).
    features: tuple[TargetFeature, ...] = ()

    def of_group(self, group: str) -> Target:
        """Return the target with the name of a group's lock, `TARGET-GROUP`.

        Unchanged if `group` is empty.
        """
        if not group:
            return self
        return dataclasses.replace(self, name=f"{self.name}-{group}")

    @cached_property
    def release_lines(self) -> Mapping[str, Value]:
        """Return the values of the components that have `by_line` set, by name.

        What was made for one release of such a component is likely to work with other releases of
        the same release line.
        """
        return {name: value for name, value in self.system.items() if self.components[name].by_line}

    @cached_property
    def machine(self) -> str:
        """Return the processor: `aarch64` for linux-aarch64."""
        return self.platform.partition("-")[2]

    @cached_property
    def python_line(self) -> tuple[int, int]:
        """Return the major and minor number of Python: (3, 11) for 3.11.14."""
        release = Version(self.python).release
        return release[0], release[1]

    @cached_property
    def python_full(self) -> Version:
        """Return the version of Python for which markers are evaluated: 3.11.0 for `3.11`."""
        release = Version(self.python).release
        return Version(f"{self.python}.0" if len(release) == 2 else self.python)

    def pythons(self, requires_python: str) -> tuple[Version, ...]:
        """Return the versions of Python that a Requires-Python must admit, all of them.

        With a patch number, this is the version of the target. Without one, the target is for
        machines with any patch release: `<=3.11` admits 3.11.0, but pip refuses it on 3.11.7. Then
        the first and the last patch release are returned. If the Requires-Python names a patch
        release of this Python, all patch releases are returned.
        """
        if len(Version(self.python).release) > 2:
            return (self.python_full,)
        if f"{self.python}." in requires_python:
            return self._patches
        return self._patches[0], self._patches[-1]

    @cached_property
    def _patches(self) -> tuple[Version, ...]:
        """Return all patch releases of the target's Python, real or not, from 0 to 99."""
        patches = range(_LAST_PATCH + 1)
        return tuple(Version(f"{self.python}.{patch}") for patch in patches)

    @cached_property
    def markers(self) -> dict[str, str]:
        """Return the variables of environment markers with their values (PEP 508).

        `extra` is empty. `platform_release` and `platform_version` are empty, since no target
        states its kernel.
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
        """Return each wheel tag that the target accepts (PEP 425) with its rank; 0 is the best."""
        return _tag_ranks(self.python_line, self.machine, self.glibc)

    @property
    def stated(self) -> Mapping[str, Value]:
        """Return the values of all components except Python and glibc, by name."""
        return {name: value for name, value in self.system.items() if name not in BUILT_IN}

    def __str__(self) -> str:
        """Return the platform, the Python and the other components, in English, without glibc."""
        parts = [self.platform, f"Python {self.python}"]
        parts += [f"{self.components[name].title} {value}" for name, value in self.stated.items()]
        return ", ".join(parts)


class Image(msgspec.Struct, frozen=True, kw_only=True):
    """A container image, with the components that it contains.

    A lock can be installed in the image if its target states the same values.
    """

    # The name with registry and tag.
    name: Annotated[str, matching(patterns.IMAGE)]
    # The values of the components other than Python and glibc, by name.
    system: dict[Annotated[str, matching(patterns.COMPONENT)], _Value]
    # The version of Python without a patch number.
    python: Annotated[str, matching(patterns.PYTHON_LINE)]
    # The version of glibc.
    glibc: Glibc
    # Where the components of the image can be looked up.
    source: References


@lru_cache
def _tag_ranks(
    python_line: tuple[int, int], machine: str, glibc: tuple[int, int]
) -> Mapping[str, int]:
    """Return each wheel tag that a machine accepts with its rank, in the order of packaging.tags.

    `machine` is the processor.
    """
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
    """Return the platform tags that a processor accepts with this glibc (PEP 600).

    Tags for the newest glibc come first, and `linux_…` comes last.
    """
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
    """Return the name of a target for which the stack's file has no name.

    An example is linux-x86_64-py311-cuda12.4-h100. A version is written after the name of its
    component, and a value without an order (`h100`) is written alone.
    """
    release = Version(python).release
    parts = [platform, f"py{release[0]}{release[1]}"]
    for name, component in components.items():
        if name in system and name not in BUILT_IN:
            label = name if component.grammar.is_ordered else ""
            parts.append(f"{label}{system[name]}")
    return re.sub(r"[^a-z0-9._-]", "-", "-".join(parts).lower())


# --- what the tags of a wheel require and a target does not have (PEP 425, 600, 656)

_MANYLINUX: Final = re.compile(r"manylinux_([0-9]+)_([0-9]+)_(.+)")
_PLATFORM_TAG: Final = re.compile(r"[a-z]+[a-z0-9_]*")
_PYTHON_TAG: Final = re.compile(r"(cp|py|pp)([0-9])([0-9]*)")
# The names of the other systems than Linux with glibc, by the beginning of their platform tags.
_OTHER_SYSTEMS: Final = {"musllinux": "musl", "macosx": "macOS", "win": "Windows"}


def tag_values(target: Target) -> Mapping[str, str]:
    """Return the values of a target that wheel tags are about: `processor`, `glibc`, `python`."""
    return {
        "processor": target.machine,
        "glibc": ".".join(map(str, target.glibc)),
        "python": ".".join(map(str, target.python_line)),
    }


def missing_on_machine(filename: str, machine: Mapping[str, str]) -> Mapping[str, str]:
    """Return what a wheel needs, by its file name, and a machine does not have.

    `machine` has the keys and values of `tag_values`. The result has the keys that do not fit, with
    the values that the wheel needs. It has the key `system` if the wheel is for another system than
    Linux with glibc. It is empty if everything fits, or if the name cannot be read.
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
    """Return the lowest glibc with which a machine could use one of these wheels.

    Empty if a newer glibc alone would make none of them usable.
    """
    glibcs = []
    for filename in filenames:
        missing = missing_on_machine(filename, machine)
        if missing.keys() == {"glibc"}:
            glibcs.append(missing["glibc"])
    return min(glibcs, key=_numbers, default="")


def wheel_glibc(filenames: Iterable[str], platform: Platform) -> str:
    """Return the lowest glibc that any of these wheels needs on a platform, whatever its Python.

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
    """Return the Python tags, ABI tags and platform tags in the name of a wheel.

    None if the file is not a wheel, or its name has too few or too many parts.
    """
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
    """What a platform tag requires. A field is empty if the tag does not require it."""

    # The system, if it is another one than Linux with glibc.
    system: str = ""
    # The processor, such as `aarch64`.
    processor: str = ""
    # The oldest glibc, such as `2.28`.
    glibc: str = ""


def _missing_platform(platforms: list[str], machine: Mapping[str, str]) -> dict[str, str]:
    """Return what a machine lacks for every one of these platform tags.

    The result has one key at most: `system`, `processor` or `glibc`, with the value that is needed.
    It is empty if the machine accepts one of the tags.
    """
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
    """Return the system, the processor and the glibc that a platform tag requires."""
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
    """Return the Python that a wheel is for, if it is not for the CPython `line` (`3.11`).

    If the wheel is for several Pythons, the first is returned. Empty if the wheel is for `line`, or
    if one of its Python tags is unknown.
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
    """Return whether a Python tag admits a Python.

    `interpreter` is `cp` or `py` and `version` the rest of the tag, as numbers. `abis` are the ABI
    tags of the wheel.
    """
    is_generic = interpreter == "py"
    if version == python or (is_generic and version == python[:1]):
        return True
    is_stable = "abi3" in abis or (is_generic and "none" in abis)
    return is_stable and version[0] == python[0] and version <= python


def _numbers(version: str) -> list[int]:
    """Return the numbers of a version, for comparisons: [2, 28] for `2.28`."""
    return [int(part) for part in version.split(".") if part.isdigit()]
