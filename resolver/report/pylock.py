"""`pylock.toml` (PEP 751): the files of a lock with their addresses, for pip and uv.

The format says which files, but not how: no order, no build tools, no variables of a build. So what is built in the
environment itself is left out, and so are git sources: pip accepts no repository (`packages.vcs`) beside files with
hashes, and the format cannot express a checkout that is kept or patched. `[tool.ascend-lock]` names both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

import tomli_w
from packaging.markers import Marker
from packaging.pylock import Package, PackageSdist, PackageWheel, Pylock
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from resolver.model.lock import Lock, LockedFile, LockedPin
from resolver.model.release import File
from resolver.report.requirements import by_hash, by_script
from resolver.report.sanitize import one_line

_Kind = TypeVar("_Kind", PackageWheel, PackageSdist)

_HEADER = """\
# {stack} for {target}: {summary}
# Made from its lock by ascend-lock. The addresses are current as of today and follow this machine's
# settings: keep the lock and make this file again when needed.
#   pip install --no-deps -r pylock.toml     (pip 26.1 or newer)
#   uv pip install -r pylock.toml
{left_out}
"""


def pylock(lock: Lock, files: Mapping[str, File]) -> str:
    """The text of pylock.toml; `files` has the address of each file by its name."""
    line = lock.target.python_line
    machine = lock.target.platform.partition("-")[2]
    marker = (
        f"sys_platform == 'linux' and platform_machine == '{machine}' "
        f"and implementation_name == 'cpython' and python_version == '{line}'"
    )
    pins = by_hash(lock)
    names = {pin.name for pin in pins}
    document = Pylock(
        lock_version=Version("1.0"),
        environments=[Marker(marker)],
        requires_python=SpecifierSet(f"=={line}.*"),
        created_by="ascend-lock",
        packages=[_package(pin, files, names) for pin in pins],
        tool={"ascend-lock": _tool(lock)},
    )
    document.validate()
    without = ", ".join(pin.name for pin in by_script(lock))
    header = _HEADER.format(
        stack=lock.stack,
        target=lock.target.name,
        summary=one_line(lock.summary),
        left_out=f"# Not included, because the format cannot say how they are built (install.sh builds them): "
        f"{without}\n" * bool(without),
    )
    return header + tomli_w.dumps(document.to_dict())


def _tool(lock: Lock) -> dict[str, object]:
    told: dict[str, object] = {"stack": lock.stack, "target": lock.target.name, "inputs": lock.inputs}
    without = [f"{pin.name}=={pin.version}" for pin in by_script(lock)]
    return told | ({"left-out": without} if without else {})


def _package(pin: LockedPin, files: Mapping[str, File], names: set[str]) -> Package:
    kept = [file for file in pin.file if file.name in files]
    wheels = [_file(PackageWheel, file, files) for file in kept if file.name.endswith(".whl")]
    sdists = [_file(PackageSdist, file, files) for file in kept if not file.name.endswith(".whl")]
    return Package(
        name=canonicalize_name(pin.name),
        version=Version(pin.version),
        dependencies=[{"name": name} for name in pin.needs if name in names] or None,
        sdist=sdists[0] if sdists else None,
        wheels=wheels or None,
    )


def _file(kind: Callable[..., _Kind], file: LockedFile, files: Mapping[str, File]) -> _Kind:
    where = files[file.name]
    return kind(name=file.name, url=where.url, size=where.size, hashes={"sha256": file.sha256})
