"""What a wheel's tags ask of a machine that a target is not (PEP 425, 600, 656)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from resolver.model.target import Target

_LEGACY: Final = {"manylinux1": "2.5", "manylinux2010": "2.12", "manylinux2014": "2.17"}
_GLIBC = re.compile(r"manylinux_(\d+)_(\d+)_(.+)")
_PYTHON = re.compile(r"(cp|py|pp)(\d)(\d*)")
_SYSTEMS: Final = (("musllinux", "musl"), ("macosx", "macOS"), ("win", "Windows"))


def machine_of(target: Target) -> Mapping[str, str]:
    """What tags speak of, of a target: `processor`, `glibc` and `python`."""
    python = ".".join(map(str, target.python_line))
    return {"processor": target.machine, "glibc": ".".join(map(str, target.glibc)), "python": python}


def lacking(filename: str, machine: Mapping[str, str]) -> Mapping[str, str]:
    """What a wheel needs and the machine (of `machine_of`) does not have; empty where the name does not tell.

    Beside the keys of the machine there may be `system`: another one than Linux with glibc.
    """
    parts = filename.removesuffix(".whl").split("-")
    if not filename.endswith(".whl") or len(parts) not in (5, 6):
        return {}
    pythons, abis, platforms = (part.lower().split(".") for part in parts[-3:])
    if not all(re.fullmatch(r"[a-z]+[a-z0-9_]*", platform) for platform in platforms):
        return {}  # a label of PEP 825, or nothing that is known
    return {**_platform(platforms, machine), **_python(pythons, abis, machine["python"])}


def newer_glibc(filenames: Iterable[str], machine: Mapping[str, str]) -> str:
    """The lowest glibc needed by a wheel that needs nothing else of the machine; empty if none is such."""
    found = (lacking(filename, machine) for filename in filenames)
    return min((one["glibc"] for one in found if one.keys() == {"glibc"}), key=_numbers, default="")


def _platform(platforms: list[str], machine: Mapping[str, str]) -> dict[str, str]:
    if "any" in platforms:
        return {}
    builds = [_build(platform) for platform in platforms]
    linux = [(arch, glibc) for system, arch, glibc in builds if not system]
    if not linux:
        return {"system": builds[0][0]} if builds[0][0] else {}
    ours = [glibc for arch, glibc in linux if arch == machine["processor"]]
    if not ours:
        return {"processor": linux[0][0]} if linux[0][0] else {}
    oldest = min(ours, key=_numbers)
    return {"glibc": oldest} if _numbers(oldest) > _numbers(machine["glibc"]) else {}


def _build(platform: str) -> tuple[str, str, str]:
    """System (empty for Linux with glibc), processor and glibc of a platform tag."""
    for begin, system in _SYSTEMS:
        if platform.startswith(begin):
            return system, "", ""
    if found := _GLIBC.fullmatch(platform):
        return "", found[3], f"{found[1]}.{found[2]}"
    name, _, arch = platform.partition("_")
    return "", arch, _LEGACY.get(name, "")


def _python(pythons: list[str], abis: list[str], line: str) -> dict[str, str]:
    """The first Python that the tags name, where none of them is the line's."""
    told = []
    for tag in pythons:
        found = _PYTHON.fullmatch(tag)
        if found is None:
            return {}
        version = f"{found[2]}.{found[3]}" if found[3] else found[2]
        same = version == line or (found[1] == "py" and version == line.partition(".")[0])
        stable = "abi3" in abis or (found[1] == "py" and "none" in abis)
        if found[1] != "pp" and (same or (stable and _same_line(version, line))):
            free_threaded = f"{tag}t" in abis and tag not in abis and "abi3" not in abis
            return {"python": f"{version} (free-threaded)"} if free_threaded else {}
        told.append(f"PyPy {version}" if found[1] == "pp" else version)
    return {"python": told[0]}


def _same_line(version: str, line: str) -> bool:
    wanted, own = _numbers(version), _numbers(line)
    return wanted[0] == own[0] and wanted <= own


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".") if part.isdigit()]
