"""`pylock.toml` (PEP 751): the files of a lock with their addresses, for pip and uv.

The format says which files, but not how: no order, no build tools, no variables of a build. So what
is built in the environment itself is left out, and so are git sources: pip accepts no repository
(`packages.vcs`) beside files with hashes, and the format cannot express a checkout that is kept or
patched. Variants of wheels are left out as well: PEP 825, a draft, has a table for them, which no
released installer reads. `[tool.ascend-lock]` names all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
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
{left_out}{variants}
"""


def pylock(lock: Lock, files: Mapping[str, File]) -> str:
    """The text of pylock.toml; `files` has the address of each file by its name.

    Queries of addresses are left out: they may be secrets.
    """
    line = lock.target.python_line
    machine = lock.target.platform.partition("-")[2]
    marker = (
        f"sys_platform == 'linux' and platform_machine == '{machine}' "
        f"and implementation_name == 'cpython' and python_version == '{line}'"
    )
    pins, left_out = by_hash(lock), by_script(lock)
    names = {pin.name for pin in pins}
    tool: dict[str, Any] = {"stack": lock.stack, "target": lock.target.name, "inputs": lock.inputs}
    absent = (*left_out, *variants(lock))
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
    header = _HEADER.format(
        title=one_line(lock.title),
        left_out=f"# Not included, because the format cannot say how they are built (install.sh builds them): "
        f"{', '.join(pin.name for pin in left_out)}\n" * bool(left_out),
        variants="".join(
            f"# Not included, because installers refuse the name of a wheel variant (install.sh installs it): "
            f"{pin.name}, {pin.file[0].name}\n"
            for pin in variants(lock)
        ),
    )
    return header + tomli_w.dumps(Pylock.from_dict(document).to_dict())


def with_query(lock: Lock, files: Mapping[str, File]) -> tuple[str, ...]:
    """Return the names of the files in pylock.toml whose addresses have a query, which is left out."""
    names = [file.name for pin in by_hash(lock) for file in pin.file if file.name in files]
    return tuple(name for name in names if address.split(files[name].url).query)


def _package(pin: LockedPin, files: Mapping[str, File], names: set[str]) -> dict[str, Any]:
    rows = [(file, files[file.name]) for file in pin.file if file.name in files]
    package = {
        "name": pin.name,
        "version": pin.version,
        "dependencies": [{"name": name} for name in pin.needs if name in names],
        "sdist": next((_file(*both) for both in rows if not both[0].name.endswith(".whl")), None),
        "wheels": [_file(*both) for both in rows if both[0].name.endswith(".whl")],
    }
    return {key: value for key, value in package.items() if value}


def _file(locked: LockedFile, offered: File) -> dict[str, Any]:
    size = {} if offered.size is None else {"size": offered.size}
    url = address.split(offered.url).without_query()
    return {"name": locked.name, "url": url, **size, "hashes": {"sha256": locked.sha256}}
