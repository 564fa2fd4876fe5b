"""Write pylock.toml (PEP 751): the files of a lock with their addresses, for pip and uv.

The format lists files, but does not say how to install them: it has no order, no build tools and no
variables of a build. So pins that are built in the environment itself are left out. So are pins
from git: pip accepts no repository (`packages.vcs`) beside files with hashes, and the format cannot
express a checkout that is kept or changed. Variants of wheels are left out as well: the draft PEP
825 has a table for them, but no released installer reads it. `[tool.ascend-lock]` names all pins
that are left out.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import tomli_w
from packaging.pylock import Pylock

from resolver import address
from resolver.model.lock import Lock, LockedFile, LockedPin
from resolver.model.release import File
from resolver.report.document import one_line
from resolver.report.requirements import by_hash, by_script, variants

_HEADER = """\
# {title}
# Made from its lock by ascend-lock. The addresses are current as of today and follow this machine's
# settings: keep the lock and make this file again when needed.
#   pip install --no-deps -r pylock.toml     (pip 26.1 or newer)
#   uv pip install -r pylock.toml
"""


def pylock(lock: Lock, files: Mapping[str, File]) -> str:
    """Return the text of pylock.toml. `files` has the file on the index by its name.

    Queries in addresses are left out, because they may be secrets.
    """
    line = lock.target.python_line
    machine = lock.target.platform.partition("-")[2]
    marker = (
        f"sys_platform == 'linux' and platform_machine == '{machine}' "
        f"and implementation_name == 'cpython' and python_version == '{line}'"
    )
    pins = by_hash(lock)
    names = {pin.name for pin in pins}
    tool: dict[str, Any] = {"stack": lock.stack, "target": lock.target.name, "inputs": lock.inputs}
    absent = [*by_script(lock), *variants(lock)]
    if absent:
        tool["left-out"] = [f"{pin.name}=={pin.version}" for pin in absent]
    document = {
        "lock-version": "1.0",
        "environments": [marker],
        "requires-python": f"=={line}.*",
        "created-by": "ascend-lock",
        "packages": [_package(pin, files, names) for pin in pins],
        "tool": {"ascend-lock": tool},
    }
    return _header(lock) + tomli_w.dumps(Pylock.from_dict(document).to_dict())


def _header(lock: Lock) -> str:
    """Return the comments at the top of the file."""
    lines = [_HEADER.format(title=one_line(lock.title))]
    built = ", ".join(pin.name for pin in by_script(lock))
    if built:
        why = "the format cannot say how they are built (install.sh builds them)"
        lines.append(f"# Not included, because {why}: {built}\n")
    for pin in variants(lock):
        why = "installers refuse the name of a wheel variant (install.sh installs it)"
        lines.append(f"# Not included, because {why}: {pin.name}, {pin.file[0].name}\n")
    lines.append("\n")
    return "".join(lines)


def with_query(lock: Lock, files: Mapping[str, File]) -> tuple[str, ...]:
    """Return the names of files whose addresses have a query, which pylock.toml leaves out."""
    names = []
    for pin in by_hash(lock):
        names += [file.name for file in pin.file if file.name in files]
    return tuple(name for name in names if address.split(files[name].url).query)


def _package(pin: LockedPin, files: Mapping[str, File], names: Collection[str]) -> dict[str, Any]:
    """Return the table of a pin. Only dependencies in `names` are listed."""
    package: dict[str, Any] = {"name": pin.name, "version": pin.version}
    dependencies = [{"name": name} for name in pin.needs if name in names]
    if dependencies:
        package["dependencies"] = dependencies
    for locked in pin.file:
        if locked.name not in files:
            continue
        table = _file(locked, files[locked.name])
        if locked.name.endswith(".whl"):
            package.setdefault("wheels", []).append(table)
        else:
            package.setdefault("sdist", table)
    return package


def _file(locked: LockedFile, offered: File) -> dict[str, Any]:
    """Return the table of a file."""
    url = address.split(offered.url).without_query()
    table: dict[str, Any] = {"name": locked.name, "url": url}
    if offered.size is not None:
        table["size"] = offered.size
    return {**table, "hashes": {"sha256": locked.sha256}}
