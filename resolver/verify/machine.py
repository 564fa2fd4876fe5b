"""The target that this machine would be, by the checks of verify.py. No part of verify.py itself."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from resolver.model.system import SystemVersion
from resolver.verify.ascend import ask_npu_smi, check_cann, check_hdk, soc_family
from resolver.verify.findings import CheckContext, LockedStack

_ANY = "0.0.0"  # the checks compare what they find with a lock's; here only what they find counts
_ASCEND = "/usr/local/Ascend"


class Machine(NamedTuple):
    """What a stack's `[target]` would say of this machine; empty where nothing is known.

    `python` is the one that runs this, and `hdk` the driver.
    """

    python: str
    platform: str
    glibc: str
    cann: str
    hdk: str
    soc: str


def this_machine(environ: Mapping[str, str] = os.environ, ascend: str = _ASCEND) -> Machine:
    """By files and npu-smi, with the active or else the current CANN; driver and CANN are installed in `ascend`."""
    lock = LockedStack("", "", "", "", "", {"cann": _ANY})
    context = CheckContext(lock, "", environ, ascend=ascend)
    tool = ask_npu_smi(context)
    library, glibc = platform.libc_ver()
    canns = (check_cann(CheckContext(lock, "", env)).values["found"] for env in _environments(environ, ascend))
    return Machine(
        python=".".join(platform.python_version_tuple()[:2]),
        platform=f"{platform.system().lower()}-{platform.machine()}",
        glibc=glibc if library == "glibc" else "",
        cann=next(filter(None, map(_release, canns)), ""),
        hdk=_release(check_hdk(context, tool).values["found"]),
        soc=soc_family(tool.chip),
    )


def _environments(environ: Mapping[str, str], ascend: str) -> Iterator[Mapping[str, str]]:
    """The environment, and what it would be with each CANN that an installation makes the current one."""
    yield environ
    if not environ.get("ASCEND_HOME_PATH") and not environ.get("ASCEND_TOOLKIT_HOME"):
        homes = [ascend, *(f"{home}/Ascend" for home in (environ.get("HOME"),) if home)]
        yield from (
            {"ASCEND_HOME_PATH": f"{home}/{name}"} for home in homes for name in ("cann", "ascend-toolkit/latest")
        )


def _release(text: str) -> str:
    """The text if it is a version of CANN or HDK."""
    try:
        return str(SystemVersion.parse(text))
    except ValueError:
        return ""
